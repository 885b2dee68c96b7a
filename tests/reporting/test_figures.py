"""Saved figures and tables: names, what is written into them, and that nothing changes from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from PIL import Image

from rearena import project
from rearena.data import names, published
from rearena.reporting import charts, figures
from rearena.reporting.figures import maker
from rearena.reporting.notebooks import digest

STEM = "31-good"
CAPTION = "Seven of ten intervals hold the truth – 70 %."
FRAME = pd.DataFrame(
    {"model": ["gpt-4", "claude-2.1"], "value": [2.0, 1.0], "lower": [1.5, 0.0], "upper": [2.5, 1.2]}
)


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    cell = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    for folder in ("data", "notebooks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "data" / "claims.csv").write_text("id\n")
    (tmp_path / "notebooks" / f"{STEM}.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setenv("REARENA_HOME", str(tmp_path))
    monkeypatch.setenv("REARENA_FIGURES", str(tmp_path / "out"))
    project.root.cache_clear()
    yield tmp_path / "out"
    monkeypatch.undo()
    project.root.cache_clear()


@pytest.fixture(autouse=True)
def matplotlib_as_it_was() -> Iterator[None]:
    plt.switch_backend("Agg")
    with mpl.rc_context():
        yield
    plt.close("all")


def save(name: str = STEM, kinds: list = ["printed"], caption: str = CAPTION) -> mpl.figure.Figure:  # noqa: B006
    fig = charts.interval_chart(FRAME, xlabel="rating (Elo)")
    return figures.save(fig, name, kinds=kinds, caption=caption)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    ("name", "kinds", "stem"),
    [
        (STEM, ["printed"], STEM),
        (STEM, ["simulated", "printed"], STEM),
        (f"{STEM}-two-words", ["simulated"], f"{STEM}-two-words"),
        (STEM, ["released"], f"{STEM}-released"),
        (STEM, ["printed", "analogous"], f"{STEM}-analogous"),
        (f"{STEM}-more", ["analogous", "released"], f"{STEM}-more-released-analogous"),
    ],
)
def test_what_rests_on_downloads_has_files_of_its_own(out: Path, name: str, kinds: list, stem: str) -> None:
    save(name, kinds)
    figures.save_table(FRAME, name, kinds=kinds)
    assert set(contents(out)) == {f"{stem}.png", f"{stem}.pdf", f"{stem}.csv"}


def test_png_says_what_it_is_and_what_it_rests_on(out: Path) -> None:
    save(f"{STEM}-more", ["printed", "released"])
    with Image.open(out / f"{STEM}-more-released.png") as image:
        assert image.text == {
            "Title": f"{STEM}-more",
            "Description": CAPTION,
            "Evidence": "printed + released",
            "Notebook": STEM,
            "Run": digest(out.parent / "notebooks" / f"{STEM}.ipynb"),
        }


def test_the_evidence_is_written_on_the_figure_too(out: Path) -> None:
    written = [text.get_text() for text in save(kinds=["printed", "simulated"]).texts]
    assert f"evidence: printed + simulated · {STEM}" in written


def test_the_run_changes_with_the_code_of_the_notebook(out: Path) -> None:
    save()
    before = contents(out)
    file = out.parent / "notebooks" / f"{STEM}.ipynb"
    file.write_text(file.read_text().replace('"source": "1"', '"source": "2"'))
    save()
    after = contents(out)
    assert after[f"{STEM}.png"] != before[f"{STEM}.png"]
    assert after[f"{STEM}.pdf"] == before[f"{STEM}.pdf"]


def test_a_second_save_writes_the_same_bytes_at_any_other_time(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save()
    before, dates = contents(out), {file: file.stat().st_mtime_ns for file in out.iterdir()}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")  # what matplotlib would take for the date
    save()
    assert contents(out) == before
    assert {file: file.stat().st_mtime_ns for file in out.iterdir()} == dates


def test_no_file_holds_a_date_or_the_version_of_a_program(out: Path) -> None:
    save()
    pdf = (out / f"{STEM}.pdf").read_bytes()
    assert b"/Title" in pdf
    for entry in (b"/CreationDate", b"/ModDate", b"/Producer", b"/Creator"):
        assert entry not in pdf
    png = (out / f"{STEM}.png").read_bytes()
    assert b"tIME" not in png
    assert b"Software" not in png


def test_the_users_matplotlib_configuration_does_not_show(out: Path) -> None:
    save()
    before = contents(out)
    mpl.rcParams.update(
        {
            "axes.facecolor": "red",
            "figure.dpi": 30,
            "font.family": "serif",
            "font.size": 30,
            "lines.linewidth": 9,
            "pdf.compression": 0,
            "savefig.dpi": 20,
            "savefig.facecolor": "green",
            "savefig.transparent": True,
        }
    )
    save()
    assert contents(out) == before


def test_a_saved_figure_is_closed_and_handed_back(out: Path) -> None:
    fig = charts.interval_chart(FRAME, xlabel="x")
    assert plt.fignum_exists(fig.number)
    assert figures.save(fig, STEM, kinds=["printed"], caption=CAPTION) is fig
    assert not plt.get_fignums()


@pytest.mark.parametrize("kinds", [[], ["stored"], ["printed", "Released"]])
def test_unknown_evidence_is_refused(out: Path, kinds: list) -> None:
    with pytest.raises(ValueError, match="names its evidence, one or more of printed, released"):
        save(kinds=kinds)
    assert not out.exists()


@pytest.mark.parametrize("name", ["31", "31-goods", "32-other", "", "more-31-good"])
def test_a_name_that_is_of_no_notebook_is_refused(out: Path, name: str) -> None:
    with pytest.raises(ValueError, match="must begin with the name of its notebook"):
        save(name)
    assert not out.exists()


def test_tables_keep_seven_digits_of_floats_and_all_of_integers(out: Path) -> None:
    table = pd.DataFrame(
        {"share": [1 / 3, 1234567.891, 87.4], "votes": [123456789, 0, 1], "note": ["a, b", "τ", ""]},
        index=pd.Index(["x", "y", "z"], name="model"),
    )
    assert figures.save_table(table, STEM, kinds=["printed"]) is table
    written = (out / f"{STEM}.csv").read_bytes().decode()
    assert written == ('model,share,votes,note\nx,0.3333333,123456789,"a, b"\ny,1234568,0,τ\nz,87.4,1,\n')


# Spellings of one model that stand in the published tables, and their maker.
SPELLINGS = [
    ("OpenAI", "GPT-35-Turbo-1106", "gpt-3.5-turbo-1106"),
    ("OpenAI", "GPT-3.5-turbo-0125", "gpt-3.5-turbo-0125"),
    ("OpenAI", "GPT-4-Turbo-0409", "gpt-4-turbo-2024-04-09"),
    ("OpenAI", "gpt4_0314", "gpt-4-0314"),
    ("Anthropic", "Claude 3 Opus", "claude-3-opus-20240229"),
    ("Google", "Gemini-Pro", "gemini-1.0-pro", "gemini-pro"),
    ("Google", "Gemma-2B-it", "gemma-2b-it"),
    ("Meta", "LLaMA-2-Chat-70B", "Llama-2-70b-chat-hf", "llama-2-70b-chat", "Llama-2-70B-chat"),
    ("Meta", "Llama-3-70B-Inst", "llama-3-70b-instruct"),
    ("Mistral", "Mixtral-Instruct-8x7B-v0.1", "Mixtral-8x7B-Instruct-v0.1", "Mixtral-8x7B-Inst"),
    ("Mistral", "Mistral-Large", "mistral-large-2402"),
    ("Qwen, Yi, DeepSeek", "Qwen1.5-72B-Chat", "qwen1.5-72b-chat"),
    ("Qwen, Yi, DeepSeek", "Yi-34B-Chat", "yi-34b-chat"),
    ("community", "StarlingLM-7B-beta", "Starling-LM-7B-beta"),
    ("community", "Tulu-2-dpo-70b", "tulu-2-dpo-70b"),
    ("community", "Vicuna-33B-v1.3", "vicuna-33b-v1.3", "vicuna-33b"),
    ("community", "Llama3-Inst-8B-SimPO"),
    ("community", "Snorkel-Mistral-PairRM-DPO"),
    ("others", "DBRX Inst", "dbrx-instruct-preview", "dbrx-instruct"),
    ("others", "Command-R-Plus", "command-r-plus"),
    ("others", "Phi-3-medium-128k"),
]


@pytest.mark.parametrize(("name", "spellings"), [(who, models) for who, *models in SPELLINGS])
def test_every_spelling_of_a_model_has_its_makers_colour(name: str, spellings: list[str]) -> None:
    assert {maker(model)[0] for model in spellings} == {name}
    assert len({maker(model) for model in spellings}) == 1


def test_names_that_belong_together_have_one_colour() -> None:
    top20 = published.table("arena_hard_top20")
    same = [row.dropna().tolist() for _, row in top20.iterrows()]
    same += [list(pair) for pair in names.between("wildbench_to_leaderboard").items()]
    same += [list(pair) for pair in names.between("leaderbot_to_board").items()]
    assert len(same) > 40
    assert [group for group in same if len({maker(model) for model in group}) > 1] == []


def test_colours_tell_makers_apart() -> None:
    known = {who: maker(models[0]) for who, *models in SPELLINGS}
    assert len(known) == 8
    colours = {who: mpl.colors.to_rgb(colour) for who, (_, colour) in known.items()}
    assert all(re.fullmatch("#[0-9A-F]{6}", colour) for _, colour in known.values())
    for one, other in combinations(colours, 2):
        distance = max(abs(a - b) for a, b in zip(colours[one], colours[other], strict=True))
        assert distance > 0.15, (one, other)


@pytest.mark.parametrize(
    ("name", "kinds"), [("nonsense", ["printed"]), ("20-rwq-elo", ["bogus"]), ("20-rwq-elo", [])]
)
def test_save_table_holds_to_names_and_kinds(tmp_path, monkeypatch, name, kinds):
    monkeypatch.setenv("REARENA_FIGURES", str(tmp_path))
    with pytest.raises(ValueError, match=r"begin with|evidence"):
        figures.save_table(pd.DataFrame({"a": [1]}), name, kinds=kinds)


def test_saving_one_figure_twice_does_not_write_its_footer_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("REARENA_FIGURES", str(tmp_path))
    frame = pd.DataFrame({"name": ["a"], "value": [1.0], "lower": [0.0], "upper": [2.0]})
    fig = charts.interval_chart(frame, xlabel="x")
    for _ in range(2):
        figures.save(fig, "20-rwq-elo", kinds=["printed"], caption="c")
    assert len(fig.texts) == 1


def test_gpt4all_is_not_openais():
    assert figures.maker("gpt4all-13b-snoozy")[0] != "OpenAI"

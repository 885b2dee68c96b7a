from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from rearena import project
from rearena.reporting import gallery
from rearena.reporting.claims import COLUMNS
from rearena.reporting.notebooks import digest

EARLIER = "from an earlier version of the notebook"


class Links(HTMLParser):
    """Everything that a page refers to, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.targets += [value for name, value in attrs if name in ("href", "src") and value]


def result(claim: str, kind: str, verdict: str, run: str = "", note: str = "") -> dict[str, str]:
    values = ("31-good", claim, kind, "87.4", "87.41", "0.05", verdict, note, run)
    return dict(zip(COLUMNS, values, strict=True))


def save_results(figures: Path, kind: str, *rows: dict[str, str]) -> None:
    (figures / "results").mkdir(parents=True, exist_ok=True)
    with (figures / "results" / f"31-good-{kind}.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def save_figure(figures: Path, name: str, **chunks: str) -> None:
    text = PngInfo()
    for key, value in chunks.items():
        text.add_text(key, value)
    Image.new("RGB", (2, 2)).save(figures / name, pnginfo=text)


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# 31 Good <i>title</i>\n\ntext"},
        {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": None},
    ]
    for folder in ("notebooks", "data", "figures"):
        (tmp_path / folder).mkdir()
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (tmp_path / "notebooks" / "31-good.ipynb").write_text(json.dumps(content))
    claims = "id,artefact,statement\nAH-001,Table 1,one & two\nAH-002,Table 2,three\n"
    (tmp_path / "data" / "claims.csv").write_text(claims)
    monkeypatch.setenv("REARENA_HOME", str(tmp_path))
    project.root.cache_clear()
    yield tmp_path / "figures"
    monkeypatch.undo()
    project.root.cache_clear()


def build(figures: Path) -> str:
    gallery.build(figures, figures.parent / "build" / "html")
    return (figures / "index.html").read_text(encoding="utf-8")


def test_the_page_shows_figures_and_verdicts_without_network_or_script(figures: Path) -> None:
    about = {"Evidence": "printed", "Notebook": "31-good", "Run": "x"}
    save_figure(figures, "31-good.png", Title="Ours <b>", Description="It is 3 & more", **about)
    (figures / "31-good.pdf").touch()
    (figures / "31-good.csv").touch()
    save_results(figures, "printed", result("AH-001", "printed", "reproduced", note="<script>x</script>"))
    page = build(figures)
    seen = Links()
    seen.feed(page)
    assert "script" not in seen.tags
    assert not [target for target in seen.targets if ":" in target or target.startswith("/")]
    local = {"31-good.png", "31-good.pdf", "31-good.csv", "results.csv", "../build/html/31-good.html"}
    assert local <= set(seen.targets)
    assert "31 Good &lt;i&gt;title&lt;/i&gt;" in page
    assert "Ours &lt;b&gt;" in page
    assert "It is 3 &amp; more" in page
    assert "one &amp; two" in page
    assert EARLIER not in page


def test_the_same_inputs_give_the_same_bytes(figures: Path) -> None:
    save_results(figures, "printed", result("AH-001", "printed", "close"))
    first = build(figures)
    date = (figures / "index.html").stat().st_mtime_ns
    assert build(figures) == first
    assert (figures / "index.html").stat().st_mtime_ns == date


def test_results_are_merged_and_sorted_without_the_run(figures: Path) -> None:
    rows = [result("AH-002", "printed", "erratum"), result("AH-001", "printed", "close")]
    save_results(figures, "printed", *rows)
    save_results(figures, "analogous", result("AH-001", "analogous", "supported", run="x"))
    build(figures)
    with (figures / "results.csv").open(newline="") as stream:
        merged = list(csv.DictReader(stream))
    assert list(merged[0]) == COLUMNS[:-1]
    expected = [("AH-001", "analogous"), ("AH-001", "printed"), ("AH-002", "printed")]
    assert [(row["claim"], row["kind"]) for row in merged] == expected


@pytest.mark.parametrize(
    ("kind", "verdict", "current", "marked"),
    [
        ("released", "reproduced", False, True),
        ("analogous", "supported", False, True),
        ("released", "reproduced", True, False),
        ("printed", "reproduced", False, False),
        ("simulated", "mechanism shown", False, False),
    ],
)
def test_downloaded_evidence_of_an_earlier_notebook_is_marked(
    figures: Path, kind: str, verdict: str, current: bool, marked: bool
) -> None:
    run = digest(figures.parent / "notebooks" / "31-good.ipynb") if current else "0123456789"
    save_results(figures, kind, result("AH-001", kind, verdict, run=run))
    about = {"Title": "t", "Description": "d", "Evidence": kind, "Notebook": "31-good", "Run": run}
    save_figure(figures, f"31-good-{kind}.png", **about)
    assert build(figures).count(EARLIER) == (2 if marked else 0)


@pytest.mark.parametrize(
    ("column", "value"), [("claim", "AH-999"), ("kind", "guessed"), ("verdict", "fine"), ("verdict", "")]
)
def test_an_unknown_word_is_refused_by_file_and_line(figures: Path, column: str, value: str) -> None:
    save_results(figures, "printed", result("AH-001", "printed", "close") | {column: value})
    with pytest.raises(gallery.GalleryError, match=rf"31-good-printed\.csv line 2: {column} '{value}'"):
        build(figures)


def test_other_columns_and_a_figure_that_says_nothing_are_refused(figures: Path) -> None:
    save_figure(figures, "31-good.png", Title="t")
    with pytest.raises(gallery.GalleryError, match=r"31-good\.png has no PNG text Description, Evidence"):
        build(figures)
    (figures / "31-good.png").unlink()
    (figures / "results").mkdir()
    (figures / "results" / "31-good-printed.csv").write_text("claim,verdict\n")
    with pytest.raises(gallery.GalleryError, match=r"31-good-printed\.csv: columns are"):
        build(figures)

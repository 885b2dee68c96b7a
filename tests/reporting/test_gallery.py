from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from rearena import project
from rearena.reporting import claims, gallery
from rearena.reporting.claims import COLUMNS, VERDICTS
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


def current() -> str:
    """Fingerprint of the notebook as it is."""
    return digest(project.root() / "notebooks" / "31-good.ipynb")


def result(claim: str, kind: str, verdict: str, note: str = "") -> dict[str, str]:
    values = ("31-good", claim, kind, "87.4", "87.41", "0.05", verdict, note, current())
    return dict(zip(COLUMNS, values, strict=True))


def save_results(figures: Path, kind: str, *rows: dict[str, str]) -> None:
    (figures / "results").mkdir(parents=True, exist_ok=True)
    with (figures / "results" / f"31-good-{kind}.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def about(**chunks: str) -> dict[str, str]:
    said = {"Title": "t", "Description": "d", "Evidence": "printed", "Notebook": "31-good", "Run": current()}
    return said | chunks


def save_figure(figures: Path, name: str, chunks: dict[str, str]) -> None:
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
    listed = "id,artefact,statement,printed,unit\nAH-001,Table 1,one & two,87.4,%\nAH-002,Table 2,three,1,\n"
    (tmp_path / "data" / "claims.csv").write_text(listed)
    monkeypatch.setenv("REARENA_HOME", str(tmp_path))
    project.root.cache_clear()
    claims.table.cache_clear()
    yield tmp_path / "figures"
    monkeypatch.undo()
    project.root.cache_clear()
    claims.table.cache_clear()


def build(figures: Path) -> str:
    gallery.build(figures, figures.parent / "build" / "html")
    return (figures / "index.html").read_text(encoding="utf-8")


def test_the_page_shows_figures_and_verdicts_without_network_or_script(figures: Path) -> None:
    save_figure(figures, "31-good.png", about(Title="Ours <b>", Description="It is 3 & more"))
    for name in ("31-good.pdf", "31-good.csv", "31-good-more.csv", "31-goodness.csv"):
        (figures / name).touch()
    rows = [result("AH-001", "printed", "reproduced", note="<script>x</script>")]
    save_results(figures, "printed", *rows, result("AH-002", "printed", "reproduced"))
    page = build(figures)
    seen = Links()
    seen.feed(page)
    assert "script" not in seen.tags
    assert not [target for target in seen.targets if ":" in target or target.startswith("/")]
    tables = ("31-good.csv", "31-good-more.csv", "results.csv")
    local = {"31-good.png", "31-good.pdf", *tables, "../build/html/31-good.html"}
    assert {target for target in seen.targets if not target.startswith("#")} == local
    assert "31 Good &lt;i&gt;title&lt;/i&gt;" in page
    assert "Ours &lt;b&gt;" in page
    assert "It is 3 &amp; more" in page
    assert "one &amp; two" in page
    assert "<td>%</td>" in page
    assert "nan" not in page
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
    save_results(figures, "analogous", result("AH-001", "analogous", "supported"))
    build(figures)
    with (figures / "results.csv").open(newline="") as stream:
        merged = list(csv.DictReader(stream))
    assert list(merged[0]) == COLUMNS[:-1]
    expected = [("AH-001", "analogous"), ("AH-001", "printed"), ("AH-002", "printed")]
    assert [(row["claim"], row["kind"]) for row in merged] == expected


def test_the_figure_that_bears_the_name_of_the_notebook_comes_first(figures: Path) -> None:
    for name in ("31-good-a", "31-good", "31-good-b"):
        save_figure(figures, f"{name}.png", about(Title=name))
    save_figure(figures, "31-good-released.png", about(Title="31-good", Evidence="released"))
    page = build(figures)
    order = ["31-good-released", "31-good", "31-good-a", "31-good-b"]
    found = [page.index(f'<img src="{name}.png"') for name in order]
    assert min(found[:2]) < max(found[:2]) < found[2] < found[3]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_counted_in_the_order_of_the_list(figures: Path, verdict: str) -> None:
    kind = "analogous" if verdict in ("supported", "contradicted") else "printed"
    save_results(figures, kind, result("AH-001", kind, verdict), result("AH-002", kind, "not checkable"))
    badges = re.findall(
        r'<span class="badge" style="background: #[0-9a-f]{6}">([a-z ]+)</span>', build(figures)
    )
    summary = [one for one in VERDICTS if one in {verdict, "not checkable"}]
    assert badges == [*summary, verdict, "not checkable"]


@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("released", "reproduced"),
        ("analogous", "supported"),
        ("printed", "reproduced"),
        ("simulated", "mechanism shown"),
    ],
)
def test_what_an_earlier_notebook_made_is_marked(
    figures: Path, kind: str, verdict: str, earlier: bool
) -> None:
    save_results(figures, kind, result("AH-001", kind, verdict))
    save_figure(figures, f"31-good-{kind}.png", about(Evidence=kind))
    if earlier:
        (figures.parent / "profiles").mkdir()
        (figures.parent / "profiles" / "default.yaml").write_text("31-good: {n: 2}\n")
    assert build(figures).count(EARLIER) == (2 if earlier else 0)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("notebook", "99-gone"),
        ("claim", "AH-999"),
        ("kind", "guessed"),
        ("verdict", "fine"),
        ("verdict", ""),
    ],
)
def test_an_unknown_word_is_refused_by_file_and_line(figures: Path, column: str, value: str) -> None:
    save_results(figures, "printed", result("AH-001", "printed", "close") | {column: value})
    with pytest.raises(
        gallery.GalleryError, match=rf"31-good-printed\.csv line 2: there is no {column} '{value}'"
    ):
        build(figures)


def test_other_columns_and_a_figure_that_says_nothing_are_refused(figures: Path) -> None:
    save_figure(figures, "31-good.png", {"Title": "t"})
    with pytest.raises(gallery.GalleryError, match=r"31-good\.png has no PNG text Description, Evidence"):
        build(figures)
    (figures / "31-good.png").unlink()
    (figures / "results").mkdir()
    (figures / "results" / "31-good-printed.csv").write_text("claim,verdict\n")
    with pytest.raises(gallery.GalleryError, match=r"31-good-printed\.csv: columns are"):
        build(figures)


def test_results_in_a_file_of_another_name_are_refused(figures: Path) -> None:
    save_results(figures, "released", result("AH-001", "printed", "close"))
    with pytest.raises(gallery.GalleryError, match=r"31-good-released\.csv line 2: 31-good on printed"):
        build(figures)


def test_a_figure_of_a_notebook_that_is_gone_is_refused(figures: Path) -> None:
    save_figure(figures, "99-gone.png", about(Notebook="99-gone"))
    with pytest.raises(gallery.GalleryError, match=r"99-gone\.png: notebook '99-gone' does not exist"):
        build(figures)


@pytest.mark.parametrize("harm", ["empty", "cut", "changed"])
def test_a_damaged_figure_is_named(figures: Path, harm: str, capsys: pytest.CaptureFixture[str]) -> None:
    save_figure(figures, "31-good.png", about())
    content = (figures / "31-good.png").read_bytes()
    middle = content.index(b"IDAT") + 6
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    harmed = {"empty": b"", "cut": content[:middle], "changed": changed}
    (figures / "31-good.png").write_bytes(harmed[harm])
    assert gallery.main([]) == 1
    assert "error: gallery: 31-good.png is not a whole PNG" in capsys.readouterr().err


def test_a_profile_that_cannot_be_read_is_said(figures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (figures.parent / "profiles").mkdir()
    (figures.parent / "profiles" / "default.yaml").write_text("31-good: 5\n")
    assert gallery.main([]) == 1
    assert "error: gallery: profiles/default.yaml must map" in capsys.readouterr().err

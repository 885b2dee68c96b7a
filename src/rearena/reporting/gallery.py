"""All figures with their claims (``figures/index.html``), and all verdicts (``figures/results.csv``).

The page is static (no script, no network) and says the same for the same inputs, so that it can be committed.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rearena import project
from rearena.atomic import write_text
from rearena.reporting import contract
from rearena.reporting.claims import COLUMNS, KINDS, VERDICTS, table
from rearena.reporting.notebooks import NotebookError, destination, digest, workspace

# Of the verdicts' badges, in the order of the verdicts.
_COLOURS = ("#1a7f37", "#7a8f00", "#b42318", "#8a3ffc", "#0b6e99", "#c2410c", "#57606a", "#8c959f")
MERGED = [column for column in COLUMNS if column != "run"]
_CHUNKS = ("Title", "Description", "Evidence", "Notebook", "Run")


class GalleryError(ValueError):
    """A figure or a results file does not hold what it must."""


@dataclass(frozen=True)
class Figure:
    """One picture and what its PNG text chunks say about it."""

    file: str
    title: str
    caption: str
    evidence: str
    notebook: str
    stale: bool
    pdf: str | None


@dataclass(frozen=True)
class Result:
    """One verdict row, with the claim that it is about."""

    row: dict[str, str]
    artefact: str
    statement: str
    unit: str
    stale: bool


@dataclass(frozen=True)
class Section:
    """What one notebook has made."""

    notebook: str
    title: str
    page: str
    figures: list[Figure]
    results: list[Result]
    tables: list[str]


def build(figures: Path, pages: Path) -> None:
    """Write ``results.csv`` and ``index.html`` into a folder of figures; each is replaced whole.

    Parameters
    ----------
    figures : pathlib.Path
        Folder with ``*.png`` (text chunks Title, Description, Evidence, Notebook, Run), ``*.csv`` tables and
        ``results/*.csv`` (columns notebook, claim, kind, printed, ours, tolerance, verdict, note, run).
    pages : pathlib.Path
        Folder of the executed notebooks as HTML, linked relative to ``figures``.

    Raises
    ------
    GalleryError
        If a figure is damaged, lacks a text chunk or is of a notebook that does not exist, or a results file
        has other columns, another name than its rows, or an unknown notebook, claim, kind or verdict; the
        message names file and line.
    """
    digests = {file.stem: digest(file) for file in sorted((project.root() / "notebooks").glob("*.ipynb"))}
    pictures = [_figure(file, digests) for file in sorted(figures.glob("*.png"))]
    # The figure that bears the notebook's own name is its headline.
    pictures.sort(key=lambda figure: (figure.title != figure.notebook, figure.file))
    results = read_results(figures / "results", digests)
    tables = sorted(file.name for file in figures.glob("*.csv"))
    link = Path(os.path.relpath(pages, figures)).as_posix()
    sections = [
        Section(
            notebook=stem,
            title=_title(stem),
            page=f"{link}/{stem}.html",
            figures=[figure for figure in pictures if figure.notebook == stem],
            results=[result for result in results if result.row["notebook"] == stem],
            tables=[name for name in tables if name == f"{stem}.csv" or name.startswith(f"{stem}-")],
        )
        for stem in digests
    ]
    write_text(figures / "results.csv", _merged(results))
    write_text(figures / "index.html", _page(sections, results))


def read_results(folder: Path, digests: dict[str, str]) -> list[Result]:
    """Every row of ``folder/*.csv``, sorted by notebook, claim and kind; see `build` for what is refused."""
    claims: Any = table()[["artefact", "statement", "unit"]].fillna("").to_dict("index")
    known = {"notebook": digests, "claim": claims, "kind": KINDS, "verdict": VERDICTS}
    results: list[Result] = []
    for file in sorted(folder.glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            if reader.fieldnames != COLUMNS:
                raise GalleryError(f"{file.name}: columns are {reader.fieldnames}, expected {COLUMNS}")
            for row in reader:
                where = f"{file.name} line {reader.line_num}"
                for column, allowed in known.items():
                    if row[column] not in allowed:
                        raise GalleryError(f"{where}: there is no {column} {row[column]!r}")
                if file.stem != f"{row['notebook']}-{row['kind']}":
                    raise GalleryError(f"{where}: {row['notebook']} on {row['kind']} has a file of its own")
                stale = row["run"] != digests[row["notebook"]]
                results.append(Result(row, **claims[row["claim"]], stale=stale))
    return sorted(results, key=lambda result: tuple(result.row[column] for column in MERGED[:3]))


def _figure(file: Path, digests: dict[str, str]) -> Figure:
    from PIL import Image

    try:
        with Image.open(file) as image:
            chunks = {name: image.info.get(name) for name in _CHUNKS}
            image.verify()
    except (OSError, SyntaxError) as error:  # the latter is Pillow's word for a wrong checksum
        raise GalleryError(f"{file.name} is not a whole PNG: {error}; run its notebook again") from error
    absent = [name for name, value in chunks.items() if not value]
    if absent:
        raise GalleryError(
            f"{file.name} has no PNG text {', '.join(absent)}; save figures by rearena.reporting"
        )
    said = {name: str(value) for name, value in chunks.items()}
    if said["Notebook"] not in digests:
        raise GalleryError(f"{file.name}: notebook {said['Notebook']!r} does not exist; remove the file")
    pdf = file.with_suffix(".pdf")
    return Figure(
        file=file.name,
        title=said["Title"],
        caption=said["Description"],
        evidence=said["Evidence"],
        notebook=said["Notebook"],
        stale=said["Run"] != digests[said["Notebook"]],
        pdf=pdf.name if pdf.is_file() else None,
    )


def _title(stem: str) -> str:
    """Title of a notebook by its first cell."""
    first: str = contract.load(project.root() / "notebooks" / f"{stem}.ipynb")["cells"][0]["source"]
    return first.splitlines()[0].lstrip("# ")


def _merged(results: Iterable[Result]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, MERGED, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(result.row for result in results)
    return stream.getvalue()


def _page(sections: list[Section], results: list[Result]) -> str:
    import jinja2

    counts = Counter((result.row["verdict"], result.row["kind"]) for result in results)
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_TEMPLATE).render(
        sections=sections,
        counts=counts,
        used={verdict for verdict, _ in counts},
        kinds=KINDS,
        verdicts=dict(zip(VERDICTS, _COLOURS, strict=True)),
        total=len(results),
    )


def main(arguments: list[str] | None = None) -> int:
    """Run ``python -m rearena.reporting.gallery [--profile NAME]``; returns the exit status."""
    parser = argparse.ArgumentParser(prog="rearena.reporting.gallery", description=__doc__)
    parser.add_argument("--profile", default="default", help="whose figures: a file of profiles/")
    profile = parser.parse_args(arguments).profile
    figures = destination(profile)
    try:
        build(figures, workspace(profile) / "html")
    except (ValueError, NotebookError) as error:  # a GalleryError is a ValueError
        print(f"error: gallery: {error}", file=sys.stderr)
        return 1
    print(f"gallery: {os.path.relpath(figures / 'index.html')}")
    return 0


_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src 'self' file: data:; style-src 'unsafe-inline'">
<title>Rearena: figures and claims</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h2 { border-top: 1px solid #d0d7de; padding-top: 1.5rem; margin-top: 2.5rem; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; border: 1px solid #e3e6e8; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: .25rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e3e6e8; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.badge { color: #fff; border-radius: .6rem; padding: .05rem .55rem; font-size: 12px; white-space: nowrap; }
.evidence { background: #57606a; }
.stale { color: #b42318; font-size: 13px; }
nav a { margin-right: .8rem; }
section p, section table { overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>Rearena: figures and claims</h1>
<table>
<thead><tr><th>verdict</th>{% for kind in kinds %}<th>{{ kind }}</th>{% endfor %}</tr></thead>
<tbody>
{% for verdict, colour in verdicts.items() if verdict in used %}
<tr><td><span class="badge" style="background: {{ colour }}">{{ verdict }}</span></td>
{%- for kind in kinds %}<td class="number">{{ counts[(verdict, kind)] }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
<p>{{ total }} verdicts, as a table: <a href="results.csv">results.csv</a>.</p>
<nav>{% for section in sections %}<a href="#{{ section.notebook }}">{{ section.title }}</a> {% endfor %}</nav>
{% for section in sections %}
<section id="{{ section.notebook }}">
<h2>{{ section.title }}</h2>
<p><a href="{{ section.page }}">executed notebook</a>
{% for table in section.tables %} &middot; <a href="{{ table }}">{{ table }}</a>{% endfor %}</p>
{% for figure in section.figures %}
<figure>
<a href="{{ figure.file }}"><img src="{{ figure.file }}" alt="{{ figure.caption }}"></a>
<figcaption>
<span class="badge evidence">{{ figure.evidence }}</span> <b>{{ figure.title }}.</b> {{ figure.caption }}
{% if figure.pdf %}<a href="{{ figure.pdf }}">PDF</a>{% endif %}
{% if figure.stale %}<span class="stale">from an earlier version of the notebook</span>{% endif %}
</figcaption>
</figure>
{% endfor %}
{% if section.results %}
<table>
<thead><tr><th>claim</th><th>statement</th><th>evidence</th><th>printed</th><th>ours</th><th>tolerance</th>
<th>unit</th><th>verdict</th><th>note</th></tr></thead>
<tbody>
{% for result in section.results %}
<tr><td>{{ result.row.claim }}<br>{{ result.artefact }}</td><td>{{ result.statement }}</td>
<td>{{ result.row.kind }}</td><td class="number">{{ result.row.printed }}</td>
<td class="number">{{ result.row.ours }}</td><td class="number">{{ result.row.tolerance }}</td>
<td>{{ result.unit }}</td>
<td><span class="badge" style="background: {{ verdicts[result.row.verdict] }}">{{ result.row.verdict }}</span>
{% if result.stale %}<br><span class="stale">from an earlier version of the notebook</span>{% endif %}</td>
<td>{{ result.row.note }}</td></tr>
{% endfor %}
</tbody>
</table>
{% endif %}
</section>
{% endfor %}
</body>
</html>
"""


if __name__ == "__main__":
    sys.exit(main())

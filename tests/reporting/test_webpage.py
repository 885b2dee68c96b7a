from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest

from rearena.reporting import webpage

BLANK = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "1"}


class Markup(HTMLParser):
    """What a browser would act on: tags, attributes and addresses outside the page's own head."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, str] = {}
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name: value or "" for name, value in attrs}
        self.addresses += [value for name, value in attrs if name == "href" and value]


def page(tmp_path: Path, cell: dict[str, Any]) -> tuple[Markup, str]:
    """Body of the page of a notebook of one cell, as markup and as text."""
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell | {"id": "a"}]}
    nbformat.write(nbformat.from_dict(notebook), tmp_path / "31-x.ipynb")
    webpage.write(tmp_path / "31-x.ipynb", tmp_path / "31-x.html", title="31 <x>")
    text = (tmp_path / "31-x.html").read_text(encoding="utf-8")
    assert "<title>31 &lt;x&gt;</title>" in text
    body = text[text.index("<body>") :]
    return Markup(body), body


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def output(data: dict[str, str], **more: Any) -> dict[str, Any]:
    return BLANK | {"outputs": [{"output_type": "display_data", "data": data, "metadata": {}} | more]}


@pytest.mark.parametrize(
    "html",
    [
        "<script>evil()</script>",
        "<p onclick='evil()'>x</p>",
        "text <img src=x onerror=evil()> text",
        "<iframe src='https://example.com'></iframe>",
    ],
)
@pytest.mark.parametrize("where", ["cell", "output"])
def test_raw_html_in_markdown_is_text(tmp_path: Path, html: str, where: str) -> None:
    cell = markdown(html) if where == "cell" else output({"text/markdown": html})
    markup, body = page(tmp_path, cell)
    assert not markup.tags & {"script", "img", "iframe"}
    assert not {"onclick", "onerror", "src"} & set(markup.attributes)
    assert "&lt;" in body


@pytest.mark.parametrize(
    "address", ["javascript:evil()", "JavaScript:evil()", "vbscript:x", "data:text/html,x"]
)
def test_a_harmful_link_in_markdown_leads_nowhere(tmp_path: Path, address: str) -> None:
    markup, _ = page(tmp_path, markdown(f"[word]({address}) and <{address}>"))
    assert not [link for link in markup.addresses if re.match(r"(?i)\s*(javascript|vbscript|data):", link)]


def test_an_ordinary_link_stays(tmp_path: Path) -> None:
    markup, _ = page(tmp_path, markdown("[word](https://example.com/a)"))
    assert markup.addresses == ["https://example.com/a"]


def test_only_a_picture_inside_the_page_is_shown(tmp_path: Path) -> None:
    assert "img" not in page(tmp_path, markdown("![word](https://example.com/a.png)"))[0].tags
    inside = "data:image/png;base64,AAAA"
    assert page(tmp_path, markdown(f"![word]({inside})"))[0].attributes["src"] == inside


@pytest.mark.parametrize(
    "kind",
    ["application/javascript", "text/latex", "application/vnd.jupyter.widget-view+json", "application/pdf"],
)
def test_an_output_of_another_kind_is_dropped(tmp_path: Path, kind: str) -> None:
    markup, body = page(tmp_path, output({kind: "evil()", "text/plain": "shown"}))
    assert "shown" in body
    assert "evil" not in body
    assert "script" not in markup.tags


def test_html_of_an_output_is_reduced_to_tables_and_text(tmp_path: Path) -> None:
    html = (
        "<style>p {}</style><script>evil()</script><a href='javascript:evil()'>word</a><form></form>"
        "<table onclick='evil()' style='x' class='frame'><tr><td colspan='2'>cell</td></tr></table>"
    )
    markup, body = page(tmp_path, output({"text/html": html}))
    assert "evil" not in body
    assert {"table", "tr", "td"} <= markup.tags
    assert not markup.tags & {"a", "form", "script", "style"}
    assert markup.attributes["colspan"] == "2"
    assert "style" not in markup.attributes
    assert "cell" in body


@pytest.mark.parametrize("tex", [r"\frac{a}{b}", r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a<b"])
def test_mathematics_becomes_mathml(tex: str) -> None:
    from xml.etree import ElementTree

    tree = ElementTree.fromstring(webpage.mathml(tex, display="block"))
    assert tree.tag == "{http://www.w3.org/1998/Math/MathML}math"
    assert not any("&" in (node.text or "") for node in tree.iter())


@pytest.mark.parametrize(
    "tex", [r"\text{<script>x</script>}", r"\href{javascript:x}{y}", r"\frac{", r"<img onerror=x>"]
)
def test_mathematics_of_a_stranger_is_no_markup(tex: str) -> None:
    shown = webpage.mathml(tex, display="inline")
    assert "<script" not in shown
    assert "<img" not in shown
    assert "href=" not in shown

"""An executed notebook as one HTML file that opens from disk: no network, no script, MathML."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import bleach
import nbformat
from jinja2 import pass_context
from latex2mathml import converter
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.formatters import HtmlFormatter

from rearena.atomic import write_text

# What an output may show. Anything else (scripts, widgets) is dropped: outputs can hold text of strangers.
_SHOWN = ("text/plain", "text/html", "text/markdown", "image/png", "image/jpeg", "image/svg+xml")
_TABLE = (
    *("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"),
    *("div", "span", "p", "pre", "br", "h4"),
)
_SPANS = ["colspan", "rowspan", "class", "title"]

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
pre, code {{ font: 13px/1.45 ui-monospace, monospace; }}
pre {{ overflow-x: auto; margin: 0; }}
.input_area {{ background: #f6f7f8; border-left: 3px solid #b8c4ce; padding: .6rem; margin-top: .8rem; }}
.output_area {{ overflow-x: auto; padding: .2rem .8rem; }}
.output_stderr, .output_error {{ background: #fdf1ef; }}
.prompt {{ display: none; }}
img {{ max-width: 100%; }}
table {{ border-collapse: collapse; font-size: 14px; margin: .5rem 0; }}
th, td {{ padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #e3e6e8; }}
math[display="block"] {{ margin: .8rem 0; }}
{highlight}
</style></head><body>
{body}
</body></html>
"""


class _Renderer(IPythonRenderer):
    """Markdown with mathematics as MathML, raw HTML as text, and no picture that is not inside the page."""

    def block_math(self, body: str) -> str:
        return mathml(body, display="block")

    def inline_math(self, body: str) -> str:
        return mathml(body, display="inline")

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")

    def image(self, text: str, url: str, title: str | None = None) -> str:
        embedded = self._embed_image_or_attachment(url)
        if not embedded.startswith("data:image/"):
            return f"[{html.escape(text)}]"
        return f'<img src="{html.escape(embedded)}" alt="{html.escape(text)}">'


class _Exporter(HTMLExporter):
    """nbconvert's plain page body with our markdown."""

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        attachments = context.get("cell", {}).get("attachments", {})
        renderer = _Renderer(
            escape=True, allow_harmful_protocols=False, exclude_anchor_links=True, attachments=attachments
        )
        return MarkdownWithMath(renderer=renderer).render(source)


def write(executed: Path, page: Path, title: str) -> None:
    """Write an executed notebook as a web page, atomically.

    Parameters
    ----------
    executed : pathlib.Path
        Notebook with outputs. They are taken as untrusted: HTML is reduced to tables and text.
    page : pathlib.Path
        Where the page goes; folders are made.
    title : str
        Title of the page.
    """
    notebook = nbformat.read(executed, as_version=4)  # type: ignore[no-untyped-call]
    notebook.metadata.pop("widgets", None)
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type != "raw"]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            _clean(output)
    exporter = _Exporter(template_name="basic")  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(notebook)
    text = _PAGE.format(
        title=html.escape(title), highlight=HtmlFormatter().get_style_defs(".highlight"), body=body
    )
    write_text(page, text)


def mathml(tex: str, display: str) -> str:
    r"""TeX as MathML; what the converter does not understand is shown as it was written.

    The element is serialised here because ``latex2mathml.converter.convert`` leaves text unescaped, so
    that ``\text{<script>}`` would become markup.

    Parameters
    ----------
    tex : str
        Mathematics without its delimiters.
    display : str
        ``inline`` or ``block``.
    """
    try:
        # `aligned` is the one common environment that the converter knows only by its other name.
        element = converter.convert_to_element(re.sub(r"\{aligned\}", "{align*}", tex), display=display)
    except Exception:  # its errors share no base class
        return f"<code>{html.escape(tex)}</code>"
    for node in element.iter():
        node.text = html.unescape(node.text or "")
        for name in ("href", "style", "class", "id"):
            node.attrib.pop(name, None)
    return ElementTree.tostring(element, encoding="unicode")


def _clean(output: Any) -> None:
    """Reduce one output to what may be shown."""
    if "data" not in output:
        return
    output.metadata = {}
    for kind in set(output.data) - set(_SHOWN):
        del output.data[kind]
    if "text/html" in output.data:
        raw = re.sub(
            r"<(style|script)\b.*?</\1\s*>", "", output.data["text/html"], flags=re.DOTALL | re.IGNORECASE
        )
        tags = {*bleach.ALLOWED_TAGS, *_TABLE} - {"a"}
        output.data["text/html"] = bleach.clean(raw, tags=tags, attributes={"*": _SPANS}, strip=True)

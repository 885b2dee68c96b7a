"""What every committed notebook keeps to, so that 24 of them read as one."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_CELLS = 25
MOST_LINES = 30
PARAMETERS = "parameters"


def load(notebook: Path) -> dict[str, Any]:
    """Read a notebook as plain JSON, the source of each cell joined into one string.

    Raises
    ------
    ValueError
        If the file is not a notebook of format 4.
    """
    try:
        content: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
        if content["nbformat"] != 4:
            raise ValueError(f"format {content['nbformat']}, expected 4")
        for cell in content["cells"]:
            cell["source"] = "".join(cell["source"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{notebook.name} is not a Jupyter notebook: {error!r}") from error
    return content


def parameter_names(notebook: Path) -> set[str]:
    """Names that the cell tagged ``parameters`` assigns.

    Papermill ignores parameters when the tag is absent and exits 0, hence our own look.

    Raises
    ------
    ValueError
        If not exactly one cell carries the tag.
    """
    tagged = [cell for cell in load(notebook)["cells"] if _is_parameters(cell)]
    if len(tagged) != 1:
        raise ValueError(
            f"{notebook.name}: {len(tagged)} cells are tagged `{PARAMETERS}`, expected exactly one"
        )
    names: set[str] = set()
    for statement in ast.parse(tagged[0]["source"]).body:
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        names |= {node.id for t in targets if t for node in ast.walk(t) if isinstance(node, ast.Name)}
    return names


def check(notebook: Path) -> list[str]:
    """Every breach of the notebook contract, one line each, naming notebook and cell (counted from 1).

    Parameters
    ----------
    notebook : pathlib.Path
        A notebook of the ``notebooks`` folder.

    Returns
    -------
    list of str
        Empty when the contract is kept.
    """
    content = load(notebook)
    found = list(_check_whole(notebook, content))
    for number, cell in enumerate(content["cells"], start=1):
        found += [f"{notebook.name} cell {number}: {breach}" for breach in _check_cell(cell)]
    return found


def _is_parameters(cell: dict[str, Any]) -> bool:
    return PARAMETERS in cell.get("metadata", {}).get("tags", [])


def _check_whole(notebook: Path, content: dict[str, Any]) -> Iterator[str]:
    name, cells = notebook.name, content["cells"]
    if not re.fullmatch(r"\d\d-[a-z0-9]+(-[a-z0-9]+)*\.ipynb", name):
        yield f"{name}: the file name is not `NN-noun.ipynb`"
    title = cells[0] if cells else {"cell_type": "none", "source": ""}
    if title["cell_type"] != "markdown" or not re.match(rf"# {name[:2]} \S", title["source"]):
        yield f"{name}: the first cell is not markdown that starts with `# {name[:2]} Title`"
    tagged = [number for number, cell in enumerate(cells, start=1) if _is_parameters(cell)]
    if tagged != [2] or cells[1]["cell_type"] != "code":
        yield f"{name}: tagged `{PARAMETERS}`: {tagged or 'no cell'}; it must be cell 2, code, and no other"
    if len(cells) > MOST_CELLS:
        yield f"{name}: {len(cells)} cells, at most {MOST_CELLS}"
    kernel = content.get("metadata", {}).get("kernelspec", {}).get("name")
    if kernel != "python3":
        yield f"{name}: the kernelspec is {kernel!r}, expected 'python3'"


def _check_cell(cell: dict[str, Any]) -> Iterator[str]:
    source = cell["source"]
    lines = source.count("\n") + 1
    if lines > MOST_LINES:
        yield f"{lines} lines, at most {MOST_LINES}"
    if cell["cell_type"] == "raw":
        yield "is a raw cell; use markdown or code"
    if cell["cell_type"] != "code":
        return
    if cell.get("outputs") or cell.get("execution_count") is not None:
        yield "has outputs; commit notebooks without (in JupyterLab: Clear Outputs of All Cells, save)"
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        # Only now: in valid Python, such a line goes on with an expression or a string.
        if re.search(r"^\s*[%!]", source, re.MULTILINE):
            yield "has an IPython magic (a line that starts with % or !)"
        else:
            yield f"is not valid Python: line {error.lineno}: {error.msg}"
        return
    yield from filter(None, map(_check_node, ast.walk(tree)))


def _check_node(node: ast.AST) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return f"defines `{node.name}`; functions and classes belong in src/, with a test"
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and isinstance(node.value, ast.Lambda):
        return "assigns a lambda; functions belong in src/, with a test"
    if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path":
        return "uses sys.path; the package is installed"
    return None

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rearena import project
from rearena.reporting import contract, notebooks, webpage


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": f"m{len(source)}", "metadata": {}, "source": source}


def code(source: str, *tags: str) -> dict[str, Any]:
    body = {"execution_count": None, "outputs": [], "source": source, "metadata": {"tags": list(tags)}}
    return {"cell_type": "code", "id": f"c{abs(hash(source))}", **body}


def good_cells() -> list[dict[str, Any]]:
    return [markdown("# 31 Title\n\n$a < b$"), code("n = 1\nname: str = 'x'", "parameters"), code("n + 1")]


def save(path: Path, cells: list[dict[str, Any]], kernel: str = "python3") -> Path:
    metadata = {"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path / "a {checkout}"
    (home / "profiles").mkdir(parents=True)
    (home / "profiles" / "default.yaml").write_text("{}\n")
    (home / "data").mkdir()
    (home / "data" / "claims.csv").write_text("id\n")
    monkeypatch.setenv("REARENA_HOME", str(home))
    project.root.cache_clear()
    yield home
    monkeypatch.undo()
    project.root.cache_clear()


def execute(checkout: Path, stem: str, **environment: str) -> subprocess.CompletedProcess[str]:
    output = f"build/notebooks/{stem}.ipynb"
    command = [sys.executable, "-m", "rearena.reporting.notebooks", "run", f"notebooks/{stem}.ipynb"]
    return subprocess.run(
        [*command, "--output", output, "--timeout", "60"],
        cwd=checkout,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_good_notebook_keeps_the_contract(tmp_path: Path) -> None:
    assert contract.check(save(tmp_path / "31-good.ipynb", good_cells())) == []


def replaced(number: int, cell: dict[str, Any]) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda cells: [*cells[: number - 1], cell, *cells[number:]]


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        (replaced(1, markdown("# 32 Title")), "is not markdown that starts with `# 31 Title`"),
        (replaced(1, code("1")), "is not markdown that starts with"),
        (replaced(2, code("n = 1")), "tagged `parameters`: no cell"),
        (replaced(3, code("m = 1", "parameters")), r"tagged `parameters`: \[2, 3\]"),
        (lambda cells: [cells[0], cells[2], cells[1]], r"tagged `parameters`: \[3\]"),
        (lambda cells: cells + [code(str(i)) for i in range(23)], "26 cells, at most 25"),
        (replaced(3, code("\n".join("1" for _ in range(31)))), "cell 3: 31 lines, at most 30"),
        (replaced(3, markdown("\n".join("x" for _ in range(31)))), "cell 3: 31 lines, at most 30"),
        (replaced(3, code("1") | {"execution_count": 4}), "cell 3: has outputs"),
        (replaced(3, code("1") | {"outputs": [{"output_type": "stream"}]}), "cell 3: has outputs"),
        (replaced(3, code("if n:\n    def f(): pass")), "cell 3: defines `f`"),
        (replaced(3, code("class A: pass")), "cell 3: defines `A`"),
        (replaced(3, code("f = lambda x: x")), "cell 3: assigns a lambda"),
        (replaced(3, code("import sys\nsys.path.insert(0, '')")), "cell 3: uses sys.path"),
        (replaced(3, code("%matplotlib inline")), "cell 3: has an IPython magic"),
        (replaced(3, code("!pip install x")), "cell 3: has an IPython magic"),
        (replaced(3, code("x = (")), "cell 3: is not valid Python"),
        (replaced(3, {"cell_type": "raw", "metadata": {}, "source": "x"}), "cell 3: is a raw cell"),
    ],
)
def test_each_breach_is_named(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], breach: str
) -> None:
    found = contract.check(save(tmp_path / "31-bad.ipynb", change(good_cells())))
    assert len(found) == 1
    assert found[0].startswith("31-bad.ipynb")
    assert re.search(breach, found[0])


def test_another_kernel_and_a_wrong_name_are_breaches(tmp_path: Path) -> None:
    found = contract.check(save(tmp_path / "31_Bad.ipynb", good_cells(), kernel="julia"))
    assert ["kernelspec" in breach for breach in found] == [False, True]


def test_a_lambda_as_an_argument_is_no_breach(tmp_path: Path) -> None:
    cells = [*good_cells()[:2], code("sorted([1], key=lambda x: -x)")]
    assert contract.check(save(tmp_path / "31-good.ipynb", cells)) == []


def test_what_is_not_a_notebook_is_said(tmp_path: Path) -> None:
    (tmp_path / "31-x.ipynb").write_text("[]")
    with pytest.raises(ValueError, match=r"31-x\.ipynb is not a Jupyter notebook"):
        contract.check(tmp_path / "31-x.ipynb")


def test_the_digest_follows_code_and_nothing_else(tmp_path: Path) -> None:
    first = notebooks.digest(save(tmp_path / "31-a.ipynb", good_cells()))
    assert len(first) == 10
    cells = good_cells()
    cells[0]["source"] += " more words"
    cells[2] |= {"execution_count": 3, "outputs": [{"output_type": "stream"}]}
    assert notebooks.digest(save(tmp_path / "31-b.ipynb", cells)) == first
    cells[2]["source"] = ["n", " + 2"]
    assert notebooks.digest(save(tmp_path / "31-c.ipynb", cells)) != first


def test_parameters_are_those_of_the_profile(checkout: Path) -> None:
    notebook = save(checkout / "notebooks" / "31-good.ipynb", good_cells())
    (checkout / "profiles" / "smoke.yaml").write_text("31-good: {n: 5}\n")
    assert notebooks.parameters(notebook, "smoke") == {"n": 5}
    assert notebooks.parameters(notebook, "default") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("31-good: {m: 5}", "31-good has no parameter m; it has n, name"),
        ("32-gone: {n: 5}", "names notebooks that do not exist: 32-gone"),
        ("31-good: 5", "must map notebook stems"),
        ("", "must map notebook stems"),
    ],
)
def test_a_profile_that_would_be_ignored_is_refused(checkout: Path, text: str, message: str) -> None:
    notebook = save(checkout / "notebooks" / "31-good.ipynb", good_cells())
    (checkout / "profiles" / "smoke.yaml").write_text(text)
    with pytest.raises(notebooks.NotebookError, match=message):
        notebooks.parameters(notebook, "smoke")
    with pytest.raises(notebooks.NotebookError, match="no profile 'other'"):
        notebooks.parameters(notebook, "other")


def test_without_the_parameters_tag_nothing_runs(checkout: Path) -> None:
    notebook = save(checkout / "notebooks" / "31-good.ipynb", [good_cells()[0], code("1")])
    with pytest.raises(notebooks.NotebookError, match="0 cells are tagged `parameters`"):
        notebooks.run(notebook, checkout / "out.ipynb")


@pytest.mark.notebook
def test_a_run_ignores_the_configuration_of_the_user_and_leaves_a_copy_and_a_page(checkout: Path) -> None:
    spec = checkout / "home" / ".local" / "share" / "jupyter" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": ["/bin/false"], "display_name": "x", "language": "python"}))
    show = "import os, sys\nprint(sys.executable)\nprint(os.environ['REARENA_NOTEBOOK'], n)"
    html = "from IPython.display import HTML, display\ndisplay(HTML('<script>evil()</script><b>kept</b>'))"
    save(checkout / "notebooks" / "31-good.ipynb", [*good_cells(), code(show), code(html)])
    (checkout / "profiles" / "default.yaml").write_text("31-good: {n: 7}\n")
    jupyter_path = str(spec.parents[2])
    done = execute(checkout, "31-good", HOME=str(checkout / "home"), JUPYTER_PATH=jupyter_path)
    assert done.returncode == 0, done.stderr
    copy = json.loads((checkout / "build" / "notebooks" / "31-good.ipynb").read_text())
    outputs = [out for cell in copy["cells"] for out in cell.get("outputs", [])]
    assert ["".join(out["text"]) for out in outputs if "text" in out] == [f"{sys.executable}\n31-good 7\n"]
    left = [file.name for file in (checkout / "build" / "notebooks").iterdir()]
    assert left == ["31-good.ipynb"]
    page = (checkout / "build" / "html" / "31-good.html").read_text()
    assert "<math" in page
    assert "<b>kept</b>" in page
    assert "<script" not in page


@pytest.mark.notebook
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise ValueError('first line\\nsecond')", "cell 3: ValueError: first line\n"),
        ("import os\nos.kill(os.getpid(), 9)", "cell 3: DeadKernelError"),
        ("import sys\nsys.exit(0)", "cell 3: SystemExit: 0"),
    ],
)
def test_a_failing_notebook_is_kept_aside_and_named(checkout: Path, source: str, message: str) -> None:
    save(checkout / "notebooks" / "32-bad.ipynb", [*good_cells()[:2], code(source), code("print(1)")])
    done = execute(checkout, "32-bad")
    assert done.returncode == 1
    assert f"error: 32-bad failed in {message}" in done.stderr
    assert "executed copy: build/failed/32-bad.ipynb" in done.stderr
    assert (checkout / "build" / "failed" / "32-bad.ipynb").is_file()
    assert list((checkout / "build" / "notebooks").iterdir()) == []


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

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rearena import project
from rearena.reporting import contract, notebooks


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


RUNNER = [sys.executable, "-m", "rearena.reporting.notebooks"]


def command(stem: str) -> list[str]:
    output = f"build/notebooks/{stem}.ipynb"
    return [*RUNNER, "run", f"notebooks/{stem}.ipynb", "--output", output, "--timeout", "60"]


def execute(
    checkout: Path, stem: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command(stem), *arguments],
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


@pytest.mark.parametrize(
    "source", ["sorted([1], key=lambda x: -x)", "(7\n    % 3)", "'''\n!not a command\n'''"]
)
def test_what_only_looks_like_a_breach_is_none(tmp_path: Path, source: str) -> None:
    cells = [*good_cells()[:2], code(source)]
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


def test_the_digest_follows_the_default_values_of_its_own_notebook(checkout: Path) -> None:
    notebook = save(checkout / "notebooks" / "31-good.ipynb", good_cells())
    profile = checkout / "profiles" / "default.yaml"
    texts = ("{}", "31-good: {n: 5}", "31-good: {n: 6}", "32-other: {n: 5}", "31-good: {n: 5, name: y}")
    found = {}
    for text in (*texts, "31-good: {name: y, n: 5}"):
        profile.write_text(text)
        found[text] = notebooks.digest(notebook)
    assert found["32-other: {n: 5}"] == found["{}"]
    assert found["31-good: {name: y, n: 5}"] == found["31-good: {n: 5, name: y}"]
    assert len(set(found.values())) == 4


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
        ("31-good: {", r"profiles/smoke\.yaml is not YAML"),
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
    show = "import sys\nprint(sys.executable)\nprint(n)"
    html = "from IPython.display import HTML, display\ndisplay(HTML('<script>evil()</script><b>kept</b>'))"
    save(checkout / "notebooks" / "31-good.ipynb", [*good_cells(), code(show), code(html)])
    (checkout / "profiles" / "default.yaml").write_text("31-good: {n: 7}\n")
    jupyter_path = str(spec.parents[2])
    done = execute(checkout, "31-good", HOME=str(checkout / "home"), JUPYTER_PATH=jupyter_path)
    assert done.returncode == 0, done.stderr
    copy = json.loads((checkout / "build" / "notebooks" / "31-good.ipynb").read_text())
    outputs = [out for cell in copy["cells"] for out in cell.get("outputs", [])]
    assert ["".join(out["text"]) for out in outputs if "text" in out] == [f"{sys.executable}\n7\n"]
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


# Writes as the package does: into the folder that it is told.
SAVING = """from rearena import project
from rearena.atomic import write_text
write_text(project.figures() / "31-good.csv", f"n {n}")
write_text(project.figures() / "results" / "31-good-printed.csv", "same")"""


@pytest.mark.notebook
def test_figures_are_published_by_a_run_that_succeeds_and_by_no_other(checkout: Path) -> None:
    figures, failed = checkout / "figures", checkout / "build" / "failed" / "31-good.ipynb"
    (figures / "results").mkdir(parents=True)
    before = {"31-good.csv": "old", "31-good-released.csv": "stays", "results/31-good-printed.csv": "same"}
    for name, text in before.items():
        (figures / name).write_text(text)
        os.utime(figures / name, (1e9, 1e9))

    def held() -> dict[str, str]:
        files = [file for file in figures.rglob("*") if file.is_file()]
        return {file.relative_to(figures).as_posix(): file.read_text() for file in files}

    save(checkout / "notebooks" / "31-good.ipynb", [*good_cells(), code(SAVING), code("1 / 0")])
    assert execute(checkout, "31-good").returncode == 1
    assert held() == before
    assert failed.is_file()

    save(checkout / "notebooks" / "31-good.ipynb", [*good_cells(), code(SAVING)])
    done = execute(checkout, "31-good")
    assert done.returncode == 0, done.stderr
    assert held() == before | {"31-good.csv": "n 1"}
    assert (figures / "results" / "31-good-printed.csv").stat().st_mtime == 1e9
    assert not failed.exists()

    (checkout / "profiles" / "smoke.yaml").write_text("31-good: {n: 5}\n")
    assert execute(checkout, "31-good", "--profile", "smoke").returncode == 0
    assert held() == before | {"31-good.csv": "n 1"}
    assert (checkout / "build" / "smoke" / "figures" / "31-good.csv").read_text() == "n 5"

    elsewhere = checkout / "else where"
    assert execute(checkout, "31-good", REARENA_FIGURES=str(elsewhere)).returncode == 0
    assert (elsewhere / "31-good.csv").read_text() == "n 1"


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.notebook
@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGTERM] * 8, [signal.SIGINT]])
def test_a_run_that_is_stopped_ends_its_kernel_and_leaves_nothing(
    checkout: Path, signals: list[signal.Signals]
) -> None:
    sleeping = "import os, time\nopen('../kernel', 'w').write(f'{os.getpid()}.')\ntime.sleep(60)"
    save(checkout / "notebooks" / "31-good.ipynb", [*good_cells(), code(SAVING), code(sleeping)])
    kernel = checkout / "kernel"
    with subprocess.Popen(command("31-good"), cwd=checkout, stderr=subprocess.PIPE, text=True) as runner:
        until(lambda: kernel.is_file() and kernel.read_text().endswith("."))
        for number in signals:
            runner.send_signal(number)
            time.sleep(0.08)
        _, said = runner.communicate(timeout=60)
    assert (runner.returncode, said) == (130, "interrupted, nothing published\n")
    assert list((checkout / "build" / "notebooks").iterdir()) == []
    assert not (checkout / "figures").exists()
    until(lambda: gone(int(kernel.read_text()[:-1])))


@pytest.mark.notebook
def test_a_run_sweeps_what_a_killed_run_of_the_same_notebook_left(checkout: Path) -> None:
    save(checkout / "notebooks" / "31-good.ipynb", good_cells())
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    folder = checkout / "build" / "notebooks"
    kept = {
        f".31-good.{os.getpid()}",
        f".31-good-and-more.{ended.pid}",
    }  # one runs; one is another notebook's
    for name in (*kept, f".31-good.{ended.pid}"):
        (folder / name / "figures").mkdir(parents=True)
    assert execute(checkout, "31-good").returncode == 0
    assert {entry.name for entry in folder.iterdir()} == {*kept, "31-good.ipynb"}


def test_a_notebook_saved_as_completed_that_did_not_run_has_failed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [*good_cells()[:2], markdown("text"), code("print(1)"), code("")]

    def execute_nothing(_: str, output: str, *__: Any, **___: Any) -> None:
        save(Path(output), [cells[0], cells[1] | {"execution_count": 1}, *cells[2:]])

    monkeypatch.setattr("papermill.execute_notebook", execute_nothing)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    notebook = save(checkout / "notebooks" / "31-good.ipynb", cells)
    with pytest.raises(notebooks.NotebookError, match=r"31-good failed in cell 4: it did not run"):
        notebooks.run(notebook, checkout / "out.ipynb")
    assert not (checkout / "out.ipynb").exists()


def test_evidence_changes_with_a_file_that_comes_and_with_its_sha256(checkout: Path) -> None:
    save(checkout / "notebooks" / "31-good.ipynb", good_cells())
    sources = checkout / "data" / "sources.csv"
    evidence = checkout / "build" / "evidence" / "31-good.txt"

    def written(one: str) -> str:
        rows = [("one", one, "31-good"), ("two", "b" * 64, "30-a;31-good"), ("three", "c" * 64, "32-other")]
        lines = [
            f"{id},https://a.example.com/{id}.csv,{sum},1,MIT,released,{users},text"
            for id, sum, users in rows
        ]
        sources.write_text("\n".join(["id,url,sha256,bytes,licence,kind,used_by,holds", *lines, ""]))
        environment = {name: value for name, value in os.environ.items() if name != "REARENA_MIRROR"}
        asked = [*RUNNER, "evidence", "notebooks/31-good.ipynb"]
        subprocess.run(asked, cwd=checkout, env=environment, check=True)
        return evidence.read_text()

    assert written("a" * 64) == f"one {'a' * 64} absent\ntwo {'b' * 64} absent\n"
    (checkout / "data" / "downloads").mkdir()
    (checkout / "data" / "downloads" / "one.csv").touch()
    assert written("a" * 64) == f"one {'a' * 64} here\ntwo {'b' * 64} absent\n"
    os.utime(evidence, (1e9, 1e9))
    written("a" * 64)
    assert evidence.stat().st_mtime == 1e9
    assert written("d" * 64) == f"one {'d' * 64} here\ntwo {'b' * 64} absent\n"

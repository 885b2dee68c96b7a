"""The Makefile's decisions, with a stand-in for Python that only records what it is asked to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from rearena import project

STAND_IN = r"""#!/bin/bash
if [ "$1" = -c ]; then exit 0; fi
shift 2
case "$1" in
run) echo "run $2" >> calls; if [ "$2" = "$FAILS" ]; then exit 1; fi
     mkdir -p build/notebooks; touch "${@: -1}" ;;
evidence) shift; mkdir -p build/evidence
     for notebook; do file="build/evidence/$(basename "$notebook" .ipynb).txt"
     [ -e "$file" ] && [ "$(cat "$file")" = "$EVIDENCE" ] || echo "$EVIDENCE" > "$file"
     done ;;
*) echo gallery >> calls ;;
esac
"""
UV = """#!/bin/bash
echo "uv $*" >> calls
if [ "$1" = sync ]; then mkdir -p .venv/bin; cp stand-in .venv/bin/python; fi
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in a folder with spaces whose environment is complete."""
    home = tmp_path.resolve() / "a check out"
    for folder in ("notebooks", "profiles", "data/published", "src/rearena", ".venv/bin", "bin"):
        (home / folder).mkdir(parents=True)
    shutil.copy(project.root() / "Makefile", home)
    touched = ("notebooks/31-one.ipynb", "notebooks/32-two.ipynb", "profiles/default.yaml", "uv.lock")
    for name in (*touched, "pyproject.toml", "data/claims.csv", "data/published/t.csv", "src/rearena/a.py"):
        (home / name).touch()
    for name, text in ((".venv/bin/python", STAND_IN), ("stand-in", STAND_IN), ("bin/uv", UV)):
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    (home / ".venv" / ".complete").write_text(str(home))
    for file in home.rglob("*"):
        os.utime(file, (time.time() - 100,) * 2)
    return home


def make(
    home: Path, *arguments: str, **environment: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run make; its outcome, and the calls of this run."""
    calls = home / "calls"
    calls.unlink(missing_ok=True)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["make", *arguments],
        cwd=home,
        env=plain | {"PATH": path, "VIRTUAL_ENV": "/stray"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done, sorted(calls.read_text().splitlines()) if calls.is_file() else []


BOTH = ["gallery", "run notebooks/31-one.ipynb", "run notebooks/32-two.ipynb"]


def test_everything_runs_once_and_then_nothing(checkout: Path) -> None:
    done, calls = make(checkout, "-j2", "reproduce")
    assert (done.returncode, calls) == (0, BOTH)
    assert make(checkout, "reproduce")[1] == ["gallery"]


@pytest.mark.parametrize(
    "touched", ["src/rearena/a.py", "data/claims.csv", "data/published/t.csv", "profiles/default.yaml"]
)
def test_what_every_notebook_rests_on_runs_all(checkout: Path, touched: str) -> None:
    make(checkout, "reproduce")
    ahead = time.time() + 2
    os.utime(checkout / touched, (ahead, ahead))
    assert make(checkout, "reproduce")[1] == BOTH


def test_a_touched_notebook_runs_alone(checkout: Path) -> None:
    make(checkout, "reproduce")
    ahead = time.time() + 2
    os.utime(checkout / "notebooks" / "32-two.ipynb", (ahead, ahead))
    assert make(checkout, "reproduce")[1] == ["gallery", "run notebooks/32-two.ipynb"]


def test_new_evidence_runs_the_notebooks_again(checkout: Path) -> None:
    make(checkout, "reproduce", EVIDENCE="absent")
    time.sleep(0.02)
    assert make(checkout, "reproduce", EVIDENCE="here")[1] == BOTH


def test_a_failing_notebook_neither_stops_the_others_nor_hides(checkout: Path) -> None:
    done, calls = make(checkout, "reproduce", FAILS="notebooks/31-one.ipynb")
    assert done.returncode != 0
    assert calls == BOTH
    assert "reproduce: FAILED" in done.stderr
    assert make(checkout, "reproduce")[1] == ["gallery", "run notebooks/31-one.ipynb"]


def test_one_notebook_runs_by_its_number_always(checkout: Path) -> None:
    for _ in range(2):
        assert make(checkout, "notebook", "NB=32")[1] == ["gallery", "run notebooks/32-two.ipynb"]
    done, calls = make(checkout, "notebook", "NB=77")
    assert done.returncode != 0
    assert calls == []
    assert "there are: 31-one 32-two" in done.stderr


@pytest.mark.parametrize("harm", ["copied", "half made", "without python", "stale"])
def test_an_environment_that_is_not_right_is_made_again(checkout: Path, harm: str) -> None:
    stamp = checkout / ".venv" / ".complete"
    left = checkout / ".venv" / "left over"
    left.touch()
    if harm == "copied":
        stamp.write_text("/elsewhere")
    elif harm == "half made":
        stamp.unlink()
    elif harm == "without python":
        (checkout / ".venv" / "bin" / "python").unlink()
    else:
        ahead = time.time() - 50
        os.utime(checkout / "uv.lock", (ahead, ahead))
    done, calls = make(checkout, "notebook", "NB=31")
    assert done.returncode == 0, done.stderr
    assert [call for call in calls if call.startswith("uv sync")] == ["uv sync --frozen"]
    assert stamp.read_text() == str(checkout)
    # A lock that only moved on is installed over the old one; anything else starts from nothing.
    assert left.exists() == (harm == "stale")
    assert not [call for call in make(checkout, "notebook", "NB=31")[1] if call.startswith("uv")]


def test_a_checkout_behind_a_symbolic_link_is_not_a_copy(checkout: Path) -> None:
    link = checkout.parent / "link"
    link.symlink_to(checkout)
    _, calls = make(link, "notebook", "NB=31", PWD=str(link))
    assert calls == ["gallery", "run notebooks/31-one.ipynb"]


def test_help_is_the_default_and_names_the_commands(checkout: Path) -> None:
    done, _ = make(checkout)
    for command in ("reproduce", "test", "data", "lab", "notebook", "lint", "bench", "paper-scale"):
        assert f"make {command} " in done.stdout

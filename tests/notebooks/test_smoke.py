"""Every notebook keeps the contract, and runs with the smallest parameters on whatever data are here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rearena import project
from rearena.reporting import contract

NOTEBOOKS = sorted((project.root() / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_keeps_the_contract(notebook: Path) -> None:
    assert contract.check(notebook) == []


@pytest.mark.notebook
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_runs_in_the_smoke_profile(notebook: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rearena.reporting.notebooks", "run", str(notebook)]
    done = subprocess.run(
        [*command, "--profile", "smoke", "--output", str(tmp_path / notebook.name)],
        cwd=project.root(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / notebook.name).is_file()

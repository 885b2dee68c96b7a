"""Where the project's files are: the checkout that holds notebooks, data and figures."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_MARK = Path("data") / "claims.csv"


@cache
def root() -> Path:
    """Folder that holds ``data/claims.csv``: the checkout.

    Looked for in ``REARENA_HOME``, then beside the installed source (an editable install), then from the
    working directory upwards, so that a notebook finds it wherever it was opened.

    Returns
    -------
    pathlib.Path
        Absolute path of the checkout.

    Raises
    ------
    FileNotFoundError
        If none of the three places holds the file.
    """
    home = os.environ.get("REARENA_HOME")
    if home:
        if not (Path(home) / _MARK).is_file():
            raise FileNotFoundError(
                f"REARENA_HOME is {home!r}, which does not hold {_MARK}: unset or correct it"
            )
        return Path(home).resolve()
    here = Path.cwd().resolve()
    for folder in (Path(__file__).resolve().parents[2], here, *here.parents):
        if (folder / _MARK).is_file():
            return folder
    raise FileNotFoundError(
        f"no checkout of rearena found: {_MARK} is neither beside the package nor above {here}. "
        "Install the package editable (make does), or set REARENA_HOME to the checkout"
    )


def figures() -> Path:
    """Folder that figures, tables and results are written to.

    ``REARENA_FIGURES`` where set, else ``figures/`` of the checkout. The runner sets it to a folder of the
    run, whose files it publishes when the run has succeeded: what reads committed figures goes by ``root``.
    """
    chosen = os.environ.get("REARENA_FIGURES")
    return Path(chosen).resolve() if chosen else root() / "figures"

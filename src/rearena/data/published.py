"""Numbers printed in the four papers: one CSV per table or figure under ``data/published``."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from rearena import project


def names() -> list[str]:
    """Names of the published tables, sorted; ``data/published/README.md`` says what each holds."""
    return sorted(file.stem for file in _folder().glob("*.csv"))


def table(name: str) -> pd.DataFrame:
    """Read one published table.

    Parameters
    ----------
    name : str
        One of `names`, such as ``"arena_hard_table6"``.

    Returns
    -------
    pandas.DataFrame
        The cells as the paper prints them: percent stays percent, a cell without a number is missing.

    Raises
    ------
    KeyError
        If no table has this name; the message lists close ones.
    """
    known = names()
    if name not in known:
        close = get_close_matches(name, known, n=5, cutoff=0.4) or known
        raise KeyError(f"no published table {name!r}; did you mean one of: {', '.join(close)}?")
    return pd.read_csv(_folder() / f"{name}.csv")


def matrix(name: str) -> pd.DataFrame:
    """Read a published map of every model against every other, such as RWQ-Elo Fig 7.

    Parameters
    ----------
    name : str
        One of `names`, of a table whose columns after ``model`` are the models of its rows.

    Returns
    -------
    pandas.DataFrame
        Square, shape (models, models); index and columns are models in the printed order. A win-rate map
        holds the fraction of contests that the row wins against the column, in [0, 1]; its diagonal is
        printed as 0.

    Raises
    ------
    KeyError
        If no table has this name.
    ValueError
        If the table is not such a map.
    """
    frame = table(name)
    labels = list(frame["model"]) if "model" in frame else []
    if not labels or labels != [column for column in frame.columns if column != "model"]:
        raise ValueError(
            f"published table {name!r} is not a map: its columns are not the models of its rows; use table()"
        )
    return frame.set_index("model")


def _folder() -> Path:
    return project.root() / "data" / "published"

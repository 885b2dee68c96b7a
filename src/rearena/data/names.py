"""One model under two names: the maps of ``data/names``, kept by hand and only where the match is certain."""

from __future__ import annotations

import csv
from typing import Literal

from rearena.project import root


def between(pair: Literal["leaderbot_to_board", "wildbench_to_leaderboard"]) -> dict[str, str]:
    """Map from the names of one source to those of another; see ``data/names/README.md``.

    Parameters
    ----------
    pair : {"leaderbot_to_board", "wildbench_to_leaderboard"}
        Which map.

    Returns
    -------
    dict
        A model that is missing has one name in both sources, or is in one of them only.

    Raises
    ------
    KeyError
        If there is no such map; the message lists those that there are.
    ValueError
        If a row is not two names, or a name to map from comes twice.
    """
    files = {file.stem: file for file in (root() / "data" / "names").glob("*.csv")}
    if pair not in files:
        raise KeyError(f"no map of names {pair!r}; there are: {', '.join(sorted(files))}")
    found: dict[str, str] = {}
    with files[pair].open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        next(reader, None)
        for row in reader:
            if len(row) != 2 or not all(row) or row[0] in found:
                raise ValueError(
                    f"{pair}.csv, line {reader.line_num}: {row} is not two names, or listed before"
                )
            found[row[0]] = row[1]
    return found

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
    """
    with (root() / "data" / "names" / f"{pair}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {one: other for one, other in rows}

"""The benchmarks that Arena-Hard compares with Chatbot Arena, under one set of model names.

The authors' notebook compares them over the 20 models that AlpacaEval's file holds. Its draws and the rating
file of 2024-03-29 are released; those behind the paper's Table 2 (2024-04-13, another 20 models) are not.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from rearena.data import downloads, released
from rearena.data.released import Draws

REFERENCE = "Chatbot Arena"
BENCHMARKS = ("MT-Bench", "AlpacaEval LC", "Arena-Hard")
_DRAWS = {
    "Chatbot Arena (20K votes)": "arena-hard-draws-20k-votes",
    "MT-Bench": "arena-hard-draws-mt-bench",
    "AlpacaEval LC": "arena-hard-draws-alpaca-lc",
    "Arena-Hard": "arena-hard-draws-arena-hard",
}
_RATINGS = "arena-hard-ratings-20240329"
_NAMES = {
    "AlpacaEval LC": "arena-hard-names-alpaca-to-arena",
    "Arena-Hard": "arena-hard-names-arena-to-arena-hard",
    "MT-Bench": "arena-hard-names-arena-to-mt-bench",
}


def load() -> dict[str, Draws]:
    """Scores, intervals and draws of each benchmark and of the reference over the same 20 models.

    Returns
    -------
    dict from name to Draws
        ``table`` has ``score, lower, upper``, indexed by Chatbot Arena's model names in one order; ``draws``
        has the same columns. Elo for Chatbot Arena, a grade of 1 to 10 for MT-Bench, per cent otherwise.

    Raises
    ------
    SourceError
        If a file is neither downloaded nor mirrored.
    KeyError
        If a benchmark lacks one of the models.
    """
    names = {key: released.name_map(downloads.path(id)) for key, id in _NAMES.items()}
    to_arena = {
        "AlpacaEval LC": names["AlpacaEval LC"],
        **{
            key: {theirs: arena for arena, theirs in names[key].items()} for key in ("Arena-Hard", "MT-Bench")
        },
    }
    ratings = released.arena_ratings_20240329(downloads.path(_RATINGS))
    found = {REFERENCE: replace(ratings, table=ratings.table.rename(columns={"rating": "score"}))}
    for key, id in _DRAWS.items():
        found[key] = _renamed(released.bootstrap_draws(downloads.path(id)), to_arena.get(key, {}))
    models = sorted(names["AlpacaEval LC"].values())
    return {key: _restricted(draws, models) for key, draws in found.items()}


def _renamed(draws: Draws, names: dict[str, str]) -> Draws:
    # The map of Arena-Hard is written in lower case, its draws are not; a name outside the map is kept.
    def arena(name: str) -> str:
        return names.get(name, names.get(name.lower(), name))

    return replace(draws, table=draws.table.rename(index=arena), draws=draws.draws.rename(columns=arena))


def _restricted(draws: Draws, models: list[str]) -> Draws:
    index = pd.Index(models, name="model")
    return replace(draws, table=draws.table.loc[index, ["score", "lower", "upper"]], draws=draws.draws[index])

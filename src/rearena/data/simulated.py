"""Battles drawn from known win rates, so that a method can be asked whether it finds them again."""

from __future__ import annotations

import numpy as np
import pandas as pd


def round_robin(win_map: pd.DataFrame, per_pair: int, seed: int | np.random.Generator) -> pd.DataFrame:
    """Battles in which every pair of models meets equally often, without ties.

    Source: the contests of RWQ-Elo, section 4: each model meets every other exactly H times, N(N-1)H/2
    contests in all.

    Parameters
    ----------
    win_map : DataFrame, shape (M, M)
        Probability in [0, 1] that the row's model beats the column's. A printed map is rounded, so that an
        entry and its mirror may add up to 0.99 or 1.01; the entry above the diagonal is the one used.
    per_pair : int
        Contests between each two models (H). The sides alternate; with an odd number the model that the map
        lists first is shown first once more.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    DataFrame
        Battles, pair by pair.

    Raises
    ------
    ValueError
        If the map is not square over the same models in the same order, has fewer than two, holds a number
        outside [0, 1], or ``per_pair`` is below 1.
    """
    models = list(win_map.index)
    if models != list(win_map.columns) or len(models) < 2 or len(set(models)) < len(models):
        raise ValueError("a win map needs two or more models, the same ones in the same order on both sides")
    if per_pair < 1:
        raise ValueError(f"per_pair must be at least 1, got {per_pair}")
    above = np.triu_indices(len(models), 1)
    chance = win_map.to_numpy(dtype=float)[above]
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("a win map holds probabilities, but some are missing or outside [0, 1]")
    won = np.random.default_rng(seed).random((len(chance), per_pair)) < chance[:, None]
    swapped = np.arange(per_pair) % 2 == 1
    better, worse = (np.repeat(np.array(models, dtype=object)[k], per_pair) for k in above)
    turned = np.tile(swapped, len(chance))
    return pd.DataFrame(
        {
            "model_a": np.where(turned, worse, better),
            "model_b": np.where(turned, better, worse),
            "outcome": np.where(turned, ~won.ravel(), won.ravel()).astype(float),
        }
    )

"""Battles drawn from known win rates, so that a method can be asked whether it finds them again."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit


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


def benchmark_draws(
    models: int,
    prompts: int,
    rounds: int,
    seed: int | np.random.Generator,
    *,
    disagreement: float = 0.0,
    noise: float = 4.0,
) -> tuple[pd.Series, pd.DataFrame]:
    r"""A benchmark of known truth: abilities, and bootstrap draws of the scores that it gives.

    Model :math:`i` has ability :math:`\theta_i \sim N(0, 1)`. The benchmark rewards
    :math:`\theta_i + \delta_i` with :math:`\delta_i \sim N(0, d^2)`, and sees it through scores of single
    prompts with standard deviation ``noise``; the score of a model is their mean, and its draws are those of
    a bootstrap over prompts.

    Parameters
    ----------
    models, prompts, rounds : int
        Sizes, each at least 2.
    seed : int or Generator
        Source of randomness.
    disagreement : float
        :math:`d`, in standard deviations of ability.
    noise : float
        Standard deviation of one prompt's score, in the same unit.

    Returns
    -------
    ability : Series, length ``models``
    draws : DataFrame, shape (rounds, models)

    Raises
    ------
    ValueError
        If a size is below 2.
    """
    if min(models, prompts, rounds) < 2:
        raise ValueError(f"models, prompts and rounds must be at least 2, got {models}, {prompts}, {rounds}")
    rng = np.random.default_rng(seed)
    digits = len(str(models - 1))
    names = pd.Index([f"model {k:0{digits}d}" for k in range(models)], name="model")
    ability = rng.normal(size=models)
    rewarded = ability + disagreement * rng.normal(size=models)
    scores = rewarded + noise * rng.normal(size=(prompts, models))
    drawn = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=rounds)
    return pd.Series(ability, index=names), pd.DataFrame(drawn @ scores / prompts, columns=names)


def bradley_terry_battles(
    coefficients: pd.Series, battles: int, seed: int | np.random.Generator
) -> pd.DataFrame:
    r"""Battles that Bradley-Terry decides, between pairs drawn uniformly, as counts.

    Source: the simulation of Chatbot Arena, section 7.1 and appendix A. The first model of a pair wins with
    probability :math:`\sigma(\xi_a - \xi_b)`, equation (2); there are no ties.

    Parameters
    ----------
    coefficients : Series, length M
        :math:`\xi` in log-odds, indexed by model.
    battles : int
        Number of battles.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    DataFrame
        Battles with ``weight``: one row per pair and outcome that occurred.

    Raises
    ------
    ValueError
        If there are fewer than two models, a model occurs twice, a coefficient is not finite, or there is no
        battle to draw.
    """
    if len(coefficients) < 2 or coefficients.index.has_duplicates or battles < 1:
        raise ValueError("battles need two or more models, each once, and at least one battle")
    i, j = np.triu_indices(len(coefficients), 1)
    xi, models = coefficients.to_numpy(dtype=float), coefficients.index.to_numpy(dtype=object)
    if not np.isfinite(xi).all():
        raise ValueError(f"no finite coefficient for {list(models[~np.isfinite(xi)])}")
    first_wins = expit(xi[i] - xi[j])
    chance = np.concatenate([first_wins, 1 - first_wins]) / len(i)
    weight = np.random.default_rng(seed).multinomial(battles, chance / chance.sum())
    frame = pd.DataFrame(
        {
            "model_a": np.tile(models[i], 2),
            "model_b": np.tile(models[j], 2),
            "outcome": np.repeat([1.0, 0.0], len(i)),
            "weight": weight.astype(float),
        }
    )
    return frame[frame["weight"] > 0].reset_index(drop=True)

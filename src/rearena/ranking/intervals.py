"""From intervals to ranks, and from bootstrap draws to intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.stats import norm

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def approximate_ranks(lower: ArrayLike, upper: ArrayLike) -> NDArray[np.intp]:
    r"""Rank of each model: one more than the number of models that are confidently better.

    Source: Chatbot Arena, section 5: :math:`R_m = 1 + \sum_{m'} 1\{\inf C_{m'} > \sup C_m\}`. Models whose
    intervals overlap share a rank; with simultaneous intervals no rank is understated (equation (8)).

    Parameters
    ----------
    lower, upper : array-like, shape (M,)
        Ends of each model's interval, any common unit.

    Returns
    -------
    ndarray of int, shape (M,)
        Ranks from 1, in the order of the input.

    Raises
    ------
    ValueError
        If the shapes differ, an end is NaN, or a lower end is above its upper end.
    """
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    if low.ndim != 1 or low.shape != high.shape:
        raise ValueError(f"lower and upper must be vectors of one length, got {low.shape} and {high.shape}")
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise ValueError("every interval needs ends that are numbers, the lower not above the upper")
    return 1 + len(low) - np.searchsorted(np.sort(low), high, side="right")


def checked_level(level: float) -> float:
    """Hand back a nominal coverage; ValueError unless it lies between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    return level


def normal_quantile(level: float) -> float:
    """Half-width of a two-sided normal interval, in standard errors: 1.96 for 0.95."""
    return float(norm.ppf((1 + checked_level(level)) / 2))


def from_draws(
    draws: pd.DataFrame,
    estimate: pd.Series,
    level: float = 0.95,
    method: Literal["pivot", "percentile"] = "pivot",
) -> pd.DataFrame:
    r"""Bootstrap intervals, one model at a time.

    ``pivot`` is :math:`[2\hat\xi - q_{1-\alpha/2},\; 2\hat\xi - q_{\alpha/2}]`, which Chatbot Arena names
    (section 5, DiCiccio and Efron 1996); ``percentile`` is :math:`[q_{\alpha/2}, q_{1-\alpha/2}]`, which
    public leaderboards draw.

    Parameters
    ----------
    draws : DataFrame, shape (rounds, M)
        Bootstrap ratings, one column per model.
    estimate : Series, length M
        Ratings of the whole data, indexed by model.
    level : float in (0, 1)
        Nominal coverage of each interval.
    method : {"pivot", "percentile"}

    Returns
    -------
    DataFrame
        Index model (in the order of ``estimate``); columns ``lower, upper``; ``attrs`` hold the settings.

    Raises
    ------
    KeyError
        If a model of ``estimate`` has no draws.
    ValueError
        If the level or the method is not one of those above.
    """
    tail = (1 - checked_level(level)) / 2
    low, high = np.quantile(draws[estimate.index].to_numpy(), [tail, 1 - tail], axis=0)
    if method == "pivot":
        centre = estimate.to_numpy()
        low, high = 2 * centre - high, 2 * centre - low
    elif method != "percentile":
        raise ValueError(f"method must be 'pivot' or 'percentile', got {method!r}")
    frame = pd.DataFrame({"lower": low, "upper": high}, index=estimate.index)
    frame.attrs = {"level": level, "method": f"{method} bootstrap", "rounds": len(draws)}
    return frame

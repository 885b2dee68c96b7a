r"""The win matrix: how often each model beats each other one, with intervals.

Source: Chatbot Arena, sections 4 and 5. Of a pair :math:`a` that is shown with probability :math:`P_t(a)`,
equations (4) to (6) estimate

.. math:: \hat\theta_T(a) = \frac1T \sum_t X_t(a), \qquad X_t(a) = \frac{H_t 1\{A_t = a\}}{P_t(a)},

with :math:`\hat\Sigma_T` the covariance of the vectors :math:`X_t`. Beside it stands the mean of the pair's
own votes. It needs no probabilities, and its variance is smaller by a factor of about one minus the rate: a
vote for the other model tells of this one's rate, too, but enters (4) as a zero, like one on another pair.

In the frames here ``rate`` is the expected score of ``model_a`` against ``model_b``, ties being half a win,
and ``model_a`` is the name that sorts first, whichever was shown first. In the paper :math:`H = 1` means that
the *second* model won: its :math:`\theta^*` is the rate of ``model_b``. For pair means that is ``1 - rate``.
The two rates of equation (4) do not add up to one; for the paper's, hand in ``1 - outcome``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from rearena.ranking import counts as counting
from rearena.ranking.intervals import normal_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rearena.ranking.counts import Counts

Method = Literal["wald", "wilson", "smoothed"]


def pair_means(battles: pd.DataFrame, level: float = 0.95, method: Method = "wilson") -> pd.DataFrame:
    """Mean score of each pair that met, with an interval from the pair's own votes.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b, outcome`` and optionally ``weight`` (battles that a row stands for).
    level : float in (0, 1)
        Nominal coverage of each interval.
    method : {"wald", "wilson", "smoothed"}
        As for :func:`bounds`.

    Returns
    -------
    DataFrame
        Index ``model_a, model_b``, sorted; columns ``battles, rate, variance`` (of one vote), ``lower,
        upper``; ``level`` and ``method`` in ``attrs``.

    Raises
    ------
    ValueError
        If the battles are malformed (see :func:`rearena.ranking.counts.from_battles`) or a setting is.
    """
    counts = counting.from_battles(battles)
    n, score, squares = _moments(counts.outcomes)
    lower, upper = bounds(score, n, level, method, squares)
    rate = score / n
    frame = _frame(counts, battles=n, rate=rate, variance=squares / n - rate**2, lower=lower, upper=upper)
    frame.attrs = {"level": level, "method": method}
    return frame


def bounds(
    score: ArrayLike,
    battles: ArrayLike,
    level: float = 0.95,
    method: Method = "wilson",
    squares: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Ends of the interval for a win rate, from counts of any shape.

    ``wald`` is :math:`p \pm z \sqrt{S / n}` with :math:`S` the variance of the votes: of width zero where all
    votes are equal, which is what makes it misleading for small ``n``. ``wilson`` inverts the score test
    (Wilson 1927), taking a vote's variance as :math:`p (1 - p)`: wide where many votes are ties. ``smoothed``
    is Wald's after one win and one loss have been added to every pair, cut to [0, 1].

    Parameters
    ----------
    score : array-like
        Wins plus half the ties.
    battles : array-like
        Votes of the pair. Where there are none, the interval is [0, 1] by any method.
    level : float in (0, 1)
    method : {"wald", "wilson", "smoothed"}
    squares : array-like, optional
        Sum of squared outcomes: wins plus a quarter of the ties. Default: no ties.

    Returns
    -------
    lower, upper : ndarray

    Raises
    ------
    ValueError
        If the level or the method is not one of those above, or a score is not between 0 and its battles.
    """
    z = normal_quantile(level)
    s, n = np.asarray(score, dtype=float), np.asarray(battles, dtype=float)
    q = s if squares is None else np.asarray(squares, dtype=float)
    if not ((s >= 0) & (s <= n)).all():
        raise ValueError("scores must be numbers from 0 to the number of battles")
    if method not in ("wald", "wilson", "smoothed"):
        raise ValueError(f"method must be 'wald', 'wilson' or 'smoothed', got {method!r}")
    added = {"wald": 0.0, "wilson": z * z / 2, "smoothed": 1.0}[method]
    met = np.where(n > 0, n, 1)
    size = met + 2 * added
    centre = (s + added) / size
    if method == "wilson":
        p = s / met
        half = z * np.sqrt(np.maximum(n * p * (1 - p), 0) + z * z / 4) / size
    else:
        half = z * np.sqrt(np.maximum((q + added) / size - centre**2, 0) / size)
    lower, upper = np.where(n > 0, centre - half, 0), np.where(n > 0, centre + half, 1)
    return (lower, upper) if method == "wald" else (np.maximum(lower, 0), np.minimum(upper, 1))


def inverse_propensity(battles: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    r"""Equations (4) to (6) as printed: the inverse-propensity estimator with Wald intervals.

    Where ``probability`` is not given, each pair's share of the votes takes its place. The estimate is then
    the pair's mean, but its variance is not: (5) does not know that the shares were estimated, and stays as
    wide as if they had been the design.

    Parameters
    ----------
    battles : DataFrame
        As for :func:`pair_means`, and optionally ``probability``, in (0, 1]: that of showing this pair, in
        either order, in this battle. The estimator is unbiased if the probability was never zero: not under
        a rule that always shows one pair, such as the greedy one.
    level : float in (0, 1)

    Returns
    -------
    DataFrame
        Index ``model_a, model_b``, the pairs that met; columns ``battles, rate`` (4), not bounded by 1,
        ``variance`` (the diagonal of (5)), ``lower, upper`` (6); in ``attrs`` the ``total`` number T of
        votes, ``level`` and ``method``.

    Raises
    ------
    ValueError
        If the battles are malformed or a probability is outside (0, 1].
    """
    counts = counting.from_battles(battles)
    n, score, squares = _moments(counts.outcomes)
    total = n.sum()
    if "probability" in battles.columns:
        p = counting.probabilities(battles)
        weight = battles["weight"] if "weight" in battles.columns else 1.0
        _, score, _ = _moments(counting.from_battles(battles.assign(weight=weight / p)).outcomes)
        _, _, squares = _moments(counting.from_battles(battles.assign(weight=weight / p**2)).outcomes)
    else:
        share = n / total
        score, squares = score / share, squares / share**2
    rate = score / total
    variance = squares / total - rate**2
    half = normal_quantile(level) * np.sqrt(np.maximum(variance, 0) / total)
    frame = _frame(counts, battles=n, rate=rate, variance=variance, lower=rate - half, upper=rate + half)
    frame.attrs = {"total": float(total), "level": level, "method": "inverse propensity"}
    return frame


def covariance(table: pd.DataFrame) -> pd.DataFrame:
    r"""The whole matrix of equation (5), pairs by pairs: 1.5 million numbers for fifty models.

    A battle is of one pair only, so the product of two entries of :math:`X_t` is always zero and the
    covariance of two pairs is :math:`-\hat\theta(a) \hat\theta(b)`, never positive.

    Parameters
    ----------
    table : DataFrame
        What :func:`inverse_propensity` returned.

    Returns
    -------
    DataFrame, shape (pairs, pairs)
        Covariance of one :math:`X_t`; divide by ``table.attrs["total"]`` for that of the estimates.
    """
    rate = table["rate"].to_numpy()
    matrix = -np.outer(rate, rate)
    np.fill_diagonal(matrix, table["variance"])
    return pd.DataFrame(matrix, index=table.index, columns=table.index)


def _moments(
    outcomes: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Number, sum and sum of squares of the first model's outcomes, each of shape (P,)."""
    won, tied, lost = outcomes.T
    return won + tied + lost, won + tied / 2, won + tied / 4


def _frame(counts: Counts, **columns: NDArray[np.float64]) -> pd.DataFrame:
    names = np.array(counts.models, dtype=object)
    pairs = [names[counts.first], names[counts.second]]
    return pd.DataFrame(columns, index=pd.MultiIndex.from_arrays(pairs, names=["model_a", "model_b"]))

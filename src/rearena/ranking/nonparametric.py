r"""The nonparametric Bradley-Terry score: log-odds averaged over all paths, whether or not a model holds.

Source: Chatbot Arena, appendix B, equations (11) to (17). With :math:`\theta((a_1, a_2))` the probability
that :math:`a_2` beats :math:`a_1`, and :math:`\mathcal{G}(m)` the paths that visit every model once and end
in m, the score is the average over paths of the log-odds along the path, plus those of its start against a
reference (the paper's model 1). Edges without m occur in both directions equally often and cancel, so that

.. math::
    s_m = \frac{1}{M-1} \sum_{m' \ne m} \Big( \operatorname{logit} \theta((m', m))
          + \operatorname{logit} \theta((r, m')) \Big)

for reference :math:`r`. If Bradley-Terry holds, this is :math:`\xi_m - \xi_r`. Printed, (13) to (16) lack the
factor and the logarithm of the second term, (17) lacks the term of :math:`a_1 = m`, and the set (11) neither
chains the edges nor keeps m out of their starts; these forms are here too, as ``printed_...``.

Where the model does not hold, differences between scores depend on r, and so may the order of models. With
``reference=None`` they are averaged over all r, which leaves :math:`s_m = \frac1M \sum_{m'}
\operatorname{logit} P(m \text{ beats } m')`: the mean log-odds, of mean zero. Every pair must have met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import logit

from rearena.ranking import bradley_terry
from rearena.ranking import counts as counting

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rearena.ranking.counts import Counts

# 5,040 paths to each of eight models; each further one multiplies them by its number.
_MOST_MODELS = 8
# The set as printed grows faster still: 375,000 elements for one of six models.
_MOST_PRINTED = 6


@dataclass(frozen=True, eq=False, kw_only=True)
class Nonparametric(bradley_terry.BradleyTerry):
    """Nonparametric scores with delta-method covariance; frames and intervals as of a Bradley-Terry fit.

    Attributes
    ----------
    log_odds : ndarray, shape (M (M - 1) / 2,)
        Log-odds that the first model of each pair beats the second, pairs in the order of ``models``.
    variances : ndarray, shape (M (M - 1) / 2,)
        Their delta-method variances; pairs are independent.
    """

    log_odds: NDArray[np.float64]
    variances: NDArray[np.float64]

    def relative_to(self, reference: str | None) -> Nonparametric:
        """Scores with another reference: not a shift of these, unless Bradley-Terry holds."""
        contrast = _contrast(list(self.models), reference)
        return replace(
            self,
            coefficients=contrast @ self.log_odds,
            covariance=(contrast * self.variances) @ contrast.T,
            reference=reference,
        )

    def to_frame(self, *args: Any, **settings: Any) -> pd.DataFrame:
        """As of a Bradley-Terry fit; ``attrs`` say that the intervals are by the delta method."""
        frame = super().to_frame(*args, **settings)
        frame.attrs["method"] = "delta method"
        return frame


def fit(
    battles: pd.DataFrame | Counts,
    *,
    smoothing: float = 0.0,
    reference: str | None = None,
    anchor: str | None = None,
    anchor_rating: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
) -> Nonparametric:
    r"""Nonparametric scores of battles, with intervals.

    A pair's win rate is the mean of its outcomes (ties one half), with their variance over their number; the
    delta method carries it through the gradient. Votes are taken as independent.

    Parameters
    ----------
    battles : DataFrame or Counts
        As for :func:`rearena.ranking.bradley_terry.fit`.
    smoothing : float
        Wins, and losses, added to every pair that met; 0.5 keeps the log-odds of a one-sided pair finite
        (Anscombe 1956) at the price of a pull to equality.
    reference : str, optional
        The paper's model 1. Default: the average over all references.
    anchor, anchor_rating, scale, base
        As for :func:`rearena.ranking.bradley_terry.fit`.

    Returns
    -------
    Nonparametric

    Raises
    ------
    ValueError
        As for :func:`rearena.ranking.bradley_terry.fit`; also if some pair never met, or has votes that are
        all equal (infinite log-odds, or no variance) and ``smoothing`` is 0, or the counts carry units.
    KeyError
        If ``reference`` or ``anchor`` is not among the models.
    """
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be finite and not negative, got {smoothing}")
    counts = counting.from_battles(battles) if isinstance(battles, pd.DataFrame) else battles
    if counts.sample is not None:
        raise ValueError("pairs are taken as independent: count the battles without weights or a cluster")
    won, tied, lost = _every_pair(counts).T + smoothing * np.array([[1.0], [0.0], [1.0]])
    n = won + tied + lost
    rate = (won + tied / 2) / n
    spread = (won * (1 - rate) ** 2 + tied * (0.5 - rate) ** 2 + lost * rate**2) / n
    if not spread.all():
        raise ValueError(
            f"all votes are equal between {_named(counts.models, spread == 0)}: the log-odds have no finite "
            "variance. Leave models out, add battles, or set smoothing, say to 0.5"
        )
    plain = bradley_terry.fit(counts, anchor=anchor, anchor_rating=anchor_rating, scale=scale, base=base)
    scores = Nonparametric(
        **vars(plain) | {"iterations": 0},
        log_odds=logit(rate),
        variances=spread / n / (rate * (1 - rate)) ** 2,
    )
    return scores.relative_to(reference)


def scores(win_rates: pd.DataFrame, reference: str | None = None) -> pd.Series:
    """Nonparametric scores of a win matrix, in closed form: (16) as it must read.

    Parameters
    ----------
    win_rates : DataFrame, shape (M, M)
        Probability that the row's model beats the column's, strictly between 0 and 1, an entry and its mirror
        adding up to 1. The diagonal is not read.
    reference : str, optional
        The paper's model 1, whose score is zero. Default: the average over all references.

    Returns
    -------
    Series, length M
        In log-odds, in the order of the matrix.

    Raises
    ------
    ValueError
        If the matrix is none of that.
    KeyError
        If the reference is not among the models.
    """
    log_odds = _log_odds(win_rates)
    above = np.triu_indices(len(log_odds), 1)
    return _series(win_rates, _contrast(list(win_rates.index), reference) @ log_odds[above])


def gradient(win_rates: pd.DataFrame, reference: str | None = None) -> pd.DataFrame:
    r"""Derivatives of the scores by the win rates: (17) as it must read.

    .. math::
        \frac{\partial s_m}{\partial \theta(a)} = \frac{1\{a_2 = m\} - 1\{a_1 = m\} + 1\{a_1 = r, a_2 \ne m\}
        - 1\{a_2 = r, a_1 \ne m\}}{(M - 1)\, \theta(a) (1 - \theta(a))}

    where the last term vanishes for the paper's reference, the first model; averaged over r without one.

    Parameters
    ----------
    win_rates, reference
        As for :func:`scores`.

    Returns
    -------
    DataFrame, shape (M, M (M - 1) / 2)
        Index model; one column per pair :math:`a = (a_1, a_2)`, the model listed earlier first: the
        derivative by :math:`\theta(a)`, the probability that :math:`a_2` beats :math:`a_1`.

    Raises
    ------
    ValueError, KeyError
        As for :func:`scores`.
    """
    pairs, variance = _pairs(win_rates)
    contrast = -_contrast(list(win_rates.index), reference) / variance
    return pd.DataFrame(contrast, index=win_rates.index, columns=pairs)


def path_set(models: int, end: int) -> NDArray[np.intp]:
    """The set of paths as (11) describes it in words: every chain through all models that ends in one.

    Parameters
    ----------
    models : int
        M, from 2 to 8.
    end : int
        Position of the last model, from 0.

    Returns
    -------
    ndarray of int, shape ((M - 1)!, M - 1, 2)
        Edges of each path, as positions.

    Raises
    ------
    ValueError
        If there are too many models to enumerate, or a position that is none.
    """
    _check_sizes(models, end, _MOST_MODELS)
    others = [k for k in range(models) if k != end]
    stops = np.array([(*order, end) for order in permutations(others)], dtype=np.intp)
    return np.stack([stops[:, :-1], stops[:, 1:]], axis=2)


def printed_set(models: int, end: int) -> NDArray[np.intp]:
    """The set (11) as printed: M - 1 pairs whose first entries differ, the last pair ending in the model.

    Nothing chains the pairs, and a pair may start from the last model, so that there are
    (M - 1)! (M - 1)^(M - 1) elements in place of (M - 1)!.

    Parameters
    ----------
    models : int
        M, from 2 to 6.
    end : int
        Position of the last model, from 0.

    Returns
    -------
    ndarray of int, shape ((M - 1)! (M - 1)^(M - 1), M - 1, 2)

    Raises
    ------
    ValueError
        As :func:`path_set`.
    """
    _check_sizes(models, end, _MOST_PRINTED)
    others = [[k for k in range(models) if k != start] for start in range(models)]
    elements = [
        list(zip(starts, (*ends, end), strict=True))
        for starts in permutations(range(models), models - 1)
        if starts[-1] != end
        for ends in product(*(others[start] for start in starts[:-1]))
    ]
    return np.array(elements, dtype=np.intp)


def path_average(
    win_rates: pd.DataFrame,
    reference: str | None = None,
    sets: Callable[[int, int], NDArray[np.intp]] = path_set,
) -> pd.Series:
    """Scores by (12), path by path.

    Parameters
    ----------
    win_rates, reference
        As for :func:`scores`; at most 8 models.
    sets : callable
        Number of models and position of the last to the set of paths: :func:`path_set` or
        :func:`printed_set` (at most 6 models).

    Returns
    -------
    Series, length M

    Raises
    ------
    ValueError, KeyError
        As for :func:`scores` and the set.
    """
    log_odds = _log_odds(win_rates)
    size = len(log_odds)
    start = log_odds.mean(axis=1) if reference is None else log_odds[:, _at(list(win_rates.index), reference)]
    average = np.empty(size)
    for end in range(size):
        paths = sets(size, end)
        along = log_odds[paths[:, :, 1], paths[:, :, 0]].sum(axis=1)
        average[end] = (start[paths[:, 0, 0]] + along).mean()
    return _series(win_rates, average)


def printed_closed_form(win_rates: pd.DataFrame) -> pd.Series:
    r"""(16) as printed: odds, not log-odds, in the second term, and no factor 1 / (M - 1).

    Model 1 is the first of the matrix. :math:`\theta((m', m))` is defined for :math:`m' < m` only; for
    :math:`m' > m`, where (16) turns its sign, it is read as :math:`\theta((m, m'))`.

    Parameters
    ----------
    win_rates : DataFrame, shape (M, M)
        As for :func:`scores`.

    Returns
    -------
    Series, length M

    Raises
    ------
    ValueError
        As for :func:`scores`.
    """
    log_odds = _log_odds(win_rates)
    odds = np.exp(log_odds[:, 0])
    return _series(win_rates, log_odds.sum(axis=1) + odds.sum() - odds)


def printed_gradient(win_rates: pd.DataFrame) -> pd.DataFrame:
    """(17) as printed: without the term of pairs whose first model is m, and without 1 / (M - 1).

    Parameters
    ----------
    win_rates : DataFrame, shape (M, M)
        As for :func:`scores`; model 1 is its first.

    Returns
    -------
    DataFrame, shape (M, M (M - 1) / 2)
        As of :func:`gradient`.

    Raises
    ------
    ValueError
        As for :func:`scores`.
    """
    pairs, variance = _pairs(win_rates)
    first, second = np.triu_indices(len(win_rates), 1)
    is_second = second == np.arange(len(win_rates))[:, None]
    # The printed sign of the first term, 1 - 2 * 1{a_1 > m}, is always 1: a_1 < a_2 = m.
    return pd.DataFrame(
        (is_second + ((first == 0) & ~is_second)) / variance, index=win_rates.index, columns=pairs
    )


def _contrast(models: list[Any], reference: str | None) -> NDArray[np.float64]:
    """Scores from the log-odds of all pairs (the first beats the second), shape (M, M (M - 1) / 2)."""
    size = len(models)
    first, second = np.triu_indices(size, 1)
    sides = np.arange(size)[:, None]
    against = (sides == first).astype(float) - (sides == second)
    if reference is None:
        start = against / size
    else:
        at = _at(models, reference)
        start = against * ((first == at) | (second == at))
        start[at] = 0
    contrast: NDArray[np.float64] = (against + start.sum(axis=0) - start) / (size - 1)
    return contrast


def _log_odds(win_rates: pd.DataFrame) -> NDArray[np.float64]:
    """Log-odds that the row's model beats the column's, 0 on the diagonal; ValueError for no win matrix."""
    models = list(win_rates.index)
    if models != list(win_rates.columns) or len(models) < 2 or len(set(models)) < len(models):
        raise ValueError(
            "a win matrix needs two or more models, the same ones in the same order on both sides"
        )
    rates = win_rates.to_numpy(dtype=float, copy=True)
    np.fill_diagonal(rates, 0.5)
    if not ((rates > 0) & (rates < 1)).all():
        row, column = np.argwhere(~((rates > 0) & (rates < 1)))[0]
        raise ValueError(
            f"log-odds need win rates strictly between 0 and 1, but {models[row]} against {models[column]} "
            f"has {rates[row, column]}"
        )
    if np.abs(rates + rates.T - 1).max() > 1e-9:
        raise ValueError("a win rate and its mirror must add up to 1")
    log_odds: NDArray[np.float64] = logit(rates)
    return log_odds


def _pairs(win_rates: pd.DataFrame) -> tuple[pd.MultiIndex, NDArray[np.float64]]:
    """All pairs, the model listed earlier first, and theta (1 - theta) of each."""
    _log_odds(win_rates)
    above = np.triu_indices(len(win_rates), 1)
    first, second = (win_rates.index[k] for k in above)
    rate = win_rates.to_numpy(dtype=float)[above]
    return pd.MultiIndex.from_arrays([first, second], names=["first", "second"]), rate * (1 - rate)


def _every_pair(counts: Counts) -> NDArray[np.float64]:
    """Outcomes of all pairs in the order of the models, shape (M (M - 1) / 2, 3)."""
    size = len(counts.models)
    table = np.zeros((size, size, 3))
    table[counts.first, counts.second] = counts.outcomes
    outcomes: NDArray[np.float64] = table[np.triu_indices(size, 1)]
    unmet = outcomes.sum(axis=1) == 0
    if unmet.any():
        raise ValueError(
            f"every pair must have met, but these did not: {_named(counts.models, unmet)}. "
            "Leave models out, or add battles"
        )
    return outcomes


def _named(models: tuple[str, ...], chosen: NDArray[np.bool_], most: int = 3) -> str:
    """Some of the chosen pairs, by name, and how many more there are."""
    pairs = np.argwhere(np.triu(np.ones((len(models),) * 2), 1))[chosen]
    shown = ", ".join(f"{models[a]} and {models[b]}" for a, b in pairs[:most])
    return shown + (f" ({len(pairs) - most} more pairs)" if len(pairs) > most else "")


def _check_sizes(models: int, end: int, most: int) -> None:
    if not (2 <= models <= most and 0 <= end < models):
        raise ValueError(
            f"paths are enumerated for 2 to {most} models and an end among them, got {models}, {end}"
        )


def _at(models: list[Any], name: str) -> int:
    if name not in models:
        raise KeyError(f"model {name!r} is not among the {len(models)} models of this win matrix")
    return models.index(name)


def _series(win_rates: pd.DataFrame, values: NDArray[np.float64]) -> pd.Series:
    return pd.Series(values, index=win_rates.index, name="score")

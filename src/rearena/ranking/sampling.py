r"""Which pair to show next: at random, or where a vote narrows an interval most.

Source: Chatbot Arena, section 5, equation (9):

.. math:: P_t(a) \propto \sqrt{\frac{S_a}{n_a}} - \sqrt{\frac{S_a}{n_a + 1}}

with :math:`n_a` the votes of pair :math:`a` so far. The paper writes :math:`\hat\Sigma_{t,a,a}` of equation
(5) for :math:`S_a`. That is the variance of :math:`X_t(a)`, of standard error :math:`\sqrt{\Sigma_{aa} / T}`.
With :math:`n_a` in place of :math:`T`, (9) is the reduction of an interval only if :math:`S_a` is the
variance of a vote *within* the pair, and so it is read here.

As printed, the rule is 0/0 for a pair without votes and zero for one whose votes were all equal, which would
never be shown again. Two remedies: ``variance="smoothed"`` adds one win and one loss to every pair, in
:math:`S_a` and :math:`n_a`, and is defined and positive throughout; ``initial`` shows every pair that often
before the rule applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from rearena.ranking import counts as counting
from rearena.ranking.kernels import draw_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

Rule = Literal["proportional", "greedy"]
Variance = Literal["smoothed", "plain"]


def random_pairs(
    arena: pd.Series | pd.DataFrame, draws: int, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Battles between pairs drawn uniformly, decided by known win rates.

    Parameters
    ----------
    arena : Series or DataFrame
        Who decides: Bradley-Terry coefficients in log-odds, indexed by model, or a square map of the
        probability in [0, 1] that the row's model beats the column's (the entry above the diagonal is used).
    draws : int
        Number of battles, at least 1.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    DataFrame
        Battles in the order of drawing: ``model_a`` (the one that ``arena`` lists first), ``model_b``,
        ``outcome`` (1 or 0) and ``probability`` of having shown the pair.

    Raises
    ------
    ValueError
        If there are fewer than two models, one occurs twice, a number of the arena is missing or out of
        range, or ``draws`` is below 1.
    """
    models, first, second, chance = _arena(arena)
    u = _uniforms(draws, seed)
    pair = (u[:, 0] * len(chance)).astype(np.intp)
    won = (u[:, 1] < chance[pair]).astype(float)
    return _battles(models, first[pair], second[pair], won, np.full(draws, 1 / len(chance)))


def active_pairs(
    arena: pd.Series | pd.DataFrame,
    draws: int,
    seed: int | np.random.Generator,
    *,
    rule: Rule = "proportional",
    variance: Variance = "smoothed",
    initial: int = 0,
) -> pd.DataFrame:
    """Battles between pairs drawn by equation (9), each vote counted before the next pair is drawn.

    A draw costs O(log pairs): the weights are kept in a binary tree of sums (or maxima).

    Parameters
    ----------
    arena, draws, seed
        As for :func:`random_pairs`.
    rule : {"proportional", "greedy"}
        Draw with the probabilities of (9), as printed, or always take the pair of the largest reduction; of
        equal ones, the first in an order drawn at the start.
    variance : {"smoothed", "plain"}
        With one win and one loss added to every pair, or as printed.
    initial : int
        While a pair has fewer votes than this, draw uniformly among such pairs. At least 1 where the variance
        is plain.

    Returns
    -------
    DataFrame
        As :func:`random_pairs`. ``probability`` is that of the pair given all votes before; 1 under the
        greedy rule, whose battles cannot be weighted inversely.

    Raises
    ------
    ValueError
        As :func:`random_pairs`, or if a setting is not one of those above.
    """
    models, first, second, chance = _arena(arena)
    added, greedy = _added(rule, variance, initial), rule == "greedy"
    rng = np.random.default_rng(seed)
    uniforms = _uniforms(draws, rng)
    pair, won, probability = np.empty(draws, np.intp), np.empty(draws), np.empty(draws)
    # The greedy rule meets equal weights all the time; in the order of names the first model would gain.
    order = rng.permutation(len(chance)) if greedy else np.arange(len(chance))
    draw_pairs(chance[order], uniforms, added, initial, greedy, pair, won, probability)
    pair = order[pair]
    return _battles(models, first[pair], second[pair], won, probability)


def probabilities(
    battles: pd.DataFrame,
    models: Sequence[str],
    *,
    rule: Rule = "proportional",
    variance: Variance = "smoothed",
    initial: int = 0,
) -> pd.Series:
    """Probability of each pair in the next draw of a live arena, given the votes so far.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b, outcome``, optionally ``weight``; ties count half. May be empty.
    models : sequence of str
        Every model that can be shown; a new one without votes is named here only.
    rule, variance, initial
        As for :func:`active_pairs`.

    Returns
    -------
    Series
        Index ``model_a, model_b``: all pairs, in the order of ``models``; adds up to one. Under the greedy
        rule pairs of equal reduction share it. Uniform where every weight is zero (all votes equal, plain
        variance).

    Raises
    ------
    ValueError
        If the battles are malformed or name a model that ``models`` does not, ``models`` holds fewer than two
        or one twice, or a setting is not one of those above.
    """
    added = _added(rule, variance, initial)
    names = pd.Index(models)
    _check_models(names)
    first, second = np.triu_indices(len(names), 1)
    n, score, squares = np.zeros((3, len(first)))
    if len(battles):
        counts = counting.from_battles(battles)
        place = names.get_indexer(pd.Index(counts.models))
        if (place < 0).any():
            raise ValueError(f"battles of {counts.models[int(place.argmin())]!r}, which models does not name")
        a, b = place[counts.first], place[counts.second]
        pair = _pair(a, b, len(names))
        won, tied, lost = counts.outcomes.T
        n[pair], score[pair] = won + tied + lost, np.where(a < b, won, lost) + tied / 2
        squares[pair] = score[pair] - tied / 4
    weight = np.where(n < initial, 1.0, 0.0)
    if not weight.any():
        weight = _reduction(n + 2 * added, score + added, squares + added)
        if rule == "greedy":
            weight = np.where(weight == weight.max(), 1.0, 0.0)
    if not weight.any():
        weight = np.ones_like(weight)
    index = pd.MultiIndex.from_arrays([names[first], names[second]], names=["model_a", "model_b"])
    return pd.Series(weight / weight.sum(), index=index, name="probability")


def samples_needed(samples: ArrayLike, widths: ArrayLike, precision: float) -> NDArray[np.float64]:
    """Samples after which a width stays at or below a precision.

    Widths over many pairs need not fall from one checkpoint to the next, so the last crossing counts, and not
    the first.

    Parameters
    ----------
    samples : array-like, shape (G,)
        Checkpoints, ascending.
    widths : array-like, shape (..., G)
        Widths at the checkpoints, one row per trial; between them they are taken as linear.
    precision : float
        In the unit of the widths.

    Returns
    -------
    ndarray, shape (...)
        Where the width last crosses the precision, in the unit of ``samples``; the first checkpoint where it
        is never above it, infinite where it is above it (or NaN) at the last.
    """
    grid, width = np.asarray(samples, dtype=float), np.asarray(widths, dtype=float)
    above = ~(width <= precision)  # NaN as well
    last = len(grid) - 1 - above[..., ::-1].argmax(axis=-1)
    after = np.minimum(last + 1, len(grid) - 1)
    high, low = (np.take_along_axis(width, k[..., None], axis=-1)[..., 0] for k in (last, after))
    share = (high - precision) / np.where(high > low, high - low, 1)
    reached = np.where(last < len(grid) - 1, grid[last] + share * (grid[after] - grid[last]), np.inf)
    return np.where(above.any(axis=-1), reached, grid[0])


def running_sums(
    battles: pd.DataFrame, models: Sequence[str], samples: ArrayLike, values: ArrayLike
) -> NDArray[np.float64]:
    """Sums of values per pair over the first so many battles, for several numbers of them.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b``, in the order of drawing; which is which does not matter.
    models : sequence of str
        All models.
    samples : array-like of int, shape (G,)
        Numbers of battles, ascending.
    values : array-like, shape (K, N)
        What is added up, a number per battle: ones for votes, outcomes for wins.

    Returns
    -------
    ndarray, shape (K, G, P)
        Pairs in the order of :func:`probabilities`.

    Raises
    ------
    ValueError
        If a battle is of a model that ``models`` does not name.
    """
    names, checkpoints = pd.Index(models), np.asarray(samples)
    a, b = (names.get_indexer(pd.Index(battles[side])) for side in ("model_a", "model_b"))
    if min(a.min(), b.min()) < 0:
        raise ValueError("some battles are of a model that models does not name")
    shape = (
        len(checkpoints) + 1,
        len(names) * (len(names) - 1) // 2,
    )  # the last row: battles after all of them
    block = np.searchsorted(checkpoints, np.arange(len(battles)), side="right")
    cell = block * shape[1] + _pair(a, b, len(names))
    rows = np.asarray(values, dtype=float)
    sums = np.array([np.bincount(cell, row, shape[0] * shape[1]).reshape(shape) for row in rows])
    return sums[:, :-1].cumsum(axis=1)


def _pair(a: NDArray[np.intp], b: NDArray[np.intp], models: int) -> NDArray[np.intp]:
    """Position of a pair in the order of ``triu_indices``, whichever of the two comes first."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    position: NDArray[np.intp] = low * (2 * models - low - 1) // 2 + high - low - 1
    return position


def _reduction(
    n: NDArray[np.float64], score: NDArray[np.float64], squares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Right side of (9), from votes, their sum and their sum of squares."""
    # In this order of operations whole votes give whole numbers under the root: equal weights are equal.
    spread = np.sqrt(np.maximum(n * squares - score**2, 0)) / n
    reduction: NDArray[np.float64] = spread * (1 / np.sqrt(n) - 1 / np.sqrt(n + 1))
    return reduction


def _added(rule: str, variance: str, initial: int) -> float:
    """Wins, and losses, added to every pair; ValueError for a setting that does not exist."""
    if rule not in ("proportional", "greedy"):
        raise ValueError(f"rule must be 'proportional' or 'greedy', got {rule!r}")
    if variance not in ("smoothed", "plain"):
        raise ValueError(f"variance must be 'smoothed' or 'plain', got {variance!r}")
    if initial < 0 or (variance == "plain" and initial < 1):
        raise ValueError(
            f"initial must not be negative, and at least 1 with plain variance (equation (9) is 0/0 for a "
            f"pair without votes), got {initial}"
        )
    return 1.0 if variance == "smoothed" else 0.0


def _arena(
    arena: pd.Series | pd.DataFrame,
) -> tuple[pd.Index, NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Models, the two of each pair as positions, and the probability that the first wins."""
    _check_models(arena.index)
    first, second = np.triu_indices(len(arena), 1)
    values = arena.to_numpy(dtype=float)
    if isinstance(arena, pd.Series):
        if not np.isfinite(values).all():
            raise ValueError(f"no finite coefficient for {list(arena.index[~np.isfinite(values)])}")
        chance = expit(values[first] - values[second])
    else:
        if list(arena.columns) != list(arena.index):
            raise ValueError("a win map needs the same models in the same order on both sides")
        chance = values[first, second]
        if not ((chance >= 0) & (chance <= 1)).all():
            raise ValueError("a win map holds probabilities, but some are missing or outside [0, 1]")
    return arena.index, first, second, chance


def _check_models(models: pd.Index) -> None:
    if len(models) < 2 or models.has_duplicates:
        raise ValueError(f"pairs need two or more models, each once; got {list(models)}")


def _uniforms(draws: int, seed: int | np.random.Generator) -> NDArray[np.float64]:
    """Two uniform numbers a battle, for the pair and for the vote, shape (draws, 2)."""
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    return np.random.default_rng(seed).random((draws, 2))


def _battles(
    models: pd.Index,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    outcome: NDArray[np.float64],
    probability: NDArray[np.float64],
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model_a": models.take(first),
            "model_b": models.take(second),
            "outcome": outcome,
            "probability": probability,
        }
    )

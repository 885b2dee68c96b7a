"""How well a benchmark separates models, and how well it agrees with a reference ranking.

Source: Arena-Hard, section 3: separability with confidence, agreement with confidence, pair-rank Brier score;
WildBench, section 4.2: correlations. The paper leaves two things open that change its numbers, so both are
arguments here: what it takes for two intervals not to overlap, and what an agreement score is divided by.

A benchmark is a frame indexed by model with the columns ``score, lower, upper``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from rearena.ranking.intervals import checked_level, normal_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Overlap = Literal["open", "positive length"]
Agreement = Literal["printed", "notebook", "table"]


def model_pairs(models: pd.Index) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the two models of every unordered pair, each of shape (M(M-1)/2,) for M models."""
    first, second = np.triu_indices(len(models), 1)
    return first, second


def separated(benchmark: pd.DataFrame, overlap: Overlap = "open") -> NDArray[np.bool_]:
    r"""Which pairs of models have intervals that do not overlap.

    Two rules are in use, and they differ where an interval has no width (the model that a benchmark anchors):

    - ``"open"``: the intervals overlap if the *open* intervals' ends interleave,
      :math:`l_1 < u_2` and :math:`l_2 < u_1`. A point inside the other's interval overlaps it.
    - ``"positive length"``: they overlap if their intersection has positive length,
      :math:`\min(u_1, u_2) - \max(l_1, l_2) > 0`. A point overlaps nothing: an anchor is separated from
      every model, even from one whose interval it lies in.

    Intervals that touch in one end are separated under both rules, and so are two equal points.

    Parameters
    ----------
    benchmark : DataFrame, M rows
        Columns ``lower, upper``, in any one unit.
    overlap : {"open", "positive length"}

    Returns
    -------
    ndarray of bool, shape (M(M-1)/2,)
        In the order of :func:`model_pairs`.

    Raises
    ------
    ValueError
        If there are fewer than two models, a model occurs twice, an end is missing, a lower end lies above
        its upper end, or the rule is unknown.
    """
    low, high = _ends(benchmark)
    i, j = model_pairs(benchmark.index)
    if overlap == "open":
        return ~((low[i] < high[j]) & (low[j] < high[i]))
    if overlap == "positive length":
        return ~(np.minimum(high[i], high[j]) - np.maximum(low[i], low[j]) > 0)
    raise ValueError(f"overlap must be 'open' or 'positive length', got {overlap!r}")


def separability(benchmark: pd.DataFrame, overlap: Overlap = "open") -> float:
    """Share of model pairs with non-overlapping intervals, in [0, 1].

    Source: Arena-Hard, section 3. Parameters and errors as for :func:`separated`.
    """
    return float(separated(benchmark, overlap).mean())


def agreement_points(
    benchmark: pd.DataFrame, reference: pd.DataFrame, overlap: Overlap = "open"
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Score of each pair, and whether the reference separates it.

    Source: Arena-Hard, section 3: +1 if both separate the two models and order them alike, -1 if both
    separate them and order them otherwise, 0 if either does not separate them.

    Parameters
    ----------
    benchmark, reference, overlap
        As for :func:`agreement_with_confidence`.

    Returns
    -------
    points : ndarray of float, shape (M(M-1)/2,)
    sure : ndarray of bool, shape (M(M-1)/2,)
    """
    _same_models(benchmark.index, reference.index)
    reference = reference.loc[benchmark.index]
    sure = separated(reference, overlap)
    both = separated(benchmark, overlap) & sure
    alike = outcomes(benchmark["score"]) == outcomes(reference["score"])
    return np.where(alike, 1.0, -1.0) * both, sure


def agreement_with_confidence(
    benchmark: pd.DataFrame,
    reference: pd.DataFrame,
    definition: Agreement = "printed",
    overlap: Overlap = "open",
) -> float:
    """How far a benchmark and a reference confidently order the same pairs the same way.

    A pair that both separate scores +1 if they order it alike and -1 if not; any other pair scores 0.
    Section 3 of Arena-Hard then averages over all pairs. Its tables and its authors' notebook do not:

    - ``"printed"``: the mean over all pairs, as section 3 says. In [-1, 1], and never above the separability
      of either side.
    - ``"table"``: the sum over the pairs that the *reference* separates, divided by their number. In
      [-1, 1]. This is what explains the values of the paper's Tables 2 to 4.
    - ``"notebook"``: over the same pairs, but agreement counts 1, an undecided benchmark 1/2, disagreement 0;
      that is ``(1 + table) / 2``. In [0, 1]. This is what the authors' notebook prints.

    Parameters
    ----------
    benchmark, reference : DataFrame
        Index model, columns ``score, lower, upper``; the same models in both, in any order and any units.
    definition : {"printed", "notebook", "table"}
    overlap : {"open", "positive length"}
        See :func:`separated`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the models differ, the definition is unknown, the reference separates no pair (where that is the
        denominator), or a frame is malformed.
    """
    points, sure = agreement_points(benchmark, reference, overlap)
    if definition == "printed":
        return float(points.mean())
    if definition not in ("table", "notebook"):
        raise ValueError(f"definition must be 'printed', 'notebook' or 'table', got {definition!r}")
    if not sure.any():
        raise ValueError("the reference separates no pair of models, so there is nothing to agree with")
    over_sure = float(points.sum() / sure.sum())
    return over_sure if definition == "table" else (1 + over_sure) / 2


def over_models(
    values: ArrayLike,
    seed: int | np.random.Generator,
    *,
    among: ArrayLike | None = None,
    rounds: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """Percentile interval of a mean over pairs, under resampling of the models.

    Pairs share models, so that treating 190 pairs as 190 observations would be far too sure. Here models are
    drawn with replacement, and a pair counts as often as both of its models were drawn, multiplied.

    Parameters
    ----------
    values : array-like, shape (M(M-1)/2,)
        What is averaged, in the order of :func:`model_pairs`.
    seed : int or Generator
        Source of randomness.
    among : array-like of bool, shape (M(M-1)/2,), optional
        Pairs to average over. Default: all.
    rounds : int
        Resamples. One that draws no pair to average over is left out.
    level : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    lower, upper : float

    Raises
    ------
    ValueError
        If the number of values is not that of the pairs of any number of models, a value is missing, there is
        no pair to average over, or the level is not between 0 and 1.
    """
    value = np.asarray(values, dtype=float)
    kept = np.ones(len(value)) if among is None else np.asarray(among, dtype=float)
    models = round((1 + np.sqrt(1 + 8 * len(value))) / 2)
    i, j = np.triu_indices(models, 1)
    if not len(value) == len(kept) == len(i) or rounds < 1:
        raise ValueError(
            f"{len(value)} values over {len(kept)} pairs in {rounds} rounds: not those of any models"
        )
    if not np.isfinite(value).all() or not kept.any():
        raise ValueError("a value is missing, or there is no pair to average over")
    drawn = np.random.default_rng(seed).multinomial(models, np.full(models, 1 / models), size=rounds)
    weight = drawn[:, i] * drawn[:, j] * kept
    total = weight.sum(axis=1)
    means = (weight @ value)[total > 0] / total[total > 0]
    if not len(means):
        raise ValueError("no resample of the models draws a pair to average over: there are too few of them")
    tail = (1 - checked_level(level)) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def forecast(draws: pd.DataFrame) -> NDArray[np.float64]:
    r"""Probability, by the benchmark, that the first model of each pair is the better one.

    Source: Arena-Hard, section 3: :math:`P(f(\pi_i) > f(\pi_j))` with independent normal scores that have the
    mean and the variance of the bootstrap. Only each model's mean and variance are used, because some
    released files hold every model's draws sorted, so that draws cannot be paired across models.

    Parameters
    ----------
    draws : DataFrame, shape (rounds, M)
        Bootstrap scores, one column per model; a model that has no variance may hold one number throughout.

    Returns
    -------
    ndarray, shape (M(M-1)/2,)
        In [0, 1]; 0.5 for two models with one mean and no variance.

    Raises
    ------
    ValueError
        If a draw is missing; the message names the models. So do :func:`draw_shares` and :func:`outcomes`.
    """
    value = _finite(draws, "draws")
    mean, variance = value.mean(axis=0), value.var(axis=0)
    i, j = model_pairs(draws.columns)
    gap, spread = mean[i] - mean[j], np.sqrt(variance[i] + variance[j])
    # Without variance the forecast is certain; the sign says which way, and 0 / 0 is an even chance.
    sure = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    z = np.divide(gap, spread, out=sure, where=spread > 0)
    return np.asarray(norm.cdf(z), dtype=float)


def draw_shares(draws: pd.DataFrame) -> NDArray[np.float64]:
    """Share of bootstrap rounds in which the first model of each pair scores higher (equal: one half).

    The "ground truth probability" on the vertical axis of Arena-Hard, Figure 5. It needs draws that belong
    together across models, round by round: a file of sorted draws will not do.

    Parameters
    ----------
    draws : DataFrame, shape (rounds, M)
        Bootstrap scores, one column per model, one row per round.

    Returns
    -------
    ndarray, shape (M(M-1)/2,)
        In [0, 1].
    """
    value = _finite(draws, "draws")
    i, j = model_pairs(draws.columns)
    return np.asarray((1 + np.sign(value[:, i] - value[:, j])).mean(axis=0) / 2, dtype=float)


def outcomes(scores: pd.Series) -> NDArray[np.float64]:
    """Whether the first model of each pair has the higher score: 1, 0, or 0.5 for equal scores.

    Parameters
    ----------
    scores : Series, length M
        Indexed by model, in any unit.

    Returns
    -------
    ndarray, shape (M(M-1)/2,)
    """
    value = _finite(scores, "score")
    i, j = model_pairs(scores.index)
    return np.asarray((1 + np.sign(value[i] - value[j])) / 2, dtype=float)


def pair_rank_brier(draws: pd.DataFrame, reference: pd.Series) -> float:
    r"""Mean squared distance of a benchmark's forecasts from the reference ranking, over all pairs.

    Source: Arena-Hard, section 3:
    :math:`\frac{1}{N} \sum_{\{i,j\}} (f(\pi_j < \pi_i) - O(\pi_j < \pi_i))^2`.

    Parameters
    ----------
    draws : DataFrame, shape (rounds, M)
        Bootstrap scores of the benchmark, one column per model.
    reference : Series
        Scores of the same models by the reference; only their order is used.

    Returns
    -------
    float
        In [0, 1]; 0 is perfect, 0.25 is what an even chance for every pair earns.

    Raises
    ------
    ValueError
        If the models differ.
    """
    _same_models(draws.columns, reference.index)
    return float(np.mean((forecast(draws) - outcomes(reference[draws.columns])) ** 2))


@dataclass(frozen=True)
class BrierDecomposition:
    """Murphy's decomposition: ``brier = reliability - resolution + uncertainty + within``.

    Attributes
    ----------
    brier : float
        Mean squared error of the forecasts.
    reliability : float
        Squared distance of forecast and frequency, averaged over bins: 0 is perfect calibration.
    resolution : float
        Variance of the frequency between bins: the more, the better the bins tell outcomes apart.
    uncertainty : float
        Variance of the outcomes.
    within : float
        What binning costs: within-bin variance of the forecasts less twice their covariance with the
        outcomes (Stephenson, Coelho and Jolliffe 2008, Weather and Forecasting 23(4), 752-757).
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float


def reliability_curve(
    forecasts: ArrayLike, observed: ArrayLike, bins: int = 10, level: float = 0.95
) -> pd.DataFrame:
    """Observed frequency against forecast probability, in bins of equal width.

    Each unordered pair enters once in each direction, with ``1 - f`` and ``1 - o``: which model of a pair is
    named first is arbitrary, and the curve must not depend on it. Intervals are Wilson's for the number of
    *pairs*; pairs share models, so that they are not independent and the intervals are too narrow if
    anything.

    Parameters
    ----------
    forecasts, observed : array-like, shape (N,)
        In [0, 1].
    bins : int
        Bins of equal width over [0, 1].
    level : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    DataFrame
        One row per bin that holds a forecast: ``forecast`` (mean), ``observed`` (mean), ``lower, upper``,
        ``pairs`` (how many different pairs the bin holds).

    Raises
    ------
    ValueError
        If the vectors differ in length, a number is outside [0, 1], or bins or level are out of range.
    """
    f, o = _both_ways(forecasts, observed)
    pair = np.tile(np.arange(len(f) // 2), 2)
    frame = pd.DataFrame({"forecast": f, "observed": o, "pair": pair}).groupby(_bins(f, bins))
    curve = frame.agg(forecast=("forecast", "mean"), observed=("observed", "mean"), pairs=("pair", "nunique"))
    n = curve["pairs"].to_numpy(dtype=float)
    curve["lower"], curve["upper"] = _wilson(curve["observed"].to_numpy(), n, level)
    return curve.reset_index(drop=True)


def brier_decomposition(forecasts: ArrayLike, observed: ArrayLike, bins: int = 10) -> BrierDecomposition:
    """Split a Brier score into reliability, resolution, uncertainty and what binning costs.

    Source: Murphy (1973), Journal of Applied Meteorology 12(4), 595-600. Pairs enter in both directions, as
    in :func:`reliability_curve`, which leaves the Brier score as it is and makes the uncertainty that of an
    even chance: 1/4 for outcomes that are 0 or 1.

    Parameters
    ----------
    forecasts, observed : array-like, shape (N,)
        In [0, 1].
    bins : int
        Bins of equal width over [0, 1].

    Returns
    -------
    BrierDecomposition

    Raises
    ------
    ValueError
        As :func:`reliability_curve`.
    """
    f, o = _both_ways(forecasts, observed)
    place = _bins(f, bins)
    grouped = pd.DataFrame({"f": f, "o": o}).groupby(place)
    mean = grouped.transform("mean")
    mean_f, mean_o = mean["f"].to_numpy(), mean["o"].to_numpy()
    return BrierDecomposition(
        brier=float(np.mean((f - o) ** 2)),
        reliability=float(np.mean((mean_f - mean_o) ** 2)),
        resolution=float(np.mean((mean_o - o.mean()) ** 2)),
        uncertainty=float(np.var(o)),
        within=float(np.mean((f - mean_f) ** 2) - 2 * np.mean((f - mean_f) * (o - mean_o))),
    )


def rank_correlations(scores: pd.Series, reference: pd.Series) -> dict[str, float]:
    """Pearson, Spearman and Kendall (tau-b) correlation of two scores over the same models.

    Source: WildBench, section 4.2 (P-Cor, S-Cor, K-Cor).

    Parameters
    ----------
    scores, reference : Series
        Indexed by model; the same models in both, in any order.

    Returns
    -------
    dict
        ``pearson, spearman, kendall``, each in [-1, 1].

    Raises
    ------
    ValueError
        If the models differ, a score is missing, there are fewer than three models, or all scores are equal.
    """
    _same_models(scores.index, reference.index)
    x, y = scores.to_numpy(dtype=float), reference[scores.index].to_numpy(dtype=float)
    if len(x) < 3 or not (np.isfinite(x).all() and np.isfinite(y).all()) or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise ValueError("a correlation needs three or more models with finite scores that are not all equal")
    return {
        "pearson": float(pearsonr(x, y).statistic),
        "spearman": float(spearmanr(x, y).statistic),
        "kendall": float(kendalltau(x, y).statistic),
    }


def pearson_interval(scores: pd.Series, reference: pd.Series, level: float = 0.95) -> tuple[float, float]:
    """Fisher's interval for a Pearson correlation of two scores over the same models.

    Parameters
    ----------
    scores, reference : Series
        As for :func:`rank_correlations`; four models or more.
    level : float in (0, 1)
        Nominal coverage. It holds for models that are a random draw from a normal population, which twenty
        well-known models are not: read it as a lower bound on the doubt.

    Returns
    -------
    lower, upper : float

    Raises
    ------
    ValueError
        As :func:`rank_correlations`.
    """
    rank_correlations(scores, reference)  # the same demands on the input, the same errors
    found = pearsonr(scores.to_numpy(dtype=float), reference[scores.index].to_numpy(dtype=float))
    interval = found.confidence_interval(confidence_level=level)
    return float(interval.low), float(interval.high)


def resampled_pearson(
    scores: pd.DataFrame, reference: pd.Series, rounds: int, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Pearson correlations of several scores with one reference, models resampled.

    A row's correlations rest on the same resample of models, so that their differences can be read off it.

    Parameters
    ----------
    scores : DataFrame, shape (M, S)
        Index model, one column per score.
    reference : Series
        Indexed by model; the same models.
    rounds : int
        Resamples. One in which a score is the same for all models drawn is drawn again.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    DataFrame, shape (rounds, S)

    Raises
    ------
    ValueError
        If the models differ, there are fewer than three, a score is missing, or all scores are equal.
    """
    _same_models(scores.index, reference.index)
    if len(scores) < 3 or rounds < 1:
        raise ValueError("resampling needs three or more models and at least one round")
    rng = np.random.default_rng(seed)
    table = np.column_stack(
        [_finite(reference[scores.index], "reference score"), _finite(scores.T, "score").T]
    )
    if (np.ptp(table, axis=0) == 0).any():
        raise ValueError("a score or the reference is the same for all models: it correlates with nothing")
    found: list[NDArray[np.float64]] = []
    while len(found) < rounds:
        drawn = table[rng.integers(len(table), size=len(table))]
        if (np.ptp(drawn, axis=0) > 0).all():
            found.append(np.asarray(np.corrcoef(drawn, rowvar=False))[0, 1:])
    return pd.DataFrame(found, columns=scores.columns)


def _ends(benchmark: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(benchmark) < 2 or benchmark.index.has_duplicates:
        raise ValueError("a benchmark needs two or more models, each once")
    low, high = benchmark["lower"].to_numpy(dtype=float), benchmark["upper"].to_numpy(dtype=float)
    bad = ~(low <= high)
    if bad.any():
        raise ValueError(f"no interval, or one with its ends swapped, for {list(benchmark.index[bad])}")
    return low, high


def _same_models(one: pd.Index, other: pd.Index) -> None:
    if one.has_duplicates or other.has_duplicates:
        twice = sorted({*one[one.duplicated()], *other[other.duplicated()]})
        raise ValueError(f"models occur more than once: {twice}")
    if set(one) != set(other):
        raise ValueError(
            "the two sides rate different models: only in the first "
            f"{sorted(set(one) - set(other))}, only in the second {sorted(set(other) - set(one))}"
        )


def _finite(values: pd.DataFrame | pd.Series, what: str) -> NDArray[np.float64]:
    """The numbers, models along the last axis; ValueError naming the models where one is missing."""
    numbers = values.to_numpy(dtype=float)
    bad = ~np.isfinite(numbers)
    if bad.any():
        models = values.columns if isinstance(values, pd.DataFrame) else values.index
        raise ValueError(f"no finite {what} for {list(models[bad.any(axis=0) if bad.ndim == 2 else bad])}")
    return numbers


def _both_ways(forecasts: ArrayLike, observed: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    f, o = np.asarray(forecasts, dtype=float), np.asarray(observed, dtype=float)
    if f.shape != o.shape or f.ndim != 1 or not len(f):
        raise ValueError(f"forecasts and outcomes must be vectors of one length, got {f.shape} and {o.shape}")
    if not (((f >= 0) & (f <= 1)).all() and ((o >= 0) & (o <= 1)).all()):
        raise ValueError("forecasts and outcomes must lie in [0, 1]")
    return np.concatenate([f, 1 - f]), np.concatenate([o, 1 - o])


def _bins(forecasts: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """Bins of forecasts and their mirrors, one after the other as :func:`_both_ways` returns them.

    A forecast on an edge belongs to the bin that is farther from one half, and its mirror to the mirrored
    bin, so that naming the other model first changes nothing. (A forecast of one half itself, between two
    bins, counts above where it is named.)
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    half = len(forecasts) // 2
    # Rounded, since 1 - 0.9 is a little less than 0.1.
    place = np.round(np.maximum(forecasts[:half], forecasts[half:]) * bins, 9)
    upper = np.minimum(place.astype(np.intp), bins - 1)
    first = np.where(forecasts[:half] >= forecasts[half:], upper, bins - 1 - upper)
    return np.concatenate([first, bins - 1 - first])


def _wilson(
    share: NDArray[np.float64], n: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    z = normal_quantile(level)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At a share of 0 or 1 the interval ends there; rounding must not leave the share outside.
    return np.minimum(centre - half, share), np.maximum(centre + half, share)

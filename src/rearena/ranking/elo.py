r"""Elo ratings by replaying contests in random orders, and registering new models into them.

Source: RWQ-Elo, section 4. Equations (1) and (2), the expected score, and (3) and (4), the update:

.. math::

    E_A = \frac{1}{1 + 10^{(R_B - R_A)/400}}, \qquad E_B = 1 - E_A, \qquad R'_A = R_A + K (S_A - E_A)

Every model starts at 1000. A replay depends on the order of the contests, so the same contests are replayed
in ``C`` random orders and a model's rating is the median of its ``C`` results. The spread over orders says
how much the order matters. It is not a confidence interval: the contests are the same in every order.
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import expit
from tqdm import tqdm

from rearena.ranking.counts import coded
from rearena.ranking.kernels import replay_elo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.intp]
    Floats: TypeAlias = NDArray[np.float64]
    # Both models' numbers and both sides' scores, each of shape (N,).
    Contests: TypeAlias = tuple[Ints, Ints, Floats, Floats]


def replay(
    battles: pd.DataFrame,
    k: float = 4.0,
    orders: int | Ints = 100,
    seed: int | np.random.Generator | None = None,
    *,
    both_bad: float = 0.5,
    initial: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
    progress: bool = False,
) -> pd.DataFrame:
    """Final ratings after replaying the battles, once per order.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b, outcome`` (1 a wins, 0.5 tie, 0 b wins), one row a contest; optional
        ``both_bad`` (bool): a tie because both answers are unsatisfactory, -1 in the paper's judge prompt.
    k : float
        The K-factor: points that a contest moves at most. The paper's is 4.
    orders : int or ndarray of int, shape (C, N)
        How many random orders to draw (the paper's C = 100), or the orders themselves: each row a
        permutation of the row numbers.
    seed : int or Generator
        Source of the random orders; required for them, not used otherwise.
    both_bad : float in [0, 1]
        Score of either side in a ``both_bad`` tie. The paper scores every tie 0.5; with 0 both lose, and
        each such tie takes K points out of the sum of all ratings, which then drifts without end.
    initial : float
        Rating that every model starts from.
    scale, base : float
        A difference of ``scale`` points expects odds of ``base`` to one.
    progress : bool
        Show a progress bar.

    Returns
    -------
    DataFrame, shape (C, M)
        Ratings after the last contest, one column per model, sorted by name.

    Raises
    ------
    ValueError
        If ``k`` is not positive or another setting out of range, there are no battles, a battle is malformed
        or carries a weight other than 1, the seed is missing, or an order is not a permutation of the rows.
    """
    rate = _rate(scale, base)
    models, contests = _contests(battles, both_bad)
    start, steps = _start(models, initial), np.full(len(models), _k(k))
    end = [len(battles)]
    results = _play(contests, start, steps, end, orders, seed, rate, progress=progress)
    return pd.DataFrame(results[:, 0], columns=pd.Index(models, name="model"))


def trajectory(
    battles: pd.DataFrame,
    after: Sequence[int],
    k: float = 4.0,
    orders: int | Ints = 100,
    seed: int | np.random.Generator | None = None,
    *,
    both_bad: float = 0.5,
    initial: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
) -> pd.DataFrame:
    r"""Ratings on the way, after given numbers of contests, once per order: drift apart from fluctuation.

    While the *mean* over orders still moves, the ratings have not converged. Once it stands still, a single
    order only fluctuates around it: for independent contests without ties, in the linear approximation, with
    the standard deviation :math:`\sqrt{K s (1 - 1/M) / 2}`, where :math:`s` is ``scale / log(base)``, 173.7
    points for Elo's. Orders of one set of contests share their contests and fluctuate somewhat less.

    Parameters
    ----------
    after : sequence of int
        Numbers of contests played, increasing, each from 0 to the number of battles.
    battles, k, orders, seed, both_bad, initial, scale, base
        As for :func:`replay`; the same seed plays the same orders.

    Returns
    -------
    DataFrame, shape (C * len(after), M)
        Index ``order`` (from 0), ``contests``; one column per model. ``groupby("contests")`` then gives
        the drift by ``.mean()`` and the fluctuation by ``.std()``.

    Raises
    ------
    ValueError
        As for :func:`replay`; also if ``after`` is empty, not increasing or out of range.
    """
    rate = _rate(scale, base)
    models, contests = _contests(battles, both_bad)
    stops = [operator.index(stop) for stop in after]
    if not stops or stops[0] < 0 or stops[-1] > len(battles) or any(a >= b for a, b in pairwise(stops)):
        raise ValueError(f"after must hold increasing numbers from 0 to {len(battles)} contests, got {stops}")
    start, steps = _start(models, initial), np.full(len(models), _k(k))
    results = _play(contests, start, steps, stops, orders, seed, rate)
    index = pd.MultiIndex.from_product([range(len(results)), stops], names=["order", "contests"])
    return pd.DataFrame(results.reshape(len(index), -1), index, pd.Index(models, name="model"))


def register(
    battles: pd.DataFrame,
    established: pd.Series,
    new: Sequence[str],
    k: float = 4.0,
    orders: int | Ints = 100,
    seed: int | np.random.Generator | None = None,
    *,
    moving: Literal["both", "new"] = "both",
    both_bad: float = 0.5,
    initial: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
) -> pd.DataFrame:
    """Fast registration: rate new models by their own contests, from the ratings of the established ones.

    Source: RWQ-Elo, section 4, "Registration of New Models", and Table 6. Every new model meets every
    established and every other new one H times: N2 (2 N1 + N2 - 1) H/2 contests in place of N (N - 1) H/2.
    H may be odd: who is shown first does not enter a rating.

    Parameters
    ----------
    battles : DataFrame
        As for :func:`replay`: the contests of the new models, none between two established ones.
    established : Series, length N1
        Ratings of the established models in points, indexed by model. The paper says that they are retained,
        not which they are: the median of a replay among them, or the end of one order, ...
    new : sequence of str, length N2
        The models to register.
    moving : {"both", "new"}
        Whose ratings a contest changes: "both" sides' (the paper: "the Elo ratings are updated accordingly"),
        so that the established only *start* from their ratings; or those of "new" models alone.
    initial : float
        Rating that every new model starts from.
    k, orders, seed, both_bad, scale, base
        As for :func:`replay`.

    Returns
    -------
    DataFrame, shape (C, N1 + N2)
        Ratings after the last contest: the established in their order, then the new ones in theirs. Those
        of established models that met no new one are as given.

    Raises
    ------
    ValueError
        As for :func:`replay`; also if there is no new or no established model, a model is named twice or is
        both, a base rating is not finite, a battle names a model without a base rating or sets two
        established models against each other, or a new model has no battle.
    """
    rate, step = _rate(scale, base), _k(k)
    names = _registered(established, new, moving)
    models, (first, second, score, other) = _contests(battles, both_bad)
    unknown = sorted(set(models) - set(names))
    if unknown:
        raise ValueError(f"neither a base rating nor among the new: {', '.join(unknown)}")
    place = names.get_indexer(pd.Index(models))
    first, second = place[first], place[second]
    between = (first < len(established)) & (second < len(established))
    if between.any():
        raise ValueError(
            f"{int(between.sum())} battles are between two established models, the first in row "
            f"{int(np.argmax(between))} (counted from 0): registration plays those of new models only"
        )
    idle = [name for name in new if name not in models]
    if idle:
        raise ValueError(f"no battle to rate these new models by: {', '.join(idle)}")
    start = np.concatenate([established.to_numpy(dtype=float), _start(new, initial)])
    steps = np.full(len(names), step)
    if moving == "new":
        steps[: len(established)] = 0
    contests = (first, second, score, other)
    results = _play(contests, start, steps, [len(battles)], orders, seed, rate)
    return pd.DataFrame(results[:, 0], columns=names)


def expected_scores(ratings: pd.Series, scale: float = 400.0, base: float = 10.0) -> pd.DataFrame:
    """The win-rate map that ratings imply, by equation (1).

    Parameters
    ----------
    ratings : Series, length M
        Ratings in points, indexed by model.
    scale, base : float
        As for :func:`replay`.

    Returns
    -------
    DataFrame, shape (M, M)
        Expected score of the row's model against the column's, in [0, 1]; 0.5 on the diagonal.

    Raises
    ------
    ValueError
        If ``scale`` or ``base`` is out of range.
    """
    points = ratings.to_numpy(dtype=float)
    expected = expit(_rate(scale, base) * (points[:, None] - points[None, :]))
    return pd.DataFrame(expected, index=ratings.index, columns=ratings.index)


def _play(
    contests: Contests,
    start: Floats,
    steps: Floats,
    stops: Sequence[int],
    orders: int | Ints,
    seed: int | np.random.Generator | None,
    rate: float,
    *,
    progress: bool = False,
) -> Floats:
    """Ratings at each stop of each order, shape (orders, stops, M)."""
    first, second, score, other = contests
    number, drawn = _orders(orders, len(first), seed)
    results = np.empty((number, len(stops), len(start)))
    shown = tqdm(drawn, desc="orders", total=number, mininterval=1, disable=not progress)
    for row, order in zip(results, shown, strict=True):
        ratings = start.copy()
        for at, (begin, end) in enumerate(pairwise([0, *stops])):
            replay_elo(ratings, first, second, score, other, order[begin:end], steps, rate)
            row[at] = ratings
    return results


def _contests(battles: pd.DataFrame, both_bad: float) -> tuple[tuple[str, ...], Contests]:
    """Sorted names, and the contests as the kernel reads them: both models' numbers, both sides' scores."""
    if not 0 <= both_bad <= 1:
        raise ValueError(f"both_bad, the score of a tie of two bad answers, must be 0 to 1, got {both_bad}")
    models, first, second, outcome = coded(battles)
    if "weight" in battles.columns and (battles["weight"] != 1).any():
        raise ValueError("Elo replays single contests: repeat a row of weight n n times before replaying it")
    if not len(outcome):
        raise ValueError("there are no battles to replay")
    score, other = outcome, 1 - outcome
    if "both_bad" in battles.columns:
        bad = battles["both_bad"].to_numpy()
        if bad.dtype != bool or (outcome[bad] != 0.5).any():
            raise ValueError("the column both_bad must hold True or False, and True for ties only")
        score, other = np.where(bad, both_bad, score), np.where(bad, both_bad, other)
    return models, (first, second, score, other)


def _registered(established: pd.Series, new: Sequence[str], moving: str) -> pd.Index:
    """Names of the established and then of the new models, once all are known to be different."""
    if moving not in ("both", "new"):
        raise ValueError(f'moving must be "both" or "new", got {moving!r}')
    if isinstance(new, str) or not len(new) or not len(established):
        raise ValueError("registration needs a list of one or more new models, and established ones to meet")
    unrated = established.index[~np.isfinite(established.to_numpy(dtype=float))]
    if len(unrated):
        raise ValueError(f"base ratings must be finite; they are not for {', '.join(map(str, unrated))}")
    names = pd.Index([*established.index, *new], name="model")
    if names.has_duplicates:
        twice = names[names.duplicated()].unique()
        raise ValueError(f"named twice, as new or established: {', '.join(map(str, twice))}")
    return names


def _start(models: Sequence[str], initial: float) -> Floats:
    if not np.isfinite(initial):
        raise ValueError(f"initial must be a finite rating, got {initial}")
    return np.full(len(models), float(initial))


def _k(k: float) -> float:
    if not (np.isfinite(k) and k > 0):
        raise ValueError(f"k must be positive, got {k}")
    return float(k)


def _rate(scale: float, base: float) -> float:
    """Log-odds per point."""
    if not (0 < scale < np.inf and 1 < base < np.inf):
        raise ValueError(f"scale must be positive, base above 1 and both finite, got {scale} and {base}")
    return float(np.log(base) / scale)


def _orders(
    orders: int | Ints, contests: int, seed: int | np.random.Generator | None
) -> tuple[int, Iterable[Ints]]:
    """How many orders, and the orders: those given, checked, or random ones, each drawn when it is played."""
    if isinstance(orders, np.ndarray) and orders.ndim:
        if orders.ndim != 2 or orders.dtype.kind not in "iu":
            raise ValueError(
                f"orders must be integers of shape (orders, contests), got {orders.dtype} {orders.shape}"
            )
        # Among numbers of the right range and count, a permutation is what names each once: no need to sort.
        inside = orders.shape[1] == contests and ((orders >= 0) & (orders < contests)).all()
        if not inside or any((np.bincount(order, minlength=contests) != 1).any() for order in orders):
            raise ValueError(f"every order must be a permutation of the {contests} rows of the battles")
        return len(orders), orders.astype(np.intp, copy=False)
    number = operator.index(orders)
    if number < 1:
        raise ValueError(f"orders must be at least 1, got {number}")
    if seed is None:
        raise ValueError("random orders need a seed: pass seed=, an integer or a numpy Generator")
    rng = np.random.default_rng(seed)
    return number, (rng.permutation(contests) for _ in range(number))

r"""Elo ratings by replaying contests in random orders.

Source: RWQ-Elo, section 4. Equations (1) and (2), the expected score, and (3) and (4), the update:

.. math::

    E_A = \frac{1}{1 + 10^{(R_B - R_A)/400}}, \qquad E_B = 1 - E_A, \qquad R'_A = R_A + K (S_A - E_A)

Every model starts at 1000. A replay depends on the order of the contests, so the same contests are replayed
in ``C`` random orders and a model's rating is the median of its ``C`` results. The spread over orders says
how much the order matters. It is not a confidence interval: the contests are the same in every order.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tqdm import tqdm

from rearena.ranking.counts import coded
from rearena.ranking.kernels import replay_elo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def replay(
    battles: pd.DataFrame,
    k: float = 4.0,
    orders: int | NDArray[np.intp] = 100,
    seed: int | np.random.Generator | None = None,
    *,
    initial: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
    progress: bool = False,
) -> pd.DataFrame:
    """Final ratings after replaying the battles, once per order.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b, outcome`` (1 a wins, 0.5 tie, 0 b wins), one row a contest.
    k : float
        The K-factor: points that a contest moves at most. The paper's is 4.
    orders : int or ndarray of int, shape (C, N)
        How many random orders to draw (the paper's C = 100), or the orders themselves: each row a
        permutation of the row numbers.
    seed : int or Generator
        Source of the random orders; required for them, not used otherwise.
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
        If ``k`` is not positive, there are no battles, a battle is malformed or carries a weight other than
        1, the seed is missing, or an order is not a permutation of the rows.
    """
    if not (np.isfinite(k) and k > 0):
        raise ValueError(f"k must be positive, got {k}")
    if not (scale > 0 and base > 1):
        raise ValueError(f"scale must be positive and base above 1, got {scale} and {base}")
    models, first, second, outcome = coded(battles)
    if "weight" in battles.columns and (battles["weight"] != 1).any():
        raise ValueError("Elo replays single contests: repeat a row of weight n n times before replaying it")
    if not len(outcome):
        raise ValueError("there are no battles to replay")
    number, drawn = _orders(orders, len(outcome), seed)
    results = np.full((number, len(models)), float(initial))
    for row, order in zip(
        tqdm(results, desc="orders", mininterval=1, disable=not progress), drawn, strict=True
    ):
        replay_elo(row, first, second, outcome, order, float(k), np.log(base) / scale)
    return pd.DataFrame(results, columns=pd.Index(models, name="model"))


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
    """
    points = ratings.to_numpy(dtype=float)
    expected = 1 / (1 + base ** ((points[None, :] - points[:, None]) / scale))
    return pd.DataFrame(expected, index=ratings.index, columns=ratings.index)


def _orders(
    orders: int | NDArray[np.intp], contests: int, seed: int | np.random.Generator | None
) -> tuple[int, Iterable[NDArray[np.intp]]]:
    """How many orders, and the orders: those given, checked, or random ones, each drawn when it is played."""
    if isinstance(orders, np.ndarray) and orders.ndim:
        if orders.ndim != 2 or orders.dtype.kind not in "iu":
            raise ValueError(
                f"orders must be integers of shape (orders, contests), got {orders.dtype} {orders.shape}"
            )
        if not (np.sort(orders, axis=1) == np.arange(contests)).all():
            raise ValueError(f"every order must be a permutation of the {contests} rows of the battles")
        return len(orders), orders.astype(np.intp)
    number = operator.index(orders)
    if number < 1:
        raise ValueError(f"orders must be at least 1, got {number}")
    if seed is None:
        raise ValueError("random orders need a seed: pass seed=, an integer or a numpy Generator")
    rng = np.random.default_rng(seed)
    return number, (rng.permutation(contests) for _ in range(number))

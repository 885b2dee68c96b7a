"""Loops that are sequential by nature, compiled: one contest changes what the next one starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@numba.njit(cache=True)
def replay_elo(
    ratings: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    outcome: NDArray[np.float64],
    order: NDArray[np.intp],
    k: float,
    rate: float,
) -> None:
    """Update ratings in place, contest by contest (RWQ-Elo, equations (1) to (4)).

    Parameters
    ----------
    ratings : ndarray, shape (M,)
        Points; changed.
    first, second : ndarray of int, shape (N,)
        The two models of each contest.
    outcome : ndarray, shape (N,)
        1, 0.5 or 0 for the first.
    order : ndarray of int, shape (N,)
        Row numbers, in the order of play.
    k : float
        Points that a contest moves at most.
    rate : float
        ln(base) / scale.
    """
    for contest in order:
        a, b = first[contest], second[contest]
        expected = 1.0 / (1.0 + np.exp(rate * (ratings[b] - ratings[a])))
        change = k * (outcome[contest] - expected)
        ratings[a] += change
        ratings[b] -= change

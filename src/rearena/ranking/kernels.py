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
    score: NDArray[np.float64],
    other: NDArray[np.float64],
    order: NDArray[np.intp],
    steps: NDArray[np.float64],
    rate: float,
) -> None:
    """Update ratings in place, contest by contest (RWQ-Elo, equations (1) to (4)).

    Parameters
    ----------
    ratings : ndarray, shape (M,)
        Points; changed.
    first, second : ndarray of int, shape (N,)
        The two models of each contest.
    score, other : ndarray, shape (N,)
        Scores of the first and of the second, in [0, 1].
    order : ndarray of int, shape (n,)
        Row numbers, in the order of play.
    steps : ndarray, shape (M,)
        Points that a contest moves each model at most: K, or 0 for one whose rating is fixed.
    rate : float
        ln(base) / scale.
    """
    for contest in order:
        a, b = first[contest], second[contest]
        expected = 1.0 / (1.0 + np.exp(rate * (ratings[b] - ratings[a])))
        ratings[a] += steps[a] * (score[contest] - expected)
        ratings[b] += steps[b] * (other[contest] - (1.0 - expected))


# Order of summation is free in the inner products, so that they vectorise; nothing else is relaxed.
@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _factorise(matrix: NDArray[np.float64], singular: float) -> bool:
    """Replace the lower triangle by its Cholesky factor; False where the matrix is (nearly) singular."""
    for i in range(len(matrix)):
        curvature = matrix[i, i]
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            if j < i:
                matrix[i, j] = rest / matrix[j, j]
            elif rest > singular * curvature:
                matrix[i, i] = np.sqrt(rest)
            else:  # NaN as well
                return False
    return True


@numba.njit(cache=True)
def _log_likelihood(
    xi: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    n: NDArray[np.float64],
    score: NDArray[np.float64],
    ridge: float,
) -> float:
    value = 0.0
    for pair in range(len(n)):
        difference = xi[first[pair]] - xi[second[pair]]
        overflow_free = max(difference, 0.0) + np.log1p(np.exp(-abs(difference)))
        value += score[pair] * difference - n[pair] * overflow_free
    return float(value - ridge / 2 * (xi * xi).sum())


@numba.njit(cache=True)
def newton(
    xi: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    n: NDArray[np.float64],
    score: NDArray[np.float64],
    ridge: float,
    last_step: float,
    safe_step: float,
    farthest: float,
    singular: float,
    iterations: int,
) -> int:
    """Maximise the penalised Bradley-Terry log-likelihood by Newton's method.

    The likelihood is concave, so that Newton's method, with a long step halved until the likelihood does not
    fall, reaches the one maximum wherever it exists. Without a ridge the likelihood does not see a shift of
    all coefficients: that of the model with the most battles, to which the others are tied best, is held.

    Parameters
    ----------
    xi : ndarray, shape (M,)
        Centred start, in log-odds; changed.
    first, second : ndarray of int, shape (P,)
        The two models of each pair.
    n, score : ndarray, shape (P,)
        Weight of the battles of each pair, and of those that the first won, ties halved.
    ridge : float
        Subtracts ``ridge / 2 * sum(xi**2)``.
    last_step, safe_step, farthest : float
        In log-odds: the step after which to stop, the step beyond which the likelihood is looked at before it
        is taken, and the coefficient beyond which the search is running away.
    singular : float
        Share of a coefficient's curvature that must be left when all others are given.
    iterations : int
        Steps at most.

    Returns
    -------
    int
        Steps taken; 0 where the search did not settle.
    """
    size, pairs = len(xi), len(n)
    hessian, step, battles = np.empty((size, size)), np.empty(size), np.zeros(size)
    for pair in range(pairs):
        battles[first[pair]] += n[pair]
        battles[second[pair]] += n[pair]
    held = -1 if ridge > 0 else battles.argmax()
    for iteration in range(1, iterations + 1):
        hessian[:] = 0
        step[:] = -ridge * xi
        for pair in range(pairs):
            a, b = first[pair], second[pair]
            p = 1 / (1 + np.exp(xi[b] - xi[a]))
            residual, curvature = score[pair] - n[pair] * p, n[pair] * p * (1 - p)
            step[a] += residual
            step[b] -= residual
            hessian[a, a] += curvature
            hessian[b, b] += curvature
            hessian[max(a, b), min(a, b)] -= curvature
        for i in range(size):
            hessian[i, i] += ridge
        if held >= 0:
            hessian[held, :] = 0
            hessian[:, held] = 0
            hessian[held, held] = 1
            step[held] = 0
        if not _factorise(hessian, singular):
            return 0
        for i in range(size):
            for j in range(i):
                step[i] -= hessian[i, j] * step[j]
            step[i] /= hessian[i, i]
        for i in range(size - 1, -1, -1):
            step[i] /= hessian[i, i]
            for j in range(i):
                step[j] -= hessian[i, j] * step[i]
        step -= step.mean()
        longest = np.abs(step).max()
        if longest > safe_step:
            value = _log_likelihood(xi, first, second, n, score, ridge)
            while _log_likelihood(xi + step, first, second, n, score, ridge) < value:
                step /= 2
        xi += step
        if longest < last_step:
            return iteration
        if np.abs(xi).max() > farthest:
            return 0
    return 0


@numba.njit(cache=True)
def draw_pairs(
    chance: NDArray[np.float64],
    uniforms: NDArray[np.float64],
    added: float,
    initial: int,
    greedy: bool,
    pair: NDArray[np.intp],
    outcome: NDArray[np.float64],
    probability: NDArray[np.float64],
) -> None:
    """Draw pairs by the interval that a vote would narrow (Chatbot Arena, equation (9)), and let them vote.

    The weights are the leaves of a complete binary tree whose inner nodes hold the sum of their two children
    (or the larger, for the greedy rule), so that a draw and its update walk one path each.

    Parameters
    ----------
    chance : ndarray, shape (P,)
        Probability that the first model of a pair wins.
    uniforms : ndarray, shape (T, 2)
        Uniform numbers in [0, 1): for the pair and for the vote.
    added : float
        Wins, and losses, added to every pair in its weight.
    initial : int
        Votes up to which a pair is drawn before the rule applies.
    greedy : bool
        Take the largest weight instead of drawing in proportion.
    pair, outcome, probability : ndarray, shape (T,)
        Filled: the pair drawn, 1 or 0 for its first model, the probability of that pair at that time.
    """
    size = len(chance)
    leaves = 1
    while leaves < size:
        leaves *= 2
    tree = np.zeros(2 * leaves)
    won, n = np.full(size, added), np.full(size, 2 * added)
    waiting, left = np.arange(size), size if initial > 0 else 0
    if added > 0:
        tree[leaves : leaves + size] = 0.5 * (1 / np.sqrt(2 * added) - 1 / np.sqrt(2 * added + 1))
    for node in range(leaves - 1, 0, -1):
        low, high = tree[2 * node], tree[2 * node + 1]
        tree[node] = max(low, high) if greedy else low + high
    for t in range(len(uniforms)):
        u, slot, total = uniforms[t, 0], 0, tree[1]
        if left > 0:
            slot = int(u * left)
            a, probability[t] = waiting[slot], 1 / left
        elif total == 0:
            a, probability[t] = int(u * size), 1 / size
        else:
            node, u = 1, u * total
            while node < leaves:
                node *= 2
                low, high = tree[node], tree[node + 1]
                if greedy:
                    node += high > low
                elif u >= low and high > 0:
                    u -= low
                    node += 1
            a, probability[t] = node - leaves, 1.0 if greedy else tree[node] / total
        pair[t], outcome[t] = a, 1.0 if uniforms[t, 1] < chance[a] else 0.0
        won[a] += outcome[t]
        n[a] += 1
        if left > 0 and n[a] >= initial + 2 * added:
            left -= 1
            waiting[slot] = waiting[left]
        node, spread = leaves + a, np.sqrt(won[a] * (n[a] - won[a])) / n[a]
        tree[node] = spread * (1 / np.sqrt(n[a]) - 1 / np.sqrt(n[a] + 1))
        while node > 1:
            node //= 2
            low, high = tree[2 * node], tree[2 * node + 1]
            tree[node] = max(low, high) if greedy else low + high


@numba.njit(cache=True)
def pushing_wealth(
    voter: NDArray[np.intp],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    p: NDArray[np.float64],
    models: int,
) -> NDArray[np.float64]:
    """Logarithm of a voter's wealth after each vote, from bets that it pushes one of the models.

    Parameters
    ----------
    voter, first, second : ndarray of int, shape (N,)
        Who votes, from 0, and on which two models.
    p : ndarray, shape (N,)
        P-values in (0, 1), small where the second model is preferred.
    models : int
        How many models there are; each gets the same share of the wealth.

    Returns
    -------
    ndarray, shape (N,)
    """
    bets = np.zeros((voter.max() + 1, models))
    wealth = np.empty(len(p))
    for i in range(len(p)):
        mine = bets[voter[i]]
        mine[first[i]] += np.log(2 * p[i])
        mine[second[i]] += np.log(2 * (1 - p[i]))
        most = mine.max()
        wealth[i] = most + np.log(np.exp(mine - most).mean())
    return wealth

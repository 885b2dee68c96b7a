r"""Voters whose votes do not look like those of everybody else.

Source: Chatbot Arena, sections 5.1 and 8, appendix C. A voter's :math:`i`-th vote :math:`H'_i` on the action
:math:`A'_i` is compared with the historical votes :math:`\mathcal H_a = \{H_t : A_t = a\}`, equation (10):

.. math::

    p_i = \frac{1 + \sum_{h \in \mathcal H_{A'_i}} 1\{h \ge H'_i\}}{|\mathcal H_{A'_i}| + 1}, \qquad
    M_j = -2 \sum_{i \le j} \log p_i,

and the voter is called anomalous if :math:`M_j \ge \chi^2_{2j, 1 - \alpha/5}` at one of five random
:math:`j \le 100`. :math:`H = 1` says that the second model of the action is preferred, 1/2 is a tie, so
only votes that are unusually high make a small :math:`p_i`. Votes take two or three values: a vote for the
first model always has :math:`p_i = 1`, and :math:`M_j` falls far short of its chi-square. Randomised
p-values share a tie of ranks out by a uniform number; they are exactly uniform under the null.

An action is a pair of models. In the paper each pair is one action (``"named"``: ordered by name), which
forgets who stood on the left of the screen. With ``"shown"`` it is the pair as shown, so that a habit of
pressing one button can be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp
from scipy.stats import chi2

from rearena.ranking.counts import coded
from rearena.ranking.kernels import pushing_wealth

Action = Literal["named", "shown"]
Method = Literal["printed", "randomised", "two-sided", "e-process"]

# Shapes of the bets: one end of the unit interval, the other, both ends, the middle.
_SHAPES = np.array([(a, b) for a in (0.5, 1.0, 2.0) for b in (0.5, 1.0, 2.0) if (a, b) != (1, 1)])


def p_values(
    votes: pd.DataFrame,
    history: pd.DataFrame,
    seed: int | np.random.Generator | None = None,
    *,
    action: Action = "named",
    online: bool = False,
) -> NDArray[np.float64]:
    r"""How unusually high each vote is among the historical votes on the same action.

    Without a seed this is equation (10). With one, the p-value is randomised:
    :math:`(\#\{h > H'\} + U (1 + \#\{h = H'\})) / (|\mathcal H| + 1)` with :math:`U` uniform (Vovk, Gammerman
    and Shafer, Algorithmic Learning in a Random World, 2005, section 2.4).

    Parameters
    ----------
    votes : DataFrame
        Battles with ``voter``, each voter's rows in the order of casting.
    history : DataFrame
        Battles, optionally with ``weight`` (how many votes a row stands for) and ``voter``: a voter's own
        rows are left out of the comparison, so that ``history=votes`` compares each with all others.
    seed : int or Generator, optional
        Source of the uniform numbers.
    action : {"named", "shown"}
        Whether the models of a pair are ordered by name or as they were shown.
    online : bool
        Whether a voter's earlier votes on the action join its history. Randomised p-values are then
        independent, and not only each uniform, if history and votes on an action are exchangeable.

    Returns
    -------
    ndarray, shape (votes,)
        In (0, 1]. Without history on the action: 1 by equation (10), uniform if randomised.

    Raises
    ------
    ValueError
        If there are no votes or no history, a row is not a battle (the message says which and why), a voter
        is missing, a weight is negative or not finite, or the action is not one of the two.
    """
    return _compare(votes, history, action, online).p_values(seed)


def detect(
    votes: pd.DataFrame,
    history: pd.DataFrame,
    alpha: float,
    method: Method = "printed",
    seed: int | np.random.Generator | None = None,
    *,
    action: Action = "named",
    looks: int = 5,
    horizon: int = 100,
) -> pd.DataFrame:
    r"""Which voters are anomalous, each tested at level alpha.

    ``printed`` is section 5.1 as it stands. ``randomised`` takes randomised p-values instead. ``two-sided``
    also combines :math:`1 - p_i`, each side at :math:`\alpha / 2`, and so sees votes that are unusually low.
    ``e-process`` looks at every vote: :math:`E_j` below is a nonnegative martingale of mean 1 under the
    null, so that :math:`P(\sup_j E_j \ge 1 / \alpha) \le \alpha` (Ville's inequality), in finite samples and
    although a voter's votes share their history. That is what section 8 leaves open. With online randomised
    p-values,

    .. math::

        E_j = \frac12 \, \mathrm{mean}_{a, b} \prod_{i \le j} \mathrm{Beta}(p_i; a, b)
            + \frac12 \, \mathrm{mean}_m \prod_{i \le j} e_i^m .

    The first half bets on a button, with eight shapes (a, b) out of 1/2, 1 and 2. The second bets on a model
    m that is pushed: :math:`e_i^m` is :math:`2 (1 - p_i)` where m is the second model, :math:`2 p_i` where it
    is the first, and 1 in battles without it.

    Parameters
    ----------
    votes, history, action
        As for :func:`p_values`.
    alpha : float in (0, 1)
        Probability that an honest voter is called anomalous, at most.
    method : {"printed", "randomised", "two-sided", "e-process"}
    seed : int or Generator
        Source of the looks and of the randomised p-values; required.
    looks, horizon : int
        The looks are at that many different votes, at random among the first ``horizon`` (5 and 100 in the
        paper), or among all votes of a voter who has fewer. With fewer votes than looks each vote is one,
        and the bound stays that of ``looks``. The e-process looks at every vote and needs neither.

    Returns
    -------
    DataFrame
        Index voter, in the order of first votes. ``votes``; ``p_value``, corrected for the looks (of the
        e-process :math:`1 / \max_j E_j`), at most 1; ``anomalous``, whether it is at most alpha; ``at``, the
        vote after which it first was (missing where it never was).

    Raises
    ------
    ValueError
        As :func:`p_values`; also if alpha is outside (0, 1), the method is unknown, the seed is missing, or
        ``looks`` or ``horizon`` is below 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    if seed is None:
        raise ValueError("the looks and p-values are random: pass seed=, an integer or a numpy Generator")
    if min(looks, horizon) < 1:
        raise ValueError(f"looks and horizon must be at least 1, got {looks} and {horizon}")
    rng = np.random.default_rng(seed)
    compared = _compare(votes, history, action, online=method == "e-process")
    p = compared.p_values(None if method == "printed" else rng)
    by_voter = pd.DataFrame({"low": np.log(p), "high": _log_one_minus(p)}).groupby(compared.voter)
    path = by_voter.cumsum().assign(j=by_voter.cumcount() + 1)
    if method == "e-process":
        models = pushing_wealth(compared.voter, compared.first, compared.second, p, compared.models)
        wealth = np.logaddexp(_button_wealth(path), models) - np.log(2)
        path["corrected"] = np.exp(np.minimum(-wealth, 0))
    else:
        path = path[_looks(path["j"], compared.voter, looks, horizon, rng)]
        tail = chi2.sf(-2 * path["low"], 2 * path["j"])
        if method == "two-sided":
            tail = 2 * np.minimum(tail, chi2.sf(-2 * path["high"], 2 * path["j"]))
        path = path.assign(corrected=looks * tail)
    voter = pd.Series(compared.voter)
    result = pd.DataFrame({"votes": by_voter.size()})
    result["p_value"] = path["corrected"].groupby(voter).min().clip(upper=1)
    result["anomalous"] = result["p_value"] <= alpha
    result["at"] = path["j"][path["corrected"] <= alpha].groupby(voter).min().astype("Int64")
    return result.set_axis(pd.Index(pd.unique(votes["voter"]), name="voter"))


@dataclass(frozen=True, eq=False)
class _Compared:
    """Votes beside their history; arrays of shape (votes,).

    Attributes
    ----------
    voter, first, second : ndarray of int
        Voters numbered by their first votes; the action's two models, among ``models``.
    higher, same, size : ndarray of float
        Historical votes above the vote; those equal to it and all of them, each with the vote itself.
    models : int
    """

    voter: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    higher: NDArray[np.float64]
    same: NDArray[np.float64]
    size: NDArray[np.float64]
    models: int

    def p_values(self, seed: int | np.random.Generator | None) -> NDArray[np.float64]:
        # Away from 0 and 1, whose logarithms are not finite; a double's last digits carry no evidence.
        u = 1.0 if seed is None else np.random.default_rng(seed).uniform(1e-12, 1 - 1e-12, len(self.size))
        p: NDArray[np.float64] = (self.higher + u * self.same) / self.size
        return p


def _log_one_minus(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of 1 - p; 0 where equation (10) gives p = 1, which only the low side reads."""
    return np.log1p(-np.where(p < 1, p, 0))


def _button_wealth(path: pd.DataFrame) -> NDArray[np.float64]:
    """Logarithm of the mean over shapes of the products of Beta densities, from sums of logarithms."""
    a, b = _SHAPES.T
    bets = np.outer(path["low"], a - 1) + np.outer(path["high"], b - 1) - np.outer(path["j"], betaln(a, b))
    wealth: NDArray[np.float64] = logsumexp(bets, axis=1) - np.log(len(_SHAPES))
    return wealth


def _looks(
    j: pd.Series, voter: NDArray[np.intp], looks: int, horizon: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which votes are looked at: the smallest of random numbers among each voter's first ``horizon``."""
    number = pd.Series(rng.random(len(j))).where(j <= horizon)
    return np.asarray(number.groupby(voter).rank() <= looks)


def _compare(votes: pd.DataFrame, history: pd.DataFrame, action: Action, online: bool) -> _Compared:
    if action not in get_args(Action):
        raise ValueError(f"action must be one of {', '.join(get_args(Action))}, got {action!r}")
    weight, known = _checked(votes, history)
    shared = ["model_a", "model_b", "outcome"]
    models, first, second, outcome = coded(pd.concat([history[shared], votes[shared]]))
    level = (2 - 2 * outcome).astype(np.intp)  # 2 H: 0 the first is preferred, 1 tie, 2 the second
    if action == "named":
        turned = first > second
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        level = np.where(turned, 2 - level, level)
    past, now = slice(len(history)), slice(len(history), None)
    _, pair = np.unique(first * len(models) + second, return_inverse=True)
    every = np.zeros((pair.max() + 1, 3))
    np.add.at(every, (pair[past], level[past]), weight)
    # A voter on an action: its rows of the history are taken out; online, its votes so far are put back.
    voter, _ = pd.factorize(pd.concat([votes["voter"].astype(object), known.astype(object)]))
    person = np.concatenate([voter[len(votes) :], voter[: len(votes)]])
    _, cell = np.unique(person * len(every) + pair, return_inverse=True)
    own = np.zeros((cell.max() + 1, 3))
    np.add.at(own, (cell[past], level[past]), weight * (person[past] >= 0))
    counts = every[pair[now]] - own[cell[now]]
    one = np.eye(3)[level[now]]
    if online:
        counts += pd.DataFrame(one).groupby(cell[now]).cumsum().to_numpy() - one
    higher = (counts * (np.arange(3) > level[now, None])).sum(axis=1)
    same, size = 1 + (counts * one).sum(axis=1), 1 + counts.sum(axis=1)
    return _Compared(person[now], first[now], second[now], higher, same, size, len(models))


def _checked(votes: pd.DataFrame, history: pd.DataFrame) -> tuple[NDArray[np.float64], pd.Series]:
    """Weights and voters of the history; ValueError where a row of either frame is not a vote."""
    for what, frame in (("votes", votes), ("history", history)):
        if frame.empty:
            raise ValueError(f"there are no rows in the {what}")
        try:
            coded(frame)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from error
    if "voter" not in votes.columns or votes["voter"].isna().any():
        raise ValueError("every vote needs a voter: the column voter is missing or has gaps")
    weight = np.ones(len(history))
    if "weight" in history.columns:
        weight = pd.to_numeric(history["weight"], errors="coerce").to_numpy(dtype=float)
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ValueError("history: a weight is negative or not a finite number")
    nobody = pd.Series(None, index=history.index, dtype=object)
    return weight, history["voter"] if "voter" in history.columns else nobody

r"""Bradley-Terry with ties as outcomes of their own, beside the half-wins of the plain fit.

Source: R. R. Davidson (1970), "On extending the Bradley-Terry model to accommodate ties in paired comparison
experiments", Journal of the American Statistical Association 65(329), 317-328. With
:math:`d = \xi_i - \xi_j`,

.. math::
    P(i \text{ wins}) : P(\text{tie}) : P(j \text{ wins}) = e^{d/2} : \nu : e^{-d/2}

so that :math:`d` is the log-odds of a win among decided battles (Davidson's
:math:`\pi_i : \nu\sqrt{\pi_i \pi_j} : \pi_j`, :math:`\xi = \ln \pi`), and equals tie with probability
:math:`\nu / (2 + \nu)`.

The plain fit, with half-wins, models the expected score :math:`P(i \text{ wins}) + P(\text{tie})/2`, which
ties pull to one half. Its coefficients are therefore smaller: about :math:`2 / (2 + \nu)` times these where
models are close. Neither scale is wrong, but points of one are not points of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford
from scipy.special import log_softmax

from rearena.ranking import bradley_terry
from rearena.ranking import counts as counting
from rearena.ranking.likelihood import differences, extend, maximise, sandwich

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rearena.ranking.counts import Counts

# What a win, a tie and a loss of the first model say of d, and of ln(nu).
_SCORE, _TIE = np.array([0.5, 0.0, -0.5]), np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Davidson(bradley_terry.BradleyTerry):
    r"""A fitted Davidson model: all that a Bradley-Terry fit has, and the propensity to tie.

    Attributes
    ----------
    nu : float
        :math:`\hat\nu`, not negative; 0 where there is no tie.
    nu_error : float
        Its sandwich standard error; NaN at the edge, where ``nu`` is 0.
    information : ndarray, shape (M + 1, M + 1)
        Negative Hessian of the log-likelihood over :math:`(\xi, \ln\nu)`. Its pseudoinverse is the
        covariance (of coefficients of mean zero) if the model holds; the sandwich does not ask for that.
    """

    nu: float
    nu_error: float
    information: NDArray[np.float64]

    @property
    def tie_rate(self) -> float:
        """Probability of a tie between equals, nu / (2 + nu)."""
        return self.nu / (2 + self.nu)


def fit(
    battles: pd.DataFrame | Counts,
    *,
    reference: str | None = None,
    anchor: str | None = None,
    anchor_rating: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
) -> Davidson:
    """Fit Davidson's model by maximum likelihood.

    Without any tie the maximum lies at ``nu = 0``, where the model is plain Bradley-Terry, and that fit is
    returned. A model whose votes are all ties gets the rating that makes ties likeliest, and a sandwich error
    that few votes make too small, as in every fit.

    Parameters
    ----------
    battles : DataFrame or Counts
        As for :func:`rearena.ranking.bradley_terry.fit`; counts keep their weights and sampling units.
    reference, anchor, anchor_rating, scale, base
        As for :func:`rearena.ranking.bradley_terry.fit`.

    Returns
    -------
    Davidson

    Raises
    ------
    ValueError, KeyError
        As for :func:`rearena.ranking.bradley_terry.fit`.
    GraphError
        If the comparison graph is disconnected or separated, or ties are so many that the likelihood grows
        without end (see :func:`check_ties`).
    ConvergenceError
        If Newton's method does not settle.
    """
    counts = counting.from_battles(battles) if isinstance(battles, pd.DataFrame) else battles
    plain = bradley_terry.fit(
        counts, reference=reference, anchor=anchor, anchor_rating=anchor_rating, scale=scale, base=base
    )
    models, n = len(counts.models), counts.outcomes.sum(axis=1)
    delta = differences(counts.first, counts.second, models)
    centred = plain.coefficients - plain.coefficients.mean()
    ties = counts.outcomes[:, 1].sum()
    if not ties:
        information = _moments(delta, n, _log_probabilities(delta @ centred, -np.inf))
        covariance = plain.relative_to(None).covariance
        return extend(Davidson, plain, centred, covariance, nu=0.0, nu_error=np.nan, information=information)
    check_ties(counts)

    def likelihood(
        parameters: NDArray[np.float64],
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        log_p = _log_probabilities(delta @ parameters[:-1], parameters[-1])
        excess = counts.outcomes - n[:, None] * np.exp(log_p)
        gradient = np.append(delta.T @ (excess @ _SCORE), (excess @ _TIE).sum())
        return float((counts.outcomes * log_p).sum()), gradient, _moments(delta, n, log_p)

    # The nu that fits if all models are equal.
    start = np.append(centred, np.log(2 * ties / (n.sum() - ties)))
    parameters, iterations = maximise(likelihood, start, models)
    log_p = _log_probabilities(delta @ parameters[:-1], parameters[-1])
    information = _moments(delta, n, log_p)
    covariance = sandwich(information, _meat(counts, delta, np.exp(log_p)), models)
    nu = float(np.exp(parameters[-1]))
    return extend(
        Davidson,
        plain,
        parameters,
        covariance,
        iterations=iterations,
        nu=nu,
        nu_error=nu * float(np.sqrt(covariance[-1, -1])),
        information=information,
    )


def check_ties(counts: Counts) -> None:
    r"""Refuse counts under which the ties drive :math:`\nu` and some differences to infinity together.

    Beside a strongly connected graph (:meth:`rearena.ranking.counts.Counts.check_graph`), a finite maximum
    needs a cycle of models with more wins than ties, each step a win over the next model or a tie with it.
    Without one there are :math:`\delta_m` with :math:`\delta_i - \delta_j \ge 1` wherever i beat j and
    :math:`|\delta_i - \delta_j| \le 1` wherever they tied, and along :math:`\xi = 2 t \delta`,
    :math:`\ln\nu = t`, no outcome that was seen ever becomes less likely. (Two models that beat each
    other are such a cycle; only wins of one and ties are not.)

    Parameters
    ----------
    counts : Counts
        Strongly connected.

    Raises
    ------
    GraphError
        If there is no such cycle; most often, if every battle is a tie.
    """
    won, tied, lost = counts.outcomes.T > 0
    cost = [np.where(beat, -1.0, np.where(tied, 1.0, 0.0)) for beat in (won, lost)]
    ends = (np.append(counts.first, counts.second), np.append(counts.second, counts.first))
    graph = csr_array((np.concatenate(cost), ends), shape=(len(counts.models),) * 2)
    graph.eliminate_zeros()
    try:
        bellman_ford(graph, indices=np.array([0]))
    except NegativeCycleError:
        return
    raise counting.GraphError(
        "Davidson's nu is not finite: "
        + ("some model wins" if won.any() or lost.any() else "every battle is a tie")
        + ", but no cycle of models has more wins than ties. Add decided battles, "
        "or count ties as half-wins with bradley_terry.fit"
    )


def _log_probabilities(difference: NDArray[np.float64], log_nu: float) -> NDArray[np.float64]:
    """Log-probability that the first model wins, ties, loses; shape (P, 3)."""
    exponents = difference[:, None] * _SCORE
    exponents[:, 1] = log_nu
    result: NDArray[np.float64] = log_softmax(exponents, axis=1)
    return result


def _moments(delta: csr_array, n: NDArray[np.float64], log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over battles of the covariance of what one outcome says of (xi, ln nu), shape (M + 1, M + 1)."""
    p = np.exp(log_p)
    score, tie = p @ _SCORE, p @ _TIE
    laplacian = delta.T @ (delta * (n * (p @ _SCORE**2 - score**2))[:, None])
    mixed = delta.T @ (-n * score * tie)
    return np.block([[laplacian.toarray(), mixed[:, None]], [mixed, n @ (tie * (1 - tie))]])


def _meat(counts: Counts, delta: csr_array, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over sampling units of the outer products of their scores, shape (M + 1, M + 1)."""
    sampling = counts.sampling
    # What a pair's battles weigh more or less than in the sample, where pairs were evened.
    factor = counts.outcomes.sum(axis=1) / (sampling.transposed @ sampling.copies).reshape(-1, 3).sum(axis=1)
    score = factor[:, None] * (_SCORE - (p @ _SCORE)[:, None])
    tie = factor[:, None] * (_TIE - (p @ _TIE)[:, None])
    cells = np.repeat(np.arange(len(p)), 3)
    scores = sampling.units @ hstack(
        [delta[cells] * score.reshape(-1, 1), csr_array(tie.reshape(-1, 1))], format="csr"
    )
    meat: NDArray[np.float64] = (scores.T @ (scores * sampling.copies[:, None])).toarray()
    return meat

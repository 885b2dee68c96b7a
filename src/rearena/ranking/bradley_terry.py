r"""Bradley-Terry ratings by maximum likelihood, with sandwich covariance.

The model (Chatbot Arena, section 4, equation (2)): model :math:`m` beats model :math:`m'` with probability

.. math:: \sigma(\xi_m - \xi_{m'}) = \frac{1}{1 + e^{\xi_{m'} - \xi_m}}

A tie counts as half a win for each side. The coefficients minimise the cross-entropy of equation (3), read
with the sign that equation (2) gives it (printed, (3) returns :math:`-\xi`, because there ``H = 1`` means
that the *second* model won). The covariance is the sandwich :math:`A^{-1} B A^{-1}` of Huber (1967) and White
(1982) that section 5 uses: :math:`A` the Hessian, :math:`B` the sum of outer products of the scores of single
battles. It stays valid when the model does not hold, and ties alone break the model.

Only differences of coefficients are identified. ``reference=None`` fixes the mean at zero; naming a model
fixes that model at zero, so that every interval is one of a difference to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from rearena.ranking import counts as counting
from rearena.ranking.intervals import approximate_ranks, normal_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rearena.ranking.counts import Counts

# Newton's steps shrink quadratically (each is about the square of the one before, in log-odds), so taking a
# step below this one leaves an error near 1e-12.
_LAST_STEP = 1e-6
# Beyond this step the quadratic model may overshoot, so the likelihood is looked at before it is taken.
_SAFE_STEP = 0.5
_ITERATIONS = 100
# Share of a model's curvature that must be left when all others are given; rounding leaves about 1e-16.
_SINGULAR = 1e-12
# No count of battles that fits a computer gives a coefficient beyond this: the search is running away.
_FARTHEST = 50.0
# Penalty under which a resample without finite ratings is fitted.
_RESCUE = 1e-3


class ConvergenceError(RuntimeError):
    """The search for the maximum of the likelihood did not settle."""


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    r"""A fitted Bradley-Terry model and every setting that made it.

    Attributes
    ----------
    models : tuple of str, length M
    coefficients : ndarray, shape (M,)
        :math:`\hat\xi`, in log-odds, under the identification that ``reference`` names.
    covariance : ndarray, shape (M, M)
        Sandwich covariance of ``coefficients``, in squared log-odds.
    battles : ndarray, shape (M,)
        Weight of the battles of each model.
    reference : str or None
        The model whose coefficient is zero; None where the mean is zero.
    anchor, anchor_rating : str or None, float
        The model that ``ratings`` places at ``anchor_rating``; None places the mean there.
    scale, base : float
        A difference of ``scale`` rating points stands for odds of ``base`` to one.
    ridge : float
        Penalty on the sum of squared coefficients; 0 is maximum likelihood.
    iterations : int
        Newton steps taken.
    """

    models: tuple[str, ...]
    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]
    battles: NDArray[np.float64]
    reference: str | None
    anchor: str | None
    anchor_rating: float
    scale: float
    base: float
    ridge: float
    iterations: int

    @property
    def unit(self) -> float:
        """Rating points per unit of log-odds: ``scale / ln(base)``, 173.7 on the Elo scale."""
        return float(self.scale / np.log(self.base))

    @property
    def ratings(self) -> pd.Series:
        """Ratings in points, indexed by model, in the order of ``models``."""
        xi = self.coefficients
        zero = xi.mean() if self.anchor is None else xi[_at(self.models, self.anchor)]
        rating = self.anchor_rating + self.unit * (xi - zero)
        return pd.Series(rating, index=pd.Index(self.models, name="model"), name="rating")

    @property
    def standard_errors(self) -> pd.Series:
        """Sandwich standard errors of the ratings, in points; zero for the reference."""
        errors = self.unit * np.sqrt(np.maximum(np.diag(self.covariance), 0))
        return pd.Series(errors, index=pd.Index(self.models, name="model"), name="standard_error")

    def relative_to(self, reference: str | None) -> BradleyTerry:
        """Same fit under another identification, without fitting again.

        Parameters
        ----------
        reference : str or None
            Model whose coefficient is to be zero, or None for mean zero.

        Returns
        -------
        BradleyTerry
            Same ratings; intervals of differences to ``reference`` (or to the mean of all models).

        Raises
        ------
        KeyError
            If the model was not fitted.
        """
        contrast = _contrast(self.models, reference)
        return replace(
            self,
            coefficients=contrast @ self.coefficients,
            covariance=contrast @ self.covariance @ contrast.T,
            reference=reference,
        )

    def intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Normal intervals with sandwich standard errors, one model at a time.

        Parameters
        ----------
        level : float in (0, 1)
            Nominal coverage of each interval.

        Returns
        -------
        DataFrame
            Index model; columns ``lower, upper``, in rating points.
        """
        half = normal_quantile(level) * self.standard_errors
        return pd.DataFrame({"lower": self.ratings - half, "upper": self.ratings + half})

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Ratings, best first.

        Parameters
        ----------
        level : float in (0, 1)
            Nominal coverage of each interval.

        Returns
        -------
        DataFrame
            Index model; ``rating, lower, upper`` (points), approximate ``rank``, ``battles``; settings in
            ``attrs``.
        """
        frame = self.intervals(level).assign(rating=self.ratings, battles=self.battles)
        frame["rank"] = approximate_ranks(frame["lower"], frame["upper"])
        frame.attrs = {
            "level": level,
            "method": "sandwich",
            "reference": self.reference,
            "anchor": self.anchor,
            "anchor_rating": self.anchor_rating,
            "scale": self.scale,
            "base": self.base,
            "ridge": self.ridge,
        }
        return frame.sort_values("rating", ascending=False)[["rating", "lower", "upper", "rank", "battles"]]


def fit(
    battles: pd.DataFrame | Counts,
    *,
    reference: str | None = None,
    anchor: str | None = None,
    anchor_rating: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
    ridge: float = 0.0,
) -> BradleyTerry:
    r"""Fit Bradley-Terry coefficients to battles.

    Source: Chatbot Arena, sections 4 and 5, equations (2), (3) and (7) with equal weights.

    Parameters
    ----------
    battles : DataFrame or Counts
        Columns ``model_a, model_b, outcome`` and optionally ``weight`` (a row of weight 3 is three battles:
        in the sandwich it contributes three scores, not one score times three).
    reference : str, optional
        Model whose coefficient is fixed at zero (the paper takes the first). Default: coefficients of mean
        zero, which treats all models alike.
    anchor : str, optional
        Model placed at ``anchor_rating``. A shift of all ratings; it does not change an interval's width.
    anchor_rating : float
        Rating of the anchor, or of the mean of all models without one.
    scale, base : float
        Rating points for odds of ``base`` to one; 400 and 10 are Elo's.
    ridge : float
        Subtracts ``ridge / 2 * sum(xi**2)`` from the log-likelihood, coefficients centred. With ``ridge > 0``
        a model that never lost, or a graph in several parts, gets finite ratings, pulled to the mean:
        ``ridge = 1`` is a normal prior of one log-odds unit (174 Elo points) on every model.

    Returns
    -------
    BradleyTerry

    Raises
    ------
    ValueError
        If the battles are malformed (see :func:`rearena.ranking.counts.from_battles`), there is one model
        only, or a setting is out of range.
    KeyError
        If ``reference`` or ``anchor`` is not among the models.
    GraphError
        If the comparison graph is disconnected or separated and ``ridge`` is zero.
    ConvergenceError
        If Newton's method does not settle.
    """
    if not (np.isfinite(ridge) and ridge >= 0):
        raise ValueError(f"ridge must be finite and not negative, got {ridge}")
    if not (0 < scale < np.inf and 1 < base < np.inf and np.isfinite(anchor_rating)):
        raise ValueError(
            "scale must be positive, base above 1 and all finite, got "
            f"scale {scale}, base {base}, anchor_rating {anchor_rating}"
        )
    counts = counting.from_battles(battles) if isinstance(battles, pd.DataFrame) else battles
    for name in (reference, anchor):
        if name is not None:
            _at(counts.models, name)
    if ridge == 0:
        counts.check_graph()
    with threadpool_limits(1, "blas"):
        coefficients, iterations = _newton(counts, ridge, np.zeros(len(counts.models)))
        covariance = _sandwich(counts, ridge, coefficients)
    centred = BradleyTerry(
        models=counts.models,
        coefficients=coefficients,
        covariance=covariance,
        battles=counts.battles_per_model(),
        reference=None,
        anchor=anchor,
        anchor_rating=float(anchor_rating),
        scale=float(scale),
        base=float(base),
        ridge=float(ridge),
        iterations=iterations,
    )
    return centred if reference is None else centred.relative_to(reference)


def bootstrap(
    battles: pd.DataFrame | Counts,
    rounds: int,
    seed: int | np.random.Generator,
    *,
    anchor: str | None = None,
    anchor_rating: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
    ridge: float = 0.0,
    progress: bool = False,
) -> pd.DataFrame:
    """Ratings of resampled battles: the nonparametric bootstrap over rows, done on counts.

    Drawing ``n`` rows with replacement and adding them up per pair and outcome is one multinomial draw of
    size ``n`` over the observed cells, so a round costs the same for a thousand and for a million votes. Rows
    are taken as independent: where several rows come from one prompt or voter, intervals are too narrow.

    A resample can separate a model that hardly ever loses (or wins), or leave a model with few battles out;
    then it has no finite maximum. Such a round is refitted with ``ridge = 1e-3``, and shifted so that the
    models that are still comparable keep their mean: a separated model lands far out in its tail, where it
    belongs; one that was left out lands near the mean of the others, which hides how little is known of it.
    ``attrs["separated"]`` and ``attrs["disconnected"]`` count the rounds: where they are not few, use the
    sandwich or more battles.

    Parameters
    ----------
    battles : DataFrame or Counts
        As for :func:`fit`; weights must be whole numbers.
    rounds : int
        Resamples, at least 1.
    seed : int or Generator
        Source of randomness; the same seed gives the same frame.
    anchor, anchor_rating, scale, base, ridge
        As for :func:`fit`.
    progress : bool
        Show a progress bar.

    Returns
    -------
    DataFrame, shape (rounds, M)
        Ratings in points, one column per model.

    Raises
    ------
    ValueError, KeyError, GraphError, ConvergenceError
        As for :func:`fit`; ValueError also for fractional weights or ``rounds < 1``.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    counts = counting.from_battles(battles) if isinstance(battles, pd.DataFrame) else battles
    whole = fit(counts, anchor=anchor, anchor_rating=anchor_rating, scale=scale, base=base, ridge=ridge)
    cells = counts.outcomes.ravel()
    if not np.array_equal(cells, np.rint(cells)):
        raise ValueError("the bootstrap draws whole battles, but some weights add up to fractions of one")
    seen = np.flatnonzero(cells)
    share = cells[seen] / cells.sum()
    rng = np.random.default_rng(seed)
    draws = np.empty((rounds, len(counts.models)))
    resample, separated, disconnected = np.zeros_like(cells), 0, 0
    with threadpool_limits(1, "blas"):
        for row in tqdm(draws, desc="bootstrap", mininterval=1, disable=not progress):
            resample[seen] = rng.multinomial(int(cells.sum()), share)
            drawn = counts.with_outcomes(resample.reshape(-1, 3))
            try:
                row[:], _ = _newton(drawn, ridge, whole.coefficients)
            except ConvergenceError:
                core, joined = drawn.core()
                separated, disconnected = separated + joined, disconnected + (not joined)
                row[:], _ = _newton(drawn, max(ridge, _RESCUE), whole.coefficients)
                row += (whole.coefficients - row)[core].mean()
    zero = 0.0 if anchor is None else draws[:, [_at(counts.models, anchor)]]
    frame = pd.DataFrame(
        anchor_rating + whole.unit * (draws - zero), columns=pd.Index(counts.models, name="model")
    )
    frame.attrs = {
        "rounds": rounds,
        "separated": separated,
        "disconnected": disconnected,
        "anchor": anchor,
        "anchor_rating": anchor_rating,
        "scale": scale,
        "base": base,
        "ridge": ridge,
    }
    return frame


def _newton(counts: Counts, ridge: float, start: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Maximise the penalised log-likelihood from ``start``; centred coefficients and the steps taken.

    The likelihood is concave, so Newton's method, with a long step halved until the likelihood does not fall,
    reaches the one maximum wherever it exists.
    """
    won, tied, lost = counts.outcomes.T
    n, score = won + tied + lost, won + tied / 2
    free = _free(counts, ridge)
    xi = start - start.mean()
    for iteration in range(1, _ITERATIONS + 1):
        p = expit(xi[counts.first] - xi[counts.second])
        gradient = _spread(counts, score - n * p) - ridge * xi
        step = np.zeros_like(xi)
        step[free] = cho_solve(_factor(counts, n * p * (1 - p), ridge, free), gradient[free])
        step -= step.mean()
        size = np.abs(step).max()
        if size < _LAST_STEP:
            return xi + step, iteration
        if size > _SAFE_STEP:
            value = _log_likelihood(counts, n, score, ridge, xi)
            while _log_likelihood(counts, n, score, ridge, xi + step) < value:
                step /= 2
        xi = xi + step
        if np.abs(xi).max() > _FARTHEST:
            break
    raise ConvergenceError(_UNSETTLED)


_UNSETTLED = (
    "Newton's method did not settle: some models are separated from the others, or nearly so. "
    "Leave them out, add battles, or fit with ridge > 0"
)


def _log_likelihood(
    counts: Counts,
    n: NDArray[np.float64],
    score: NDArray[np.float64],
    ridge: float,
    xi: NDArray[np.float64],
) -> float:
    difference = xi[counts.first] - xi[counts.second]
    return float(score @ difference - n @ np.logaddexp(0, difference) - ridge / 2 * xi @ xi)


def _spread(counts: Counts, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a pair's value to its first model and subtract it from its second, shape (M,)."""
    size = len(counts.models)
    return np.asarray(
        np.bincount(counts.first, value, size) - np.bincount(counts.second, value, size), dtype=float
    )


def _laplacian(counts: Counts, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over pairs of value * (e_first - e_second)(e_first - e_second)^T, shape (M, M)."""
    size = len(counts.models)
    matrix = np.zeros((size, size))
    matrix[counts.first, counts.second] = matrix[counts.second, counts.first] = -value
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


def _free(counts: Counts, ridge: float) -> NDArray[np.intp]:
    """Models whose coefficients are searched for.

    The likelihood does not see a shift of all of them, so that without a ridge one must stay put: that with
    the most battles, to which the others are tied best.
    """
    every = np.arange(len(counts.models))
    return every if ridge else np.delete(every, counts.battles_per_model().argmax())


def _factor(
    counts: Counts, value: NDArray[np.float64], ridge: float, free: NDArray[np.intp]
) -> tuple[NDArray[np.float64], bool]:
    """Cholesky factor of the Hessian of the free coefficients; ConvergenceError where it is singular."""
    hessian = _laplacian(counts, value)[np.ix_(free, free)]
    hessian[np.diag_indices_from(hessian)] += ridge
    curvature = hessian.diagonal().copy()
    try:
        factor: tuple[NDArray[np.float64], bool] = cho_factor(hessian, overwrite_a=True)
    except (np.linalg.LinAlgError, ValueError) as error:  # singular, or not finite
        raise ConvergenceError(_UNSETTLED) from error
    if (np.diag(factor[0]) ** 2 < _SINGULAR * curvature).any():
        raise ConvergenceError(_UNSETTLED)
    return factor


def _sandwich(counts: Counts, ridge: float, xi: NDArray[np.float64]) -> NDArray[np.float64]:
    """A^-1 B A^-1 of centred coefficients, shape (M, M)."""
    p = expit(xi[counts.first] - xi[counts.second])
    won, tied, lost = counts.outcomes.T
    free = _free(counts, ridge)
    bread = _factor(counts, (won + tied + lost) * p * (1 - p), ridge, free)
    meat = _laplacian(counts, won * (1 - p) ** 2 + tied * (0.5 - p) ** 2 + lost * p**2)
    half = cho_solve(bread, meat[np.ix_(free, free)])
    covariance = np.zeros_like(meat)
    covariance[np.ix_(free, free)] = cho_solve(bread, half.T)
    centre = _contrast(counts.models, None)
    centred: NDArray[np.float64] = centre @ ((covariance + covariance.T) / 2) @ centre
    return centred


def _contrast(models: tuple[str, ...], reference: str | None) -> NDArray[np.float64]:
    """Matrix that moves coefficients so that ``reference`` (or the mean) is zero."""
    size = len(models)
    if reference is None:
        return np.eye(size) - 1 / size
    matrix = np.eye(size)
    matrix[:, _at(models, reference)] -= 1
    return matrix


def _at(models: tuple[str, ...], name: str) -> int:
    if name not in models:
        raise KeyError(f"model {name!r} is not among the {len(models)} models of these battles")
    return models.index(name)

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
from scipy.sparse import coo_array
from scipy.special import expit
from tqdm import tqdm

from rearena.ranking import counts as counting
from rearena.ranking.intervals import approximate_ranks, critical_value
from rearena.ranking.kernels import newton
from rearena.ranking.threads import one_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rearena.ranking.counts import Counts, InverseProbability
    from rearena.ranking.intervals import Correction

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
        Number of battles of each model.
    reference : str or None
        The model whose coefficient is zero; None where the mean is zero.
    anchor, anchor_rating : str or None, float
        The model that ``ratings`` places at ``anchor_rating``; None places the mean there.
    scale, base : float
        A difference of ``scale`` rating points stands for odds of ``base`` to one.
    ridge : float
        Penalty on the sum of squared coefficients; 0 is maximum likelihood.
    inverse_probability, cluster : str or None
        Whether battles were weighted by 1 / P(A_t), and what was taken as the sampling unit.
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
    inverse_probability: InverseProbability | None
    cluster: str | None
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

    def intervals(
        self,
        level: float = 0.95,
        correction: Correction | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Normal intervals with sandwich standard errors.

        Parameters
        ----------
        level : float in (0, 1)
            Nominal coverage: of each interval, or, with a correction, of all of them together.
        correction : {"chi-square", "bonferroni", "max-z"}, optional
            How to make them hold together; see :func:`rearena.ranking.intervals.critical_value`. Default:
            one model at a time.
        seed : int or Generator
            Source of randomness; required for ``"max-z"``, not used otherwise.

        Returns
        -------
        DataFrame
            Index model; columns ``lower, upper``, in rating points.

        Raises
        ------
        ValueError
            As :func:`rearena.ranking.intervals.critical_value`.
        """
        half = critical_value(level, correction, self.covariance, seed) * self.standard_errors
        return pd.DataFrame({"lower": self.ratings - half, "upper": self.ratings + half})

    def to_frame(
        self,
        level: float = 0.95,
        correction: Correction | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Ratings, best first.

        Parameters
        ----------
        level, correction, seed
            As for :meth:`intervals`.

        Returns
        -------
        DataFrame
            Index model; ``rating, lower, upper`` (points), approximate ``rank``, ``battles``; settings in
            ``attrs``.
        """
        frame = self.intervals(level, correction, seed).assign(rating=self.ratings, battles=self.battles)
        frame["rank"] = approximate_ranks(frame["lower"], frame["upper"])
        frame.attrs = {
            "level": level,
            "method": "sandwich",
            "correction": correction,
            "reference": self.reference,
            "anchor": self.anchor,
            "anchor_rating": self.anchor_rating,
            "scale": self.scale,
            "base": self.base,
            "ridge": self.ridge,
            "inverse_probability": self.inverse_probability,
            "cluster": self.cluster,
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
    inverse_probability: InverseProbability | None = None,
    cluster: str | None = None,
) -> BradleyTerry:
    r"""Fit Bradley-Terry coefficients to battles.

    Source: Chatbot Arena, sections 4 and 5, equations (2), (3) and (7).

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
    inverse_probability : {"given", "share"}, optional
        Weight each battle by 1 / P(A_t) (equation (7)), P from the column ``probability`` or as the pair's
        share of the battles; see :func:`rearena.ranking.counts.from_battles`. Default: equal weights. It
        matters only where the model does not hold, and then decides which misfit is averaged.
    cluster : str, optional
        Column that names the sampling unit (``prompt_id``, ``voter``): the sandwich then adds up the scores
        of a unit before it squares them. Default: every battle is a unit.

    Returns
    -------
    BradleyTerry

    Raises
    ------
    ValueError
        If the battles are malformed (see :func:`rearena.ranking.counts.from_battles`), a setting is out of
        range, or ``inverse_probability`` or ``cluster`` is given beside counts, which carry theirs already.
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
    counts = _counted(battles, inverse_probability, cluster)
    for name in (reference, anchor):
        if name is not None:
            _at(counts.models, name)
    if ridge == 0:
        counts.check_graph()
    with one_thread():
        coefficients, iterations = _settle(counts, ridge, np.zeros(len(counts.models)))
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
        inverse_probability=inverse_probability,
        cluster=cluster,
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
    inverse_probability: InverseProbability | None = None,
    cluster: str | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Ratings of resampled battles: the nonparametric bootstrap, done on counts.

    Drawing ``n`` rows with replacement and adding them up per pair and outcome is one multinomial draw of
    size ``n`` over the observed cells, so a round costs the same for a thousand and for a million votes.
    Where several rows come from one prompt or voter, they are not independent: name that column in
    ``cluster``, and whole units are drawn instead.

    A resample can separate a model that hardly ever loses (or wins), or leave a model with few battles out;
    then it has no finite maximum. Such a round is refitted with ``ridge = 1e-3``, and shifted so that the
    models that are still comparable keep their mean: a separated model lands far out in its tail, where it
    belongs; one that was left out lands near the mean of the others, which hides how little is known of it.
    ``attrs["separated"]`` and ``attrs["disconnected"]`` count the rounds: where they are not few, use the
    sandwich or more battles.

    Parameters
    ----------
    battles : DataFrame or Counts
        As for :func:`fit`; weights must be whole numbers unless units are drawn.
    rounds : int
        Resamples, at least 1.
    seed : int or Generator
        Source of randomness; the same seed gives the same frame.
    anchor, anchor_rating, scale, base, ridge, inverse_probability, cluster
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
    counts = _counted(battles, inverse_probability, cluster)
    whole = fit(counts, anchor=anchor, anchor_rating=anchor_rating, scale=scale, base=base, ridge=ridge)
    if not np.array_equal(counts.sampling.copies, np.rint(counts.sampling.copies)):
        raise ValueError("the bootstrap draws whole battles, but some weights add up to fractions of one")
    rng = np.random.default_rng(seed)
    draws = np.empty((rounds, len(counts.models)))
    separated = disconnected = 0
    for row in tqdm(draws, desc="bootstrap", mininterval=1, disable=not progress):
        drawn = counts.resample(rng)
        try:
            row[:], _ = _settle(drawn, ridge, whole.coefficients)
        except ConvergenceError:
            core, joined = drawn.core()
            separated, disconnected = separated + joined, disconnected + (not joined)
            row[:], _ = _settle(drawn, max(ridge, _RESCUE), whole.coefficients)
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
        "inverse_probability": inverse_probability,
        "cluster": cluster,
    }
    return frame


def _counted(
    battles: pd.DataFrame | Counts, inverse_probability: InverseProbability | None, cluster: str | None
) -> Counts:
    if isinstance(battles, pd.DataFrame):
        return counting.from_battles(battles, inverse_probability=inverse_probability, cluster=cluster)
    if inverse_probability is not None or cluster is not None:
        raise ValueError("counts carry weights and units of their own: name these in counts.from_battles")
    return battles


def _settle(counts: Counts, ridge: float, start: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Coefficients of mean zero that maximise the penalised likelihood, and the Newton steps taken."""
    won, tied, lost = counts.outcomes.T
    xi = start - start.mean()
    n, score = won + tied + lost, won + tied / 2
    steps = newton(
        xi,
        counts.first,
        counts.second,
        n,
        score,
        ridge,
        _LAST_STEP,
        _SAFE_STEP,
        _FARTHEST,
        _SINGULAR,
        _ITERATIONS,
    )
    if not steps:
        raise ConvergenceError(
            "Newton's method did not settle: some models are separated from the others, or nearly so. "
            "Leave them out, add battles, or fit with ridge > 0"
        )
    return xi, steps


def _sandwich(counts: Counts, ridge: float, xi: NDArray[np.float64]) -> NDArray[np.float64]:
    """A^-1 B A^-1 of centred coefficients, shape (M, M); B adds up the scores of the sampling units."""
    size = len(counts.models)
    p = expit(xi[counts.first] - xi[counts.second])
    weight = counts.outcomes.sum(axis=1)
    bread = np.zeros((size, size))
    bread[counts.first, counts.second] = bread[counts.second, counts.first] = -weight * p * (1 - p)
    np.fill_diagonal(bread, ridge - bread.sum(axis=1))
    # B does not see a shift of all coefficients, so any curvature will do for that direction.
    bread += np.trace(bread) / size**2
    sampling = counts.sampling
    # What a pair's battles weigh more or less than in the sample: see Sample.even.
    factor = weight / (sampling.transposed @ sampling.copies).reshape(-1, 3).sum(axis=1)
    residual = (factor[:, None] * np.subtract.outer([1.0, 0.5, 0.0], p).T).ravel()
    cells, ends = np.arange(len(residual)), (np.repeat(counts.first, 3), np.repeat(counts.second, 3))
    scores = sampling.units @ coo_array(
        (np.concatenate([residual, -residual]), (np.tile(cells, 2), np.concatenate(ends))),
        shape=(len(residual), size),
    )
    meat = (scores.T @ (scores * sampling.copies[:, None])).toarray()
    factored = cho_factor(bread)
    half = cho_solve(factored, meat)
    covariance: NDArray[np.float64] = cho_solve(factored, half.T)
    return (covariance + covariance.T) / 2


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

r"""Bradley-Terry at equal style: ratings beside the effects of covariates such as length and markdown.

The model, as public leaderboards use it for style control:

.. math::
    P(a \text{ beats } b) = \sigma(\xi_a - \xi_b + \beta^\top z)

with :math:`z` the difference between the two answers (first minus second) in tokens, headers, bold, lists.
A rating then compares two models whose answers do not differ in :math:`z`. Ties count as half-wins, and the
sandwich covers :math:`\xi` and :math:`\beta` together.

Covariates are named, never counted off: an effect carries the name of the column that it was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array, hstack
from scipy.special import expit

from rearena.ranking import bradley_terry
from rearena.ranking import counts as counting
from rearena.ranking.likelihood import differences, extend, maximise, pinned, sandwich

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

# Share of a covariate's square that must be left when models and other covariates are given.
_COLLINEAR = 1e-10


@dataclass(frozen=True, eq=False, kw_only=True)
class Contextual(bradley_terry.BradleyTerry):
    r"""A fitted contextual model: all that a Bradley-Terry fit has, at equal style, and the effects.

    Attributes
    ----------
    effects : Series, length K
        :math:`\hat\beta` by covariate, in log-odds per unit of the covariate, or, where ``standardised``, per
        root mean square of it.
    effect_covariance : DataFrame, shape (K, K)
        Its sandwich covariance.
    scales : Series, length K
        Root mean square of each covariate over the battles.
    standardised : bool
    """

    effects: pd.Series
    effect_covariance: pd.DataFrame
    scales: pd.Series
    standardised: bool

    @property
    def effect_errors(self) -> pd.Series:
        """Sandwich standard errors of the effects, by covariate."""
        errors = np.sqrt(np.diag(self.effect_covariance))
        return pd.Series(errors, index=self.effects.index, name="standard_error")


def fit(
    battles: pd.DataFrame,
    covariates: Sequence[str],
    *,
    standardise: bool = False,
    cluster: str | None = None,
    reference: str | None = None,
    anchor: str | None = None,
    anchor_rating: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
) -> Contextual:
    """Fit ratings and the effects of covariates by maximum likelihood.

    Parameters
    ----------
    battles : DataFrame
        As for :func:`rearena.ranking.bradley_terry.fit`, one row a battle (or ``weight`` equal battles), with
        a column of numbers for each covariate: the first model's answer minus the second's, on any scale
        (see :func:`relative_difference`). A row with the sides exchanged has them negated. A column of ones
        is the advantage of being shown first.
    covariates : sequence of str
        Names of those columns. An empty one gives the plain fit.
    standardise : bool
        State effects per root mean square of the covariate. Ratings are the same either way. (Public style
        control also subtracts each column's mean, so that its ratings are those of answers that differ by the
        mean; here zero stays zero, and naming the other model first changes nothing.)
    cluster, reference, anchor, anchor_rating, scale, base
        As for :func:`rearena.ranking.bradley_terry.fit`. Two games on one pair of answers are one unit.

    Returns
    -------
    Contextual

    Raises
    ------
    ValueError
        As for :func:`rearena.ranking.bradley_terry.fit`; also if a covariate is missing, named twice, not
        a finite number in some row, zero in every row, or a combination of models and other covariates.
    KeyError, GraphError
        As for :func:`rearena.ranking.bradley_terry.fit`.
    ConvergenceError
        If the covariates tell (almost) every outcome, so that an effect is not finite.
    """
    names, first, second, outcome = counting.coded(battles)
    plain = bradley_terry.fit(
        battles,
        cluster=cluster,
        reference=reference,
        anchor=anchor,
        anchor_rating=anchor_rating,
        scale=scale,
        base=base,
    )
    weight = battles["weight"].to_numpy(float) if "weight" in battles.columns else np.ones(len(battles))
    z = _columns(battles, covariates, weight)
    rms = np.sqrt(weight @ z**2 / weight.sum())
    z = z / rms
    models = len(names)
    delta = differences(first, second, models)
    _refuse_collinear(pinned(_moments(delta, z, weight), models), covariates)

    def likelihood(
        parameters: NDArray[np.float64],
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        logit = delta @ parameters[:models] + z @ parameters[models:]
        p = expit(logit)
        residual = weight * (outcome - p)
        gradient = np.append(delta.T @ residual, z.T @ residual)
        value = float(weight @ (outcome * logit - np.logaddexp(0, logit)))
        return value, gradient, _moments(delta, z, weight * p * (1 - p))

    start = np.append(plain.coefficients - plain.coefficients.mean(), np.zeros(len(covariates)))
    parameters, iterations = maximise(likelihood, start, models)
    p = expit(delta @ parameters[:models] + z @ parameters[models:])
    if cluster is None:
        meat = _moments(delta, z, weight * (outcome - p) ** 2)
    else:
        scores = hstack([delta, csr_array(z)]) * (weight * (outcome - p))[:, None]
        units = coo_array((np.ones(len(z)), (counting.units(battles, cluster), np.arange(len(z)))))
        meat = ((units @ scores).T @ (units @ scores)).toarray()
    covariance = sandwich(_moments(delta, z, weight * p * (1 - p)), meat, models)
    unit = np.ones(len(covariates)) if standardise else 1 / rms
    index = pd.Index(list(covariates), name="covariate", dtype="str")
    effects = covariance[models:, models:] * np.outer(unit, unit)
    return extend(
        Contextual,
        plain,
        parameters,
        covariance,
        iterations=iterations,
        effects=pd.Series(parameters[models:] * unit, index=index, name="effect"),
        effect_covariance=pd.DataFrame(effects, index=index, columns=index),
        scales=pd.Series(rms, index=index, name="root_mean_square"),
        standardised=standardise,
    )


def relative_difference(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Difference of two amounts as a share of their sum, as public style control measures style.

    Parameters
    ----------
    a, b : array-like, one shape
        Amounts of the first and the second answer (tokens, headers, ...), not negative.

    Returns
    -------
    ndarray
        (a - b) / (a + b), in [-1, 1]; 0 where both are 0.

    Raises
    ------
    ValueError
        If the shapes differ, or an amount is negative or not finite.
    """
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.shape != y.shape:
        raise ValueError(f"a and b must have one shape, got {x.shape} and {y.shape}")
    total = x + y
    if not (np.isfinite(total).all() and (x >= 0).all() and (y >= 0).all()):
        raise ValueError("amounts must be finite and not negative")
    share: NDArray[np.float64] = np.divide(x - y, total, out=np.zeros_like(total), where=total > 0)
    return share


def _columns(
    battles: pd.DataFrame, covariates: Sequence[str], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The covariates by name, shape (N, K), refused where they cannot have an effect of their own."""
    if isinstance(covariates, str):
        raise ValueError(f"covariates must be a list of column names, got the text {covariates!r}")
    z = np.empty((len(battles), len(covariates)))
    for k, name in enumerate(covariates):
        if (battles.columns == name).sum() != 1 or list(covariates).count(name) != 1:
            raise ValueError(
                f"covariate {name!r} must be named once and be one column of the battles; "
                f"found {list(battles.columns)}"
            )
        try:
            z[:, k] = battles[name].to_numpy(dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"covariate {name!r} must hold numbers: {error}") from error
        bad = ~np.isfinite(z[:, k])
        if bad.any():
            raise ValueError(
                f"covariate {name!r} is missing or not finite in row {int(bad.argmax())} (counted from 0) "
                f"and {int(bad.sum()) - 1} more: drop or fill these rows"
            )
        if not z[weight > 0, k].any():
            raise ValueError(f"covariate {name!r} is zero in every row, so it cannot explain an outcome")
    return z


def _moments(delta: csr_array, z: NDArray[np.float64], value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over rows of value times the outer product of the row's design, shape (M + K, M + K)."""
    weighted = value[:, None] * z
    mixed = delta.T @ weighted
    return np.block([[(delta.T @ (delta * value[:, None])).toarray(), mixed], [mixed.T, z.T @ weighted]])


def _refuse_collinear(moments: NDArray[np.float64], covariates: Sequence[str]) -> None:
    """Take each covariate in turn; what the models and those before it leave of it must not be nothing."""
    for k, name in enumerate(covariates, start=len(moments) - len(covariates)):
        before, shared = moments[:k, :k], moments[:k, k]
        if moments[k, k] - shared @ np.linalg.solve(before, shared) < _COLLINEAR * moments[k, k]:
            raise ValueError(
                f"covariate {name!r} is a combination of the models and the covariates before it, "
                "so its effect is not defined: leave it out"
            )

"""What the models that extend Bradley-Terry share: Newton's method and the sandwich, blind to a shift.

Their parameters are M coefficients, of which only differences count, followed by others of their own. A shift
of all coefficients changes no probability: the curvature and the scores have a zero in that direction, any
curvature put there keeps every step and every covariance within the coefficients of mean zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array

from rearena.ranking.bradley_terry import BradleyTerry, ConvergenceError
from rearena.ranking.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Fitted = TypeVar("Fitted", bound=BradleyTerry)

# As in the plain fit: the error after a step is about its square.
_LAST_STEP = 1e-6
# Beyond this step the likelihood is looked at before it is taken.
_SAFE_STEP = 0.5
_ITERATIONS = 100
# In log-odds; no data that fit a computer put an estimate there.
_FARTHEST = 50.0


def differences(first: NDArray[np.intp], second: NDArray[np.intp], models: int) -> csr_array:
    """One row per battle or pair: 1 for its first model, -1 for its second; shape (N, M)."""
    rows, signs = np.arange(len(first)), np.ones(len(first))
    ends = (np.tile(rows, 2), np.concatenate([first, second]))
    return coo_array((np.concatenate([signs, -signs]), ends), shape=(len(first), models)).tocsr()


def pinned(curvature: NDArray[np.float64], models: int) -> NDArray[np.float64]:
    """Curvature with some added in the direction that shifts the first ``models`` parameters together."""
    matrix = curvature.copy()
    matrix[:models, :models] += np.trace(curvature[:models, :models]) / models**2
    return matrix


def maximise(
    likelihood: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64], NDArray[np.float64]]],
    start: NDArray[np.float64],
    models: int,
) -> tuple[NDArray[np.float64], int]:
    """Maximise a concave log-likelihood by Newton's method, long steps halved until it does not fall.

    Parameters
    ----------
    likelihood : callable
        Parameters to value, gradient and curvature (the negative Hessian).
    start : ndarray, shape (M + K,)
        Coefficients of mean zero, then the other parameters.
    models : int
        M.

    Returns
    -------
    parameters : ndarray, shape (M + K,)
    iterations : int

    Raises
    ------
    ConvergenceError
        If the curvature vanishes or the search runs away: there is no finite maximum, or hardly.
    """
    at = start
    value, gradient, curvature = likelihood(at)
    for iteration in range(1, _ITERATIONS + 1):
        try:
            with one_thread():
                step = cho_solve(cho_factor(pinned(curvature, models)), gradient)
        except (np.linalg.LinAlgError, ValueError):  # singular, or not finite
            break
        if np.abs(step).max() < _LAST_STEP:
            return at + step, iteration
        tried = likelihood(at + step)
        while np.abs(step).max() > _SAFE_STEP and not tried[0] >= value:
            step /= 2
            tried = likelihood(at + step)
        at, (value, gradient, curvature) = at + step, tried
        if np.abs(at).max() > _FARTHEST:
            break
    raise ConvergenceError(
        "Newton's method did not settle: models, or what is fitted beside them, tell almost every outcome, "
        "so that some estimate is not finite. Leave such models or covariates out, or add battles"
    )


def sandwich(curvature: NDArray[np.float64], meat: NDArray[np.float64], models: int) -> NDArray[np.float64]:
    """Covariance A^-1 B A^-1 of parameters whose coefficients have mean zero, shape (M + K, M + K)."""
    with one_thread():
        factor = cho_factor(pinned(curvature, models))
        covariance: NDArray[np.float64] = cho_solve(factor, cho_solve(factor, meat).T)
    return (covariance + covariance.T) / 2


def extend(
    kind: type[Fitted],
    plain: BradleyTerry,
    parameters: NDArray[np.float64],
    covariance: NDArray[np.float64],
    **more: Any,
) -> Fitted:
    """Result of an extended model: identified, anchored and scaled as the plain fit of the same battles."""
    models = len(plain.models)
    settings = vars(plain) | {
        "coefficients": parameters[:models],
        "covariance": covariance[:models, :models],
        "reference": None,
    }
    return cast("Fitted", kind(**settings | more).relative_to(plain.reference))

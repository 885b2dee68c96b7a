"""Every printed formula of the four papers, held against what it should return.

``data/published/equations.csv`` lists the formulas, where each is printed, and how those that fail must read.
A :class:`Ledger` takes the numbers of one paper's formulas and gives the verdicts. Where a formula is part of
a method, the package implements it as it must read; printed forms that nothing else needs stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, xlog1py, xlogy

from rearena.data import published

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Verdict = Literal["right", "wrong", "ambiguous", "undefined"]
NUMBERS = ["truth", "as printed", "error", "relative error", "corrected error"]
Numbers = float | list[float] | np.ndarray | pd.Series | pd.DataFrame


@dataclass
class Ledger:
    """Formulas of one paper, evaluated one by one.

    Parameters
    ----------
    paper : str
        As in the column ``paper`` of ``data/published/equations.csv``.
    """

    paper: str
    rows: dict[str, dict[str, object]] = field(default_factory=dict)

    def add(
        self,
        name: str,
        truth: Numbers | None,
        printed: Numbers | Mapping[str, Numbers],
        corrected: Numbers | None = None,
        tolerance: float = 1e-9,
    ) -> Verdict:
        """Hold one formula against what it should return, and keep the row.

        A formula is *right* if it returns the truth within the tolerance; *undefined* if it returns no finite
        number; *ambiguous* if it can be read in several ways of which not all are right, or the paper does
        not settle the truth; *wrong* otherwise. Of several numbers, the row shows the one farthest off.

        Parameters
        ----------
        name : str
            As in the column ``name`` of the file.
        truth : float or array-like
            What it should return, computed in another way. None where the paper does not settle it.
        printed : float or array-like, or a mapping from reading to such
            What the formula returns as it is printed.
        corrected : float or array-like
            What the corrected form returns. May be left out where the formula is right or has no truth.
        tolerance : float
            Largest absolute error that counts as none, such as five Monte-Carlo standard errors.

        Returns
        -------
        {"right", "wrong", "ambiguous", "undefined"}

        Raises
        ------
        KeyError
            If the file has no such formula.
        ValueError
            If it was added before, the corrected form does not return the truth, or the formula is not right
            and no correction is at hand.
        """
        known = _catalogue(self.paper)
        if name not in known.index:
            raise KeyError(f"no formula {name!r} of {self.paper} in data/published/equations.csv")
        if name in self.rows:
            raise ValueError(f"formula {name!r} of {self.paper} was evaluated before")
        readings = dict(printed) if isinstance(printed, Mapping) else {"": printed}
        if truth is None:
            return self._keep(name, dict.fromkeys(NUMBERS, np.nan), "ambiguous", _shown(readings))
        errors = {reading: _farthest(truth, value) for reading, value in readings.items()}
        right = [error <= tolerance for error, _, _ in errors.values()]
        error, at_truth, at_printed = max(errors.values())
        verdict: Verdict = "right" if all(right) else "ambiguous" if any(right) else "wrong"
        if not np.isfinite(error):
            verdict = "undefined"
        if verdict != "right" and corrected is None:
            raise ValueError(f"formula {name!r} is {verdict}: hand in what its corrected form returns")
        mended = np.nan if corrected is None else _farthest(truth, corrected)[0]
        if corrected is not None and not mended <= tolerance:  # a truth that is no number, too
            raise ValueError(f"the correction of {name!r} is off by {mended:.3g}, more than {tolerance:.3g}")
        relative = error / (float(np.abs(np.asarray(truth, dtype=float)).max()) or 1)
        numbers = dict(zip(NUMBERS, [at_truth, at_printed, error, relative, mended], strict=True))
        return self._keep(name, numbers, verdict, _shown(readings))

    def _keep(self, name: str, numbers: dict[str, float], verdict: Verdict, readings: str) -> Verdict:
        if verdict != "right" and pd.isna(_catalogue(self.paper)["correction"][name]):
            raise ValueError(f"formula {name!r} is {verdict}, but the file has no correction of it")
        self.rows[name] = {**numbers, "verdict": verdict, "readings": readings}
        return verdict

    def to_frame(self) -> pd.DataFrame:
        """One row per formula of the paper, in the order of the file.

        Returns
        -------
        DataFrame
            Index ``paper, name``; columns ``artefact, formula, returns`` (what it should return), ``truth, as
            printed, error, relative error`` (over the largest truth, or over 1 where the truth is 0),
            ``corrected error, verdict, readings`` (where there are several), ``correction``. Numbers are
            rounded to six decimals: below are rounding errors. An undefined formula has no error.

        Raises
        ------
        ValueError
            If a formula of the paper was not evaluated.
        """
        known = _catalogue(self.paper)
        left = [name for name in known.index if name not in self.rows]
        if left:
            raise ValueError(f"formulas of {self.paper} not evaluated: {', '.join(left)}")
        numbers = pd.DataFrame.from_dict(self.rows, orient="index").reindex(known.index)
        numbers[NUMBERS] = numbers[NUMBERS].astype(float).round(6).replace([np.inf, -np.inf], np.nan) + 0.0
        frame = pd.concat([known.drop(columns="correction"), numbers, known["correction"]], axis=1)
        return frame.set_index("paper", append=True).swaplevel()


def minimiser(
    first: ArrayLike, second: ArrayLike, outcome: ArrayLike, weight: ArrayLike, *, printed: bool
) -> NDArray[np.float64]:
    r"""Coefficients that minimise Chatbot Arena's equations (3) and (7), with :math:`\xi_1 = 0`.

    Both put :math:`p = 1 / (1 + e^{\xi_{A_2} - \xi_{A_1}})` into the cross-entropy with :math:`H`. That is
    the probability that the *first* model wins, while section 4 has :math:`H = 1` where the second does.

    Parameters
    ----------
    first, second : array-like of int, shape (N,)
        The pairs :math:`A`, as positions of models.
    outcome : array-like, shape (N,)
        :math:`H`, or its mean, in [0, 1]: 1 where the second model is preferred.
    weight : array-like, shape (N,)
        Weight of each row in the sum.
    printed : bool
        As printed, or with the exponent's sign turned.

    Returns
    -------
    ndarray, shape (M,)
    """
    a, b = np.asarray(first), np.asarray(second)
    h, w = np.asarray(outcome, dtype=float), np.asarray(weight, dtype=float)
    size, sign = int(max(a.max(), b.max())) + 1, -1 if printed else 1
    shares = w / w.sum()

    def loss(free: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        xi = np.concatenate([[0.0], free])
        logit = sign * (xi[b] - xi[a])
        slope = sign * shares * (expit(logit) - h)
        gradient = np.asarray(np.bincount(b, slope, size) - np.bincount(a, slope, size), dtype=float)
        return float(shares @ cross_entropy(h, expit(logit))), gradient[1:]

    found = minimize(loss, np.zeros(size - 1), jac=True, method="BFGS", options={"gtol": 1e-9})
    return np.concatenate([[0.0], found.x])


def cross_entropy(h: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    r""":math:`\ell(h, p) = -(h \log p + (1 - h) \log(1 - p))`, Chatbot Arena, section 4; both in [0, 1]."""
    hits, chance = np.asarray(h, dtype=float), np.asarray(p, dtype=float)
    return np.asarray(-(xlogy(hits, chance) + xlog1py(1 - hits, -chance)), dtype=float)


def interchanged_ranks(lower: ArrayLike, upper: ArrayLike) -> NDArray[np.intp]:
    r"""Approximate ranks with infimum and supremum interchanged, Chatbot Arena, section 5.

    One plus the number of models that may be better, :math:`\sup C_{m'} > \inf C_m`. As printed the sum runs
    over all :math:`m'`, and so counts every model whose interval has a width as better than itself; see
    :func:`rearena.ranking.intervals.approximate_ranks` for the sum over the others.

    Parameters
    ----------
    lower, upper : array-like, shape (M,)
        Ends of each model's interval, any common unit.

    Returns
    -------
    ndarray of int, shape (M,)
    """
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    ranks: NDArray[np.intp] = 1 + (high[None, :] > low[:, None]).sum(axis=1)
    return ranks


def _catalogue(paper: str) -> pd.DataFrame:
    every = published.table("equations").set_index("name")
    return every[every["paper"] == paper]


def _farthest(truth: Numbers, value: Numbers) -> tuple[float, float, float]:
    """Largest absolute error, with the two numbers that it is between; infinite where there is no number."""
    right, ours = np.broadcast_arrays(np.asarray(truth, dtype=float), np.asarray(value, dtype=float))
    error = np.abs(np.where(np.isfinite(ours), ours - right, np.inf))
    at = np.unravel_index(error.argmax(), error.shape)
    return float(error[at]), float(right[at]), float(ours[at])


def _shown(readings: dict[str, Numbers]) -> str:
    """Name and value of each reading; of several numbers, the largest."""
    named = {reading: np.asarray(value, dtype=float) for reading, value in readings.items() if reading}
    return "; ".join(
        f"{reading}: {value.flat[np.abs(value).argmax()]:.4g}" for reading, value in named.items()
    )

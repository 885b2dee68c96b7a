r"""How often intervals for Bradley-Terry coefficients hold the truth, by simulation.

Source: Chatbot Arena, section 7.1 (Figure 6) and appendix A (Figure 14). In each trial every model's
coefficient is drawn from :math:`\mathrm{beta}(1/\gamma, 1/\gamma)`, a data set of uniformly random pairs is
synthesised from them, and its intervals are compared with the coefficients. As in the paper (section 4) the
first model is fixed at :math:`\xi_1 = 0`, so that intervals are those of differences to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

from rearena.data import simulated
from rearena.ranking import bradley_terry, counts
from rearena.ranking.intervals import from_draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rearena.ranking.intervals import Correction


def study(
    models: int,
    battles: int,
    trials: int,
    seed: int | np.random.SeedSequence,
    *,
    gamma: float = 2.0,
    strength: float = 1.0,
    level: float = 0.95,
    corrections: Sequence[Correction | None] = (None,),
    rounds: int = 0,
    jobs: int = 1,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Coverage and width of intervals in simulated data sets of known coefficients.

    Parameters
    ----------
    models, battles, trials : int
        Sizes (M, n and the number of data sets); at least 2, 1 and 1.
    seed : int or SeedSequence
        Source of randomness; every trial has a stream of its own, so that ``jobs`` changes no number.
    gamma : float
        Coefficients are drawn from :math:`\mathrm{beta}(1/\gamma, 1/\gamma)`: 1 is uniform, larger values
        crowd them at 0 and 1.
    strength : float
        Factor on all coefficients: how far models are apart, in log-odds.
    level : float in (0, 1)
        Nominal coverage.
    corrections : sequence of {None, "chi-square", "bonferroni", "max-z"}
        For several intervals together; see :func:`rearena.ranking.intervals.critical_value`.
    rounds : int
        Bootstrap rounds for pivot and percentile intervals; 0 leaves the bootstrap out.
    jobs : int
        Trials in parallel, through joblib's parallel API.
    progress : bool
        Show a progress bar.

    Returns
    -------
    DataFrame
        One row per trial, method and correction: ``trial``; ``method`` ("sandwich", "pivot bootstrap",
        "percentile bootstrap"); ``correction`` (or "none"); ``coverage``, the share of the M - 1 coefficients
        that their interval holds; ``joint``, 1 if it holds all and 0 if not; ``width``, mean width in
        log-odds; ``separated``, the share of resamples that had no finite maximum (see
        :func:`rearena.ranking.bradley_terry.bootstrap`). A data set that has none itself has one row, NaN in
        place of numbers and ``separated`` 1: leave it out of means, and say how many there were.

    Raises
    ------
    ValueError
        If a size, ``gamma``, ``strength`` or ``level`` is out of range.
    """
    if trials < 1 or not (0 < gamma < np.inf and 0 < strength < np.inf):
        raise ValueError(
            "trials must be at least 1, gamma and strength positive and finite, got "
            f"{trials}, {gamma}, {strength}"
        )
    streams = np.random.SeedSequence(seed) if isinstance(seed, int) else seed
    tasks = (
        delayed(_trial)(number, stream, models, battles, gamma, strength, level, tuple(corrections), rounds)
        for number, stream in enumerate(streams.spawn(trials))
    )
    done = Parallel(n_jobs=jobs, return_as="generator")(tasks)
    shown = tqdm(done, desc=f"M={models}, n={battles}", total=trials, mininterval=1, disable=not progress)
    return pd.DataFrame([row for rows in shown for row in rows])


def _trial(
    number: int,
    stream: np.random.SeedSequence,
    models: int,
    battles: int,
    gamma: float,
    strength: float,
    level: float,
    corrections: tuple[Correction | None, ...],
    rounds: int,
) -> list[dict[str, object]]:
    rng = np.random.default_rng(stream)
    names = pd.Index([f"model {k:0{len(str(models - 1))}d}" for k in range(models)])
    xi = pd.Series(strength * rng.beta(1 / gamma, 1 / gamma, models), index=names)
    added = counts.from_battles(simulated.bradley_terry_battles(xi, battles, rng))
    log_odds: dict[str, Any] = {"anchor": names[0], "anchor_rating": 0.0, "scale": 1.0, "base": np.e}
    empty = dict.fromkeys(["coverage", "joint", "width"], np.nan)
    try:
        fit = bradley_terry.fit(added, reference=names[0], **log_odds)
    except (KeyError, counts.GraphError):  # a model that never played, or a graph that separates
        return [{"trial": number, "method": "none", "correction": "none", **empty, "separated": 1.0}]
    found: list[tuple[str, Correction | None, pd.DataFrame, float]] = [
        ("sandwich", correction, fit.intervals(level, correction, rng), 0.0) for correction in corrections
    ]
    if rounds:
        draws = bradley_terry.bootstrap(added, rounds, rng, **log_odds)
        lost = (draws.attrs["separated"] + draws.attrs["disconnected"]) / rounds
        found += [
            (f"{method} bootstrap", c, from_draws(draws, fit.ratings, level, method, c), lost)
            for method in ("pivot", "percentile")
            for c in corrections
        ]
    truth = (xi - xi.iloc[0]).reindex(fit.models).iloc[1:]
    rows = []
    for method, correction, ends, lost in found:
        low, high = ends["lower"].iloc[1:], ends["upper"].iloc[1:]
        held = (low <= truth) & (truth <= high)
        row = {"trial": number, "method": method, "correction": correction or "none"}
        row |= {"coverage": held.mean(), "joint": float(held.all()), "width": (high - low).mean()}
        rows.append(row | {"separated": lost})
    return rows

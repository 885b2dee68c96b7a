"""Bradley-Terry against its peers: CPU time and equality of ratings, on the same votes.

``make bench`` prints one line per contender. The votes are the Arena's 1.67 million to 2024-08-14 where they
are downloaded, else 1.7 million simulated ones between 130 models; either as one row a vote with model names
as strings, the form in which votes are published. Times are CPU seconds of this process, the median of
``ROUNDS`` runs in turn, so that a drift of the machine's speed meets all alike.

Contenders that need names as numbers get the time of that step counted: it is part of fitting a table of
votes, and most of it. What only prepares a peer's own input types (evalica's winner objects) is not.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import choix
import evalica
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from rearena.data import downloads, released, simulated
from rearena.ranking import bradley_terry

ROUNDS = 5
SOURCE = "leaderbot-counts-20240814"
ELO = 400 / np.log(10)
Ratings: TypeAlias = "pd.Series[float]"
Vector: TypeAlias = NDArray[Any]


def votes() -> tuple[pd.DataFrame, str]:
    """One row per vote, shuffled, names as strings; and where they come from."""
    rng = np.random.default_rng(0)
    if downloads.available(SOURCE):
        counts = released.counts_to_battles(released.votes_as_counts(downloads.path(SOURCE)))
        source = "Arena votes to 2024-08-14"
    else:
        names = pd.Index([f"organisation-{k % 20}/model-{k:03d}-chat" for k in range(130)])
        abilities = pd.Series(rng.normal(0, 0.8, 130), index=names)
        counts = simulated.bradley_terry_battles(abilities, 1_700_000, rng)
        source = "simulated votes"
    rows = counts.loc[np.repeat(counts.index, counts["weight"].astype(int))]
    shuffled = rows.iloc[rng.permutation(len(rows))][["model_a", "model_b", "outcome"]]
    frame = shuffled.astype({"model_a": "str", "model_b": "str"}).reset_index(drop=True)
    models = {*frame["model_a"].unique(), *frame["model_b"].unique()}
    return frame, f"{source}: {len(frame):,} rows, {len(models)} models"


def ours(frame: pd.DataFrame) -> Ratings:
    """``bradley_terry.fit``: sandwich covariance included."""
    return bradley_terry.fit(frame).ratings


def evalica_fit(frame: pd.DataFrame, winners: list[evalica.Winner]) -> Ratings:
    """Compiled fixed-point iteration of evalica."""
    found = evalica.bradley_terry(frame["model_a"], frame["model_b"], winners, tolerance=1e-10, limit=100_000)
    return _elo(found.scores.map(np.log))


def unique_rows(frame: pd.DataFrame) -> Ratings:
    """L-BFGS on unique rows, found with ``numpy.unique(axis=0)``, as public leaderboards compute theirs."""
    codes, names = pd.factorize(pd.concat([frame["model_a"], frame["model_b"]]))
    half = len(frame)
    rows = np.column_stack([codes[:half], codes[half:], 2 * frame["outcome"].to_numpy()]).astype(np.int32)
    unique, count = np.unique(rows, axis=0, return_counts=True)
    return _lbfgs(unique[:, 0], unique[:, 1], unique[:, 2] / 2, count, pd.Index(names))


def grouped(frame: pd.DataFrame) -> Ratings:
    """L-BFGS on counts that ``pandas.groupby`` makes: the best that a few lines of pandas can do."""
    counted = frame.groupby(["model_a", "model_b", "outcome"], sort=False).size().reset_index(name="n")
    codes, names = pd.factorize(pd.concat([counted["model_a"], counted["model_b"]]))
    half = len(counted)
    outcome, n = counted["outcome"].to_numpy(), counted["n"].to_numpy()
    return _lbfgs(codes[:half], codes[half:], outcome, n, pd.Index(names))


def choix_fit(frame: pd.DataFrame) -> Ratings:
    """Iterative Luce spectral ranking of choix, which knows no ties: on decided votes only."""
    decided = frame[frame["outcome"] != 0.5]
    names = pd.Index(sorted({*decided["model_a"], *decided["model_b"]}))
    a, b = names.get_indexer(decided["model_a"]), names.get_indexer(decided["model_b"])
    won = decided["outcome"].to_numpy() == 1
    wins = np.zeros((len(names), len(names)))
    np.add.at(wins, (np.where(won, a, b), np.where(won, b, a)), 1)
    return _elo(pd.Series(choix.ilsr_pairwise_dense(wins, tol=1e-12), index=names))


def _lbfgs(first: Vector, second: Vector, outcome: Vector, count: Vector, names: pd.Index) -> Ratings:
    size = len(names)

    def loss(xi: Vector) -> tuple[float, Vector]:
        difference = xi[first] - xi[second]
        residual = count * (outcome - expit(difference))
        gradient = np.bincount(first, residual, size) - np.bincount(second, residual, size)
        return float(count @ (np.logaddexp(0, difference) - outcome * difference)), -gradient

    options = {"maxiter": 5000, "maxfun": 5000, "ftol": 1e-15, "gtol": 1e-4}
    found = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options=options)  # type: ignore[call-overload]
    return _elo(pd.Series(found.x, index=names))


def _elo(xi: pd.Series) -> Ratings:
    centred: Ratings = ELO * (xi - xi.mean())
    return centred


def _timed(contender: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = contender()
    return time.process_time() - start, result


def main() -> int:
    """Print the comparison; exit 1 if a peer's ratings differ from ours by more than 0.001 Elo."""
    frame, described = votes()
    print(described)
    kind = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    winners = [kind[o] for o in frame["outcome"]]
    decided = frame[frame["outcome"] != 0.5]
    contenders: dict[str, Callable[[], Ratings]] = {
        "rearena, covariance included": lambda: ours(frame),
        "evalica": lambda: evalica_fit(frame, winners),
        "L-BFGS on unique rows (numpy.unique)": lambda: unique_rows(frame),
        "L-BFGS on counts (pandas.groupby)": lambda: grouped(frame),
        "choix, decided votes": lambda: choix_fit(frame),
    }
    reference = ours(frame) - 1000
    without_ties = ours(decided) - 1000
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    apart: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            spent, ratings = _timed(contender)
            seconds[name].append(spent)
            truth = without_ties if "decided" in name else reference
            assert isinstance(ratings, pd.Series)
            apart[name] = float((ratings - ratings.mean() - truth[ratings.index]).abs().max())
    fastest = statistics.median(seconds["rearena, covariance included"])
    for name, spent_all in seconds.items():
        median = statistics.median(spent_all)
        print(
            f"  {name:<38} {median:7.3f} s CPU ({min(spent_all):.3f} to {max(spent_all):.3f})  "
            f"{median / fastest:5.1f} x  largest difference {apart[name]:.1e} Elo"
        )
    spent, draws = _timed(lambda: bradley_terry.bootstrap(frame, 1000, 0))
    print(f"  rearena, 1,000 bootstrap rounds        {spent:7.3f} s CPU")
    assert isinstance(draws, pd.DataFrame)
    return int(max(apart.values()) > 1e-3)


if __name__ == "__main__":
    sys.exit(main())

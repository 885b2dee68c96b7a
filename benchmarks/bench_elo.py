"""Elo in random orders against evalica: CPU time and equality of ratings, on the same contests and orders.

``make bench`` prints one line per contender. The contests are RWQ-Elo's in number: 24 models, 200 between
each two, 55,200 in all, played in 100 orders. Times are CPU seconds of this process; the contenders take
turns, a quarter of the orders at a time, so that a drift of the machine's speed meets all alike.

Both start from a table with model names as strings, and both get the time counted in which they number the
names: rearena once per call of ``replay``, which plays all orders that it is given, evalica in every call,
which plays one. What only prepares evalica's input (the rows in the order of play, as lists, and its winner
objects) is not counted. The third line leaves out evalica's numbering too: its compiled loop, with what
surrounds it.
"""

from __future__ import annotations

import sys
import time

import evalica
import numpy as np
import pandas as pd

from rearena.data import simulated
from rearena.ranking import elo

MODELS, PER_PAIR, ORDERS, TURNS = 24, 200, 100, 4


def main() -> int:
    """Print the comparison; exit 1 if a rating differs by more than 1e-9 points in any order."""
    rng = np.random.default_rng(0)
    truth = pd.Series({f"organisation/model-{k:02d}-chat": 600.0 + 35 * k for k in range(MODELS)})
    contests = simulated.round_robin(elo.expected_scores(truth), PER_PAIR, rng)
    kind = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y}
    winner = np.array([kind[outcome] for outcome in contests["outcome"]], dtype=object)
    first, second = (contests[side].to_numpy() for side in ("model_a", "model_b"))
    elo.replay(contests, orders=1, seed=0)  # compiles, or reads what was compiled before
    seconds = {"rearena": 0.0, "evalica": 0.0, "numbering": 0.0}
    apart = 0.0
    for _ in range(TURNS):
        orders = np.array([rng.permutation(len(contests)) for _ in range(ORDERS // TURNS)])
        start = time.process_time()
        ours = elo.replay(contests, k=4, orders=orders)
        seconds["rearena"] += time.process_time() - start
        for row, order in enumerate(orders):
            xs, ys, winners = (column[order].tolist() for column in (first, second, winner))
            start = time.process_time()
            found = evalica.elo(xs, ys, winners, initial=1000, base=10, scale=400, k=4)
            seconds["evalica"] += time.process_time() - start
            start = time.process_time()
            evalica.indexing(xs, ys)
            seconds["numbering"] += time.process_time() - start
            theirs = found.scores[ours.columns].to_numpy()
            apart = max(apart, float(np.abs(theirs - ours.to_numpy()[row]).max()))
    loop = seconds["evalica"] - seconds["numbering"]
    print(f"{ORDERS} orders of {len(contests):,} contests between {MODELS} models")
    for name, spent in [
        ("rearena", seconds["rearena"]),
        ("evalica, called per order", seconds["evalica"]),
        ("evalica, without numbering the names", loop),
    ]:
        print(f"  {name:<38} {spent:7.3f} s CPU  {spent / seconds['rearena']:5.1f} x")
    print(f"  largest difference of a rating, over all orders: {apart:.1e} points")
    return int(apart > 1e-9)


if __name__ == "__main__":
    sys.exit(main())

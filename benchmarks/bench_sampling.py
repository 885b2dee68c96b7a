"""Adaptive sampling against a plain numpy loop of the same rule: CPU time, and the same draws.

``make bench`` prints one line per rule: 30,000 draws over the 1,225 pairs of fifty models, every vote counted
before the next pair is drawn. Times are CPU seconds of this process, the median of ``ROUNDS`` runs in turn.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rearena.ranking import sampling

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODELS, DRAWS, ROUNDS, AT_LEAST = 50, 30_000, 3, 30


def loop(
    chance: NDArray[np.float64], uniforms: NDArray[np.float64], rule: str
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Equation (9) with one win and one loss added, every weight computed anew for every draw."""
    won, n = np.ones(len(chance)), np.full(len(chance), 2.0)
    drawn = np.empty(len(uniforms), dtype=np.intp)
    probability = np.ones(len(uniforms))
    for t, (u, v) in enumerate(uniforms):
        weight = np.sqrt(won * (n - won)) / n * (1 / np.sqrt(n) - 1 / np.sqrt(n + 1))
        if rule == "greedy":
            pair = weight.argmax()
        else:
            total = weight.cumsum()
            pair = np.searchsorted(total, u * total[-1], side="right")
            probability[t] = weight[pair] / total[-1]
        drawn[t] = pair
        won[pair] += v < chance[pair]
        n[pair] += 1
    return drawn, probability


def main() -> int:
    """Print the comparison; exit 1 if draws differ or the loop takes less than 30 times as long."""
    rng = np.random.default_rng(0)
    names = [f"model {k:02d}" for k in range(MODELS)]
    xi = pd.Series(rng.beta(0.5, 0.5, MODELS), index=names)
    first, second = np.triu_indices(MODELS, 1)
    chance = 1 / (1 + np.exp(xi.to_numpy()[second] - xi.to_numpy()[first]))
    failed = False
    for rule in ("proportional", "greedy"):
        sampling.active_pairs(xi, 1, 0, rule=rule)  # compiled, or read from the cache, before the clock runs
        ours, theirs = [], []
        for _ in range(ROUNDS):
            start = time.process_time()
            battles = sampling.active_pairs(xi, DRAWS, 1, rule=rule)
            middle = time.process_time()
            rng = np.random.default_rng(1)
            uniforms = rng.random((DRAWS, 2))
            order = rng.permutation(len(chance)) if rule == "greedy" else np.arange(len(chance))
            drawn, probability = loop(chance[order], uniforms, rule)
            ours.append(middle - start)
            theirs.append(time.process_time() - middle)
        shown = np.array(names, dtype=object)[np.column_stack([first, second])[order[drawn]]]
        same = (battles[["model_a", "model_b"]].to_numpy() == shown).all()
        same &= np.allclose(battles["probability"], probability, rtol=1e-9, atol=0)
        fast, slow = statistics.median(ours), statistics.median(theirs)
        print(
            f"  {DRAWS:,} {rule} draws, {len(first):,} pairs: rearena {fast:.4f} s CPU, "
            f"numpy loop {slow:.3f} s, {slow / fast:.0f} x; same draws: {bool(same)}"
        )
        failed |= not same or slow < AT_LEAST * fast
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""The coverage study of notebook 13: CPU time of twelve (M, n) cells of twenty trials, bootstrap included."""

from __future__ import annotations

import sys
import time

from rearena.ranking import coverage

MODELS, SIZES, TRIALS, ROUNDS = (5, 10, 20, 50), (1_000, 3_000, 10_000), 20, 200


def main() -> int:
    """Print the time of each number of models and of all."""
    coverage.study(5, 1_000, 1, 0, rounds=2)  # compiles
    start = time.process_time()
    for models in MODELS:
        began = time.process_time()
        for size in SIZES:
            coverage.study(models, size, TRIALS, models * size, rounds=ROUNDS)
        print(f"  M = {models:<3} n = {SIZES}: {time.process_time() - began:6.2f} s CPU")
    print(
        f"coverage study, {len(MODELS) * len(SIZES)} cells x {TRIALS} trials, sandwich and {ROUNDS} "
        f"bootstrap rounds each: {time.process_time() - start:.2f} s CPU"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

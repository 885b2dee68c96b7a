"""Contests drawn from a win map."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rearena.data.simulated import round_robin

MAP = pd.DataFrame(
    [[0.5, 0.9, 1.0], [0.1, 0.5, 0.7], [0.0, 0.3, 0.5]], index=list("abc"), columns=list("abc")
)


def test_every_pair_meets_equally_often_and_sides_alternate() -> None:
    drawn = round_robin(MAP, 10, seed=0)
    assert drawn.groupby(["model_a", "model_b"]).size().tolist() == [5] * 6


def test_shares_follow_the_map() -> None:
    n = 20_000
    drawn = round_robin(MAP, n, seed=1)
    for better, worse in [("a", "b"), ("a", "c"), ("b", "c")]:
        chance = MAP.loc[better, worse]
        for first, second, expected in [(better, worse, chance), (worse, better, 1 - chance)]:
            side = drawn[(drawn["model_a"] == first) & (drawn["model_b"] == second)]["outcome"]
            assert side.mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / (n / 2)))


def test_odd_number_gives_the_first_model_one_more_first_place() -> None:
    drawn = round_robin(MAP, 3, seed=0)
    assert len(drawn) == 9
    assert (drawn["model_a"] == "a").sum() == 4


def test_same_seed_same_contests() -> None:
    pd.testing.assert_frame_equal(round_robin(MAP, 4, seed=3), round_robin(MAP, 4, seed=3))


@pytest.mark.parametrize(
    ("win_map", "per_pair", "message"),
    [
        (MAP, 0, "per_pair"),
        (MAP[["a", "b"]], 2, "square|same"),
        (MAP[["b", "a", "c"]], 2, "same order"),
        (MAP.loc[["a"], ["a"]], 2, "two or more"),
        (MAP + 0.5, 2, r"\[0, 1\]"),
        (MAP.mask(MAP == 0.9), 2, "missing"),
    ],
)
def test_malformed_maps_are_refused(win_map: pd.DataFrame, per_pair: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        round_robin(win_map, per_pair, seed=0)

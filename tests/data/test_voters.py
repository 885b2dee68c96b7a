"""Simulated voters do what they are said to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from rearena.data.voters import BEHAVIOURS, cast, crowd

XI = pd.Series({"a": 1.0, "b": 0.0, "c": -0.5})


def near(share: float, n: float) -> object:
    return pytest.approx(share, abs=4 * np.sqrt(0.25 / n))


def test_the_crowd_votes_by_its_coefficients_in_either_order() -> None:
    n = 60_000
    drawn = crowd(XI, n, seed=0, ties=0.2)
    assert drawn["weight"].sum() == n
    for first, second in [("a", "b"), ("b", "a"), ("c", "a")]:
        part = drawn[(drawn["model_a"] == first) & (drawn["model_b"] == second)].set_index("outcome")[
            "weight"
        ]
        assert part.sum() / n == near(1 / 6, n)
        assert part[0.5] / part.sum() == near(0.2, n / 6)
        assert part[1.0] / part.sum() == near(0.8 * expit(XI[first] - XI[second]), n / 6)


def test_honest_voters_vote_as_the_crowd_does() -> None:
    n = 60_000
    drawn = cast(XI, "honest", 60, 1000, seed=1, ties=0.2)
    assert drawn["voter"].value_counts().tolist() == [1000] * 60
    expected = crowd(XI, 10**9, seed=2, ties=0.2).set_index(["model_a", "model_b", "outcome"])["weight"] / 1e9
    found = drawn.groupby(["model_a", "model_b", "outcome"]).size() / n
    np.testing.assert_allclose(found, expected[found.index], atol=4 * np.sqrt(0.15 / n))


@pytest.mark.parametrize(("behaviour", "outcome"), [("always first", 1.0), ("always second", 0.0)])
def test_one_button(behaviour: str, outcome: float) -> None:
    assert (cast(XI, behaviour, 3, 50, seed=3, ties=0.3)["outcome"] == outcome).all()


def test_a_coin_knows_no_ties_and_no_models() -> None:
    drawn = cast(XI, "coin", 10, 2000, seed=4, ties=0.3)
    assert set(drawn["outcome"]) == {0.0, 1.0}
    strong = drawn[drawn["model_a"] == "a"]["outcome"]
    assert strong.mean() == near(0.5, len(strong))


def test_who_repeats_presses_the_button_of_its_first_vote() -> None:
    drawn = cast(XI, "repeats", 400, 5, seed=5, ties=0.3)
    assert (drawn.groupby("voter")["outcome"].nunique() == 1).all()
    assert (drawn.groupby("voter")["outcome"].first() == 0.5).mean() == near(0.3, 400)


def test_a_pushed_model_is_always_shown_and_always_preferred() -> None:
    drawn = cast(XI, "pushes", 5, 400, seed=6, ties=0.3, target="c")
    left, right = drawn["model_a"] == "c", drawn["model_b"] == "c"
    assert (left ^ right).all()
    assert left.mean() == near(0.5, len(drawn))
    assert (drawn["outcome"] == left.astype(float)).all()


def test_share_is_the_part_of_votes_that_follow_the_behaviour() -> None:
    n = 20_000
    drawn = cast(XI, "always first", 20, n // 20, seed=7, share=0.4)
    # An honest voter prefers the first half of the time, by symmetry of the two orders.
    assert drawn["outcome"].mean() == near(0.4 + 0.6 * 0.5, n)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_same_seed_same_votes(behaviour: str) -> None:
    one, again = (cast(XI, behaviour, 2, 20, s, ties=0.2, target="a") for s in (8, np.random.default_rng(8)))
    pd.testing.assert_frame_equal(one, again)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"behaviour": "lazy"}, "behaviour must be one of honest"),
        ({"voters": 0}, "start at 1"),
        ({"votes": 0}, "start at 1"),
        ({"share": 1.5}, "share"),
        ({"ties": 1.0}, "ties"),
        ({"ties": float("nan")}, "ties"),
        ({"behaviour": "pushes", "target": None}, "target"),
        ({"coefficients": XI[:1]}, "two or more"),
        ({"coefficients": XI.rename({"b": "a"})}, "each once"),
        ({"coefficients": XI.replace(0.0, np.nan)}, "finite"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, object], message: str) -> None:
    settings = {"coefficients": XI, "behaviour": "honest", "voters": 1, "votes": 1, "seed": 0}
    with pytest.raises(ValueError, match=message):
        cast(**{**settings, **changes})  # type: ignore[arg-type]


def test_a_crowd_casts_votes() -> None:
    with pytest.raises(ValueError, match="votes must be at least 1"):
        crowd(XI, 0, seed=0)

"""Sampling: against a plain loop, draw by draw against the rule, and where the rule is undefined."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chisquare

from rearena import project
from rearena.ranking import sampling

ARENA = pd.Series({"w": 1.5, "x": 0.5, "y": 0.3, "z": 0.0})
PAIRS = [("w", "x"), ("w", "y"), ("w", "z"), ("x", "y"), ("x", "z"), ("y", "z")]


def battles(*rows: tuple[str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])


def shown(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(frame["model_a"], frame["model_b"], strict=True))


@pytest.mark.parametrize("rule", ["proportional", "greedy"])
def test_draws_are_those_of_a_plain_loop(rule: Any) -> None:
    loop = runpy.run_path(str(project.root() / "benchmarks" / "bench_sampling.py"))["loop"]
    xi = pd.Series(np.linspace(0, 3, 12), index=[f"m{k:02d}" for k in range(12)])
    first, second = np.triu_indices(12, 1)
    chance = expit(xi.to_numpy()[first] - xi.to_numpy()[second])
    rng = np.random.default_rng(5)
    uniforms = rng.random((3000, 2))
    order = rng.permutation(len(chance)) if rule == "greedy" else np.arange(len(chance))
    drawn, probability = loop(chance[order], uniforms, rule)
    drawn = order[drawn]
    found = sampling.active_pairs(xi, 3000, 5, rule=rule)
    assert shown(found) == list(zip(xi.index[first[drawn]], xi.index[second[drawn]], strict=True))
    np.testing.assert_allclose(found["probability"], probability, rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["proportional", "greedy"]),
    st.sampled_from([("smoothed", 0), ("smoothed", 2), ("plain", 1), ("plain", 3)]),
)
def test_every_draw_has_the_probability_that_the_votes_before_it_give(
    seed: int, rule: Any, start: Any
) -> None:
    variance, initial = start
    frame = sampling.active_pairs(ARENA, 50, seed, rule=rule, variance=variance, initial=initial)
    for t, row in frame.iterrows():
        given_before = sampling.probabilities(
            frame.iloc[:t], list(ARENA.index), rule=rule, variance=variance, initial=initial
        )
        expected = given_before[row["model_a"], row["model_b"]]
        if rule == "greedy" and row["probability"] == 1:
            assert expected == given_before.max()  # one of those that gain most; which one, an order decides
        else:
            assert row["probability"] == pytest.approx(expected, rel=1e-9)
        assert given_before.sum() == pytest.approx(1)


def test_proportional_weights_are_equation_nine() -> None:
    # w-x: 3 of 4 won; x-y: 1 win, 1 tie of 2, so S = (1 + 1/4) / 2 - (3/4)^2 = 1/16; others: initial does it.
    votes = battles(
        *[("w", "x", 1.0)] * 3, ("x", "w", 1.0), ("y", "x", 0.0), ("x", "y", 0.5), *[("w", "y", 1.0)] * 2
    )
    found = sampling.probabilities(votes, ["w", "x", "y"], variance="plain", initial=2)
    ratio = (np.sqrt(3 / 16) * (1 / 2 - 1 / np.sqrt(5))) / (1 / 4 * (1 / np.sqrt(2) - 1 / np.sqrt(3)))
    assert found["w", "x"] / found["x", "y"] == pytest.approx(ratio)
    assert found["w", "y"] == 0
    smoothed = sampling.probabilities(votes, ["w", "x", "y"])
    # With a win and a loss added, w-y has 3 of 4 and w-x 4 of 6.
    three, four = np.sqrt(3 / 16) * (1 / 2 - 1 / np.sqrt(5)), np.sqrt(2 / 9) * (6**-0.5 - 7**-0.5)
    assert smoothed["w", "y"] / smoothed["w", "x"] == pytest.approx(three / four)


def test_greedy_takes_the_pair_that_gains_most() -> None:
    votes = battles(("w", "x", 1.0), ("w", "x", 0.0), ("w", "y", 1.0), ("w", "y", 0.0), ("x", "y", 1.0))
    found = sampling.probabilities(votes, ["w", "x", "y"], rule="greedy")
    assert found.to_dict() == {("w", "x"): 0, ("w", "y"): 0, ("x", "y"): 1}
    equal = sampling.probabilities(votes.iloc[:2], ["w", "x", "y"], rule="greedy")
    assert equal.to_dict() == {("w", "x"): 0, ("w", "y"): 0.5, ("x", "y"): 0.5}


def test_greedy_favours_no_model_by_its_name() -> None:
    xi = pd.Series(0.0, index=[f"m{k}" for k in range(6)])
    first = [sampling.active_pairs(xi, 1, seed, rule="greedy").loc[0, "model_a"] for seed in range(60)]
    assert len(set(first)) == 5


def test_a_new_model_is_shown_and_the_order_of_names_does_not_matter() -> None:
    votes = sampling.random_pairs(ARENA, 300, seed=0)
    found = sampling.probabilities(votes, ["new", "z", "y", "x", "w"])
    fresh = found.loc["new"]
    assert (fresh == found.max()).all()
    other = sampling.probabilities(votes, [*ARENA.index, "new"])
    assert found["z", "w"] == pytest.approx(other["w", "z"])
    np.testing.assert_allclose(sampling.probabilities(battles(), list("abc")), 1 / 3)


def test_plain_variance_never_returns_to_equal_votes_and_smoothed_does() -> None:
    sure = pd.DataFrame([[0.5, 1, 1], [0, 0.5, 0.5], [0, 0.5, 0.5]], index=list("abc"), columns=list("abc"))
    plain = sampling.active_pairs(sure, 2000, 0, variance="plain", initial=5)
    counts = plain.groupby(["model_a", "model_b"]).size()
    assert counts["a", "b"] == counts["a", "c"] == 5
    smoothed = sampling.active_pairs(sure, 2000, 0).groupby(["model_a", "model_b"]).size()
    assert smoothed.min() > 50


def test_all_votes_equal_fall_back_to_uniform_draws() -> None:
    sure = pd.DataFrame(np.triu(np.ones((3, 3)), 1), index=list("abc"), columns=list("abc"))
    for rule in ("proportional", "greedy"):
        frame = sampling.active_pairs(sure, 300, 0, rule=rule, variance="plain", initial=1)  # type: ignore[arg-type]
        assert (frame["outcome"] == 1).all()
        np.testing.assert_allclose(frame["probability"].iloc[3:], 1 / 3)
        assert frame.groupby(["model_a", "model_b"]).size().min() > 60


def test_initial_votes_come_first_and_once_each() -> None:
    frame = sampling.active_pairs(ARENA, 12, 3, initial=2)
    assert sorted(shown(frame)) == sorted(PAIRS * 2)


def test_random_pairs_are_uniform_and_vote_as_told() -> None:
    frame = sampling.random_pairs(ARENA, 60_000, seed=0)
    table = frame.groupby(["model_a", "model_b"])["outcome"].agg(["size", "mean"]).loc[PAIRS]
    assert chisquare(table["size"]).pvalue > 1e-3
    truth = expit([ARENA[a] - ARENA[b] for a, b in PAIRS])
    np.testing.assert_allclose(table["mean"], truth, atol=4 * 0.5 / np.sqrt(10_000))
    np.testing.assert_allclose(frame["probability"], 1 / 6)


def test_a_map_and_its_coefficients_are_the_same_arena() -> None:
    values = ARENA.to_numpy()
    win_map = pd.DataFrame(expit(values[:, None] - values), index=ARENA.index, columns=ARENA.index)
    for draw in (sampling.random_pairs, sampling.active_pairs):
        pd.testing.assert_frame_equal(draw(ARENA, 500, 7), draw(win_map, 500, 7))
        assert not draw(ARENA, 500, 7).equals(draw(ARENA, 500, 8))


def test_samples_needed_finds_the_last_crossing() -> None:
    grid = np.array([1.0, 2, 3, 4])
    widths = [[4, 3, 2, 1], [0, 4, 2, 0], [1, 1, 1, 1], [4, 4, 4, 4], [0, 0, 0, 3]]
    np.testing.assert_allclose(sampling.samples_needed(grid, widths, 2.5), [2.5, 2.75, 1, np.inf, np.inf])
    assert sampling.samples_needed(grid, [1, 1, 1, np.nan], 2.5) == np.inf
    log = np.log(np.geomspace(1, 1000, 8))
    assert np.exp(sampling.samples_needed(log, -log / 2, np.log(0.1))) == pytest.approx(100)


def test_running_sums_are_the_sums_of_each_beginning() -> None:
    frame = sampling.random_pairs(ARENA, 40, seed=2)
    turned = frame.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    frame = pd.concat([frame, turned], ignore_index=True)
    found = sampling.running_sums(frame, list(ARENA.index), [1, 30, 70], [np.ones(80), np.arange(80)])
    for g, size in enumerate([1, 30, 70]):
        for p, pair in enumerate(PAIRS):
            ours = [t for t, row in enumerate(shown(frame)[:size]) if set(row) == set(pair)]
            assert list(found[:, g, p]) == [len(ours), sum(ours)]
    with pytest.raises(ValueError, match="not name"):
        sampling.running_sums(frame, ["w", "x"], [1], [np.ones(80)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "best"}, "rule"),
        ({"variance": "wald"}, "variance"),
        ({"variance": "plain"}, "initial"),
        ({"initial": -1}, "initial"),
        ({"draws": 0}, "draws"),
        ({"arena": pd.Series({"a": 1.0})}, "two or more"),
        ({"arena": pd.Series([1.0, 2.0], index=["a", "a"])}, "each once"),
        ({"arena": pd.Series({"a": 1.0, "b": np.nan})}, "'b'"),
        ({"arena": pd.DataFrame([[0, 1.1], [0, 0]], index=["a", "b"], columns=["a", "b"])}, "outside"),
        ({"arena": pd.DataFrame([[0, 1], [0, 0]], index=["a", "b"], columns=["b", "a"])}, "same order"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sampling.active_pairs(**{"arena": ARENA, "draws": 10, "seed": 0, **change})


def test_a_battle_of_a_model_that_is_not_named_is_refused() -> None:
    with pytest.raises(ValueError, match="'z'"):
        sampling.probabilities(battles(("x", "z", 1.0)), ["w", "x", "y"])

"""Contests drawn from a win map, benchmarks and battles of known truth."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from rearena.data.simulated import benchmark_draws, bradley_terry_battles, round_robin
from rearena.ranking import bradley_terry

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


def test_without_noise_every_draw_is_what_the_benchmark_rewards() -> None:
    ability, draws = benchmark_draws(6, 20, 30, seed=0, noise=0.0)
    assert draws.shape == (30, 6)
    assert list(draws.columns) == list(ability.index)
    assert ability.index.is_unique
    np.testing.assert_allclose(draws, np.tile(ability, (30, 1)), atol=1e-12)


def test_disagreement_moves_what_is_rewarded_and_not_the_ability() -> None:
    models, d = 4000, 1.5
    agreeing, _ = benchmark_draws(models, 2, 2, seed=1, noise=0.0)
    ability, draws = benchmark_draws(models, 2, 2, seed=1, noise=0.0, disagreement=d)
    pd.testing.assert_series_equal(ability, agreeing)
    # Four standard errors: sqrt(2 / M) of a variance of one, sqrt(1 / M) of a mean or a correlation near 0.
    assert ability.mean() == pytest.approx(0, abs=4 / np.sqrt(models))
    assert ability.var() == pytest.approx(1, rel=4 * np.sqrt(2 / models))
    moved = draws.iloc[0] - ability
    assert moved.var() == pytest.approx(d**2, rel=4 * np.sqrt(2 / models))
    assert np.corrcoef(moved, ability)[0, 1] == pytest.approx(0, abs=4 / np.sqrt(models))


def test_draws_spread_as_the_mean_over_prompts_does() -> None:
    models, prompts, rounds, noise = 400, 50, 400, 3.0
    ability, draws = benchmark_draws(models, prompts, rounds, seed=2, noise=noise)
    # A bootstrap's variance is (n - 1) / n of that of the mean, up to what the scores and the rounds are: a
    # chi-square each, with n - 1 and R - 1 degrees of freedom, averaged over models. Resamples are shared
    # between models, which correlates them only by chance, by 1 / n.
    expected = noise**2 / prompts * (1 - 1 / prompts)
    error = np.sqrt(2 / (prompts - 1) / models + 2 / (rounds - 1) * (1 / models + 1 / prompts))
    assert draws.var().mean() == pytest.approx(expected, rel=4 * error)
    # The benchmark's own score misses the ability by the standard error that the draws state.
    missed = ((draws.mean() - ability) ** 2).mean()
    assert missed == pytest.approx(noise**2 / prompts, rel=4 * np.sqrt(2 / models) + 1 / rounds)


def test_a_round_is_one_resample_of_prompts_for_all_models() -> None:
    # With two prompts a model's draw is its first score, its second or their mean, decided for all at once.
    _, draws = benchmark_draws(5, 2, 200, seed=3)
    assert len(draws.round(9).drop_duplicates()) == 3
    middle = (draws.max() + draws.min()) / 2
    assert np.isclose(draws, middle).all(axis=1).mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 200))


def test_same_seed_same_draws_and_another_seed_others() -> None:
    one, again, other = (benchmark_draws(3, 10, 5, seed) for seed in (7, np.random.default_rng(7), 8))
    pd.testing.assert_series_equal(one[0], again[0])
    pd.testing.assert_frame_equal(one[1], again[1])
    assert (one[1] != other[1]).all(axis=None)


@pytest.mark.parametrize("sizes", [(1, 10, 10), (10, 1, 10), (10, 10, 1), (0, 2, 2), (2, -2, 2)])
def test_a_benchmark_needs_two_of_everything(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="models, prompts and rounds must be at least 2"):
        benchmark_draws(*sizes, seed=0)


XI = pd.Series({"a": 1.25, "b": 0.25, "c": -0.5, "d": -1.0})


def test_battles_add_up_and_pairs_come_up_equally_often() -> None:
    n = 60_000
    drawn = bradley_terry_battles(XI, n, seed=0)
    assert drawn["weight"].sum() == n
    assert set(drawn["outcome"]) == {0.0, 1.0}
    assert not drawn.duplicated(["model_a", "model_b", "outcome"]).any()
    met = drawn.groupby(["model_a", "model_b"])["weight"].sum()
    assert len(met) == 6
    assert met.to_numpy() == pytest.approx(n / 6, abs=4 * np.sqrt(n * 1 / 6 * 5 / 6))


def test_the_first_of_a_pair_wins_with_the_logistic_probability() -> None:
    drawn = bradley_terry_battles(XI, 60_000, seed=1)
    for (a, b), rows in drawn.groupby(["model_a", "model_b"]):
        met = rows["weight"].sum()
        share = (rows["outcome"] * rows["weight"]).sum() / met
        odds = np.exp(XI[a]) / np.exp(XI[b])
        assert share == pytest.approx(odds / (1 + odds), abs=4 * np.sqrt(0.25 / met))


def test_fitting_gives_the_coefficients_back() -> None:
    fit = bradley_terry.fit(bradley_terry_battles(XI, 60_000, seed=2))
    found = pd.Series(fit.coefficients, index=fit.models)
    error = np.sqrt(np.diag(fit.covariance))
    assert (np.abs(found - (XI - XI.mean())) < 4 * error).all()
    assert error.max() < 0.03


def test_only_differences_of_coefficients_matter() -> None:
    pd.testing.assert_frame_equal(
        bradley_terry_battles(XI, 500, seed=3), bradley_terry_battles(XI + 64, 500, seed=3)
    )


def test_outcomes_that_did_not_occur_have_no_row() -> None:
    drawn = bradley_terry_battles(XI, 1, seed=0)
    assert drawn["weight"].tolist() == [1.0]
    sure = bradley_terry_battles(pd.Series({"strong": 300.0, "weak": 0.0}), 1000, seed=0)
    assert sure.to_dict("records") == [
        {"model_a": "strong", "model_b": "weak", "outcome": 1.0, "weight": 1000.0}
    ]


def test_same_seed_same_battles_and_another_seed_others() -> None:
    one, again, other = (bradley_terry_battles(XI, 500, s) for s in (5, np.random.default_rng(5), 6))
    pd.testing.assert_frame_equal(one, again)
    assert not one.equals(other)


@pytest.mark.parametrize(
    ("coefficients", "battles"),
    [(XI[:1], 10), (XI[:0], 10), (pd.Series([0.0, 1.0], index=["a", "a"]), 10), (XI, 0), (XI, -1)],
)
def test_battles_between_fewer_than_two_models_or_none_are_refused(
    coefficients: pd.Series, battles: int
) -> None:
    with pytest.raises(ValueError, match="two or more models, each once, and at least one battle"):
        bradley_terry_battles(coefficients, battles, seed=0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_battles_refuse_coefficients_that_are_no_numbers(bad):
    with pytest.raises(ValueError, match="coefficient"):
        bradley_terry_battles(pd.Series({"a": 0.0, "b": bad}), 10, 0)


def test_a_hopeless_pair_does_not_overflow():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bradley_terry_battles(pd.Series({"a": 0.0, "b": 1000.0}), 10, 0)

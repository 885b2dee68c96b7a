"""Contests drawn from a win map, benchmarks and battles of known truth."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearena.data.simulated import arena_votes, benchmark_draws, bradley_terry_battles, round_robin
from rearena.data.votes import validate_battles
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


STRENGTHS = pd.Series(np.linspace(-1.5, 1.5, 7), index=list("ABCDEFG"))
DAYS = {"start": "2023-05-01", "end": "2023-08-31"}


@pytest.fixture(scope="module")
def clocked() -> pd.DataFrame:
    return arena_votes(STRENGTHS, 60_000, 20_000, seed=3, **DAYS)


def unordered(votes: pd.DataFrame) -> pd.Series:
    return votes[["model_a", "model_b"]].min(axis=1) + votes[["model_a", "model_b"]].max(axis=1)


def test_votes_are_battles_by_time_within_the_days(clocked: pd.DataFrame) -> None:
    validate_battles(clocked)
    assert len(clocked) == 60_000
    assert clocked["time"].is_monotonic_increasing
    assert clocked["time"].iloc[0] >= pd.Timestamp("2023-05-01", tz="UTC")
    assert clocked["time"].iloc[-1] < pd.Timestamp("2023-09-01", tz="UTC")


def test_every_voter_votes_in_one_language_and_a_few_vote_much(clocked: pd.DataFrame) -> None:
    per_voter = clocked["voter"].value_counts()
    assert len(per_voter) == 20_000
    assert (clocked.groupby("voter")["language"].nunique() == 1).all()
    # Of Poisson numbers with the same mean, one plus 2, none among 20,000 would reach 20.
    assert per_voter.max() > 100
    assert per_voter.median() < per_voter.mean()


def test_languages_and_turns_have_the_printed_means() -> None:
    votes = arena_votes(STRENGTHS, 40_000, 40_000, seed=4, turns=1.3, **DAYS)  # one vote each: independent
    share = votes["language"].value_counts(normalize=True)
    for language, printed in [("English", 0.77), ("Chinese", 0.05)]:
        assert share[language] == pytest.approx(printed, abs=4 * np.sqrt(printed * (1 - printed) / 40_000))
    assert share.drop(["English", "Chinese"]).max() < 0.02
    assert len(share) == 149
    spread = np.sqrt(1.3 * 0.3)  # standard deviation of a geometric number with mean 1.3
    assert votes["turns"].mean() == pytest.approx(1.3, abs=4 * spread / 200)
    assert votes["turns"].min() == 1


def test_probabilities_of_a_day_add_up_to_one_over_the_pairs(clocked: pd.DataFrame) -> None:
    day, pair = clocked["time"].dt.date, unordered(clocked)
    assert (clocked.groupby([day, pair])["probability"].nunique() == 1).all()
    last = clocked.assign(day=day, pair=pair).drop_duplicates(["day", "pair"])
    last = last[last["day"] == day.iloc[-1]]
    assert last["pair"].nunique() == 21
    assert last["probability"].sum() == pytest.approx(1, abs=1e-12)


def test_pairs_are_shown_as_often_as_the_probability_says(clocked: pd.DataFrame) -> None:
    day, pair = clocked["time"].dt.date, unordered(clocked)
    chance = clocked.groupby([day, pair])["probability"].first().unstack(fill_value=0.0)
    met = clocked.groupby([day, pair]).size().unstack(fill_value=0)
    expected = chance.mul(met.sum(axis=1), axis=0).sum()
    assert (np.abs(met.sum() - expected) < 4.5 * np.sqrt(expected)).all()


def test_nearness_divides_the_odds_of_far_pairs() -> None:
    # The same seed draws the same days of entry: only the factor exp(-|difference| / h) is left between them.
    by_pair = {
        h: arena_votes(STRENGTHS, 60_000, 100, seed=5, nearness=h, **DAYS)
        .assign(pair=unordered)
        .query("time >= '2023-08-31T00:00Z'")
        .groupby("pair")["probability"]
        .first()
        for h in (2.0, np.inf)
    }
    gap = pd.Series({a + b: STRENGTHS[b] - STRENGTHS[a] for a in "ABCDEFG" for b in "ABCDEFG" if a < b})
    rest = (np.log(by_pair[2.0] / by_pair[np.inf]) + gap / 2).dropna()
    assert len(rest) > 15
    assert rest.to_numpy() == pytest.approx(rest.iloc[0], abs=1e-12)


@pytest.mark.parametrize("nu", [0.0, 0.5, 2.0])
def test_outcomes_follow_davidson_from_either_side(nu: float) -> None:
    pair = pd.Series({"strong": 0.8, "weak": -0.2})
    votes = arena_votes(pair, 40_000, 10, seed=6, ties=nu, **DAYS)
    odds = np.array([np.exp(0.5), nu, np.exp(-0.5)])
    for first, expected in (("strong", odds), ("weak", odds[::-1])):
        outcome = votes.loc[votes["model_a"] == first, "outcome"]
        n = len(outcome)
        assert n == pytest.approx(20_000, abs=4 * 100)
        for value, share in zip((1.0, 0.5, 0.0), expected / odds.sum(), strict=True):
            assert (outcome == value).mean() == pytest.approx(share, abs=4 * np.sqrt(0.25 / n))
    bad = votes.loc[votes["outcome"] == 0.5, "both_bad"]
    assert not votes.loc[votes["outcome"] != 0.5, "both_bad"].any()
    if nu:  # the pair is as good as the mean of all models: half of its ties are bad
        assert bad.mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / len(bad)))


def test_without_ties_bradley_terry_finds_the_coefficients_again() -> None:
    fit = bradley_terry.fit(arena_votes(STRENGTHS, 60_000, 100, seed=7, ties=0.0, **DAYS))
    found = pd.Series(fit.coefficients, index=fit.models)
    assert (np.abs(found - STRENGTHS) < 4 * np.sqrt(np.diag(fit.covariance))).all()


def test_weak_pairs_are_more_often_both_bad(clocked: pd.DataFrame) -> None:
    tied = clocked[clocked["outcome"] == 0.5]
    strength = tied["model_a"].map(STRENGTHS) + tied["model_b"].map(STRENGTHS)
    assert tied.loc[strength < -1, "both_bad"].mean() > 0.6
    assert tied.loc[strength > 1, "both_bad"].mean() < 0.4


def test_traffic_grows_and_jumps_when_models_enter() -> None:
    many = pd.Series(0.0, index=[f"m{k}" for k in range(20)])
    votes = arena_votes(many, 100_000, 10, seed=8, start="2023-01-01", end="2023-12-31")
    daily = votes.groupby(votes["time"].dt.floor("D")).size()
    assert len(daily) == 365
    sides = votes.melt("time", ["model_a", "model_b"], value_name="model")
    entered = sides.groupby("model")["time"].min().dt.floor("D")
    later = entered[entered > daily.index[0]].value_counts()
    assert len(later) >= 2
    for day, models in later.items():
        before = daily[day - pd.Timedelta(days=1)]
        assert daily[day] > before + 0.15 * models * before - 4 * np.sqrt(2 * before)
    assert daily[-60:].median() > 2 * daily[:60].median()


def test_same_seed_same_votes_and_another_seed_others() -> None:
    one, again, other = (
        arena_votes(STRENGTHS, 500, 100, s, **DAYS) for s in (5, np.random.default_rng(5), 6)
    )
    pd.testing.assert_frame_equal(one, again)
    assert not one.equals(other)


@settings(max_examples=25)
@given(
    xi=st.lists(st.floats(-3000, 3000), min_size=2, max_size=6),
    voters=st.integers(1, 30),
    more=st.integers(0, 60),
    nearness=st.sampled_from([0.01, 1.0, np.inf]),
)
def test_any_strengths_give_valid_votes(xi: list[float], voters: int, more: int, nearness: float) -> None:
    strengths = pd.Series(xi, index=[f"m{k}" for k in range(len(xi))])
    votes = arena_votes(strengths, voters + more, voters, 0, nearness=nearness, **DAYS)
    validate_battles(votes)
    assert len(votes) == voters + more
    assert votes["voter"].nunique() == voters
    assert votes["probability"].between(0, 1, inclusive="right").all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coefficients": STRENGTHS[:1]}, "two or more models"),
        ({"coefficients": STRENGTHS.rename({"B": "A"})}, "each once"),
        ({"coefficients": STRENGTHS.where(STRENGTHS > 0)}, "no finite coefficient"),
        ({"votes": 0}, "at least one battle"),
        ({"voters": 101}, "each voter votes"),
        ({"voters": 0}, "each voter votes"),
        ({"end": "2023-05-01"}, "two days"),
        ({"nearness": 0.0}, "nearness > 0"),
        ({"nearness": np.nan}, "nearness > 0"),
        ({"ties": -0.1}, "ties >= 0"),
        ({"turns": 0.9}, "turns >= 1"),
    ],
)
def test_an_impossible_arena_is_refused(change: dict, message: str) -> None:
    asked = {"coefficients": STRENGTHS, "votes": 100, "voters": 10, "seed": 0, **DAYS} | change
    with pytest.raises(ValueError, match=message):
        arena_votes(**asked)

"""Anomalous voters: by hand, against literal loops, exact validity, power for behaviours that are known."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, chi2, kstest

from rearena.data import voters
from rearena.ranking import anomalies

METHODS: tuple[anomalies.Method, ...] = ("printed", "randomised", "two-sided", "e-process")
Row = tuple[str, str, float]


def battles(*rows: Row, voter: str | None = None) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])
    return frame if voter is None else frame.assign(voter=voter)


# Of six votes on a and b, b is preferred (H = 1) twice, once it is a tie, and a is preferred three times.
HISTORY = battles(*[("a", "b", 0.0)] * 2, ("a", "b", 0.5), *[("a", "b", 1.0)] * 2, ("b", "a", 0.0))


@pytest.mark.parametrize(
    ("vote", "named", "shown"),
    [
        (("a", "b", 0.0), 3 / 7, 3 / 6),
        (("a", "b", 0.5), 4 / 7, 4 / 6),
        (("a", "b", 1.0), 1, 1),
        (("b", "a", 1.0), 3 / 7, 1),  # b is preferred: high by name, low by place
        (("b", "a", 0.0), 1, 1),
    ],
)
def test_equation_ten_by_hand(vote: Row, named: float, shown: float) -> None:
    votes = battles(vote, voter="x")
    assert anomalies.p_values(votes, HISTORY) == pytest.approx([named])
    assert anomalies.p_values(votes, HISTORY, action="shown") == pytest.approx([shown])


@settings(max_examples=50)
@given(st.lists(st.sampled_from([1.0, 0.5, 0.0]), min_size=2, max_size=9))
def test_p_is_valid_for_any_exchangeable_votes(bag: list[float]) -> None:
    # Given the votes as a set, each is the last with equal probability: P(p <= t) can be counted.
    p, draws = [], []
    for last in range(len(bag)):
        history = battles(*(("a", "b", o) for k, o in enumerate(bag) if k != last))
        vote = battles(("a", "b", bag[last]), voter="x")
        p.append(anomalies.p_values(vote, history)[0])
        draws.append(anomalies.p_values(vote, history, seed=last)[0])
    for t in p:
        assert np.mean(np.array(p) <= t) <= t + 1e-12
    # A randomised p-value lies between the share above it and the printed one, which adds the ties.
    above = [np.mean([other < own for other in bag]) for own in bag]
    assert all(low <= u <= high for low, u, high in zip(above, draws, p, strict=True))


def lots_of_pairs(votes: int, past: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two thousand voters, each on a pair of its own with a history of its own, all from one distribution."""
    rng = np.random.default_rng(seed)
    frames = []
    for size in (votes, past):
        name = np.repeat([f"{k:04d}" for k in range(2000)], size)
        outcome = rng.choice([1.0, 0.5, 0.0], p=[0.6, 0.1, 0.3], size=len(name))
        columns = {"model_a": "a" + pd.Series(name), "model_b": "b" + pd.Series(name), "outcome": outcome}
        frames.append(pd.DataFrame(columns | {"voter": name}))
    return frames[0], frames[1].drop(columns="voter")


def test_randomised_p_values_are_uniform_however_short_the_history() -> None:
    votes, history = lots_of_pairs(1, 3, seed=1)
    assert kstest(anomalies.p_values(votes, history, seed=2), "uniform").pvalue > 0.001


def test_online_p_values_are_independent_and_those_that_share_a_history_are_not() -> None:
    j = 20
    votes, history = lots_of_pairs(j, 5, seed=3)
    spread = {}
    for online in (False, True):
        p = anomalies.p_values(votes, history, seed=4, online=online).reshape(-1, j)
        spread[online] = np.var(-2 * np.log(p).sum(axis=1))
    # Independent uniform p-values make M chi-square of 2 j degrees, with variance 4 j. The variance of 2,000
    # of them is off by sqrt((kurtosis - 1) / n) of itself, kurtosis 3 + 12 / (2 j).
    error = np.sqrt((2 + 6 / j) / 2000)
    assert spread[True] == pytest.approx(4 * j, rel=4 * error)
    assert spread[False] > 2 * 4 * j


def test_a_pair_without_history_says_nothing() -> None:
    votes, _ = lots_of_pairs(1, 1, seed=5)
    assert (anomalies.p_values(votes, HISTORY) == 1).all()
    assert kstest(anomalies.p_values(votes, HISTORY, seed=6), "uniform").pvalue > 0.001


rows = st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0]))
several = st.lists(rows.filter(lambda r: r[0] != r[1]), min_size=1, max_size=20)


@settings(max_examples=50)
@given(several, several)
def test_named_actions_forget_who_was_shown_first(mine: list[Row], theirs: list[Row]) -> None:
    turned = [(b, a, 1 - o) for a, b, o in mine]
    straight = anomalies.p_values(battles(*mine, voter="x"), battles(*theirs))
    np.testing.assert_array_equal(straight, anomalies.p_values(battles(*turned, voter="x"), battles(*theirs)))


@settings(max_examples=50)
@given(several, several, st.booleans(), st.sampled_from(["named", "shown"]))
def test_own_votes_are_no_history_of_a_voter(
    mine: list[Row], theirs: list[Row], online: bool, action: anomalies.Action
) -> None:
    x, y = battles(*mine, voter="x"), battles(*theirs, voter="y")
    everybody = pd.concat([x, y])
    alone = anomalies.p_values(x, y.drop(columns="voter"), action=action, online=online)
    together = anomalies.p_values(everybody, everybody, action=action, online=online)
    np.testing.assert_array_equal(together[: len(x)], alone)


def test_weight_is_a_number_of_rows() -> None:
    votes = battles(("a", "b", 0.5), ("b", "a", 1.0), voter="x")
    counted = HISTORY.groupby(["model_a", "model_b", "outcome"]).size().rename("weight").reset_index()
    for action in ("named", "shown"):
        np.testing.assert_array_equal(
            anomalies.p_values(votes, counted, action=action),
            anomalies.p_values(votes, HISTORY, action=action),
        )


def test_online_history_grows_by_the_votes_before() -> None:
    votes = battles(*[("a", "b", 0.0)] * 3, voter="x")
    expected = [3 / 7, 4 / 8, 5 / 9]
    np.testing.assert_allclose(anomalies.p_values(votes, HISTORY, online=True), expected)


@settings(max_examples=50)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=5, max_size=5), st.floats(0.01, 0.99))
def test_printed_rule_is_that_of_section_five(outcomes: list[float], alpha: float) -> None:
    history = pd.concat([HISTORY, battles(*[("a", "b", 1.0)] * 40)])
    votes = battles(*(("a", "b", o) for o in outcomes), voter="x")
    found = anomalies.detect(votes, history, alpha, seed=0).loc["x"]
    # Five looks among five votes are all of them.
    m = -2 * np.cumsum(np.log(anomalies.p_values(votes, history)))
    over = [m[j - 1] >= chi2.ppf(1 - alpha / 5, 2 * j) for j in range(1, 6)]
    assert found["anomalous"] == any(over)
    assert pd.isna(found["at"]) if not any(over) else found["at"] == over.index(True) + 1


def test_looks_are_random_different_and_within_the_horizon() -> None:
    # One vote in an endless row of surprises: a look at any vote flags, so that `at` is the first look.
    votes = pd.concat([battles(*[("a", "b", 0.0)] * 30, voter=f"{k}") for k in range(400)])
    history = battles(("a", "b", 1.0), ("a", "b", 0.0)).assign(weight=[1e6, 0.0])
    at = anomalies.detect(votes, history, 0.3, seed=1, looks=2, horizon=6)["at"].to_numpy(dtype=int)
    # The smaller of two different numbers out of six is k in 6 - k of 15 cases; never 6.
    expected = np.array([5, 4, 3, 2, 1, 0]) / 15
    share = np.bincount(at, minlength=7)[1:] / 400
    np.testing.assert_allclose(share, expected, atol=4 * np.sqrt(0.25 / 400))
    assert share[5] == 0


def test_a_voter_with_one_vote_has_one_look_at_the_same_bound() -> None:
    history = battles(("a", "b", 1.0)).assign(weight=99.0)
    found = anomalies.detect(battles(("a", "b", 0.0), voter="x"), history, 0.1, seed=0).loc["x"]
    # M_1 = -2 log p is chi-square of two degrees under uniform p: its tail is p itself, times five looks.
    assert found["p_value"] == pytest.approx(5 / 100)
    assert (found["votes"], found["anomalous"], found["at"]) == (1, True, 1)


def test_e_process_is_the_mean_of_products_of_densities() -> None:
    rng = np.random.default_rng(7)
    history = voters.crowd(pd.Series({"a": 0.5, "b": 0.0, "c": -1.0}), 60, rng)
    votes = voters.cast(pd.Series({"a": 0.5, "b": 0.0, "c": -1.0}), "always second", 1, 12, rng)
    # The p-values are the first that the generator is asked for.
    p = anomalies.p_values(votes, history, seed=8, action="shown", online=True)
    shapes = [s for s in itertools.product((0.5, 1, 2), repeat=2) if s != (1, 1)]
    buttons = np.mean([np.cumprod(beta.pdf(p, a, b)) for a, b in shapes], axis=0)
    pushed = []
    for model in "abc":
        bet = np.where(votes["model_b"] == model, 2 * (1 - p), np.where(votes["model_a"] == model, 2 * p, 1))
        pushed.append(np.cumprod(bet))
    wealth = (buttons + np.mean(pushed, axis=0)) / 2
    found = anomalies.detect(votes, history, 0.5, "e-process", seed=8, action="shown").loc[0]
    assert wealth.max() > 2
    assert found["p_value"] == pytest.approx(1 / wealth.max())
    assert found["at"] == np.argmax(wealth >= 2) + 1


MODELS = [f"m{k}" for k in range(10)]
XI = pd.Series(np.random.default_rng(9).normal(0, 0.75, 10), index=MODELS)


def rates(behaviour: str, number: int = 100, ties: float = 0.2, alpha: float = 0.1) -> dict[str, float]:
    """Share of voters that each method flags, pairs as shown."""
    rng = np.random.default_rng(10)
    history = voters.crowd(XI, 20_000, rng, ties=ties)
    votes = voters.cast(XI, behaviour, number, 60, rng, ties=ties, target="m3")
    found = {m: anomalies.detect(votes, history, alpha, m, rng, action="shown") for m in METHODS}
    return {m: float(frame["anomalous"].mean()) for m, frame in found.items()}


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_honest_voters_are_flagged_no_more_often_than_alpha(alpha: float) -> None:
    for rate in rates("honest", 1000, alpha=alpha).values():
        assert rate <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / 1000)


def test_who_presses_one_button_is_found_by_the_methods_that_can_see_it() -> None:
    second, first = rates("always second"), rates("always first")
    assert min(second["randomised"], second["two-sided"], second["e-process"]) > 0.9
    # Every vote for the first model has p = 1 as printed, and the largest p when randomised.
    assert first["printed"] == first["randomised"] == 0
    assert min(first["two-sided"], first["e-process"]) > 0.9


def test_who_pushes_a_model_is_found_by_the_e_process() -> None:
    assert rates("pushes")["e-process"] > 0.9


def test_a_long_honest_record_is_no_trouble() -> None:
    # Wealth falls to e^-1000 and below: neither a warning nor a p-value above 1.
    votes = voters.cast(XI, "honest", 1, 20_000, seed=11)
    history = voters.crowd(XI, 10**7, seed=12)
    assert anomalies.detect(votes, history, 0.1, "e-process", seed=13)["p_value"].le(1).all()


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_answer_whatever_the_voters_are_called(method: anomalies.Method) -> None:
    history = voters.crowd(XI, 2000, seed=14)
    votes = voters.cast(XI, "coin", 5, 20, seed=15)
    one, again = (
        anomalies.detect(votes, history, 0.1, method, seed=s) for s in (1, np.random.default_rng(1))
    )
    pd.testing.assert_frame_equal(one, again)
    named = votes.assign(voter=votes["voter"].map(lambda k: f"voter {9 - k}"))
    found = anomalies.detect(named, history, 0.1, method, seed=1)
    assert list(found.index) == [f"voter {9 - k}" for k in range(5)]
    pd.testing.assert_frame_equal(found.reset_index(drop=True), one.reset_index(drop=True))


VOTE = battles(("a", "b", 1.0), voter="x")


@pytest.mark.parametrize(
    ("votes", "history", "message"),
    [
        (VOTE[:0], HISTORY, "no rows in the votes"),
        (VOTE, HISTORY[:0], "no rows in the history"),
        (battles(("a", "b", 0.7), voter="x"), HISTORY, "votes: battle in row 0.*outcome"),
        (VOTE, battles(("a", "b", 1.0), ("a", "b", 2.0)), "history: battle in row 1.*outcome"),
        (battles(("a", "a", 1.0), voter="x"), HISTORY, "votes: .*against itself"),
        (VOTE.drop(columns="voter"), HISTORY, "voter"),
        (VOTE.assign(voter=None), HISTORY, "voter"),
        (VOTE, HISTORY.assign(weight=-1.0), "weight"),
        (VOTE, HISTORY.assign(weight=np.nan), "weight"),
        (VOTE, HISTORY.assign(weight="many"), "weight"),
    ],
)
def test_malformed_frames_are_refused(votes: pd.DataFrame, history: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        anomalies.detect(votes, history, 0.1, seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"method": "fisher"}, "method must be one of printed"),
        ({"action": "left"}, "action must be one of named"),
        ({"seed": None}, "seed"),
        ({"looks": 0}, "looks"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        anomalies.detect(VOTE, HISTORY, **{"alpha": 0.1, "seed": 0, **changes})  # type: ignore[arg-type]

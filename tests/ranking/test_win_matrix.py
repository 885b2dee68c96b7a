"""The win matrix: by its formulas, against a peer, and where the truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from rearena.ranking import sampling, win_matrix

TRUTH = pd.Series({"a": 1.0, "b": 0.2, "c": 0.0})
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]


def battles(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "probability"])


VOTES = battles(
    ("a", "b", 1.0, 0.5),
    ("b", "a", 1.0, 0.25),
    ("c", "a", 0.5, 0.25),
    ("b", "c", 0.0, 0.2),
    ("a", "b", 1.0, 0.4),
)


def test_equations_four_to_six_by_their_definition() -> None:
    # X_t written out; the second vote is one for b, and so a zero in the rate of a.
    x = np.array([[1 / 0.5, 0, 0], [0, 0, 0], [0, 0.5 / 0.25, 0], [0, 0, 0], [1 / 0.4, 0, 0]])
    theta = x.mean(axis=0)
    sigma = (x - theta).T @ (x - theta) / len(x)
    table = win_matrix.inverse_propensity(VOTES)
    assert list(table.index) == PAIRS
    np.testing.assert_allclose(table["rate"], theta)
    np.testing.assert_allclose(win_matrix.covariance(table), sigma, atol=1e-12)
    np.testing.assert_allclose(table["upper"] - theta, 1.959964 * np.sqrt(np.diag(sigma) / 5), rtol=1e-6)
    assert table.attrs["total"] == 5


def test_rate_is_that_of_the_first_name_whichever_was_shown_first() -> None:
    # The paper's H = 1 is a win of the second model: its theta((a, b)) is one minus this rate.
    votes = battles(("b", "a", 1.0, 1.0), ("b", "a", 1.0, 1.0), ("a", "b", 1.0, 1.0), ("b", "a", 1.0, 1.0))
    assert win_matrix.pair_means(votes).loc[("a", "b"), "rate"] == 0.25
    assert win_matrix.inverse_propensity(votes).loc[("a", "b"), "rate"] == 0.25
    turned = votes.assign(outcome=1 - votes["outcome"])
    assert win_matrix.pair_means(turned).loc[("a", "b"), "rate"] == 0.75


def test_empirical_shares_give_the_pair_means_and_too_wide_intervals() -> None:
    votes = sampling.random_pairs(TRUTH, 2000, seed=0).drop(columns="probability")
    means, literal = win_matrix.pair_means(votes, method="wald"), win_matrix.inverse_propensity(votes)
    np.testing.assert_allclose(literal["rate"], means["rate"])
    assert ((literal["upper"] - literal["lower"]) > 1.2 * (means["upper"] - means["lower"])).all()


def test_a_weight_stands_for_that_many_votes() -> None:
    copies = [1, 3, 2, 1, 4]
    repeated = VOTES.loc[np.repeat(VOTES.index, copies)]
    for estimate in (win_matrix.pair_means, win_matrix.inverse_propensity):
        pd.testing.assert_frame_equal(estimate(VOTES.assign(weight=copies)), estimate(repeated))


def test_unbiased_and_covering_under_adaptive_sampling() -> None:
    rng = np.random.default_rng(1)
    theta = expit([TRUTH[a] - TRUTH[b] for a, b in PAIRS])
    tables = [
        win_matrix.inverse_propensity(sampling.active_pairs(TRUTH, 600, rng)).loc[PAIRS] for _ in range(400)
    ]
    rates = np.array([table["rate"] for table in tables])
    error = rates.std(axis=0) / np.sqrt(len(rates))
    assert (np.abs(rates.mean(axis=0) - theta) < 4 * error).all()
    covered = np.mean([(table["lower"] <= theta) & (theta <= table["upper"]) for table in tables])
    assert covered == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_are_those_of_a_peer(level: float) -> None:
    won, n = np.array([0, 1, 7, 40, 99]), np.array([3, 2, 9, 80, 100])
    for ours, theirs in {"wald": "normal", "wilson": "wilson"}.items():
        found = win_matrix.bounds(won, n, level, ours)  # type: ignore[arg-type]
        expected = proportion_confint(won, n, 1 - level, theirs)
        np.testing.assert_allclose(np.clip(found, 0, 1), np.clip(expected, 0, 1), atol=1e-9)
    found = win_matrix.bounds(won, n, level, "smoothed")
    expected = proportion_confint(won + 1, n + 2, 1 - level, "normal")
    np.testing.assert_allclose(found, np.clip(expected, 0, 1), atol=1e-9)


def test_equal_votes_have_no_width_by_wald_and_no_votes_have_all_by_any() -> None:
    for method in ("wald", "wilson", "smoothed"):
        lower, upper = win_matrix.bounds([0, 4], [0, 4], method=method)  # type: ignore[arg-type]
        assert (lower[0], upper[0]) == (0, 1)
        assert (upper[1] - lower[1] == 0) == (method == "wald")


def test_less_than_one_vote_is_not_rounded_up() -> None:
    for method in ("wald", "wilson"):
        lower, upper = win_matrix.bounds(0.25, 0.5, method=method)  # type: ignore[arg-type]
        whole = win_matrix.bounds(1, 2, method=method)  # type: ignore[arg-type]
        assert lower + upper == pytest.approx(1)
        assert upper - lower > whole[1] - whole[0]
    assert win_matrix.bounds(0.5, 0.5, method="wald") == (1, 1)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_intervals_lie_in_the_unit_interval_and_turn_with_the_pair(counts: tuple[int, int]) -> None:
    won, n = counts
    for method in ("wilson", "smoothed"):
        lower, upper = win_matrix.bounds(won, n, method=method)  # type: ignore[arg-type]
        turned = win_matrix.bounds(n - won, n, method=method)  # type: ignore[arg-type]
        assert 0 <= lower < upper <= 1
        np.testing.assert_allclose(turned, (1 - upper, 1 - lower), atol=1e-12)


def test_ties_make_votes_vary_less() -> None:
    tied = battles(*[("a", "b", 0.5, 1.0)] * 8, ("a", "b", 1.0, 1.0), ("a", "b", 0.0, 1.0))
    assert win_matrix.pair_means(tied).loc[("a", "b"), "variance"] == pytest.approx(0.05)
    wald = win_matrix.pair_means(tied, method="wald").loc[("a", "b")]
    assert wald["upper"] - wald["rate"] == pytest.approx(1.959964 * np.sqrt(0.05 / 10), rel=1e-6)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.2, np.nan])
def test_impossible_probabilities_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"row 1 .*probability"):
        win_matrix.inverse_propensity(VOTES.assign(probability=[0.5, bad, 0.5, 0.5, 0.5]))


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="method"):
        win_matrix.pair_means(VOTES, method="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level"):
        win_matrix.pair_means(VOTES, level=95)
    with pytest.raises(ValueError, match="no battles"):
        win_matrix.pair_means(VOTES.iloc[:0])


def test_more_wins_than_battles_are_refused() -> None:
    for score in (5.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="from 0 to the number"):
            win_matrix.bounds(score, 3)

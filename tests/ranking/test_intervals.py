"""Approximate ranks against their definition, bootstrap intervals against theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from rearena.ranking import bradley_terry
from rearena.ranking.intervals import approximate_ranks, critical_value, from_draws

ends = st.integers(0, 20)


@given(st.lists(st.tuples(ends, ends).map(sorted), min_size=1))
def test_rank_is_one_more_than_the_number_confidently_better(intervals: list[list[int]]) -> None:
    lower, upper = zip(*intervals, strict=True)
    expected = [1 + sum(low > high for low in lower) for high in upper]
    assert approximate_ranks(lower, upper).tolist() == expected


@pytest.mark.parametrize(
    ("lower", "upper"), [([2.0], [1.0]), ([np.nan], [1.0]), ([1.0, 2.0], [1.0]), ([[1.0]], [[2.0]])]
)
def test_malformed_intervals_are_refused(lower: list[float], upper: list[float]) -> None:
    with pytest.raises(ValueError, match=r"interval|vectors"):
        approximate_ranks(lower, upper)


def test_pivot_mirrors_percentile_at_the_estimate() -> None:
    draws = pd.DataFrame({"a": np.arange(101.0), "b": np.arange(101.0) ** 2})
    estimate = pd.Series({"b": 3000.0, "a": 40.0})
    percentile = from_draws(draws, estimate, 0.9, "percentile")
    assert percentile.loc["a"].tolist() == pytest.approx([5.0, 95.0])
    pivot = from_draws(draws, estimate, 0.9)
    assert pivot.loc["a"].tolist() == pytest.approx([2 * 40 - 95, 2 * 40 - 5])
    assert pivot.loc["b"].tolist() == pytest.approx([2 * 3000 - 95**2, 2 * 3000 - 5**2])
    assert list(pivot.index) == ["b", "a"]
    assert pivot.attrs == {"level": 0.9, "method": "pivot bootstrap", "correction": None, "rounds": 101}


def test_bad_settings_are_refused() -> None:
    draws, estimate = pd.DataFrame({"a": [1.0, 2.0]}), pd.Series({"a": 1.0})
    with pytest.raises(ValueError, match="level"):
        from_draws(draws, estimate, 0)
    with pytest.raises(ValueError, match="method"):
        from_draws(draws, estimate, method="bca")  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        from_draws(draws, pd.Series({"z": 1.0}))


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 6)), min_size=1, max_size=12))
def test_pessimistic_ranks_count_every_other_model_that_may_be_better(drawn: list[tuple[int, int]]) -> None:
    low, high = [a for a, _ in drawn], [a + width for a, width in drawn]
    size = range(len(low))
    expected = [1 + sum(high[other] > low[m] for other in size if other != m) for m in size]
    assert approximate_ranks(low, high, "pessimistic").tolist() == expected
    assert (approximate_ranks(low, high) <= approximate_ranks(low, high, "pessimistic")).all()


def test_interchanging_inf_and_sup_as_printed_counts_the_model_itself() -> None:
    low, high = np.array([0.0, 10.0]), np.array([1.0, 11.0])
    printed = [1 + int((high > low[m]).sum()) for m in range(2)]
    assert printed == [3, 2]  # the better of two separated models would be second
    assert approximate_ranks(low, high, "pessimistic").tolist() == [2, 1]


def test_critical_values_have_their_closed_forms() -> None:
    assert critical_value(0.95) == pytest.approx(1.959964, abs=1e-6)
    independent = np.eye(10)
    # Independent estimates: P(max |Z| <= c) = (2 Phi(c) - 1)^10, and Bonferroni's is a little above.
    sidak = norm.isf((1 - 0.95 ** (1 / 10)) / 2)
    assert critical_value(0.95, "max-z", independent, 0) == pytest.approx(sidak, abs=0.03)
    assert critical_value(0.95, "bonferroni", independent) == pytest.approx(norm.isf(0.0025), rel=1e-12)
    # Tables of the chi-square distribution: 16.919 at nine degrees of freedom.
    assert critical_value(0.95, "chi-square", independent) ** 2 == pytest.approx(16.919, abs=5e-4)


def test_max_z_knows_the_correlations_and_leaves_the_reference_out() -> None:
    same = np.ones((6, 6))  # one number six times: no more than one interval
    assert critical_value(0.9, "max-z", same, 1) == pytest.approx(1.645, abs=0.03)
    fixed = np.diag([0.0, 1.0, 1.0])
    assert critical_value(0.95, "bonferroni", fixed) == pytest.approx(norm.isf(0.0125), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.95, "bonferroni"), "covariance"),
        ((0.95, "max-z", np.eye(2)), "seed"),
        ((0.95, "scheffe", np.eye(2)), "scheffe"),
        ((1.0,), "level"),
        ((1.0, "chi-square", np.eye(2)), "level"),
        ((0.0, "max-z", np.eye(2), 0), "level"),
    ],
)
def test_critical_value_refuses_what_it_cannot_use(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        critical_value(*arguments)


@pytest.mark.parametrize("correction", ["chi-square", "bonferroni", "max-z"])
def test_corrected_bootstrap_intervals_are_those_of_normal_theory_on_normal_draws(correction: str) -> None:
    rng = np.random.default_rng(3)
    errors = np.array([1.0, 2.0, 5.0])
    estimate = pd.Series([0.0, 10.0, -4.0], index=["a", "b", "c"])
    draws = pd.DataFrame(
        estimate.to_numpy() + errors * rng.standard_normal((40_000, 3)), columns=estimate.index
    )
    half = critical_value(0.95, correction, np.diag(errors**2), 0) * errors
    for method in ("pivot", "percentile"):
        ends = from_draws(draws, estimate, 0.95, method, correction)
        np.testing.assert_allclose((ends["upper"] - ends["lower"]) / 2, half, rtol=0.03)
        np.testing.assert_allclose((ends["upper"] + ends["lower"]) / 2, estimate, atol=0.2)
        assert ends.attrs["correction"] == correction


def test_bonferroni_on_draws_says_how_many_rounds_it_needs() -> None:
    draws = pd.DataFrame(np.random.default_rng(0).normal(size=(1999, 50)))
    with pytest.raises(ValueError, match="at least 2000 rounds"):
        from_draws(draws, draws.mean(), 0.95, correction="bonferroni")


def test_max_z_of_a_hundred_models_is_far_inside_the_chi_square_projection() -> None:
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(100, 1)
    chance = expit(np.subtract.outer(*2 * [rng.beta(0.5, 0.5, 100)]))[first, second]
    won = rng.binomial(20, chance)
    names = np.array([f"m{k:03d}" for k in range(100)], dtype=object)
    frame = pd.DataFrame({"model_a": names[first], "model_b": names[second]})
    battles = pd.concat(
        [frame.assign(outcome=1.0, weight=won), frame.assign(outcome=0.0, weight=20 - won)], ignore_index=True
    )
    fit = bradley_terry.fit(battles)
    width = {
        c: (e := fit.intervals(0.95, c, 0)).upper - e.lower for c in ("chi-square", "bonferroni", "max-z")
    }
    assert ((width["chi-square"] / width["max-z"]) > 2.5).all()
    assert (width["max-z"] <= 1.01 * width["bonferroni"]).all()

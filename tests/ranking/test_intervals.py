"""Approximate ranks against their definition, bootstrap intervals against theirs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rearena.ranking.intervals import approximate_ranks, from_draws

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
    assert pivot.attrs == {"level": 0.9, "method": "pivot bootstrap", "rounds": 101}


def test_bad_settings_are_refused() -> None:
    draws, estimate = pd.DataFrame({"a": [1.0, 2.0]}), pd.Series({"a": 1.0})
    with pytest.raises(ValueError, match="level"):
        from_draws(draws, estimate, 0)
    with pytest.raises(ValueError, match="method"):
        from_draws(draws, estimate, method="bca")  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        from_draws(draws, pd.Series({"z": 1.0}))

"""The coverage study: what intervals promise, kept in simulated data of known coefficients."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from rearena.ranking import coverage


@pytest.mark.parametrize("models", [5, 10, 20])
@pytest.mark.parametrize("battles", [1_000, 5_000])
def test_nominal_intervals_cover_as_they_say(models: int, battles: int) -> None:
    # Averaged over coefficients and 500 trials, as in Figure 6; the band was set beforehand.
    found = coverage.study(models, battles, 500, models)
    assert 0.93 <= found["coverage"].mean() <= 0.97


@pytest.mark.parametrize("models", [5, 20])
def test_pivot_bootstrap_covers_as_the_sandwich_does(models: int) -> None:
    found = coverage.study(models, 1_000, 150, models, rounds=200).set_index("method")
    means = found.groupby(level=0)[["coverage", "width"]].mean()
    assert 0.93 <= means.loc["pivot bootstrap", "coverage"] <= 0.97
    assert means.loc["pivot bootstrap", "width"] == pytest.approx(means.loc["sandwich", "width"], rel=0.05)


def test_simultaneous_intervals_hold_together_and_single_ones_do_not() -> None:
    found = coverage.study(20, 2_000, 250, 1, corrections=(None, "chi-square", "bonferroni", "max-z"))
    joint = found.groupby("correction")["joint"].mean()
    width = found.groupby("correction")["width"].mean()
    assert (joint[["chi-square", "bonferroni", "max-z"]] >= 0.93).all()
    assert joint["none"] < 0.8
    assert width["none"] < width["max-z"] < width["bonferroni"] < width["chi-square"]


def test_width_follows_the_square_root_law_and_grows_with_models() -> None:
    few, many = (coverage.study(10, n, 40, 0)["width"].mean() for n in (2_000, 8_000))
    assert few / many == pytest.approx(2, rel=0.05)
    assert coverage.study(20, 8_000, 40, 0)["width"].mean() > 1.2 * many


def test_a_trial_does_not_depend_on_how_many_run_at_once() -> None:
    alone = coverage.study(4, 300, 6, 7, rounds=20)
    with parallel_config(backend="threading"):
        together = coverage.study(4, 300, 6, 7, rounds=20, jobs=2)
    pd.testing.assert_frame_equal(alone, together)
    assert not coverage.study(4, 300, 6, 8, rounds=20)["width"].equals(alone["width"])


def test_data_sets_without_finite_ratings_are_said() -> None:
    found = coverage.study(30, 40, 5, 0)
    assert (found["separated"] == 1).all()
    assert found[["coverage", "width", "joint"]].isna().all(axis=None)
    assert len(found) == 5


@pytest.mark.parametrize(
    "bad",
    [{"trials": 0}, {"models": 1}, {"battles": 0}, {"gamma": 0.0}, {"strength": np.inf}, {"level": 1.0}],
)
def test_sizes_out_of_range_are_refused(bad: dict[str, float]) -> None:
    sizes: dict[str, float] = {"models": 4, "battles": 300, "trials": 2, **bad}
    with pytest.raises(ValueError, match=r"trials|two or more models|level"):
        coverage.study(seed=0, **sizes)  # type: ignore[arg-type]

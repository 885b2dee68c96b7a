"""Benchmark metrics: small cases by hand, identities, other libraries."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from statsmodels.stats.proportion import proportion_confint

from rearena.evaluation import metrics


def benchmark(**models: tuple[float, float, float]) -> pd.DataFrame:
    return pd.DataFrame.from_dict(models, orient="index", columns=["lower", "score", "upper"])


# b is an anchor: an interval of no width, inside that of a and at the end of that of c.
ANCHORED = benchmark(a=(0, 1, 4), b=(2, 2, 2), c=(2, 3, 5), d=(6, 7, 8))


def test_the_two_overlap_rules_differ_at_an_anchor() -> None:
    # Pairs in order: ab, ac, ad, bc, bd, cd.
    assert metrics.separated(ANCHORED, "open").tolist() == [False, False, True, True, True, True]
    assert metrics.separated(ANCHORED, "positive length").tolist() == [True, False, True, True, True, True]
    assert metrics.separability(ANCHORED) == pytest.approx(4 / 6)
    assert metrics.separability(ANCHORED, "positive length") == pytest.approx(5 / 6)


def test_touching_intervals_are_separated_under_both_rules() -> None:
    touching = benchmark(a=(0, 1, 2), b=(2, 3, 4))
    assert metrics.separability(touching, "open") == metrics.separability(touching, "positive length") == 1


widths = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda t: (t[0], t[0] + t[1] / 2, t[0] + t[1]))


@given(st.lists(widths, min_size=2, max_size=8))
def test_the_two_rules_agree_where_every_interval_has_width(rows: list[tuple[float, float, float]]) -> None:
    frame = benchmark(**{f"m{k}": row for k, row in enumerate(rows)})
    assert (metrics.separated(frame, "open") == metrics.separated(frame, "positive length")).all()


def test_agreement_by_hand_in_its_three_definitions() -> None:
    reference = benchmark(a=(0, 1, 2), b=(3, 4, 5), c=(6, 7, 8), d=(6.5, 7.5, 9))
    ours = benchmark(a=(0, 1, 2), b=(10, 11, 12), c=(5, 6, 7), d=(1, 1.5, 7))
    # The reference separates all pairs but cd, five of six. Of these the benchmark separates ab (alike),
    # ac (alike) and bc (the other way); bd as well (the other way); ad it does not.
    assert metrics.agreement_with_confidence(ours, reference, "printed") == pytest.approx((2 - 2) / 6)
    ours.loc["d"] = [13, 1.5 + 12, 14]
    # Now ad and bd are separated alike: four alike, one not, and cd does not count for the reference.
    assert metrics.agreement_with_confidence(ours, reference, "printed") == pytest.approx(3 / 6)
    assert metrics.agreement_with_confidence(ours, reference, "table") == pytest.approx(3 / 5)
    assert metrics.agreement_with_confidence(ours, reference, "notebook") == pytest.approx(4 / 5)


@given(st.lists(st.tuples(widths, widths), min_size=2, max_size=8))
def test_printed_agreement_never_exceeds_either_separability(rows: list[tuple]) -> None:
    ours = benchmark(**{f"m{k}": row for k, (row, _) in enumerate(rows)})
    reference = benchmark(**{f"m{k}": row for k, (_, row) in enumerate(rows)})
    bound = min(metrics.separability(ours), metrics.separability(reference))
    assert abs(metrics.agreement_with_confidence(ours, reference)) <= bound + 1e-12
    if metrics.separability(reference):
        table = metrics.agreement_with_confidence(ours, reference, "table")
        points = [1, 0.5, 0]  # the notebook's scores for agreement, an undecided benchmark, disagreement
        sure = metrics.separated(reference)
        both = metrics.separated(ours) & sure
        alike = metrics.outcomes(ours["score"]) == metrics.outcomes(reference["score"])
        score = np.where(~both, points[1], np.where(alike, points[0], points[2]))[sure].mean()
        assert metrics.agreement_with_confidence(ours, reference, "notebook") == pytest.approx(score)
        assert -1 <= table <= 1


def test_agreement_aligns_models_by_name() -> None:
    assert metrics.agreement_with_confidence(ANCHORED, ANCHORED.iloc[::-1], "table") == 1


def test_agreement_needs_the_same_models_and_a_reference_that_separates() -> None:
    with pytest.raises(ValueError, match="only in the second"):
        metrics.agreement_with_confidence(ANCHORED.iloc[:3], ANCHORED)
    flat = benchmark(a=(0, 1, 2), b=(0, 1.5, 2))
    with pytest.raises(ValueError, match="separates no pair"):
        metrics.agreement_with_confidence(flat, flat, "table")
    with pytest.raises(ValueError, match="definition"):
        metrics.agreement_with_confidence(flat, flat, "mean")  # type: ignore[arg-type]


def test_malformed_benchmarks_are_refused() -> None:
    for frame in (
        benchmark(a=(0, 1, 2)),
        benchmark(a=(2, 1, 0), b=(0, 1, 2)),
        benchmark(a=(np.nan, 1, 2), b=(0, 1, 2)),
    ):
        with pytest.raises(ValueError, match=r"two or more|interval"):
            metrics.separability(frame)
    with pytest.raises(ValueError, match="overlap"):
        metrics.separability(ANCHORED, "closed")  # type: ignore[arg-type]


def test_forecast_is_the_normal_probability_of_the_higher_score() -> None:
    draws = pd.DataFrame({"a": [1.0, 3.0], "b": [0.0, 2.0], "c": [5.0, 5.0], "d": [5.0, 5.0]})
    # Means 2, 1, 5, 5; variances 1, 1, 0, 0. Pairs ab, ac, ad, bc, bd, cd.
    expected = norm.cdf([1 / np.sqrt(2), -3, -3, -4, -4, 0])
    np.testing.assert_allclose(metrics.forecast(draws), expected)
    fixed = pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 0.0]})
    assert metrics.forecast(fixed).tolist() == [1.0]


def test_forecast_is_what_simulated_scores_do() -> None:
    rng = np.random.default_rng(0)
    draws = pd.DataFrame(rng.normal([0.0, 0.5, 1.0], [1.0, 0.5, 2.0], size=(200_000, 3)))
    np.testing.assert_allclose(metrics.forecast(draws), metrics.draw_shares(draws), atol=0.006)


def test_draw_shares_count_rounds_and_halve_ties() -> None:
    draws = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 2.0, 5.0, 1.0]})
    assert metrics.draw_shares(draws).tolist() == [2.5 / 4]


def test_pair_rank_brier_is_the_brier_score_of_its_forecasts() -> None:
    rng = np.random.default_rng(1)
    draws = pd.DataFrame(rng.normal(np.arange(6) / 2, 1, size=(50, 6)), columns=list("abcdef"))
    reference = pd.Series(rng.permutation(6), index=list("fedcba"))
    truth = [float(reference[a] > reference[b]) for i, a in enumerate("abcdef") for b in "abcdef"[i + 1 :]]
    expected = brier_score_loss(truth, metrics.forecast(draws))
    assert metrics.pair_rank_brier(draws, reference) == pytest.approx(expected)
    with pytest.raises(ValueError, match="different models"):
        metrics.pair_rank_brier(draws, reference.drop("a"))


shares = st.floats(0, 1)


@given(
    st.lists(st.tuples(shares, st.sampled_from([0.0, 0.3, 1.0])), min_size=1, max_size=60), st.integers(1, 12)
)
def test_brier_decomposition_adds_up(rows: list[tuple[float, float]], bins: int) -> None:
    f, o = np.array(rows).T
    parts = metrics.brier_decomposition(f, o, bins)
    assert parts.brier == pytest.approx(np.mean((f - o) ** 2))
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert total == pytest.approx(parts.brier, abs=1e-12)


def test_uncertainty_of_outcomes_both_ways_is_that_of_a_fair_coin() -> None:
    assert metrics.brier_decomposition([0.9, 0.8, 0.7], [1, 1, 1]).uncertainty == pytest.approx(0.25)


def test_reliability_curve_against_two_peers() -> None:
    rng = np.random.default_rng(2)
    f = rng.random(500)
    o = (rng.random(500) < f).astype(float)
    curve = metrics.reliability_curve(f, o, bins=10)
    both_o, both_f = np.r_[o, 1 - o], np.r_[f, 1 - f]
    observed, predicted = calibration_curve(both_o, both_f, n_bins=10)
    np.testing.assert_allclose(curve["observed"], observed)
    np.testing.assert_allclose(curve["forecast"], predicted)
    # With an even number of bins a pair and its mirror never share one, so every pair counts once a side.
    assert curve["pairs"].sum() == 1000
    low, high = proportion_confint(curve["observed"] * curve["pairs"], curve["pairs"], method="wilson")
    np.testing.assert_allclose(curve["lower"], low)
    np.testing.assert_allclose(curve["upper"], high)


def test_a_pair_in_the_middle_bin_counts_once() -> None:
    curve = metrics.reliability_curve([0.5, 0.52], [1.0, 0.0], bins=3)
    assert curve["pairs"].tolist() == [2]
    assert curve["observed"].tolist() == [0.5]


def test_calibration_input_is_checked() -> None:
    for f, o in (([1.2], [1]), ([0.5], [2]), ([0.5, 0.5], [1]), ([], [])):
        with pytest.raises(ValueError, match=r"\[0, 1\]|one length"):
            metrics.brier_decomposition(f, o)
    with pytest.raises(ValueError, match="bins"):
        metrics.reliability_curve([0.5], [1], bins=0)
    with pytest.raises(ValueError, match="level"):
        metrics.reliability_curve([0.5], [1], level=0)


def test_correlations_against_their_definitions() -> None:
    x = pd.Series([1.0, 2.0, 3.0, 4.0], index=list("abcd"))
    y = pd.Series([10.0, 1.0, 3.0, 2.0], index=list("dabc"))  # a 1, b 3, c 2, d 10
    found = metrics.rank_correlations(x, y)
    assert found["pearson"] == pytest.approx(np.corrcoef([1, 2, 3, 4], [1, 3, 2, 10])[0, 1])
    assert found["spearman"] == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert found["kendall"] == pytest.approx((5 - 1) / 6)


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 1.0, 1.0], [1.0, np.nan, 2.0]])
def test_correlation_of_too_little_is_refused(values: list[float]) -> None:
    x = pd.Series(values)
    with pytest.raises(ValueError, match="three or more"):
        metrics.rank_correlations(x, pd.Series(np.arange(len(values))))


def test_resampling_models_is_wider_than_resampling_pairs() -> None:
    # One odd model of 20 decides 19 of the 190 pairs: pairs as observations would hardly see it.
    i, j = np.triu_indices(20, 1)
    values = ((i == 0) | (j == 0)).astype(float)
    low, high = metrics.over_models(values, seed=0, rounds=4000)
    # The odd model is drawn Binomial(20, 1/20) times, so not at all with probability 0.36: lower end 0.
    assert low == 0
    pairs = 1.96 * np.sqrt(0.1 * 0.9 / 190)
    assert high - 0.1 > 2 * pairs
    constant = metrics.over_models(np.ones(190), seed=0, among=values > 0)
    assert constant == (1, 1)
    narrow = metrics.over_models(values, seed=0, rounds=4000, level=0.5)
    assert narrow[1] < high


def test_resampled_models_weigh_a_pair_by_both_of_its_models() -> None:
    # Every resample of four models, and the mean over all pairs of its places that hold different models.
    values = {(0, 1): 1.0}
    exact = []
    for drawn in product(range(4), repeat=4):
        pairs = [tuple(sorted(pair)) for pair in combinations(drawn, 2) if pair[0] != pair[1]]
        if pairs:
            exact.append(np.mean([values.get(pair, 0.0) for pair in pairs]))
    found = metrics.over_models([1.0, 0, 0, 0, 0, 0], seed=1, rounds=20_000, level=0.8)
    assert found == pytest.approx(tuple(np.quantile(exact, [0.1, 0.9], method="inverted_cdf")))


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([1.0, 2.0], {}),
        ([np.nan], {}),
        ([1.0], {"rounds": 0}),
        ([1.0], {"level": 2}),
        ([1.0], {"among": [False]}),
    ],
)
def test_over_models_refuses_what_has_no_answer(values: list[float], options: dict) -> None:
    with pytest.raises(ValueError, match=r"any models|missing|level"):
        metrics.over_models(values, 0, **options)


def test_pearson_interval_is_fishers() -> None:
    x = pd.Series([1.0, 2.0, 4.0, 3.0, 6.0, 5.0, 9.0])
    y = pd.Series([2.0, 1.0, 5.0, 3.0, 9.0, 4.0, 8.0])
    r = np.corrcoef(x, y)[0, 1]
    half = norm.ppf(0.95) / np.sqrt(len(x) - 3)
    assert metrics.pearson_interval(x, y, 0.9) == pytest.approx(
        (np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half))
    )
    with pytest.raises(ValueError, match="different models"):
        metrics.pearson_interval(x, y.drop(0))


def test_resampled_correlations_are_paired_and_follow_the_seed() -> None:
    rng = np.random.default_rng(0)
    reference = pd.Series(rng.normal(size=30))
    scores = pd.DataFrame({"good": reference + rng.normal(size=30) / 3})
    scores["twin"] = 5 - 2 * scores["good"]
    found = metrics.resampled_pearson(scores, reference, 500, seed=1)
    np.testing.assert_allclose(found["twin"], -found["good"])
    # Fisher's standard error for 30 normal pairs, on the scale where it does not depend on the correlation.
    assert np.arctanh(found["good"]).std() == pytest.approx(1 / np.sqrt(27), rel=0.3)
    pd.testing.assert_frame_equal(found, metrics.resampled_pearson(scores, reference, 500, seed=1))
    with pytest.raises(ValueError, match="different models"):
        metrics.resampled_pearson(scores, reference.drop(0), 5, seed=0)
    with pytest.raises(ValueError, match="three or more"):
        metrics.resampled_pearson(scores, reference, 0, seed=0)


@pytest.mark.parametrize("n", range(1, 60))
def test_wilson_interval_holds_its_share_at_the_ends(n):
    curve = metrics.reliability_curve([0.05] * n, [0.0] * n)
    assert (curve["lower"] <= curve["observed"]).all()
    assert (curve["observed"] <= curve["upper"]).all()


def test_missing_numbers_and_double_models_are_refused_by_name() -> None:
    draws = pd.DataFrame({"good": [1.0, 2.0], "gone": [np.nan, 1.0]})
    for call in (metrics.forecast, metrics.draw_shares):
        with pytest.raises(ValueError, match="gone"):
            call(draws)
    with pytest.raises(ValueError, match="gone"):
        metrics.outcomes(pd.Series({"good": 1.0, "gone": np.nan}))
    scoreless = ANCHORED.assign(score=[1.0, np.nan, 3.0, 7.0])
    with pytest.raises(ValueError, match="'b'"):
        metrics.agreement_with_confidence(scoreless, ANCHORED)
    twice = pd.Series([1.0, 2.0, 3.0, 4.0], index=list("aabc"))
    with pytest.raises(ValueError, match=r"more than once.*'a'"):
        metrics.rank_correlations(twice, pd.Series([1.0, 2.0, 3.0], index=list("abc")))
    with pytest.raises(ValueError, match="more than once"):
        metrics.pair_rank_brier(pd.DataFrame(np.eye(3), columns=list("aab")), pd.Series({"a": 1.0, "b": 2.0}))


off_middle = st.integers(0, 20).filter(lambda twentieths: twentieths != 10)


@given(st.lists(st.tuples(off_middle, st.booleans()), min_size=1, max_size=30), st.integers(1, 12))
def test_naming_the_other_model_first_changes_no_bin(rows: list[tuple[int, bool]], bins: int) -> None:
    f, o = np.array([r[0] / 20 for r in rows]), np.array([float(r[1]) for r in rows])
    straight, turned = (
        metrics.brier_decomposition(f, o, bins),
        metrics.brier_decomposition(1 - f, 1 - o, bins),
    )
    assert vars(straight) == pytest.approx(vars(turned))


def test_resamples_without_spread_are_drawn_again() -> None:
    scores = pd.DataFrame({"s": [1.0, 1.0, 1.0, 2.0]})
    found = metrics.resampled_pearson(scores, pd.Series([1.0, 2.0, 3.0, 4.0]), 200, seed=0)
    assert np.isfinite(found.to_numpy()).all()
    with pytest.raises(ValueError, match="same for all"):
        metrics.resampled_pearson(scores * 0, pd.Series([1.0, 2.0, 3.0, 4.0]), 2, seed=0)

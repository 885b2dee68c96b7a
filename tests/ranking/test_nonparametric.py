"""Nonparametric Bradley-Terry: enumeration, derivatives, agreement where the model holds, and where not."""

from __future__ import annotations

from dataclasses import replace
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from rearena.ranking import bradley_terry, counts, nonparametric

ELO = 400 / np.log(10)


def matrix(above: dict[tuple[int, int], float] | np.ndarray, size: int) -> pd.DataFrame:
    """Win rates of the row against the column, from those above the diagonal."""
    rates = np.full((size, size), 0.5)
    cells = (
        above.items()
        if isinstance(above, dict)
        else zip(zip(*np.triu_indices(size, 1), strict=True), above, strict=True)
    )
    for (a, b), rate in cells:
        rates[a, b], rates[b, a] = rate, 1 - rate
    names = [f"m{k}" for k in range(size)]
    return pd.DataFrame(rates, index=names, columns=names)


def well_specified(xi: np.ndarray) -> pd.DataFrame:
    return matrix(expit(np.subtract.outer(xi, xi)[np.triu_indices(len(xi), 1)]), len(xi))


def anything(size: int, seed: int) -> pd.DataFrame:
    return matrix(np.random.default_rng(seed).uniform(0.05, 0.95, size * (size - 1) // 2), size)


def exact(win_rates: pd.DataFrame, n: float = 1000.0) -> counts.Counts:
    """Counts of exactly these rates, every pair met equally often."""
    first, second = np.triu_indices(len(win_rates), 1)
    won = n * win_rates.to_numpy()[first, second]
    outcomes = np.column_stack([won, np.zeros_like(won), n - won])
    return counts.Counts(tuple(win_rates.index), first, second, outcomes)


# Rock (m0) beats scissors (m2), they beat paper (m1), it beats rock. A fourth loses to all, most to rock.
CYCLE = matrix({(0, 1): 0.35, (0, 2): 0.7, (1, 2): 0.35, (0, 3): 0.995, (1, 3): 0.6, (2, 3): 0.7}, 4)


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from([None, "m0", "m1"]))
def test_closed_form_is_the_average_over_all_paths(size: int, seed: int, reference: str | None) -> None:
    win_rates = anything(size, seed)
    by_paths = nonparametric.path_average(win_rates, reference)
    pd.testing.assert_series_equal(nonparametric.scores(win_rates, reference), by_paths)


def test_eight_models_are_enumerated() -> None:
    win_rates = anything(8, 1)
    expected = nonparametric.path_average(win_rates, "m3")
    pd.testing.assert_series_equal(nonparametric.scores(win_rates, "m3"), expected)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=7))
def test_recovers_bradley_terry_where_it_holds(coefficients: list[float]) -> None:
    xi = np.array(coefficients)
    win_rates = well_specified(xi)
    np.testing.assert_allclose(nonparametric.scores(win_rates), xi - xi.mean(), atol=1e-10)
    np.testing.assert_allclose(nonparametric.scores(win_rates, "m1"), xi - xi[1], atol=1e-10)


def test_equals_the_bradley_terry_fit_of_exact_win_rates() -> None:
    xi = np.array([0.9, -0.4, 0.1, 1.2, -1.1])
    data = exact(well_specified(xi))
    for reference in (None, "m2"):
        found = nonparametric.fit(data, reference=reference)
        peer = bradley_terry.fit(data, reference=reference)
        np.testing.assert_allclose(found.coefficients, peer.coefficients, atol=1e-10)
        np.testing.assert_allclose(found.ratings, peer.ratings, atol=1e-8)


def test_cycle_is_scored_otherwise_than_by_bradley_terry() -> None:
    # By hand: mean log-odds against the four models, itself included.
    by_hand = logit(CYCLE.to_numpy()).mean(axis=1)
    np.testing.assert_allclose(nonparametric.scores(CYCLE), by_hand, atol=1e-12)
    fitted = bradley_terry.fit(exact(CYCLE)).coefficients
    assert np.abs(fitted - by_hand).max() > 0.3
    # The fit puts the fourth model where its wins are; log-odds hear how one-sided the losses to rock are.
    assert fitted[0] - fitted[3] < by_hand[0] - by_hand[3] - 0.5


def test_where_the_model_fails_the_reference_may_change_the_order() -> None:
    orders = {tuple(nonparametric.scores(CYCLE, r).sort_values().index) for r in CYCLE.index}
    assert len(orders) > 1
    references = [nonparametric.scores(CYCLE, r) for r in CYCLE.index]
    centred = pd.concat([s - s.mean() for s in references], axis=1).mean(axis=1)
    np.testing.assert_allclose(nonparametric.scores(CYCLE), centred, atol=1e-12)


@pytest.mark.parametrize("reference", [None, "m0", "m2", "m4"])
def test_gradient_is_the_derivative_of_the_score(reference: str | None) -> None:
    win_rates, step = anything(5, 3), 1e-6
    found = nonparametric.gradient(win_rates, reference)
    for first, second in found.columns:
        moved = []
        for sign in (1, -1):
            shifted = win_rates.copy()
            # theta(a) is the probability that the second model wins.
            shifted.loc[second, first] += sign * step
            shifted.loc[first, second] -= sign * step
            moved.append(nonparametric.scores(shifted, reference))
        numeric = (moved[0] - moved[1]) / (2 * step)
        np.testing.assert_allclose(found[first, second], numeric, rtol=1e-6, atol=1e-6)


def test_paths_are_chains_through_all_models() -> None:
    assert nonparametric.path_set(3, 2).tolist() == [[[0, 1], [1, 2]], [[1, 0], [0, 2]]]
    # The paper's example: M = 6, m = 5, counted from 1.
    example = (np.array([[1, 2], [2, 4], [4, 3], [3, 6], [6, 5]]) - 1).tolist()
    paths = nonparametric.path_set(6, 4)
    assert len(paths) == factorial(5)
    assert example in paths.tolist()


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_printed_set_is_larger_than_the_set_of_paths(size: int) -> None:
    printed = nonparametric.printed_set(size, 1)
    assert len(printed) == factorial(size - 1) * (size - 1) ** (size - 1)
    assert len(np.unique(printed, axis=0)) == len(printed)
    # Each element is what (11) asks for: edges of two models, starts that differ, the end.
    assert (printed[:, :, 0] != printed[:, :, 1]).all()
    assert (np.diff(np.sort(printed[:, :, 0], axis=1)) > 0).all()
    assert (printed[:, -1, 1] == 1).all()
    elements = printed.tolist()
    assert all(path in elements for path in nonparametric.path_set(size, 1).tolist())


def test_printed_set_has_no_chains_and_loses_the_coefficients() -> None:
    assert [[0, 1], [1, 0], [3, 2]] in nonparametric.printed_set(4, 2).tolist()  # no chain
    assert [[2, 1], [1, 0], [0, 2]] in nonparametric.printed_set(4, 2).tolist()  # starts from its end
    xi = np.array([0.0, 0.5, 1.0, 2.0])
    average = nonparametric.path_average(well_specified(xi), "m0", nonparametric.printed_set)
    assert np.abs(average - xi).max() > 0.1


def test_printed_closed_form_by_hand() -> None:
    # Two models: theta((1, 2)) = 0.8 is the probability that the second wins.
    win_rates = matrix({(0, 1): 0.2}, 2)
    np.testing.assert_allclose(nonparametric.scores(win_rates, "m0"), [0, np.log(4)], atol=1e-12)
    printed = nonparametric.printed_closed_form(win_rates)
    np.testing.assert_allclose(printed, [-np.log(4) + 4, np.log(4) + 1])
    # Three models with xi = 0, 1, 2: sums of differences of coefficients, and of e^xi in the second term.
    printed = nonparametric.printed_closed_form(well_specified(np.arange(3.0)))
    e = np.e
    np.testing.assert_allclose(printed, [-3 + e + e**2, 0 + 1 + e**2, 3 + 1 + e])


def test_printed_gradient_lacks_the_pairs_that_start_from_the_model() -> None:
    win_rates = anything(4, 5)
    printed, right = nonparametric.printed_gradient(win_rates), nonparametric.gradient(win_rates, "m0")
    theta = 1 - win_rates.to_numpy()[np.triu_indices(4, 1)]
    missing = pd.DataFrame(
        [[-1.0 * (first == model) for first, _ in right.columns] for model in right.index]
        / (theta * (1 - theta)),
        index=right.index,
        columns=right.columns,
    )
    assert (missing.abs().sum(axis=1) > 0).tolist() == [True, True, True, False]
    pd.testing.assert_frame_equal((printed + missing) / 3, right)
    # The score of model 1 is zero by definition, its printed derivatives are not.
    assert (right.loc["m0"] == 0).all()
    assert (printed.loc["m0"] != 0).any()


def test_two_models_have_the_errors_of_a_bradley_terry_fit() -> None:
    # With one pair both models are saturated, and the delta method is the sandwich.
    rows = [("a", "b", 1.0, 70), ("a", "b", 0.5, 20), ("b", "a", 1.0, 35)]
    battles = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "weight"])
    found, peer = (module.fit(battles, reference="b") for module in (nonparametric, bradley_terry))
    np.testing.assert_allclose(found.coefficients, peer.coefficients, atol=1e-10)
    np.testing.assert_allclose(found.covariance, peer.covariance, rtol=1e-9)


def test_another_reference_is_another_score_of_the_same_votes() -> None:
    fit = nonparametric.fit(exact(CYCLE))
    for reference in (None, *CYCLE.index):
        moved = fit.relative_to(reference)
        np.testing.assert_allclose(moved.coefficients, nonparametric.scores(CYCLE, reference), atol=1e-9)
        gradient = nonparametric.gradient(CYCLE, reference).to_numpy()
        rate = CYCLE.to_numpy()[np.triu_indices(4, 1)]
        np.testing.assert_allclose(
            moved.covariance, (gradient * rate * (1 - rate) / 1000) @ gradient.T, atol=1e-12
        )
    assert fit.to_frame().attrs["method"] == "delta method"
    assert fit.relative_to("m1").standard_errors["m1"] == 0


def test_intervals_cover_where_bradley_terry_does_not_hold() -> None:
    truth = ELO * nonparametric.scores(CYCLE.clip(0.1, 0.9))
    rate = CYCLE.clip(0.1, 0.9).to_numpy()[np.triu_indices(4, 1)]
    rng, trials, hits = np.random.default_rng(2), 400, 0
    shares = np.column_stack([rate - 0.05, np.full(6, 0.1), 0.95 - rate])  # a tenth of ties
    for _ in range(trials):
        drawn = replace(exact(CYCLE), outcomes=rng.multinomial(400, shares).astype(float))
        ends = nonparametric.fit(drawn, anchor_rating=0).intervals(0.95)
        hits += int(((ends["lower"] <= truth) & (truth <= ends["upper"])).sum())
    assert hits / (4 * trials) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / trials))


def battles(*rows: tuple[str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])


MIXED = [(a, b, o) for a, b in (("a", "b"), ("a", "c"), ("b", "c")) for o in (0.0, 1.0)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no battles"),
        ([("a", "a", 1.0)], "against itself"),
        (MIXED[:4], "b and c"),
        ([*MIXED, ("a", "d", 0.5), ("a", "d", 0.5)], "these did not: b and d, c and d"),
        ([*MIXED[:4], ("b", "c", 1.0), ("b", "c", 1.0)], "all votes are equal between b and c"),
        ([*MIXED[:4], ("b", "c", 0.5), ("b", "c", 0.5)], "all votes are equal between b and c"),
    ],
)
def test_votes_that_define_no_score_are_refused(rows: list[tuple[str, str, float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nonparametric.fit(battles(*rows))


def test_smoothing_adds_wins_and_losses() -> None:
    one_sided = battles(*MIXED[:4], ("b", "c", 1.0), ("b", "c", 1.0))
    added = pd.concat([one_sided, battles(*MIXED)]).assign(weight=[1.0] * 6 + [0.5] * 6)
    smoothed, by_hand = nonparametric.fit(one_sided, smoothing=0.5), nonparametric.fit(added)
    np.testing.assert_allclose(smoothed.coefficients, by_hand.coefficients)
    np.testing.assert_allclose(smoothed.covariance, by_hand.covariance)
    with pytest.raises(ValueError, match="smoothing"):
        nonparametric.fit(one_sided, smoothing=-1)


@pytest.mark.parametrize("weight", [0.0, np.nan])
def test_weights_that_count_nothing_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"no battles|weight"):
        nonparametric.fit(battles(*MIXED).assign(weight=weight))


def test_units_and_unknown_models_are_refused() -> None:
    clustered = counts.from_battles(battles(*MIXED).assign(voter="v"), cluster="voter")
    with pytest.raises(ValueError, match="independent"):
        nonparametric.fit(clustered)
    for call in (nonparametric.scores, nonparametric.gradient, nonparametric.path_average):
        with pytest.raises(KeyError, match="nobody"):
            call(CYCLE, "nobody")
    with pytest.raises(KeyError, match="nobody"):
        nonparametric.fit(battles(*MIXED), reference="nobody")


@pytest.mark.parametrize(
    ("win_rates", "message"),
    [
        (matrix({}, 1), "two or more"),
        (CYCLE.iloc[:, ::-1], "same order"),
        (matrix({(0, 1): 1.0}, 2), "m0 against m1 has 1.0"),
        (matrix({(0, 1): np.nan}, 2), "m0 against m1 has nan"),
        (CYCLE.clip(0.1, 0.9) + 0.01, "mirror"),
    ],
)
def test_what_is_no_win_matrix_is_refused(win_rates: pd.DataFrame, message: str) -> None:
    for call in (nonparametric.scores, nonparametric.gradient, nonparametric.printed_closed_form):
        with pytest.raises(ValueError, match=message):
            call(win_rates)


@pytest.mark.parametrize(("size", "end"), [(9, 0), (1, 0), (4, 4), (4, -1)])
def test_paths_that_cannot_be_enumerated_are_refused(size: int, end: int) -> None:
    with pytest.raises(ValueError, match="enumerated"):
        nonparametric.path_set(size, end)
    with pytest.raises(ValueError, match="enumerated"):
        nonparametric.printed_set(size, end)

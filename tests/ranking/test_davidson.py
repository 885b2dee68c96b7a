"""Davidson's ties: closed forms, a log-linear peer, numerical derivatives, and where no fit exists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, linprog
from scipy.special import expit

from rearena.ranking import bradley_terry, counts, davidson

XI, NU = np.array([-0.9, -0.2, 0.0, 0.4, 0.7]), 0.8


def probabilities(d: np.ndarray, nu: float) -> np.ndarray:
    """First wins, tie, second wins: the definition."""
    weights = np.stack([np.exp(d / 2), np.full_like(d, nu), np.exp(-d / 2)], axis=-1)
    return weights / weights.sum(axis=-1, keepdims=True)


def pairs(xi: np.ndarray, outcomes: np.ndarray) -> counts.Counts:
    """Counts of all pairs of models."""
    first, second = np.triu_indices(len(xi), 1)
    return counts.Counts(tuple(f"m{k}" for k in range(len(xi))), first, second, outcomes)


def drawn(xi: np.ndarray, nu: float, n: int, seed: int) -> counts.Counts:
    first, second = np.triu_indices(len(xi), 1)
    shares = probabilities(xi[first] - xi[second], nu)
    return pairs(xi, np.random.default_rng(seed).multinomial(n, shares).astype(float))


def battles(*rows: tuple[str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])


@pytest.fixture(scope="module")
def five() -> counts.Counts:
    return drawn(XI, NU, 80, seed=1)


@given(st.integers(1, 10**5), st.integers(1, 10**5), st.integers(1, 10**5))
def test_two_models_have_a_closed_form(won: int, tied: int, lost: int) -> None:
    # Two parameters for two free probabilities: the fit repeats the shares.
    data = pairs(np.zeros(2), np.array([[won, tied, lost]], dtype=float))
    fit = davidson.fit(data, reference="m1")
    assert fit.coefficients[0] == pytest.approx(np.log(won / lost), abs=1e-8)
    assert fit.nu == pytest.approx(tied / np.sqrt(won * lost), rel=1e-8)
    # Multinomial delta method: variances of ln(w) - ln(l) and of ln(t) - (ln(w) + ln(l)) / 2.
    assert fit.covariance[0, 0] == pytest.approx(1 / won + 1 / lost, rel=1e-6)
    assert fit.nu_error / fit.nu == pytest.approx(np.sqrt(1 / tied + 1 / won / 4 + 1 / lost / 4), rel=1e-6)


def test_equals_a_log_linear_model_of_the_counts(five: counts.Counts) -> None:
    # Poisson counts with an intercept per pair are the multinomial of each pair (Fienberg and Larntz 1976).
    size, number = len(five.models), len(five.first)
    design = np.zeros((3 * number, size - 1 + 1 + number))
    for pair, (i, j) in enumerate(zip(five.first, five.second, strict=True)):
        for outcome, score in enumerate((0.5, 0.0, -0.5)):
            row = design[3 * pair + outcome]
            for model, sign in ((i, 1), (j, -1)):
                if model:
                    row[model - 1] = sign * score
            row[size - 1] = outcome == 1
            row[size + pair] = 1
    peer = sm.GLM(five.outcomes.ravel(), design, family=sm.families.Poisson()).fit(tol=1e-14, maxiter=100)
    fit = davidson.fit(five, reference="m0")
    np.testing.assert_allclose(fit.coefficients[1:], peer.params[: size - 1], atol=1e-6)
    assert np.log(fit.nu) == pytest.approx(peer.params[size - 1], abs=1e-6)
    fixed = np.linalg.inv(fit.information[1:, 1:])
    np.testing.assert_allclose(fixed, peer.cov_params()[:size, :size], rtol=1e-6, atol=1e-9)


def test_maximum_curvature_and_sandwich_by_numbers(five: counts.Counts) -> None:
    fit = davidson.fit(five)

    def one(parameters: np.ndarray, pair: int, outcome: int) -> float:
        d = parameters[five.first[pair]] - parameters[five.second[pair]]
        return float(np.log(probabilities(np.array(d), np.exp(parameters[-1])))[outcome])

    def scores(parameters: np.ndarray, step: float = 1e-5) -> np.ndarray:
        """Numerical score of every pair and outcome."""
        steps = step * np.eye(len(parameters))
        return np.array(
            [
                [(one(parameters + s, pair, o) - one(parameters - s, pair, o)) / (2 * step) for s in steps]
                for pair in range(len(five.first))
                for o in range(3)
            ]
        )

    at, n = np.append(fit.coefficients, np.log(fit.nu)), five.outcomes.ravel()
    np.testing.assert_allclose(n @ scores(at), 0, atol=1e-5)
    hessian = approx_fprime(at, lambda x: n @ scores(x), 1e-5)
    np.testing.assert_allclose(-hessian, fit.information, atol=2e-3 * fit.information.max())
    bread = np.linalg.pinv(fit.information)
    meat = (scores(at).T * n) @ scores(at)
    expected = bread @ meat @ bread
    np.testing.assert_allclose(fit.covariance, expected[:-1, :-1], rtol=1e-6, atol=1e-9)
    assert (fit.nu_error / fit.nu) ** 2 == pytest.approx(expected[-1, -1], rel=1e-6)


def test_half_wins_shrink_the_coefficients_by_the_rate_of_decided_battles() -> None:
    xi = np.array([-0.06, 0.0, 0.02, 0.04])
    first, second = np.triu_indices(4, 1)
    data = pairs(xi, 1000 * probabilities(xi[first] - xi[second], NU))
    fit, half_wins = davidson.fit(data), bradley_terry.fit(data)
    np.testing.assert_allclose(fit.coefficients, xi, atol=1e-9)
    assert fit.nu == pytest.approx(NU, abs=1e-9)
    assert fit.tie_rate == pytest.approx(probabilities(np.zeros(1), NU)[0, 1])
    # To first order in the differences, which are at most 0.1.
    np.testing.assert_allclose(half_wins.coefficients, (1 - fit.tie_rate) * xi, atol=0.02 * 0.06)


def test_models_that_meet_equally_often_are_ordered_by_their_half_wins() -> None:
    for seed in range(10):
        data = drawn(XI, 1.5, 40, seed)
        # Both fits have the same sufficient statistic for the coefficients: wins plus half the ties.
        ranks = [pd.Series(fit.coefficients).rank() for fit in (davidson.fit(data), bradley_terry.fit(data))]
        assert ranks[0].tolist() == ranks[1].tolist()


def test_intervals_cover_coefficients_and_nu() -> None:
    trials, hits, ties = 300, 0, 0
    for seed in range(trials):
        fit = davidson.fit(drawn(XI, NU, 100, seed), scale=np.log(10), anchor_rating=0)
        ends = fit.intervals(0.95).to_numpy()
        truth = XI - XI.mean()
        hits += int(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).sum())
        ties += abs(fit.nu - NU) < 1.96 * fit.nu_error
    bound = 4 * np.sqrt(0.95 * 0.05 / trials)
    assert hits / (5 * trials) == pytest.approx(0.95, abs=bound)
    assert ties / trials == pytest.approx(0.95, abs=bound)


def test_without_ties_it_is_the_plain_fit() -> None:
    data = drawn(XI, 0.0, 50, seed=2)
    fit, plain = (module.fit(data, reference="m1", anchor="m2") for module in (davidson, bradley_terry))
    np.testing.assert_allclose(fit.coefficients, plain.coefficients, atol=1e-12)
    np.testing.assert_allclose(fit.covariance, plain.covariance, atol=1e-12)
    assert fit.nu == 0
    assert np.isnan(fit.nu_error)
    assert (fit.information[-1] == 0).all()
    # The maximum is at the edge: a nu just above zero is less likely.
    d = XI[0] - XI[1]
    assert np.log(probabilities(np.array(d), 1e-4))[0] < np.log(expit(d))


def test_settings_are_those_of_the_plain_fit(five: counts.Counts) -> None:
    fit = davidson.fit(five, reference="m3", anchor="m1", anchor_rating=1114, scale=100)
    assert isinstance(fit, davidson.Davidson)
    assert fit.coefficients[3] == fit.standard_errors["m3"] == 0
    assert fit.ratings["m1"] == 1114
    assert fit.to_frame().attrs["reference"] == "m3"
    np.testing.assert_allclose(fit.relative_to(None).coefficients, davidson.fit(five).coefficients, atol=1e-9)


def test_two_votes_of_one_unit_count_as_one() -> None:
    rng = np.random.default_rng(4)
    first = rng.integers(4, size=300)
    second = (first + rng.integers(1, 4, size=300)) % 4
    names = np.array(list("abcd"), dtype=object)
    rows = pd.DataFrame(
        {"model_a": names[first], "model_b": names[second], "outcome": rng.integers(3, size=300) / 2}
    )
    rows["voter"] = [f"v{k}" for k in range(300)]
    once, twice = davidson.fit(rows), counts.from_battles(pd.concat([rows, rows]), cluster="voter")
    doubled = davidson.fit(twice)
    np.testing.assert_allclose(doubled.coefficients, once.coefficients, atol=1e-9)
    np.testing.assert_allclose(doubled.covariance, once.covariance, rtol=1e-8, atol=1e-12)
    assert doubled.nu_error == pytest.approx(once.nu_error)


names = st.sampled_from("abcd")
rows = st.lists(
    st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0])).filter(lambda r: r[0] != r[1]),
    min_size=1,
    max_size=9,
)


def recedes(data: counts.Counts) -> bool:
    """Whether some direction in (xi, ln nu) makes no outcome less likely, and some one likelier.

    Along (delta, tau) the log-probability of an outcome with exponent e ends finite if and only if e is the
    largest of delta_ij / 2, tau, -delta_ij / 2. Linear programs look for such a direction other than zero.
    """
    size = len(data.models)
    bounds = []
    for i, j, seen in zip(data.first, data.second, data.outcomes > 0, strict=True):
        exponents = np.zeros((3, size + 1))
        exponents[0, [i, j]] = 0.5, -0.5
        exponents[1, -1] = 1
        exponents[2, [i, j]] = -0.5, 0.5
        bounds += [exponents[other] - exponents[o] for o in np.flatnonzero(seen) for other in range(3)]
    for axis in range(1, size + 1):  # delta of the first model is zero
        for sign in (1, -1):
            aim = np.zeros(size + 1)
            aim[axis] = -sign
            box = [(0, 0)] + [(-1, 1)] * size
            if linprog(aim, A_ub=np.array(bounds), b_ub=np.zeros(len(bounds)), bounds=box).fun < -1e-9:
                return True
    return False


@settings(max_examples=150)
@given(rows)
def test_there_is_a_fit_exactly_where_the_likelihood_has_a_maximum(
    drawn_rows: list[tuple[str, str, float]],
) -> None:
    data = counts.from_battles(battles(*drawn_rows))
    if not data.outcomes[:, 1].any():
        return  # the edge nu = 0, tested above
    if recedes(data):
        with pytest.raises(counts.GraphError):
            davidson.fit(data)
    else:
        assert np.isfinite(davidson.fit(data).nu)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no battles"),
        ([("a", "a", 0.5)], "against itself"),
        ([("a", "b", 0.5), ("b", "c", 0.5)], "every battle is a tie"),
        ([("a", "b", 1.0), ("a", "b", 0.5)], "no cycle of models"),
        ([("a", "b", 1.0), ("a", "b", 0.0), ("c", "a", 1.0)], "never beaten or tied from outside: c"),
        ([("a", "b", 0.5), ("c", "d", 0.5)], "2 parts"),
    ],
)
def test_battles_that_define_no_fit_are_refused(rows: list[tuple[str, str, float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        davidson.fit(battles(*rows))


def test_model_with_two_ties_lies_between_those_it_tied_with() -> None:
    decided = [("a", "b", 1.0)] * 6 + [("a", "b", 0.0)] * 3 + [("a", "b", 0.5)] * 3
    fit = davidson.fit(battles(*decided, ("a", "c", 0.5), ("b", "c", 0.5)))
    xi = dict(zip(fit.models, fit.coefficients, strict=True))
    assert xi["c"] == pytest.approx((xi["a"] + xi["b"]) / 2, abs=1e-8)


@pytest.mark.parametrize("weight", [0.0, np.nan, -1.0])
def test_weights_that_count_nothing_are_refused(weight: float) -> None:
    rows = battles(("a", "b", 1.0), ("a", "b", 0.5), ("a", "b", 0.0)).assign(weight=weight)
    with pytest.raises(ValueError, match=r"no battles|weight"):
        davidson.fit(rows)


def test_unknown_reference_is_refused(five: counts.Counts) -> None:
    with pytest.raises(KeyError, match="nobody"):
        davidson.fit(five, reference="nobody")

"""Contextual Bradley-Terry: a generalised linear model, names instead of positions, and style taken out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit

from rearena.ranking import bradley_terry, contextual

STYLE = ["length", "headers", "bold"]
XI, BETA = np.linspace(-0.8, 0.8, 6), np.array([0.5, -0.3, 0.02])
# Covariates of very different size, as tokens and headers are.
UNITS = np.array([1.0, 3.0, 40.0])


@pytest.fixture(scope="module")
def styled() -> pd.DataFrame:
    """Battles decided by the model, with ties as half-wins, and style that goes with the model."""
    rng, n = np.random.default_rng(1), 3000
    first = rng.integers(6, size=n)
    second = (first + rng.integers(1, 6, size=n)) % 6
    habit = rng.normal(size=(6, 3))
    z = (habit[first] - habit[second] + rng.normal(size=(n, 3)) + [0.3, 0.0, 0.0]) * UNITS
    outcome = (rng.random(n) < expit(XI[first] - XI[second] + z @ BETA)).astype(float)
    outcome[rng.random(n) < 0.2] = 0.5
    models = np.array([f"m{k}" for k in range(6)], dtype=object)
    frame = pd.DataFrame({"model_a": models[first], "model_b": models[second], "outcome": outcome})
    return frame.assign(**dict(zip(STYLE, z.T, strict=True)))


def turned(battles: pd.DataFrame) -> pd.DataFrame:
    """The same battles, the other model named first."""
    sides = {"model_a": battles["model_b"], "model_b": battles["model_a"], "outcome": 1 - battles["outcome"]}
    return battles.assign(**sides, **{name: -battles[name] for name in STYLE})


def test_equals_a_generalised_linear_model_with_robust_errors(styled: pd.DataFrame) -> None:
    fit = contextual.fit(styled, STYLE, reference="m0")
    design, rows = np.zeros((len(styled), 6)), np.arange(len(styled))
    design[rows, [int(m[1:]) for m in styled["model_a"]]] = 1
    design[rows, [int(m[1:]) for m in styled["model_b"]]] = -1
    full = np.hstack([design[:, 1:], styled[STYLE].to_numpy()])
    peer = sm.GLM(styled["outcome"].to_numpy(), full, family=sm.families.Binomial()).fit(
        cov_type="HC0", tol=1e-14, maxiter=100
    )
    np.testing.assert_allclose(fit.coefficients[1:], peer.params[:5], atol=1e-8)
    np.testing.assert_allclose(fit.effects, peer.params[5:], rtol=1e-7)
    np.testing.assert_allclose(fit.standard_errors[1:] / fit.unit, peer.bse[:5], rtol=1e-6)
    np.testing.assert_allclose(fit.effect_errors, peer.bse[5:], rtol=1e-6)
    np.testing.assert_allclose(fit.covariance[1:, 1:], peer.cov_params()[:5, :5], rtol=1e-6)
    np.testing.assert_allclose(fit.effect_covariance, peer.cov_params()[5:, 5:], rtol=1e-6)


def test_without_covariates_it_is_the_plain_fit(styled: pd.DataFrame) -> None:
    fit, plain = contextual.fit(styled, [], anchor="m1"), bradley_terry.fit(styled, anchor="m1")
    np.testing.assert_allclose(fit.coefficients, plain.coefficients, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, plain.covariance, rtol=1e-8, atol=1e-14)
    pd.testing.assert_frame_equal(fit.to_frame(), plain.to_frame())
    assert not len(fit.effects)


@pytest.mark.parametrize("order", [["bold", "length", "headers"], ["headers", "bold", "length"]])
def test_effects_go_with_names_whatever_the_order_of_columns(styled: pd.DataFrame, order: list[str]) -> None:
    fit = contextual.fit(styled, STYLE)
    # The frame's columns in another order, a column more, and the names asked for in another order still.
    moved = styled.assign(other=1.0)[[*order, "outcome", "other", "model_b", "model_a"]]
    for again in (contextual.fit(moved, STYLE), contextual.fit(moved, order[::-1])):
        np.testing.assert_allclose(again.effects[STYLE], fit.effects, rtol=1e-9)
        np.testing.assert_allclose(again.effect_errors[STYLE], fit.effect_errors, rtol=1e-9)
        np.testing.assert_allclose(again.ratings, fit.ratings, atol=1e-8)
    assert contextual.fit(moved, order).effects.index.tolist() == order


def test_finds_the_effects_and_the_strengths(styled: pd.DataFrame) -> None:
    decided = styled[styled["outcome"] != 0.5]  # ties were made without regard to strength
    fit = contextual.fit(decided, STYLE)
    assert (np.abs(fit.effects - BETA) < 4 * fit.effect_errors).all()
    errors = fit.standard_errors / fit.unit
    assert (np.abs(fit.coefficients - (XI - XI.mean())) < 4 * errors).all()
    # Left out, style is counted as strength.
    plain = bradley_terry.fit(decided)
    assert np.abs(plain.coefficients - (XI - XI.mean())).max() > 0.5


def test_naming_the_other_model_first_changes_nothing(styled: pd.DataFrame) -> None:
    for standardise in (False, True):
        fit, again = (contextual.fit(b, STYLE, standardise=standardise) for b in (styled, turned(styled)))
        np.testing.assert_allclose(again.ratings, fit.ratings, atol=1e-8)
        np.testing.assert_allclose(again.effects, fit.effects, rtol=1e-9)


def test_standardising_rescales_effects_and_nothing_else(styled: pd.DataFrame) -> None:
    fit, standard = (contextual.fit(styled, STYLE, standardise=s) for s in (False, True))
    assert (fit.standardised, standard.standardised) == (False, True)
    np.testing.assert_allclose(standard.scales, np.sqrt((styled[STYLE] ** 2).mean()))
    np.testing.assert_allclose(standard.effects, fit.effects * standard.scales)
    np.testing.assert_allclose(standard.effect_errors, fit.effect_errors * standard.scales)
    np.testing.assert_allclose(standard.ratings, fit.ratings)


def test_weight_counts_a_row_that_often(styled: pd.DataFrame) -> None:
    some = styled.iloc[:600].reset_index(drop=True)
    times = np.random.default_rng(2).integers(0, 4, size=len(some))
    weighted = contextual.fit(some.assign(weight=times), STYLE, standardise=True)
    repeated = contextual.fit(some.loc[some.index.repeat(times)], STYLE, standardise=True)
    np.testing.assert_allclose(weighted.ratings, repeated.ratings, atol=1e-8)
    np.testing.assert_allclose(weighted.effects, repeated.effects, rtol=1e-9)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-7, atol=1e-14)
    np.testing.assert_allclose(weighted.effect_errors, repeated.effect_errors, rtol=1e-8)


def test_reference_moves_coefficients_and_not_effects(styled: pd.DataFrame) -> None:
    fit, moved = contextual.fit(styled, STYLE), contextual.fit(styled, STYLE, reference="m4")
    assert moved.coefficients[4] == moved.standard_errors["m4"] == 0
    np.testing.assert_allclose(moved.coefficients, fit.coefficients - fit.coefficients[4], atol=1e-9)
    pd.testing.assert_series_equal(moved.effects, fit.effects)
    assert isinstance(moved, contextual.Contextual)


def test_relative_difference_as_a_share_of_the_sum() -> None:
    found = contextual.relative_difference([300, 0, 5, 0], [100, 4, 5, 0])
    assert found.tolist() == [0.5, -1.0, 0.0, 0.0]


@pytest.mark.parametrize(("a", "b"), [([1, 2], [1]), ([-1], [2]), ([np.nan], [1]), ([np.inf], [1])])
def test_relative_difference_of_what_is_no_amount_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match=r"shape|negative"):
        contextual.relative_difference(a, b)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "'extra' must be named once and be one column"),
        ({"extra": "long"}, "'extra' must hold numbers"),
        ({"extra": [np.nan, *range(2999)]}, "'extra' is missing or not finite in row 0"),
        ({"extra": [0.0, np.inf, *range(2998)]}, "'extra' is missing or not finite in row 1"),
        ({"extra": 0.0}, "'extra' is zero in every row"),
    ],
)
def test_columns_that_hold_no_covariate_are_refused(
    styled: pd.DataFrame, columns: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        contextual.fit(styled.assign(**columns), [*STYLE, "extra"])


def test_collinear_covariates_are_named(styled: pd.DataFrame) -> None:
    size = {f"m{k}": 7.0 * k * k for k in range(6)}
    by_model = styled["model_a"].map(size) - styled["model_b"].map(size)
    for extra in (styled["length"] - 2 * styled["bold"], by_model):
        with pytest.raises(ValueError, match=r"'extra' is a combination"):
            contextual.fit(styled.assign(extra=extra), [*STYLE, "extra"])


def test_names_that_are_ambiguous_are_refused(styled: pd.DataFrame) -> None:
    doubled = pd.concat([styled, styled[["bold"]]], axis=1)
    with pytest.raises(ValueError, match="'bold' must be named once"):
        contextual.fit(doubled, STYLE)
    with pytest.raises(ValueError, match="'length' must be named once"):
        contextual.fit(styled, ["length", "length"])
    with pytest.raises(ValueError, match="list of column names"):
        contextual.fit(styled, "length")


def test_covariate_that_tells_every_outcome_is_refused(styled: pd.DataFrame) -> None:
    decided = styled[styled["outcome"] != 0.5]
    noise = np.random.default_rng(0).uniform(1, 2, size=len(decided))
    telling = decided.assign(longer=(2 * decided["outcome"] - 1) * noise)
    with pytest.raises(bradley_terry.ConvergenceError, match="not finite"):
        contextual.fit(telling, ["longer"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no battles"),
        ([("a", "a", 1.0)], "against itself"),
        ([("a", "b", 1.0), ("a", "b", 0.0), ("c", "a", 1.0)], "never beaten or tied from outside: c"),
        ([("a", "b", 0.5), ("c", "d", 0.5)], "2 parts"),
    ],
)
def test_battles_that_define_no_fit_are_refused(rows: list[tuple[str, str, float]], message: str) -> None:
    battles = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])
    with pytest.raises(ValueError, match=message):
        contextual.fit(battles.assign(length=np.arange(len(rows))), ["length"])


@pytest.mark.parametrize("weight", [0.0, np.nan])
def test_weights_that_count_nothing_are_refused(styled: pd.DataFrame, weight: float) -> None:
    with pytest.raises(ValueError, match=r"no battles|weight"):
        contextual.fit(styled.assign(weight=weight), STYLE)


def test_all_ties_rate_all_models_alike(styled: pd.DataFrame) -> None:
    fit = contextual.fit(styled.assign(outcome=0.5), STYLE)
    np.testing.assert_allclose(fit.coefficients, 0, atol=1e-9)
    np.testing.assert_allclose(fit.effects, 0, atol=1e-9)


def test_model_with_two_ties_is_rated_level_at_equal_style() -> None:
    rows = [
        ("a", "b", 1.0),
        ("a", "b", 0.0),
        ("a", "b", 1.0),
        ("b", "a", 1.0),
        ("c", "a", 0.5),
        ("c", "b", 0.5),
    ]
    battles = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])
    fit = contextual.fit(battles.assign(length=[1.0, 1.0, -1.0, 1.0, 0.0, 0.0]), ["length"])
    xi = dict(zip(fit.models, fit.coefficients, strict=True))
    assert xi["c"] == pytest.approx((xi["a"] + xi["b"]) / 2, abs=1e-8)


def test_a_column_of_ones_is_the_advantage_of_being_shown_first() -> None:
    rng = np.random.default_rng(8)
    pairs = np.array([rng.permutation(3)[:2] for _ in range(30_000)])
    xi, first_bonus = np.array([0.0, 0.5, 1.0]), 0.4
    chance = expit(xi[pairs[:, 0]] - xi[pairs[:, 1]] + first_bonus)
    names = np.array(["a", "b", "c"], dtype=object)
    battles = pd.DataFrame({"model_a": names[pairs[:, 0]], "model_b": names[pairs[:, 1]]})
    battles["outcome"] = (rng.random(len(battles)) < chance).astype(float)
    found = contextual.fit(battles.assign(position=1.0), ["position"])
    assert found.effects["position"] == pytest.approx(first_bonus, abs=4 * found.effect_errors["position"])
    assert found.effect_errors["position"] < 0.02
    # Where the better model of every pair always stands first, the two cannot be told apart.
    with pytest.raises(ValueError, match="combination"):
        contextual.fit(battles[battles["model_a"] == "a"].assign(position=1.0), ["position"])


def test_clustered_errors_equal_those_of_a_peer(styled: pd.DataFrame) -> None:
    frame = styled.assign(pair=np.arange(len(styled)) // 4)
    found = contextual.fit(frame, STYLE, cluster="pair")
    names = list(found.models)
    design = np.zeros((len(frame), len(names)))
    rows = np.arange(len(frame))
    design[rows, [names.index(m) for m in frame["model_a"]]] = 1
    design[rows, [names.index(m) for m in frame["model_b"]]] = -1
    peer = sm.GLM(
        frame["outcome"].to_numpy(),
        np.column_stack([design[:, 1:], frame[STYLE].to_numpy(float)]),
        family=sm.families.Binomial(),
    ).fit(
        cov_type="cluster",
        cov_kwds={"groups": frame["pair"].to_numpy(), "use_correction": False, "df_correction": False},
        tol=1e-14,
        maxiter=100,
    )
    np.testing.assert_allclose(found.effect_errors, peer.bse[-len(STYLE) :], rtol=1e-6)
    assert not np.allclose(found.effect_errors, contextual.fit(frame, STYLE).effect_errors, rtol=1e-3)
    np.testing.assert_allclose(
        found.relative_to(names[0]).standard_errors[1:] / found.unit, peer.bse[: len(names) - 1], rtol=1e-6
    )

"""Verdicts on formulas by hand; the printed forms against closed forms, a peer and what they must break."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from rearena.data import published
from rearena.evaluation import equations
from rearena.ranking import bradley_terry
from rearena.ranking.intervals import approximate_ranks

CATALOGUE = pd.DataFrame(
    {
        "paper": ["one", "one", "one", "two"],
        "name": ["sound", "faulty", "loose", "sound"],
        "artefact": "eq (1)",
        "formula": "$x$",
        "returns": "x",
        "correction": [None, "turn the sign", "say which", None],
    }
)


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> equations.Ledger:
    monkeypatch.setattr(published, "table", lambda name: {"equations": CATALOGUE}[name])
    return equations.Ledger("one")


def test_every_numbered_formula_is_listed() -> None:
    names = published.table("equations").groupby("paper")["name"].agg(set)
    assert set(names.index) == {"arena-hard", "chatbot-arena", "wildbench", "rwq-elo"}
    assert {f"({k})" for k in range(1, 27)} <= names["chatbot-arena"]
    assert {f"({k})" for k in range(1, 5)} <= names["rwq-elo"]


def test_a_formula_is_right_within_the_tolerance(ledger: equations.Ledger) -> None:
    assert ledger.add("sound", 2.0, 2.05, tolerance=0.05 + 1e-12) == "right"
    assert equations.Ledger("one").add("faulty", 2.0, 2.06, corrected=2.0, tolerance=0.05) == "wrong"


def test_the_row_shows_the_number_that_is_farthest_off(ledger: equations.Ledger) -> None:
    assert ledger.add("faulty", [1.0, -2.0, 3.0], [1.0, 2.0, 2.0], [1.0, -2.0, 3.0]) == "wrong"
    row = ledger.rows["faulty"]
    assert (row["truth"], row["as printed"], row["error"]) == (-2.0, 2.0, 4.0)
    assert row["relative error"] == pytest.approx(4 / 3)
    assert row["corrected error"] == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, [1.0, np.nan]])
def test_a_formula_without_a_finite_number_is_undefined(
    ledger: equations.Ledger, value: equations.Numbers
) -> None:
    assert ledger.add("faulty", 1.0, value, corrected=1.0) == "undefined"


def test_readings_that_differ_make_a_formula_ambiguous(ledger: equations.Ledger) -> None:
    assert ledger.add("loose", 1.0, {"this": 1.0, "that": 0.25}, corrected=1.0) == "ambiguous"
    assert ledger.rows["loose"]["readings"] == "this: 1; that: 0.25"
    assert ledger.add("faulty", 1.0, {"this": 2.0, "that": 0.25}, corrected=1.0) == "wrong"
    assert ledger.add("sound", 1.0, {"this": 1.0, "that": 1.0}) == "right"


def test_where_the_paper_leaves_the_truth_open_the_formula_is_ambiguous(ledger: equations.Ledger) -> None:
    assert ledger.add("loose", None, {"this": 3.0, "that": 0.0}) == "ambiguous"
    assert np.isnan(float(str(ledger.rows["loose"]["error"])))


def test_a_correction_must_return_the_truth(ledger: equations.Ledger) -> None:
    with pytest.raises(ValueError, match=r"correction of 'faulty' is off by 0\.5"):
        ledger.add("faulty", 1.0, 2.0, corrected=1.5)
    with pytest.raises(ValueError, match="hand in what its corrected form returns"):
        ledger.add("faulty", 1.0, 2.0)
    with pytest.raises(ValueError, match="correction of 'faulty' is off by nan"):
        ledger.add("faulty", np.nan, 2.0, corrected=1.0)
    with pytest.raises(ValueError, match="the file has no correction"):
        ledger.add("sound", 1.0, 2.0, corrected=1.0)
    assert not ledger.rows


def test_each_formula_is_evaluated_once_and_none_left_out(ledger: equations.Ledger) -> None:
    ledger.add("sound", 1.0, 1.0)
    with pytest.raises(ValueError, match="before"):
        ledger.add("sound", 1.0, 1.0)
    with pytest.raises(KeyError, match="no formula 'other' of one"):
        ledger.add("other", 1.0, 1.0)
    with pytest.raises(ValueError, match="not evaluated: faulty, loose"):
        ledger.to_frame()


def test_the_frame_has_a_row_per_formula_in_the_order_of_the_file(ledger: equations.Ledger) -> None:
    ledger.add("loose", 1.0, np.nan, corrected=1.0)
    ledger.add("faulty", 1.0, -1.0, corrected=1.0 + 1e-12)
    ledger.add("sound", 1.0, 1.0)
    frame = ledger.to_frame()
    assert list(frame.index) == [("one", "sound"), ("one", "faulty"), ("one", "loose")]
    assert list(frame["verdict"]) == ["right", "wrong", "undefined"]
    assert list(frame["error"].fillna(-1)) == [0, 2, -1]
    assert frame["corrected error"]["one", "faulty"] == 0


def test_cross_entropy_by_hand() -> None:
    np.testing.assert_allclose(
        equations.cross_entropy([1, 0, 0.5], [0.2, 0.2, 0.5]), -np.log([0.2, 0.8, 0.5])
    )
    assert list(equations.cross_entropy([1, 0, 1], [1.0, 0.0, 0.0])) == [0, 0, np.inf]


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_cross_entropy_is_least_at_the_mean(h: float, p: float) -> None:
    assert equations.cross_entropy(h, h) <= equations.cross_entropy(h, p) + 1e-12


@settings(max_examples=40)
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=5), st.floats(0.1, 10))
def test_equation_3_as_printed_returns_the_coefficients_with_the_other_sign(
    free: list[float], weight: float
) -> None:
    xi = np.array([0.0, *free])
    first, second = np.triu_indices(len(xi), 1)
    second_wins = expit(xi[second] - xi[first])
    weights = np.full(len(first), weight)
    np.testing.assert_allclose(
        equations.minimiser(first, second, second_wins, weights, printed=False), xi, atol=1e-6
    )
    np.testing.assert_allclose(
        equations.minimiser(first, second, second_wins, weights, printed=True), -xi, atol=1e-6
    )


def test_the_corrected_equation_7_is_the_packages_fit_of_weighted_votes() -> None:
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(5, 1)
    second_wins, weight = rng.uniform(0.2, 0.8, 10), rng.uniform(1, 50, 10)
    won = pd.DataFrame({"model_a": [f"m{k}" for k in second], "model_b": [f"m{k}" for k in first]})
    battles = pd.concat(
        [
            won.assign(outcome=1.0, weight=weight * second_wins),
            won.assign(outcome=0.0, weight=weight * (1 - second_wins)),
        ]
    )
    peer = bradley_terry.fit(battles, reference="m0").coefficients
    ours = equations.minimiser(first, second, second_wins, weight, printed=False)
    np.testing.assert_allclose(ours, peer, atol=1e-6)


def test_interchanged_ranks_by_hand() -> None:
    low, high = [3.0, 2.5, 0.0, 1.5], [4.0, 3.5, 1.0, 2.0]
    assert list(equations.interchanged_ranks(low, high)) == [3, 3, 5, 4]


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 5)), min_size=1, max_size=8))
def test_interchanged_ranks_bound_the_approximate_ones_and_no_model_is_first_as_printed(
    spans: list[tuple[float, float]],
) -> None:
    low = np.array([start for start, _ in spans])
    high = low + np.array([width for _, width in spans])
    worst = approximate_ranks(low, high, "pessimistic")
    assert (worst >= approximate_ranks(low, high)).all()
    assert (worst <= len(spans)).all()
    assert (equations.interchanged_ranks(low, high) == worst + 1).all()

"""Elo replay: by hand, against a peer, and what must hold for any contests."""

from __future__ import annotations

import evalica
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearena.data.simulated import round_robin
from rearena.ranking import elo


def battles(*rows: tuple[str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])


def test_two_contests_by_hand() -> None:
    # Equal ratings expect 1/2, so a win at K = 4 moves both by 2; 1002 against 998 expects a bit more.
    result = elo.replay(battles(("a", "b", 1.0), ("a", "b", 0.5)), orders=np.array([[0, 1]]))
    expected = 1 / (1 + 10 ** ((998 - 1002) / 400))
    assert result.loc[0, "a"] == pytest.approx(1002 + 4 * (0.5 - expected), abs=1e-12)


def test_each_order_is_what_a_peer_computes_for_it() -> None:
    rng = np.random.default_rng(0)
    models = np.array([f"m{k}" for k in range(8)], dtype=object)
    first = rng.integers(8, size=3000)
    second = (first + rng.integers(1, 8, size=3000)) % 8
    frame = pd.DataFrame(
        {"model_a": models[first], "model_b": models[second], "outcome": rng.choice([0.0, 0.5, 1.0], 3000)}
    )
    orders = np.array([rng.permutation(3000) for _ in range(3)])
    ours = elo.replay(frame, k=4, orders=orders)
    winners = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    for row, order in enumerate(orders):
        turn = frame.iloc[order]
        theirs = evalica.elo(
            turn["model_a"],
            turn["model_b"],
            [winners[o] for o in turn["outcome"]],
            initial=1000,
            base=10,
            scale=400,
            k=4,
        ).scores
        np.testing.assert_allclose(ours.loc[row], theirs[ours.columns], atol=1e-9)


names = st.sampled_from("abcd")
contests = st.lists(
    st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0])).filter(lambda r: r[0] != r[1]), min_size=1
)


@settings(deadline=None)
@given(contests, st.floats(0.1, 64))
def test_points_are_neither_made_nor_lost(rows: list[tuple[str, str, float]], k: float) -> None:
    result = elo.replay(battles(*rows), k=k, orders=3, seed=0)
    np.testing.assert_allclose(result.mean(axis=1), 1000)


@settings(deadline=None)
@given(contests)
def test_naming_the_other_model_first_changes_nothing(rows: list[tuple[str, str, float]]) -> None:
    straight = elo.replay(battles(*rows), orders=3, seed=0)
    turned = elo.replay(battles(*((b, a, 1 - o) for a, b, o in rows)), orders=3, seed=0)
    np.testing.assert_allclose(straight, turned, atol=1e-9)


def test_same_seed_same_orders() -> None:
    frame = battles(*[("a", "b", 1.0), ("b", "c", 0.0), ("a", "c", 0.5)] * 5)
    pd.testing.assert_frame_equal(elo.replay(frame, seed=1), elo.replay(frame, seed=1))
    assert not elo.replay(frame, seed=1).equals(elo.replay(frame, seed=2))


def test_number_of_orders_may_be_a_numpy_integer() -> None:
    frame = battles(("a", "b", 1.0), ("b", "a", 1.0))
    assert len(elo.replay(frame, orders=np.int64(3), seed=0)) == 3  # type: ignore[arg-type]


def test_expected_scores_are_equation_one() -> None:
    found = elo.expected_scores(pd.Series({"a": 1400.0, "b": 1000.0}))
    assert found.loc["a", "b"] == pytest.approx(10 / 11)
    np.testing.assert_allclose(found + found.T, 1)


def test_outcomes_of_the_implied_map_give_the_ratings_back() -> None:
    truth = pd.Series({f"m{k}": 800.0 + 100 * k for k in range(5)})
    found = elo.replay(round_robin(elo.expected_scores(truth), 2000, seed=1), seed=2).median()
    # A rating's stationary spread at K = 4 is about sqrt(K / (2 rate)) points, 19; the median over orders of
    # the same contests keeps the sampling error of 8,000 contests, about 174 / sqrt(8000 / 6), 5 points.
    np.testing.assert_allclose(found, truth, atol=20)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k must be positive"),
        ({"k": -4}, "k must be positive"),
        ({"k": float("nan")}, "k must be positive"),
        ({"orders": 0}, "orders"),
        ({"seed": None}, "seed"),
        ({"orders": np.array([[0, 0]])}, "permutation"),
        ({"orders": np.array([0, 1])}, "shape"),
        ({"orders": np.array([[0.0, 1.0]])}, "integers"),
        ({"scale": 0}, "scale"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, object], message: str) -> None:
    settings_ = {"seed": 0, **changes}
    with pytest.raises(ValueError, match=message):
        elo.replay(battles(("a", "b", 1.0), ("b", "a", 1.0)), **settings_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (battles(), "no battles"),
        (battles(("a", "a", 1.0)), "row 0"),
        (battles(("a", "b", 0.4)), "row 0"),
        (battles(("a", "b", 1.0)).assign(weight=2.0), "weight"),
        (battles(("a", "b", 1.0)).drop(columns="outcome"), "outcome"),
    ],
)
def test_malformed_battles_are_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        elo.replay(frame, seed=0)

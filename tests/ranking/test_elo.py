"""Elo replay: by hand, against a peer, and what must hold for any contests."""

from __future__ import annotations

import evalica
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
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


def with_bad(*rows: tuple[str, str, float, bool]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "both_bad"])


names = st.sampled_from("abcd")
contests = st.lists(
    st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0])).filter(lambda r: r[0] != r[1]), min_size=1
)


@given(contests, st.floats(0.1, 64))
def test_points_are_neither_made_nor_lost(rows: list[tuple[str, str, float]], k: float) -> None:
    result = elo.replay(battles(*rows), k=k, orders=3, seed=0)
    np.testing.assert_allclose(result.mean(axis=1), 1000)


@given(contests)
def test_naming_the_other_model_first_changes_nothing(rows: list[tuple[str, str, float]]) -> None:
    straight = elo.replay(battles(*rows), orders=3, seed=0)
    turned = elo.replay(battles(*((b, a, 1 - o) for a, b, o in rows)), orders=3, seed=0)
    np.testing.assert_allclose(straight, turned, atol=1e-9)


@given(contests, st.lists(st.booleans(), min_size=1), st.floats(0, 1))
def test_a_tie_of_two_bad_answers_takes_what_it_does_not_score(
    rows: list[tuple[str, str, float]], flags: list[bool], both_bad: float
) -> None:
    # Each such tie gives out 2 both_bad in place of 1, at K = 4; every other contest keeps the sum.
    marked = [(*row, row[2] == 0.5 and flag) for row, flag in zip(rows, flags, strict=False)]
    frame = with_bad(*marked)
    result = elo.replay(frame, orders=2, seed=0, both_bad=both_bad)
    expected = 1000 * result.shape[1] + 4 * frame["both_bad"].sum() * (2 * both_bad - 1)
    np.testing.assert_allclose(result.sum(axis=1), expected)


def test_every_tie_is_half_a_win_unless_said_otherwise() -> None:
    marked = with_bad(("a", "b", 1.0, False), ("a", "b", 0.5, True), ("b", "c", 0.5, False))
    plain = elo.replay(marked.drop(columns="both_bad"), seed=0)
    pd.testing.assert_frame_equal(elo.replay(marked, seed=0), plain)
    # Between equals, both lose K/2 and nobody is ahead.
    both_lose = elo.replay(with_bad(("a", "b", 0.5, True)), orders=1, seed=0, both_bad=0)
    assert both_lose.iloc[0].tolist() == [998, 998]


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


# Eight models, 20 points apart.
close = pd.Series({f"m{k}": 930.0 + 20 * k for k in range(8)})


def test_the_end_of_the_way_is_the_replay() -> None:
    frame = round_robin(elo.expected_scores(close), 4, seed=0)
    way = elo.trajectory(frame, [0, 10, len(frame)], orders=3, seed=1)
    last = way.xs(len(frame), level="contests")
    np.testing.assert_array_equal(last, elo.replay(frame, orders=3, seed=1))
    np.testing.assert_array_equal(way.xs(0, level="contests"), 1000)
    # After ten contests it is the replay of those ten.
    order = np.random.default_rng(2).permutation(len(frame))
    early = elo.trajectory(frame, [10], orders=order[None])
    ten = elo.replay(frame.iloc[order[:10]], orders=np.arange(10)[None])
    np.testing.assert_array_equal(early[ten.columns], ten)


def test_ratings_fluctuate_as_theory_says() -> None:
    # Independent contests between near equals: sd sqrt(K 173.7 (1 - 1/M) / 2). Of 8 models x 300 sets of
    # contests the pooled sd has a relative standard error of 1 / sqrt(2 x 300 x 7), 1.5 %; tolerance 5 %.
    truth = elo.expected_scores(close)
    ends = [elo.replay(round_robin(truth, 200, seed), 8, orders=1, seed=seed) for seed in range(300)]
    found = np.sqrt(pd.concat(ends).var().mean())
    theory = np.sqrt(8 * 400 / np.log(10) * (1 - 1 / 8) / 2)
    assert found == pytest.approx(theory, rel=0.05)


def test_the_mean_over_orders_settles_while_single_orders_go_on_moving() -> None:
    truth = pd.Series({f"m{k}": 850.0 + 50 * k for k in range(7)})
    frame = round_robin(elo.expected_scores(truth), 400, seed=0)
    pairs = 21
    way = elo.trajectory(frame, [20 * pairs, 200 * pairs, 400 * pairs], orders=400, seed=1)
    mean, spread = (getattr(way.groupby("contests"), name)() for name in ("mean", "std"))
    # Slowest, the outer models: after n contests per pair they lack 150 exp(-0.0265 n) points, 88 at n = 20
    # and 0.7 at 200. The mean over 400 orders has a standard error of 18 / sqrt(400), a difference 1.3.
    assert mean.diff().abs().iloc[1].max() > 50
    assert mean.diff().abs().iloc[2].max() < 6
    assert spread.iloc[1:].to_numpy().min() > 10


def fresh(win_map: pd.DataFrame, new: list[str], per_pair: int, seed: int) -> pd.DataFrame:
    """Contests of the new models, from a round robin over all."""
    frame = round_robin(win_map, per_pair, seed)
    return frame[frame[["model_a", "model_b"]].isin(new).any(axis=1)].reset_index(drop=True)


@pytest.mark.parametrize(("new", "per_pair"), [(["m3"], 2), (["m0", "m7"], 6), (["m1", "m2", "m6"], 3)])
def test_registration_plays_the_printed_number_of_contests(new: list[str], per_pair: int) -> None:
    frame = fresh(elo.expected_scores(close), new, per_pair, seed=0)
    n1, n2 = len(close) - len(new), len(new)
    # An odd H is allowed; then one side is shown first once more in each pair.
    assert 2 * len(frame) == (2 * n1 + n2 - 1) * n2 * per_pair
    result = elo.register(frame, close.drop(new), new, orders=5, seed=0)
    assert list(result.columns) == [*close.drop(new).index, *new]
    np.testing.assert_allclose(result.sum(axis=1), close.drop(new).sum() + 1000 * n2)


def test_registration_by_hand() -> None:
    frame = battles(("n", "a", 1.0), ("b", "n", 1.0))
    base = pd.Series({"b": 1200.0, "a": 800.0})
    order = np.array([[0, 1]])
    first = 4 * (1 - 1 / (1 + 10 ** ((800 - 1000) / 400)))
    second = 4 * (1 - 1 / (1 + 10 ** ((1200 - 1000 - first) / 400)) - 1)
    both = elo.register(frame, base, ["n"], orders=order).iloc[0]
    np.testing.assert_allclose(both, [1200 - second, 800 - first, 1000 + first + second], atol=1e-9)
    only = elo.register(frame, base, ["n"], orders=order, moving="new").iloc[0]
    np.testing.assert_allclose(only, [1200, 800, 1000 + first + second], atol=1e-9)


def test_registering_everyone_beside_one_idle_model_is_a_replay() -> None:
    frame = round_robin(elo.expected_scores(close), 4, seed=0)
    alone = elo.register(frame, pd.Series({"idle": 1500.0}), list(close.index), orders=3, seed=1)
    np.testing.assert_array_equal(alone[list(close.index)], elo.replay(frame, orders=3, seed=1))
    assert (alone["idle"] == 1500).all()


def test_a_new_model_finds_its_rating_among_fixed_ones() -> None:
    truth = pd.Series({f"m{k}": 800.0 + 50 * k for k in range(9)})
    frame = fresh(elo.expected_scores(truth), ["m8"], 1000, seed=0)
    found = elo.register(frame, truth.drop("m8"), ["m8"], seed=1, moving="new")["m8"]
    # Sampling error of 8,000 contests at p about 0.2: 174 / sqrt(8000 x 0.17), 5 points; the linear
    # approximation's bias is below 2. Tolerance three standard errors.
    assert found.median() == pytest.approx(1200, abs=15)


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
        ({"scale": float("inf")}, "scale"),
        ({"base": float("inf")}, "base"),
        ({"base": 1}, "base"),
        ({"initial": float("nan")}, "initial"),
        ({"both_bad": -0.5}, "both_bad"),
        ({"both_bad": float("nan")}, "both_bad"),
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
        (with_bad(("a", "b", 1.0, True)), "both_bad"),
        (battles(("a", "b", 0.5)).assign(both_bad=-1), "both_bad"),
    ],
)
def test_malformed_battles_are_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        elo.replay(frame, seed=0)


@pytest.mark.parametrize("after", [[], [-1, 2], [0, 2, 2], [2, 1], [3]])
def test_a_way_needs_increasing_numbers_of_contests(after: list[int]) -> None:
    with pytest.raises(ValueError, match="after must hold increasing numbers from 0 to 2"):
        elo.trajectory(battles(("a", "b", 1.0), ("b", "a", 1.0)), after, seed=0)


@pytest.mark.parametrize(("scale", "base"), [(0, 10), (float("inf"), 10), (400, 1), (400, float("inf"))])
def test_a_map_needs_a_finite_scale(scale: float, base: float) -> None:
    with pytest.raises(ValueError, match="scale must be positive"):
        elo.expected_scores(close, scale, base)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k must be positive"),
        ({"k": -4}, "k must be positive"),
        ({"k": float("nan")}, "k must be positive"),
        ({"seed": None}, "seed"),
        ({"moving": "old"}, "moving"),
        ({"new": []}, "one or more new models"),
        ({"new": "n"}, "a list of one or more"),
        ({"established": pd.Series(dtype=float)}, "established ones to meet"),
        ({"battles": battles()}, "no battles"),
        ({"battles": battles(("n", "n", 1.0))}, "against itself"),
        ({"battles": battles(("a", "n", 1.0), ("b", "a", 1.0))}, r"1 battles .* established models.* row 1"),
        (
            {"battles": battles(("a", "n", 1.0), ("c", "n", 1.0))},
            "neither a base rating nor among the new: c",
        ),
        ({"new": ["n", "o"]}, "no battle to rate these new models by: o"),
        ({"new": ["n", "n"]}, "named twice, as new or established: n"),
        ({"new": ["n", "a"]}, "named twice, as new or established: a"),
        ({"established": pd.Series({"a": 1000.0, "b": float("nan")})}, "finite; they are not for b"),
        ({"established": pd.Series({"a": float("inf"), "b": 1.0})}, "finite; they are not for a"),
        ({"initial": float("nan")}, "initial"),
        ({"scale": float("inf")}, "scale"),
        ({"both_bad": 2}, "both_bad"),
    ],
)
def test_bad_registrations_are_refused(changes: dict[str, object], message: str) -> None:
    good: dict[str, object] = {
        "battles": battles(("a", "n", 1.0), ("b", "n", 0.5)),
        "established": pd.Series({"a": 1000.0, "b": 1100.0}),
        "new": ["n"],
        "seed": 0,
    }
    assert elo.register(**good).shape == (100, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        elo.register(**(good | changes))  # type: ignore[arg-type]

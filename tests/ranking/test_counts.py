"""Adding up battles, and the graphs that have no finite ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearena.ranking import counts


def battles(*rows: tuple[str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model_a", "model_b", "outcome"])


def test_counts_are_written_from_the_first_models_side() -> None:
    added = counts.from_battles(
        battles(("a", "b", 1.0), ("b", "a", 1.0), ("b", "a", 1.0), ("a", "b", 0.5), ("c", "a", 0.0))
    )
    assert added.models == ("a", "b", "c")
    assert list(zip(added.first, added.second, strict=True)) == [(0, 1), (0, 2)]
    assert added.outcomes.tolist() == [[1, 1, 2], [1, 0, 0]]
    assert added.battles_per_model().tolist() == [5, 4, 1]
    assert added.outcomes.sum() == 5


def test_weight_counts_a_row_that_often() -> None:
    rows = battles(("a", "b", 1.0), ("a", "b", 0.0))
    weighted = counts.from_battles(rows.assign(weight=[3.0, 0.0]))
    repeated = counts.from_battles(pd.concat([rows.iloc[:1]] * 3))
    assert weighted.outcomes.tolist() == repeated.outcomes.tolist()


names = st.sampled_from("abcde")
rows = st.lists(
    st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0])).filter(lambda r: r[0] != r[1]), min_size=1
)


@given(rows)
def test_naming_the_other_model_first_changes_nothing(drawn: list[tuple[str, str, float]]) -> None:
    straight = counts.from_battles(battles(*drawn))
    turned = counts.from_battles(battles(*((b, a, 1 - o) for a, b, o in drawn)))
    assert straight.models == turned.models
    np.testing.assert_array_equal(straight.outcomes, turned.outcomes)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "b", 1.0), ("a", "a", 1.0)], "row 1 .* against itself"),
        ([("a", "b", 0.7)], "row 0 .* outcome"),
        ([("a", "b", np.nan)], "row 0 .* outcome"),
        ([("a", "b", 1.0), (None, "b", 1.0)], "row 1 .* names no model"),
        ([], "no battles"),
    ],
)
def test_malformed_battles_are_refused_by_row(rows: list[tuple[str, str, float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        counts.from_battles(battles(*rows))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_malformed_weights_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"row 1 .* weight"):
        counts.from_battles(battles(("a", "b", 1.0), ("a", "b", 0.0)).assign(weight=[1.0, weight]))


def test_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match="outcome"):
        counts.from_battles(pd.DataFrame({"model_a": ["a"], "model_b": ["b"]}))


def test_only_weightless_battles_are_no_battles() -> None:
    with pytest.raises(ValueError, match="no battles"):
        counts.from_battles(battles(("a", "b", 1.0)).assign(weight=0.0))


def test_names_and_numbers_must_be_what_they_are() -> None:
    with pytest.raises(ValueError, match="must be text"):
        counts.from_battles(pd.DataFrame({"model_a": [1], "model_b": ["a"], "outcome": [1.0]}))
    with pytest.raises(ValueError, match="outcome of the battles must hold numbers"):
        counts.from_battles(pd.DataFrame({"model_a": ["a"], "model_b": ["b"], "outcome": ["model_a"]}))
    with pytest.raises(ValueError, match="weight of the battles must hold numbers"):
        counts.from_battles(battles(("a", "b", 1.0)).assign(weight="many"))


def test_core_is_the_largest_group_that_can_be_compared() -> None:
    rows = [("a", "b", 0.5), ("b", "c", 0.5), ("top", "a", 1.0)]
    core, joined = counts.from_battles(battles(*rows)).core()
    assert (core.tolist(), joined) == ([True, True, True, False], True)
    core, joined = counts.from_battles(battles(*rows, ("x", "y", 0.5))).core()
    assert (core.tolist(), joined) == ([True, True, True, False, False, False], False)


def test_disconnected_graph_names_the_smaller_part() -> None:
    loop = [("a", "b", 1.0), ("b", "a", 1.0), ("b", "c", 0.5), ("x", "y", 0.5)]
    with pytest.raises(counts.DisconnectedGraphError, match=r"2 parts.*: x, y; a, b, c"):
        counts.from_battles(battles(*loop)).check_graph()


def test_model_that_never_met_anyone_is_a_part_of_its_own() -> None:
    rows = battles(("a", "b", 0.5), ("a", "c", 0.5)).assign(weight=[1.0, 0.0])
    with pytest.raises(counts.DisconnectedGraphError, match=": c; a, b"):
        counts.from_battles(rows).check_graph()


def test_separated_graph_names_who_never_lost_and_who_never_won() -> None:
    rows = [("top", "a", 1.0), ("top", "b", 1.0), ("a", "b", 0.5), ("b", "low", 1.0)]
    with pytest.raises(counts.SeparatedGraphError, match=r"never beaten.*: top.*never won.*: low"):
        counts.from_battles(battles(*rows)).check_graph()


@settings(max_examples=200)
@given(rows)
def test_graph_check_agrees_with_searching_for_paths(drawn: list[tuple[str, str, float]]) -> None:
    """Ford's condition by brute force: from every model a chain of wins or ties leads to every other."""
    added = counts.from_battles(battles(*drawn))
    size = len(added.models)
    reach = np.eye(size, dtype=bool)
    for (won, tied, lost), i, j in zip(added.outcomes, added.first, added.second, strict=True):
        reach[i, j] |= won + tied > 0
        reach[j, i] |= lost + tied > 0
    for _ in range(size):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    if reach.all():
        added.check_graph()
    else:
        with pytest.raises(counts.GraphError):
            added.check_graph()

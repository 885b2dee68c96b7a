from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rearena import project
from rearena.data import published

KEYS = {
    "arena_hard_examples": ["cluster"],
    "arena_hard_table1": ["row", "key"],
    "arena_hard_table2": ["benchmark"],
    "arena_hard_table3": ["judge"],
    "arena_hard_table4": ["set"],
    "arena_hard_table5": ["set"],
    "arena_hard_table6": ["model"],
    "arena_hard_table7": ["judge", "model"],
    "arena_hard_table8": ["run"],
    "arena_hard_top20": ["arena_name"],
    "chatbot_arena_table1": ["dataset"],
    "chatbot_arena_table2": ["cluster"],
    "chatbot_arena_table3": ["pair", "a", "b"],
    "chatbot_arena_table4": ["baseline", "judge"],
    "chatbot_arena_table5": ["alpha", "actual", "pred"],
    "equations": ["paper", "name"],
    "rwq_elo_fig1": ["source"],
    "rwq_elo_fig2b": ["model"],
    "rwq_elo_fig3": ["model"],
    "rwq_elo_fig7": ["model"],
    "rwq_elo_fig8": ["model"],
    "rwq_elo_fig9": ["model"],
    "rwq_elo_mcqa": ["table", "model", "strategy"],
    "rwq_elo_ratings": ["model"],
    "rwq_elo_table6": ["N1", "N2"],
    "wildbench_table1": ["dataset"],
    "wildbench_table2": ["model"],
    "wildbench_table3": ["metric"],
}
MAPS = ["rwq_elo_fig3", "rwq_elo_fig7", "rwq_elo_fig8", "rwq_elo_fig9"]


def test_every_file_has_a_key_and_no_other_file_is_listed() -> None:
    assert published.names() == sorted(KEYS)


@pytest.mark.parametrize(("name", "key"), KEYS.items())
def test_keys_are_present_and_unique(name: str, key: list[str]) -> None:
    frame = published.table(name)
    assert frame[key].notna().all(axis=None)
    assert not frame.duplicated(key).any()


def test_readme_describes_each_file_with_its_number_of_rows() -> None:
    text = (project.root() / "data" / "published" / "README.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)` \|[^|]+\|[^|]+\| (\d+) \|", text, flags=re.MULTILINE)
    assert {name: int(rows) for name, rows in described} == {
        name: len(published.table(name)) for name in published.names()
    }


def test_an_unknown_name_lists_close_ones() -> None:
    with pytest.raises(KeyError, match="arena_hard_table6"):
        published.table("arena_hard_tabel6")


@given(st.text() | st.sampled_from(["../claims", "README", "arena_hard_table6.csv", "/etc/passwd", ""]))
def test_only_names_of_tables_are_read(name: str) -> None:
    if name not in KEYS:
        with pytest.raises(KeyError, match="no published table"):
            published.table(name)


@pytest.mark.parametrize("name", ["arena_hard_table6", "rwq_elo_ratings", "chatbot_arena_table2"])
def test_a_table_that_is_not_a_map_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        published.matrix(name)


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_square_with_fractions_and_a_zero_diagonal(name: str) -> None:
    frame = published.matrix(name)
    assert list(frame.index) == list(frame.columns)
    assert frame.to_numpy().min() >= 0
    assert frame.to_numpy().max() <= 1
    assert not np.diag(frame).any()


@pytest.mark.parametrize("name", ["rwq_elo_fig7", "rwq_elo_fig8"])
def test_win_rate_maps_and_their_transpose_sum_to_one(name: str) -> None:
    rates = published.matrix(name).to_numpy()
    off_diagonal = ~np.eye(len(rates), dtype=bool)
    np.testing.assert_allclose((rates + rates.T)[off_diagonal], 1, atol=0.01 + 1e-9)


def test_difference_maps_follow_from_the_win_rate_maps() -> None:
    elo, calculated, difference, subset = (
        published.matrix(f"rwq_elo_fig{number}") for number in (7, 8, 9, 3)
    )
    np.testing.assert_allclose((elo - calculated).abs(), difference, atol=0.015)
    pd.testing.assert_frame_equal(difference.loc[subset.index, subset.columns], subset)


def test_rwq_sources_sum_to_the_printed_total() -> None:
    sources = published.table("rwq_elo_fig1")
    assert sources["count"].sum() == 20_772
    assert sources["percent"].sum() == pytest.approx(100)


def test_both_figures_print_the_same_ratings_in_falling_order() -> None:
    ratings = published.table("rwq_elo_ratings")
    assert (ratings["rating_fig2a"] == ratings["rating_fig5_all"]).all()
    assert ratings["rating_fig2a"].is_monotonic_decreasing
    assert list(ratings["model"]) == list(published.table("rwq_elo_fig7")["model"])


def test_extremes_over_orders_enclose_the_median_rating() -> None:
    extremes = published.table("rwq_elo_fig2b").merge(published.table("rwq_elo_ratings"), on="model")
    assert len(extremes) == 13
    assert (extremes["minimum"] < extremes["rating_fig2a"]).all()
    assert (extremes["rating_fig2a"] < extremes["maximum"]).all()


def test_mcqa_tables_are_complete() -> None:
    cells = published.table("rwq_elo_mcqa").pivot(
        index=["table", "model"], columns="strategy", values="accuracy"
    )
    assert cells.shape == (12 * 24, 7)
    assert cells.notna().all(axis=None)


def test_arena_hard_intervals_are_the_printed_margins() -> None:
    board = published.table("arena_hard_table6")
    np.testing.assert_allclose(board["lower"], board["win_rate"] - board["minus"])
    np.testing.assert_allclose(board["upper"], board["win_rate"] + board["plus"])
    assert board["win_rate"].is_monotonic_decreasing


def test_top_20_names_lead_to_rows_of_the_printed_tables() -> None:
    names = published.table("arena_hard_top20")
    assert len(names) == 20
    assert names["table6_name"].isin(published.table("arena_hard_table6")["model"]).all()
    assert names["wildbench_name"].dropna().isin(published.table("wildbench_table2")["model"]).all()


def test_wildbench_repeats_the_win_rates_of_arena_hard() -> None:
    names = published.table("arena_hard_top20").dropna(subset="wildbench_name")
    both = names.merge(published.table("arena_hard_table6"), left_on="table6_name", right_on="model").merge(
        published.table("wildbench_table2"), left_on="wildbench_name", right_on="model"
    )
    assert len(both) == 9
    assert (both["win_rate"] == both["arena_hard"]).all()


def test_each_class_of_the_anomaly_table_has_25_users() -> None:
    counts = published.table("chatbot_arena_table5").groupby(["alpha", "actual"])["num"].sum()
    assert (counts == 25).all()


@pytest.mark.parametrize(
    ("name", "row", "column", "cell"),
    [
        ("arena_hard_table3", "Llama3-70B", "agreement", 65.6),
        ("arena_hard_table4", "Random Sample 2", "agreement", 66.1),
        ("chatbot_arena_table2", "Poetry Writing Prompts", "size", 1.1),
        ("wildbench_table2", "Mistral-Large", "arena_elo", 1158),
        ("wildbench_table3", "WB-Reward_500 gpt4t", "pcor_top6", 0.992),
        ("rwq_elo_ratings", "Vicuna-33B-v1.3", "ae_gpt35", 50.0),
    ],
)
def test_cells_read_from_the_papers(name: str, row: str, column: str, cell: float) -> None:
    assert published.table(name).set_index(KEYS[name][0]).loc[row, column] == cell

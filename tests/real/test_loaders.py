"""Loaders on the downloaded files: totals their publishers state, and what the columns mean."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from rearena.data import downloads, names, released, votes, wildbench

pytestmark = pytest.mark.real

SORTED = {"alpaca", "alpaca-lc", "arena-hard", "mt-bench"}
DRAWS = {
    "20k-votes": (20, 100),
    "20k-votes-elo": (20, 100),
    "alpaca": (20, 1000),
    "alpaca-lc": (20, 1000),
    "arena-hard": (28, 1000),
    "arena-hard-bt": (28, 100),
    "arena-hard-distribution-elo": (78, 100),
    "mt-bench": (25, 1000),
}


def local(id: str):
    if not downloads.available(id):
        pytest.skip(f"{id} is not downloaded")
    return downloads.path(id)


def test_vote_counts_add_up_to_what_is_published():
    counts = released.votes_as_counts(local("leaderbot-counts-20240814"))
    assert counts[["win", "loss", "tie", "both_bad"]].to_numpy().sum() == 1_670_250
    assert len(set(counts["model_a"]) | set(counts["model_b"])) == 129
    assert released.counts_to_battles(counts)["weight"].sum() == 1_670_250


def test_the_first_count_is_wins_of_the_first_model():
    counts = released.votes_as_counts(local("leaderbot-counts-20240814"))
    board = released.official_ratings(local("lmarena-history"))
    rating = board[board["date"] == "2024-08-13"].set_index("model")["rating"]
    gap = counts["model_a"].map(rating) - counts["model_b"].map(rating)
    far = gap.abs() > 100
    assert far.sum() > 500
    decided = counts["win"] - counts["loss"]
    assert (np.sign(decided[far]) == np.sign(gap[far])).mean() > 0.95


def test_only_listed_models_differ_in_name_from_the_board():
    counts = released.votes_as_counts(local("leaderbot-counts-20240814"))
    board = released.official_ratings(local("lmarena-history"))
    renamed = names.between("leaderbot_to_board")
    ours = {renamed.get(name, name) for name in {*counts["model_a"], *counts["model_b"]}}
    theirs = set(board.loc[board["date"] == "2024-08-13", "model"])
    assert theirs <= ours
    assert ours - theirs == {"gpt-4o-2024-08-06"}


def test_official_ratings_have_98_dates():
    board = released.official_ratings(local("lmarena-history"))
    assert board["date"].nunique() == 98
    assert board["model"].nunique() == 227
    assert board["rating"].between(500, 1500).all()
    assert not board.duplicated(["date", "model"]).any()


@pytest.fixture(scope="module")
def tagged():
    path = local("arena-votes-criteria")
    with pytest.warns(UserWarning, match="against itself; dropped 4 such rows of 38754"):
        return released.arena_votes_2025(path)


@pytest.fixture(scope="module")
def all_votes():
    path = local("arena-votes-140k")
    with pytest.warns(UserWarning, match="against itself; dropped 10 such rows of 135634"):
        return released.arena_votes_2025(path)


def test_tagged_votes_are_among_all_votes_but_not_their_first_rows(tagged, all_votes):
    assert tagged["prompt_id"].is_unique
    assert all_votes["prompt_id"].is_unique
    joined = tagged.merge(all_votes, on="prompt_id", suffixes=("", "_all"), validate="one_to_one")
    assert len(joined) == len(tagged)
    for column in ("model_a", "model_b", "outcome", "both_bad"):
        assert (joined[column] == joined[f"{column}_all"]).all()
    assert not (tagged["prompt_id"] == all_votes["prompt_id"].iloc[: len(tagged)]).all()


def test_quality_counts_seven_criteria(tagged):
    assert set(released.CRITERIA) <= set(tagged)
    assert tagged["quality"].between(0, 7).all()
    assert ((tagged["quality"] == 7) == tagged[list(released.CRITERIA)].all(axis=1)).all()
    assert tagged["instruction_following_score"].isna().sum() == 1
    votes.validate_battles(tagged)


@pytest.mark.parametrize("name", DRAWS)
def test_published_bounds_are_quantiles_of_the_published_draws(name):
    read = released.bootstrap_draws(local(f"arena-hard-draws-{name}"))
    models, rounds = DRAWS[name]
    assert read.draws.shape == (rounds, models)
    assert read.sorted == (name in SORTED)
    bounds = read.draws.quantile([0.025, 0.975]).T
    np.testing.assert_allclose(bounds, read.table[["lower", "upper"]], atol=1e-6)


def test_name_maps_lead_to_models_of_the_other_benchmark():
    arena = set(released.arena_ratings_20240329(local("arena-hard-ratings-20240329")).table.index)
    for benchmark in ("arena-hard", "mt-bench"):
        renamed = released.name_map(local(f"arena-hard-names-arena-to-{benchmark}"))
        assert len(renamed) == 20
        assert set(renamed) <= arena
        drawn = released.bootstrap_draws(local(f"arena-hard-draws-{benchmark}")).table.index
        assert set(renamed.values()) <= set(drawn.str.lower())
    renamed = released.name_map(local("arena-hard-names-alpaca-to-arena"))
    assert set(renamed.values()) <= arena
    assert set(renamed) == set(released.bootstrap_draws(local("arena-hard-draws-alpaca")).table.index)


def test_ratings_of_20240329_agree_with_their_draws():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = released.arena_ratings_20240329(local("arena-hard-ratings-20240329"))
    assert read.draws.shape == (100, 76)
    assert not read.sorted
    assert read.table.index[0] == "claude-3-opus-20240229"
    np.testing.assert_allclose(read.draws.quantile(0.025), read.table["lower"])
    np.testing.assert_allclose(read.draws.quantile(0.975), read.table["upper"])
    np.testing.assert_allclose(read.draws.var(), read.table["variance"])


def test_arena_hard_battles_are_two_games_per_prompt_and_model():
    path = local("arena-hard-battles")
    battles = released.arena_hard_battles(path)
    games = released.arena_hard_battles(path, unrepeat=True)
    assert len(battles) == 14_536
    assert games["repeats"].sum() == 14_536
    assert (games.groupby(["prompt_id", "model_b"]).size() == 2).all()
    assert set(games["model_a"]) == {"gpt-4-0314"}
    assert games["model_b"].nunique() == 10


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("crowd-votes", 8931),
        ("gpt-4-crowd-votes", 2139),
        ("gpt-3.5-crowd-votes", 2139),
        ("gpt-4-votes", 3236),
        ("gpt-3.5-votes", 3236),
    ],
)
def test_llmfao_votes_are_on_the_listed_pairs(name, rows):
    battles = released.llmfao_votes(local(f"llmfao-{name}"), local("llmfao-models"))
    assert len(battles) == rows
    assert ("voter" in battles) == (name == "crowd-votes")
    model = pd.read_json(local("llmfao-models"), lines=True).set_index("id")["name"]
    pairs = pd.read_json(local("llmfao-pairs"), lines=True).set_index("id")
    on_pairs = battles[battles["pair"].isin(pairs.index)]
    listed = pairs.loc[on_pairs["pair"]]
    assert len(on_pairs) >= 2139
    assert list(on_pairs["model_a"]) == list(listed["model_x"].map(model))
    assert list(on_pairs["model_b"]) == list(listed["model_y"].map(model))
    assert list(on_pairs["prompt_id"]) == list(listed["prompt"])


def test_arena_hard_leaderboard_has_sixty_models_inside_their_intervals():
    board = released.arena_hard_leaderboard(local("arena-hard-leaderboard-20240731"))
    assert len(board) == 60
    assert ((board["lower"] <= board["score"]) & (board["score"] <= board["upper"])).all()


@pytest.mark.parametrize("k", ["none", "500", "1000", "1500"])
def test_wildbench_leaderboard_is_the_pairwise_files(k):
    board = wildbench.leaderboard(local(f"wildbench-stat-k{k}"))
    assert len(board) == 61
    judged = set()
    columns = {"gpt4t": "wb_reward_gpt4t", "haiku": "wb_reward_haiku", "llama": "wb_reward_llama2"}
    for baseline, column in columns.items():
        pairs = wildbench.pairwise(local(f"wildbench-pairwise-{baseline}-k{k}"))
        assert (pairs["judged"] < pairs["total"]).all()
        both = board.index.intersection(pairs.index)
        np.testing.assert_allclose(board.loc[both, column], 100 * pairs.loc[both, "reward"])
        assert board.loc[wildbench.BASELINES[baseline], column] == 0
        judged |= set(both)
    assert set(board.index[board["wb_reward_mix"].notna()]) == judged
    np.testing.assert_allclose(
        board["wb_reward_mix"], board[list(columns.values())].mean(axis=1, skipna=False)
    )


@pytest.mark.parametrize("k", ["100", "300", "2000", "3000"])
def test_wildbench_margins_without_verdicts_have_no_rewards(k):
    board = wildbench.leaderboard(local(f"wildbench-stat-k{k}"))
    assert board["wb_reward_mix"].isna().all()
    assert board["margin"].unique() == float(k)


def test_wildbench_scores_are_those_of_the_leaderboard():
    board = wildbench.leaderboard(local("wildbench-stat-k500"))
    scores = wildbench.scores(local("wildbench-score")).loc[board.index]
    for column in ("wb_score", "wb_score_macro", "length"):
        np.testing.assert_allclose(scores[column], board[column], atol=1e-6)

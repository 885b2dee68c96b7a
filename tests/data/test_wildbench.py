"""WildBench's leaderboard files, on small files of the same layout; ``tests/real`` reads the real ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rearena.data import wildbench


def written(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(content))
    return path


def stat(gpt4t, haiku, llama, k="500"):
    rewards = {f"gpt4t_reward.K={k}": gpt4t, f"haiku_reward.K={k}": haiku, f"llama_reward.K={k}": llama}
    mixed = {f"mixture_of_rewards.K={k}": (gpt4t + haiku + llama) / 3, f"task_macro_reward.K={k}": 0.0}
    return {**rewards, **mixed, "WB_score": 50.0, "Arena-Hard v0.1": "-", "AE2.0 LC": "57.5"}


def test_rewards_that_were_not_computed_are_missing_and_a_baseline_is_zero(tmp_path):
    baseline = wildbench.BASELINES["haiku"]
    data = {"good": stat(-3.0, 30.0, 45.0), "unjudged": stat(0, 0, 0), baseline: stat(-40.0, 0, 20.0)}
    board = wildbench.leaderboard(written(tmp_path, data))
    columns = ["wb_reward_mix", "wb_reward_gpt4t", "wb_reward_haiku", "wb_reward_llama2"]
    assert list(board.loc["good", columns]) == [24.0, -3.0, 30.0, 45.0]
    assert board.loc["unjudged", columns].isna().all()
    assert board.loc[baseline, "wb_reward_haiku"] == 0
    assert (board["wb_score"] == 50).all()
    assert board["arena_hard"].isna().all()
    assert (board["ae2_lc"] == 57.5).all()
    assert (board["margin"] == 500).all()


def test_no_margin_is_an_infinite_one(tmp_path):
    board = wildbench.leaderboard(written(tmp_path, {"m": stat(1, 2, 3, k="-1")}))
    assert np.isinf(board.loc["m", "margin"])


def test_two_margins_in_one_leaderboard_are_refused(tmp_path):
    data = {"m": stat(1, 2, 3), "n": stat(1, 2, 3, k="1000")}
    with pytest.raises(ValueError, match="one length margin"):
        wildbench.leaderboard(written(tmp_path, data))


def pairwise(reward):
    counts = {"win_much": 3, "win": 2, "tie": 1, "lose": 1, "lose_much": 1}
    tasks = {"task_categorized_rewards": {"Creative Tasks": 0.25}, "task_macro_reward": 0.3}
    return {"m": {**counts, "total": 10, "reward": reward, "avg_len": 99.5, "K": -1, **tasks}}


def test_pairwise_rewards_are_checked_against_their_counts(tmp_path):
    row = wildbench.pairwise(written(tmp_path, pairwise((3 + 2 / 2 - 1 / 2 - 1) / 10))).loc["m"]
    assert row["judged"] == 8
    assert row["Creative Tasks"] == 0.25
    assert np.isinf(row["margin"])
    with pytest.raises(ValueError, match="the reward of m is not what its counts give"):
        wildbench.pairwise(written(tmp_path, pairwise(0.3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": None}, "m lacks one of win_much.* as a number"),
        ({"win": "many"}, "m lacks one of win_much.* as a number"),
        ({"total": 0}, "the reward of m is not what its counts give"),
        ({"task_categorized_rewards": None}, "m lacks task_categorized_rewards"),
        ({"task_categorized_rewards": {"Creative Tasks": None}}, "m lacks one of Creative Tasks"),
    ],
)
def test_pairwise_rows_without_their_numbers_are_refused(tmp_path, change, message):
    row = {**pairwise(0.25)["m"], **change}
    with pytest.raises(ValueError, match=rf"file\.json: {message}"):
        wildbench.pairwise(written(tmp_path, {"m": row}))


@pytest.mark.parametrize("read", [wildbench.leaderboard, wildbench.pairwise, wildbench.scores])
@pytest.mark.parametrize("content", [[], {}, "text", None, ["a"], {"m": "text"}, {"m": []}, {"m": {}}])
def test_a_file_of_another_kind_is_refused_by_name(tmp_path, read, content):
    with pytest.raises(ValueError, match=r"file\.json: "):
        read(written(tmp_path, content))


def test_text_in_a_leaderboard_is_refused(tmp_path):
    data = {"m": stat(1, 2, 3), "n": {**stat(1, 2, 3), "WB_score": "high"}}
    with pytest.raises(ValueError, match=r"file\.json: n has a value that is neither a number nor missing"):
        wildbench.leaderboard(written(tmp_path, data))


def test_wildbench_scores_are_on_the_leaderboards_scale(tmp_path):
    def data(adjusted):
        tasks = {"task_categorized_scores": {"Creative Tasks": 6.0}, "adjusted_task_macro_score": 5.5}
        return {"m": {"score": 7.5, "adjusted_score": adjusted, "total": 1022, "avg_len": 3000.0, **tasks}}

    row = wildbench.scores(written(tmp_path, data(5.0))).loc["m"]
    expected = {
        "score": 7.5,
        "wb_score": 50,
        "wb_score_macro": 55,
        "Creative Tasks": 60,
        "length": 3000,
        "total": 1022,
    }
    assert row.to_dict() == expected
    with pytest.raises(ValueError, match="the adjusted score of m"):
        wildbench.scores(written(tmp_path, data(5.1)))
    with pytest.raises(ValueError, match=r"file\.json: m lacks one of .*adjusted_score"):
        wildbench.scores(written(tmp_path, data(None)))

"""WildBench's leaderboard files: rewards by length margin, verdicts by baseline, scores by judge."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rearena.data.released import numbers, read_json

BASELINES = {
    "gpt4t": "gpt-4-turbo-2024-04-09",
    "haiku": "claude-3-haiku-20240307",
    "llama": "Llama-2-70b-chat-hf",
}
"""WB-Reward's three baselines: name in file names and columns -> model."""


def leaderboard(path: Path) -> pd.DataFrame:
    """Read WildBench's leaderboard at one length margin (``all_stat_wildbench.<K>.json``).

    It is of 2024-07-31: later verdicts and ratings than the paper's Table 2, with close but other numbers.
    The file writes 0 for a reward that was not computed. A model with 0 against all three baselines is one of
    those (twelve models that no pairwise file has; all models at K = 100, 300, 2000, 3000) and gets missing
    values; a baseline against itself is 0 by definition.

    Parameters
    ----------
    path : pathlib.Path
        K is read from the column names; -1 stands for no margin.

    Returns
    -------
    pandas.DataFrame
        Index ``model``: ``wb_reward_mix``, ``wb_reward_gpt4t``, ``wb_reward_haiku``, ``wb_reward_llama2``
        (percent, -100 to 100); ``wb_reward_mix_macro`` (weighted by kind of task); ``wb_score``,
        ``wb_score_macro`` (-80 to 100), ``wb_elo``; ``length`` (characters); ``arena_elo`` (hard English,
        2024-07-16), ``arena_hard``, ``ae2_lc``, ``ae2_wr`` (percent); ``margin`` (K in characters, infinite
        for none).

    Raises
    ------
    ValueError
        If the file is not an object by model, the columns are not of one K, or a value is neither a number
        nor missing (``-``); the message names the file and the model.
    """
    data = _by_model(path)
    found = {
        m[1] for row in data.values() for key in row if (m := re.fullmatch(r"haiku_reward\.K=(-?\d+)", key))
    }
    if len(found) != 1:
        raise ValueError(f"{path.name}: expected the rewards of one length margin, found K = {sorted(found)}")
    k = found.pop()
    columns = {
        f"mixture_of_rewards.K={k}": "wb_reward_mix",
        f"gpt4t_reward.K={k}": "wb_reward_gpt4t",
        f"haiku_reward.K={k}": "wb_reward_haiku",
        f"llama_reward.K={k}": "wb_reward_llama2",
        f"task_macro_reward.K={k}": "wb_reward_mix_macro",
        "WB_score": "wb_score",
        "WB_score.task_macro": "wb_score_macro",
        "WB_Elo": "wb_elo",
        "Length": "length",
        "Arena Elo (hard-en) - 2024-07-16": "arena_elo",
        "Arena-Hard v0.1": "arena_hard",
        "AE2.0 LC": "ae2_lc",
        "AE2.0": "ae2_wr",
    }
    raw = pd.DataFrame.from_dict(data, orient="index").reindex(columns=list(columns)).replace("-", np.nan)
    table: pd.DataFrame = raw.apply(pd.to_numeric, errors="coerce").astype(float)
    if (bad := (table.isna() & raw.notna()).any(axis=1)).any():
        raise ValueError(f"{path.name}: {bad.idxmax()} has a value that is neither a number nor missing")
    table = table.rename(columns=columns).rename_axis("model")
    rewards = [name for name in columns.values() if name.startswith("wb_reward")]
    table.loc[(table[rewards] == 0).all(axis=1), rewards] = np.nan
    return table.assign(margin=np.inf if k == "-1" else float(k))


def pairwise(path: Path) -> pd.DataFrame:
    """Read WildBench's verdicts against one baseline (``pairwise-<baseline>-K=<K>.json``).

    ``reward`` is ``(win_much + win / 2 - lose / 2 - lose_much) / total``, checked for each model. ``total``
    counts the tasks, of which 2 to 16 % have no verdict in the file: the published reward counts those as
    ties.

    Parameters
    ----------
    path : pathlib.Path
        Any of the twelve files.

    Returns
    -------
    pandas.DataFrame
        Index ``model``: ``win_much, win, tie, lose, lose_much``, ``judged`` (their sum), ``total``,
        ``reward``, ``reward_macro`` (weighted by kind of task; both -1 to 1), ``length`` (characters, of the
        judged), ``margin`` (K, infinite for none) and ``reward_macro``'s parts by kind of task under the
        paper's names.

    Raises
    ------
    ValueError
        If the file is not an object by model, or a model lacks a number or has a reward that is not what
        its counts give; the message names the file and the model.
    """
    verdicts = ["win_much", "win", "tie", "lose", "lose_much"]
    columns = [*verdicts, "total", "reward", "task_macro_reward", "avg_len", "K"]
    table, tasks = _numbers_and_tasks(path, columns, "task_categorized_rewards")
    table = table.rename(columns={"task_macro_reward": "reward_macro", "avg_len": "length", "K": "margin"})
    table.insert(5, "judged", table[verdicts].sum(axis=1))
    points = table["win_much"] + table["win"] / 2 - table["lose"] / 2 - table["lose_much"]
    wrong = ~((points / table["total"] - table["reward"]).abs() <= 1e-9)
    if wrong.any():
        raise ValueError(f"{path.name}: the reward of {wrong.idxmax()} is not what its counts give")
    return table.assign(margin=table["margin"].astype(float).replace(-1.0, np.inf)).join(tasks)


def scores(path: Path) -> pd.DataFrame:
    """Read WildBench's scores by one judge (``score.json``; ``score-sonnet.json`` for another judge).

    Parameters
    ----------
    path : pathlib.Path
        One JSON object by model.

    Returns
    -------
    pandas.DataFrame
        Index ``model``: ``score`` (mean grade, 1 to 10), ``total`` (graded tasks), ``length`` (characters);
        ``wb_score``, which is ``(score - 5) * 20`` (the file has a tenth of it), ``wb_score_macro``
        (weighted by kind of task) and the same by kind of task under the paper's names (-80 to 100).

    Raises
    ------
    ValueError
        If the file is not an object by model, or a model lacks a number or has an adjusted score that is
        not ``(score - 5) * 2``; the message names the file and the model.
    """
    columns = ["score", "total", "avg_len", "adjusted_score", "adjusted_task_macro_score"]
    table, tasks = _numbers_and_tasks(path, columns, "task_categorized_scores")
    wrong = ~(((table["score"] - 5) * 2 - table["adjusted_score"]).abs() <= 1e-9)
    if wrong.any():
        raise ValueError(f"{path.name}: the adjusted score of {wrong.idxmax()} is not (score - 5) * 2")
    adjusted = table[["adjusted_score", "adjusted_task_macro_score"]]
    scaled = adjusted.set_axis(["wb_score", "wb_score_macro"], axis=1).join(tasks) * 10
    return table[["score", "total", "avg_len"]].rename(columns={"avg_len": "length"}).join(scaled)


def _by_model(path: Path) -> dict[str, dict[str, Any]]:
    data = read_json(path)
    for model, row in data.items():
        if not isinstance(row, dict):
            raise ValueError(f"{path.name}: {model} has {row!r:.40}; expected an object")
    return data


def _numbers_and_tasks(path: Path, columns: Iterable[str], tasks: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers by model, and those of the object ``tasks`` by model and kind of task."""
    data = _by_model(path)
    for model, row in data.items():
        if not isinstance(row.get(tasks), dict):
            raise ValueError(f"{path.name}: {model} lacks {tasks}")
    kinds = dict.fromkeys(kind for row in data.values() for kind in row[tasks])
    by_task = [{**row[tasks], "model": model} for model, row in data.items()]
    rows = [{**row, "model": model} for model, row in data.items()]
    return numbers(rows, columns, path), numbers(by_task, kinds, path)

"""Votes, ratings, draws and leaderboards that others published, each file as one tidy frame.

Every loader is a function of a local path: ``released.votes_as_counts(downloads.path("..."))``. What a file's
columns mean is written where it is read, with how it was found out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rearena.data import pickles, rfiles, votes

CRITERIA = (
    "specificity",
    "domain_knowledge",
    "complexity",
    "problem_solving",
    "creativity",
    "technical_accuracy",
    "real_world",
)
"""The seven prompt-quality criteria, in the order of Arena-Hard, Table 1."""

WILDBENCH_BASELINES = {
    "gpt4t": "gpt-4-turbo-2024-04-09",
    "haiku": "claude-3-haiku-20240307",
    "llama": "Llama-2-70b-chat-hf",
}
"""WB-Reward's three baselines: name in file names and columns -> model."""

_OUTCOMES = {"win": (1.0, False), "loss": (0.0, False), "tie": (0.5, False), "both_bad": (0.5, True)}


@dataclass(frozen=True)
class Draws:
    """Point estimates with the bootstrap draws behind their intervals.

    Attributes
    ----------
    table : pandas.DataFrame
        Index ``model``; the estimate and its ``lower`` and ``upper`` bound (95 %), in the file's unit.
    draws : pandas.DataFrame, rounds x models
        One column per model, in the order of ``table``.
    sorted : bool
        True where every model's draws stand in ascending order (models whose draws are all equal aside).
        A row is then no bootstrap round: draws of two models must not be paired.
    """

    table: pd.DataFrame
    draws: pd.DataFrame
    sorted: bool


def votes_as_counts(path: Path) -> pd.DataFrame:
    """Read the Chatbot Arena votes that ``suquark/leaderbot`` publishes as counts per pair.

    The file holds ``models``, pairs ``X`` of positions in it and ``Y``, four counts per pair: wins of the
    first, wins of the second, ties, ties called both bad. That order was found by fitting: with it the
    ratings agree with the official board of the day before the last vote within 3 Elo; with the first two
    swapped the board is upside down. That the last is "both bad" is the publisher's documentation.

    Parameters
    ----------
    path : pathlib.Path
        ``chatbotarena_<date>.json``.

    Returns
    -------
    pandas.DataFrame
        One row per pair: ``model_a, model_b, win, loss, tie, both_bad``; counts are of ``model_a``.

    Raises
    ------
    ValueError
        If the arrays do not fit together, a pair is listed twice or of one model, or a count is negative.
    """
    data = _json(path)
    if missing := {"models", "X", "Y"} - set(data):
        raise ValueError(f"{path.name} lacks {', '.join(sorted(missing))}; it is not a file of vote counts")
    models = np.array(data["models"], dtype=object)
    pairs, counts = (np.array(data[name], dtype=np.int64) for name in "XY")
    if pairs.shape != (len(pairs), 2) or counts.shape != (len(pairs), 4):
        raise ValueError(
            f"{path.name}: X is {pairs.shape}, Y {counts.shape}; expected (pairs, 2), (pairs, 4)"
        )
    if len(set(models)) != len(models):
        raise ValueError(f"{path.name} lists a model twice")
    ordered = np.sort(pairs, axis=1)
    outside = ((pairs < 0) | (pairs >= len(models))).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    repeated = pd.DataFrame(ordered).duplicated().to_numpy()
    negative = (counts < 0).any(axis=1)
    _refuse(outside, path, "a pair is not of two of the listed models")
    _refuse(repeated, path, "this pair is listed before")
    _refuse(negative, path, "a count is negative")
    frame = pd.DataFrame({"model_a": models[pairs[:, 0]], "model_b": models[pairs[:, 1]]}, dtype="str")
    return frame.assign(**dict(zip(_OUTCOMES, counts.T, strict=True)))


def counts_to_battles(counts: pd.DataFrame) -> pd.DataFrame:
    """Counts per pair as battles with a weight: one row per pair and outcome that occurred.

    Parameters
    ----------
    counts : pandas.DataFrame
        As from :func:`votes_as_counts`.

    Returns
    -------
    pandas.DataFrame
        Battles ``model_a, model_b, outcome, both_bad, weight``; weights add up to the number of votes.
    """
    pair = counts[["model_a", "model_b"]]
    parts = [
        pair.assign(outcome=outcome, both_bad=bad, weight=counts[column].astype(float))
        for column, (outcome, bad) in _OUTCOMES.items()
    ]
    battles = pd.concat(parts).sort_index(kind="stable")
    return votes.validate_battles(battles[battles["weight"] > 0].reset_index(drop=True), "counts")


def arena_votes_2025(path: Path) -> pd.DataFrame:
    """Read Chatbot Arena votes of 2025 from R data (``chatbot.data.rds``).

    Two such files exist: 135,634 votes, and 38,754 of them with category tags, which are not the first rows
    of the other; ``prompt_id`` joins them. Neither has a voter, a time, a language or the prompt's text. A
    few rows show a model against itself: dropped, with a warning that counts them.

    Parameters
    ----------
    path : pathlib.Path
        The R file; reading takes 3 to 10 seconds.

    Returns
    -------
    pandas.DataFrame
        Battles ``model_a, model_b, outcome, both_bad, prompt_id``. Where tagged, by the tagging models of
        the Arena, also: the seven ``CRITERIA`` (bool) and ``quality``, how many hold (0 to 7);
        ``creative_writing``, ``math``, ``instruction_following`` (bool); ``instruction_following_score`` (0
        to 5; one is missing). The tag ``creative_writing/score``, raw yes or no text behind the flag, is
        left out.

    Raises
    ------
    ValueError
        If it is not R data; :class:`~rearena.data.votes.VotesError` if its rows are not votes.
    """
    table = rfiles.read_frame(path)
    tags = {f"category_tag/criteria_v0.1/{name}": name for name in CRITERIA}
    tags |= {
        "category_tag/creative_writing_v0.1/creative_writing": "creative_writing",
        "category_tag/math_v0.1/math": "math",
        "category_tag/if_v0.1/if": "instruction_following",
        "category_tag/if_v0.1/score": "instruction_following_score",
    }
    keep = list(tags.values()) if any(tag in table for tag in tags) else []
    battles = votes.battles_from(table.rename(columns=tags), path.name, keep=keep, on_self_battle="drop")
    if keep:
        battles["quality"] = battles[list(CRITERIA)].sum(axis=1)
    return battles


def bootstrap_draws(path: Path) -> Draws:
    """Read the bootstrap draws of Arena-Hard's authors (``bootstrap_stats_*.jsonl``).

    A model with one draw, equal to its score and both bounds, is the anchor (gpt-4-0314 at 50): its draw is
    repeated. In the files of AlpacaEval, AlpacaEval-LC, Arena-Hard and MT-Bench the draws are sorted; in the
    three of Arena votes and in ``arena_hard_bt`` they are not.

    Parameters
    ----------
    path : pathlib.Path
        JSON Lines with ``model, score, lower, upper, results``.

    Returns
    -------
    Draws
        ``table`` has ``score, lower, upper``: percent, a grade of 1 to 10, or Elo, as the benchmark.

    Raises
    ------
    ValueError
        If a model is listed twice, lacks a value, or has fewer draws than the others; the message names it.
    """
    rows = _json_lines(path, ("model", "score", "lower", "upper", "results"))
    table = _numbers(rows, ("score", "lower", "upper"), path)
    rounds = max(len(row["results"]) for row in rows)
    draws = {row["model"]: _all_rounds(row, rounds, path) for row in rows}
    return _draws(table, pd.DataFrame(draws).rename_axis(columns="model"))


def arena_ratings_20240329(path: Path, category: str = "full") -> Draws:
    """Read the Chatbot Arena ratings that Arena-Hard compares with (``elo_results_20240329.pkl``).

    A pandas pickle, read by :mod:`rearena.data.pickles`; the plotly figures in it are left out.

    Parameters
    ----------
    path : pathlib.Path
        The pickle.
    category : str
        Part of the Arena; the file has ``full`` only.

    Returns
    -------
    Draws
        ``table``: ``rating`` (Elo), ``lower``, ``upper`` (95 %), ``variance`` (of the draws), ``battles``
        (number), ``rank``. ``draws``: 100 bootstrap ratings per model.

    Raises
    ------
    ValueError
        If the category is not there.
    pickle.UnpicklingError
        If the pickle asks for any other class.
    """
    figures = (("plotly.graph_objs._figure", "Figure"), ("plotly._subplots", "SubplotRef"))
    data = pickles.load(path, omit=figures)
    if category not in data:
        raise ValueError(f"{path.name} has no category {category!r}; it has: {', '.join(map(str, data))}")
    names = {
        "rating": "rating",
        "rating_q025": "lower",
        "rating_q975": "upper",
        "variance": "variance",
        "num_battles": "battles",
        "final_ranking": "rank",
    }
    table = data[category]["leaderboard_table_df"].rename(columns=names)[list(names.values())]
    table.index = pd.Index(table.index.astype("str"), name="model")
    draws = data[category]["bootstrap_df"]
    draws.columns = pd.Index(draws.columns.astype("str"), name="model")
    return _draws(table.sort_values("rating", ascending=False), draws)


def name_map(path: Path) -> dict[str, str]:
    """Read a map of model names between two benchmarks (``alpaca_to_arena.json`` and its like).

    ``arena_to_arena_hard.json`` leads to names in lower case; the draws of Arena-Hard have six of them with
    capitals.

    Raises
    ------
    ValueError
        If it maps anything but strings, or two names to one.
    """
    names = _json(path)
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError(f"{path.name}: expected one JSON object of strings")
    if len(set(names.values())) != len(names):
        raise ValueError(f"{path.name} maps two names to one")
    return names


def arena_hard_battles(path: Path, unrepeat: bool = False) -> pd.DataFrame:
    """Read Arena-Hard battles of ten models against gpt-4-0314 (``arena_hard_battles.jsonl``).

    Each prompt was judged twice per model, with the answers in either order, and a strong verdict (``>>``)
    written three times. As a file, rows are copies, and intervals from resampling them are too narrow. Each
    prompt and model is one run of 2, 4 or 6 rows, that is 1 or 3 per game, so the games can be told apart;
    only where both were won by the same side, once strongly (4 equal rows), is it open which game was the
    strong one.

    Parameters
    ----------
    path : pathlib.Path
        JSON Lines ``question_id, model_a, model_b, winner``.
    unrepeat : bool
        One row per game, with ``game`` (1 or 2, in file order) and ``repeats``, how often the file
        had it: 1, 3, or 2.0 for both games of an open run, so that repeats add up to the rows of the file.

    Returns
    -------
    pandas.DataFrame
        Battles ``model_a`` (always the baseline), ``model_b, outcome, prompt_id``.

    Raises
    ------
    ValueError
        With ``unrepeat``, if a run of rows is not two games; the message names its prompt and models.
    """
    battles = votes.read_votes(path)
    if not unrepeat:
        return battles
    keys = ["prompt_id", "model_a", "model_b"]
    starts = (battles[keys] != battles[keys].shift()).any(axis=1).to_numpy().nonzero()[0]
    heads = battles.loc[starts, keys].itertuples(index=False, name=None)
    games = []
    for head, outcomes in zip(heads, np.split(battles["outcome"].to_numpy(), starts[1:]), strict=True):
        for game, (outcome, repeats) in enumerate(_two_games(outcomes.tolist(), " / ".join(head)), start=1):
            games.append((*head, outcome, game, repeats))
    one_each = pd.DataFrame(games, columns=[*keys, "outcome", "game", "repeats"])
    if one_each.duplicated([*keys, "game"]).any():
        raise ValueError(f"{path.name}: rows of one prompt and model do not stand together")
    return votes.validate_battles(one_each[["model_a", "model_b", "outcome", "prompt_id", "game", "repeats"]])


def llmfao_votes(path: Path, models_path: Path) -> pd.DataFrame:
    """Read votes of ``dustalov/llmfao``: crowd workers, or GPT-3.5 or GPT-4, on the same pairs of answers.

    ``winner`` says ``left``, ``right`` or ``tie``. The left answer is that of ``model_x``, whose name the
    file repeats in ``left``; checked row by row against the list of models.

    Parameters
    ----------
    path : pathlib.Path
        ``crowd-comparisons.csv`` or ``gpt*-comparisons.csv``.
    models_path : pathlib.Path
        ``models.jsonl``.

    Returns
    -------
    pandas.DataFrame
        Battles ``model_a`` (left), ``model_b`` (right), ``outcome, prompt_id``, ``pair`` (the pair of
        answers, the same in all files) and, for the crowd, ``voter``.

    Raises
    ------
    ValueError
        If a model's number and name disagree; :class:`~rearena.data.votes.VotesError` if a row is no vote.
    """
    names = {row["id"]: row["name"] for row in _json_lines(models_path, ("id", "name"))}
    table = pd.read_csv(path)
    for number, side in (("model_x", "left"), ("model_y", "right")):
        if not {number, side} <= set(table):
            raise ValueError(f"{path.name} lacks {number} or {side}")
        wrong = (table[number].map(names) != table[side]).to_numpy()
        _refuse(wrong, path, f"{side} is not the name of {number} in {models_path.name}")
    columns = {"left": "model_a", "right": "model_b", "worker": "voter", "prompt": "prompt_id", "id": "pair"}
    labels = {"left": 1.0, "right": 0.0, "tie": 0.5}
    return votes.battles_from(table.rename(columns=columns), path.name, labels=labels, keep=["pair"])


def official_ratings(path: Path) -> pd.DataFrame:
    """Read the official Chatbot Arena ratings by date (``result.csv`` of ``nakasyou/lmarena-history``).

    Parameters
    ----------
    path : pathlib.Path
        One row per date (``YYYYMMDD``), one column per model; 0.0 where a model was not on the board.

    Returns
    -------
    pandas.DataFrame
        ``date, model, rating`` (Elo), models that were on the board, by date and falling rating.

    Raises
    ------
    ValueError
        If a date cannot be read or comes twice, or a rating is negative or not a number.
    """
    wide: pd.DataFrame = pd.read_csv(path, index_col=0)
    dates = pd.to_datetime(wide.index.astype("str"), format="%Y%m%d", errors="coerce")
    _refuse(np.asarray(dates.isna() | dates.duplicated()), path, "the date is not YYYYMMDD, or comes twice")
    values = wide.apply(pd.to_numeric, errors="coerce")
    _refuse(~(values >= 0).all(axis=1).to_numpy(), path, "a rating is negative or not a number")
    tidy = values.set_axis(pd.Index(dates, name="date")).rename_axis(columns="model").stack().rename("rating")
    board: pd.DataFrame = tidy[tidy > 0].reset_index().astype({"model": "str"})
    return board.sort_values(["date", "rating"], ascending=[True, False], ignore_index=True)


def alpaca_lc_results(path: Path) -> tuple[pd.DataFrame, dict[str, NDArray[np.float64]]]:
    """Read the AlpacaEval 2.0 results that Arena-Hard's authors resampled (``alpaca_2.0_lc_results.jsonl``).

    Parameters
    ----------
    path : pathlib.Path
        JSON Lines, one model per line.

    Returns
    -------
    table : pandas.DataFrame
        Index ``model``: ``lc_win_rate``, ``win_rate``, ``standard_error``, ``discrete_win_rate`` in percent
        (the file has the first as a fraction, ``score``); ``n_wins, n_wins_base, n_draws, n_total``.
    preferences : dict of ndarray
        Length-controlled preference per instruction, 0 to 1, whose mean is the score: 805 or 804 per
        model, and nothing says which instruction is missing, so models cannot be paired.

    Raises
    ------
    ValueError
        If a value is missing or a model is listed twice.
    """
    columns = (
        "win_rate",
        "standard_error",
        "discrete_win_rate",
        "n_wins",
        "n_wins_base",
        "n_draws",
        "n_total",
    )
    rows = _json_lines(path, ("model", "score", *columns, "length_controlled_winrate"))
    table = _numbers(rows, ("score", *columns), path)
    table["score"] *= 100
    preferences = {row["model"]: np.array(row["length_controlled_winrate"], dtype=float) for row in rows}
    return table.rename(columns={"score": "lc_win_rate"}), preferences


def arena_hard_leaderboard(path: Path) -> pd.DataFrame:
    """Read the Arena-Hard leaderboard (``arena_hard_leaderboard_20240731.csv``).

    Returns
    -------
    pandas.DataFrame
        Index ``model``: ``score``, ``lower``, ``upper`` (win rate against gpt-4-0314 in percent, 95 %),
        ``tokens`` (mean length of an answer).

    Raises
    ------
    ValueError
        If a column is missing or a model is listed twice.
    """
    names = {"score": "score", "rating_q025": "lower", "rating_q975": "upper", "avg_tokens": "tokens"}
    table = pd.read_csv(path)
    if missing := {"model", *names} - set(table):
        raise ValueError(f"{path.name} lacks {', '.join(sorted(missing))}")
    _refuse(table["model"].duplicated().to_numpy(), path, "this model is listed before")
    return table.set_index("model")[list(names)].rename(columns=names)


def wildbench_leaderboard(path: Path) -> pd.DataFrame:
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
        If the columns are not of one K, or a value is not a number.
    """
    data = _json(path)
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
    table: pd.DataFrame = raw.rename(columns=columns).apply(pd.to_numeric).astype(float).rename_axis("model")
    rewards = [name for name in columns.values() if name.startswith("wb_reward")]
    table.loc[(table[rewards] == 0).all(axis=1), rewards] = np.nan
    return table.assign(margin=np.inf if k == "-1" else float(k))


def wildbench_pairwise(path: Path) -> pd.DataFrame:
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
        If a reward is not what its counts give; the message names the model.
    """
    verdicts = ["win_much", "win", "tie", "lose", "lose_much"]
    data = _json(path)
    table = pd.DataFrame.from_dict(data, orient="index")
    tasks = pd.DataFrame.from_dict(table["task_categorized_rewards"].to_dict(), orient="index")
    names = {"task_macro_reward": "reward_macro", "avg_len": "length", "K": "margin"}
    table = table.assign(judged=table[verdicts].sum(axis=1)).rename(columns=names)
    table = table[[*verdicts, "judged", "total", "reward", "reward_macro", "length", "margin"]].join(tasks)
    points = table["win_much"] + table["win"] / 2 - table["lose"] / 2 - table["lose_much"]
    wrong = (points / table["total"] - table["reward"]).abs() > 1e-9
    if wrong.any():
        raise ValueError(f"{path.name}: the reward of {wrong.idxmax()} is not what its counts give")
    return table.assign(margin=table["margin"].astype(float).replace(-1.0, np.inf)).rename_axis("model")


def wildbench_scores(path: Path) -> pd.DataFrame:
    """Read WildBench's scores by one judge (``score.json``; ``score-sonnet.json`` for another judge).

    Returns
    -------
    pandas.DataFrame
        Index ``model``: ``score`` (mean grade, 1 to 10), ``total`` (graded tasks), ``length`` (characters);
        ``wb_score``, which is ``(score - 5) * 20`` (the file has a tenth of it), ``wb_score_macro``
        (weighted by kind of task) and the same by kind of task under the paper's names (-80 to 100).

    Raises
    ------
    ValueError
        If the adjusted score is not ``(score - 5) * 2``; the message names the model.
    """
    table = pd.DataFrame.from_dict(_json(path), orient="index")
    tasks = pd.DataFrame.from_dict(table["task_categorized_scores"].to_dict(), orient="index")
    wrong = ((table["score"] - 5) * 2 - table["adjusted_score"]).abs() > 1e-9
    if wrong.any():
        raise ValueError(f"{path.name}: the adjusted score of {wrong.idxmax()} is not (score - 5) * 2")
    scores = table[["adjusted_score", "adjusted_task_macro_score"]].set_axis(
        ["wb_score", "wb_score_macro"], axis=1
    )
    rest = table[["score", "total", "avg_len"]].rename(columns={"avg_len": "length"})
    return rest.join(scores.join(tasks) * 10).rename_axis("model")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: not valid JSON ({error})") from error


def _json_lines(path: Path, fields: Iterable[str]) -> list[dict[str, Any]]:
    """Objects of a JSON Lines file, each of which has all these fields."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path.name}, line {number}: not valid JSON ({error})") from error
        if not isinstance(row, dict) or (missing := set(fields) - set(row)):
            lacking = ", ".join(sorted(missing)) if isinstance(row, dict) else "everything: not an object"
            raise ValueError(f"{path.name}, line {number} lacks {lacking}")
        rows.append(row)
    if not rows:
        raise ValueError(f"{path.name} is empty")
    return rows


def _refuse(bad: Any, path: Path, what: str) -> None:
    if bad.any():
        raise ValueError(f"{path.name}, row {int(bad.argmax()) + 1}: {what} ({int(bad.sum())} such rows)")


def _numbers(rows: list[dict[str, Any]], columns: Iterable[str], path: Path) -> pd.DataFrame:
    """Frame by model of finite numbers; an error names the model that lacks one or comes twice."""
    table = pd.DataFrame([{name: row[name] for name in ("model", *columns)} for row in rows]).set_index(
        "model"
    )
    if table.index.has_duplicates:
        raise ValueError(f"{path.name} lists {table.index[table.index.duplicated()][0]} twice")
    bad = ~np.isfinite(table.apply(pd.to_numeric, errors="coerce").astype(float)).all(axis=1)
    if bad.any():
        raise ValueError(f"{path.name}: {bad.idxmax()} lacks one of {', '.join(columns)}")
    return table


def _all_rounds(row: Mapping[str, Any], rounds: int, path: Path) -> NDArray[np.float64]:
    """One model's draws, an anchor's single draw repeated."""
    draws = np.array(row["results"], dtype=float)
    if len(draws) == 1 and {row["score"], row["lower"], row["upper"]} == {draws[0]}:
        return np.full(rounds, draws[0])
    if len(draws) != rounds or not np.isfinite(draws).all():
        raise ValueError(
            f"{path.name}: {row['model']} has {np.isfinite(draws).sum()} draws that are numbers, not {rounds}"
        )
    return draws


def _draws(table: pd.DataFrame, draws: pd.DataFrame) -> Draws:
    if set(table.index) != set(draws):
        raise ValueError(f"estimates and draws are not of the same models: {set(table.index) ^ set(draws)}")
    draws = draws[list(table.index)].reset_index(drop=True)
    moving = draws.loc[:, draws.nunique() > 1]
    ascending = [column.is_monotonic_increasing for _, column in moving.items()]
    return Draws(table, draws, sorted=bool(ascending) and all(ascending))


def _two_games(outcomes: list[float], name: str) -> list[tuple[float, float]]:
    """Split a run of rows into two games: outcome and number of rows of each."""
    for first, second in {2: [(1, 1)], 4: [(1, 3), (3, 1)], 6: [(3, 3)]}.get(len(outcomes), []):
        games = outcomes[:first], outcomes[first:]
        if all(len(set(game)) == 1 and (len(game) == 1 or game[0] != 0.5) for game in games):
            if len(set(outcomes)) == 1:  # 1 + 3 and 3 + 1 look alike
                first = second = len(outcomes) // 2
            return [(games[0][0], float(first)), (games[1][0], float(second))]
    raise ValueError(f"{name}: outcomes {outcomes} are not two games of 1 or 3 equal rows")

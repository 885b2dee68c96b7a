"""Votes, ratings, draws and leaderboards that others published, each file as one tidy frame.

Every loader is a function of a local path: ``released.votes_as_counts(downloads.path("..."))``. What a file's
columns mean is written where it is read, with how it was found out.
"""

from __future__ import annotations

import json
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
        If the arrays do not fit together, a model has no name or two places, a pair is listed twice or of
        one model, or a count is negative or not a whole number.
    """
    data = read_json(path)
    if missing := {"models", "X", "Y"} - set(data):
        raise ValueError(f"{path.name} lacks {', '.join(sorted(missing))}; it is not a file of vote counts")
    pairs, counts = _whole_numbers(data, "X", 2, path), _whole_numbers(data, "Y", 4, path)
    if len(pairs) != len(counts):
        raise ValueError(f"{path.name}: X has {len(pairs)} rows, Y {len(counts)}")
    if not isinstance(data["models"], list):
        raise ValueError(f"{path.name}: models is not a list of names")
    _unique_names(data["models"], path)
    models = np.array(data["models"], dtype=object)
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
        If a model has no name, is listed twice, lacks a value, or has fewer draws than the others or draws
        that are not numbers; the message names it.
    """
    rows = _json_lines(path, ("model", "score", "lower", "upper", "results"))
    table = numbers(rows, ("score", "lower", "upper"), path)
    if odd := [row["model"] for row in rows if not isinstance(row["results"], list)]:
        raise ValueError(f"{path.name}: the results of {odd[0]} are not a list of draws")
    rounds = max(len(row["results"]) for row in rows)
    draws = {row["model"]: _all_rounds(row["results"], table.loc[row["model"]], rounds, path) for row in rows}
    return _draws(table, pd.DataFrame(draws).rename_axis(columns="model"), path)


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
    return _draws(table.sort_values("rating", ascending=False), draws, path)


def name_map(path: Path) -> dict[str, str]:
    """Read a map of model names between two benchmarks (``alpaca_to_arena.json`` and its like).

    ``arena_to_arena_hard.json`` leads to names in lower case; the draws of Arena-Hard have six of them with
    capitals.

    Parameters
    ----------
    path : pathlib.Path
        One JSON object of strings.

    Returns
    -------
    dict of str to str
        Name in the first benchmark of the file's name -> name in the second.

    Raises
    ------
    ValueError
        If it is not JSON, maps anything but strings, or maps two names to one.
    """
    names = read_json(path)
    if not all(isinstance(name, str) for name in names.values()):
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
        If the rows have no prompt; with ``unrepeat``, if a run of rows is not two games (the message names
        its prompt and models); :class:`~rearena.data.votes.VotesError` if a row is no vote.
    """
    battles = votes.read_votes(path)
    if "prompt_id" not in battles:
        raise ValueError(f"{path.name} lacks question_id: without the prompt, its games cannot be told apart")
    if not unrepeat:
        return battles
    keys = ["prompt_id", "model_a", "model_b"]
    starts = (battles[keys] != battles[keys].shift()).any(axis=1).to_numpy().nonzero()[0]
    heads = battles.loc[starts, keys].itertuples(index=False, name=None)
    games = []
    for head, outcomes in zip(heads, np.split(battles["outcome"].to_numpy(), starts[1:]), strict=True):
        for game, (outcome, repeats) in enumerate(
            _two_games(outcomes.tolist(), " / ".join(map(str, head))), start=1
        ):
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


def arena_hard_leaderboard(path: Path) -> pd.DataFrame:
    """Read the Arena-Hard leaderboard (``arena_hard_leaderboard_20240731.csv``).

    Parameters
    ----------
    path : pathlib.Path
        One row per model; other columns than those below are left out.

    Returns
    -------
    pandas.DataFrame
        Index ``model``: ``score``, ``lower``, ``upper`` (win rate against gpt-4-0314 in percent, 95 %),
        ``tokens`` (mean length of an answer).

    Raises
    ------
    ValueError
        If a column is missing, a model has no name or is listed twice, or a value is not a number.
    """
    names = {"score": "score", "rating_q025": "lower", "rating_q975": "upper", "avg_tokens": "tokens"}
    table = pd.read_csv(path)
    if missing := {"model", *names} - set(table):
        raise ValueError(f"{path.name} lacks {', '.join(sorted(missing))}")
    return numbers(table.to_dict("records"), names, path).rename(columns=names)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds one object.

    Parameters
    ----------
    path : pathlib.Path
        UTF-8 text.

    Returns
    -------
    dict
        The object, not empty.

    Raises
    ------
    ValueError
        If it is not JSON, or holds anything else; the message names the file.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name}: not valid JSON ({error})") from error
    if not isinstance(data, dict) or not data:
        raise ValueError(f"{path.name}: expected one JSON object with content, found {data!r:.40}")
    return data


def numbers(rows: Iterable[Any], columns: Iterable[str], path: Path) -> pd.DataFrame:
    """Frame of finite numbers by model.

    Parameters
    ----------
    rows : iterable of mappings
        Each with ``model`` and all of the columns.
    columns : iterable of str
        What to take of each row.
    path : pathlib.Path
        The file, for messages.

    Returns
    -------
    pandas.DataFrame
        Index ``model``, in the order of the rows; the columns as numbers.

    Raises
    ------
    ValueError
        If a model has no name or comes twice, or lacks a column or has no finite number there.
    """
    columns = list(columns)
    given = pd.DataFrame(
        [{name: row.get(name) for name in ("model", *columns)} for row in rows], dtype=object
    )
    _unique_names(given["model"], path)
    index = given.pop("model").astype("str")
    table: pd.DataFrame = given.set_index(index).apply(pd.to_numeric, errors="coerce")
    good = np.isfinite(table.to_numpy(dtype=float)).all(axis=1)
    if not good.all():
        raise ValueError(
            f"{path.name}: {table.index[good.argmin()]} lacks one of {', '.join(columns)}, as a number"
        )
    return table


def _unique_names(names: Iterable[Any], path: Path) -> None:
    seen = set()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"{path.name}: a model is called {name!r:.40}; expected a non-empty string")
        if name in seen:
            raise ValueError(f"{path.name} lists {name} twice")
        seen.add(name)


def _whole_numbers(data: Mapping[str, Any], name: str, width: int, path: Path) -> NDArray[np.int64]:
    """Rows of ``width`` whole numbers each; nothing is rounded."""
    rows = data[name] if isinstance(data[name], list) else [data[name]]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list) or len(row) != width or not all(type(value) is int for value in row):
            raise ValueError(f"{path.name}, {name}, row {number}: {row!r:.60} is not {width} whole numbers")
    return np.array(rows, dtype=np.int64).reshape(-1, width)


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


def _all_rounds(results: Any, estimate: pd.Series[Any], rounds: int, path: Path) -> NDArray[np.float64]:
    """One model's draws, an anchor's single draw repeated."""
    draws = pd.to_numeric(pd.Series(results), errors="coerce").to_numpy(dtype=float)
    if len(draws) == 1 and (estimate == draws[0]).all():
        return np.full(rounds, draws[0])
    if len(draws) != rounds or not np.isfinite(draws).all():
        usable = np.isfinite(draws).sum()
        raise ValueError(f"{path.name}: {estimate.name} has {usable} draws that are numbers, not {rounds}")
    return draws


def _draws(table: pd.DataFrame, draws: pd.DataFrame, path: Path) -> Draws:
    if odd := set(table.index) ^ set(draws):
        raise ValueError(f"{path.name}: estimates and draws are not of the same models: {odd}")
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

"""Loaders of released files, on small files of the same layout; ``tests/real`` reads the files themselves."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from rearena.data import pickles, released, rfiles

COUNTS = {"models": ["weak", "strong", "new"], "X": [[0, 1], [1, 2]], "Y": [[1, 7, 2, 3], [4, 0, 0, 5]]}


def written(tmp_path, content, name="file.json"):
    path = tmp_path / name
    lines = name.endswith("jsonl")
    text = "".join(json.dumps(row) + "\n" for row in content) if lines else json.dumps(content)
    path.write_text(content if isinstance(content, str) else text)
    return path


# Votes as counts


def test_counts_name_models_and_outcomes(tmp_path):
    counts = released.votes_as_counts(written(tmp_path, COUNTS))
    assert counts.to_dict("records") == [
        {"model_a": "weak", "model_b": "strong", "win": 1, "loss": 7, "tie": 2, "both_bad": 3},
        {"model_a": "strong", "model_b": "new", "win": 4, "loss": 0, "tie": 0, "both_bad": 5},
    ]


def test_counts_become_weighted_battles_without_empty_rows(tmp_path):
    battles = released.counts_to_battles(released.votes_as_counts(written(tmp_path, COUNTS)))
    found = {
        (row.model_a, row.model_b, row.outcome, row.both_bad): row.weight
        for row in battles.itertuples(index=False)
    }
    assert found == {
        ("weak", "strong", 1.0, False): 1,
        ("weak", "strong", 0.0, False): 7,
        ("weak", "strong", 0.5, False): 2,
        ("weak", "strong", 0.5, True): 3,
        ("strong", "new", 1.0, False): 4,
        ("strong", "new", 0.5, True): 5,
    }
    assert battles["weight"].sum() == sum(sum(row) for row in COUNTS["Y"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[0, 1], [1, 3]]}, "row 2: a pair is not of two of the listed models"),
        ({"X": [[0, 1], [-1, 2]]}, "row 2: a pair is not of two"),
        ({"X": [[1, 1], [1, 2]]}, "row 1: a pair is not of two"),
        ({"X": [[0, 1], [1, 0]]}, "row 2: this pair is listed before"),
        ({"Y": [[1, 7, 2, 3], [4, 0, -1, 5]]}, "row 2: a count is negative"),
        ({"Y": [[1, 7, 2], [4, 0, 5]]}, r"Y, row 1: \[1, 7, 2\] is not 4 whole numbers"),
        ({"Y": [[1, 7, 2, 3], [4, 0, 1.7, 5]]}, "Y, row 2: .* is not 4 whole numbers"),
        ({"Y": [[1, 7, 2, 3], [4, 0, True, 5]]}, "Y, row 2: .* is not 4 whole numbers"),
        ({"Y": [[1, 7, 2, 3], [4, 0, None, 5]]}, "Y, row 2: .* is not 4 whole numbers"),
        ({"Y": [[1, 7, 2, 3]]}, "X has 2 rows, Y 1"),
        ({"Y": 7}, "Y, row 1: 7 is not 4 whole numbers"),
        ({"X": [[0, 1], [1, 2, 0]]}, "X, row 2: .* is not 2 whole numbers"),
        ({"X": [[0, 1], [1, 2.0]]}, "X, row 2: .* is not 2 whole numbers"),
        ({"models": ["weak", "weak", "new"]}, "lists weak twice"),
        ({"models": ["weak", None, "new"]}, "a model is called None"),
        ({"models": ["weak", " ", "new"]}, "a model is called ' '"),
        ({"models": "abc"}, "models is not a list of names"),
    ],
)
def test_counts_that_do_not_fit_are_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"file\.json.*{message}"):
        released.votes_as_counts(written(tmp_path, {**COUNTS, **change}))


def test_counts_need_their_three_parts(tmp_path):
    with pytest.raises(ValueError, match=r"file\.json lacks X, Y"):
        released.votes_as_counts(written(tmp_path, {"models": []}))
    with pytest.raises(ValueError, match=r"file\.json: not valid JSON"):
        released.votes_as_counts(written(tmp_path, "{"))


# Chatbot Arena votes and ratings


def tagged_votes(tags=True):
    columns = {"id": ["p", "q", "r"], "model_a": ["a", "b", "b"], "model_b": ["b", "b", "c"]}
    columns["winner"] = ["model_b", "tie", "both_bad"]
    if tags:
        holds = {name: [i < 4, False, True] for i, name in enumerate(released.CRITERIA)}
        columns |= {f"category_tag/criteria_v0.1/{name}": flags for name, flags in holds.items()}
        for tag in ("creative_writing_v0.1/creative_writing", "math_v0.1/math", "if_v0.1/if"):
            columns[f"category_tag/{tag}"] = [False, True, True]
        columns["category_tag/if_v0.1/score"] = [0, 1, 5]
        columns["category_tag/creative_writing_v0.1/score"] = ["no", "yes", "noyes"]
    return pd.DataFrame(columns)


def test_votes_of_2025_lose_their_self_battles_aloud(tmp_path, monkeypatch):
    monkeypatch.setattr(rfiles, "read_frame", lambda _: tagged_votes())
    with pytest.warns(UserWarning, match=r"votes\.rds, row 2: 'b' against itself; dropped 1 such rows of 3"):
        battles = released.arena_votes_2025(tmp_path / "votes.rds")
    assert list(battles["prompt_id"]) == ["p", "r"]
    assert list(battles["outcome"]) == [0.0, 0.5]
    assert list(battles["both_bad"]) == [False, True]
    assert list(battles["quality"]) == [4, 7]
    assert list(battles["instruction_following_score"]) == [0, 5]
    assert list(battles["math"]) == [False, True]


def test_votes_of_2025_without_tags_have_no_quality(tmp_path, monkeypatch):
    monkeypatch.setattr(rfiles, "read_frame", lambda _: tagged_votes(tags=False).drop(index=1).reset_index())
    battles = released.arena_votes_2025(tmp_path / "votes.rds")
    assert list(battles) == ["model_a", "model_b", "outcome", "both_bad", "prompt_id"]


def test_one_missing_criterion_is_an_error(tmp_path, monkeypatch):
    table = tagged_votes().drop(columns="category_tag/criteria_v0.1/creativity")
    monkeypatch.setattr(rfiles, "read_frame", lambda _: table)
    with pytest.raises(ValueError, match=r"lacks the column\(s\) creativity"):
        released.arena_votes_2025(tmp_path / "votes.rds")


def test_ratings_of_2024_get_our_names(tmp_path, monkeypatch):
    columns = {"rating": [900.0, 1000.0], "variance": [4.0, 9.0], "rating_q975": [905.0, 1006.0]}
    columns |= {"rating_q025": [896.0, 994.0], "num_battles": [5, 7], "final_ranking": [2, 1]}
    table = pd.DataFrame(columns, index=["low", "high"])
    draws = pd.DataFrame({"high": [1001.0, 999.0], "low": [900.0, 899.0]})
    full = {"full": {"leaderboard_table_df": table, "bootstrap_df": draws}}
    monkeypatch.setattr(pickles, "load", lambda *_, **__: full)
    read = released.arena_ratings_20240329(tmp_path / "elo.pkl")
    assert list(read.table.index) == list(read.draws) == ["high", "low"]
    expected = {"rating": 900, "lower": 896, "upper": 905, "variance": 4, "battles": 5, "rank": 2}
    assert read.table.loc["low"].to_dict() == expected
    assert not read.sorted
    with pytest.raises(ValueError, match="no category 'english'; it has: full"):
        released.arena_ratings_20240329(tmp_path / "elo.pkl", "english")


# Bootstrap draws


def draws(model, results, score=50.0, lower=40.0, upper=60.0):
    return {"model": model, "score": score, "lower": lower, "upper": upper, "results": results}


def test_draws_by_model_and_the_anchor_is_repeated(tmp_path):
    rows = [draws("m", [45, 55, 50]), draws("anchor", [50], lower=50, upper=50), draws("n", [3, 2, 1])]
    read = released.bootstrap_draws(written(tmp_path, rows, "draws.jsonl"))
    assert list(read.table.index) == ["m", "anchor", "n"]
    assert read.table.loc["m"].to_dict() == {"score": 50, "lower": 40, "upper": 60}
    assert read.draws.to_dict("list") == {"m": [45, 55, 50], "anchor": [50, 50, 50], "n": [3, 2, 1]}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 2], [4, 5, 6], True),
        ([1, 2, 3], [4, 6, 5], False),
        ([7, 7, 7], [3, 1, 2], False),
        ([7, 7], [7, 7], False),
    ],
)
def test_sorted_draws_are_recognised(tmp_path, first, second, expected):
    path = written(tmp_path, [draws("m", first), draws("n", second)], "draws.jsonl")
    assert released.bootstrap_draws(path).sorted is expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (draws("n", [1, 2]), "n has 2 draws that are numbers, not 3"),
        (draws("n", [50]), "n has 1 draws that are numbers, not 3"),
        (draws("n", []), "n has 0 draws"),
        (draws("n", [1, None, 2]), "n has 2 draws that are numbers, not 3"),
        (draws("m", [1, 2, 3]), "lists m twice"),
        (draws("n", [1, 2, 3], lower=None), "n lacks one of score, lower, upper"),
        (draws("n", [1, "x", 3]), "n has 2 draws that are numbers, not 3"),
        (draws("n", None), "the results of n are not a list"),
        (draws("n", 7.5), "the results of n are not a list"),
        (draws("n", [[1], [2], [3]]), "n has 0 draws that are numbers"),
        (draws(None, [1, 2, 3]), "a model is called None"),
        (draws(" ", [1, 2, 3]), "a model is called ' '"),
        ({"model": "n", "score": 1, "lower": 1, "upper": 1}, "line 2 lacks results"),
        ([1], "line 2 lacks everything"),
    ],
)
def test_draws_that_are_missing_are_an_error_that_names_the_model(tmp_path, row, message):
    path = written(tmp_path, [draws("m", [1, 2, 3]), row], "draws.jsonl")
    with pytest.raises(ValueError, match=rf"draws\.jsonl.*{message}"):
        released.bootstrap_draws(path)


def test_numbers_in_quotes_come_out_as_numbers(tmp_path):
    rows = [draws("m", [45, "55", 50], score="50.5"), draws("n", [3, 2, 1])]
    read = released.bootstrap_draws(written(tmp_path, rows, "draws.jsonl"))
    assert read.table["score"].tolist() == [50.5, 50.0]
    assert read.table["score"].mean() == 50.25
    assert read.draws["m"].tolist() == [45, 55, 50]


def test_estimates_and_draws_of_other_models_name_the_file(tmp_path, monkeypatch):
    columns = ["rating", "variance", "rating_q975", "rating_q025", "num_battles", "final_ranking"]
    table = pd.DataFrame(1.0, index=["low"], columns=columns)
    full = {"full": {"leaderboard_table_df": table, "bootstrap_df": pd.DataFrame({"high": [1.0]})}}
    monkeypatch.setattr(pickles, "load", lambda *_, **__: full)
    with pytest.raises(ValueError, match=r"elo\.pkl: estimates and draws are not of the same models"):
        released.arena_ratings_20240329(tmp_path / "elo.pkl")


def test_a_name_map_is_one_to_one(tmp_path):
    assert released.name_map(written(tmp_path, {"a": "A", "b": "B"})) == {"a": "A", "b": "B"}
    for content, message in (
        ({"a": "A", "b": "A"}, "two names to one"),
        ({"a": 1}, "strings"),
        (["a"], r"file\.json: expected one JSON object"),
    ):
        with pytest.raises(ValueError, match=message):
            released.name_map(written(tmp_path, content))


# Arena-Hard battles


def arena_hard(tmp_path, *runs):
    """Each run: a model and its rows as letters (A, B, T)."""
    label = {"A": "model_a", "B": "model_b", "T": "tie"}
    rows = [
        {"question_id": prompt, "model_a": "base", "model_b": model, "winner": label[letter]}
        for prompt, model, letters in runs
        for letter in letters
    ]
    return written(tmp_path, rows, "battles.jsonl")


def test_every_two_games_come_back_from_their_repeats(tmp_path):
    score = {"A": 1.0, "B": 0.0, "T": 0.5}
    verdicts = [("A", 1), ("A", 3), ("B", 1), ("B", 3), ("T", 1)]
    pairs = [(first, second) for first in verdicts for second in verdicts]
    runs = [(f"p{i}", "m", a * n + b * k) for i, ((a, n), (b, k)) in enumerate(pairs)]
    games = released.arena_hard_battles(arena_hard(tmp_path, *runs), unrepeat=True)
    for i, ((a, n), (b, k)) in enumerate(pairs):
        rows = games[games["prompt_id"] == f"p{i}"]
        assert list(rows["game"]) == [1, 2]
        assert list(rows["outcome"]) == [score[a], score[b]]
        open_run = a == b and n != k
        assert list(rows["repeats"]) == ([2.0, 2.0] if open_run else [n, k])


def test_unrepeated_games_weighted_by_repeats_are_the_file(tmp_path):
    path = arena_hard(tmp_path, ("p", "m", "AAAB"), ("p", "n", "BBBB"), ("q", "m", "TA"))
    keys = ["model_b", "prompt_id", "outcome"]
    weights = released.arena_hard_battles(path, unrepeat=True).groupby(keys)["repeats"].sum()
    pd.testing.assert_series_equal(
        weights, released.arena_hard_battles(path).groupby(keys).size(), check_dtype=False, check_names=False
    )


@pytest.mark.parametrize("letters", ["A", "AAA", "TTTA", "AABB", "ABA", "AABBBB", "TTTTTT", "AAAAAAAA"])
def test_rows_that_are_not_two_games_are_refused(tmp_path, letters):
    with pytest.raises(ValueError, match=r"p / base / m: outcomes .* are not two games"):
        released.arena_hard_battles(arena_hard(tmp_path, ("p", "m", letters)), unrepeat=True)


def test_scattered_rows_are_refused(tmp_path):
    path = arena_hard(tmp_path, ("p", "m", "AB"), ("q", "m", "AB"), ("p", "m", "AB"))
    with pytest.raises(ValueError, match="do not stand together"):
        released.arena_hard_battles(path, unrepeat=True)


@pytest.mark.parametrize("unrepeat", [False, True])
def test_battles_without_a_prompt_are_refused(tmp_path, unrepeat):
    rows = [{"model_a": "base", "model_b": "m", "winner": "tie"}] * 2
    with pytest.raises(ValueError, match=r"battles\.jsonl lacks question_id"):
        released.arena_hard_battles(written(tmp_path, rows, "battles.jsonl"), unrepeat)


# llmfao

MODELS = [{"id": 4, "name": "Left 7B"}, {"id": 9, "name": "Right 13B"}]
VOTES = "id,prompt,model_x,model_y,worker,winner,left,right\n"


def test_left_is_model_a(tmp_path):
    models = written(tmp_path, MODELS, "models.jsonl")
    lines = [
        "0,8,4,9,58,left,Left 7B,Right 13B",
        "0,8,4,9,7,right,Left 7B,Right 13B",
        "1,5,9,4,7,tie,Right 13B,Left 7B",
    ]
    battles = released.llmfao_votes(written(tmp_path, VOTES + "\n".join(lines), "votes.csv"), models)
    assert battles.to_dict("list") == {
        "model_a": ["Left 7B", "Left 7B", "Right 13B"],
        "model_b": ["Right 13B", "Right 13B", "Left 7B"],
        "outcome": [1.0, 0.0, 0.5],
        "prompt_id": [8, 8, 5],
        "voter": [58, 7, 7],
        "pair": [0, 0, 1],
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,8,4,9,58,left,Right 13B,Left 7B", "row 1: left is not the name of model_x"),
        ("0,8,4,5,58,left,Left 7B,Right 13B", "row 1: right is not the name of model_y"),
        (
            "0,8,4,9,58,model_a,Left 7B,Right 13B",
            "row 1: winner is 'model_a'; expected one of left, right, tie",
        ),
    ],
)
def test_crossed_names_and_unknown_labels_are_refused(tmp_path, line, message):
    models = written(tmp_path, MODELS, "models.jsonl")
    with pytest.raises(ValueError, match=rf"votes\.csv, {message}"):
        released.llmfao_votes(written(tmp_path, VOTES + line, "votes.csv"), models)


# Ratings and leaderboards


def test_official_ratings_leave_out_who_was_not_on_the_board(tmp_path):
    path = written(tmp_path, ",a,b\n20240812,1000.5,0.0\n20240813,990.0,1010.0\n", "result.csv")
    board = released.official_ratings(path)
    assert board.to_dict("list") == {
        "date": [pd.Timestamp("2024-08-12"), *[pd.Timestamp("2024-08-13")] * 2],
        "model": ["a", "b", "a"],
        "rating": [1000.5, 1010.0, 990.0],
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("20241301,1.0", "row 1: the date"),
        ("20240813,1.0\n20240813,2.0", "row 2: the date"),
        ("20240812,1.0\n20240813,-1.0", "row 2: a rating"),
        ("20240812,x", "row 1: a rating"),
    ],
)
def test_official_ratings_that_cannot_be_are_refused(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        released.official_ratings(written(tmp_path, f",a\n{rows}\n", "result.csv"))


def test_arena_hard_leaderboard(tmp_path):
    header = "model,score,rating_q025,rating_q975,CI,avg_tokens,date\n"
    row = 'm,82.63,80.75,84.6,"(-1.88, +1.97)",662.0,2024-07-31\n'
    board = released.arena_hard_leaderboard(written(tmp_path, header + row, "board.csv"))
    assert board.loc["m"].to_dict() == {"score": 82.63, "lower": 80.75, "upper": 84.6, "tokens": 662.0}
    with pytest.raises(ValueError, match=r"board\.csv lists m twice"):
        released.arena_hard_leaderboard(written(tmp_path, header + row + row, "board.csv"))
    for bad, message in ((row.replace("82.63", "high"), "m lacks one of score"), (row[1:], "is called nan")):
        with pytest.raises(ValueError, match=rf"board\.csv.*{message}"):
            released.arena_hard_leaderboard(written(tmp_path, header + bad, "board.csv"))
    with pytest.raises(ValueError, match="lacks avg_tokens"):
        released.arena_hard_leaderboard(
            written(tmp_path, "model,score,rating_q025,rating_q975\n", "board.csv")
        )

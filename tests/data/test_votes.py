"""Votes from files: every format gives the same battles, every defect is named with its row."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rearena.data import votes

ROWS = [
    {"model_a": "vicuna-13b", "model_b": "gpt-4", "winner": "model_b", "question_id": "q1"},
    {"model_a": "gpt-4", "model_b": "koala", "winner": "model_a", "question_id": "q2"},
    {"model_a": "koala", "model_b": "vicuna-13b", "winner": "tie", "question_id": "q3"},
    {"model_a": "koala", "model_b": "gpt-4", "winner": "tie (bothbad)", "question_id": "q4"},
]
OUTCOMES = [0.0, 1.0, 0.5, 0.5]
ONE_HOT = [
    {"model_a": "a", "model_b": "b", "winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0},
    {"model_a": "a", "model_b": "b", "winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0},
    {"model_a": "a", "model_b": "b", "winner_model_a": 0, "winner_model_b": 0, "winner_tie": 1},
]


def as_json(rows: list[dict], path: Path) -> None:
    path.write_text(json.dumps(rows))


def as_columns(rows: list[dict], path: Path) -> None:
    pd.DataFrame(rows).to_json(path)


def as_lines(rows: list[dict], path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def as_csv(rows: list[dict], path: Path) -> None:
    pd.DataFrame(rows).to_csv(path, index=False)


def as_parquet(rows: list[dict], path: Path) -> None:
    pd.DataFrame(rows).to_parquet(path)


FORMATS = [
    pytest.param(as_json, "votes.json", id="json"),
    pytest.param(as_columns, "clean_battle_20240814.json", id="columns"),
    pytest.param(as_lines, "votes.jsonl", id="jsonl"),
    pytest.param(as_csv, "votes.csv", id="csv"),
    pytest.param(as_parquet, "votes.parquet", id="parquet"),
    pytest.param(as_csv, "votes.csv.gz", id="csv.gz"),
]


def changed(row: int, **values: object) -> list[dict]:
    return [{**line, **(values if i == row else {})} for i, line in enumerate(ROWS)]


@pytest.mark.parametrize(("write", "name"), FORMATS)
def test_every_format_gives_the_same_battles(tmp_path, write, name):
    write(ROWS, tmp_path / name)
    battles = votes.read_votes(tmp_path / name)
    assert list(battles["model_a"]) == [row["model_a"] for row in ROWS]
    assert list(battles["model_b"]) == [row["model_b"] for row in ROWS]
    assert list(battles["outcome"]) == OUTCOMES
    assert list(battles["both_bad"]) == [False, False, False, True]
    assert list(battles["prompt_id"]) == ["q1", "q2", "q3", "q4"]
    assert votes.validate_battles(battles) is battles


@pytest.mark.parametrize(("write", "name"), FORMATS)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"winner": "Model_A"}, "winner is 'Model_A'; expected one of model_a, model_b, tie"),
        ({"winner": None}, "winner is"),
        ({"model_b": None}, "model_b is"),
        ({"model_a": " "}, "model_a is ' '; expected a non-empty string"),
        ({"model_a": "koala", "model_b": "koala"}, "'koala' against itself"),
    ],
)
def test_a_bad_row_is_an_error_that_names_file_and_row(tmp_path, write, name, values, message):
    write(changed(2, **values), tmp_path / name)
    place = rf"{re.escape(name)}, (row|line) 3: "
    with pytest.raises(votes.VotesError, match=place + message):
        votes.read_votes(tmp_path / name)


@pytest.mark.parametrize(("write", "name"), FORMATS)
@pytest.mark.parametrize("column", ["model_a", "model_b", "winner"])
def test_a_missing_column_is_an_error_that_names_it(tmp_path, write, name, column):
    write([{key: value for key, value in row.items() if key != column} for row in ROWS], tmp_path / name)
    with pytest.raises(votes.VotesError, match=rf"{name}.*{column}"):
        votes.read_votes(tmp_path / name)


@pytest.mark.parametrize("name", ["votes.json", "votes.jsonl", "votes.csv", "votes.csv.gz"])
@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_an_error(tmp_path, name, content):
    data = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with pytest.raises(votes.VotesError, match=f"{name} is empty"):
        votes.read_votes(tmp_path / name)


def test_a_file_without_rows_is_an_error(tmp_path):
    (tmp_path / "votes.csv").write_text("model_a,model_b,winner\n")
    (tmp_path / "votes.json").write_text("[]")
    for name in ("votes.csv", "votes.json"):
        with pytest.raises(votes.VotesError, match=f"{name} is empty"):
            votes.read_votes(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("votes.json", '[{"model_a": "a",', "votes.json cannot be read as json"),
        ("votes.json", "[" * 100_000, "votes.json cannot be read as json"),
        ("votes.jsonl", "[" * 100_000, "votes.jsonl, line 1: not valid JSON"),
        ("votes.json", "[1, 2]", "votes.json, row 1: expected a JSON object, found 1"),
        ("votes.json", '{"model_a": "a"}', "expected a JSON array of records"),
        ("votes.json", '{"model_a": {"0": "a"}, "model_b": {"1": "b"}}', "do not have the same rows"),
        ("votes.csv", 'model_a,model_b,winner\na,b,tie\na,b,tie,"x"\n', "line 3"),
        ("votes.csv.gz", "not compressed", "cannot be read as csv"),
        ("votes.parquet", "PAR1 but not really", "votes.parquet cannot be read as parquet"),
        ("votes.xlsx", "", r"unknown kind of file; expected \.json"),
    ],
)
def test_unreadable_files_are_an_error(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(votes.VotesError, match=message):
        votes.read_votes(tmp_path / name)


@pytest.mark.parametrize("bad", ['{"model_a": "a"', "[]", "3", '{"model_a": "a",\n"model_b": "b"}', "{} {}"])
def test_a_broken_line_is_named_by_its_number_blank_lines_counted(tmp_path, bad):
    good = json.dumps(ROWS[0])
    (tmp_path / "votes.jsonl").write_text(f"{good}\n\n{good}\n{bad}\n{good}\n")
    with pytest.raises(votes.VotesError, match=r"votes\.jsonl, line 4"):
        votes.read_votes(tmp_path / "votes.jsonl")


def test_the_line_of_a_bad_row_counts_blank_lines(tmp_path):
    lines = [json.dumps(row) for row in changed(1, winner="draw")]
    (tmp_path / "votes.jsonl").write_text(f"{lines[0]}\n\n\n{lines[1]}\n")
    with pytest.raises(votes.VotesError, match=r"votes\.jsonl, line 4: winner is 'draw'"):
        votes.read_votes(tmp_path / "votes.jsonl")


def test_a_key_that_only_later_rows_lack_is_a_missing_value(tmp_path):
    rows = [ROWS[0], {key: value for key, value in ROWS[1].items() if key != "model_b"}]
    as_lines(rows, tmp_path / "votes.jsonl")
    with pytest.raises(votes.VotesError, match=r"line 2: model_b is"):
        votes.read_votes(tmp_path / "votes.jsonl")


def test_many_lines_are_one_table_whatever_the_later_ones_add(tmp_path):
    late = [{**row, "language": "Polish"} for row in ROWS]
    as_lines(ROWS * 3000 + late, tmp_path / "votes.jsonl")
    battles = votes.read_votes(tmp_path / "votes.jsonl")
    assert list(battles["prompt_id"]) == ["q1", "q2", "q3", "q4"] * 3001
    assert list(battles["outcome"]) == OUTCOMES * 3001
    assert list(battles["language"].dropna().index) == [12_000, 12_001, 12_002, 12_003]
    as_lines(ROWS * 3000 + [{**ROWS[0], "winner": "draw"}], tmp_path / "votes.jsonl")
    with pytest.raises(votes.VotesError, match="line 12001: winner is 'draw'"):
        votes.read_votes(tmp_path / "votes.jsonl")


@pytest.mark.parametrize(("write", "name"), FORMATS)
def test_one_column_per_outcome(tmp_path, write, name):
    write(ONE_HOT, tmp_path / name)
    battles = votes.read_votes(tmp_path / name)
    assert list(battles["outcome"]) == [1.0, 0.0, 0.5]
    assert "both_bad" not in battles


@pytest.mark.parametrize("column", ["winner_tie (bothbad)", "winner_both_bad"])
def test_one_column_per_outcome_with_bad_ties(tmp_path, column):
    rows = [{**row, column: 0} for row in ONE_HOT]
    rows.append({**rows[0], "winner_model_a": 0, column: 1})
    as_csv(rows, tmp_path / "votes.csv")
    battles = votes.read_votes(tmp_path / "votes.csv")
    assert list(battles["outcome"]) == [1.0, 0.0, 0.5, 0.5]
    assert list(battles["both_bad"]) == [False, False, False, True]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"winner_tie": 1}, "the number of 1s among .* is 2.0; expected exactly one"),
        ({"winner_model_b": 0}, "the number of 1s among .* is 0.0; expected exactly one"),
        ({"winner_model_b": 2}, "winner_model_b is 2; expected 0 or 1"),
        ({"winner_model_b": None}, "winner_model_b is nan; expected 0 or 1"),
    ],
)
def test_ambiguous_columns_are_an_error_that_names_the_row(tmp_path, values, message):
    rows = [ONE_HOT[0], {**ONE_HOT[1], **values}, ONE_HOT[2]]
    as_csv(rows, tmp_path / "votes.csv")
    with pytest.raises(votes.VotesError, match=rf"votes\.csv, row 2: {message}"):
        votes.read_votes(tmp_path / "votes.csv")


def test_both_ways_of_saying_who_won_at_once_are_an_error(tmp_path):
    as_csv([{**ONE_HOT[0], "winner": "model_a"}], tmp_path / "votes.csv")
    with pytest.raises(votes.VotesError, match="has both winner and winner_model_a"):
        votes.read_votes(tmp_path / "votes.csv")


def test_self_battles_are_dropped_aloud_when_asked(tmp_path):
    as_csv(changed(1, model_a="koala"), tmp_path / "votes.csv")
    with pytest.warns(
        UserWarning, match=r"votes\.csv, row 2: 'koala' against itself; dropped 1 .* of 4"
    ) as caught:
        battles = votes.read_votes(tmp_path / "votes.csv", on_self_battle="drop")
    assert list(battles["prompt_id"]) == ["q1", "q3", "q4"]
    assert list(battles.index) == [0, 1, 2]
    assert caught[0].filename == __file__


def test_a_misspelt_choice_is_an_error(tmp_path):
    as_csv(ROWS, tmp_path / "votes.csv")
    with pytest.raises(ValueError, match="on_self_battle is 'ignore'"):
        votes.read_votes(tmp_path / "votes.csv", on_self_battle="ignore")
    with pytest.raises(votes.VotesError, match="unknown format 'tsv'"):
        votes.read_votes(tmp_path / "votes.csv", format="tsv")


def test_format_can_be_given_where_the_name_does_not_tell(tmp_path):
    as_lines(ROWS, tmp_path / "votes.txt")
    assert len(votes.read_votes(tmp_path / "votes.txt", format="jsonl")) == 4


@pytest.mark.parametrize("voter", ["voter", "judge", "user_id", "judge_hash"])
@pytest.mark.parametrize(
    ("time", "value"),
    [
        ("tstamp", 1682351591.5),
        ("timestamp", "2023-04-24T15:53:11.500"),
        ("time", "2023-04-24T17:53:11.5+02:00"),
    ],
)
def test_voter_time_language_and_category_are_kept_under_one_name(tmp_path, voter, time, value):
    extra = {
        voter: "v7",
        time: value,
        "language": "Polish",
        "category_tag": {"if": True},
        "conversation": "...",
    }
    as_lines([{**ROWS[0], **extra}], tmp_path / "votes.jsonl")
    battles = votes.read_votes(tmp_path / "votes.jsonl")
    kept = battles.drop(columns=["model_a", "model_b", "outcome"]).iloc[0].to_dict()
    assert kept == {
        "prompt_id": "q1",
        "voter": "v7",
        "language": "Polish",
        "category": {"if": True},
        "time": pd.Timestamp("2023-04-24 15:53:11.5", tz="UTC"),
    }


@pytest.mark.parametrize("value", ["yesterday", 1682351591500, -1])
def test_a_time_that_is_none_is_an_error(tmp_path, value):
    as_lines([{**row, "tstamp": value} for row in ROWS], tmp_path / "votes.jsonl")
    with pytest.raises(votes.VotesError, match=r"line 1: time is .*expected seconds since 1970 or ISO 8601"):
        votes.read_votes(tmp_path / "votes.jsonl")


def test_a_missing_time_stays_missing(tmp_path):
    as_lines([{**ROWS[0], "tstamp": None}, {**ROWS[1], "tstamp": 946684800}], tmp_path / "votes.jsonl")
    times = votes.read_votes(tmp_path / "votes.jsonl")["time"]
    assert list(times.isna()) == [True, False]
    assert times[1] == pd.Timestamp("2000-01-01", tz="UTC")


@pytest.mark.parametrize(("write", "name"), FORMATS)
def test_other_columns_only_when_asked_for(tmp_path, write, name):
    write([{**row, "turn": i, "anony": True} for i, row in enumerate(ROWS)], tmp_path / name)
    assert "turn" not in votes.read_votes(tmp_path / name)
    battles = votes.read_votes(tmp_path / name, keep=["turn"])
    assert list(battles["turn"]) == [0, 1, 2, 3]
    assert "anony" not in battles
    with pytest.raises(votes.VotesError, match=r"lacks the column\(s\) colour"):
        votes.read_votes(tmp_path / name, keep=["colour"])
    with pytest.raises(ValueError, match="weight"):
        votes.read_votes(tmp_path / name, keep=["weight"])


@pytest.mark.parametrize("value", [True, 20240101, 946684799, ["2024-01-01"]])
def test_values_that_are_no_time_in_seconds_are_refused(tmp_path, value):
    rows = [{**row, "timestamp": value} for row in ROWS]
    as_lines(rows, tmp_path / "votes.jsonl")
    with pytest.raises(votes.VotesError, match=r"line 1: time is .*expected seconds since 1970"):
        votes.read_votes(tmp_path / "votes.jsonl")


@pytest.mark.parametrize("odd", [1682351591, True, 3.5])
def test_a_number_among_times_in_text_is_refused(tmp_path, odd):
    times = ["2023-04-24T15:53:11", None, odd, "2023-04-24"]
    as_lines([{**row, "time": time} for row, time in zip(ROWS, times, strict=True)], tmp_path / "votes.jsonl")
    with pytest.raises(votes.VotesError, match=r"line 3: time is .*the same in all rows.*\(1 such rows\)"):
        votes.read_votes(tmp_path / "votes.jsonl")


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64"])
def test_seconds_may_be_missing_in_any_numeric_column(dtype):
    times = pd.Series([1682351591, None, 946684800], dtype=dtype)
    battles = votes.battles_from(pd.DataFrame(ROWS[:3]).assign(tstamp=times), "mine")
    expected = pd.to_datetime(pd.Series(["2023-04-24T15:53:11Z", None, "2000-01-01T00:00:00Z"]))
    assert battles["time"].isna().tolist() == [False, True, False]
    assert battles["time"].dropna().tolist() == expected.dropna().tolist()


def test_columns_are_paired_by_the_names_of_their_rows(tmp_path):
    columns = {name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]}
    columns["winner"] = dict(reversed(columns["winner"].items()))
    columns["question_id"] = dict(sorted(columns["question_id"].items(), key=lambda item: item[1] == "q1"))
    (tmp_path / "votes.json").write_text(json.dumps(columns))
    battles = votes.read_votes(tmp_path / "votes.json")
    assert list(battles["model_a"]) == [row["model_a"] for row in ROWS]
    assert list(battles["outcome"]) == OUTCOMES
    assert list(battles["prompt_id"]) == ["q1", "q2", "q3", "q4"]


def test_a_field_more_than_the_header_is_refused_by_its_line(tmp_path):
    header, good, long = "model_a,model_b,winner", "a,b,tie", "x,a,b,model_a"
    for rows, line in (
        ([long, long], 2),
        ([long, good], 2),
        ([good, long], 3),
        (["a,b,tie,", "a,b,tie,"], 2),
    ):
        (tmp_path / "votes.csv").write_text("\n".join([header, *rows]) + "\n")
        with pytest.raises(
            votes.VotesError, match=rf"votes\.csv cannot be read as csv.*in line {line}, saw 4"
        ):
            votes.read_votes(tmp_path / "votes.csv")


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "votes.csv").write_text("model_a,model_b,winner,winner\na,b,model_a,model_b\n")
    with pytest.raises(votes.VotesError, match=r"votes\.csv has the column\(s\) winner more than once"):
        votes.read_votes(tmp_path / "votes.csv")
    table = pd.DataFrame([["a", "b", "tie", "model_a"]], columns=["model_a", "model_b", "winner", "winner"])
    with pytest.raises(votes.VotesError, match=r"mine has the column\(s\) winner more than once"):
        votes.battles_from(table, "mine")


def test_columns_without_a_name_are_no_double(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "votes.csv")  # with pandas' index, whose header is empty
    assert list(votes.read_votes(tmp_path / "votes.csv")["outcome"]) == OUTCOMES


@pytest.mark.parametrize(("write", "name"), FORMATS)
def test_nothing_left_without_self_battles_is_an_error(tmp_path, write, name):
    write([{**row, "model_a": "x", "model_b": "x"} for row in ROWS], tmp_path / name)
    with pytest.raises(votes.VotesError, match=rf"{re.escape(name)}.*no votes are left"):
        votes.read_votes(tmp_path / name, on_self_battle="drop")


def test_a_table_without_rows_is_an_error():
    with pytest.raises(votes.VotesError, match="mine is empty"):
        votes.battles_from(pd.DataFrame(ROWS).iloc[:0], "mine")


def test_a_kept_column_may_not_replace_one_of_the_battles():
    table = pd.DataFrame(ROWS).assign(outcome="cat")
    with pytest.raises(ValueError, match=r"keep names \['outcome'\]"):
        votes.battles_from(table, "mine", keep=["outcome"])


def test_damaged_parquet_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "votes.parquet"
    pd.DataFrame(ROWS * 500).assign(question_id=[f"q{i}" for i in range(2000)]).to_parquet(path)
    good = path.read_bytes()
    for start in range(4, len(good) - 8, len(good) // 12):
        path.write_bytes(
            good[:start] + bytes(byte ^ 0xFF for byte in good[start : start + 40]) + good[start + 40 :]
        )
        with contextlib.suppress(votes.VotesError):  # which names the file; a change may also go unnoticed
            votes.read_votes(path)
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(votes.VotesError, match=r"votes\.parquet cannot be read as parquet"):
        votes.read_votes(path)
    page = good.index(b"q1999")  # in the statistics, after all pages of the column
    path.write_bytes(good[:4] + bytes(page - 4) + good[page:])
    with pytest.raises(votes.VotesError, match=r"votes\.parquet cannot be read as parquet"):
        votes.read_votes(path)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    for name in ("votes.parquet", "votes.jsonl"):
        with pytest.raises(FileNotFoundError):
            votes.read_votes(tmp_path / name)


def test_two_objects_on_a_line_are_not_made_good_by_one_on_two_lines(tmp_path):
    good = [json.dumps(row) for row in ROWS]
    cut = good[2].index(",")
    lines = [f"{good[0]},{good[1]}", good[2][:cut], good[2][cut + 1 :], good[3]]
    (tmp_path / "votes.jsonl").write_text("\n".join(lines))
    with pytest.raises(votes.VotesError, match=r"votes\.jsonl, line 1: expected one JSON object"):
        votes.read_votes(tmp_path / "votes.jsonl")


@pytest.mark.parametrize(("write", "name"), [FORMATS[i].values for i in (0, 2, 3)])
def test_a_byte_order_mark_is_no_content(tmp_path, write, name):
    write(ROWS, tmp_path / name)
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + (tmp_path / name).read_bytes())
    assert list(votes.read_votes(tmp_path / name)["outcome"]) == OUTCOMES


def test_names_may_be_categories_and_only_text():
    table = pd.DataFrame(ROWS)
    for good in (table["model_b"].astype("category"), table["model_b"].astype(object).astype("category")):
        assert list(votes.battles_from(table.assign(model_b=good), "mine")["model_b"]) == list(
            table["model_b"]
        )
    for bad in ([1, 2, None, 3], [1, 2, 3, 4], ["a", "b", None, "c"]):
        line = 1 if bad[0] == 1 else 3
        with pytest.raises(
            votes.VotesError, match=f"mine, row {line}: model_b is .*expected a non-empty string"
        ):
            votes.battles_from(table.assign(model_b=pd.Categorical(bad)), "mine")


def hand_built(**columns: list) -> pd.DataFrame:
    return pd.DataFrame({"model_a": ["a", "b"], "model_b": ["b", "c"], "outcome": [1.0, 0.5], **columns})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"outcome": [1.0, 0.7]}, "mine, row 2: outcome is .*0.7"),
        ({"outcome": [float("nan"), 1.0]}, "mine, row 1: outcome is .*nan"),
        ({"model_b": ["b", "b"]}, "mine, row 2: 'b' against itself"),
        ({"model_a": ["a", ""]}, "mine, row 2: model_a is ''"),
        ({"model_a": ["a", 7]}, "mine, row 2: model_a is 7; expected a non-empty string"),
        ({"model_a": [None, "b"]}, "mine, row 1: model_a is"),
        ({"weight": [1.0, -1.0]}, "mine, row 2: weight is .*-1"),
        ({"weight": [1.0, float("inf")]}, "mine, row 2: weight is .*inf"),
        ({"weight": [None, 1.0]}, "mine, row 1: weight is"),
        ({"both_bad": [True, True]}, "mine, row 1: outcome is .*1.0.*both_bad marks a tie"),
    ],
)
def test_battles_built_by_hand_are_checked(columns, message):
    with pytest.raises(votes.VotesError, match=message):
        votes.validate_battles(hand_built(**columns), "mine")


def test_good_battles_built_by_hand_pass():
    battles = hand_built(weight=[0.0, 2.5], both_bad=[False, True])
    assert votes.validate_battles(battles) is battles
    names = {side: battles[side].astype("category") for side in ("model_a", "model_b")}
    votes.validate_battles(battles.assign(**names))


@pytest.mark.parametrize("column", ["model_a", "model_b", "outcome"])
def test_battles_need_their_columns_and_a_row(column):
    with pytest.raises(votes.VotesError, match=rf"lacks the column\(s\) {column}"):
        votes.validate_battles(hand_built().drop(columns=column))
    with pytest.raises(votes.VotesError, match="no rows"):
        votes.validate_battles(hand_built().iloc[:0])


names = st.text(min_size=1, max_size=8).filter(lambda name: name.strip())
rows = st.tuples(names, names, st.sampled_from(sorted(votes.LABELS))).filter(lambda row: row[0] != row[1])


@given(st.lists(rows, min_size=1, max_size=20))
def test_any_names_survive_a_file(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("votes") / "votes.jsonl"
    as_lines([dict(zip(("model_a", "model_b", "winner"), row, strict=True)) for row in drawn], path)
    battles = votes.read_votes(path)
    assert list(zip(battles["model_a"], battles["model_b"], strict=True)) == [row[:2] for row in drawn]
    score = {"model_a": 1.0, "model_b": 0.0}
    assert list(battles["outcome"]) == [score.get(row[2], 0.5) for row in drawn]


@given(st.binary(max_size=200), st.sampled_from(["json", "jsonl", "csv", "parquet"]))
def test_no_bytes_give_anything_but_an_error_that_names_the_file(tmp_path_factory, content, kind):
    path = tmp_path_factory.mktemp("votes") / f"noise.{kind}"
    path.write_bytes(content)
    with pytest.raises(votes.VotesError, match="noise"):
        votes.read_votes(path)

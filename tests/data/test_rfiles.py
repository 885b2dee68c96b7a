"""R data, written here in R's ASCII serialisation from its documented layout (R Internals, section 1.8)."""

from __future__ import annotations

import pandas as pd
import pytest

from rearena.data import rfiles

NIL = ["254"]


def text(value: str | None) -> list[str]:
    return ["9", "-1"] if value is None else [str(9 | 64 << 12), str(len(value)), value]


def vector(kind: int, values: list) -> list[str]:
    cells = (
        [text(value) for value in values]
        if kind == 16
        else [["NA" if v is None else str(int(v))] for v in values]
    )
    return [str(kind), str(len(values)), *(line for cell in cells for line in cell)]


def attribute(name: str, value: list[str]) -> list[str]:
    return ["1026", "1", *text(name), *value]


def frame(columns: dict[str, list[str]], rows: int, classes: tuple[str, ...]) -> list[str]:
    cells = [line for column in columns.values() for line in column]
    names = attribute("names", vector(16, list(columns)))
    row_names = attribute("row.names", vector(13, [None, -rows]))
    kind = attribute("class", vector(16, list(classes)))
    return ["787", str(len(columns)), *cells, *names, *row_names, *kind, *NIL]


def written(tmp_path, lines: list[str]):
    path = tmp_path / "votes.rds"
    path.write_text("\n".join(["A", "2", "197888", "131840", *lines]) + "\n")
    return path


TIBBLE = ("tbl_df", "tbl", "data.frame")


def test_nested_frames_become_one_column_per_leaf(tmp_path):
    inner = frame({"hard": vector(10, [1, 0])}, 2, TIBBLE)
    tags = frame({"criteria": inner, "score": vector(13, [4, 5])}, 2, TIBBLE)
    path = written(tmp_path, frame({"id": vector(16, ["p", "q"]), "tag": tags}, 2, ("data.frame",)))
    expected = {"id": ["p", "q"], "tag/criteria/hard": [True, False], "tag/score": [4, 5]}
    table = rfiles.read_frame(path)
    assert table.to_dict("list") == expected
    assert table["tag/criteria/hard"].dtype == bool


def test_missing_values_stay_missing(tmp_path):
    columns = {"n": vector(13, [7, None]), "flag": vector(10, [None, 1]), "name": vector(16, [None, "x"])}
    table = rfiles.read_frame(written(tmp_path, frame(columns, 2, ("data.frame",))))
    assert table["n"][0] == 7
    assert table["n"][1] is pd.NA
    assert table["flag"][0] is pd.NA
    assert table["flag"][1]
    assert table["name"].isna().tolist() == [True, False]


def test_columns_of_different_lengths_are_refused(tmp_path):
    columns = {"a": vector(13, [1, 2]), "b": vector(13, [1, 2, 3])}
    with pytest.raises(ValueError, match=r"votes\.rds has columns of different lengths"):
        rfiles.read_frame(written(tmp_path, frame(columns, 2, ("data.frame",))))


def test_a_vector_is_not_a_frame(tmp_path):
    with pytest.raises(ValueError, match="not one data frame"):
        rfiles.read_frame(written(tmp_path, vector(16, ["x"])))


@pytest.mark.parametrize("content", [b"", b"model_a,model_b\n", b"X\n\x00\x00\x00\x02", b"A\n2\n197888\n"])
def test_other_bytes_are_refused_with_the_name_of_the_file(tmp_path, content):
    path = tmp_path / "votes.rds"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"votes\.rds is not R data"):
        rfiles.read_frame(path)

"""The hand-kept maps between names: each leads one model to one model."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from rearena import project
from rearena.data import names, published

MAPS = ["leaderbot_to_board", "wildbench_to_leaderboard"]


def rows(pair: str) -> list[list[str]]:
    with (project.root() / "data" / "names" / f"{pair}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("pair", MAPS)
def test_a_map_is_its_file_and_leads_one_name_to_one_name(pair: str) -> None:
    header, *listed = rows(pair)
    assert header == pair.split("_to_")
    found = names.between(pair)
    assert [[one, other] for one, other in found.items()] == listed
    assert len(set(found.values())) == len(found)
    assert all(name == name.strip() != "" for entry in listed for name in entry)


def test_there_is_no_other_map() -> None:
    assert sorted(file.stem for file in (project.root() / "data" / "names").glob("*.csv")) == sorted(MAPS)


def test_the_two_names_are_of_one_size_and_version() -> None:
    # Numbers that both names spell out must be the same: 7B is not 70B, 3 is not 2.
    for one, other in names.between("wildbench_to_leaderboard").items():
        sizes = [re.findall(r"(?<![\w.])(?:\d+x)?\d+b(?![a-z])", name.lower()) for name in (one, other)]
        assert sizes[0] == sizes[1], (one, other)


def test_wildbench_names_are_those_of_its_printed_table() -> None:
    printed = set(published.table("wildbench_table2")["model"])
    assert set(names.between("wildbench_to_leaderboard")) <= printed


def test_quotes_and_line_ends_are_read_as_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data" / "names"
    folder.mkdir(parents=True)
    (folder / "leaderbot_to_board.csv").write_bytes('leaderbot,board\r\n"a, b",Größe\r\n'.encode())
    monkeypatch.setattr(names, "root", lambda: tmp_path)
    assert names.between("leaderbot_to_board") == {"a, b": "Größe"}


@pytest.mark.parametrize("pair", ["leaderbot", "../names/leaderbot_to_board", "../sources", ""])
def test_an_unknown_map_is_answered_with_those_there_are(pair: str) -> None:
    with pytest.raises(KeyError, match=r"no map of names .*leaderbot_to_board, wildbench_to_leaderboard"):
        names.between(pair)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", ["a,b\na,c\n", "a,b\nc\n", "a,b\nc,d,e\n", "a,b\n,d\n"])
def test_rows_that_are_no_map_are_refused_by_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str
) -> None:
    folder = tmp_path / "data" / "names"
    folder.mkdir(parents=True)
    (folder / "leaderbot_to_board.csv").write_text(f"leaderbot,board\n{rows}")
    monkeypatch.setattr(names, "root", lambda: tmp_path)
    with pytest.raises(ValueError, match=r"leaderbot_to_board\.csv, line 3: .* is not two names, or listed"):
        names.between("leaderbot_to_board")


def test_every_map_is_described():
    folder = project.root() / "data" / "names"
    described = (folder / "README.md").read_text(encoding="utf-8")
    assert [f.name for f in folder.glob("*.csv") if f"`{f.name}`" not in described] == []

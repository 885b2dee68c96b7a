from __future__ import annotations

import csv
import re
from decimal import Decimal

from rearena import project
from rearena.data import published

COLUMNS = [
    "id",
    "paper",
    "artefact",
    "statement",
    "printed",
    "value",
    "table",
    "column",
    "unit",
    "kinds",
    "direction",
    "tolerance",
    "tolerance_basis",
    "notebook",
    "note",
]
PREFIXES = {"AH": "arena-hard", "CA": "chatbot-arena", "WB": "wildbench", "RW": "rwq-elo"}
KINDS = ["printed", "released", "analogous", "simulated"]
EXACT_KINDS = {"printed", "released"}
DIRECTIONS = {"equal", "at least", "at most", "greater", "less", "identity", "none"}
HALF_UNIT = "half a unit of the last printed digit"
BASES = {HALF_UNIT, "three Monte-Carlo standard errors", "stated", "factor 1.5", "none"}
NOTEBOOKS = {
    "01-topic-clusters",
    "02-prompt-quality",
    "03-quality-and-win-rate",
    "04-benchmark-selection",
    "05-judge-leaderboard",
    "06-judge-bias",
    "07-judge-ensembles",
    "08-vote-quality",
    "09-benchmark-metrics",
    "10-forecast-calibration",
    "11-votes",
    "12-bt-intervals",
    "13-interval-coverage",
    "14-active-sampling",
    "15-anomalous-voters",
    "16-task-curation",
    "17-wildbench-leaderboard",
    "18-wildbench-correlation",
    "19-mcqa-strategies",
    "20-rwq-elo",
    "21-fast-registration",
    "22-equations",
    "23-how-many-votes",
    "24-claims",
}


def _read() -> list[dict[str, str]]:
    with (project.root() / "data" / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


ROWS = _read()


def _last_digit(number: str) -> Decimal:
    return Decimal(1).scaleb(int(Decimal(number).as_tuple().exponent))


def _kinds(row: dict[str, str]) -> list[str]:
    return row["kinds"].split(";") if row["kinds"] else []


def _exact(row: dict[str, str]) -> bool:
    return not EXACT_KINDS.isdisjoint(_kinds(row))


def test_columns() -> None:
    assert list(ROWS[0]) == COLUMNS
    assert all(None not in row and None not in row.values() for row in ROWS)


def test_ids_are_unique_and_sorted_by_paper() -> None:
    ids = [row["id"] for row in ROWS]
    assert len(ids) == len(set(ids))
    papers = list(PREFIXES)
    assert ids == sorted(ids, key=lambda name: (papers.index(name[:2]), name))
    assert not [name for name in ids if not re.fullmatch(r"(AH|CA|WB|RW)-\d{3}[a-z]?", name)]


def test_an_id_is_either_split_or_whole() -> None:
    ids = {row["id"] for row in ROWS}
    assert not [name for name in ids if name[-1].isalpha() and name[:-1] in ids]


def test_closed_lists() -> None:
    assert not [row["id"] for row in ROWS if row["paper"] != PREFIXES[row["id"][:2]]]
    assert not [row["id"] for row in ROWS if _kinds(row) != [kind for kind in KINDS if kind in _kinds(row)]]
    assert {row["direction"] for row in ROWS} <= DIRECTIONS
    assert {row["tolerance_basis"] for row in ROWS} <= BASES
    assert {row["notebook"] for row in ROWS} <= NOTEBOOKS


def test_nothing_needed_is_left_out() -> None:
    needed = ("artefact", "statement", "printed")
    assert not [row["id"] for row in ROWS if not all(row[column] for column in needed)]
    assert not [row["id"] for row in ROWS if any(cell != cell.strip() for cell in row.values())]


def test_a_claim_has_evidence_or_says_what_is_missing() -> None:
    unchecked = [row["id"] for row in ROWS if not row["kinds"]]
    assert unchecked == [row["id"] for row in ROWS if row["note"].startswith("not checkable:")]


def test_a_value_is_a_number_and_its_unit_is_named() -> None:
    valued = [row for row in ROWS if row["value"]]
    assert all(Decimal(row["value"]).is_finite() for row in valued)
    assert not [row["id"] for row in valued if not row["unit"]]


def test_tables_and_columns_exist() -> None:
    claimed = {(row["table"], row["column"]) for row in ROWS if row["table"] or row["column"]}
    columns = {name: set(published.table(name).columns) for name, _ in claimed}
    assert not [(name, column) for name, column in claimed if column and column not in columns[name]]
    assert all(len(published.matrix(name)) for name, column in claimed if not column)


def test_exact_evidence_has_a_tolerance() -> None:
    hard = [
        row for row in ROWS if _exact(row) and row["direction"] != "none" and (row["value"] or row["table"])
    ]
    assert not [row["id"] for row in hard if not row["tolerance"]]


def test_tolerance_goes_with_its_basis() -> None:
    with_number = {HALF_UNIT, "stated"}
    assert not [
        row["id"] for row in ROWS if bool(row["tolerance"]) != (row["tolerance_basis"] in with_number)
    ]
    assert all(Decimal(row["tolerance"]) > 0 for row in ROWS if row["tolerance"])


def test_half_units_follow_from_the_digits_of_the_value() -> None:
    rounded = [row for row in ROWS if row["tolerance_basis"] == HALF_UNIT]
    assert not [row["id"] for row in rounded if not _exact(row)]
    assert not [
        row["id"]
        for row in rounded
        if row["value"] and Decimal(row["tolerance"]) < _last_digit(row["value"]) / 2
    ]


def test_correlations_of_wildbench_are_the_cells_of_table_3() -> None:
    cells = published.table("wildbench_table3").drop(index=0).drop(columns="metric").stack().dropna()
    claimed = [row for row in ROWS if row["paper"] == "wildbench" and row["artefact"] == "Table 3"]
    assert sorted(cells) == sorted(float(row["value"]) for row in claimed)
    assert {row["tolerance"] for row in claimed} == {"0.001"}

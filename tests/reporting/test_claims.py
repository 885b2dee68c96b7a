"""Verdicts on a claims table of our own, by the rules that ``data/published/README.md`` states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rearena import project
from rearena.reporting import claims
from rearena.reporting.claims import COLUMNS, KINDS, VERDICTS, Checks, judge
from rearena.reporting.notebooks import digest

STEM = "31-good"
CLAIMS = """\
id,printed,value,unit,kinds,direction,tolerance,tolerance_basis
hit,87.4%,87.4,percent,printed;released;analogous;simulated,equal,0.05,stated
debt,-20.4,-20.4,percent,printed;released;analogous;simulated,equal,0.05,stated
zero,0.0,0,percent,printed;released;analogous;simulated,equal,0.05,stated
same,1.00,1,fraction,printed;released;analogous;simulated,identity,0.01,stated
floor,at least 90%,90,percent,printed;released;analogous;simulated,at least,0.5,stated
ceiling,at most 5%,5,percent,printed;released;analogous;simulated,at most,0.5,stated
above,more than 80%,80,percent,printed;released;analogous;simulated,greater,0.5,stated
below,less than 80%,80,percent,printed;released;analogous;simulated,less,0.5,stated
simulation,1433,1433,Elo,printed;released;analogous;simulated,equal,,three Monte-Carlo standard errors
statement,see text,,,printed;released;analogous;simulated,none,,none
cells,24x24,,fraction,printed;released;analogous;simulated,equal,0.01,stated
released-only,3x,3,ratio,released,equal,0.5,stated
"""
EVERY = {"kinds": "printed;simulated", "tolerance_basis": claims._MONTE_CARLO}
# Other data speaks for or against a finding and reproduces no number; only a simulation shows a mechanism.
COMPARED = {"reproduced", "close", "not reproduced", "erratum", "not checkable"}
OPEN = {
    "printed": COMPARED,
    "released": COMPARED,
    "analogous": {"supported", "contradicted", "not checkable"},
    "simulated": COMPARED | {"mechanism shown"},
}


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    cell = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    for folder in ("data", "notebooks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "data" / "claims.csv").write_text(CLAIMS)
    (tmp_path / "notebooks" / f"{STEM}.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setenv("REARENA_HOME", str(tmp_path))
    monkeypatch.setenv("REARENA_FIGURES", str(tmp_path / "out"))
    project.root.cache_clear()
    claims.table.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    project.root.cache_clear()
    claims.table.cache_clear()


def results(checkout: Path, kind: str) -> Path:
    return checkout / "out" / "results" / f"{STEM}-{kind}.csv"


def test_lists_of_kinds_and_verdicts_are_those_of_the_type_and_no_others() -> None:
    assert get_args(claims.Kind) == KINDS == ("printed", "released", "analogous", "simulated")
    assert get_args(claims.Verdict) == VERDICTS
    assert set(VERDICTS) == set().union(*OPEN.values())
    assert len(VERDICTS) == 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_kind_carries_the_verdicts_that_are_open_to_it(kind: claims.Kind, verdict: claims.Verdict) -> None:
    if verdict in OPEN[kind]:
        given_back, tolerance = judge("statement", 1.0, kind, verdict=verdict)
        assert given_back == verdict
        assert pd.isna(tolerance)
    else:
        with pytest.raises(ValueError, match=f"{kind} evidence cannot carry the verdict '{verdict}'"):
            judge("statement", 1.0, kind, verdict=verdict)


@pytest.mark.parametrize(
    ("claim", "ours", "verdict"),
    [
        # A number to hit: both ends of the tolerance belong to it, and "close" is a factor of 1.5.
        ("hit", 87.4, "reproduced"),
        ("hit", 87.35, "reproduced"),
        ("hit", 87.45, "reproduced"),
        ("hit", 87.3499, "close"),
        ("hit", 87.4501, "close"),
        ("hit", 87.4 * 1.49, "close"),
        ("hit", 87.4 * 1.51, "not reproduced"),
        ("hit", 87.4 / 1.49, "close"),
        ("hit", 87.4 / 1.51, "not reproduced"),
        ("hit", -87.4, "not reproduced"),
        ("hit", 0.0, "not reproduced"),
        ("debt", -20.45, "reproduced"),
        ("debt", -20.5, "close"),
        ("debt", -31.0, "not reproduced"),
        ("debt", 20.4, "not reproduced"),
        # Nothing is a factor away from zero.
        ("zero", 0.05, "reproduced"),
        ("zero", -0.05, "reproduced"),
        ("zero", 0.06, "not reproduced"),
        ("same", 1.01, "reproduced"),
        ("same", 0.99, "reproduced"),
        ("same", 1.02, "close"),
        # A bound holds or fails: nothing is close.
        ("floor", 99.0, "reproduced"),
        ("floor", 89.5, "reproduced"),
        ("floor", 89.49, "not reproduced"),
        ("ceiling", 0.0, "reproduced"),
        ("ceiling", 5.5, "reproduced"),
        ("ceiling", 5.51, "not reproduced"),
        # These are strict, and the tolerance of the row does not soften them.
        ("above", 80.01, "reproduced"),
        ("above", 80.0, "not reproduced"),
        ("above", 79.9, "not reproduced"),
        ("below", 79.99, "reproduced"),
        ("below", 80.0, "not reproduced"),
        ("below", 80.1, "not reproduced"),
    ],
)
def test_verdict_of_a_comparison(claim: str, ours: float, verdict: str) -> None:
    tolerance = claims.table().loc[claim, "tolerance"]
    assert judge(claim, ours, "printed") == (verdict, tolerance)


@given(st.integers(-100_000, 100_000), st.sampled_from([-5, 5]))
def test_half_a_unit_of_a_decimal_number_is_inside_although_it_is_not_exact_in_binary(
    tenths: int, off: int
) -> None:
    value, ours = tenths / 10, (10 * tenths + off) / 100
    row = pd.DataFrame({"value": [value], "tolerance": 0.05, "direction": "equal", **EVERY}, index=["drawn"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "table", lambda: row)
        assert judge("drawn", ours, "printed")[0] == "reproduced"


def test_monte_carlo_tolerance_is_three_standard_errors() -> None:
    assert judge("simulation", 1433 + 29.9, "simulated", standard_error=10.0) == ("reproduced", 30.0)
    assert judge("simulation", 1433 - 30.1, "simulated", standard_error=10.0) == ("close", 30.0)


@pytest.mark.parametrize(
    ("claim", "kind"),
    [("simulation", "simulated"), ("statement", "printed"), ("hit", "analogous"), ("cells", "printed")],
)
def test_a_verdict_is_asked_for_where_there_is_nothing_to_compare(claim: str, kind: claims.Kind) -> None:
    with pytest.raises(ValueError, match=rf"{claim} on {kind} .* give the verdict"):
        judge(claim, 87.4, kind)


def test_unknown_claim_kind_and_verdict_are_refused() -> None:
    with pytest.raises(KeyError, match="AH-000"):
        judge("AH-000", 1.0, "printed")
    with pytest.raises(ValueError, match=r"kind must be one of printed, .* got 'stored'"):
        judge("hit", 87.4, "stored")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"verdict must be one of reproduced, .* got 'fine'"):
        judge("hit", 87.4, "printed", verdict="fine")  # type: ignore[arg-type]


def test_rows_hold_what_was_printed_what_we_found_and_why() -> None:
    checks = Checks(STEM)
    assert checks.add("hit", 87.41234567, "printed") == "reproduced"
    why = "the votes are not public"
    assert checks.add("statement", float("nan"), "released", verdict="not checkable", note=why) == (
        "not checkable"
    )
    shown = checks.to_frame()
    assert list(shown.columns) == [c for c in COLUMNS if c not in ("notebook", "run")]
    assert shown.to_dict("list") == {
        "claim": ["hit", "statement"],
        "kind": ["printed", "released"],
        "printed": ["87.4%", "see text"],
        "ours": ["87.4123", ""],
        "tolerance": ["0.05", ""],
        "verdict": ["reproduced", "not checkable"],
        "note": ["", why],
    }


def test_every_verdict_but_reproduced_says_why() -> None:
    checks = Checks(STEM)
    with pytest.raises(ValueError, match="claim hit is 'close': say why in note"):
        checks.add("hit", 90.0, "printed")
    with pytest.raises(ValueError, match="claim statement is 'supported'"):
        checks.add("statement", 1.0, "analogous", verdict="supported")
    assert checks.to_frame().empty
    assert checks.add("hit", 90.0, "printed", note="other models") == "close"


def test_a_claim_is_checked_once_per_kind_of_evidence() -> None:
    checks = Checks(STEM)
    checks.add("hit", 87.4, "printed")
    checks.add("hit", 87.4, "released")
    with pytest.raises(ValueError, match="hit was already checked on printed evidence"):
        checks.add("hit", 87.41, "printed")
    assert checks.to_frame()["kind"].tolist() == ["printed", "released"]


def test_a_table_is_checked_cell_by_cell() -> None:
    checks = Checks(STEM)
    printed = pd.Series({"a": 0.50, "b": 0.80, "c": float("nan"), "d": 0.10})
    ours = pd.Series({"d": 0.11, "b": 0.82, "a": 0.5, "c": 7.0, "e": 7.0})
    cells = checks.add_table("cells", ours, printed, "printed", note="b is off")
    assert cells["verdict"].to_dict() == {"a": "reproduced", "b": "close", "d": "reproduced"}
    assert cells["difference"].tolist() == pytest.approx([0.0, 0.02, 0.01])
    row = checks.to_frame().iloc[0]
    assert (row["printed"], row["ours"], row["verdict"]) == ("3 cells", "2 cells within tolerance", "close")
    assert row["tolerance"] == "0.01"


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ([0.5, 0.5], "reproduced"),
        ([0.5, 0.6], "close"),
        ([0.5, 0.9], "not reproduced"),
        ([0.6, 0.9], "not reproduced"),
    ],
)
def test_a_table_is_as_good_as_its_worst_cell(cells: list[float], verdict: str) -> None:
    checks = Checks(STEM)
    checks.add_table("cells", pd.Series(cells), pd.Series([0.5, 0.5]), "printed", note="why")
    assert checks.to_frame()["verdict"].tolist() == [verdict]


def test_a_table_below_full_marks_says_why_and_is_checked_once() -> None:
    checks, printed = Checks(STEM), pd.Series([0.5])
    with pytest.raises(ValueError, match="claim cells is 'close': say why"):
        checks.add_table("cells", printed + 0.1, printed, "printed")
    checks.add_table("cells", printed, printed, "printed")
    with pytest.raises(ValueError, match="already checked"):
        checks.add_table("cells", printed, printed, "printed")


@pytest.mark.parametrize(
    ("ours", "printed"),
    [
        ({"a": 0.5}, {"a": 0.5, "b": 0.5}),
        ({"a": 0.5, "b": None}, {"a": 0.5, "b": 0.5}),
        ({"a": 0.5}, {"a": None}),
        ({}, {}),
    ],
)
def test_a_printed_cell_without_counterpart_is_refused(ours: dict, printed: dict) -> None:
    checks = Checks(STEM)
    with pytest.raises(ValueError, match="claim cells: every printed cell needs a number of ours"):
        checks.add_table("cells", pd.Series(ours, dtype=float), pd.Series(printed, dtype=float), "printed")
    assert checks.to_frame().empty


def test_a_table_without_tolerance_is_refused() -> None:
    with pytest.raises(ValueError, match="simulation has no tolerance"):
        Checks(STEM).add_table("simulation", pd.Series([1.0]), pd.Series([1.0]), "simulated")


def checked(order: list[str]) -> Checks:
    checks, ours = Checks(STEM), {"hit": 87.4, "floor": 95.0, "above": 81.0}
    for claim in order:
        checks.add(claim, ours[claim], "printed")
    checks.add("hit", 87.4, "released")
    return checks


def test_saving_writes_one_file_per_kind_marked_with_the_run(checkout: Path) -> None:
    checked(["hit", "floor", "above"]).save()
    assert sorted(file.name for file in results(checkout, "printed").parent.iterdir()) == [
        f"{STEM}-printed.csv",
        f"{STEM}-released.csv",
    ]
    saved = pd.read_csv(results(checkout, "printed"), dtype=str, keep_default_na=False)
    assert list(saved.columns) == COLUMNS
    assert saved["claim"].tolist() == ["above", "floor", "hit"]
    assert set(saved["kind"]) == {"printed"}
    assert set(saved["notebook"]) == {STEM}
    assert set(saved["run"]) == {digest(checkout / "notebooks" / f"{STEM}.ipynb")}


def test_saving_leaves_the_files_of_other_kinds_and_notebooks(checkout: Path) -> None:
    folder = results(checkout, "printed").parent
    folder.mkdir(parents=True)
    others = [results(checkout, "analogous"), folder / "30-other-printed.csv"]
    for file in others:
        file.write_text("as an earlier run left it\n")
    checked(["hit"]).save()
    assert [file.read_text() for file in others] == ["as an earlier run left it\n"] * 2


def test_saved_bytes_do_not_depend_on_the_order_of_checks_and_a_second_save_touches_nothing(
    checkout: Path,
) -> None:
    file = results(checkout, "printed")
    checked(["hit", "floor", "above"]).save()
    first, written = file.read_bytes(), file.stat().st_mtime_ns
    assert b"\r" not in first
    checked(["above", "hit", "floor"]).save()
    assert file.read_bytes() == first
    assert file.stat().st_mtime_ns == written


def test_an_interrupted_save_leaves_the_old_file_whole(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(["hit"]).save()
    before = results(checkout, "printed").read_bytes()

    def fails(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fails)
        with pytest.raises(OSError, match="disk full"):
            checked(["hit", "floor"]).save()
    assert results(checkout, "printed").read_bytes() == before
    assert sorted(file.name for file in results(checkout, "printed").parent.iterdir()) == [
        f"{STEM}-printed.csv",
        f"{STEM}-released.csv",
    ]


def test_nothing_is_written_for_a_notebook_that_does_not_exist(checkout: Path) -> None:
    checks = Checks("32-absent")
    checks.add("hit", 87.4, "printed")
    with pytest.raises(FileNotFoundError):
        checks.save()
    assert not (checkout / "out").exists()


@pytest.mark.parametrize("kind", ["analogous", "stored"])
def test_add_table_holds_to_the_kinds(kind):
    cells = pd.Series([0.45])
    with pytest.raises(ValueError, match=r"evidence|kind"):
        claims.Checks("20-rwq-elo").add_table("cells", cells, cells, kind)


def test_a_missing_number_is_not_compared():
    with pytest.raises(ValueError, match="no number"):
        claims.judge("hit", float("nan"), "printed")


def test_nothing_to_hit_is_never_reproduced(monkeypatch):
    row = pd.DataFrame({"value": [1.0], "tolerance": np.nan, "direction": "none", **EVERY}, index=["x"])
    monkeypatch.setattr(claims, "table", lambda: row)
    with pytest.raises(ValueError, match="give the verdict"):
        claims.judge("x", 1.0, "simulated", standard_error=1.0)


def test_a_strict_bound_needs_no_tolerance(monkeypatch):
    row = pd.DataFrame({"value": [1.0], "tolerance": np.nan, "direction": "greater", **EVERY}, index=["x"])
    monkeypatch.setattr(claims, "table", lambda: row)
    assert claims.judge("x", 2.0, "printed")[0] == "reproduced"


def test_a_claim_is_checked_on_its_own_kinds_of_evidence_only() -> None:
    with pytest.raises(ValueError, match="checked on released evidence, not on printed"):
        judge("released-only", 3.0, "printed")
    assert judge("released-only", 3.0, "released")[0] == "reproduced"
    assert judge("released-only", 3.0, "printed", verdict="not checkable")[0] == "not checkable"


def test_a_tolerance_that_was_set_beforehand_is_not_overridden() -> None:
    with pytest.raises(ValueError, match="tolerance of its own"):
        judge("hit", 9.0, "printed", standard_error=1e6)


@pytest.mark.parametrize("verdict", ["reproduced", "close"])
def test_success_is_not_given_where_a_comparison_can_be_made(verdict: claims.Verdict) -> None:
    with pytest.raises(ValueError, match="leave the verdict to the comparison"):
        judge("hit", 1e9, "printed", verdict=verdict)
    assert judge("hit", 1e9, "printed", verdict="erratum")[0] == "erratum"

"""Claims of the papers, checked one by one: a number of ours becomes a verdict.

A notebook opens one :class:`Checks`, hands it each number that it computed together with the id of the
claim and the kind of evidence, and saves. Tolerances come from ``data/claims.csv``, where they stand before
anything is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast, get_args

import numpy as np
import pandas as pd

from rearena import project
from rearena.atomic import write_text
from rearena.reporting.notebooks import digest

Kind = Literal["printed", "released", "analogous", "simulated"]
Verdict = Literal[
    "reproduced",
    "close",
    "not reproduced",
    "erratum",
    "supported",
    "contradicted",
    "mechanism shown",
    "not checkable",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
COLUMNS = ["notebook", "claim", "kind", "printed", "ours", "tolerance", "verdict", "note", "run"]

# Which verdicts a kind of evidence may carry. Other data cannot reproduce a printed number, only speak for or
# against the finding; a simulation can reproduce one only where the paper's own result is that simulation.
_ALLOWED: dict[Kind, tuple[Verdict, ...]] = {
    "printed": ("reproduced", "close", "not reproduced", "erratum", "not checkable"),
    "released": ("reproduced", "close", "not reproduced", "erratum", "not checkable"),
    "analogous": ("supported", "contradicted", "not checkable"),
    "simulated": ("reproduced", "close", "not reproduced", "erratum", "mechanism shown", "not checkable"),
}
_MONTE_CARLO = "three Monte-Carlo standard errors"
# Directions that are held to the number itself, without a tolerance.
_STRICT = ("greater", "less")
# "Close" is the right sign and at most this factor away.
_CLOSE = 1.5


@cache
def table() -> pd.DataFrame:
    """Every claim: ``data/claims.csv``, indexed by id."""
    file = project.root() / "data" / "claims.csv"
    return pd.read_csv(file, index_col="id", dtype={"printed": str, "unit": str})


def claim(claim_id: str) -> pd.Series[Any]:
    """One row of the claims, by its id.

    Raises
    ------
    KeyError
        If there is no claim of that id.
    """
    if claim_id not in table().index:
        raise KeyError(f"no claim {claim_id!r} in data/claims.csv")
    return cast("pd.Series[Any]", table().loc[claim_id])


def judge(
    claim_id: str,
    ours: float,
    kind: Kind,
    *,
    verdict: Verdict | None = None,
    standard_error: float | None = None,
) -> tuple[Verdict, float]:
    """Verdict on one number, and the tolerance that it was held to.

    Parameters
    ----------
    claim_id : str
    ours : float
        What we computed, in the claim's unit.
    kind : {"printed", "released", "analogous", "simulated"}
        What the number rests on.
    verdict : str, optional
        For what a comparison of two numbers cannot see: an erratum, a finding that other data supports or
        contradicts, a mechanism. Default: the comparison's.
    standard_error : float, optional
        Monte-Carlo standard error of ``ours``, for claims whose tolerance is three of them.

    Returns
    -------
    verdict : str
    tolerance : float
        In the claim's unit; NaN where the verdict was given.

    Raises
    ------
    KeyError
        If the claim is unknown.
    ValueError
        If the kind or the verdict is not on its list, the claim is not checked on that kind, the verdict is
        not open to it, a success is given where a comparison can be made, a standard error where the
        tolerance does not rest on one, or nothing where there is nothing to compare with.
    """
    row = claim(claim_id)
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if verdict is not None:
        if verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
        if verdict not in _ALLOWED[kind]:
            raise ValueError(f"{kind} evidence cannot carry the verdict {verdict!r} (claim {claim_id})")
    if verdict != "not checkable" and kind not in str(row["kinds"]).split(";"):
        raise ValueError(f"claim {claim_id} is checked on {row['kinds']} evidence, not on {kind}")
    if standard_error is not None and row["tolerance_basis"] != _MONTE_CARLO:
        raise ValueError(f"claim {claim_id} has a tolerance of its own, not {_MONTE_CARLO}")
    tolerance = float(row["tolerance"]) if standard_error is None else 3 * standard_error
    value, direction = float(row["value"]), str(row["direction"])
    strict = direction in _STRICT
    held = not strict and direction != "none" and not np.isnan(tolerance)
    if verdict is not None:
        if verdict in ("reproduced", "close") and held and not np.isnan(value):
            raise ValueError(
                f"claim {claim_id} has a number to compare with: leave the verdict to the comparison"
            )
        return verdict, float("nan")
    if kind == "analogous" or not (strict or held) or np.isnan(value) or np.isnan(ours):
        raise ValueError(
            f"claim {claim_id} on {kind} evidence has no number or tolerance to compare with: "
            "give the verdict, or the Monte-Carlo standard error"
        )
    return _compare(ours, value, tolerance, direction), tolerance


def _compare(ours: float, value: float, tolerance: float, direction: str) -> Verdict:
    # Decimal fractions are not exact in binary: half a unit of the last digit is meant to include its end.
    slack = tolerance * (1 + 1e-9) + 1e-12
    bounds = {
        "greater": ours > value,
        "less": ours < value,
        "at least": ours >= value - slack,
        "at most": ours <= value + slack,
    }
    # A bound holds or fails; only a number to hit can be nearly hit.
    if direction in bounds:
        return "reproduced" if bounds[direction] else "not reproduced"
    if abs(ours - value) <= slack:
        return "reproduced"
    same_sign = ours * value > 0
    return "close" if same_sign and 1 / _CLOSE <= ours / value <= _CLOSE else "not reproduced"


@dataclass
class Checks:
    """The claim rows of one notebook.

    Parameters
    ----------
    notebook : str
        Its stem, for example ``"09-benchmark-metrics"``.
    """

    notebook: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        claim_id: str,
        ours: float,
        kind: Kind,
        *,
        verdict: Verdict | None = None,
        standard_error: float | None = None,
        note: str = "",
    ) -> Verdict:
        """Check one number against its claim and keep the row; see :func:`judge`.

        Parameters
        ----------
        claim_id, kind, verdict, standard_error
            As for :func:`judge`.
        ours : float
            NaN where there is nothing of ours to show.
        note : str
            One sentence: the likely reason where the claim does not reproduce, what is missing where it
            cannot be checked. Required for every verdict but ``reproduced``.

        Returns
        -------
        str
            The verdict.
        """
        given, tolerance = judge(claim_id, ours, kind, verdict=verdict, standard_error=standard_error)
        self._keep(claim_id, kind, str(claim(claim_id)["printed"]), ours, tolerance, given, note)
        return given

    def add_table(
        self, claim_id: str, ours: pd.Series, printed: pd.Series, kind: Kind, *, note: str = ""
    ) -> pd.DataFrame:
        """Check a named table cell by cell and keep one row that counts the cells.

        Parameters
        ----------
        claim_id : str
            A claim whose tolerance holds for every cell.
        ours, printed : Series
            Indexed alike; cells that are missing in ``printed`` are not checked.
        kind, note
            As for :meth:`add`.

        Returns
        -------
        DataFrame
            The cells: ``printed, ours, difference, verdict``.

        Raises
        ------
        ValueError
            If a printed cell has no counterpart, or no cell is printed.
        """
        asked = printed.dropna()
        if asked.empty or not asked.index.isin(ours.dropna().index).all():
            raise ValueError(
                f"claim {claim_id}: every printed cell needs a number of ours, and there must be one"
            )
        tolerance = float(claim(claim_id)["tolerance"])
        if "reproduced" not in _ALLOWED.get(kind, ()):
            raise ValueError(f"{kind!r} evidence cannot reproduce a printed table (claim {claim_id})")
        if np.isnan(tolerance):
            raise ValueError(f"claim {claim_id} has no tolerance in data/claims.csv to hold its cells to")
        cells = pd.DataFrame({"printed": asked, "ours": ours[asked.index]}).astype(float)
        cells["difference"] = cells["ours"] - cells["printed"]
        cells["verdict"] = [
            _compare(mine, theirs, tolerance, "equal")
            for theirs, mine in zip(cells["printed"], cells["ours"], strict=True)
        ]
        worst = max(cells["verdict"], key=("reproduced", "close", "not reproduced").index)
        hit = int((cells["verdict"] == "reproduced").sum())
        self._keep(
            claim_id, kind, f"{len(cells)} cells", f"{hit} cells within tolerance", tolerance, worst, note
        )
        return cells

    def _keep(
        self,
        claim_id: str,
        kind: Kind,
        printed: str,
        ours: float | str,
        tolerance: float,
        verdict: Verdict,
        note: str,
    ) -> None:
        if verdict != "reproduced" and not note:
            raise ValueError(f"claim {claim_id} is {verdict!r}: say why in note")
        if any((row["claim"], row["kind"]) == (claim_id, kind) for row in self.rows):
            raise ValueError(f"claim {claim_id} was already checked on {kind} evidence in this notebook")
        shown = ours if isinstance(ours, str) else "" if np.isnan(ours) else f"{ours:.6g}"
        held = "" if np.isnan(tolerance) else f"{tolerance:.3g}"
        values = [self.notebook, claim_id, kind, printed, shown, held, verdict, note, ""]
        self.rows.append(dict(zip(COLUMNS, values, strict=True)))

    def to_frame(self) -> pd.DataFrame:
        """The rows so far, one per claim and kind of evidence."""
        return pd.DataFrame(self.rows, columns=COLUMNS).drop(columns=["notebook", "run"])

    def save(self) -> pd.DataFrame:
        """Write ``results/<notebook>-<kind>.csv``, one file per kind of evidence, and return the rows.

        Evidence that was not at hand in this run keeps the file that an earlier run left: its rows say in
        ``run`` which version of the notebook they come from.
        """
        path = project.root() / "notebooks" / f"{self.notebook}.ipynb"
        frame = pd.DataFrame(self.rows, columns=COLUMNS).assign(run=digest(path))
        for kind, rows in frame.groupby("kind"):
            target = project.figures() / "results" / f"{self.notebook}-{kind}.csv"
            write_text(target, rows.sort_values("claim").to_csv(index=False, lineterminator="\n"))
        return self.to_frame()

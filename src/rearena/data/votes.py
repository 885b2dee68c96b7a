"""Pairwise votes as data hubs publish them, and what every frame of battles must satisfy.

Files are recognised by their columns: ``model_a, model_b`` and either ``winner`` (a label) or one column
per outcome (``winner_model_a, winner_model_b, winner_tie``). A row that says something else is an error
that names the file and the row; nothing is mapped to a default.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

LABELS = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5, "both_bad": 0.5}
"""Every ``winner`` label and its outcome for ``model_a``."""

_BOTH_BAD_LABELS = ("tie (bothbad)", "both_bad")
_ONE_HOT = {"winner_model_a": 1.0, "winner_model_b": 0.0, "winner_tie": 0.5}
_ONE_HOT_BOTH_BAD = ("winner_tie (bothbad)", "winner_both_bad")
_KEPT = {
    "prompt_id": ("prompt_id", "question_id", "conversation_id", "id"),
    "voter": ("voter", "judge", "user_id", "judge_hash"),
    "language": ("language",),
    "category": ("category", "category_tag"),
}
_TIMES = ("time", "tstamp", "timestamp")
_RESERVED = {"model_a", "model_b", "outcome", "both_bad", "weight", "probability", "time", *_KEPT}
_FORMATS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_SECONDS = (
    946_684_800,
    4_102_444_800,
)  # 2000 to 2100: another number, such as 20240101, is no time in seconds


class VotesError(ValueError):
    """Votes that cannot be read as battles; the message names the file and the row."""


def read_votes(
    path: str | Path,
    *,
    format: str | None = None,
    on_self_battle: Literal["raise", "drop"] = "raise",
    keep: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a file of pairwise votes as battles.

    Parameters
    ----------
    path : str or pathlib.Path
        JSON (an array of records, or an object of columns as pandas writes it), JSON Lines, CSV or
        parquet; all but parquet also with ``.gz`` at the end.
    format : {"json", "jsonl", "csv", "parquet"}, optional
        Where the suffix does not say it.
    on_self_battle : {"raise", "drop"}
        What to do with a model against itself; ``drop`` warns with the count.
    keep : sequence of str
        Further columns of the file, kept under their own names.

    Returns
    -------
    pandas.DataFrame
        Battles, one row per vote in file order: ``model_a, model_b`` (str), ``outcome`` (1.0 a wins, 0.5 tie,
        0.0 b wins). ``both_bad`` (bool) only where the file tells bad ties from others. Where the file has
        them, under the first of these names that is there: ``prompt_id`` (or ``question_id``,
        ``conversation_id``, ``id``), ``voter`` (or ``judge``, ``user_id``, ``judge_hash``), ``language``,
        ``category`` (or ``category_tag``; nested as it is) and ``time`` (or ``tstamp``, ``timestamp``):
        seconds since 1970 (of 2000 to 2100) or ISO 8601 text, as UTC; text without a zone is taken as UTC.

    Raises
    ------
    VotesError
        If the file is empty or cannot be parsed, a column is missing or there twice, or a row has an
        unknown or ambiguous outcome, no model name, no time in a column of times, or a model against
        itself; with ``drop``, if no other row is left. The message names the file, the row (the first row
        of data is 1; for JSON Lines, the line) and what is allowed.
    ValueError
        If ``keep`` names a column that battles have anyway.
    """
    path = Path(path)
    kind = format or _format(path)
    table = _read_table(path, kind, keep)
    return battles_from(
        table, path.name, keep=keep, on_self_battle=on_self_battle, where=_locator(path, kind)
    )


def battles_from(
    table: pd.DataFrame,
    source: str,
    *,
    labels: Mapping[str, float] = LABELS,
    keep: Sequence[str] = (),
    on_self_battle: Literal["raise", "drop"] = "raise",
    where: Callable[[int], str] | None = None,
) -> pd.DataFrame:
    """Turn a table of votes into battles, by its columns, as :func:`read_votes` does with a file.

    Parameters
    ----------
    table : pandas.DataFrame
        Votes with a default index and the columns that :func:`read_votes` knows.
    source : str
        What to call them in a message.
    labels : mapping of str to float
        What ``winner`` may say, and the outcome for ``model_a``.
    keep, on_self_battle
        As in :func:`read_votes`.
    where : callable, optional
        From position to the words that name the row; "``source``, row 1" and so on by default.

    Returns
    -------
    pandas.DataFrame
        Battles, as from :func:`read_votes`.

    Raises
    ------
    VotesError, ValueError
        As :func:`read_votes`.
    """
    if taken := sorted(_RESERVED & set(keep)):
        raise ValueError(f"keep names {taken}, which battles have anyway or use for something else")
    if table.empty:
        raise VotesError(f"{source} is empty: it holds no votes")
    where = where or (lambda position: f"{source}, row {position + 1}")
    _require_columns(table, ("model_a", "model_b", *keep), source)
    battles = pd.DataFrame({side: _names(table[side], side, where) for side in ("model_a", "model_b")})
    battles["outcome"], both_bad = _outcomes(table, source, labels, where)
    if both_bad is not None:
        battles["both_bad"] = both_bad
    for noun, columns in _KEPT.items():
        if found := _first(table, columns):
            battles[noun] = table[found]
    if found := _first(table, _TIMES):
        battles["time"] = _utc(table[found], where)
    for column in keep:
        battles[column] = table[column]
    return _without_self_battles(battles, on_self_battle, where)


def validate_battles(battles: pd.DataFrame, source: str = "battles") -> pd.DataFrame:
    """Check battles that were built elsewhere, and hand them back.

    Parameters
    ----------
    battles : pandas.DataFrame
        Columns ``model_a, model_b, outcome``; optional ``weight``, ``both_bad``.
    source : str
        What to call them in a message.

    Returns
    -------
    pandas.DataFrame
        ``battles``, the same object.

    Raises
    ------
    VotesError
        If a column is missing, there is no row, a name is not a non-empty string, a model meets itself, an
        outcome is not 1, 0.5 or 0, a weight is negative or not finite, or a win is called both bad. The
        message names the first such row; rows count from 1.
    """

    def where(position: int) -> str:
        return f"{source}, row {position + 1}"

    _require_columns(battles, ("model_a", "model_b", "outcome"), source)
    if battles.empty:
        raise VotesError(f"{source}: no rows")
    for side in ("model_a", "model_b"):
        _names(battles[side], side, where)
    outcome = battles["outcome"]
    _refuse(
        ~outcome.isin((1, 0.5, 0)), where, "outcome", outcome, "expected 1 (a wins), 0.5 (tie) or 0 (b wins)"
    )
    if "weight" in battles:
        weight = pd.to_numeric(battles["weight"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        bad = ~np.isfinite(weight) | (weight < 0)
        _refuse(bad, where, "weight", battles["weight"], "expected a finite number, 0 or more")
    if "both_bad" in battles:
        flag = battles["both_bad"].fillna(False).astype(bool)
        _refuse(
            flag & (outcome != 0.5), where, "outcome", outcome, "both_bad marks a tie, whose outcome is 0.5"
        )
    _without_self_battles(battles, "raise", where)
    return battles


def _without_self_battles(
    battles: pd.DataFrame, on_self_battle: Literal["raise", "drop"], where: Callable[[int], str]
) -> pd.DataFrame:
    """Refuse, or drop and count aloud, rows in which a model meets itself."""
    if on_self_battle not in ("raise", "drop"):
        raise ValueError(f"on_self_battle is {on_self_battle!r}; expected 'raise' or 'drop'")
    first, second = (battles[side].astype("str").to_numpy() for side in ("model_a", "model_b"))
    same = np.asarray(first == second, dtype=bool)
    if not same.any():
        return battles
    row = int(same.argmax())
    found = f"{where(row)}: {first[row]!r} against itself"
    if same.all() and on_self_battle == "drop":
        raise VotesError(f"{found}; so is every row, and without them no votes are left")
    if on_self_battle == "raise":
        raise VotesError(f"{found} ({same.sum()} such rows); remove them, or read with on_self_battle='drop'")
    warnings.warn(f"{found}; dropped {same.sum()} such rows of {len(same)}", UserWarning, stacklevel=4)
    return battles[~same].reset_index(drop=True)


def _format(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    if not last or last[0] not in _FORMATS:
        raise VotesError(
            f"{path.name}: unknown kind of file; expected {', '.join(_FORMATS)}, or give format="
        )
    return _FORMATS[last[0]]


def _read_table(path: Path, kind: str, keep: Sequence[str]) -> pd.DataFrame:
    """Every column that could matter, as the file has it, with a default index."""
    readers = {"json": _read_json, "jsonl": _read_json_lines, "csv": _read_csv, "parquet": _read_parquet}
    if kind not in readers:
        raise VotesError(f"{path.name}: unknown format {kind!r}; expected {', '.join(readers)}")
    wanted = {"model_a", "model_b", "winner", *_ONE_HOT, *_ONE_HOT_BOTH_BAD, *_TIMES, *keep}
    wanted.update(name for names in _KEPT.values() for name in names)
    try:
        return readers[kind](path, wanted)
    except VotesError:
        raise
    except (ValueError, RecursionError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise VotesError(f"{path.name} cannot be read as {kind}: {error}") from error


def _read_json(path: Path, wanted: set[str]) -> pd.DataFrame:
    data = json.loads(_bytes(path) or b"[]")
    if isinstance(data, list):
        if bad := [i for i, record in enumerate(data, start=1) if not isinstance(record, dict)]:
            raise VotesError(
                f"{path.name}, row {bad[0]}: expected a JSON object, found {data[bad[0] - 1]!r:.40}"
            )
        return _from_records(data, wanted)
    if not isinstance(data, dict) or not all(isinstance(column, dict) for column in data.values()):
        raise VotesError(f"{path.name}: expected a JSON array of records, or an object of columns by row")
    rows = list(next(iter(data.values()), {}))
    if any(column.keys() != set(rows) for column in data.values()):
        raise VotesError(f"{path.name}: its columns do not have the same rows")
    return pd.DataFrame({name: [column[row] for row in rows] for name, column in data.items()})


def _read_json_lines(path: Path, wanted: set[str]) -> pd.DataFrame:
    tables, records = [], []
    decode = json.JSONDecoder().raw_decode  # half the time of json.loads
    for number, line in enumerate(_bytes(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            text = line.strip().decode()
            record, end = decode(text)
        except (ValueError, RecursionError) as error:
            raise VotesError(f"{path.name}, line {number}: not valid JSON ({error})") from error
        if not isinstance(record, dict) or end != len(text):
            raise VotesError(f"{path.name}, line {number}: expected one JSON object, found {line!r:.40}")
        records.append(record)
        if len(records) == 10_000:  # whole conversations: keep a few of them at a time
            tables.append(_from_records(records, wanted))
            records = []
    tables.append(_from_records(records, wanted))
    return pd.concat(tables, ignore_index=True)


def _from_records(records: list[dict[str, Any]], wanted: set[str]) -> pd.DataFrame:
    present = set().union(*records)
    columns = [name for name in records[0] if name in wanted] if records else []
    columns += sorted((present & wanted) - set(columns))
    return pd.DataFrame({name: [record.get(name) for record in records] for name in columns or present})


def _read_csv(path: Path, _wanted: set[str]) -> pd.DataFrame:
    data = _bytes(path)
    if not data:
        return pd.DataFrame()
    # Header and first row as rows alike: pandas would take a field too many in the first row for an index.
    head = pd.read_csv(io.BytesIO(data), header=None, nrows=2, dtype="str", keep_default_na=False)
    _require_columns(head.iloc[0], (), path.name)
    text = dict.fromkeys(("model_a", "model_b", "winner"), "str")
    return pd.read_csv(io.BytesIO(data), dtype=text, low_memory=False, index_col=False)


def _read_parquet(path: Path, wanted: set[str]) -> pd.DataFrame:
    """Only the columns that could matter: the conversations beside them are gigabytes."""
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        try:
            names = pq.read_schema(file).names
            _require_columns(names, ("model_a", "model_b"), path.name)
            table = pd.read_parquet(file, columns=[name for name in names if name in wanted])
        except VotesError:
            raise
        except Exception as error:  # damaged bytes raise anything
            raise VotesError(f"{path.name} cannot be read as parquet: {error}") from error
    return table.reset_index(drop=True)


def _bytes(path: Path) -> bytes:
    """Contents, decompressed, without a byte-order mark; nothing at all if there is only white space."""
    data = path.read_bytes() if path.suffix.lower() != ".gz" else gzip.decompress(path.read_bytes())
    data = data.removeprefix(codecs.BOM_UTF8)
    return b"" if data[:64].isspace() and data.isspace() else data


def _locator(path: Path, kind: str) -> Callable[[int], str]:
    """From the position of a row to where a person finds it. Blank lines of JSON Lines count as lines."""

    def row(position: int) -> str:
        return f"{path.name}, row {position + 1}"

    def line(position: int) -> str:
        numbers = [number for number, text in enumerate(_bytes(path).splitlines(), start=1) if text.strip()]
        return f"{path.name}, line {numbers[position]}"

    return line if kind == "jsonl" else row


def _require_columns(found: Iterable[Any], columns: Sequence[str], source: str) -> None:
    names = list(map(str, found))
    if missing := [column for column in columns if column not in names]:
        there = ", ".join(names[:20]) or "none"
        raise VotesError(f"{source} lacks the column(s) {', '.join(missing)}; it has: {there}")
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        raise VotesError(f"{source} has the column(s) {', '.join(twice)} more than once; remove all but one")


def _first(table: pd.DataFrame, columns: Sequence[str]) -> str | None:
    return next((column for column in columns if column in table), None)


def _refuse(bad: Any, where: Callable[[int], str], column: str, values: pd.Series[Any], allowed: str) -> None:
    bad = np.asarray(bad, dtype=bool)
    if bad.any():
        first = int(bad.argmax())
        value = values.iloc[first]
        shown = repr(value) if isinstance(value, str) else str(value)
        raise VotesError(f"{where(first)}: {column} is {shown:.80}; {allowed} ({bad.sum()} such rows)")


def _names(values: pd.Series[Any], column: str, where: Callable[[int], str]) -> pd.Series[str]:
    """Column of non-empty strings as ``str``; an error at the first value that is not one."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        names_dtype = values.dtype.categories.dtype
        values = values.astype(names_dtype if isinstance(names_dtype, pd.StringDtype) else object)
    if isinstance(values.dtype, pd.StringDtype):
        bad = values.isna().to_numpy()
    else:
        bad = np.fromiter((not isinstance(value, str) for value in values), dtype=bool, count=len(values))
    _refuse(bad, where, column, values, "expected a non-empty string")
    names = values.astype("str")
    codes, unique = pd.factorize(names)
    blank = np.array([not name.strip() for name in unique], dtype=bool)
    _refuse(blank[codes], where, column, names, "expected a non-empty string")
    return names


def _outcomes(
    table: pd.DataFrame, source: str, allowed: Mapping[str, float], where: Callable[[int], str]
) -> tuple[pd.Series[float], pd.Series[bool] | None]:
    """Outcome per row, and which ties were bad where the file can tell."""
    one_hot = [column for column in _ONE_HOT if column in table]
    if "winner" in table and one_hot:
        raise VotesError(f"{source} has both winner and {', '.join(one_hot)}; remove one of the two")
    if one_hot:
        return _from_one_hot(table, source, where)
    if "winner" not in table:
        raise VotesError(
            f"{source} has neither winner nor {', '.join(_ONE_HOT)}; it has: {', '.join(map(str, table))}"
        )
    labels = _names(table["winner"], "winner", where)
    outcome = labels.map(allowed)
    _refuse(outcome.isna(), where, "winner", labels, f"expected one of {', '.join(allowed)}")
    both_bad = labels.isin(_BOTH_BAD_LABELS)
    return outcome.astype(float), both_bad if both_bad.any() else None


def _from_one_hot(
    table: pd.DataFrame, source: str, where: Callable[[int], str]
) -> tuple[pd.Series[float], pd.Series[bool] | None]:
    _require_columns(table, tuple(_ONE_HOT), source)
    bad_column = _first(table, _ONE_HOT_BOTH_BAD)
    columns = [*_ONE_HOT, *([bad_column] if bad_column else [])]
    for column in columns:
        _refuse(~table[column].isin((0, 1)), where, column, table[column], "expected 0 or 1")
    flags = table[columns].astype(float)
    total = flags.sum(axis=1)
    _refuse(total != 1, where, f"the number of 1s among {', '.join(columns)}", total, "expected exactly one")
    outcome = flags["winner_model_a"] + 0.5 * (1 - flags["winner_model_a"] - flags["winner_model_b"])
    return outcome, table[bad_column].astype(bool) if bad_column else None


def _utc(values: pd.Series[Any], where: Callable[[int], str]) -> pd.Series[pd.Timestamp]:
    """Seconds since 1970, or ISO 8601 text, as UTC."""
    if pd.api.types.is_numeric_dtype(values):
        seconds = pd.Series(values.to_numpy(dtype=float, na_value=np.nan), index=values.index)
        times = pd.to_datetime(seconds.where(seconds.between(*_SECONDS)), unit="s", utc=True)
    else:  # pandas would take a number among texts for nanoseconds
        text = values.mask(values.map(pd.api.types.is_number).astype(bool))
        times = pd.to_datetime(text, utc=True, errors="coerce", format="ISO8601")
    allowed = "expected seconds since 1970 or ISO 8601 text, the same in all rows; seconds of 2000 to 2100"
    _refuse(times.isna() & values.notna(), where, "time", values, allowed)
    return times

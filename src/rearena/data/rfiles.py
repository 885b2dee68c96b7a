"""R data files (``.rds``) as pandas frames, including frames nested in frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Constructor = Callable[[Any, Mapping[str, Any]], Any]


def read_frame(path: Path) -> pd.DataFrame:
    """Read an ``.rds`` file that holds one data frame or tibble.

    A column that is itself a data frame (as ``jsonlite`` makes of nested JSON) becomes one column per
    leaf, named ``outer/inner``. Integers, and logicals with ``NA``, are pandas' nullable ``Int64`` and
    ``boolean``.

    Parameters
    ----------
    path : pathlib.Path
        File written by R's ``saveRDS``, any compression.

    Returns
    -------
    pandas.DataFrame
        Rows in the file's order, with a default index.

    Raises
    ------
    ValueError
        If the file is not R data, or holds something other than a data frame.
    """
    import rdata

    frames: dict[str | bytes, Constructor] = dict.fromkeys(("data.frame", "tbl", "tbl_df"), _leaves)
    try:
        parsed = rdata.parser.parse_file(path)
        read = rdata.conversion.convert(parsed, {**rdata.conversion.DEFAULT_CLASS_MAP, **frames})
    except OSError:
        raise
    except Exception as error:  # the parser raises anything on bytes that are not R data
        raise ValueError(f"{path.name} is not R data that can be read: {error}") from error
    if not isinstance(read, _Leaves):
        raise ValueError(f"{path.name} holds a {type(read).__name__}, not one data frame")
    lengths = {name: len(column) for name, column in read.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{path.name} has columns of different lengths: {lengths}")
    return pd.DataFrame(read)


class _Leaves(dict[str, Any]):
    """Columns of an R data frame by name, nested ones already flattened."""


def _leaves(columns: Mapping[str, Any], _attributes: Mapping[str, Any]) -> _Leaves:
    """Take the place of ``rdata``'s constructor, which cannot put a frame in a column."""
    flat = _Leaves()
    for name, column in columns.items():
        if isinstance(column, _Leaves):
            flat.update({f"{name}/{inner}": leaf for inner, leaf in column.items()})
        else:
            flat[str(name)] = _unmasked(column)
    return flat


def _unmasked(column: Any) -> Any:
    """Masked integers and logicals, which is how ``rdata`` marks ``NA``, as a nullable pandas array."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    mask = np.ma.getmaskarray(column)
    if column.dtype.kind == "b":
        return pd.arrays.BooleanArray(column.data.astype(bool), mask)
    return pd.arrays.IntegerArray(column.data.astype(np.int64), mask)

"""Reading a pandas pickle without running it: all that it can name are the few functions of this file.

A pickle is a program: it names classes and functions, calls them and sets the state of what they return.
Here each name that a table needs stands for a function that makes a plain array, index, series or frame by
the public constructors of numpy and pandas; every other name is refused before it is looked up. State is set
on what those functions made and on nothing else, and an array's only where it fits its type and shape. What
comes out may still be wrong, or large: check the file's sha256 first.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import pandas as pd

Name = tuple[str, str]


class RefusedError(pickle.UnpicklingError):
    """The pickle asks for something that a table does not need."""


class Omitted:
    """Stands where an object was left out; takes what the pickle gives to it and keeps none of it."""

    def __new__(cls, *_args: object, **_kwargs: object) -> Omitted:
        """Take any arguments."""
        return super().__new__(cls)


class _Manager:
    """Where pandas keeps the values of a frame: axes, and blocks of values with their positions."""

    def __init__(self, blocks: Any = (), axes: Any = ()) -> None:
        self.blocks, self.axes = blocks, axes


def _dtype(code: str, *_flags: object) -> np.dtype[Any]:
    if not re.fullmatch(r"[|<=]?(b1|[iu][1248]|f[248]|O8?|[SU]\d{1,6})", code):
        raise RefusedError(f"has values of type {code!r:.40}: refused, not numbers, flags, text or objects")
    return np.dtype(code)


def _index(kind: str, state: Mapping[str, Any]) -> Any:
    if kind == "RangeIndex":
        return pd.RangeIndex(**state)
    return pd.Index(state["data"], dtype=state["data"].dtype, name=state["name"])


# (module, name) as pandas 1.3 to 2.2 with numpy 1 write it -> what stands for it; text is only passed on.
ADMITTED: dict[Name, Callable[..., Any] | str] = {
    ("builtins", "slice"): slice,
    ("numpy", "dtype"): _dtype,
    ("numpy", "ndarray"): "ndarray",
    ("numpy.core.multiarray", "_reconstruct"): lambda _kind, _shape, _code: np.empty(0, np.int8),
    ("numpy.core.multiarray", "scalar"): lambda dtype, raw: np.frombuffer(raw, dtype)[0],
    ("pandas._libs.internals", "_unpickle_block"): lambda values, positions, _ndim: (values, positions),
    ("pandas.core.frame", "DataFrame"): lambda: pd.DataFrame(),
    ("pandas.core.indexes.base", "Index"): "Index",
    ("pandas.core.indexes.base", "_new_Index"): _index,
    ("pandas.core.indexes.range", "RangeIndex"): "RangeIndex",
    ("pandas.core.internals.managers", "BlockManager"): _Manager,
    ("pandas.core.internals.managers", "SingleBlockManager"): _Manager,
    ("pandas.core.series", "Series"): lambda: pd.Series(dtype=float),
}


def _fill_array(array: Any, state: Any) -> None:
    _, shape, dtype, _, raw = state
    size = math.prod(shape) * (1 if dtype.hasobject else dtype.itemsize)
    # Once only: a second state would free the memory that an index or a frame looks at.
    fits = array.shape == (0,) and min(shape, default=0) >= 0 and len(raw) == size
    if not fits or type(raw) is not (list if dtype.hasobject else bytes):
        raise RefusedError("gives an array a state that does not fit: refused")
    array.__setstate__(state)


def _fill_manager(manager: _Manager, state: Any) -> None:
    parts = state[3]["0.14.1"]
    manager.axes = parts["axes"]
    manager.blocks = [(block["values"], block["mgr_locs"]) for block in parts["blocks"]]


def _fill_series(series: Any, state: Mapping[str, Any]) -> None:
    (index,), ((values, _),) = state["_mgr"].axes, state["_mgr"].blocks
    series.__init__(values, index=index, dtype=values.dtype, name=state["_name"])


def _fill_frame(frame: Any, state: Mapping[str, Any]) -> None:
    (columns, index), blocks = state["_mgr"].axes, state["_mgr"].blocks
    rows: dict[int, Any] = {}
    if sum(len(values) for values, _ in blocks) == len(columns):
        at = np.arange(len(columns))
        for values, positions in blocks:
            rows.update(zip(at[positions].tolist(), values, strict=True))
    if len(rows) != len(columns):
        raise RefusedError("has a frame whose blocks are not its columns: refused")
    series = {k: pd.Series(rows[k], index=index, dtype=rows[k].dtype) for k in sorted(rows)}
    frame.__init__(series, index=index)
    frame.columns = columns


_FILLED: dict[type, Callable[[Any, Any], None]] = {
    np.ndarray: _fill_array,
    _Manager: _fill_manager,
    pd.Series: _fill_series,
    pd.DataFrame: _fill_frame,
    Omitted: lambda _omitted, _state: None,
}


class _Unpickler(pickle._Unpickler):  # the one in Python: that in C cannot be kept from setting any state
    stack: list[Any]

    def __init__(self, file: IO[bytes], omit: Collection[Name]) -> None:
        super().__init__(file)
        self._omit = omit

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in self._omit:
            return Omitted
        try:
            return ADMITTED[module, name]
        except KeyError:
            raise RefusedError(
                f"asks for {module}.{name}: refused, not one of the numpy and pandas "
                "classes that a table needs. If the file is trusted, convert it to CSV or parquet elsewhere"
            ) from None

    def _build(self) -> None:
        state, top = self.stack.pop(), self.stack[-1]
        if isinstance(top, np.dtype):  # one instance serves the whole process, and has its state already
            if state != top.__reduce__()[2]:
                raise RefusedError(f"gives {top} another state than its own: refused")
        elif type(top) in _FILLED:
            _FILLED[type(top)](top, state)
        else:
            raise RefusedError(f"sets the state of a {type(top).__name__}: refused")

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **pickle._Unpickler.dispatch,
        pickle.NEWOBJ[0]: pickle._Unpickler.dispatch[pickle.REDUCE[0]],  # functions stand for the classes
        pickle.BUILD[0]: _build,
    }
    for _opcode in (pickle.EXT1, pickle.EXT2, pickle.EXT4):  # they look in a registry of the process first
        del dispatch[_opcode[0]]


def load(path: Path, omit: Collection[Name] = ()) -> Any:
    """Read a pickle of plain containers, arrays and frames.

    Parameters
    ----------
    path : pathlib.Path
        The pickle, protocol 3 or later, written by pandas 1.3 to 2.2 with numpy 1.
    omit : collection of (module, name)
        Classes whose objects are replaced by :class:`Omitted`, without importing them.

    Returns
    -------
    object
        What the pickle holds. Of a frame or series: values, index, columns, name; not ``attrs`` or flags.

    Raises
    ------
    RefusedError
        If the pickle names anything that is neither in ``ADMITTED`` nor in ``omit``, sets the state of
        anything but its own tables, or has values other than numbers, flags, text and objects. The
        message says what.
    pickle.UnpicklingError
        If the pickle is damaged.
    """
    try:
        return _Unpickler(io.BytesIO(path.read_bytes()), omit).load()
    except OSError:
        raise
    except RefusedError as error:
        raise RefusedError(f"{path.name} {error}") from None
    except Exception as error:  # a damaged pickle raises anything
        raise pickle.UnpicklingError(f"{path.name} is damaged: {type(error).__name__}: {error}") from error

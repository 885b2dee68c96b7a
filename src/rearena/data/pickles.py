"""Reading a pandas pickle without running it: only listed numpy and pandas classes are ever looked up.

A pickle is a program, and its only way out is the classes and functions it names. This unpickler looks a
name up in a closed list and refuses all others, so that a pickle can build arrays and frames and nothing
else. It does not defend against damaged array headers: check the file's sha256 first.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

Name = tuple[str, str]

# (module, name) as pandas 1.3 to 2.2 with numpy 1 write it -> where it is now.
ADMITTED: dict[Name, Name] = {
    ("numpy.core.multiarray", "_reconstruct"): ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"): ("numpy._core.multiarray", "scalar"),
    **{
        name: name
        for name in (
            ("builtins", "slice"),
            ("numpy", "dtype"),
            ("numpy", "ndarray"),
            ("pandas._libs.internals", "_unpickle_block"),
            ("pandas.core.frame", "DataFrame"),
            ("pandas.core.indexes.base", "Index"),
            ("pandas.core.indexes.base", "_new_Index"),
            ("pandas.core.indexes.range", "RangeIndex"),
            ("pandas.core.internals.managers", "BlockManager"),
            ("pandas.core.internals.managers", "SingleBlockManager"),
            ("pandas.core.series", "Series"),
        )
    },
}


class RefusedError(pickle.UnpicklingError):
    """The pickle names a class or function that is not admitted."""


class Omitted:
    """Stands where an object was left out; takes what the pickle gives to it and keeps none of it."""

    def __new__(cls, *_args: object, **_kwargs: object) -> Omitted:
        """Take any arguments."""
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        """Drop the state."""


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], name: str, omit: Collection[Name]) -> None:
        super().__init__(file)
        self._name = name
        self._omit = omit

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in self._omit:
            return Omitted
        try:
            present = ADMITTED[module, name]
        except KeyError:
            raise RefusedError(
                f"{self._name} asks for {module}.{name}: refused, not one of the numpy and pandas "
                "classes that a table needs. If the file is trusted, convert it to CSV or parquet elsewhere"
            ) from None
        return super().find_class(*present)


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
        What the pickle holds.

    Raises
    ------
    RefusedError
        If the pickle names any class that is neither in ``ADMITTED`` nor in ``omit``; the message names it.
    pickle.UnpicklingError
        If the pickle is damaged.
    """
    with path.open("rb") as file:
        try:
            return _Unpickler(file, path.name, omit).load()
        except RefusedError:
            raise
        except Exception as error:  # a damaged pickle raises anything
            raise pickle.UnpicklingError(
                f"{path.name} is damaged: {type(error).__name__}: {error}"
            ) from error

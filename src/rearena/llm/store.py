"""Answers kept on disk by `joblib.Memory`, so that none is paid for twice.

The store is the folder that ``REARENA_CACHE`` names (from the checkout on), else ``.cache/llm``: not under
``build``, which ``make clean`` removes. joblib puts a ``.gitignore`` into it. An entry holds the request, in
``metadata.json``, and the server's answer, word for word: a text, which joblib wraps in a pickle. Reading a
pickle can run code, so trust ends with those who may write to the folder: never use one from elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import types
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Lock

from joblib import Memory

from rearena.llm.answer import answer
from rearena.project import root

# The name under which joblib files the results. It stays when the module moves.
_NAME = "rearena.llm.answer"


class _AbsentError(LookupError):
    pass


class Store:
    """Answers by the text of their requests.

    Parameters
    ----------
    folder : pathlib.Path, optional
        Where they are; the folder named above by default.
    """

    _flying: dict[tuple[Path, str], Future[str | None]] = {}  # noqa: RUF012 - of the whole process
    _lock = Lock()

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or root() / os.environ.get("REARENA_CACHE", ".cache/llm")
        # joblib checks a function's source once in a process, in whichever folder comes first. With a copy
        # of its own, each folder is checked.
        copy = types.FunctionType(answer.__code__, answer.__globals__, "answer")
        copy.__module__ = _NAME
        self._answer = Memory(self.folder, verbose=0).cache(copy, ignore=["post"])

    async def get(self, request: str) -> str | None:
        """The stored answer, or None; nothing is asked."""
        try:
            return await self._stored(request, _absent)
        except _AbsentError:
            return None

    async def fetch(self, request: str, post: Callable[[str], Awaitable[str]]) -> str:
        """The stored answer, or else that of ``post``, stored; what it raises is raised and not stored.

        Of equal requests in flight, in any thread of the process, one is asked and the others wait for it.
        """
        place = (self.folder, request)
        while True:
            with self._lock:
                flying = self._flying.get(place)
                if flying is None:
                    own = self._flying[place] = Future()
                    own.set_running_or_notify_cancel()  # one who waits and leaves cancels nothing
                    break
            found = await asyncio.wrap_future(flying)
            if found is not None:
                return found
        try:
            found = await self._stored(request, post)
            own.set_result(found)
            return found
        except Exception as error:
            own.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flying[place]
            if not own.done():
                own.set_result(None)  # interrupted: the next of those who wait asks

    async def _stored(self, request: str, post: Callable[[str], Awaitable[str]]) -> str:
        text: str = await self._answer(request, post)
        return text


async def _absent(request: str) -> str:
    raise _AbsentError(request)

"""The one function whose results are kept on disk; it lives alone, and a test pins its source.

joblib drops every result of a function whose source changes, docstring included, and these results were paid
for; so what is said about it is said here. ``request`` is the text of a request and the whole key; ``post``
asks the server and is no part of the key; what it raises is not kept. The result is the server's own words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable


async def answer(request: str, post: Callable[[str], Awaitable[str]]) -> str:
    """Ask."""
    return await post(request)

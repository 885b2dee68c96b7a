"""One thread for linear algebra: matrices as small as ours lose more to threads than they gain."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes longer than a fit


def one_thread() -> AbstractContextManager[object]:
    """Context in which BLAS runs on one thread."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited

"""Many requests at once: bounded concurrency, progress, and what was answered before is not asked again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tqdm import tqdm

from rearena.llm.protocol import CallError, Completion, Model, Request
from rearena.llm.server import Server, read_completion
from rearena.llm.store import Store

Item = TypeVar("Item")
Result = TypeVar("Result")


def complete_all(
    requests: Iterable[Request], model: Model | Server | None = None, *, concurrency: int = 16
) -> list[Completion]:
    """Answers to all requests, in their order.

    Equal requests are asked once. What a server answers is stored at once, so that a run that was interrupted
    goes on where it was; what failed is stored nowhere and asked again by the next call. A key is needed only
    where something is left to ask. Works in a notebook too, where an event loop runs already.

    Parameters
    ----------
    requests : iterable of Request
        To a server: all of them at one address, since there is one key.
    model : Server or Model, optional
        How to reach the server that the requests name (by default with ``OPENAI_API_KEY``), or a simulated
        model, whose answers are not stored.
    concurrency : int
        Requests in flight at most, from 1.

    Returns
    -------
    list of Completion
        One a request. A call that failed has status ``error``, after the server's retries.

    Raises
    ------
    rearena.llm.server.MissingKeyError
        If there is something to ask and no key; nothing has been asked then.
    ValueError
        If the requests go to several servers, or ``concurrency`` is not positive.
    """
    wanted = list(requests)
    distinct = list(dict.fromkeys(wanted))
    with tqdm(total=len(distinct), disable=None) as bar:
        if isinstance(model, Server) or model is None:
            answers = run(_served(distinct, model or Server(), concurrency, bar))
        else:
            answers = run(each(distinct, _or_error(model), concurrency, bar))
    return [answers[request] for request in wanted]


async def _served(
    requests: list[Request], server: Server, concurrency: int, bar: tqdm[Any]
) -> dict[Request, Completion]:
    urls = {request.base_url for request in requests}
    if len(urls) > 1:
        raise ValueError(f"one key is for one server, but the requests go to {', '.join(sorted(urls))}")
    store = Store()
    answers = {}
    for request in requests:
        if (body := await store.get(request.text)) is not None:
            answers[request] = read_completion(body)
            bar.update()
    pending = [request for request in requests if request not in answers]
    if not pending:
        return answers
    async with server.session(urls.pop()) as post:

        async def send(text: str) -> str:
            plain = json.loads(text)
            body = {"model": plain["model"], "messages": plain["messages"], **plain["settings"]}
            return await post("/chat/completions", body, read_completion)

        async def ask(request: Request) -> Completion:
            return read_completion(await store.fetch(request.text, send))

        return answers | await each(pending, _or_error(ask), concurrency, bar)


def _or_error(model: Model) -> Model:
    """The same model, with a failed call as a completion of status ``error``."""

    async def ask(request: Request, /) -> Completion:
        try:
            return await model(request)
        except CallError as error:
            return Completion("", status="error", error=str(error))

    return ask


async def each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], concurrency: int, bar: tqdm[Any]
) -> dict[Item, Result]:
    """Results of ``work`` by item, with so many at once; the first exception stops all."""
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, got {concurrency}")
    results: dict[Item, Result] = {}
    left = iter(items)

    async def worker() -> None:
        for item in left:  # one iterator for all workers
            results[item] = await work(item)
            bar.update()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return results


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end in a thread and an event loop of its own."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    try:
        with ThreadPoolExecutor(1) as pool:
            try:
                return pool.submit(loop.run_until_complete, task).result()
            except BaseException:  # an interrupt reaches this thread, not the one that works
                loop.call_soon_threadsafe(task.cancel)
                raise
    finally:
        loop.close()

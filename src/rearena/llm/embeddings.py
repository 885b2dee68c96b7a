"""Embeddings from an OpenAI-compatible server: in batches, each vector stored by its text."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from rearena.llm.complete import each, run
from rearena.llm.protocol import OPENAI, CallError, checked_url
from rearena.llm.server import Server
from rearena.llm.store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TEXTS, _CHARACTERS = 256, 200_000  # of one batch at most; servers limit both texts and tokens


def embed_all(
    texts: Sequence[str],
    model: str = "text-embedding-3-small",
    base_url: str = OPENAI,
    server: Server | None = None,
    *,
    concurrency: int = 4,
) -> NDArray[np.float32]:
    """Vectors of all texts; equal texts and those embedded before are not asked for again.

    Parameters
    ----------
    texts : sequence of str, length N
    model, base_url : str
        Name of the embedding model and address of the server.
    server : Server, optional
        How to reach it; by default with ``OPENAI_API_KEY``, needed only where something is left to ask.
    concurrency : int
        Batches in flight at most, from 1.

    Returns
    -------
    ndarray of float32, shape (N, D)
        In the order of the texts, as the server sends them; shape (0, 0) without texts.

    Raises
    ------
    rearena.llm.server.MissingKeyError
        If there is something to ask and no key.
    rearena.llm.protocol.CallError
        If a batch failed. The others are stored: the next call asks only for what is missing.
    ValueError
        If a text is empty, which servers refuse, or stored and new vectors differ in length.
    """
    if empty := [place for place, text in enumerate(texts) if not text.strip()]:
        raise ValueError(f"no server embeds an empty text: drop those at {empty[:5]} ({len(empty)} in all)")
    vectors = run(_embedded(list(dict.fromkeys(texts)), model, base_url, server or Server(), concurrency))
    if len(lengths := {len(vector) for vector in vectors.values()}) > 1:
        raise ValueError(f"{model} gave vectors of several lengths: {sorted(lengths)}")
    return np.array([vectors[text] for text in texts]) if len(texts) else np.empty((0, 0), np.float32)


async def _embedded(
    texts: list[str], model: str, base_url: str, server: Server, concurrency: int
) -> dict[str, NDArray[np.float32]]:
    place = {"model": model, "base_url": checked_url(base_url)}
    keys = {text: json.dumps({**place, "input": text}, sort_keys=True) for text in texts}
    store = Store()
    stored = {text: await store.get(keys[text]) for text in texts}
    pending = [text for text, vector in stored.items() if vector is None]
    if pending:
        async with server.session(base_url) as post:

            async def embed(batch: tuple[str, ...]) -> str:
                """Ask for a batch and store it; what went wrong, if anything."""
                try:
                    body = {"model": model, "input": batch, "encoding_format": "float"}
                    answer = await post("/embeddings", body, lambda text: _read(text, len(batch)))
                except CallError as error:
                    return str(error)
                for text, vector in zip(batch, _read(answer, len(batch)), strict=True):
                    stored[text] = await store.fetch(keys[text], _given(vector))
                return ""

            batches = list(_batches(pending))
            with tqdm(total=len(batches), disable=None) as bar:
                errors = [error for error in (await each(batches, embed, concurrency, bar)).values() if error]
        if errors:
            raise CallError(
                f"{len(errors)} of {len(batches)} batches failed, the others are stored: {errors[0]}"
            )
    return {text: np.frombuffer(base64.b64decode(v), "<f4") for text, v in stored.items() if v is not None}


def _batches(texts: list[str]) -> Iterator[tuple[str, ...]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == _TEXTS or characters + len(text) > _CHARACTERS):
            yield tuple(batch)
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    yield tuple(batch)


def _read(body: str, count: int) -> list[str]:
    """Vectors in the order of the texts, each as base64 of little-endian float32."""
    try:
        rows = sorted(json.loads(body)["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], dtype="<f4")
    except (KeyError, TypeError):
        raise ValueError(f"the server sent no embeddings: {body[:200]}") from None
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise ValueError(f"{count} texts were sent, and what came back are not as many finite vectors")
    return [base64.b64encode(vector.tobytes()).decode() for vector in vectors]


def _given(vector: str) -> Callable[[str], Awaitable[str]]:
    """What the store calls for an answer that is there already."""

    async def post(_: str) -> str:
        return vector

    return post

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rearena.llm import embeddings
from rearena.llm.embeddings import embed_all
from rearena.llm.protocol import CallError
from rearena.llm.server import MissingKeyError, Server

ONCE = Server(retries=0)


def vector(text: str) -> list[float]:
    return [float(len(text)), ord(text[0]) / 7, -1.0]


def answer(_path: str, body: dict[str, Any], _headers: dict[str, str]) -> tuple[int, Any]:
    rows = [{"index": i, "embedding": vector(text)} for i, text in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}  # the order is that of `index`


@pytest.fixture
def texts(server: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    server.reply = answer
    monkeypatch.setattr(embeddings, "_TEXTS", 4)
    return [f"{chr(97 + i)}{'x' * i}" for i in range(10)]


def test_vectors_come_in_order_in_batches_and_are_asked_for_once(server: Any, texts: list[str]) -> None:
    expected = np.array([vector(text) for text in texts], dtype=np.float32)
    doubled = embed_all([*texts, texts[3]], "e", server.url, ONCE)
    np.testing.assert_array_equal(doubled, [*expected, expected[3]])
    assert doubled.dtype == np.float32
    assert sorted(len(call["input"]) for call in server.calls) == [2, 4, 4]
    assert {(call["model"], call["encoding_format"]) for call in server.calls} == {("e", "float")}
    new = embed_all(["new", *texts[::-1]], "e", server.url + "/", Server(""))
    np.testing.assert_array_equal(new[1:], expected[::-1])
    assert server.calls[-1]["input"] == ["new"]
    assert len(server.calls) == 4
    embed_all(["new"], "another model", server.url, ONCE)
    assert len(server.calls) == 5


def test_a_batch_has_so_many_characters_and_no_more(server: Any, texts: list[str]) -> None:
    lengths = [150_000, 60_000, 100_000, 250_000, 1]
    embed_all([chr(97 + i) * length for i, length in enumerate(lengths)], "e", server.url, ONCE)
    sent = sorted([len(text) for text in call["input"]] for call in server.calls)
    assert sent == [[1], [60_000, 100_000], [150_000], [250_000]]


def test_a_failed_batch_is_an_error_after_the_others_are_stored(server: Any, texts: list[str]) -> None:
    server.reply = lambda path, body, headers: (
        (400, {"error": "too long"}) if texts[5] in body["input"] else answer(path, body, headers)
    )
    with pytest.raises(CallError, match=r"1 of 3 batches failed, the others are stored: .*too long"):
        embed_all(texts, "e", server.url, ONCE)
    server.reply = answer
    embed_all(texts, "e", server.url, ONCE)
    assert [call["input"] for call in server.calls[3:]] == [texts[4:8]]


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 0, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [None]}],
        [{"embedding": [1.0]}, {"embedding": [1.0]}],
        None,
    ],
)
def test_vectors_that_are_none_are_refused_and_not_stored(server: Any, folder: Path, data: Any) -> None:
    server.reply = lambda *call: (200, {"data": data})
    with pytest.raises(CallError, match="1 of 1 batches failed"):
        embed_all(["a", "b"], "e", server.url, ONCE)
    assert list(folder.rglob("output.pkl")) == []


def test_no_text_an_empty_text_no_key_and_changed_lengths(
    server: Any, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert embed_all([], "e", server.url).shape == (0, 0)
    with pytest.raises(ValueError, match=r"empty text: drop those at \[1, 3\] \(2 in all\)"):
        embed_all(["a", "", "b", " \n"], "e", server.url)
    embed_all(["a"], "e", server.url)
    server.reply = lambda *call: (200, {"data": [{"index": 0, "embedding": [1.0]}]})
    with pytest.raises(ValueError, match=r"several lengths: \[1, 3\]"):
        embed_all(["a", "b"], "e", server.url)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        embed_all(["c"], "e", server.url)

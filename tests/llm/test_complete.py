from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rearena.llm.complete import complete_all
from rearena.llm.protocol import CallError, Completion, Request, Usage
from rearena.llm.server import MissingKeyError, Server

KEY = "sk-secret-0123456789"
ONCE = Server(retries=0)


def ask(server: Any, content: str = "x", **fields: Any) -> Request:
    return Request("m", [{"role": "user", "content": content}], base_url=server.url, **fields)


def test_answers_come_in_the_order_of_the_requests_with_text_and_usage(server: Any) -> None:
    answers = complete_all([ask(server, str(i)) for i in (3, 1, 2)], ONCE)
    assert [answer.text for answer in answers] == ["about 3", "about 1", "about 2"]
    assert answers[0] == Completion("about 3", Usage(7, 3))
    assert complete_all([], ONCE) == []


def test_the_model_the_messages_and_the_settings_are_sent_and_nothing_else(server: Any) -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "😀 é"}]
    settings = {"temperature": 0.0, "top_k": 5, "stop": ["a", "b"]}
    complete_all([Request("m", messages, server.url, settings, sample=3)], ONCE)
    assert server.calls == [{"model": "m", "messages": messages, **settings}]


def test_sixteen_identical_requests_in_flight_make_one_call(server: Any) -> None:
    slow = server.reply
    server.reply = lambda *call: (time.sleep(0.2), slow(*call))[1]
    assert {answer.text for answer in complete_all([ask(server)] * 16, ONCE)} == {"about x"}
    assert len(server.calls) == 1
    with ThreadPoolExecutor(16) as pool:  # sixteen callers, each with an event loop of its own
        both = list(pool.map(lambda _: complete_all([ask(server, "y")], Server(retries=0)), range(16)))
    assert {answer.text for (answer,) in both} == {"about y"}
    assert len(server.calls) == 2


def test_whatever_the_answer_may_depend_on_is_in_the_key(server: Any) -> None:
    first = ask(server, settings={"temperature": 0})
    others = [
        ask(server, "z", settings={"temperature": 0}),
        ask(server, settings={"temperature": 0.5}),
        ask(server, settings={"temperature": 0, "max_tokens": 9}),
        ask(server, settings={"temperature": 0}, sample=1),
        Request("n", first.messages, server.url, first.settings),
        Request("m", [{"role": "system", "content": "x"}], server.url, first.settings),
    ]
    for number, request in enumerate([first, *others], start=1):
        complete_all([request], ONCE)
        assert len(server.calls) == number
    complete_all([first, *others], ONCE)
    assert len(server.calls) == len(others) + 1


def test_another_client_another_key_and_no_key_find_what_was_answered(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete_all([ask(server, settings={"temperature": 0, "top_p": 1})], ONCE)
    again = ask(server, settings={"top_p": 1.0, "temperature": 0.0})
    again = Request("m", again.messages, server.url + "/", again.settings)
    assert complete_all([again], Server("OTHER", timeout=1, retries=9))[0].text == "about x"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert complete_all([again])[0].text == "about x"
    assert len(server.calls) == 1


def test_a_missing_key_is_said_before_anything_is_asked(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(MissingKeyError, match="JUDGE_KEY is not set"):
        complete_all([ask(server)], Server("JUDGE_KEY"))
    assert server.calls == []
    server.reply = lambda path, body, headers: (200, {"choices": [{"message": {"content": str(headers)}}]})
    assert KEY not in complete_all([ask(server)], Server(""))[0].text  # nor is another one sent instead


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        (400, {"error": {"message": "unknown model"}}),
        (500, {"error": {"message": "down"}}),
        (200, {"error": {"message": "rate limited, with status 200"}}),
        (200, {"choices": []}),
        (200, {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}),
        (200, {"choices": [{"message": {"content": "  "}, "finish_reason": "length"}]}),
        (200, {"choices": [{"message": {"content": f"you sent Bearer {KEY}"}}]}),
        (200, b'{"choices": [{"mess'),
        (200, b"<html>gateway</html>"),
        (200, [1]),
    ],
)
def test_a_failure_is_a_status_is_not_stored_and_is_asked_again(
    server: Any, folder: Path, status: int, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    works, server.reply = server.reply, lambda *call: (status, body)
    failed = complete_all([ask(server)], ONCE)[0]
    assert failed.status == "error"
    assert failed.error
    assert failed.text == ""
    assert KEY not in caplog.text + repr(failed)
    assert list(folder.rglob("output.pkl")) == []
    server.reply = works
    assert complete_all([ask(server)], ONCE)[0].status == "ok"
    assert len(server.calls) == 2
    assert not any(KEY.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_one_failure_does_not_stop_the_others(server: Any) -> None:
    works = server.reply
    server.reply = lambda path, body, headers: (
        (400, {}) if body["messages"][0]["content"] == "1" else works(path, body, headers)
    )
    answers = complete_all([ask(server, str(i)) for i in range(4)], ONCE)
    assert [answer.status for answer in answers] == ["ok", "error", "ok", "ok"]


def test_a_failure_that_passes_is_tried_again_within_the_call(server: Any) -> None:
    works = server.reply
    server.reply = lambda *call: (503, {}) if len(server.calls) < 3 else works(*call)
    assert complete_all([ask(server)], Server(retries=2))[0].text == "about x"
    assert len(server.calls) == 3


def test_a_server_that_is_not_there_and_one_that_is_slow_are_errors(server: Any) -> None:
    server.reply = lambda *call: (time.sleep(0.5), (200, {}))[1]
    assert "Timeout" in complete_all([ask(server)], Server(retries=0, timeout=0.05))[0].error
    nobody = Request("m", [{"role": "user", "content": "x"}], "http://127.0.0.1:9/v1")
    assert "Connection" in complete_all([nobody], ONCE)[0].error


def test_an_answer_cut_at_the_limit_says_so(server: Any) -> None:
    choice = {"message": {"content": "I would say [[A>"}, "finish_reason": "length"}
    server.reply = lambda *call: (200, {"choices": [choice]})
    for _ in range(2):  # as asked, and as stored
        answer = complete_all([ask(server)], ONCE)[0]
        assert (answer.text, answer.status, answer.usage) == ("I would say [[A>", "truncated", None)


def test_so_many_are_in_flight_and_not_more() -> None:
    flying = most = 0

    async def model(request: Request) -> Completion:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.001)
        flying -= 1
        return Completion(request.messages[0]["content"])

    requests = [Request("m", [{"role": "user", "content": str(i)}]) for i in range(50)]
    answers = complete_all(requests, model, concurrency=7)
    assert [answer.text for answer in answers] == [str(i) for i in range(50)]
    assert most == 7
    with pytest.raises(ValueError, match="concurrency must be at least 1"):
        complete_all(requests, model, concurrency=0)


def test_a_simulated_model_needs_no_key_leaves_no_file_and_its_bugs_are_raised(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    async def model(request: Request) -> Completion:
        if request.sample == 1:
            raise CallError("busy")
        if request.sample == 2:
            raise ZeroDivisionError("a bug")
        return Completion("[[A>B]]")

    requests = [Request("m", [{"role": "user", "content": "x"}], sample=sample) for sample in range(3)]
    answers = complete_all(requests[:2], model)
    assert answers == [Completion("[[A>B]]"), Completion("", status="error", error="busy")]
    with pytest.raises(ZeroDivisionError, match="a bug"):
        complete_all(requests, model)
    assert not folder.exists()


def test_it_works_where_an_event_loop_runs_already(server: Any) -> None:
    async def notebook() -> list[Completion]:
        return complete_all([ask(server)], ONCE)

    assert asyncio.run(notebook())[0].text == "about x"


def test_one_key_goes_to_one_server(server: Any) -> None:
    with pytest.raises(ValueError, match="one key is for one server"):
        complete_all([ask(server), Request("m", [{"role": "user", "content": "x"}])], ONCE)
    assert server.calls == []


INTERRUPTED = """
import sys
from rearena.llm.complete import complete_all
from rearena.llm.protocol import Request
requests = [Request("m", [{"role": "user", "content": str(i)}], sys.argv[1]) for i in range(9)]
complete_all(requests, concurrency=2)
"""


def test_an_interrupted_run_stops_at_once_and_goes_on_where_it_was(server: Any) -> None:
    works, reached = server.reply, threading.Semaphore(0)

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        if int(body["messages"][0]["content"]) >= 4:
            reached.release()
            time.sleep(1)
        return works(path, body, headers)  # type: ignore[no-any-return]

    server.reply = reply
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, server.url], stderr=subprocess.PIPE)
    assert all(reached.acquire(timeout=30) for _ in range(2))  # then what was before them is stored
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert errors.rstrip().endswith(b"KeyboardInterrupt")
    assert len(server.calls) == 6
    server.reply = works
    complete_all([ask(server, str(i)) for i in range(9)], ONCE)
    assert len(server.calls) == 6 + 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"messages": []}, "every message needs"),
        ({"messages": [{"role": "user"}]}, "every message needs"),
        ({"messages": [{"role": "user", "content": 3}]}, "every message needs"),
        ({"settings": {"timeout": 3}}, "timeout cannot be a sampling setting"),
        ({"settings": {"stop": {"a"}}}, "plain JSON"),
        ({"settings": {"temperature": float("nan")}}, "plain JSON"),
        ({"base_url": "ftp://host/v1"}, "base_url must be"),
        ({"base_url": "https://me:secret@host/v1"}, "base_url must be"),
        ({"base_url": "https://host/v1?key=secret"}, "base_url must be"),
    ],
)
def test_a_request_that_is_none_is_refused_when_it_is_made(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Request(**{"model": "m", "messages": [{"role": "user", "content": "x"}]} | fields)
    assert "secret" not in str(caught.value)


def test_what_the_caller_changes_later_does_not_change_a_request() -> None:
    messages, settings = [{"role": "user", "content": "x"}], {"temperature": 1}
    request = Request("m", messages, settings=settings)
    messages[0]["content"], settings["temperature"] = "y", 0
    assert request == Request("m", [{"role": "user", "content": "x"}], settings={"temperature": 1})
    assert request != Request("m", messages, settings=settings)
    assert (request.messages[0]["content"], request.settings["temperature"]) == ("x", 1)


def test_a_key_is_never_sent_as_part_of_a_request_or_shown(server: Any, folder: Path) -> None:
    failed = complete_all([ask(server, f"my key is {KEY}")], ONCE)[0]
    assert "the request holds the API key" in failed.error
    assert server.calls == []
    assert KEY not in repr(ONCE) + failed.error
    assert not any(KEY.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())

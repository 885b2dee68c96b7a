from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from rearena.llm import store as module
from rearena.llm.answer import answer
from rearena.llm.store import Store

# Changing these two drops every answer that anyone has paid for.
SOURCE = "f809a926dcae88d02358d40366f64212662c1fbe99b512ce279ea724e3ff46a8"
PLACE = Path("rearena", "llm", "answer", "answer")


class Post:
    """Answers with the request in capitals, and counts."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def __call__(self, request: str) -> str:
        self.calls.append(request)
        return request.upper()


def fetch(store: Store, request: str, post: Post) -> str:
    return asyncio.run(store.fetch(request, post))


def test_the_source_of_the_stored_function_and_its_place_are_as_they_were(folder: Path) -> None:
    assert hashlib.sha256(inspect.getsource(answer).encode()).hexdigest() == SOURCE
    fetch(Store(), "a", Post())
    assert [file.parent.relative_to(folder) for file in folder.rglob("func_code.py")] == [PLACE]


def test_an_answer_is_kept_word_for_word_and_asked_once(folder: Path) -> None:
    post, odd = Post(), 'é "\ud83d" \x00\n' * 3
    assert asyncio.run(Store().get(odd)) is None
    for _ in range(2):
        assert fetch(Store(), odd, post) == odd.upper()
    assert post.calls == [odd]
    assert asyncio.run(Store().get(odd)) == odd.upper()
    assert (folder / ".gitignore").read_text().splitlines()[-1] == "*"


def test_a_moved_module_and_a_comment_in_it_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = Post()
    fetch(Store(), "a", post)
    moved = tmp_path / "elsewhere.py"
    source = Path(inspect.getfile(answer)).read_text(encoding="utf-8")
    moved.write_text("# A comment\n\n" + source + "\n\n# and another one\nX = 1\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("other.package.elsewhere", moved)
    assert spec is not None
    assert spec.loader is not None
    elsewhere = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(elsewhere)
    monkeypatch.setattr(module, "answer", elsewhere.answer)
    assert fetch(Store(), "a", post) == "A"
    assert post.calls == ["a"]


def test_a_second_folder_in_one_process_is_read_by_the_next_process(tmp_path: Path) -> None:
    # joblib writes a function's source once in a process: without it, the next process asks again.
    for name in ("one", "two"):
        fetch(Store(tmp_path / name), "a", Post())
        assert (tmp_path / name / PLACE / "func_code.py").is_file()


def test_a_failure_is_not_stored_and_all_who_wait_hear_of_it(folder: Path) -> None:
    calls = 0

    async def fails(request: str) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.01)
        raise RuntimeError("no answer")

    async def both() -> list[str | BaseException]:
        store = Store()
        return await asyncio.gather(*(store.fetch("a", fails) for _ in range(3)), return_exceptions=True)

    assert [str(error) for error in asyncio.run(both())] == ["no answer"] * 3
    assert calls == 1
    assert fetch(Store(), "a", Post()) == "A"


def test_who_waits_asks_when_the_one_who_asked_is_interrupted() -> None:
    async def scene() -> tuple[str, list[str]]:
        store, post, started = Store(), Post(), asyncio.Event()

        async def never(request: str) -> str:
            started.set()
            await asyncio.sleep(60)
            return request

        first = asyncio.create_task(store.fetch("a", never))
        await started.wait()
        second, third = (asyncio.create_task(store.fetch("a", post)) for _ in range(2))
        await asyncio.sleep(0.01)
        third.cancel()  # one who waits and leaves takes nothing from the others
        first.cancel()
        return await second, post.calls

    assert asyncio.run(asyncio.wait_for(scene(), 5)) == ("A", ["a"])


@pytest.mark.parametrize("damage", [b"", b"\x80\x04", b"not a pickle"])
def test_a_damaged_entry_is_asked_again(folder: Path, damage: bytes) -> None:
    post = Post()
    fetch(Store(), "a", post)
    (entry,) = folder.rglob("output.pkl")
    entry.write_bytes(damage)
    assert asyncio.run(Store().get("a")) is None
    assert fetch(Store(), "a", post) == "A"
    assert asyncio.run(Store().get("a")) == "A"
    assert post.calls == ["a", "a"]


KILLED = """
import asyncio, os, random, signal, sys, time
from pathlib import Path
from rearena.llm.store import Store

async def post(request):
    return request * 50_000

async def write():
    store = Store(Path(sys.argv[1]))
    for number in range(10_000):  # more than there is time for
        await store.fetch(str(number), post)

delays = random.Random(4)
for _ in range(20):
    child = os.fork()
    if child == 0:
        asyncio.run(write())
        os._exit(0)
    time.sleep(delays.uniform(0, 0.1))
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
"""


def test_twenty_kills_leave_no_entry_that_breaks_a_later_read(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=True, timeout=60)
    store, post = Store(folder), Post()
    numbers = [str(number) for number in range(10_000)]

    async def get() -> list[str | None]:
        return [await store.get(number) for number in numbers]

    found = asyncio.run(get())
    kept = [number for number, text in zip(numbers, found, strict=True) if text is not None]
    assert 0 < len(kept) < len(numbers)
    assert all(text in (None, number * 50_000) for number, text in zip(numbers, found, strict=True))
    again = numbers[: len(kept) + 50]  # written in order: the gaps, and some that nobody came to
    for number in again:
        assert fetch(store, number, post) == (number * 50_000 if number in kept else number)
    assert len(post.calls) == len(again) - len(kept)
    assert caplog.text == ""

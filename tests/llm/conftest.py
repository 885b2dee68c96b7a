from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

KEY = "sk-secret-0123456789"


def chat(text: str | None, reason: str = "stop") -> dict[str, Any]:
    """Body of an answer to /chat/completions."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return {"choices": [{"message": message, "finish_reason": reason}], "usage": usage}


class FakeServer:
    """An OpenAI-compatible server on this machine that counts its calls.

    ``reply`` makes (status, body) from the path, the body and the headers of a call.
    """

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.reply: Callable[[str, dict[str, Any], dict[str, str]], tuple[int, Any]]
        self.reply = lambda path, body, headers: (200, chat(f"about {body['messages'][-1]['content']}"))
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    outer.calls.append(body)
                status, answer = outer.reply(self.path, body, dict(self.headers))
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Retry-After-Ms", "1")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.handle_error = lambda *_: None  # a client that left
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of the test's own, a key in the environment, and no proxy before this machine."""
    monkeypatch.setenv("REARENA_CACHE", str(tmp_path / "store"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "store"

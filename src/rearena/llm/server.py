"""An OpenAI-compatible server behind the protocol: hosted, vLLM or Ollama, through the `openai` client."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from rearena.llm.protocol import CallError, Completion, Usage, checked_url

# Path below the base address and body, to the body that came back, when it passes the check.
Post: TypeAlias = Callable[[str, Mapping[str, object], Callable[[str], object]], Awaitable[str]]
_SHOWN = 500  # characters of a server's error message
_SECRET = 8  # a shorter key is a word such as "none" or "ollama", which may stand in any text


class MissingKeyError(RuntimeError):
    """The environment variable that should hold the API key does not."""


@dataclass(frozen=True)
class Server:
    """How to reach a server: nothing that its answers depend on.

    Attributes
    ----------
    key_variable : str
        Environment variable that holds the API key; empty for a server that asks for none. The key itself
        is kept in no attribute, file, message or log.
    timeout : float
        Seconds that one try may take.
    retries : int
        Further tries after a failure that may pass: no connection, time-out, rate limit, 5xx.
    """

    key_variable: str = "OPENAI_API_KEY"
    timeout: float = 300.0
    retries: int = 4

    @asynccontextmanager
    async def session(self, base_url: str) -> AsyncIterator[Post]:
        """Connections to one server, closed at the end.

        Raises
        ------
        MissingKeyError
            If the variable is not set.
        CallError
            By the yielded function, if there is no answer or it is not what was asked for.
        """
        import openai  # takes a second

        key = self._key()

        async def post(path: str, body: Mapping[str, object], check: Callable[[str], object]) -> str:
            try:
                if _within(key, base_url + json.dumps(body)):
                    raise ValueError("the request holds the API key: not sent")
                text: str = await client.post(path, cast_to=str, body=body)
                if _within(key, text):
                    raise ValueError("the answer holds the API key: not kept")
                check(text)
                return text
            except openai.APIStatusError as error:
                reason = f"status {error.status_code}: {error.response.text or error}"
            except (openai.OpenAIError, ValueError) as error:
                reason = f"{type(error).__name__}: {error} {error.__cause__ or ''}".strip()
            # Out of the except block, so that no traceback leads to the client's own error.
            raise CallError((reason.replace(key, "[key]") if _within(key, reason) else reason)[:_SHOWN])

        async with openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=checked_url(base_url),
            timeout=self.timeout,
            max_retries=self.retries,
        ) as client:
            yield post

    def _key(self) -> str:
        if not self.key_variable:
            return ""
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise MissingKeyError(
                f"the API key is read from the environment, where {self.key_variable} is not set: set it, or "
                "name another variable (an empty name for a server that needs no key)"
            )
        return key


def _within(key: str, text: str) -> bool:
    return len(key) >= _SECRET and key in text


def read_completion(body: str) -> Completion:
    """A server's answer to ``/chat/completions`` as a completion.

    Parameters
    ----------
    body : str
        JSON, as it came or was stored.

    Raises
    ------
    ValueError
        If it holds no text: some servers report an error with status 200, or stop before the first word.
    """
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        text, reason = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        raise ValueError(f"the server sent no completion: {body[:200]}") from None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"the server sent no text; it gives as reason {reason!r}")
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    prompt, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return Completion(
        text,
        usage=Usage(prompt, written) if isinstance(prompt, int) and isinstance(written, int) else None,
        status="truncated" if reason == "length" else "ok",
    )

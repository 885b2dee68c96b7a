"""One protocol for every model, served or simulated: messages in, text and usage out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

OPENAI = "https://api.openai.com/v1"
# What is no sampling setting: the request's own fields, how often and how long to try, and what is secret.
_RESERVED = {"model", "messages", "n", "stream", "timeout", "max_retries", "api_key", "extra_headers"}


@dataclass(frozen=True)
class Request:
    """One call, with everything that its answer may depend on and nothing else.

    Two requests are equal when their ``text`` is; how often and how long a call is tried, and with which
    key, belongs to :class:`rearena.llm.server.Server`.

    Attributes
    ----------
    model : str
        Name by which the server knows the model.
    messages : sequence of mapping
        ``role`` and ``content`` of each message, both text, in order.
    base_url : str
        Address of an OpenAI-compatible server, without user, query or fragment.
    settings : mapping
        Sampling settings as the server names them (``temperature``, ``max_tokens``, ...): plain JSON.
    sample : int
        Which of several answers to the same request, from 0; never sent.
    text : str
        The request as JSON with sorted keys: what is stored under and what is sent.

    Raises
    ------
    ValueError
        If a field is not as said here.
    """

    model: str
    messages: Sequence[Mapping[str, str]] = field(compare=False)
    base_url: str = field(default=OPENAI, compare=False)
    settings: Mapping[str, object] = field(default_factory=dict, compare=False)
    sample: int = field(default=0, compare=False)
    text: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.messages or any(
            set(m) != {"role", "content"} or not all(isinstance(part, str) for part in m.values())
            for m in self.messages
        ):
            raise ValueError(f"request to {self.model}: every message needs a role and a content, both text")
        if wrong := sorted(_RESERVED & set(self.settings)):
            raise ValueError(f"request to {self.model}: {', '.join(wrong)} cannot be a sampling setting")
        # 0 and 0.0 are one temperature, though JSON writes them as two.
        settings = {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in self.settings.items()
        }
        plain = {
            "base_url": checked_url(self.base_url),
            "messages": [dict(message) for message in self.messages],
            "model": self.model,
            "sample": self.sample,
            "settings": settings,
        }
        try:
            text = json.dumps(plain, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"request to {self.model}: settings must be plain JSON: {error}") from None
        # Copies, so that what the caller changes later is neither seen nor sent.
        for name, value in (json.loads(text) | {"text": text}).items():
            object.__setattr__(self, name, value)


def checked_url(base_url: str) -> str:
    """The address without its last slash; ValueError where it could not be stored or shown as it is."""
    url = urlsplit(base_url)
    if url.scheme not in ("http", "https") or not url.hostname or url.username or url.query or url.fragment:
        # The address itself is not repeated: it may hold a password.
        raise ValueError("base_url must be http(s)://host/path, without user, password, query or fragment")
    return base_url.rstrip("/")


class Usage(NamedTuple):
    """Tokens that were billed."""

    prompt: int
    completion: int


@dataclass(frozen=True)
class Completion:
    """What came back for a request.

    Attributes
    ----------
    text : str
        What the model wrote; empty after an error.
    usage : Usage or None
        None where the server did not say.
    status : {"ok", "truncated", "error"}
        ``truncated`` at the limit of tokens; ``error`` where there is no answer, which is stored nowhere.
    error : str
        What went wrong.
    """

    text: str
    usage: Usage | None = None
    status: Literal["ok", "truncated", "error"] = "ok"
    error: str = ""


class Model(Protocol):
    """Anything that answers: a simulated model is an async function, the same for the same request."""

    async def __call__(self, request: Request, /) -> Completion:
        """Answer one request."""
        ...


class CallError(RuntimeError):
    """A model gave no answer; the message says why and holds no key."""

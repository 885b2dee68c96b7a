"""What a judge or annotator says, read from its own words: pure functions from text to (value, status).

The last verdict counts where the judge gives several. A judge that repeats a candidate's answer may repeat a
verdict that stands in it, planted or not; told what it was ``shown``, the parsers leave such a one out. It is
taken for repeated where the candidate's text holds the same verdict, and the judge sets it between quotation
marks (backquotes, after ``>``) or repeats also what stands before it. Own words that happen to be the
candidate's are then not understood: that costs a judgment, where the opposite would be a wrong one.

An answer that is not understood has a status and no value: it is neither a loss nor a tie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
# missing: nothing that looks like a value; invalid: the last one is none of those allowed; quoted: all of
# them are repeated from what the judge was shown.
Status: TypeAlias = Literal["ok", "missing", "invalid", "quoted"]
_Found: TypeAlias = tuple[int, int, str]  # start and end in the text, and the token


class Parsed(NamedTuple, Generic[T]):
    """A value, or None with the reason."""

    value: T | None
    status: Status


class Verdict(NamedTuple):
    """One of ``A>>B, A>B, A=B, B>A, B>>A``, or None with the reason; a tie may be one of two bad answers."""

    value: str | None
    status: Status
    both_bad: bool = False


_ARENA = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
_VERDICTS = (
    {name: name for name in _ARENA}
    | {name[::-1].replace(">", "<"): name for name in _ARENA}  # B<<A says what A>>B does
    | dict(zip(("A++", "A+", "A=B", "B+", "B++"), _ARENA, strict=True))
)
_WINNERS = {"1": "A>B", "2": "B>A", "0": "A=B", "-1": "A=B"}
_LOOKED_AT = 50  # objects and values of a text, from its end: the time must not grow with its square
_BRACKETS = re.compile(r"\[\[\s*([AB]\s*[<>=]+\s*[AB])\s*\]\]?", re.I)  # Arena-Hard prints one as [[B>>A]
_SCORE = re.compile(
    r"""\b(?:score|rating)["'*]*\s*(?:[:=]|\bis\b)["'*\s\[]*(-?\d+(?:\.\d+)?)(?!\s*[~\d]|\.\d|\s*/\s*(?!10\b))""",
    re.I,
)
_CRITERIA = (
    re.compile(r"criteria\s+satisfied\W*?\[([^\[\]]*)\]", re.I),
    re.compile(r"criteria\s+satisfied[\s:*\"']*(none\b|\d[\d, ]*)", re.I),
    re.compile(r"^[ *`]*\[([\d\s,\"']*)\][ *`.]*$", re.M),
    re.compile(r"^[ *`]*(\d(?: ?, ?\d)*)[ *`.]*$", re.M),
)


def parse_verdict(text: str, shown: Sequence[str] = ()) -> Verdict:
    """Verdict on a pair, in any of the papers' spellings.

    Sources: Arena-Hard, section 11, and Chatbot Arena, D.3: ``[[A>>B]]`` to ``[[B>>A]]``; WildBench,
    appendix E: JSON whose ``choice`` is ``A++, A+, A=B, B+`` or ``B++``; RWQ-Elo, A.2: JSON whose ``winner``
    is 1, 2, 0 (a tie of satisfactory answers) or -1 (of unsatisfactory ones). The bare word alone will do.

    Parameters
    ----------
    text : str
        The judge's answer, as it came.
    shown : sequence of str
        The candidates' answers that it judged.

    Returns
    -------
    Verdict
        ``value, status, both_bad``.
    """
    found = [*_matches(_BRACKETS, text), *_json_values(text, "choice"), *_json_values(text, "winner")]
    if (bare := text.strip(" \n*`\"'.")).upper() in _VERDICTS:
        found.append((0, len(text), bare))
    token, status = _last(found, text, shown)
    if token is None:
        return Verdict(None, status)
    token = re.sub(r"\s", "", token).strip("[]").upper()
    value = _VERDICTS.get(token) or _WINNERS.get(token)
    return Verdict(value, "ok" if value else "invalid", both_bad=token == "-1")


def parse_score(text: str, shown: Sequence[str] = ()) -> Parsed[float]:
    """Score from 1 to 10 (WildBench, appendix E: JSON with ``score``; also ``[[7]]`` and ``Rating: 7/10``).

    Parameters
    ----------
    text : str
        The judge's answer, as it came.
    shown : sequence of str
        The answers that it judged.
    """
    brackets = _matches(re.compile(r"\[\[\s*(-?\d+(?:\.\d+)?)\s*\]\]"), text)
    token, status = _last([*brackets, *_matches(_SCORE, text), *_json_values(text, "score")], text, shown)
    if token is None:
        return Parsed(None, status)
    number = re.fullmatch(r"\[?\s*(\d+(?:\.\d+)?)\s*\]?(?:\s*/\s*10)?", token.strip())
    value = float(number[1]) if number else 0.0
    return Parsed(value, "ok") if 1 <= value <= 10 else Parsed(None, "invalid")


def parse_criteria(text: str, shown: Sequence[str] = ()) -> Parsed[tuple[int, ...]]:
    """Numbers of the seven criteria that a prompt satisfies (Arena-Hard, section 11), in order, each once.

    ``Criteria Satisfied: [1, 2, 4]`` anywhere; else a line that is nothing but a list, ``1,2,4``.

    Parameters
    ----------
    text : str
        The annotator's answer, as it came.
    shown : sequence of str
        The prompt that it read.
    """
    found = next((hits for hits in (list(_matches(form, text)) for form in _CRITERIA) if hits), [])
    token, status = _last(found, text, shown)
    if token is None:
        return Parsed(None, status)
    numbers = [part.strip(" \n\"'") for part in token.strip(" \n,").split(",")]
    if numbers in ([""], ["none"], ["None"]):
        return Parsed((), "ok")
    if not all(re.fullmatch("[1-7]", number) for number in numbers):
        return Parsed(None, "invalid")
    return Parsed(tuple(sorted({int(number) for number in numbers})), "ok")


def parse_choice(text: str, options: str = "ABCD", shown: Sequence[str] = ()) -> Parsed[str]:
    """Choice that a statement amounts to: a letter of ``options``, or ``None`` (RWQ-Elo, A.1: JSON).

    Parameters
    ----------
    text : str
        The model's answer, as it came: JSON whose ``choice`` is a letter or ``None``.
    options : str
        The letters there are.
    shown : sequence of str
        The statement that it read.
    """
    token, status = _last(list(_json_values(text, "choice")), text, shown)
    if token is None:
        return Parsed(None, status)
    value = token.strip(" ().").capitalize()
    return Parsed(value, "ok") if value in {*options, "None"} else Parsed(None, "invalid")


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[_Found]:
    return ((match.start(), match.end(), match[1]) for match in pattern.finditer(text))


def _json_values(text: str, key: str) -> Iterator[_Found]:
    """Values of a key in the JSON objects of a text; in broken ones, what follows the key."""
    decoder, rest = json.JSONDecoder(strict=False), text
    braces = [brace.start() for brace in re.finditer(r'\{(?=\s*")', text)]
    for start in braces[-_LOOKED_AT:]:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if key in found:
            rest = rest[:start] + " " * (end - start) + rest[end:]
            yield start, end, str(found[key])
    for match in re.finditer(rf'"{key}"\s*:\s*(?:"([^"\n]*)"|(-?\w+))', rest):
        yield match.start(), match.end(), match[1] or match[2] or ""


def _last(found: list[_Found], text: str, shown: Sequence[str]) -> tuple[str | None, Status]:
    """Token of the last one that is the judge's own."""
    sources = [_squeezed(source) for source in shown]
    for start, end, token in sorted(found, key=lambda one: one[1], reverse=True)[:_LOOKED_AT]:
        if not _repeated(text, start, end, sources):
            return token, "ok"
    return None, "quoted" if found else "missing"


def _repeated(text: str, start: int, end: int, sources: Sequence[str]) -> bool:
    """Whether what stands there is repeated from one of the sources."""
    said, before = _squeezed(text[start:end]), text[:start]
    line, paragraph = before[before.rfind("\n") + 1 :], before[before.rfind("\n\n") + 1 :]
    marked = (
        line.lstrip().startswith(">")
        or before[-1:] in tuple("'‘«")
        or paragraph.count("“") > paragraph.count("”")
        or any(paragraph.count(mark) % 2 for mark in '"`')
    )
    words = _squeezed(before)
    for source in sources:
        for match in re.finditer(re.escape(said), source):
            stretch = source[max(0, match.start() - 20) : match.start()]
            if marked or len(said) >= 40 or (len(stretch) >= 5 and words.endswith(stretch)):
                return True
    return False


def _squeezed(text: str) -> str:
    return re.sub(r"\s", "", text).casefold()

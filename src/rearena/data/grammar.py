"""Prompts of the simulated arena: texts of known topic, language and quality, with planted duplicates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from rearena.data import published
from rearena.data.released import CRITERIA

Words = Mapping[str, list[str]]

# Choices of ours, calibrated to nothing printed.
_AHEAD = 2.0  # how far the qualities that mark a topic come before the others, in units of the Gumbel noise
_SIZE_SHIFT, _SIZE_EXPONENT = 2.0, 0.8  # sizes of the topics, by rank: (rank + 2) ** -0.8
_PER_USER, _TAIL = 2.7, 1.2  # prompts of a user on average; exponent of the Pareto distribution of activity
_MENTIONS = 0.03  # share of the English prompts that name a model or a company
_START, _DAYS = "2023-04-24", 273  # the period of Chatbot Arena, section 3.2
_SLOT = re.compile(r"\{([a-z_]+)\}")
_NO_SPACES = ("Chinese", "Japanese")


def prompts(
    count: int, seed: int | np.random.Generator, *, duplicates: float = 0.08, turns: float = 1.3
) -> pd.DataFrame:
    r"""Prompts of a simulated arena, whose topics, languages, duplicates and qualities are known.

    Calibrated to, and so never to be judged against: Chatbot Arena, section 3.2 (77 % English, 5 % Chinese,
    every other language below 2 %; 1.3 turns) and Arena-Hard, Table 1 (see :func:`qualities`).

    A prompt has a language and a topic: 70 in English, whose sizes fall as :math:`(r + 2)^{-0.8}` with their
    rank :math:`r`, and five of these in each of thirteen other languages. Its text is an opening with a task
    of the topic and then, in random order, a sentence for each quality that it has, which asks for that
    quality in the topic's own words; from five qualities on, two of them get a second sentence. Asked for
    technical accuracy or problem solving, it may end in a piece of code. So a text gets longer and more
    specific with its score, and a prompt of score 0 is a line.

    Exact and near duplicates (case, punctuation; in texts of 25 words or more, a word misspelled or left out)
    follow their original in time. Texts that come out equal by chance, up to case and punctuation, are
    marked as duplicates as well. English prompts that are no copy and have one turn match Table 1 by
    themselves, up to rounding, and so do the other originals: filtering does not shift the qualities.

    Parameters
    ----------
    count : int
        Number of prompts, 0 or more.
    seed : int or Generator
        Source of randomness.
    duplicates : float
        Share of planted copies, in [0, 1).
    turns : float
        Mean number of turns of a conversation, at least 1; geometric.

    Returns
    -------
    DataFrame
        One row per prompt, by time: ``prompt_id``, ``text`` (the last message of the user), ``history``
        (list of earlier messages as ``{"role", "content"}``, empty for one turn), ``topic``, ``language``,
        ``user``, ``time`` (UTC), ``duplicate_of`` (``prompt_id`` of an earlier prompt, or missing),
        ``mentions_model`` (bool: a model or a company is named) and the seven qualities (bool).

    Raises
    ------
    ValueError
        If a number is outside its range.
    """
    if count < 0 or not 0 <= duplicates < 1 or not 1 <= turns < np.inf:
        raise ValueError(
            f"need count >= 0, 0 <= duplicates < 1, turns >= 1; got {count}, {duplicates}, {turns}"
        )
    rng = np.random.default_rng(seed)
    copies = int(duplicates * count)
    frame = _originals(count - copies, turns, rng)
    source = _sample(frame, copies, rng)
    moment = rng.random(count - copies)
    copied = frame.iloc[source].assign(source=source)
    copied["text"] = [_alter(text, rng) for text in copied["text"]]
    later = moment[source] + rng.random(copies) * (1 - moment[source])
    frame = pd.concat([frame.assign(source=-1), copied], ignore_index=True)
    frame["time"] = np.concatenate([moment, later])
    frame = frame.sort_values("time", kind="stable").rename_axis("row").reset_index()
    seconds = (frame["time"] * _DAYS * 86_400).astype("int64")
    names = np.array([f"p{k:0{max(6, len(str(count)))}d}" for k in range(count)], dtype=object)
    frame.insert(0, "prompt_id", names)
    frame["time"] = pd.Timestamp(_START, tz="UTC") + pd.to_timedelta(seconds, unit="s")
    frame["user"] = _users(frame["language"], rng)
    frame["duplicate_of"] = _first_of_its_kind(frame)
    columns = ["prompt_id", "text", "history", "topic", "language", "user", "time", "duplicate_of"]
    return frame[[*columns, "mentions_model", *CRITERIA]]


def qualities(level: ArrayLike, ahead: ArrayLike, seed: int | np.random.Generator) -> NDArray[np.bool_]:
    r"""The seven qualities of prompts: correlated binary variables that match both rows of Table 1.

    Source: Arena-Hard, Table 1, which prints :math:`P(S \geq k)` for the score :math:`S = \sum_j X_j` and
    :math:`P(X_j = 1)` for each quality, of the same 75,000 queries. Both rows imply the mean score, since
    :math:`E S = \sum_k P(S \geq k) = \sum_j P(X_j = 1)`; but the first adds up to 3.414, the second to 3.436,
    and rounding explains 0.007 at most. No distribution has all fourteen. :func:`targets` takes the nearest
    numbers, by the sum of squares, that agree: 0.16 points more for each :math:`P(S \geq k)` and 0.16
    less for each :math:`P(X_j = 1)`.

    The sum is drawn first, the items then:

    1. *Score.* Prompt :math:`i` has the latent score :math:`z_i = h_i + \varepsilon_i`, with the level
       :math:`h_i` of its topic and :math:`\varepsilon_i \sim N(0, 1)`. Where :math:`R_i` is its rank among
       the :math:`n` prompts, from 1 for the lowest, :math:`S_i = \#\{k : R_i > n (1 - P(S \geq k))\}`: the
       scores have the wanted distribution whatever the levels are, and each topic its own part of it (a
       Gaussian copula, if the levels are normal).
    2. *Items.* Prompt :math:`i` has the :math:`S_i` qualities of largest :math:`\theta_j + a_{ij} + G_{ij}`,
       with :math:`a_{ij}` what its topic adds and independent Gumbel noise :math:`G_{ij}`. Were :math:`a` 0,
       that is drawing :math:`S_i` of the seven one after another without replacement, with weights
       :math:`e^{\theta_j}` (Plackett-Luce).
    3. *Marginals.* The noise is drawn once, and then :math:`\theta` solved for: repeatedly,
       :math:`\theta_j \leftarrow \theta_j + \mathrm{logit}\,q_j - \mathrm{logit}\,\bar X_j`, as in iterative
       proportional fitting but with steps that get shorter, until the share :math:`\bar X_j` of each quality
       is :math:`q_j` within 0.05 points, or one prompt. (A quality becomes more frequent with its
       :math:`\theta_j` and less with the others'; their number is fixed by the scores.)

    So all fourteen numbers hold in the sample itself, up to rounding, and not just in expectation. The
    qualities correlate through the score and through the topic.

    Parameters
    ----------
    level : array_like, shape (n,)
        :math:`h`, in standard deviations of the noise; only differences matter.
    ahead : array_like, shape (n, 7)
        :math:`a`, in units of the Gumbel noise, in the order of ``released.CRITERIA``.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (n, 7)
        True where a prompt has a quality.
    """
    rng = np.random.default_rng(seed)
    at_least, rate = targets()
    h = np.asarray(level, dtype=float)
    n = len(h)
    rank = np.empty(n)
    rank[np.argsort(h + rng.normal(size=n))] = np.arange(n) + 0.5
    score = (rank[:, None] > n * (1 - at_least)).sum(axis=1)
    priority = np.asarray(ahead, dtype=float) + rng.gumbel(size=(n, len(rate)))
    theta = logit(rate)
    chosen = np.zeros((n, len(rate)), dtype=bool)
    for sweep in range(100 if n else 0):
        order = np.argsort(-(priority + theta), axis=1)
        np.put_along_axis(chosen, order, np.arange(len(rate)) < score[:, None], axis=1)
        share = chosen.mean(axis=0)
        if np.abs(share - rate).max() <= max(0.0005, 1 / n):
            break
        step = (1 + sweep / 10) ** -0.5  # full steps may go back and forth between a few prompts
        theta += step * (logit(rate) - logit(share.clip(0.5 / n, 1 - 0.5 / n)))
    return chosen


def targets() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of Arena-Hard, Table 1, moved by the least sum of squares that lets the two rows agree.

    Returns
    -------
    at_least : ndarray, shape (7,)
        Share of prompts with a score of 1 or more, ..., 7; in [0, 1].
    rate : ndarray, shape (7,)
        Share of prompts with each quality, in the order of ``released.CRITERIA``; the same sum.
    """
    printed = published.table("arena_hard_table1")
    at_least, rate = (
        printed.loc[printed["row"] == row, "percent"].to_numpy(dtype=float) / 100
        for row in ("score>=", "quality")
    )
    gap = (rate.sum() - at_least.sum()) / (len(rate) + len(at_least))
    return at_least + gap, rate - gap


def topics() -> pd.DataFrame:
    """The topics, by size: index ``topic``; ``level`` and ``share`` among English prompts, in (0, 1]."""
    english = _vocabulary()["English"]["topics"]
    size = (np.arange(1, len(english) + 1) + _SIZE_SHIFT) ** -_SIZE_EXPONENT
    level = [words["level"] for words in english.values()]
    return pd.DataFrame(
        {"level": level, "share": size / size.sum()}, index=pd.Index(list(english), name="topic")
    )


def _originals(count: int, turns: float, rng: np.random.Generator) -> pd.DataFrame:
    """Prompts that are no planted copy, in random order."""
    vocabulary, sizes = _vocabulary(), topics()
    english = vocabulary["English"]["topics"]
    shares = np.cumsum([language["share"] for language in vocabulary.values()])
    # One systematic sample: every language has its share, up to one prompt.
    place = np.searchsorted(shares / shares[-1], (np.arange(count) + rng.random()) / max(count, 1))
    language = np.array(list(vocabulary), dtype=object)[rng.permutation(place)]
    topic = np.empty(count, dtype=object)
    for name, words in vocabulary.items():
        known = sizes.loc[list(words["topics"]), "share"]
        here = language == name
        topic[here] = rng.choice(known.index.to_numpy(dtype=object), here.sum(), p=known / known.sum())
    turn = rng.geometric(1 / turns, count)
    ahead = {
        name: [_AHEAD * (item in words["first"]) for item in CRITERIA] for name, words in english.items()
    }
    has = np.zeros((count, len(CRITERIA)), dtype=bool)
    kept = (language == "English") & (turn == 1)
    for group in (kept, ~kept):
        pull = np.array([ahead[name] for name in topic[group]]).reshape(-1, len(CRITERIA))
        has[group] = qualities(sizes.loc[topic[group], "level"], pull, rng)
    mentions = (language == "English") & (rng.random(count) < _MENTIONS)
    seen: set[frozenset[str]] = set()
    written = [_new(*row, seen, rng) for row in zip(language, topic, has, turn, mentions, strict=True)]
    frame = pd.DataFrame(written, columns=["text", "history"])
    frame = frame.assign(topic=topic, language=language, mentions_model=mentions)
    return pd.concat([frame, pd.DataFrame(has, columns=list(CRITERIA))], axis=1)


def _new(
    language: str,
    topic: str,
    has: NDArray[np.bool_],
    turns: int,
    mentions: bool,
    seen: set[frozenset[str]],
    rng: np.random.Generator,
) -> tuple[str, list[dict[str, str]]]:
    """Text and history of one prompt; drawn again, twenty times at most, if its phrases were seen before."""
    words = _vocabulary()[language]["topics"][topic]
    space = "" if language in _NO_SPACES else " "
    wanted = [item for item, holds in zip(CRITERIA, has, strict=True) if holds]
    for _ in range(20):
        text, core = _write(words, wanted, space, rng, following=turns > 1, mentions=mentions)
        if core not in seen:
            break
    seen.add(core)
    history = []
    for k in range(turns - 1):
        asked, _ = _write(words, wanted[:1], space, rng, following=k > 0)
        history.append({"role": "user", "content": asked})
        history.append({"role": "assistant", "content": _fill("{reply}", words, rng, set())})
    return text, history


def _write(
    words: Words,
    wanted: list[str],
    space: str,
    rng: np.random.Generator,
    *,
    following: bool = False,
    mentions: bool = False,
) -> tuple[str, frozenset[str]]:
    """One message, an opening and a sentence for each quality; also the phrases in it that are of its own."""
    bare = not wanted and not following and rng.random() < 0.7
    opening = "next" if following else "bare" if bare and "bare" in words else "opening"
    again = list(rng.choice(wanted, 2, replace=False)) if len(wanted) >= 5 else []
    middle = [f"{{{name}}}" for name in rng.permutation(wanted + again)] + ["{mention}"] * int(mentions)
    listed = len(middle) >= 4 and rng.random() < 0.2
    template = ("\n- " if listed else space).join([f"{{{opening}}}", *middle])
    used: set[str] = set()
    text = _fill(template, words, rng, used)
    style = rng.random()
    text = text.lower().rstrip(".") if style < 0.15 else text[0].upper() + text[1:] if style < 0.7 else text
    if "code" in words and {"technical_accuracy", "problem_solving"} & set(wanted) and rng.random() < 0.6:
        text += "\n\n```\n" + _fill("{code}", words, rng, set()) + "\n```"
    # Two texts with the same core differ only in how they are worded.
    return text, frozenset(phrase for phrase in used if "{" not in phrase or phrase in words["ask"])


def _fill(template: str, words: Words, rng: np.random.Generator, used: set[str]) -> str:
    """Put phrases for the names in braces, and theirs, preferably none twice; other braces stay."""

    def phrase(slot: re.Match[str]) -> str:
        known = words.get(slot[1])
        if known is None:
            return slot[0]
        for _ in range(8):
            chosen = known[int(rng.random() * len(known))]
            if chosen not in used:
                break
        used.add(chosen)
        return _fill(chosen, words, rng, used)

    return _SLOT.sub(phrase, template)


def _sample(frame: pd.DataFrame, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows of a systematic sample by score and qualities, in which all of them keep their shares."""
    has = frame[list(CRITERIA)].to_numpy(dtype=int)
    order = np.argsort(1000 * has.sum(axis=1) + has @ 2 ** np.arange(has.shape[1]), kind="stable")
    place = (np.arange(size) + rng.random()) * len(frame) / max(size, 1)
    return np.asarray(order[place.astype(int)])


def _alter(text: str, rng: np.random.Generator) -> str:
    """A copy: exact, in other case, with other punctuation or space, or (if long) with a word changed."""
    kind, parts = rng.random(), text.split(" ")
    if kind < 0.4:
        return text
    if kind < 0.6:
        return text.upper() if text == text.lower() else text.lower()
    long = [k for k, part in enumerate(parts) if part.isalpha() and len(part) > 3]
    if kind < 0.8 or len(parts) < 25 or not long:
        return text.rstrip(".?!。？") + ("", "!", "...", " ??", "  \n")[rng.integers(5)]
    k = long[rng.integers(len(long))]
    word = parts[k]
    parts[k : k + 1] = [word[0] + word[2] + word[1] + word[3:]] if rng.random() < 0.5 else []
    return " ".join(parts)


def _first_of_its_kind(frame: pd.DataFrame) -> NDArray[np.object_]:
    """For each prompt, in order of time, the id of the earlier one that it repeats, or None."""
    names = frame["prompt_id"].to_numpy(dtype=object)
    position = np.empty(len(frame), dtype=int)
    position[frame["row"]] = np.arange(len(frame))
    first = frame.groupby(frame["text"].map(_plain))["prompt_id"].transform("first")
    found = np.array(first, dtype=object)
    found[found == names] = None
    planted = (frame["source"] >= 0).to_numpy()
    found[planted] = names[position[frame["source"][planted]]]
    return found


def _users(language: pd.Series, rng: np.random.Generator) -> NDArray[np.object_]:
    """A user for each prompt, who keeps to one language; few write much."""
    user, known = np.empty(len(language), dtype=object), 0
    for name in language.unique():
        here = np.flatnonzero(language == name)
        activity = 1 + rng.pareto(_TAIL, int(np.ceil(len(here) / _PER_USER)))
        drawn = known + rng.choice(len(activity), len(here), p=activity / activity.sum())
        user[here] = [f"user {k}" for k in drawn]
        known += len(activity)
    return user


def _plain(text: str) -> str:
    """Letters and digits of a text in small letters, for comparison."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


@cache
def _vocabulary() -> dict[str, dict[str, Any]]:
    """Languages with ``share`` and ``topics``: for each topic, all the words that its prompts can use."""
    raw = yaml.safe_load(
        resources.files("rearena").joinpath("data", "grammar.yaml").read_text(encoding="utf-8")
    )
    common = _phrases(raw["common"])
    return {
        name: {
            "share": language["share"],
            "topics": {
                topic: common | _phrases(language) | _phrases(words)
                for topic, words in language["topics"].items()
            },
        }
        for name, language in raw["languages"].items()
    }


def _phrases(words: Mapping[str, Any]) -> dict[str, Any]:
    """Phrases by name, split; numbers and lists as they are."""
    return {key: value.split(" | ") if isinstance(value, str) else value for key, value in words.items()}

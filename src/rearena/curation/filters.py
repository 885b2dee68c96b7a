"""Filters on prompts: which rows to keep, and a ledger of what each one dropped.

A filter is a function from prompts to a mask of the rows to keep; :func:`apply` runs several in turn. None
looks at the others' results, so that a filter can be judged on its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from py3langid.langid import MODEL_FILE, LanguageIdentifier
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from tqdm import tqdm

Mask: TypeAlias = NDArray[np.bool_]
Filter: TypeAlias = Callable[[pd.DataFrame], Mask]

# Those that the four papers name, and their like. "Llama", "falcon" or "palm" alone are animals and a tree.
_MODELS = re.compile(
    r"""(?<![\w-])(?:
        (?:chat)?gpt(?:-?\ ?\d[\w.-]*|s)? | text-davinci-\d+ | open\ ?ai | claude | anthropic | bard | gemma
      | gemini | deepmind | palm[\ -]?2 | (?:code[\ -]?)?llama[\ -]?\d[\w.-]* | meta\ ai | mi[sx]tral | vicuna
      | (?:alpaca|koala|falcon|zephyr|tulu|mpt|yi|dolly|guanaco|starling|pplx)-(?:v?\d|lm)[\w.-]* | qwen
      | wizard-?(?:lm|coder|math) | chatglm | dbrx | databricks | cohere | command-r | deepseek | stablelm
      | hugging\ ?face | lmsys | chatbot\ arena | open\ ?assistant | grok
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_CHARACTER = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # kana, Chinese characters, Korean syllables
_TOKEN = re.compile(rf"{_CHARACTER}|(?:(?!{_CHARACTER})\w)+|[^\w\s]")
_GRAM = 4  # characters in a row: a misspelling changes few, and two topics share few
_COMMON = 0.8  # norm of the frequent part of a vector, over the similarity: see first_of_near_duplicates
_BLOCK, _PAIRS = 1_000, 20_000  # prompts compared with all earlier ones, and pairs compared, at a time
_ROUNDING = 1e-6  # of 32-bit numbers
_PREFIX = 20_000  # characters of a prompt that tell its language


def apply(prompts: pd.DataFrame, steps: Mapping[str, Filter]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run filters one after another.

    Source: Arena-Hard, section 4.2, "duplicate prompts, multi-turn conversations, or non-English"; WildBench,
    section 2, "basic filtering".

    Parameters
    ----------
    prompts : DataFrame
    steps : mapping from name to filter
        In the order in which they run; each sees what those before it left.

    Returns
    -------
    kept : DataFrame
        Rows of ``prompts``, index and order unchanged.
    ledger : DataFrame
        Index ``step``; columns ``prompts`` (that the filter saw), ``dropped`` and ``kept`` (numbers).
    """
    rows = []
    for name, step in steps.items():
        keep = step(prompts)
        rows.append((name, len(prompts), int((~keep).sum()), int(keep.sum())))
        prompts = prompts[keep]
    ledger = pd.DataFrame(rows, columns=["step", "prompts", "dropped", "kept"])
    return prompts, ledger.set_index("step")


def first_of_near_duplicates(prompts: pd.DataFrame, similarity: float = 0.9) -> Mask:
    r"""Keep the first of prompts that are equal or nearly so.

    Equal are texts that differ in case, spaces and the marks at their end only. Of the others, a prompt is
    dropped if the cosine of its TF-IDF vector (of four characters in a row) with that of an earlier prompt
    that is kept exceeds ``similarity``. WildBench, section 2, has 0.9, on sentence embeddings.

    No pair is missed, though few are compared. Order the features by document frequency, and let
    :math:`x'` be the most frequent ones of the unit vector :math:`x`, as long as their norm is below 0.8
    ``similarity``, and :math:`x'' = x - x'`. Take the one of two vectors whose :math:`x''` begins at the
    rarer feature. Then :math:`x \cdot y = x'' \cdot y'' + x' \cdot y \leq x'' \cdot y'' + \lVert x' \rVert`:
    only pairs that share enough rare features can exceed ``similarity`` (after Bayardo, Ma and Srikant 2007,
    WWW, 131-140).

    Parameters
    ----------
    prompts : DataFrame
        Column ``text``.
    similarity : float in (0, 1)

    Returns
    -------
    ndarray of bool

    Raises
    ------
    ValueError
        If ``similarity`` is not between 0 and 1.
    """
    if not 0 < similarity < 1:
        raise ValueError(f"similarity must lie between 0 and 1, got {similarity}")
    plain = prompts["text"].map(_plain)
    keep: Mask = ~plain.where(plain != "", prompts["text"]).duplicated().to_numpy()
    rows = np.flatnonzero(keep & (plain.str.len() >= _GRAM).to_numpy())
    if len(rows) > 1:
        for earlier, later in _similar(plain.iloc[rows].tolist(), similarity):
            keep[rows[later]] &= not keep[rows[earlier]]
    return keep


def in_english(prompts: pd.DataFrame, odds: float = 20.0) -> Mask:
    """Keep prompts that are English, or too short to say.

    A prompt is dropped if py3langid (a naive Bayes classifier on byte n-grams, Lui and Baldwin 2012, ACL
    demonstrations, 25-30) finds another language more than ``odds`` times as probable as English. At 20 it
    drops one in a thousand of 23,700 short English queries; "hola" alone stays.

    Parameters
    ----------
    prompts : DataFrame
        Column ``text``; the first 20,000 characters count.
    odds : float
        At least 1.

    Returns
    -------
    ndarray of bool

    Raises
    ------
    ValueError
        If ``odds`` is below 1.
    """
    if not odds >= 1:
        raise ValueError(f"odds must be at least 1, got {odds}")
    identifier = _identifier()
    keep = np.ones(len(prompts), dtype=bool)
    for row, text in enumerate(tqdm(prompts["text"], desc="language", disable=None)):
        language, probability = identifier.classify(text[:_PREFIX])
        if language not in ("en", "zxx"):  # zxx: no linguistic content, such as numbers or emoji
            keep[row] = probability <= odds * dict(identifier.rank(text[:_PREFIX]))["en"]
    return keep


def with_turns(prompts: pd.DataFrame, most: int = 1) -> Mask:
    """Keep conversations of so many turns of the user at most: one in Arena-Hard, five in WildBench.

    Parameters
    ----------
    prompts : DataFrame
        Column ``history``: list of earlier messages, those of the user with ``role`` "user".
    most : int

    Returns
    -------
    ndarray of bool
    """
    turns = [1 + sum(message["role"] == "user" for message in history) for history in prompts["history"]]
    return np.array(turns, dtype=int) <= most


def without_model_names(prompts: pd.DataFrame) -> Mask:
    """Keep prompts that name no language model and no company that makes them.

    A list of names: words that also mean something else count only with a number or the like ("Falcon-180B"),
    but "Gemini", "Claude", "Bard" always do. Google and Microsoft are left out: most who name them mean
    something else that they make.

    Parameters
    ----------
    prompts : DataFrame
        Column ``text``.

    Returns
    -------
    ndarray of bool
    """
    return ~prompts["text"].str.contains(_MODELS).to_numpy(dtype=bool)


def with_tokens(prompts: pd.DataFrame, least: int = 10, most: int = 3000) -> Mask:
    """Keep prompts of a length in a range: 10 to 3,000 tokens in WildBench, section 2.

    Parameters
    ----------
    prompts : DataFrame
        Column ``text``.
    least, most : int
        Tokens as :func:`count_tokens` counts them.

    Returns
    -------
    ndarray of bool
    """
    return prompts["text"].map(count_tokens).between(least, most).to_numpy(dtype=bool)


def last_of_user(prompts: pd.DataFrame) -> Mask:
    """Keep the last conversation of each user (WildBench, section 2: of each device).

    Parameters
    ----------
    prompts : DataFrame
        Columns ``user, time``; of several at one time the last row counts.

    Returns
    -------
    ndarray of bool
    """
    by_time = prompts.reset_index().sort_values("time", kind="stable")
    keep = np.zeros(len(prompts), dtype=bool)
    keep[by_time.drop_duplicates("user", keep="last").index] = True
    return keep


def unflagged(flag: Callable[[Sequence[str]], Sequence[bool]]) -> Filter:
    """A filter that drops what a moderation model flags: the place to put one's own.

    Parameters
    ----------
    flag : callable
        From texts to one bool each, True for those to drop.

    Returns
    -------
    callable
        The filter; it raises ValueError where ``flag`` does not answer for each text.
    """

    def keep(prompts: pd.DataFrame) -> Mask:
        flagged = np.asarray(flag(prompts["text"].tolist()), dtype=bool)
        if flagged.shape != (len(prompts),):
            raise ValueError(f"{len(prompts)} texts were to be moderated, {flagged.shape} flags came back")
        return ~flagged

    return keep


def count_tokens(text: str) -> int:
    """Tokens of a text: words, punctuation marks, and each Chinese, Japanese or Korean character.

    No tokeniser of a model: those need a file to download, and differ from model to model.
    """
    return sum(1 for _ in _TOKEN.finditer(text))


ARENA_HARD: Mapping[str, Filter] = {
    "duplicate": first_of_near_duplicates,
    "several turns": with_turns,
    "not English": in_english,
}
"""Filters of Arena-Hard, section 4.2, in the order of the text."""


def _plain(text: str) -> str:
    """A text in small letters, one space between words, without the marks at its end."""
    return " ".join(text.casefold().split()).rstrip(" .,;:!?…。？！")


def _similar(texts: list[str], similarity: float) -> Iterator[tuple[int, int]]:
    """Pairs (earlier, later) whose cosine exceeds ``similarity``, by the later one."""
    x = TfidfVectorizer(analyzer="char", ngram_range=(_GRAM, _GRAM), dtype=np.float32).fit_transform(texts)
    x = csr_array(x[:, np.argsort(-np.bincount(x.indices, minlength=x.shape[1]), kind="stable")])
    x.sort_indices()  # within a row, the features that most texts have now come first
    squares = x.data.astype(float) ** 2
    before = np.concatenate([[0], np.cumsum(squares)])
    is_rare = before[1:] - np.repeat(before[x.indptr[:-1]], np.diff(x.indptr)) >= (_COMMON * similarity) ** 2
    rest = 1 - np.add.reduceat(np.where(is_rare, squares, 0), x.indptr[:-1])
    common = np.sqrt(np.maximum(rest, 0))
    rare = csr_array((np.where(is_rare, x.data, 0), x.indices.copy(), x.indptr.copy()), shape=x.shape)
    rare.eliminate_zeros()
    for start in tqdm(range(0, len(texts), _BLOCK), desc="near duplicates", disable=None):
        stop = start + _BLOCK
        shared = (rare[start:stop] @ rare[:stop].T).tocoo()
        later, earlier = shared.row + start, shared.col
        # What is not shared by the rare parts is at most the common part of either.
        likely = (earlier < later) & (
            shared.data + np.maximum(common[earlier], common[later]) > similarity - _ROUNDING
        )
        order = np.lexsort((earlier[likely], later[likely]))
        later, earlier = later[likely][order], earlier[likely][order]
        for part in range(0, len(later), _PAIRS):
            i, j = earlier[part : part + _PAIRS], later[part : part + _PAIRS]
            close = np.asarray(x[i].multiply(x[j]).sum(axis=1)).ravel() > similarity + _ROUNDING
            yield from zip(i[close].tolist(), j[close].tolist(), strict=True)


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

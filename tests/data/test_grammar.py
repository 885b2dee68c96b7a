"""Simulated prompts: Table 1 of Arena-Hard in the sample, planted duplicates, languages, texts."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from difflib import SequenceMatcher
from importlib import resources
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import normalize

from rearena.data import grammar, published
from rearena.data.released import CRITERIA

VOCABULARY = yaml.safe_load(resources.files("rearena").joinpath("data", "grammar.yaml").read_text("utf-8"))
PRINTED = published.table("arena_hard_table1")["percent"].to_numpy()


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return grammar.prompts(10_000, seed=1)


def kept(frame: pd.DataFrame) -> pd.DataFrame:
    """What Arena-Hard keeps: English, one turn, no duplicate."""
    once = (frame["history"].map(len) == 0) & frame["duplicate_of"].isna()
    return frame[once & (frame["language"] == "English")]


def plain(text: pd.Series) -> pd.Series:
    return text.str.casefold().str.replace(r"[\W_]+", " ", regex=True).str.strip()


def cells(has: np.ndarray) -> np.ndarray:
    score = has.sum(axis=1)
    return 100 * np.array([*((score >= k).mean() for k in range(1, 8)), *has.mean(axis=0)])


@pytest.mark.parametrize("seed", range(4))
def test_all_fourteen_cells_of_table_1_before_and_after_filtering(seed: int) -> None:
    drawn = grammar.prompts(6_000, seed)
    for part in (drawn, kept(drawn)):
        assert np.abs(cells(part[list(CRITERIA)].to_numpy()) - PRINTED).max() < 0.5


def test_the_two_rows_are_reconciled_by_the_nearest_numbers() -> None:
    at_least, rate = grammar.targets()
    assert at_least.sum() == pytest.approx(rate.sum(), abs=1e-12)
    moved = 100 * np.concatenate([at_least, -rate]) - PRINTED * np.repeat([1, -1], 7)
    # The projection on the plane on which both rows have one sum moves along its normal.
    assert moved == pytest.approx(np.full(14, (PRINTED[7:].sum() - PRINTED[:7].sum()) / 14), abs=1e-9)
    assert np.abs(moved).max() < 0.5


@settings(max_examples=15, deadline=None)
@given(
    spread=st.floats(0, 3),
    pull=st.floats(0, 3),
    n=st.integers(2_000, 4_000),
    seed=st.integers(0, 2**32 - 1),
)
def test_topics_shift_qualities_but_not_the_cells(spread: float, pull: float, n: int, seed: int) -> None:
    high = np.arange(n) % 2 == 1
    ahead = np.zeros((n, 7))
    ahead[high, 4] = pull
    has = grammar.qualities(spread * high, ahead, seed)
    assert np.abs(cells(has) - PRINTED).max() < 0.5
    if spread > 1:
        assert has[high].sum(axis=1).mean() > has[~high].sum(axis=1).mean() + 1
    if pull > 1:
        # Creativity takes a larger part of the qualities where it is ahead.
        assert has[high, 4].sum() / has[high].sum() > has[~high, 4].sum() / has[~high].sum()


def test_items_follow_draws_without_replacement() -> None:
    # Where no topic is ahead: weights from the prompts of score 1, and from them the rates at score 3.
    n = 200_000
    has = grammar.qualities(np.zeros(n), np.zeros((n, 7)), seed=2)
    one, three = (has[has.sum(axis=1) == k] for k in (1, 3))
    weight = one.mean(axis=0)
    expected = np.zeros(7)
    for drawn in permutations(range(7), 3):
        taken = np.cumsum([0, *weight[list(drawn)][:-1]])
        expected[list(drawn)] += np.prod(weight[list(drawn)] / (1 - taken))
    # Standard errors: below 0.0027 of a rate at score 3, and about as much from the weights.
    assert three.mean(axis=0) == pytest.approx(expected, abs=0.016)


@pytest.mark.parametrize("n", [0, 1, 2, 31])
def test_few_prompts(n: int) -> None:
    assert grammar.qualities(np.zeros(n), np.zeros((n, 7)), seed=0).shape == (n, 7)
    drawn = grammar.prompts(n, seed=0)
    assert len(drawn) == n
    assert list(drawn.columns) == list(grammar.prompts(40, seed=0).columns)


@pytest.mark.parametrize(
    "wrong", [{"count": -1}, {"duplicates": 1.0}, {"duplicates": -0.1}, {"turns": 0.5}, {"turns": np.inf}]
)
def test_numbers_outside_their_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="need count"):
        grammar.prompts(**{"count": 5, "seed": 0, **wrong})  # type: ignore[arg-type]


def test_another_process_draws_the_same() -> None:
    program = (
        "from rearena.data import grammar; import hashlib; f = grammar.prompts(300, 7);"
        "print(hashlib.sha256(repr(f.to_dict('records')).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    other = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    here = grammar.prompts(300, 7)
    assert other.stdout.strip() == hashlib.sha256(repr(here.to_dict("records")).encode()).hexdigest()
    assert not here["text"].equals(grammar.prompts(300, 8)["text"])


def test_languages_have_the_printed_shares_and_their_scripts(frame: pd.DataFrame) -> None:
    share = 100 * frame["language"].value_counts(normalize=True)
    assert share["English"] == pytest.approx(77, abs=0.8)  # copies are drawn by chance
    assert share["Chinese"] == pytest.approx(5, abs=0.5)
    assert len(share) == 14
    assert share.drop(["English", "Chinese"]).max() < 2
    scripts = {"Chinese": "一-鿿", "Japanese": "ぁ-ヿ", "Korean": "가-힣", "Arabic": "؀-ۿ"}
    for language, script in (scripts | {"Hebrew": "א-ת", "Russian": "а-яё"}).items():
        texts = frame.loc[frame["language"] == language, "text"].str
        assert texts.contains(f"(?i)[{script}]").all()
    assert frame.loc[frame["language"] == "English", "text"].str.isascii().mean() > 0.9


def test_topics_are_many_and_heavy_tailed_and_hold_those_of_the_papers(frame: pd.DataFrame) -> None:
    topics = grammar.topics()
    assert len(topics) >= 60
    assert topics["share"].sum() == pytest.approx(1)
    assert topics["share"].max() > 10 * topics["share"].min()
    named = {
        *published.table("chatbot_arena_table2")["cluster"],
        *published.table("arena_hard_examples")["topic"],
    }
    assert named <= set(topics.index)
    assert set(frame["topic"]) == set(topics.index)
    english = frame[frame["language"] == "English"]
    score = english[list(CRITERIA)].sum(axis=1).groupby(english["topic"]).mean()
    rank = score.reindex(topics.index).corr(topics["level"], method="spearman")
    assert rank > 0.8
    assert score["Greetings and Well-Being Inquiry"] < 2.5 < 4 < score["OpenCV Image Processing Technique"]


def test_every_phrase_can_be_filled_and_is_said_once() -> None:
    for language in VOCABULARY["languages"].values():
        for words in language["topics"].values():
            known = VOCABULARY["common"] | language | words
            assert set(CRITERIA) | {"opening", "next", "reply", "ask", "thing"} <= set(known)
            for name, value in known.items():
                if isinstance(value, str):
                    phrases = value.split(" | ")
                    assert all(phrase == phrase.strip() != "" for phrase in phrases)
                    assert set(re.findall(r"{(\w+)}", value)) <= set(known)
                    assert name == "opening" or len(set(phrases)) == len(phrases)


def matches(template: str) -> str:
    """Pattern of the texts that a phrase can become; final punctuation and case may change."""
    return ".+?".join(re.escape(part.lower()) for part in re.split(r"{\w+}", template.rstrip(".。?;")))


def test_a_text_asks_for_each_quality_that_it_has(frame: pd.DataFrame) -> None:
    originals = frame[frame["duplicate_of"].isna()]
    for language in ("English", "German", "Chinese", "Arabic"):
        here = originals[originals["language"] == language]
        for item in CRITERIA:
            phrases = VOCABULARY["languages"][language][item].split(" | ")
            pattern = f"(?s){'|'.join(map(matches, phrases))}"
            assert here.loc[here[item], "text"].str.lower().str.contains(pattern).all()
    # Without the quality the text does not; told by phrases that nothing else can be taken for.
    told = {"specificity": "return json with|markdown with", "problem_solving": "i am stuck|devise a way"}
    for item, pattern in told.items():
        assert not kept(frame).loc[~kept(frame)[item], "text"].str.lower().str.contains(pattern).any()


def test_texts_are_longer_the_higher_the_score(frame: pd.DataFrame) -> None:
    english = kept(frame)
    words = english["text"].str.split().map(len).groupby(english[list(CRITERIA)].sum(axis=1)).mean()
    assert words.is_monotonic_increasing
    assert words[0] < 10
    assert words[6] > 80
    assert english["text"].str.contains("```").any()
    assert not frame["text"].str.contains(r"{(?:thing|term|step|field|few|many|ask)}").any()


def test_models_are_named_where_it_says_so(frame: pd.DataFrame) -> None:
    english = VOCABULARY["languages"]["English"]
    names = "|".join(map(re.escape, f"{english['model']} | {english['company']}".split(" | ")))
    found = frame["text"].str.contains(rf"(?i)\b(?:{names})\b")
    # A copy may have lost the letter or the word that mattered.
    originals = frame["duplicate_of"].isna()
    pd.testing.assert_series_equal(
        found[originals], frame.loc[originals, "mentions_model"], check_names=False
    )
    assert 0.01 < found.mean() < 0.05


def test_duplicates_follow_and_resemble_their_original(frame: pd.DataFrame) -> None:
    assert frame["time"].is_monotonic_increasing
    assert frame["prompt_id"].is_unique
    copies = frame[frame["duplicate_of"].notna()]
    assert 0.08 <= len(copies) / len(frame) < 0.09
    original = frame.set_index("prompt_id").loc[copies["duplicate_of"]].reset_index()
    assert (original["prompt_id"].to_numpy() < copies["prompt_id"].to_numpy()).all()
    pairs = list(zip(original["text"], copies["text"], strict=True))
    for one, other in pairs[:400]:
        alike = SequenceMatcher(None, one.casefold(), other.casefold(), autojunk=False)
        assert alike.ratio() > 0.8
    exact = np.mean([one == other for one, other in pairs])
    assert 0.3 < exact < 0.6
    assert not plain(frame.loc[frame["duplicate_of"].isna(), "text"]).duplicated().any()


def test_no_copies_and_no_second_turns_on_request() -> None:
    drawn = grammar.prompts(2_000, seed=3, duplicates=0, turns=1)
    assert (drawn["history"].map(len) == 0).all()
    # Short texts may still come out equal, and are marked then.
    assert drawn["duplicate_of"].notna().mean() < 0.01


def test_conversations_alternate_and_users_keep_to_a_language(frame: pd.DataFrame) -> None:
    turns = 1 + frame["history"].map(len) / 2
    # Geometric with mean 1.3: variance 0.39.
    assert turns.mean() == pytest.approx(1.3, abs=4 * np.sqrt(0.39 / len(frame)))
    for history in frame["history"]:
        assert [message["role"] for message in history] == ["user", "assistant"] * (len(history) // 2)
        assert all(message["content"] for message in history)
    assert (frame.groupby("user")["language"].nunique() == 1).all()
    activity = frame["user"].value_counts()
    assert activity.max() > 20 > 3 > activity.median()


def test_near_duplicates_and_topics_can_be_found_in_the_texts(frame: pd.DataFrame) -> None:
    once = (frame["language"] == "English") & (frame["history"].map(len) == 0)
    here = frame[once].head(2_000)
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    vectors = grams.fit_transform(plain(here["text"]))
    cosine = (vectors @ vectors.T).toarray()
    near = (np.tril(cosine, -1) > 0.9).any(axis=1)
    copy = here["duplicate_of"].isin(here["prompt_id"]).to_numpy()
    assert near[copy].mean() > 0.98
    assert near[here["duplicate_of"].isna()].mean() < 0.01
    single = here["duplicate_of"].isna().to_numpy()
    points = normalize(TruncatedSVD(100, random_state=0).fit_transform(vectors[single]))
    found = KMeans(here["topic"].nunique(), n_init=1, random_state=0).fit_predict(points)
    assert 0.7 < adjusted_mutual_info_score(here["topic"][single], found) < 0.98

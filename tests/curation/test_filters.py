import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from rearena.curation import filters
from rearena.data import grammar


@pytest.fixture(scope="module")
def prompts():
    return grammar.prompts(4000, seed=3)


def frame(*texts):
    return pd.DataFrame({"text": list(texts)}, dtype=object)


def rates(keep, planted):
    planted = np.asarray(planted, dtype=bool)
    return (~keep)[planted].mean(), (~keep)[~planted].mean()


def test_planted_duplicates_are_found_and_little_else(prompts):
    keep = filters.first_of_near_duplicates(prompts)
    recall, dropped = rates(keep, prompts["duplicate_of"].notna())
    assert recall > 0.98
    assert dropped < 0.01


def test_planted_languages_are_found_and_little_else(prompts):
    recall, dropped = rates(filters.in_english(prompts), prompts["language"] != "English")
    assert recall > 0.98
    assert dropped < 0.01


def test_planted_names_of_models_are_found_and_little_else(prompts):
    recall, dropped = rates(filters.without_model_names(prompts), prompts["mentions_model"])
    assert recall > 0.98
    assert dropped < 0.01


def test_no_pair_of_near_duplicates_is_missed(prompts):
    # Against the plain computation: all cosines.
    texts = [" ".join(text.casefold().split()).rstrip(" .,;:!?…。？！") for text in prompts["text"][:600]]
    texts = list(dict.fromkeys(text for text in texts if len(text) >= 4))
    for similarity in (0.5, 0.7, 0.9):
        vectors = TfidfVectorizer(analyzer="char", ngram_range=(4, 4)).fit_transform(texts)
        close = np.tril((vectors @ vectors.T).toarray() > similarity, -1)
        kept = []
        for row in range(len(texts)):
            if not close[row, kept].any():
                kept.append(row)
        keep = filters.first_of_near_duplicates(frame(*texts), similarity)
        assert np.flatnonzero(keep).tolist() == kept


def test_equal_texts_differ_by_case_space_and_final_marks_only():
    texts = ("Write it in C", "write  it in c!", "Write it in C++", "Write it in C#", "")
    assert filters.first_of_near_duplicates(frame(*texts, "", "🙂", "🙂🙂", "?", "!")).tolist() == (
        [True, False, True, True, True, False, True, True, True, True]
    )


def test_a_prompt_like_a_dropped_one_is_compared_with_kept_ones_only():
    # Each text shares most with its neighbours, less with those further away.
    letters = np.random.default_rng(0).choice(list("abcdefghijklmnopqrstuvwxyz"), size=(60, 7))
    words = ["".join(word) for word in letters]
    chain = [" ".join(words[k : k + 40]) for k in range(0, 9, 3)]
    keep = filters.first_of_near_duplicates(frame(*chain), similarity=0.8)
    assert keep.tolist() == [True, False, True]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=12))
def test_any_texts_pass_and_the_filter_is_idempotent_for_copies(texts):
    prompts = frame(*texts, *texts)
    keep = filters.first_of_near_duplicates(prompts)
    assert not keep[len(texts) :].any()
    assert filters.in_english(prompts).shape == (len(prompts),)


def test_odd_corpora():
    empty = frame().assign(history=[], user=[], time=[])
    kept, ledger = filters.apply(empty, {**filters.ARENA_HARD, "user": filters.last_of_user})
    assert kept.empty
    assert ledger["dropped"].tolist() == [0, 0, 0, 0]
    long = "an enormous prompt " * 55_000
    assert filters.first_of_near_duplicates(frame(long, long, "hi")).tolist() == [True, False, True]
    assert filters.in_english(frame(long, "🙂🙂", "", "hi", "مرحبا", "2 + 2 = 5")).tolist() == (
        [True, True, True, True, False, True]
    )
    assert filters.first_of_near_duplicates(frame(*["one prompt of many"] * 31)).sum() == 1


def test_turns_tokens_and_users():
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    prompts = frame("one two, three", "中文字", "x").assign(
        history=[[], said, said * 5], user=["u", "v", "u"], time=pd.to_datetime(["2024-02-02"] * 3, utc=True)
    )
    assert filters.with_turns(prompts).tolist() == [True, False, False]
    assert filters.with_turns(prompts, most=5).tolist() == [True, True, False]
    assert [filters.count_tokens(text) for text in prompts["text"]] == [4, 3, 1]
    assert filters.with_tokens(prompts, 3, 3).tolist() == [False, True, False]
    assert filters.last_of_user(prompts).tolist() == [False, True, True]
    earlier = prompts.assign(time=pd.to_datetime(["2024-02-02", "2024-02-01", "2024-01-01"], utc=True))
    assert filters.last_of_user(earlier.set_index(pd.Index([7, 7, 7]))).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Are you ChatGPT?", True),
        ("compare gpt-3.5-turbo with Llama 2", True),
        ("OpenAI's new tool", True),
        ("Falcon-180B", True),
        ("a falcon and a llama in the palm tree", False),
        ("What is a GUID partition table?", False),
        ("bombarded by news", False),
    ],
)
def test_names_of_models(text, named):
    assert filters.without_model_names(frame(text)).tolist() == [not named]


def test_the_ledger_counts_what_each_step_saw(prompts):
    steps = filters.ARENA_HARD | {"flagged": filters.unflagged(lambda texts: ["hack" in t for t in texts])}
    kept, ledger = filters.apply(prompts, steps)
    assert ledger["prompts"].iloc[0] == len(prompts)
    assert (ledger["prompts"] - ledger["dropped"] == ledger["kept"]).all()
    assert ledger["kept"].tolist() == [*ledger["prompts"].tolist()[1:], len(kept)]
    assert (kept["history"].map(len) == 0).all()
    assert not kept["text"].str.contains("hack").any()
    with pytest.raises(ValueError, match="3 texts were to be moderated"):
        filters.unflagged(lambda texts: [True])(prompts[:3])


def test_settings_out_of_range():
    with pytest.raises(ValueError, match="similarity must lie"):
        filters.first_of_near_duplicates(frame("a"), similarity=1.0)
    with pytest.raises(ValueError, match="odds must be at least 1"):
        filters.in_english(frame("a"), odds=0.5)

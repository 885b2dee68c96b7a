import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearena.curation import selection


def scored(*pairs):
    frame = pd.DataFrame(pairs, columns=["topic", "quality"])
    return frame.assign(prompt_id=[f"p{k}" for k in range(len(frame))], text="a text")


def test_both_printed_rules():
    prompts = scored(
        ("high", 7), ("high", 5), ("middle", 6), ("middle", 0), ("low", 5), ("low", 0), ("low", 1)
    )
    chosen = selection.select(prompts, selection.BY_TOPIC)
    assert chosen["prompt_id"].tolist() == ["p0", "p1"]  # a mean of 6 is enough, whatever the prompt's score
    chosen = selection.select(prompts, selection.BY_PROMPT_AND_TOPIC)
    assert chosen["prompt_id"].tolist() == ["p0", "p1", "p2"]  # a mean of 3 is enough; p4's topic has 2
    assert chosen["topic_mean"].tolist() == [6, 6, 3]


def test_outliers_and_unread_prompts_are_not_selected():
    prompts = scored((-1, 7), (0, 7), (0, pd.NA), (None, 7))
    chosen = selection.select(prompts, selection.BY_PROMPT_AND_TOPIC)
    assert chosen["prompt_id"].tolist() == ["p1"]
    assert chosen["topic_mean"].tolist() == [7]
    assert selection.select(prompts.iloc[:0], selection.BY_TOPIC).empty


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.data())
def test_topics_take_turns(topics, data):
    prompts = pd.DataFrame({"topic": topics})
    size = data.draw(st.integers(0, len(topics)))
    drawn = selection.sample_evenly(prompts, size, seed=1)
    assert len(drawn) == size
    assert drawn.index.is_monotonic_increasing
    assert drawn.index.is_unique
    count = drawn["topic"].value_counts().reindex(range(6), fill_value=0)
    there = prompts["topic"].value_counts().reindex(range(6), fill_value=0)
    # Whoever has given less than another by more than one has given all.
    assert (there[count < count.max() - 1] == count[count < count.max() - 1]).all()


def test_sampling_is_uniform_within_and_between_topics():
    prompts = pd.DataFrame({"topic": ["a"] * 4 + ["b"] * 4})
    hits = sum(
        selection.sample_evenly(prompts, 3, seed).index.to_series().reindex(range(8)).notna()
        for seed in range(1000)
    )
    # Each of the eight with probability 3/8; standard error 15.3.
    assert (abs(hits - 375) < 4 * 15.3).all()
    same = [selection.sample_evenly(prompts, 3, 9).index.tolist() for _ in range(2)]
    assert same[0] == same[1]


def test_too_few_prompts():
    with pytest.raises(ValueError, match="5 prompts were asked for, but there are 2"):
        selection.sample_evenly(scored(("a", 1), ("b", 2)), 5, seed=0)


def test_questions_as_others_read_them(tmp_path):
    prompts = scored(("Greetings", 1), ("Sorting", 6)).assign(text=["hé\u2028llo\n", "sort 🙂"])
    selection.write_questions(prompts, tmp_path / "v1" / "question.jsonl", "mine-v0.1")
    lines = (tmp_path / "v1" / "question.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "question_id": name,
            "category": "mine-v0.1",
            "cluster": topic,
            "turns": [{"content": text}],
        }
        for name, topic, text in zip(prompts["prompt_id"], prompts["topic"], prompts["text"], strict=True)
    ]
    selection.write_questions(prompts, tmp_path / "question.jsonl", "mine", layout="v2.0")
    first = json.loads((tmp_path / "question.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first == {"uid": "p0", "category": "mine", "subcategory": "Greetings", "prompt": "hé\u2028llo\n"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["question.jsonl", "v1"]


def test_questions_that_cannot_be_joined(tmp_path):
    twice = scored(("a", 1), ("a", 2)).assign(prompt_id="p")
    with pytest.raises(ValueError, match="each prompt_id"):
        selection.write_questions(twice, tmp_path / "q.jsonl", "mine")
    with pytest.raises(ValueError, match="layout must be"):
        selection.write_questions(twice, tmp_path / "q.jsonl", "mine", layout="v3")
    assert not list(tmp_path.iterdir())

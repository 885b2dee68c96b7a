"""From scored prompts in topics to a benchmark: printed rules, equal sampling, and the files of others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from rearena.atomic import write_text


@dataclass(frozen=True)
class Rule:
    """Which prompts are good enough.

    Attributes
    ----------
    prompt_score : float
        Least score of a prompt, 0 to 7.
    topic_mean : float
        Least mean score of its topic.
    """

    prompt_score: float
    topic_mean: float


BY_TOPIC = Rule(prompt_score=0, topic_mean=6)
"""Arena-Hard, section 4.1: "topic clusters with mean quality score >= 6", whatever the prompt's own."""

BY_PROMPT_AND_TOPIC = Rule(prompt_score=5, topic_mean=3)
"""Arena-Hard, section 4.2: without prompts of "a score < 5" or in "a topic cluster with a mean score < 3"."""


def select(prompts: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Prompts that a rule leaves.

    Parameters
    ----------
    prompts : DataFrame
        ``quality`` (score, may be missing) and ``topic``; a prompt without a topic (missing, or -1, as
        clustering marks outliers) belongs to no cluster and is never selected.
    rule : Rule

    Returns
    -------
    DataFrame
        Those rows, with ``topic_mean``: the mean score of the topic, over all its prompts that have one.
    """
    inside = prompts[prompts["topic"].notna() & (prompts["topic"] != -1)]
    score = inside["quality"].astype("Float64")
    mean = score.groupby(inside["topic"]).transform("mean")
    passed = (score >= rule.prompt_score) & (mean >= rule.topic_mean)
    return inside.assign(topic_mean=mean.astype(float))[passed.fillna(False)]


def sample_evenly(prompts: pd.DataFrame, size: int, seed: int | np.random.Generator) -> pd.DataFrame:
    """Draw prompts equally over topics (Arena-Hard, section 4.1).

    Topics take turns in a random order until there are enough; one that runs out is passed over. So two
    topics differ by one prompt at most, unless the smaller has given all that it has.

    Parameters
    ----------
    prompts : DataFrame
        Column ``topic``, nowhere missing.
    size : int
        Number of prompts, 0 or more.
    seed : int or Generator

    Returns
    -------
    DataFrame
        Rows of ``prompts``, in their order.

    Raises
    ------
    ValueError
        If there are fewer prompts than asked for.
    """
    if not 0 <= size <= len(prompts):
        raise ValueError(f"{size} prompts were asked for, but there are {len(prompts)}: relax the rule")
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(prompts))
    topic, names = pd.factorize(prompts["topic"].iloc[drawn], sort=True)
    turn = pd.Series(topic).groupby(topic).cumcount().to_numpy()
    chosen = np.lexsort((rng.permutation(len(names))[topic], turn))[:size]
    return prompts.iloc[np.sort(drawn[chosen])]


def write_questions(
    prompts: pd.DataFrame, path: Path, category: str, layout: Literal["v0.1", "v2.0"] = "v0.1"
) -> None:
    """Write a benchmark as Arena-Hard's ``question.jsonl``, whole or not at all.

    Parameters
    ----------
    prompts : DataFrame
        ``prompt_id`` (each once), ``text, topic``.
    path : pathlib.Path
    category : str
        Name of the benchmark.
    layout : {"v0.1", "v2.0"}
        ``question_id, category, cluster, turns``, or ``uid, category, subcategory, prompt``.

    Raises
    ------
    ValueError
        If the layout is neither, or a prompt comes twice.
    """
    if layout not in ("v0.1", "v2.0"):
        raise ValueError(f"layout must be 'v0.1' or 'v2.0', got {layout!r}")
    if prompts["prompt_id"].duplicated().any():
        raise ValueError("each prompt_id must be there once: tools join answers and judgments by it")
    lines = []
    for name, topic, text in zip(prompts["prompt_id"], prompts["topic"], prompts["text"], strict=True):
        first = {"question_id" if layout == "v0.1" else "uid": str(name), "category": category}
        rest = {"cluster": str(topic), "turns": [{"content": text}]}
        new = {"subcategory": str(topic), "prompt": text}
        lines.append(json.dumps(first | (rest if layout == "v0.1" else new)) + "\n")
    write_text(path, "".join(lines))

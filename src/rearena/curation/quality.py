"""Quality of prompts: the annotator of Arena-Hard, its score from 0 to 7, and how far to trust it.

Source: Arena-Hard, sections 4 and 11. The annotator's instruction is ``prompt_quality.txt``, word for word.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import numpy as np
import pandas as pd
from scipy.stats import norm

from rearena.data.released import CRITERIA
from rearena.llm.complete import complete_all
from rearena.llm.parsers import parse_criteria
from rearena.llm.protocol import OPENAI, Model, Request
from rearena.llm.server import Server

# As long as it explains all seven, and the same list each time.
SETTINGS: Mapping[str, object] = {"temperature": 0, "max_tokens": 1024}


@cache
def instruction() -> str:
    """The annotator's system instruction, as Arena-Hard prints it in section 11."""
    return resources.files("rearena.curation").joinpath("prompt_quality.txt").read_text(encoding="utf-8")


def requests(
    prompts: pd.DataFrame,
    model: str,
    *,
    base_url: str = OPENAI,
    settings: Mapping[str, object] = SETTINGS,
) -> list[Request]:
    """One request a prompt: the instruction as the system's message, the prompt as the user's.

    Parameters
    ----------
    prompts : DataFrame
        Column ``text``.
    model, base_url, settings
        As for :class:`rearena.llm.protocol.Request`.

    Returns
    -------
    list of Request
    """
    system = {"role": "system", "content": instruction()}
    return [
        Request(model, [system, {"role": "user", "content": text}], base_url, settings)
        for text in prompts["text"]
    ]


def annotate(
    prompts: pd.DataFrame,
    model: str,
    via: Model | Server | None = None,
    *,
    base_url: str = OPENAI,
    settings: Mapping[str, object] = SETTINGS,
) -> pd.DataFrame:
    """Ask a model for the qualities of prompts.

    Parameters
    ----------
    prompts : DataFrame
        ``prompt_id, text``.
    model : str
        The annotator.
    via : Server or Model, optional
        How to reach it; see :func:`rearena.llm.complete.complete_all`.
    base_url, settings
        As for :func:`requests`.

    Returns
    -------
    DataFrame
        Annotations, read as :func:`read` does; a call that failed has status ``error``.
    """
    answers = complete_all(requests(prompts, model, base_url=base_url, settings=settings), via)
    said = pd.DataFrame(
        {
            "prompt_id": prompts["prompt_id"].to_numpy(),
            "judge": model,
            "kind": "quality",
            "raw": [a.text for a in answers],
        }
    )
    annotations = read(said, prompts)
    annotations.loc[[a.status == "error" for a in answers], "status"] = "error"
    return annotations


def read(annotations: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    """Read the criteria that annotators list; what cannot be read is missing, not zero.

    Parameters
    ----------
    annotations : DataFrame
        ``prompt_id, judge, kind, raw``.
    prompts : DataFrame
        ``prompt_id, text``: what was annotated, lest a list that the annotator quotes be taken for its own.

    Returns
    -------
    DataFrame
        The annotations, with ``value`` (the score, 0 to 7), ``status`` and the seven
        :data:`~rearena.data.released.CRITERIA` (boolean); missing where the status is not ``ok``.

    Raises
    ------
    KeyError
        If a prompt is not among ``prompts``.
    """
    texts = prompts.set_index("prompt_id")["text"].loc[annotations["prompt_id"]]
    parsed = [parse_criteria(raw, shown=[text]) for raw, text in zip(annotations["raw"], texts, strict=True)]
    holds = pd.DataFrame(
        [
            [None] * len(CRITERIA) if one.value is None else [k in one.value for k in range(1, 8)]
            for one in parsed
        ],
        columns=list(CRITERIA),
        index=annotations.index,
        dtype="boolean",
    )
    status = [one.status for one in parsed]
    return annotations.assign(value=holds.sum(axis=1, skipna=False).astype("Int64"), status=status, **holds)


def majority(annotations: pd.DataFrame) -> pd.DataFrame:
    """What most annotators say of each quality: the "ground truth" of Arena-Hard, section 4.2.

    Parameters
    ----------
    annotations : DataFrame
        As from :func:`read`, an odd number of judges, each on the same prompts.

    Returns
    -------
    DataFrame, index ``prompt_id``
        The seven criteria (bool), for prompts whose annotations can all be read.

    Raises
    ------
    ValueError
        If the number of judges is even, or a prompt lacks a judge or has one twice.
    """
    judges = annotations["judge"].nunique()
    by_prompt = annotations.groupby("prompt_id", sort=False)["judge"]
    if judges % 2 == 0 or (by_prompt.nunique() != judges).any() or (by_prompt.size() != judges).any():
        raise ValueError(f"a majority needs an odd number of judges, each once on each prompt; got {judges}")
    unread = annotations.loc[annotations["status"] != "ok", "prompt_id"]
    legible = annotations[~annotations["prompt_id"].isin(unread)]
    votes: pd.DataFrame = legible.groupby("prompt_id", sort=False)[list(CRITERIA)].sum()
    return votes.astype(int) > judges / 2


def accuracy(annotations: pd.DataFrame, truth: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    r"""Accuracy of one annotator, by four readings of the word.

    The paper prints one number for "accuracy against labels" without saying what a label is: a yes or no
    to each quality, the list of qualities, the score, or whether the prompt passes (a score of 5 or more).

    The unit is the prompt: a reading gives each prompt a share :math:`x_i` of its labels that are right, and
    the interval is :math:`\bar x \pm z\, s_x / \sqrt n`. Seven labels of one prompt are not seven samples.

    Parameters
    ----------
    annotations : DataFrame
        As from :func:`read`, of one judge; what it could not say is left out and counted.
    truth : DataFrame, index ``prompt_id``
        The seven criteria (bool).
    level : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    DataFrame, index ``label``
        ``accuracy, lower, upper`` in [0, 1], ``prompts`` (that were read) and ``unread``.

    Raises
    ------
    ValueError
        If a prompt comes twice, or fewer than two can be compared.
    """
    if annotations["prompt_id"].duplicated().any():
        raise ValueError("accuracy is of one judge, with one annotation a prompt")
    known = annotations.set_index("prompt_id")
    known = known[known.index.isin(truth.index)]
    said = known[known["status"] == "ok"][list(CRITERIA)].astype(bool)
    if len(said) < 2:
        raise ValueError(f"only {len(said)} annotations can be compared with the truth")
    true = truth.loc[said.index, list(CRITERIA)]
    score, true_score = said.sum(axis=1), true.sum(axis=1)
    right = pd.DataFrame(
        {
            "each quality": (said == true).mean(axis=1),
            "all seven": (said == true).all(axis=1),
            "score": score == true_score,
            "score of 5 or more": (score >= 5) == (true_score >= 5),
        }
    ).astype(float)
    half = norm.isf((1 - level) / 2) * right.std() / np.sqrt(len(right))
    mean = right.mean()
    frame = pd.DataFrame({"accuracy": mean, "lower": mean - half, "upper": mean + half})
    return frame.assign(prompts=len(said), unread=len(known) - len(said)).rename_axis("label")

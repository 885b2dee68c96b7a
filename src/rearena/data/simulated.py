"""Battles drawn from known win rates, so that a method can be asked whether it finds them again."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, softmax


def round_robin(win_map: pd.DataFrame, per_pair: int, seed: int | np.random.Generator) -> pd.DataFrame:
    """Battles in which every pair of models meets equally often, without ties.

    Source: the contests of RWQ-Elo, section 4: each model meets every other exactly H times, N(N-1)H/2
    contests in all.

    Parameters
    ----------
    win_map : DataFrame, shape (M, M)
        Probability in [0, 1] that the row's model beats the column's. A printed map is rounded, so that an
        entry and its mirror may add up to 0.99 or 1.01; the entry above the diagonal is the one used.
    per_pair : int
        Contests between each two models (H). The sides alternate; with an odd number the model that the map
        lists first is shown first once more.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    DataFrame
        Battles, pair by pair.

    Raises
    ------
    ValueError
        If the map is not square over the same models in the same order, has fewer than two, holds a number
        outside [0, 1], or ``per_pair`` is below 1.
    """
    models = list(win_map.index)
    if models != list(win_map.columns) or len(models) < 2 or len(set(models)) < len(models):
        raise ValueError("a win map needs two or more models, the same ones in the same order on both sides")
    if per_pair < 1:
        raise ValueError(f"per_pair must be at least 1, got {per_pair}")
    above = np.triu_indices(len(models), 1)
    chance = win_map.to_numpy(dtype=float)[above]
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("a win map holds probabilities, but some are missing or outside [0, 1]")
    won = np.random.default_rng(seed).random((len(chance), per_pair)) < chance[:, None]
    swapped = np.arange(per_pair) % 2 == 1
    better, worse = (np.repeat(np.array(models, dtype=object)[k], per_pair) for k in above)
    turned = np.tile(swapped, len(chance))
    return pd.DataFrame(
        {
            "model_a": np.where(turned, worse, better),
            "model_b": np.where(turned, better, worse),
            "outcome": np.where(turned, ~won.ravel(), won.ravel()).astype(float),
        }
    )


def benchmark_draws(
    models: int,
    prompts: int,
    rounds: int,
    seed: int | np.random.Generator,
    *,
    disagreement: float = 0.0,
    noise: float = 4.0,
) -> tuple[pd.Series, pd.DataFrame]:
    r"""A benchmark of known truth: abilities, and bootstrap draws of the scores that it gives.

    Model :math:`i` has ability :math:`\theta_i \sim N(0, 1)`. The benchmark rewards
    :math:`\theta_i + \delta_i` with :math:`\delta_i \sim N(0, d^2)`, and sees it through scores of single
    prompts with standard deviation ``noise``; the score of a model is their mean, and its draws are those of
    a bootstrap over prompts.

    Parameters
    ----------
    models, prompts, rounds : int
        Sizes, each at least 2.
    seed : int or Generator
        Source of randomness.
    disagreement : float
        :math:`d`, in standard deviations of ability.
    noise : float
        Standard deviation of one prompt's score, in the same unit.

    Returns
    -------
    ability : Series, length ``models``
    draws : DataFrame, shape (rounds, models)

    Raises
    ------
    ValueError
        If a size is below 2.
    """
    if min(models, prompts, rounds) < 2:
        raise ValueError(f"models, prompts and rounds must be at least 2, got {models}, {prompts}, {rounds}")
    rng = np.random.default_rng(seed)
    digits = len(str(models - 1))
    names = pd.Index([f"model {k:0{digits}d}" for k in range(models)], name="model")
    ability = rng.normal(size=models)
    rewarded = ability + disagreement * rng.normal(size=models)
    scores = rewarded + noise * rng.normal(size=(prompts, models))
    drawn = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=rounds)
    return pd.Series(ability, index=names), pd.DataFrame(drawn @ scores / prompts, columns=names)


def bradley_terry_battles(
    coefficients: pd.Series, battles: int, seed: int | np.random.Generator
) -> pd.DataFrame:
    r"""Battles that Bradley-Terry decides, between pairs drawn uniformly, as counts.

    Source: the simulation of Chatbot Arena, section 7.1 and appendix A. The first model of a pair wins with
    probability :math:`\sigma(\xi_a - \xi_b)`, equation (2); there are no ties.

    Parameters
    ----------
    coefficients : Series, length M
        :math:`\xi` in log-odds, indexed by model.
    battles : int
        Number of battles.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    DataFrame
        Battles with ``weight``: one row per pair and outcome that occurred.

    Raises
    ------
    ValueError
        If there are fewer than two models, a model occurs twice, a coefficient is not finite, or there is no
        battle to draw.
    """
    xi, models = _strengths(coefficients, battles)
    i, j = np.triu_indices(len(xi), 1)
    first_wins = expit(xi[i] - xi[j])
    chance = np.concatenate([first_wins, 1 - first_wins]) / len(i)
    weight = np.random.default_rng(seed).multinomial(battles, chance / chance.sum())
    frame = pd.DataFrame(
        {
            "model_a": np.tile(models[i], 2),
            "model_b": np.tile(models[j], 2),
            "outcome": np.repeat([1.0, 0.0], len(i)),
            "weight": weight.astype(float),
        }
    )
    return frame[frame["weight"] > 0].reset_index(drop=True)


# What the simulated clock adds to Chatbot Arena, section 3.2: choices of ours, calibrated to nothing printed.
_FIRST = 0.2  # share of the models that are there on the first day
_BATCH = 2  # later models that enter on one day, on average
_NOVELTY, _NOVELTY_DAYS = 2.0, 14.0  # how much more often a new model is shown, and for how long
_SPIKE, _SPIKE_DAYS = 0.3, 3.0  # additional votes when one model enters, and for how long
_GROWTH = 2.0  # additional votes on the last day, against the first
_TAIL = 1.2  # exponent of the Pareto distribution of a voter's activity
# Languages: the printed shares, then 147 of falling share, each below 2 %.
_LANGUAGES = ["English", "Chinese", "Russian", "German", "Spanish", "French", "Japanese"]
_LANGUAGES += [f"language {k}" for k in range(len(_LANGUAGES) + 1, 150)]
_RARE = np.arange(1.0, len(_LANGUAGES) - 1) ** -0.7
_SHARES = np.concatenate([[0.77, 0.05], 0.18 * _RARE / _RARE.sum()])


def arena_votes(
    coefficients: pd.Series,
    votes: int,
    voters: int,
    seed: int | np.random.Generator,
    *,
    start: str = "2023-04-24",
    end: str = "2024-01-21",
    nearness: float = 1.0,
    ties: float = 1.0,
    turns: float = 1.3,
) -> pd.DataFrame:
    r"""Votes of a simulated arena with a clock: models enter, traffic grows, near pairs meet more often.

    Source of what is imitated: Chatbot Arena, section 3.2 and Table 1. A fifth of the models is there on the
    first day; the others enter in batches on random later days :math:`e_m`.

    - Votes on day :math:`d` of :math:`D`: proportional to
      :math:`(1 + 2 d / D)\,(1 + 0.3 \sum_m e^{-(d - e_m)/3})`, over models that entered up to :math:`d`.
    - Pair :math:`\{i, j\}`: shown with probability proportional to
      :math:`u_i u_j\, e^{-|\xi_i - \xi_j| / h}`, where :math:`u_m = 1 + 2 e^{-(d - e_m)/14}` from the day of
      entry on and 0 before. Either model is first with probability 1/2.
    - Vote: :math:`P(i) : P(\text{tie}) : P(j) = e^{\delta/2} : \nu : e^{-\delta/2}` with
      :math:`\delta = \xi_i - \xi_j` (Davidson 1970, JASA 65(329), 317-328). A tie is "both bad" with
      probability :math:`\sigma(\bar\xi - (\xi_i + \xi_j)/2)`.
    - Voter: at least one vote each, the others by a Pareto weight of exponent 1.2, at any time. A voter keeps
      to one of 149 languages: English 77 %, Chinese 5 %, the others below 2 % each.
    - Turns: geometric.

    Parameters
    ----------
    coefficients : Series, length M
        :math:`\xi` in log-odds, indexed by model.
    votes, voters : int
        Numbers of votes and of voters; ``votes >= voters >= 1``.
    seed : int or Generator
        Source of randomness.
    start, end : str
        First and last day (UTC), ISO 8601.
    nearness : float
        :math:`h` in log-odds; infinity shows all pairs alike, but for novelty.
    ties : float
        :math:`\nu \geq 0`.
    turns : float
        Mean number of turns of a conversation, at least 1.

    Returns
    -------
    DataFrame
        Battles by time: ``model_a, model_b, outcome, both_bad, voter, time, language, turns`` and
        ``probability``, that of showing the pair (in either order) on that day.

    Raises
    ------
    ValueError
        If there are fewer than two models, a model occurs twice, a coefficient is not finite, or a number is
        outside its range.
    """
    xi, models = _strengths(coefficients, votes)
    days = pd.date_range(start, end, freq="D", tz="UTC")
    if not votes >= voters >= 1:
        raise ValueError(f"each voter votes, and there must be one: got {votes} votes of {voters} voters")
    if len(days) < 2 or not nearness > 0 or not 0 <= ties < np.inf or not 1 <= turns < np.inf:
        raise ValueError("need two days or more, nearness > 0, ties >= 0 and turns >= 1")
    rng = np.random.default_rng(seed)
    age = np.arange(len(days))[:, None] - _entries(len(xi), len(days), rng)
    day = np.repeat(np.arange(len(days)), rng.multinomial(votes, _traffic(age)))
    first, second, probability = _shown(xi, age, day, nearness, rng)
    outcome = _davidson(xi[first] - xi[second], ties, rng)
    bad = rng.random(votes) < expit(xi.mean() - (xi[first] + xi[second]) / 2)
    activity = rng.pareto(_TAIL, voters)
    count = 1 + rng.multinomial(votes - voters, activity / activity.sum())
    voter = rng.permutation(np.repeat(np.arange(voters), count))
    language = np.array(_LANGUAGES, dtype=object)[rng.choice(len(_SHARES), voters, p=_SHARES)]
    names = np.array([f"voter {k}" for k in range(voters)], dtype=object)
    seconds = (np.sort(day + rng.random(votes)) * 86_400).astype(np.int64)
    return pd.DataFrame(
        {
            "model_a": models[first],
            "model_b": models[second],
            "outcome": outcome,
            "both_bad": bad & (outcome == 0.5),
            "voter": names[voter],
            "time": days[0] + pd.to_timedelta(seconds, unit="s"),
            "language": language[voter],
            "turns": rng.geometric(1 / turns, votes),
            "probability": probability,
        }
    )


def _strengths(coefficients: pd.Series, battles: int) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """Coefficients and names of the models, once it is certain that there can be battles."""
    if len(coefficients) < 2 or coefficients.index.has_duplicates or battles < 1:
        raise ValueError("battles need two or more models, each once, and at least one battle")
    xi, models = coefficients.to_numpy(dtype=float), coefficients.index.to_numpy(dtype=object)
    if not np.isfinite(xi).all():
        raise ValueError(f"no finite coefficient for {list(models[~np.isfinite(xi)])}")
    return xi, models


def _entries(models: int, days: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Day on which each model enters, in random order of the models."""
    late = models - max(2, round(_FIRST * models))
    batches = rng.integers(1, days, size=max(1, late // _BATCH))
    entered = np.zeros(models, dtype=np.int64)
    entered[models - late :] = rng.choice(batches, size=late)
    return rng.permutation(entered)


def _traffic(age: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of the votes that each day gets; ``age`` is days x models, negative before a model's entry."""
    spike = np.where(age >= 0, np.exp(-np.maximum(age, 0) / _SPIKE_DAYS), 0).sum(axis=1)
    daily = (1 + _GROWTH * np.linspace(0, 1, len(age))) * (1 + _SPIKE * spike)
    return np.asarray(daily / daily.sum())


def _shown(
    xi: NDArray[np.float64],
    age: NDArray[np.int64],
    day: NDArray[np.int64],
    nearness: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """The two models of each vote, in the order shown, and the probability of showing that pair."""
    i, j = np.triu_indices(len(xi), 1)
    near = -np.abs(xi[i] - xi[j]) / nearness
    interest = np.where(age >= 0, np.log1p(_NOVELTY * np.exp(-np.maximum(age, 0) / _NOVELTY_DAYS)), -np.inf)
    pair, probability = np.empty(len(day), dtype=np.intp), np.empty(len(day))
    for today, votes in enumerate(np.bincount(day, minlength=len(age))):
        chance = softmax(near + interest[today, i] + interest[today, j])
        now = day == today
        pair[now] = rng.choice(len(i), votes, p=chance)
        probability[now] = chance[pair[now]]
    turned = rng.random(len(day)) < 0.5
    return np.where(turned, j[pair], i[pair]), np.where(turned, i[pair], j[pair]), probability


def _davidson(delta: NDArray[np.float64], ties: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Outcomes 1, 0.5, 0 with odds exp(delta / 2) : ties : exp(-delta / 2)."""
    # All three odds are multiplied by exp(-|delta| / 2), so that none overflows.
    better, worse = np.exp(np.minimum(delta, 0)), np.exp(np.minimum(-delta, 0))
    drawn = rng.random(len(delta)) * (better + ties * np.exp(-np.abs(delta) / 2) + worse)
    return np.where(drawn < better, 1.0, np.where(drawn < better + worse, 0.0, 0.5))

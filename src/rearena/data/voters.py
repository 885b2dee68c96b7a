"""Voters of known behaviour, and the honest crowd that they are compared with."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

BEHAVIOURS = ("honest", "always first", "always second", "coin", "repeats", "pushes")
"""What a simulated voter may do; :func:`cast` says what each means."""

_OUTCOMES = np.array([1.0, 0.5, 0.0])


def crowd(
    coefficients: pd.Series, votes: int, seed: int | np.random.Generator, *, ties: float = 0.0
) -> pd.DataFrame:
    r"""Honest votes between pairs drawn uniformly, in either order on the screen, as counts.

    Source: the simulation of Chatbot Arena, section 7.1. A vote is a tie with probability ``ties``, else the
    first model wins with probability :math:`\sigma(\xi_a - \xi_b)`, equation (2).

    Parameters
    ----------
    coefficients : Series, length M
        :math:`\xi` in log-odds, indexed by model.
    votes : int
        Number of votes.
    seed : int or Generator
        Source of randomness.
    ties : float in [0, 1)
        Share of ties, the same for every pair.

    Returns
    -------
    DataFrame
        Battles with ``weight``: one row per ordered pair and outcome that occurred.

    Raises
    ------
    ValueError
        If there are fewer than two models, one occurs twice or has no finite coefficient, there is no vote
        to draw, or ``ties`` is outside [0, 1).
    """
    models, xi = _arena(coefficients, ties)
    if votes < 1:
        raise ValueError(f"votes must be at least 1, got {votes}")
    first, second = np.nonzero(~np.eye(len(xi), dtype=bool))
    chance = _chances(xi[first] - xi[second], ties) / len(first)
    weight = np.random.default_rng(seed).multinomial(votes, chance.ravel() / chance.sum())
    frame = pd.DataFrame(
        {
            "model_a": models[np.repeat(first, 3)],
            "model_b": models[np.repeat(second, 3)],
            "outcome": np.tile(_OUTCOMES, len(first)),
            "weight": weight.astype(float),
        }
    )
    return frame[frame["weight"] > 0].reset_index(drop=True)


def cast(
    coefficients: pd.Series,
    behaviour: str,
    voters: int,
    votes: int,
    seed: int | np.random.Generator,
    *,
    ties: float = 0.0,
    share: float = 1.0,
    target: str | None = None,
) -> pd.DataFrame:
    """Votes of several voters who all behave in one way.

    Behaviours: ``honest`` votes as the :func:`crowd` does; ``always first`` and ``always second`` press one
    button; ``coin`` presses one of the two at random and never ties; ``repeats`` presses the button of its
    vote before, the first vote being honest; ``pushes`` asks until ``target`` is shown and votes for it.

    Parameters
    ----------
    coefficients, seed, ties
        As for :func:`crowd`.
    behaviour : str
        One of :data:`BEHAVIOURS`.
    voters, votes : int
        How many voters, and how many votes each of them casts.
    share : float in [0, 1]
        Probability of a vote to follow the behaviour; the others are honest.
    target : str, optional
        The model that ``pushes`` is for.

    Returns
    -------
    DataFrame
        Battles with ``voter`` (numbered from 0), voter by voter in the order of casting.

    Raises
    ------
    ValueError
        As :func:`crowd`; also for an unknown behaviour, a number of voters below 1, a share outside [0, 1],
        or a target that is not among the models.
    """
    models, xi = _arena(coefficients, ties)
    if behaviour not in BEHAVIOURS:
        raise ValueError(f"behaviour must be one of {', '.join(BEHAVIOURS)}, got {behaviour!r}")
    if min(voters, votes) < 1 or not 0 <= share <= 1:
        raise ValueError(f"voters and votes start at 1, share is in [0, 1]; got {voters}, {votes}, {share}")
    rng = np.random.default_rng(seed)
    size = (voters, votes)
    first = rng.integers(len(xi), size=size)
    second = (first + rng.integers(1, len(xi), size=size)) % len(xi)
    acts = rng.random(size) < share
    if behaviour == "pushes":
        pushed = _place(models, target)
        other = (pushed + rng.integers(1, len(xi), size=size)) % len(xi)
        on_left = rng.random(size) < 0.5
        first = np.where(acts, np.where(on_left, pushed, other), first)
        second = np.where(acts, np.where(on_left, other, pushed), second)
    honest = _draw(_chances(xi[first] - xi[second], ties), rng)
    pressed = honest.copy()
    if behaviour == "pushes":
        pressed = np.where(first == pushed, 0, 2)
    elif behaviour == "coin":
        pressed = 2 * rng.integers(2, size=size)
    elif behaviour.startswith("always"):
        pressed[:] = 0 if behaviour == "always first" else 2
    button = np.where(acts, pressed, honest)
    if behaviour == "repeats":
        for vote in range(1, votes):
            button[:, vote] = np.where(acts[:, vote], button[:, vote - 1], honest[:, vote])
    return pd.DataFrame(
        {
            "model_a": models[first.ravel()],
            "model_b": models[second.ravel()],
            "outcome": _OUTCOMES[button.ravel()],
            "voter": np.repeat(np.arange(voters), votes),
        }
    )


def _arena(coefficients: pd.Series, ties: float) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Names and coefficients, checked."""
    models, xi = coefficients.index.to_numpy(dtype=object), coefficients.to_numpy(dtype=float)
    if len(xi) < 2 or coefficients.index.has_duplicates or not np.isfinite(xi).all():
        raise ValueError("an arena needs two or more models, each once and with a finite coefficient")
    if not 0 <= ties < 1:
        raise ValueError(f"ties must lie in [0, 1), got {ties}")
    return models, xi


def _place(models: NDArray[np.object_], target: str | None) -> int:
    found = np.flatnonzero(models == target)
    if not len(found):
        raise ValueError(f"target must be one of the models, got {target!r}")
    return int(found[0])


def _chances(difference: NDArray[np.float64], ties: float) -> NDArray[np.float64]:
    """Probability that the first wins, of a tie, and that the second wins, along a new last axis."""
    wins = (1 - ties) * expit(difference)
    return np.stack([wins, np.full_like(wins, ties), 1 - ties - wins], axis=-1)


def _draw(chance: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """One button per row of chances: 0 first, 1 tie, 2 second."""
    u = rng.random(chance.shape[:-1])
    drawn: NDArray[np.intp] = (u >= chance[..., 0]).astype(np.intp) + (u >= chance[..., :2].sum(axis=-1))
    return drawn

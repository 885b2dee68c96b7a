"""Battles as counts per pair of models: all that a Bradley-Terry fit needs to read.

A million votes over a hundred models are a few thousand numbers. Every fit and every bootstrap round works
on those, so its cost does not depend on the number of votes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

InverseProbability: TypeAlias = Literal["given", "share"]


class GraphError(ValueError):
    """The comparison graph does not determine a finite rating for every model."""


class DisconnectedGraphError(GraphError):
    """Some models were never compared, even through others, so their difference is not defined."""


class SeparatedGraphError(GraphError):
    """Some models only won (or only lost) against all others, so their difference is infinite."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The units that a sample consists of: what a bootstrap redraws, and what is independent in a sandwich.

    Attributes
    ----------
    units : csr_array, shape (U, 3 P)
        Weight that one unit adds to each pair and outcome.
    copies : ndarray of float, shape (U,)
        How many units of that kind there are.
    battles : ndarray of float, shape (P,)
        Number of battles of each pair, whatever they weigh.
    even : bool
        Whether pairs are weighted so that each counts alike, however often it met.
    """

    units: csr_array
    copies: NDArray[np.float64]
    battles: NDArray[np.float64]
    even: bool

    @cached_property
    def transposed(self) -> csr_array:
        """``units`` from the cells' side, shape (3 P, U)."""
        return csr_array(self.units.T)


def _evened(outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Outcomes rescaled so that all pairs that met weigh the same, and all together what they weighed."""
    met = outcomes.sum(axis=1, keepdims=True)
    evened: NDArray[np.float64] = outcomes * (met.sum() / (met > 0).sum() / np.where(met > 0, met, 1))
    return evened


@dataclass(frozen=True, eq=False)
class Counts:
    """Outcomes of battles, added up per unordered pair of models.

    Attributes
    ----------
    models : tuple of str, length M
        Sorted names; the indices below point into it.
    first, second : ndarray of int, shape (P,)
        The two models of each pair that met, ``first < second``.
    outcomes : ndarray of float, shape (P, 3)
        Weight of battles won by ``first``, tied, and won by ``second``: what a fit reads.
    sample : Sample, optional
        What was drawn from, where it is not single battles of equal weight.
    """

    models: tuple[str, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcomes: NDArray[np.float64]
    sample: Sample | None = None

    @cached_property
    def sampling(self) -> Sample:
        """The units of the sample; where there is nothing else, a unit is a battle."""
        if self.sample is not None:
            return self.sample
        cells = self.outcomes.ravel()
        seen = np.flatnonzero(cells)
        units = coo_array((np.ones(len(seen)), (np.arange(len(seen)), seen)), shape=(len(seen), len(cells)))
        return Sample(units.tocsr(), cells[seen], self.outcomes.sum(axis=1), even=False)

    def resample(self, rng: np.random.Generator) -> Counts:
        """As many units again, drawn with replacement: one bootstrap resample of the same pairs."""
        sampling = self.sampling
        drawn = rng.multinomial(int(sampling.copies.sum()), sampling.copies / sampling.copies.sum())
        outcomes = (sampling.transposed @ drawn).reshape(-1, 3)
        return replace(self, outcomes=_evened(outcomes) if sampling.even else outcomes)

    def battles_per_model(self) -> NDArray[np.float64]:
        """Number of battles that each model took part in, shape (M,)."""
        n, size = self.sampling.battles, len(self.models)
        return np.asarray(np.bincount(self.first, n, size) + np.bincount(self.second, n, size), dtype=float)

    def check_graph(self) -> None:
        """Refuse counts under which the maximum-likelihood ratings are not finite and unique.

        They are if and only if the directed graph with an edge from every model to those it beat or tied is
        strongly connected (Ford 1957, American Mathematical Monthly 64(8), 28-33).

        Raises
        ------
        DisconnectedGraphError
            If some models never met the others, directly or through a third.
        SeparatedGraphError
            If some group of models never lost to, or tied with, any model outside it.
        """
        graph, rows, columns = self._graph()
        parts, part = connected_components(graph, directed=True, connection="weak")
        if parts > 1:
            raise DisconnectedGraphError(
                f"the comparison graph falls into {parts} parts that no battle joins: "
                + "; ".join(self._name(part == p) for p in _smallest_first(part))
                + ". Rate each part on its own, add battles between them, or fit with ridge > 0"
            )
        groups, group = connected_components(graph, directed=True, connection="strong")
        if groups > 1:
            crossing = group[rows] != group[columns]
            winners = np.setdiff1d(np.arange(groups), group[columns[crossing]])
            losers = np.setdiff1d(np.arange(groups), group[rows[crossing]])
            raise SeparatedGraphError(
                "the ratings are not finite: "
                + "; ".join(
                    [f"never beaten or tied from outside: {self._name(group == g)}" for g in winners]
                    + [f"never won or tied against the others: {self._name(group == g)}" for g in losers]
                )
                + ". Leave these models out, add battles, or fit with ridge > 0"
            )

    def core(self) -> tuple[NDArray[np.bool_], bool]:
        """Which models form the largest strongly connected group, shape (M,), and whether all are joined."""
        graph, _, _ = self._graph()
        _, group = connected_components(graph, directed=True, connection="strong")
        parts, _ = connected_components(graph, directed=True, connection="weak")
        return group == np.bincount(group).argmax(), parts == 1

    def _graph(self) -> tuple[csr_array, NDArray[np.intp], NDArray[np.intp]]:
        """Edges from every model to those it beat or tied: as a matrix, and as their two ends."""
        size = len(self.models)
        won, tied, lost = self.outcomes.T
        beat, beaten = (won + tied) > 0, (lost + tied) > 0
        rows = np.concatenate([self.first[beat], self.second[beaten]])
        columns = np.concatenate([self.second[beat], self.first[beaten]])
        edges = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
        return edges.tocsr(), rows, columns

    def _name(self, chosen: NDArray[np.bool_], most: int = 5) -> str:
        names = [self.models[k] for k in np.flatnonzero(chosen)]
        rest = f" and {len(names) - most} more" if len(names) > most else ""
        return ", ".join(names[:most]) + rest


def _smallest_first(labels: NDArray[np.integer]) -> NDArray[np.integer]:
    """Labels by size, smallest first: the odd ones out are what the reader needs to see."""
    values, sizes = np.unique(labels, return_counts=True)
    smallest_first: NDArray[np.integer] = values[np.argsort(sizes, kind="stable")]
    return smallest_first


def from_battles(
    battles: pd.DataFrame,
    *,
    inverse_probability: InverseProbability | None = None,
    cluster: str | None = None,
) -> Counts:
    """Add up battles per pair and outcome.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b, outcome`` (1 a wins, 0.5 tie, 0 b wins) and optionally ``weight``: how
        many battles the row stands for (default 1). A row of weight zero names its models and counts nothing.
    inverse_probability : {"given", "share"}, optional
        Weight each battle by 1 / P(A_t), so that every pair counts alike in expectation (Chatbot Arena,
        section 5, equation (7)). ``"given"`` takes the column ``probability``, that of showing the pair;
        ``"share"`` the pair's share of the battles, recomputed in every resample. Weights are scaled to
        mean one. Default: every battle counts alike.
    cluster : str, optional
        Column that names the sampling unit (``prompt_id``, ``voter``), where rows of one unit depend on each
        other. Default: every battle is a unit.

    Returns
    -------
    Counts
        Over every model that the rows name.

    Raises
    ------
    ValueError
        As :func:`coded`; also if a weight is negative or not finite, a probability outside (0, 1], a unit
        not named, a column missing, or there is no battle.
    """
    names, a, b, outcome = coded(battles)
    weight = _numbers(battles, "weight") if "weight" in battles.columns else np.ones(len(battles))
    _refuse(battles, ~(np.isfinite(weight) & (weight >= 0)), "has a negative or non-finite weight")
    size, doubled = len(names), outcome * 2
    # Written from the first model's side: 0 it won, 1 tie, 2 it lost.
    code = np.where(a < b, 2 - doubled, doubled).astype(np.intp)
    cell = (np.minimum(a, b) * size + np.maximum(a, b)) * 3 + code
    table = np.bincount(cell, weight, minlength=3 * size * size).reshape(-1, 3).astype(np.float64)
    met = np.flatnonzero(table.sum(axis=1))
    if not len(met):
        raise ValueError("there are no battles to count: the frame is empty or every weight is zero")
    counts = Counts(names, met // size, met % size, table[met])
    if inverse_probability is None and cluster is None:
        return counts
    place = np.zeros(size * size, dtype=np.intp)
    place[met] = np.arange(len(met))
    cell = 3 * place[cell // 3] + cell % 3
    kept = weight > 0
    return _sampled(counts, battles.loc[kept], cell[kept], weight[kept], inverse_probability, cluster)


def _sampled(
    counts: Counts,
    battles: pd.DataFrame,
    cell: NDArray[np.intp],
    weight: NDArray[np.float64],
    inverse_probability: InverseProbability | None,
    cluster: str | None,
) -> Counts:
    """Counts with the units that they come from; ``cell`` is each battle's place in ``counts.outcomes``."""
    if inverse_probability not in (None, "given", "share"):
        raise ValueError(f"inverse_probability must be 'given', 'share' or None, got {inverse_probability!r}")
    importance = np.ones(len(cell))
    if inverse_probability == "given":
        importance = 1 / probabilities(battles)
        importance *= weight.sum() / (weight @ importance)
    if cluster is None:  # units of one battle, alike where cell and importance are
        values, kind = np.unique(importance, return_inverse=True)
        keys, unit = np.unique(cell * len(values) + kind, return_inverse=True)
        copies = np.bincount(unit, weight).astype(np.float64)
        unit, cell, adds = np.arange(len(keys)), keys // len(values), values[keys % len(values)]
    else:
        unit, adds = units(battles, cluster), weight * importance
        copies = np.ones(unit.max() + 1)
    matrix = coo_array((adds, (unit, cell)), shape=(len(copies), counts.outcomes.size)).tocsr()
    sample = Sample(matrix, copies, counts.outcomes.sum(axis=1), even=inverse_probability == "share")
    outcomes = (sample.transposed @ copies).reshape(-1, 3)
    return replace(counts, outcomes=_evened(outcomes) if sample.even else outcomes, sample=sample)


def probabilities(battles: pd.DataFrame) -> NDArray[np.float64]:
    """Probability with which each row's pair was shown, shape (N,); ValueError unless all are in (0, 1]."""
    if "probability" not in battles.columns:
        raise ValueError("inverse_probability='given' needs a column probability: that of showing the pair")
    probability = _numbers(battles, "probability")
    _refuse(battles, ~((probability > 0) & (probability <= 1)), "has a probability outside (0, 1]")
    return probability


def units(battles: pd.DataFrame, cluster: str) -> NDArray[np.intp]:
    """Number of each row's sampling unit, shape (N,); ValueError where the column or a unit is missing."""
    if cluster not in battles.columns:
        raise ValueError(f"battles lack the column {cluster} that is to name the sampling unit")
    unit = pd.factorize(battles[cluster])[0].astype(np.intp)
    _refuse(battles, unit < 0, f"names no {cluster}")
    return unit


def coded(
    battles: pd.DataFrame,
) -> tuple[tuple[str, ...], NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Battles as numbers: sorted names, the two models of each row as positions in them, the outcome.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b, outcome``.

    Returns
    -------
    models : tuple of str, length M
    first, second : ndarray of int, shape (N,)
    outcome : ndarray of float, shape (N,)
        1, 0.5 or 0.

    Raises
    ------
    ValueError
        If a column is missing, a name is missing or no text, a model meets itself, or an outcome is none of
        the three. The message names the row.
    """
    missing = [c for c in ("model_a", "model_b", "outcome") if c not in battles.columns]
    if missing:
        raise ValueError(f"battles lack the column(s) {', '.join(missing)}; found {list(battles.columns)}")
    a, names_a = pd.factorize(battles["model_a"])
    b, names_b = pd.factorize(battles["model_b"])
    found = {*names_a, *names_b}
    if not all(isinstance(name, str) for name in found):
        raise ValueError("model names must be text; convert the columns model_a and model_b with astype(str)")
    names = tuple(sorted(found))
    place = {name: k for k, name in enumerate(names)}
    # The appended -1 is where factorize's code for a missing name, -1, points to.
    a = np.array([*(place[n] for n in names_a), -1], dtype=np.intp)[a]
    b = np.array([*(place[n] for n in names_b), -1], dtype=np.intp)[b]
    outcome = _numbers(battles, "outcome")
    _refuse(battles, (a < 0) | (b < 0), "names no model")
    _refuse(battles, a == b, "sets a model against itself")
    _refuse(
        battles, (outcome != 0) & (outcome != 0.5) & (outcome != 1), "has an outcome other than 1, 0.5, 0"
    )
    return names, a, b, outcome


def _numbers(battles: pd.DataFrame, column: str) -> NDArray[np.float64]:
    try:
        return battles[column].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the column {column} of the battles must hold numbers: {error}") from error


def _refuse(battles: pd.DataFrame, bad: NDArray[np.bool_], why: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        shown = battles.iloc[row][["model_a", "model_b", "outcome"]].to_dict()
        raise ValueError(f"battle in row {row} (counted from 0) {why}: {shown} ({int(bad.sum())} such rows)")

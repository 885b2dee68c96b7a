"""Battles as counts per pair of models: all that a Bradley-Terry fit needs to read.

A million votes over a hundred models are a few thousand numbers. Every fit and every bootstrap round works
on those, so its cost does not depend on the number of votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from numpy.typing import NDArray


class GraphError(ValueError):
    """The comparison graph does not determine a finite rating for every model."""


class DisconnectedGraphError(GraphError):
    """Some models were never compared, even through others, so their difference is not defined."""


class SeparatedGraphError(GraphError):
    """Some models only won (or only lost) against all others, so their difference is infinite."""


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
        Weight of battles won by ``first``, tied, and won by ``second``.
    """

    models: tuple[str, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcomes: NDArray[np.float64]

    def with_outcomes(self, outcomes: NDArray[np.float64]) -> Counts:
        """Same pairs, other counts: one bootstrap resample."""
        return Counts(self.models, self.first, self.second, outcomes)

    def battles_per_model(self) -> NDArray[np.float64]:
        """Weight of the battles that each model took part in, shape (M,)."""
        n, size = self.outcomes.sum(axis=1), len(self.models)
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


def from_battles(battles: pd.DataFrame) -> Counts:
    """Add up battles per pair and outcome.

    Parameters
    ----------
    battles : DataFrame
        Columns ``model_a, model_b, outcome`` (1 a wins, 0.5 tie, 0 b wins) and optionally ``weight``: how
        many battles the row stands for (default 1). A row of weight zero names its models and counts nothing.

    Returns
    -------
    Counts
        Over every model that the rows name.

    Raises
    ------
    ValueError
        As :func:`coded`; also if a weight is negative or not finite, or there is no battle.
    """
    names, a, b, outcome = coded(battles)
    weight = _numbers(battles, "weight") if "weight" in battles.columns else None
    if weight is not None:
        _refuse(battles, ~(np.isfinite(weight) & (weight >= 0)), "has a negative or non-finite weight")
    size, doubled = len(names), outcome * 2
    # Written from the first model's side: 0 it won, 1 tie, 2 it lost.
    code = np.where(a < b, 2 - doubled, doubled).astype(np.intp)
    cell = (np.minimum(a, b) * size + np.maximum(a, b)) * 3 + code
    table = np.bincount(cell, weight, minlength=3 * size * size).reshape(-1, 3).astype(np.float64)
    met = np.flatnonzero(table.sum(axis=1))
    if not len(met):
        raise ValueError("there are no battles to count: the frame is empty or every weight is zero")
    return Counts(names, met // size, met % size, table[met])


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

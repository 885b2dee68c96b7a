"""The house's charts: each is one call on one tidy frame and returns a figure to save.

Wherever a frame has ``lower`` and ``upper``, the interval is drawn. A column ``model`` decides the colour of
what is drawn for it, by maker and the same in every figure; a column ``series`` decides the marker, and the
colour where there is no model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from scipy.cluster.hierarchy import dendrogram

from rearena.reporting.figures import GREY, INK, STYLE, maker, use_style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ("o", "D", "s", "^", "v", "P", "X")
_SERIES = tuple(entry["color"] for entry in STYLE["axes.prop_cycle"])


def interval_chart(
    frame: pd.DataFrame,
    *,
    xlabel: str,
    title: str = "",
    reference: float | None = None,
    link: bool = False,
    xscale: Literal["linear", "log"] = "linear",
) -> Figure:
    """Dots with intervals, one line per model or name, best on top.

    Parameters
    ----------
    frame : DataFrame
        Columns ``model`` (or ``name``), ``value``, ``lower``, ``upper``; optional ``series``. Lines are in
        the order in which the names first occur.
    xlabel : str
        What is drawn, with its unit.
    title : str
    reference : float, optional
        Where to draw a vertical line.
    link : bool
        Join the values of a line by a thin rule, to compare two series by eye.
    xscale : {"linear", "log"}

    Returns
    -------
    Figure
    """
    use_style()
    names = list(dict.fromkeys(frame[_label(frame)]))
    lines = len(names) * (1 + 0.3 * (len(_series(frame)) - 1))
    fig, axis = plt.subplots(figsize=(7.2, 1.1 + 0.2 * lines))
    draw_intervals(axis, frame)
    if link:
        spans = frame.groupby(_label(frame), sort=False)["value"].agg(["min", "max"])
        axis.hlines(range(len(spans)), spans["min"], spans["max"], color=GREY, linewidth=0.9, zorder=1)
    if reference is not None:
        axis.axvline(reference, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    axis.set(xlabel=xlabel, title=title, xscale=xscale)
    _legend(fig, axis, frame)
    return fig


def draw_intervals(axis: Axes, frame: pd.DataFrame) -> None:
    """Draw what :func:`interval_chart` shows, from the same frame, into given axes."""
    label = _label(frame)
    names = list(dict.fromkeys(frame[label]))
    series = list(_series(frame))
    for number, name in enumerate(series):
        rows = frame if name is None else frame[frame["series"] == name]
        shift = (number - (len(series) - 1) / 2) * min(0.26, 0.7 / len(series))
        for row in rows.to_dict("records"):
            colour = (
                maker(row["model"])[1]
                if label == "model" and len(series) == 1
                else _SERIES[number % len(_SERIES)]
            )
            height = names.index(row[label]) + shift
            axis.plot([row["lower"], row["upper"]], [height, height], color=colour, linewidth=1.6, zorder=2)
            axis.plot(
                row["value"], height, _MARKERS[number % len(_MARKERS)], color=colour, markersize=4.2, zorder=3
            )
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)


def scatter_panels(
    frame: pd.DataFrame, *, xlabel: str, ylabel: str, notes: Mapping[str, str] | None = None, columns: int = 4
) -> Figure:
    """One scatter plot per panel, one point per model, coloured by maker.

    Parameters
    ----------
    frame : DataFrame
        Columns ``panel, model, x, y``; optional ``lower, upper`` (of y) and ``strong`` (bool: drawn filled,
        others hollow). Panels are in the order in which they first occur and have axes of their own.
    xlabel, ylabel : str
        With units.
    notes : mapping from panel to str, optional
        A line written into the panel.
    columns : int
        Panels in a row.

    Returns
    -------
    Figure
    """
    use_style()
    panels = list(dict.fromkeys(frame["panel"]))
    rows = -(-len(panels) // columns)
    fig, grid = plt.subplots(
        rows, columns, figsize=(2.55 * columns, 2.55 * rows + 0.4), sharey=True, squeeze=False
    )
    for axis, panel in zip(grid.flat, panels, strict=False):
        for row in frame[frame["panel"] == panel].to_dict("records"):
            colour = maker(row["model"])[1]
            if "lower" in row:
                axis.plot([row["x"], row["x"]], [row["lower"], row["upper"]], color=colour, linewidth=1)
            face = colour if row.get("strong", True) else "white"
            axis.plot(row["x"], row["y"], "o", markeredgecolor=colour, markerfacecolor=face, markersize=5.5)
        axis.set_title(panel)
        if notes and panel in notes:
            axis.text(0.03, 0.97, notes[panel], transform=axis.transAxes, va="top", fontsize=8)
            axis.margins(y=0.12)
    for axis in grid.flat[len(panels) :]:
        axis.set_visible(False)
    fig.supxlabel(xlabel, fontsize=10)
    fig.supylabel(ylabel, fontsize=10)
    _makers_legend(fig, frame["model"])
    return fig


def reliability_panels(points: pd.DataFrame, curves: pd.DataFrame, *, xlabel: str, ylabel: str) -> Figure:
    """Forecast probability against what happened: every pair as a dot, the binned frequency on top.

    Parameters
    ----------
    points : DataFrame
        Columns ``panel, forecast, observed``, one row per pair and direction.
    curves : DataFrame
        Columns ``panel, forecast, observed, lower, upper``, one row per bin.
    xlabel, ylabel : str

    Returns
    -------
    Figure
    """
    use_style()
    panels = list(dict.fromkeys(points["panel"]))
    fig, grid = plt.subplots(
        1, len(panels), figsize=(2.75 * len(panels), 3.1), sharex=True, sharey=True, squeeze=False
    )
    # Dots pile up at the corners: the jitter is for the eye, small, and the same in every run.
    rng = np.random.default_rng(0)
    for axis, panel in zip(grid.flat, panels, strict=True):
        dots, curve = points[points["panel"] == panel], curves[curves["panel"] == panel]
        jitter = rng.uniform(-0.02, 0.02, size=(2, len(dots)))
        axis.plot([0, 1], [0, 1], color=INK, linewidth=0.9, linestyle="--")
        axis.scatter(
            dots["forecast"] + jitter[0],
            dots["observed"] + jitter[1],
            s=7,
            color=GREY,
            alpha=0.35,
            linewidths=0,
        )
        axis.errorbar(
            curve["forecast"],
            curve["observed"],
            yerr=[curve["observed"] - curve["lower"], curve["upper"] - curve["observed"]],
            fmt="o",
            color=_SERIES[0],
            markersize=4.5,
            elinewidth=1.3,
        )
        axis.set(title=panel, xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal")
    fig.supxlabel(xlabel, fontsize=10)
    fig.supylabel(ylabel, fontsize=10)
    return fig


def line_panels(
    frame: pd.DataFrame,
    *,
    xlabel: str,
    ylabels: Mapping[str, str],
    target: str = "",
    xscale: Literal["linear", "log"] = "linear",
    columns: int | None = None,
) -> Figure:
    """Lines with bands, one panel per quantity.

    Parameters
    ----------
    frame : DataFrame
        Columns ``panel, series, x, value``; optional ``lower, upper``, ``target`` (heights at which a dashed
        line is drawn) and ``mark`` (places on the x axis at which a dotted line in the colour of the
        series is drawn). A line of more than forty points has no markers.
    xlabel : str
    ylabels : mapping from panel to str
        Decides the order of the panels.
    target : str
        What the dashed lines stand for.
    xscale : {"linear", "log"}
    columns : int, optional
        Panels in a row. Default: all.

    Returns
    -------
    Figure
    """
    use_style()
    series = list(dict.fromkeys(frame["series"]))
    columns = columns or len(ylabels)
    rows = -(-len(ylabels) // columns)
    width, height = (4.1, 3.8) if rows == 1 else (3.4, 2.7)
    fig, grid = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    for axis, (panel, ylabel) in zip(grid.flat, ylabels.items(), strict=False):
        part = frame[frame["panel"] == panel]
        axis.set_xscale(xscale)  # before the lines, which may bring an axis of dates with them
        for name, line in part.groupby("series", sort=False):
            number = series.index(name)
            colour = _SERIES[number % len(_SERIES)]
            marker = _MARKERS[number % len(_MARKERS)] if len(line) <= 40 else ""
            if "lower" in line:
                axis.fill_between(
                    line["x"], line["lower"], line["upper"], color=colour, alpha=0.18, linewidth=0
                )
            axis.plot(line["x"], line["value"], f"-{marker}", color=colour, markersize=4, label=name)
            for place in line["mark"].dropna().unique() if "mark" in line else ():
                axis.axvline(place, color=colour, linewidth=0.9, linestyle=":")
        for level in part["target"].dropna().unique() if "target" in part else ():
            axis.axhline(level, color=INK, linewidth=0.9, linestyle="--", label=target)
        axis.set(xlabel=xlabel, ylabel=ylabel)
    for axis in grid.flat[len(ylabels) :]:
        axis.set_visible(False)
    entries = {
        label: handle
        for axis in grid.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    fig.legend(entries.values(), entries, fontsize=8, loc="outside upper right", ncols=min(len(entries), 6))
    return fig


def map_panels(
    maps: Mapping[str, pd.DataFrame],
    *,
    label: str | Mapping[str, str],
    norms: Mapping[str, Normalize] | None = None,
    formats: Mapping[str, str] | None = None,
) -> Figure:
    """Square maps side by side.

    Parameters
    ----------
    maps : mapping from title to DataFrame
        Square frames over the same models, in the same order; the diagonal is left out, and so is what is
        missing. Columns are numbered as the rows are, since names do not fit twice.
    label : str or mapping from title to str
        What a colour stands for. One for all: one colour bar, at the last map. A mapping: one colour bar for
        each map named in it.
    norms : mapping from title to Normalize, optional
        Colour scale of a map, for example ``LogNorm(1, 10_000)`` for counts. Default: from 0 to 1.
    formats : mapping from title to str, optional
        How to write the numbers into the cells of a map, for example ``".2f"``. Default: not at all.

    Returns
    -------
    Figure
    """
    use_style()
    models = list(next(iter(maps.values())).index)
    labels = {list(maps)[-1]: label} if isinstance(label, str) else label
    side = max((0.33 if formats else 0.175) * len(models), 1.6)
    step = 1 if formats else 4
    size = (side * len(maps) + 1.6 + 0.8 * len(labels), side + 0.6)
    fig, grid = plt.subplots(1, len(maps), figsize=size, sharey=True, squeeze=False)
    for axis, (title, frame) in zip(grid.flat, maps.items(), strict=True):
        written = (formats or {}).get(title)
        sns.heatmap(
            frame,
            ax=axis,
            square=True,
            mask=np.eye(len(models), dtype=bool) | frame.isna().to_numpy(),
            cmap="cividis",
            norm=(norms or {}).get(title, Normalize(0, 1)),
            annot=written is not None,
            fmt=written or "",
            annot_kws={"fontsize": 6.5},
            cbar=title in labels,
            cbar_kws={"label": labels[title], "shrink": 0.8} if title in labels else None,
            xticklabels=[str(k) if k == 1 or k % step == 0 else "" for k in range(1, len(models) + 1)],
            yticklabels=[f"{name}  {k}" for k, name in enumerate(models, start=1)],
        )
        axis.set(title=title, xlabel="", ylabel="")
        axis.tick_params(labelsize=7.5, length=0)
        axis.tick_params(axis="x", labelrotation=0)
        axis.grid(visible=False)
    return fig


def _label(frame: pd.DataFrame) -> str:
    return "model" if "model" in frame else "name"


def _series(frame: pd.DataFrame) -> np.ndarray:
    return np.array(list(dict.fromkeys(frame["series"])) if "series" in frame else [None], dtype=object)


def _legend(fig: Figure, axis: Axes, frame: pd.DataFrame) -> None:
    series = _series(frame)
    if len(series) > 1:
        handles = [
            Line2D(
                [],
                [],
                color=_SERIES[k % 7],
                marker=_MARKERS[k % 7],
                linewidth=1.6,
                markersize=4.2,
                label=str(name),
            )
            for k, name in enumerate(series)
        ]
        fig.legend(handles=handles, fontsize=8, loc="outside upper right", ncols=len(handles))
    elif "model" in frame:
        axis.legend(handles=_maker_handles(frame["model"]), fontsize=8, loc="best")


def _maker_handles(models: Sequence[str] | pd.Series) -> list[Line2D]:
    makers = dict.fromkeys(maker(model) for model in models)
    return [
        Line2D([], [], color=colour, marker="o", linestyle="", markersize=5, label=name)
        for name, colour in sorted(makers)
    ]


def _makers_legend(fig: Figure, models: pd.Series) -> None:
    handles = _maker_handles(models)
    fig.legend(handles=handles, fontsize=8, loc="outside upper right", ncols=len(handles))


def tree_chart(
    linkage: np.ndarray, names: Sequence[str], *, xlabel: str, groups_below: float | None = None
) -> Figure:
    """A hierarchy as a tree: leaves on the left, first on top; branches meet at their distance.

    Parameters
    ----------
    linkage : ndarray, shape (K - 1, 4)
        As ``scipy.cluster.hierarchy.linkage`` gives it.
    names : sequence of str, length K
    xlabel : str
        What the distance is, with its unit.
    groups_below : float, optional
        Branches that meet below this distance share a colour; a dashed line is drawn there. Default: none.

    Returns
    -------
    Figure
    """
    use_style()
    fig, axis = plt.subplots(figsize=(7.2, 1.0 + 0.17 * len(names)))
    with plt.rc_context({"lines.linewidth": 1.2}):
        dendrogram(
            linkage,
            labels=list(names),
            orientation="right",
            ax=axis,
            color_threshold=groups_below or 0.0,
            above_threshold_color=GREY,
            leaf_font_size=7.5,
        )
    if groups_below is not None:
        axis.axvline(groups_below, color=INK, linewidth=0.9, linestyle="--")
    axis.invert_yaxis()
    axis.set(xlabel=xlabel)
    axis.grid(visible=False, axis="y")
    return fig

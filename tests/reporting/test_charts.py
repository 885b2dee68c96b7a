"""What is drawn is what the frame says: ends of intervals, order, panels, colours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rearena.data import published
from rearena.evaluation import metrics
from rearena.reporting import charts
from rearena.reporting.figures import STYLE, maker

SERIES = [entry["color"] for entry in STYLE["axes.prop_cycle"]]
MODELS = ["gpt-4-0314", "claude-2.1", "Llama-2-70b-chat-hf"]
BOARD = pd.DataFrame(
    {
        "model": MODELS,
        "value": [50.0, 41.5, 12.0],
        "lower": [50.0, 39.25, 11.0],
        "upper": [50.0, 44.0, 14.5],
    }
)
TWO = pd.concat(
    [
        BOARD.rename(columns={"model": "name"}).assign(series="sandwich"),
        BOARD.rename(columns={"model": "name"}).assign(series="bootstrap", lower=1.0, upper=60.0),
    ]
)


@pytest.fixture(autouse=True)
def no_figure_is_left_open() -> Iterator[None]:
    plt.switch_backend("Agg")
    with mpl.rc_context():
        yield
    plt.close("all")


def drawn(fig: Figure) -> Figure:
    """Every artist laid out and drawn: pytest turns a warning on the way into an error."""
    fig.canvas.draw()
    return fig


def bars(axis: Axes) -> list[Line2D]:
    """Lines of two points and no marker."""
    return [line for line in axis.lines if line.get_marker() == "None" and len(line.get_xdata()) == 2]


def dots(axis: Axes) -> list[Line2D]:
    return [line for line in axis.lines if line.get_marker() != "None" and len(line.get_xdata()) == 1]


def legend_of(owner: Figure | Axes) -> dict[str, str]:
    legend = owner.legends[0] if isinstance(owner, Figure) else owner.get_legend()
    handles = zip(legend.get_texts(), legend.legend_handles, strict=True)
    return {text.get_text(): to_hex(handle.get_color()).upper() for text, handle in handles}


def test_an_interval_is_drawn_between_its_ends_and_the_first_row_is_on_top() -> None:
    fig = drawn(charts.interval_chart(BOARD, xlabel="win rate (%)", title="Table 6"))
    (axis,) = fig.axes
    assert [line.get_xdata().tolist() for line in bars(axis)] == BOARD[["lower", "upper"]].to_numpy().tolist()
    assert [line.get_ydata().tolist() for line in bars(axis)] == [[0, 0], [1, 1], [2, 2]]
    assert [(dot.get_xdata()[0], dot.get_ydata()[0]) for dot in dots(axis)] == [(50, 0), (41.5, 1), (12, 2)]
    assert [label.get_text() for label in axis.get_yticklabels()] == MODELS
    bottom, top = axis.get_ylim()
    assert top < 0 < 2 < bottom
    assert (axis.get_xlabel(), axis.get_title(loc="left")) == ("win rate (%)", "Table 6")


def test_a_model_has_its_makers_colour_and_the_legend_names_makers_once() -> None:
    frame = pd.concat([BOARD, BOARD.assign(model=["gpt-3.5-turbo-0613", "claude-2.0", "mistral-large-2402"])])
    fig = drawn(charts.interval_chart(frame, xlabel="x"))
    (axis,) = fig.axes
    expected = [maker(model)[1] for model in frame["model"]]
    assert [line.get_color() for line in bars(axis)] == expected
    assert [dot.get_color() for dot in dots(axis)] == expected
    assert legend_of(axis) == dict(maker(model) for model in frame["model"])


def test_names_that_are_no_models_have_one_colour_and_no_legend() -> None:
    fig = drawn(charts.interval_chart(BOARD.rename(columns={"model": "name"}), xlabel="x"))
    (axis,) = fig.axes
    assert {line.get_color() for line in axis.lines} == {SERIES[0]}
    assert axis.get_legend() is None
    assert not fig.legends


def test_series_share_a_line_side_by_side_and_differ_in_colour_and_marker() -> None:
    fig = drawn(charts.interval_chart(TWO, xlabel="x"))
    (axis,) = fig.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == MODELS
    assert [line.get_xdata().tolist() for line in bars(axis)] == TWO[["lower", "upper"]].to_numpy().tolist()
    heights = np.array([dot.get_ydata()[0] for dot in dots(axis)]).reshape(2, 3)
    assert (heights[0] < heights[1]).all()
    assert np.abs(heights - [0, 1, 2]).max() < 0.5
    assert heights.mean(axis=0) == pytest.approx([0, 1, 2])
    assert [line.get_color() for line in bars(axis)] == [SERIES[0]] * 3 + [SERIES[1]] * 3
    markers = [dot.get_marker() for dot in dots(axis)]
    assert len(set(markers[:3])) == len(set(markers[3:])) == 1
    assert markers[0] != markers[3]
    assert legend_of(fig) == {"sandwich": SERIES[0], "bootstrap": SERIES[1]}


def test_the_reference_is_a_vertical_line() -> None:
    fig = drawn(charts.interval_chart(BOARD, xlabel="x", reference=50.0))
    (line,) = [line for line in fig.axes[0].lines if line.get_linestyle() == "--"]
    assert list(line.get_xdata()) == [50.0, 50.0]


def test_more_rows_make_a_taller_figure() -> None:
    many = pd.concat([BOARD.assign(model=BOARD["model"] + str(k)) for k in range(8)])
    short, tall = charts.interval_chart(BOARD, xlabel="x"), charts.interval_chart(many, xlabel="x")
    assert tall.get_figheight() > short.get_figheight() + 3


def scatter_frame() -> pd.DataFrame:
    parts = [
        BOARD.assign(panel=panel, x=BOARD["value"] * factor, y=BOARD["value"])
        for factor, panel in enumerate(["WB-Score", "Arena-Hard", "AlpacaEval", "Length", "Reward"], start=1)
    ]
    return pd.concat(parts).drop(columns="value")


def test_scatter_has_one_panel_each_in_order_and_hides_the_rest() -> None:
    notes = {"Arena-Hard": "r = 0.909"}
    fig = drawn(
        charts.scatter_panels(scatter_frame(), xlabel="score (%)", ylabel="Elo", notes=notes, columns=3)
    )
    shown = [axis for axis in fig.axes if axis.get_visible()]
    titles = [axis.get_title(loc="left") for axis in shown]
    assert titles == ["WB-Score", "Arena-Hard", "AlpacaEval", "Length", "Reward"]
    assert len(fig.axes) == 6
    assert [[text.get_text() for text in axis.texts] for axis in shown] == [[], ["r = 0.909"], [], [], []]
    assert (fig.get_supxlabel(), fig.get_supylabel()) == ("score (%)", "Elo")


def test_scatter_draws_points_and_intervals_of_y_in_the_makers_colour() -> None:
    fig = drawn(charts.scatter_panels(scatter_frame(), xlabel="x", ylabel="y"))
    axis = fig.axes[1]
    points = [(dot.get_xdata()[0], dot.get_ydata()[0]) for dot in dots(axis)]
    assert points == [(100.0, 50.0), (83.0, 41.5), (24.0, 12.0)]
    assert [line.get_ydata().tolist() for line in bars(axis)] == BOARD[["lower", "upper"]].to_numpy().tolist()
    assert [line.get_xdata().tolist() for line in bars(axis)] == [[x, x] for x, _ in points]
    expected = [maker(model)[1] for model in MODELS]
    assert [dot.get_markeredgecolor() for dot in dots(axis)] == expected
    assert [line.get_color() for line in bars(axis)] == expected
    assert legend_of(fig) == dict(maker(model) for model in MODELS)


def test_scatter_without_intervals_has_points_only_and_weak_ones_are_hollow() -> None:
    frame = scatter_frame().drop(columns=["lower", "upper"])
    frame["strong"] = frame["model"] == "gpt-4-0314"
    fig = drawn(charts.scatter_panels(frame, xlabel="x", ylabel="y"))
    axis = fig.axes[0]
    assert not bars(axis)
    faces = [dot.get_markerfacecolor() for dot in dots(axis)]
    assert faces == [maker("gpt-4-0314")[1], "white", "white"]


POINTS = pd.DataFrame(
    {"panel": ["MT-Bench"] * 4 + ["Arena-Hard"] * 2, "forecast": 0.5, "observed": [0.0, 1, 0, 1, 0, 1]}
)
CURVES = pd.DataFrame(
    {
        "panel": ["MT-Bench", "MT-Bench", "Arena-Hard"],
        "forecast": [0.1, 0.9, 0.5],
        "observed": [0.2, 0.8, 0.5],
        "lower": [0.05, 0.6, 0.25],
        "upper": [0.4, 0.95, 0.75],
    }
)


def reliability_bars(axis: Axes) -> list[list[float]]:
    (collection,) = [c for c in axis.collections if isinstance(c, LineCollection)]
    return [segment.ravel().tolist() for segment in collection.get_segments()]


def test_reliability_draws_the_curve_its_intervals_and_every_pair() -> None:
    fig = drawn(charts.reliability_panels(POINTS, CURVES, xlabel="forecast", ylabel="share"))
    assert [axis.get_title(loc="left") for axis in fig.axes] == ["MT-Bench", "Arena-Hard"]
    first, second = fig.axes
    (curve,) = [line for line in first.lines if line.get_marker() == "o"]
    assert np.column_stack(curve.get_data()).tolist() == [[0.1, 0.2], [0.9, 0.8]]
    assert np.allclose(reliability_bars(first), [[0.1, 0.05, 0.1, 0.4], [0.9, 0.6, 0.9, 0.95]])
    assert np.allclose(reliability_bars(second), [[0.5, 0.25, 0.5, 0.75]])
    for axis, rows in zip(fig.axes, (POINTS[:4], POINTS[4:]), strict=True):
        (cloud,) = [c for c in axis.collections if not isinstance(c, LineCollection)]
        moved = np.abs(cloud.get_offsets() - rows[["forecast", "observed"]].to_numpy())
        assert 0 < moved.max() <= 0.02
        (diagonal,) = [line for line in axis.lines if line.get_linestyle() == "--"]
        assert np.column_stack(diagonal.get_data()).tolist() == [[0, 0], [1, 1]]
    assert (fig.get_supxlabel(), fig.get_supylabel()) == ("forecast", "share")


def test_jitter_is_the_same_in_every_run() -> None:
    one, other = (charts.reliability_panels(POINTS, CURVES, xlabel="", ylabel="") for _ in range(2))
    clouds = [fig.axes[0].collections[0].get_offsets() for fig in (one, other)]
    assert np.array_equal(*clouds)


LINES = pd.DataFrame(
    {
        "panel": ["rate"] * 4 + ["width"] * 2,
        "series": ["a", "a", "b", "b", "a", "a"],
        "x": [1, 2, 1, 2, 1, 2],
        "value": [0.2, 0.3, 0.5, 0.6, 10.0, 5.0],
        "lower": [0.1, 0.2, 0.4, 0.5, 9.0, 4.0],
        "upper": [0.3, 0.4, 0.6, 0.7, 11.0, 6.0],
        "target": [0.25] * 4 + [np.nan] * 2,
    }
)


def test_lines_have_bands_and_a_target_where_there_is_one() -> None:
    labels = {"width": "width (Elo)", "rate": "win rate"}
    fig = drawn(charts.line_panels(LINES, xlabel="votes", ylabels=labels, target="counted"))
    width, rate = fig.axes
    assert [axis.get_ylabel() for axis in fig.axes] == ["width (Elo)", "win rate"]
    assert {axis.get_xlabel() for axis in fig.axes} == {"votes"}
    solid = [line for line in rate.lines if line.get_linestyle() == "-"]
    assert [line.get_ydata().tolist() for line in solid] == [[0.2, 0.3], [0.5, 0.6]]
    assert [line.get_color() for line in solid] == SERIES[:2]
    (target,) = [line for line in rate.lines if line.get_linestyle() == "--"]
    assert list(target.get_ydata()) == [0.25, 0.25]
    assert not [line for line in width.lines if line.get_linestyle() == "--"]
    for axis, bands in ((rate, [(0.1, 0.4), (0.4, 0.7)]), (width, [(4.0, 11.0)])):
        found = [
            (path.vertices[:, 1].min(), path.vertices[:, 1].max())
            for c in axis.collections
            for path in c.get_paths()
        ]
        assert found == bands
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["a", "b", "counted"]


def test_lines_wrap_over_rows_and_hide_the_rest() -> None:
    frame = pd.concat([LINES.assign(panel=LINES["panel"] + str(k)) for k in range(3)])
    labels = {panel: f"quantity {panel}" for panel in dict.fromkeys(frame["panel"])}
    fig = drawn(charts.line_panels(frame, xlabel="n", ylabels=dict(list(labels.items())[:5]), columns=2))
    assert len(fig.axes) == 6
    shown = [axis for axis in fig.axes if axis.get_visible()]
    assert [axis.get_ylabel() for axis in shown] == list(labels.values())[:5]
    tops = [round(axis.get_position().y1, 3) for axis in shown]
    assert tops[0] == tops[1] > tops[2] == tops[3] > tops[4]


def test_lines_on_a_log_axis_with_marks_and_several_targets() -> None:
    frame = LINES[LINES["panel"] == "rate"].assign(
        mark=[1.5, 1.5, np.nan, np.nan], target=[0.2, 0.2, 0.3, 0.3]
    )
    fig = drawn(charts.line_panels(frame, xlabel="n", ylabels={"rate": "r"}, target="goal", xscale="log"))
    (axis,) = fig.axes
    assert axis.get_xscale() == "log"
    assert [line.get_ydata()[0] for line in axis.lines if line.get_linestyle() == "--"] == [0.2, 0.3]
    (mark,) = [line for line in axis.lines if line.get_linestyle() == ":"]
    assert (mark.get_xdata()[0], mark.get_color()) == (1.5, SERIES[0])
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["a", "b", "goal"]


def test_a_series_has_one_colour_in_all_panels() -> None:
    frame = LINES[(LINES["panel"] == "rate") | (LINES["series"] == "a")]
    frame = frame.assign(series=frame["series"].where(frame["panel"] == "rate", "b"))
    fig = drawn(charts.line_panels(frame, xlabel="n", ylabels={"width": "w", "rate": "r"}))
    colours = [[line.get_color() for line in axis.lines if line.get_linestyle() == "-"] for axis in fig.axes]
    assert colours == [[SERIES[1]], SERIES[:2]]


def test_long_lines_have_no_markers() -> None:
    frame = pd.DataFrame({"panel": "p", "series": ["short"] * 40 + ["long"] * 41, "value": 1.0})
    frame["x"] = [*range(40), *range(41)]
    fig = drawn(charts.line_panels(frame, xlabel="day", ylabels={"p": "votes"}))
    assert [line.get_marker() for line in fig.axes[0].lines] == ["o", "None"]


def test_lines_without_ends_have_no_band() -> None:
    frame = LINES.drop(columns=["lower", "upper", "target"])
    fig = drawn(charts.line_panels(frame, xlabel="x", ylabels={"rate": "r"}))
    assert not fig.axes[0].collections
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["a", "b"]


def test_maps_show_the_numbers_on_one_scale_without_the_diagonal() -> None:
    names = [*MODELS, "gemini-pro", "Yi-34B-Chat", "dbrx-instruct"]
    numbers = (np.arange(36).reshape(6, 6) / 36).round(2)
    one = pd.DataFrame(numbers, index=names, columns=names)
    fig = drawn(charts.map_panels({"printed": one, "implied": 1 - one}, label="win rate"))
    panels, bar = fig.axes[:2], fig.axes[2:]
    assert [axis.get_title(loc="left") for axis in panels] == ["printed", "implied"]
    assert [axis.get_ylabel() for axis in bar] == ["win rate"]
    diagonal = np.eye(6, dtype=bool)
    for axis, values in zip(panels, (one, 1 - one), strict=True):
        mesh = axis.collections[0]
        shown = np.ma.asarray(mesh.get_array()).reshape(6, 6)
        assert (np.ma.getmaskarray(shown) == diagonal).all()
        assert np.allclose(shown.data[~diagonal], values.to_numpy()[~diagonal])
        assert mesh.get_clim() == (0, 1)
        assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "", "", "4", "", ""]
    rows = [label.get_text().split() for label in panels[0].get_yticklabels()]
    assert rows == [[name, str(k)] for k, name in enumerate(names, start=1)]
    bottom, top = panels[0].get_ylim()
    assert top < bottom


def test_lines_over_dates_have_dates_on_the_axis() -> None:
    frame = pd.DataFrame({"panel": "p", "series": "s", "value": [1.0, 2.0]})
    frame["x"] = pd.to_datetime(["2023-05-01", "2023-06-01"])
    fig = drawn(charts.line_panels(frame, xlabel="day", ylabels={"p": "votes"}))
    assert "2023-05-01" in [label.get_text() for label in fig.axes[0].get_xticklabels()]


def test_maps_have_scales_of_their_own_and_numbers_in_the_cells() -> None:
    rate = pd.DataFrame([[0.5, 0.25], [0.75, 0.5]], index=MODELS[:2], columns=MODELS[:2])
    count = pd.DataFrame([[0, np.nan], [1234, 0]], index=MODELS[:2], columns=MODELS[:2])
    labels = {"rate": "win rate", "count": "battles"}
    norms, formats = {"count": LogNorm(1, 10_000)}, {"rate": ".2f", "count": ".0f"}
    fig = drawn(charts.map_panels({"rate": rate, "count": count}, label=labels, norms=norms, formats=formats))
    panels, bar_axes = fig.axes[:2], fig.axes[2:]
    assert [axis.get_ylabel() for axis in bar_axes] == list(labels.values())
    assert [axis.collections[0].get_clim() for axis in panels] == [(0, 1), (1, 10_000)]
    assert isinstance(panels[1].collections[0].norm, LogNorm)
    written = [[(text.get_position(), text.get_text()) for text in axis.texts] for axis in panels]
    assert written == [[((1.5, 0.5), "0.25"), ((0.5, 1.5), "0.75")], [((0.5, 1.5), "1234")]]
    assert [label.get_text() for label in panels[0].get_xticklabels()] == ["1", "2"]


@pytest.mark.parametrize(
    "chart",
    [
        lambda: charts.interval_chart(BOARD, xlabel="x"),
        lambda: charts.scatter_panels(scatter_frame(), xlabel="x", ylabel="y"),
        lambda: charts.reliability_panels(POINTS, CURVES, xlabel="x", ylabel="y"),
        lambda: charts.line_panels(LINES, xlabel="x", ylabels={"rate": "r"}),
        lambda: charts.map_panels({"m": pd.DataFrame([[0.0, 1], [0, 0]])}, label="m"),
    ],
)
def test_every_chart_is_in_the_house_style_whatever_was_set_before(chart) -> None:
    mpl.rcParams["font.size"] = 31
    mpl.rcParams["axes.spines.top"] = True
    mpl.rcParams["figure.facecolor"] = "red"
    fig = drawn(chart())
    assert mpl.rcParams["font.size"] == STYLE["font.size"]
    assert to_hex(fig.get_facecolor()) == "#ffffff"
    assert plt.get_fignums() == [fig.number]


def test_a_bin_in_which_everything_came_true_is_drawn():
    curve = metrics.reliability_curve([0.05] * 7, [0.0] * 7).assign(panel="p")
    points = pd.DataFrame({"panel": "p", "forecast": [0.05], "observed": [0.0]})
    charts.reliability_panels(points, curve, xlabel="", ylabel="")


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_map_of_few_models_is_laid_out(size):
    fig7 = published.matrix("rwq_elo_fig7").iloc[:size, :size]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        charts.map_panels({"a": fig7, "b": fig7}, label="x").canvas.draw()


def test_intervals_can_be_drawn_on_a_logarithmic_axis() -> None:
    fig = drawn(charts.interval_chart(TWO, xlabel="points", xscale="log"))
    assert fig.axes[0].get_xscale() == "log"
    assert drawn(charts.interval_chart(TWO, xlabel="points")).axes[0].get_xscale() == "linear"


def test_a_tree_joins_its_leaves_at_their_distance_with_the_first_leaf_on_top() -> None:
    joined = np.array([[0.0, 1.0, 0.25, 2.0], [2.0, 3.0, 0.75, 3.0]])
    fig = charts.tree_chart(joined, ["a", "b", "c"], xlabel="distance", groups_below=0.5)
    (axis,) = fig.axes
    reach = sorted(
        float(path.vertices[:, 0].max())
        for lines in axis.collections
        if isinstance(lines, LineCollection)
        for path in lines.get_paths()
    )
    assert reach == [0.25, 0.75]
    heights = {label.get_text(): label.get_position()[1] for label in axis.get_yticklabels()}
    assert set(heights) == {"a", "b", "c"}
    assert abs(heights["a"] - heights["b"]) < max(abs(heights["c"] - heights[k]) for k in "ab")
    assert axis.yaxis_inverted()
    assert [line.get_xdata()[0] for line in axis.lines] == [0.5]

"""Saving figures and tables: one style, the evidence on each, nothing that changes from run to run."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from cycler import cycler

from rearena import project
from rearena.atomic import write_bytes, write_text
from rearena.reporting.claims import KINDS, Kind
from rearena.reporting.notebooks import digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

# Okabe and Ito's palette: eight colours that remain apart with any common form of colour blindness.
INK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
)
GREY = "#8A8A8A"

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.prop_cycle": cycler(color=[BLUE, RED, GREEN, ORANGE, PURPLE, SKY, INK]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 160,
}

# Who made a model decides its colour, the same in every figure; the first pattern that matches counts.
_MAKERS: tuple[tuple[str, str, str], ...] = (
    (
        r"simpo|starling|vicuna|alpaca|wizard|xwin|zephyr|tulu|athene|snorkel|koala|gpt4all|hermes|openchat",
        "community",
        GREY,
    ),
    (r"gpt-?\d|chatgpt|o1-|davinci", "OpenAI", GREEN),
    (r"claude", "Anthropic", ORANGE),
    (r"gemini|gemma|bard|palm", "Google", BLUE),
    (r"llama", "Meta", SKY),
    (r"mi[sx]tral", "Mistral", RED),
    (r"qwen|yi-|deepseek|glm|internlm", "Qwen, Yi, DeepSeek", PURPLE),
)
_OTHERS = ("others", INK)


def maker(model: str) -> tuple[str, str]:
    """Who made a model, and the colour that stands for them.

    Parameters
    ----------
    model : str
        Name in any of the papers' spellings.

    Returns
    -------
    name, colour : str
        Colour as ``#RRGGBB``.
    """
    for pattern, name, colour in _MAKERS:
        if re.search(pattern, model.lower()):
            return name, colour
    return _OTHERS


def use_style() -> None:
    """Draw in the house style from here on, whatever the user's matplotlib configuration says."""
    mpl.rcdefaults()
    mpl.rcParams.update(cast("Any", STYLE))


def save(fig: Figure, name: str, *, kinds: Sequence[Kind], caption: str) -> Figure:
    """Write a figure as PNG and PDF, with a footer that names its evidence.

    A figure that rests on downloaded data gets ``-released`` or ``-analogous`` at the end of its name, so
    that a run without downloads leaves it as it is.

    Parameters
    ----------
    fig : Figure
    name : str
        Stem of the notebook, or that stem, a hyphen and one or more words.
    kinds : sequence of {"printed", "released", "analogous", "simulated"}
        Every kind of evidence that the figure shows.
    caption : str
        One sentence with the number that the figure shows. Stored in the file for the gallery.

    Returns
    -------
    Figure
        The same, for the notebook to show.

    Raises
    ------
    ValueError
        If the name is not one of a notebook, or no or an unknown kind is given.
    """
    stem, target = _target(name, kinds)
    evidence = " + ".join(kinds)
    for footer in [text for text in fig.texts if text.get_gid() == "evidence"]:
        footer.remove()  # of an earlier save of the same figure
    # Below the axes, outside what constrained layout manages; bbox_inches="tight" takes it in.
    words = f"evidence: {evidence} · {stem}"
    fig.text(0.005, -0.012, words, fontsize=7, color="#555555", va="top", gid="evidence")
    texts = {
        "Title": name,
        "Description": caption,
        "Evidence": evidence,
        "Notebook": stem,
        "Run": digest(project.root() / "notebooks" / f"{stem}.ipynb"),
    }
    for suffix, metadata in (
        (".png", {**texts, "Software": None}),
        (
            ".pdf",
            {"Title": name, "Subject": caption, "CreationDate": None, "Producer": None, "Creator": None},
        ),
    ):
        buffer = io.BytesIO()
        fig.savefig(buffer, format=suffix[1:], bbox_inches="tight", metadata=metadata)
        write_bytes(target.with_name(target.name + suffix), buffer.getvalue())
    plt.close(fig)
    return fig


def save_table(frame: pd.DataFrame, name: str, *, kinds: Sequence[Kind]) -> pd.DataFrame:
    """Write a table as CSV beside the figures, named as :func:`save` names them, and return it.

    Numbers keep seven significant digits: enough for every printed one, and few enough that another machine's
    rounding does not show.

    Parameters
    ----------
    frame : DataFrame
        Written with its index.
    name, kinds
        As for :func:`save`, with the same errors.
    """
    _, target = _target(name, kinds)
    write_text(target.with_name(target.name + ".csv"), frame.to_csv(float_format="%.7g", lineterminator="\n"))
    return frame


def _target(name: str, kinds: Sequence[Kind]) -> tuple[str, Path]:
    """Notebook that a figure or table belongs to, and its path without suffix."""
    if not kinds or any(kind not in KINDS for kind in kinds):
        raise ValueError(
            f"what is saved names its evidence, one or more of {', '.join(KINDS)}; got {list(kinds)}"
        )
    stems = sorted(path.stem for path in (project.root() / "notebooks").glob("*.ipynb"))
    for stem in stems:
        if name == stem or name.startswith(stem + "-"):
            downloaded = [kind for kind in ("released", "analogous") if kind in kinds]
            return stem, project.figures() / "-".join([name, *downloaded])
    raise ValueError(f"{name!r} must begin with the name of its notebook, one of {stems}")

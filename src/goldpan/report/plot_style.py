"""The style of drawings: the same data give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

from goldpan.core.imports import load
from goldpan.core.sanitize import line
from goldpan.evaluation.statistics.scores import StatisticsError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, GOLD, PALE = "#1f1c17", "#5f594f", "#b8830f", "#e6d9b8"
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8830f", "#56b4e9", "#5f594f", "#000000")
"""Told apart by people who see no red or green (Okabe and Ito)."""
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_MOST_OF_A_NAME = 32
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "goldpan",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.parse_math": False,
}
"""Settings that every drawing shares."""
_COMPARED: dict[Any, Any] = {
    **STYLE,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}


@dataclass(slots=True)
class Canvas:
    """A figure to draw on; `svg` holds it once the `with` block has ended."""

    figure: Figure
    svg: str = field(default="")


@contextmanager
def canvas(width: float, height: float) -> Iterator[Canvas]:
    """Open a figure of this size in inches, which becomes SVG at the end."""
    # matplotlib takes long to import, so only those who draw wait for it.
    load("matplotlib", "Drawing", StatisticsError)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_COMPARED):
        plot = Canvas(Figure(figsize=(width, height), layout="constrained"))
        FigureCanvasAgg(plot.figure)
        yield plot
        text = StringIO()
        plot.figure.savefig(
            text,
            format="svg",
            metadata={"Date": None, "Creator": "goldpan"},
            facecolor="white",
        )
        # Without the prolog, which HTML would not take, it is still a whole SVG file.
        plot.svg = text.getvalue()[text.getvalue().index("<svg") :]


def name(text: str) -> str:
    """Return a model's or data set's name as one short visible line."""
    return line(text, _MOST_OF_A_NAME)


def colors(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return a color and a mark a name; both repeat only where there are very many."""
    return {
        text_: (COLORS[at % len(COLORS)], MARKS[(at + at // len(COLORS)) % len(MARKS)])
        for at, text_ in enumerate(names)
    }

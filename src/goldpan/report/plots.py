"""The style of figures, the same bytes for the same data, and funnels as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import UsageError
from goldpan.core.imports import load
from goldpan.core.resources import unwritable
from goldpan.core.sanitize import line
from goldpan.core.storage.workspace import replacing_file
from goldpan.filters.funnel import PLURAL, Funnel
from goldpan.report.distributions import levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, SOFT, GOLD, PALE = "#1f1c17", "#5f594f", "#b8830f", "#e6d9b8"
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8830f", "#56b4e9", "#5f594f", "#000000")
"""Colors that people who see no red or green tell apart (Okabe and Ito)."""
_MOST_OF_A_NAME = 32
_SVG_METADATA: dict[str, Any] = {"Date": None, "Creator": "goldpan"}
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "goldpan",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}
"""Settings that every drawing shares."""


@dataclass(slots=True)
class Canvas:
    """A figure to draw on; `svg` holds it once the `with` block has ended."""

    figure: Figure
    svg: str = field(default="")


@contextmanager
def canvas(width: float, height: float) -> Iterator[Canvas]:
    """Open a figure of this size in inches, which becomes SVG at the end."""
    # matplotlib takes long to import, so it is imported where something is drawn.
    load("matplotlib", "Drawing")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        plot = Canvas(Figure(figsize=(width, height), layout="constrained"))
        FigureCanvasAgg(plot.figure)
        yield plot
        text = StringIO()
        plot.figure.savefig(text, format="svg", metadata=_SVG_METADATA, facecolor="white")
        # Without the prolog, which HTML would not take, it is still a whole SVG file.
        plot.svg = text.getvalue()[text.getvalue().index("<svg") :]


def short_name(text: str, most: int = _MOST_OF_A_NAME) -> str:
    """Return a model's or data set's name as one short visible line."""
    return line(text, most)


_LOST = "#dcd8ce"
_SUFFIXES = (".svg", ".png", ".html")


def plot_funnel(funnels: Sequence[Funnel], path: Path) -> None:
    """Draw funnels below each other as SVG, PNG or HTML, by the suffix of `path`.

    The same funnels give the same bytes. Raises `UsageError` for another suffix,
    `WorkspaceError` where the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(f"--output {path} has no known format", "End it in .svg, .png or .html")
    if suffix == ".html":
        from goldpan.report.html import render, write_page

        write_page(render("funnel_page.html.jinja", title="Goldpan funnel", funnels=funnels), path)
        return
    try:
        with replacing_file(path) as draft:
            _draw(funnels, draft, suffix[1:])
    except OSError as error:
        raise unwritable(path, error) from None


def _draw(funnels: Sequence[Funnel], path: Path, kind: str) -> None:
    shown = [funnel for funnel in funnels if funnel.rows] or list(funnels)
    rows = [len(levels(funnel)) + 1 for funnel in shown]
    with canvas(9.5, sum(0.34 * count + 0.75 for count in rows)) as plot:
        ratios = [count + 1.2 for count in rows]
        axes = plot.figure.subplots(len(shown), squeeze=False, height_ratios=ratios)
        for panel, funnel in zip(axes[:, 0], shown, strict=True):
            _panel(panel, funnel)
        metadata = _SVG_METADATA if kind == "svg" else {"Software": "goldpan"}
        plot.figure.savefig(path, format=kind, dpi=160, metadata=metadata, facecolor="white")


def _panel(axes: Axes, funnel: Funnel) -> None:
    """Draw one funnel: how many entries each criterion leaves, and how many it drops."""
    rows = [("mined", funnel.rows, funnel.rows), *levels(funnel)]
    largest = max(1, funnel.rows)
    for row, (_, before, left) in enumerate(rows):
        axes.barh(row, left, color=GOLD if row else PALE, height=0.78)
        axes.barh(row, before - left, left=left, color=_LOST, height=0.78)
        axes.text(largest * 1.09, row, f"{left:,}", ha="right", va="center", color=INK)
        if before > left:
            loss = f"−{before - left:,}"
            axes.text(largest * 1.19, row, loss, ha="right", va="center", color=SOFT)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], color=INK)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, largest * 1.2)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    title = f"{funnel.rows:,} {PLURAL[funnel.subject]} in, {funnel.kept:,} kept"
    axes.set_title(title, loc="left", color=SOFT, fontsize=11, pad=8)

"""The picture that a comparison begins with: models with their intervals, and who differs."""

from __future__ import annotations

from goldpan.evaluation.compare.result import Comparison
from goldpan.report.comparison.words import beaten, decision_words, rank_range
from goldpan.report.document import Picture
from goldpan.report.plots import COLORS, INK, PALE, SOFT, canvas, short_name

MOST_DRAWN = 40
"""Models in one picture."""
_WIDTH = 21
"""Characters of a line of the picture on a terminal."""


def _span(comparison: Comparison) -> tuple[float, float]:
    shown = comparison.standings[:MOST_DRAWN]
    values = [comparison.shown(standing) for standing in shown]
    values += [end for one in shown for end in (one.low, one.high) if end is not None]
    return min(values), max(values)


def text_picture(comparison: Comparison) -> tuple[str, list[str]]:
    """Return the scale, and a line of characters for each model: ├──●──┤."""
    low, high = _span(comparison)

    def at(value: float) -> int:
        return round((_WIDTH - 1) * (value - low) / (high - low)) if high > low else 0

    lines = []
    for standing in comparison.standings[:MOST_DRAWN]:
        marks = [" "] * _WIDTH
        if standing.low is not None and standing.high is not None:
            start, end = at(standing.low), at(standing.high)
            marks[start : end + 1] = ["─"] * (end + 1 - start)
            marks[start], marks[end] = "├", "┤"
        marks[at(comparison.shown(standing))] = "●"
        lines.append("".join(marks).rstrip())
    left, right = f"{low:.3g}", f"{high:.3g}"
    return f"{left}{right:>{_WIDTH - len(left)}}", lines


def draw(comparison: Comparison) -> Picture:
    """Draw each model's score with its interval, its place, and whom it is better than."""
    standings = comparison.standings[:MOST_DRAWN]
    better = beaten(comparison)
    with canvas(9.5, 0.34 * len(standings) + 1.1) as plot:
        axes = plot.figure.subplots()
        for row, standing in enumerate(standings):
            color = COLORS[(standing.tier - 1) % len(COLORS)]
            if standing.low is not None and standing.high is not None:
                axes.plot([standing.low, standing.high], [row, row], color=color, lw=2, alpha=0.6)
            axes.plot(comparison.shown(standing), row, "o", color=color, ms=6)
            who = better[standing.model]
            word = decision_words(comparison.test)["better"]
            text = f"{rank_range(standing):<6}{f'{word} {who}' if who else ''}"
            axes.text(
                1.02,
                row,
                short_name(text, 60),
                transform=axes.get_yaxis_transform(),
                va="center",
                color=SOFT,
                fontsize=8,
            )
        axes.set_yticks(
            range(len(standings)), [short_name(one.model) for one in standings], color=INK
        )
        axes.set_ylim(len(standings) - 0.5, -0.5)
        axes.grid(axis="x", color=PALE, lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(short_name(comparison.metric))
    title = f"{comparison.metric} of {len(standings)} models, with places and who is better"
    return Picture(title, plot.svg)

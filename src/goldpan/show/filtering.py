"""Shows funnels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:
    from goldpan.filters.criterion import AnyCriterion
    from goldpan.filters.funnel import Funnel, Step
    from goldpan.filters.pipeline import FilterResult

_BAR = 24
_WIDE = 100
_COLUMNS = ("criterion", "out", "undecided", "only", "left", "bar", "most frequent reason")
_NUMBERS = ("out", "undecided", "only", "left")
_PLURAL = {"issue": "issues", "pair": "fix pairs"}


def filtered(found: Sequence[FilterResult]) -> None:
    """Show what filtering kept, with the funnels."""
    console = Terminal()
    for one in found:
        rows = one.issues.rows + one.pairs.rows
        console.print(
            titled(
                one.repo,
                f" by profile {one.profile}: {rows:,} subjects in {one.seconds:.1f} s, "
                f"{len(one.judged)} criteria judged, {len(one.reused)} reused",
            )
        )
        funnel(one.issues)
        funnel(one.pairs)
        if one.pairs.rows and not one.cloned:
            console.print(
                "Some criteria need the history of the code: "
                f"run goldpan clone --repo {one.repo}, then goldpan filter again"
            )


def funnel(found: Funnel) -> None:
    """Show one funnel as a table with bars."""
    console = Terminal(soft_wrap=False)
    console.print(f"\n{_PLURAL[found.subject]}: {found.rows:,} in, {found.kept:,} kept")
    if not found.rows:
        return
    wide = console.width >= _WIDE
    table = Table(box=None, header_style="dim")
    for name in _COLUMNS:
        if name != "bar" or wide:
            table.add_column(
                "" if name == "bar" else name,
                justify="right" if name in _NUMBERS else "left",
                no_wrap=True,
                ratio=1 if name == "most frequent reason" else None,
            )
    for step in found.steps:
        left = "-" if step.left is None else f"{step.left:,}"
        bar = "" if step.left is None else "█" * round(_BAR * step.left / found.rows)
        table.add_row(
            step.criterion,
            f"{step.out:,}",
            f"{step.undecided:,}" if step.undecided else "",
            f"{step.only:,}" if step.decides else "-",
            left,
            *([bar] if wide else []),
            _reason(step),
            style=None if step.decides else "dim",
        )
    console.print(table)


def _reason(step: Step) -> Text:
    if not step.reasons:
        return Text()
    reason, count = max(step.reasons.items(), key=lambda item: (item[1], item[0]))
    return clean(reason) + clean(f" {count:,}")


def criteria(found: Sequence[AnyCriterion], decide: Sequence[str]) -> None:
    """Show what each criterion means and whether it decides."""
    table = Table("criterion", "judges", "decides", "definition", "source", header_style="dim")
    for one in found:
        decides = "yes" if one.name in decide else "no"
        table.add_row(one.name, one.subject, decides, one.definition, one.source)
    Terminal(soft_wrap=False).print(table)

"""Shows what reviews cost and gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from goldpan.core.terminal import Terminal, titled

if TYPE_CHECKING:  # these take long to import
    from goldpan.annotation.agreement import Estimate
    from goldpan.annotation.review.calibration import Calibration
    from goldpan.annotation.review.planner import ReviewEstimate
    from goldpan.annotation.review.reviewer import ReviewResult


def estimate(found: ReviewEstimate) -> None:
    """Show what a review would send and cost."""
    console = Terminal()
    for prompt, count in found.subjects.items():
        console.print(f"{prompt}: {count:,} subjects")
    console.print(
        f"{found.requests:,} requests to send, about {found.input_tokens:,} tokens; "
        f"{found.answered:,} are answered from the archive"
    )
    if found.cost is None:
        console.print("The cost is unknown: give [prices] in the settings file", markup=False)
    else:
        most = "" if found.cost_at_most is None else f", at most {found.cost_at_most:,.2f}"
        console.print(f"Cost: about {found.cost:,.2f}{most}; {found.cost_before:,.2f} before")


def reviewed(found: ReviewResult) -> None:
    """Show the verdicts of a review, and what they cost."""
    console = Terminal()
    table = Table("prompt", "subjects", "keep", "drop", "people", box=None, header_style="dim")
    for prompt, count in found.subjects.items():
        counts = (found.keep, found.drop, found.people)
        table.add_row(prompt, f"{count:,}", *(f"{each.get(prompt, 0):,}" for each in counts))
    console.print(table)
    for reason, count in found.reasons.items():
        console.print(f"  {reason}: {count:,}")
    console.print(
        f"{found.sent:,} requests sent, {found.answered:,} answered from the archive, "
        f"{found.usage.input:,} tokens read and {found.usage.output:,} written, cost "
        f"{found.cost:,.2f} ({found.cost_before:,.2f} before), {found.seconds:.1f} s"
    )
    if not found.complete:
        console.print("Some requests remain: run the same command again")


def calibrated(found: Sequence[Calibration]) -> None:
    """Show how models' verdicts fare beside people's."""
    console = Terminal()
    for one in found:
        console.print(titled(one.criterion, ""))
        table = Table("subjects of", box=None, header_style="dim")
        for name in ("subjects", "precision of keep", "recall of keep", "kappa"):
            table.add_column(name, justify="right")
        for group in one.groups:
            figures = (group.precision, group.recall, group.kappa)
            table.add_row(group.name, f"{group.subjects:,}", *map(_estimate, figures))
        console.print(table)
        whole = one.groups[0].confusion
        for model, counts in whole.items():
            people = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            console.print(f"  model {model}: people {people}")
        console.print(
            f"  {len(one.disagreements):,} disagree; {one.only_model:,} only the model judged, "
            f"{one.only_people:,} only people"
        )


def _estimate(value: Estimate) -> str:
    if value.value is None:
        return "-"
    if value.low is None or value.high is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"

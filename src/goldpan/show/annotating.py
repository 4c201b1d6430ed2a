"""Shows how annotation goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # these take long to import
    from goldpan.annotation.agreement import Agreement, Estimate
    from goldpan.annotation.studio.decisions import Decision
    from goldpan.annotation.studio.progress import AnnotatorProgress, Progress
    from goldpan.annotation.studio.pull import PullResult
    from goldpan.annotation.studio.push import PushResult
    from goldpan.annotation.studio.serve import Running

_MOST = 20


def pushed(found: PushResult) -> None:
    """Show what a push added."""
    console = Terminal()
    console.print(
        f"{found.project}: {found.added:,} subjects added, {found.known:,} already there, "
        f"{found.seconds:.1f} s"
    )
    if found.suggested:
        console.print(f"{found.suggested:,} of them are pre-filled")
    console.print(clean(f"Annotators start at {found.page}"))


def pulled(found: PullResult, decisions: Sequence[Decision]) -> None:
    """Show what a pull brought, and what people decided."""
    console = Terminal()
    console.print(
        f"{found.project}: {found.fetched:,} tasks fetched, {found.answers:,} answers count, "
        f"{found.done:,} of {found.tasks:,} subjects are done, {found.seconds:.1f} s"
    )
    for problem, count in sorted(found.problems.items()):
        console.print(clean(f"  {count:,} do not count: ") + clean(problem))
    for how, count in sorted(Counter(one.how for one in decisions).items()):
        console.print(f"  {how}: {count:,}")
    for name in found.renamed:
        console.print(clean("  renamed: ") + clean(name))
    if found.configuration_changed:
        console.print("  The form was changed on the server")
    if found.gone or found.foreign:
        console.print(
            f"  {found.gone:,} tasks were deleted there, {found.foreign:,} are not Goldpan's"
        )
    for task in found.unreadable[:_MOST]:
        console.print(f"  The server cannot export task {task}: check it there")


def progress(found: Progress) -> None:
    """Show how far a project is."""
    console = Terminal()
    console.print(
        f"{found.project} ({found.form}): {found.finished:,} of {found.subjects:,} subjects "
        f"finished, {found.begun:,} begun, {found.answers:,} of {found.wanted:,} answers"
    )
    if found.deleted:
        console.print(f"{found.deleted:,} more were deleted on the server")
    if found.passed_over:
        console.print(
            f"{found.passed_over:,} were skipped and lack answers: somebody else has to answer them"
        )
    table = Table("annotator", box=None, header_style="dim")
    for name in ("answers", "skipped", "other", "doubts", "seconds per task"):
        table.add_column(name, justify="right")
    for one in found.annotators:
        pace = "-" if one.seconds is None else f"{one.seconds:.0f}"
        counts = (one.answers, one.skipped, one.other, one.doubts)
        table.add_row(clean(one.annotator), *(f"{count:,}" for count in counts), pace)
    console.print(table)
    _filled_in(console, found.annotators)
    if found.work_left is not None:
        console.print(f"Left: {found.work_left} of one person's work")
    if found.ends_at is not None:
        console.print(f"At this pace it will be finished on {found.ends_at:%Y-%m-%d}")
    console.print(clean(f"Annotators start at {found.page}"))


def agreements(
    found: Sequence[Agreement], beside: Agreement | None, annotators: Sequence[AnnotatorProgress]
) -> None:
    """Show how far people agree on each field, and what they decided with the dataset."""
    console = Terminal()
    _filled_in(console, annotators)
    for one in (*found, beside) if beside else found:
        console.print(titled(one.field, ""))
        if one is not beside:
            console.print(f"  {one.items:,} rated by two or more, {one.single:,} by one alone")
        console.print(f"  raw agreement {_estimate(one.raw)}")
        for pair in one.pairs:
            console.print(
                clean("  Cohen's kappa ")
                + clean(" and ".join(pair.raters))
                + clean(f": {_estimate(pair.kappa)} on {pair.items:,}")
            )
        console.print(f"  Fleiss' kappa {_estimate(one.fleiss)} on {one.fleiss_items:,}")
        console.print(f"  Krippendorff's alpha {_estimate(one.alpha)}")
        for category in one.categories:
            console.print(
                clean("    ")
                + clean(category.category)
                + clean(f": chosen {category.chosen:,}, alpha {_estimate(category.alpha)}")
            )
        for item in one.disagreements[:_MOST]:
            answers = "; ".join(f"{who}: {', '.join(said)}" for who, said in item.labels.items())
            console.print(clean("  differ on ") + clean(f"{item.item} ({answers})"))
        if len(one.disagreements) > _MOST:
            console.print(f"  and {len(one.disagreements) - _MOST:,} more: see --json")


def _filled_in(console: Terminal, annotators: Sequence[AnnotatorProgress]) -> None:
    """Say how often people left what was filled in: agreement of such answers is no proof."""
    if not any(one.filled_in for one in annotators):
        return
    console.print("Not blind: people who see the same suggestion agree more than they would")
    for one in annotators:
        if one.filled_in:
            share = one.accepted / one.filled_in
            told = f" left {one.accepted:,} of {one.filled_in:,} suggestions as they were"
            console.print(clean("  ") + clean(one.annotator) + clean(f"{told} ({share:.0%})"))


def running(found: Running) -> None:
    """Show where a server runs and who may log in."""
    console = Terminal()
    console.print(titled("Label Studio", f" runs at {found.server.url} until Ctrl-C"))
    for account in found.accounts:
        console.print(clean(f"  {account.address}  password {account.password}"))
    console.print("goldpan annotate push and pull find it automatically, with the same --workspace")


def _estimate(value: Estimate) -> str:
    if value.value is None:
        return "not defined"
    if value.low is None or value.high is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"

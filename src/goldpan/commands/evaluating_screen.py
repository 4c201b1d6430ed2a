"""What the commands for evaluation show on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from goldpan.commands.runs_screen import print_ran
from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # these take long to import
    from goldpan.core.proportions import Estimate as Interval
    from goldpan.datasets.gold import GoldScore
    from goldpan.evaluation.lengths import Third
    from goldpan.evaluation.models.catalogue import Entry
    from goldpan.evaluation.protocol import Protocol
    from goldpan.evaluation.run import RunResult
    from goldpan.evaluation.runs import Run
    from goldpan.llm.budget import Estimate


def print_scores(scores: Sequence[GoldScore]) -> None:
    """Show how the rows of a dataset fare against gold sets."""
    console = Terminal()
    for score in scores:
        part = f", half {score.half}" if score.half else ""
        console.print(
            titled(score.gold, f"{part}: {score.labelled:,} of {score.rows:,} rows are labelled")
        )
        counts = ", ".join(f"{label} {count:,}" for label, count in score.labels.items())
        console.print(clean(f"  {score.kind}: {counts}"))
        console.print(f"  right: {_share(score.right)}")
        console.print(f"  right at least in part: {_share(score.at_least_partly)}")
        console.print(
            f"  of {score.there:,} issues that have one, kept: {_share(score.kept)}",
        )


def _share(estimate: Interval) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "cannot be told"
    return f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]"


def print_estimate(task: str, model: str, seed: int, estimate: Estimate | None) -> None:
    """Show what a run would cost."""
    console = Terminal()
    text = f"{task} by {model}, seed {seed}: "
    if estimate is None:
        console.print(f"{text}it costs no money")
        return
    console.print(
        f"{text}{estimate.requests:,} requests to send, about {estimate.input_tokens:,} tokens; "
        f"{estimate.answered:,} are answered already"
    )
    console.print(clean(f"  They go to {estimate.host}, with OPENAI_API_KEY if that is set"))
    if estimate.cost is None:
        console.print("  The cost is unknown: give --set prices=FILE")
    else:
        most = "" if estimate.cost_at_most is None else f", at most {estimate.cost_at_most:,.2f}"
        console.print(
            f"  Cost: about {estimate.cost:,.2f}{most}; {estimate.cost_before:,.2f} before"
        )


def print_lengths(measured: Iterable[tuple[Run, Sequence[Third]]]) -> None:
    """Show how scores change with the length of the input."""
    console = Terminal()
    table = Table("run", "inputs", "characters", "examples", box=None, header_style="dim")
    table.add_column("score", justify="right")
    for run, thirds in measured:
        name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
        for index, third in enumerate(thirds):
            value = third.scores.value(third.scores.main)
            table.add_row(
                "" if index else name,
                third.name,
                f"{third.shortest:,} to {third.longest:,}",
                f"{third.scores.examples:,}",
                "not defined" if value is None else f"{value:.4f}",
            )
    console.print(table)


def print_all_ran(results: Iterable[RunResult]) -> None:
    """Show the scores of several runs."""
    for result in results:
        print_ran(result)


def print_models(entries: Iterable[Entry]) -> None:
    """List models."""
    table = Table("model", "", box=None, header_style="dim")
    for entry in entries:
        table.add_row(entry.name, entry.about)
    Terminal(soft_wrap=False).print(table)


def print_protocols(protocols: Iterable[Protocol]) -> None:
    """List protocols with their defects."""
    console = Terminal()
    for protocol in protocols:
        console.print(f"{protocol.name}: {protocol.title}")
        console.print(f"  {protocol.source}")
        for defect in protocol.defects:
            console.print(f"  - {defect}")

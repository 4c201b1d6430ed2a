"""Shows what runs scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from goldpan.core.sanitize import line
from goldpan.core.terminal import Terminal

if TYPE_CHECKING:  # these take long to import
    from goldpan.evaluation.lengths import Third
    from goldpan.evaluation.models.catalogue import Entry
    from goldpan.evaluation.protocol import Protocol
    from goldpan.evaluation.run import RunResult
    from goldpan.evaluation.runs import Run
    from goldpan.llm.budget import Estimate

_METRICS = 6
"""How many metrics beside the main one are shown."""
_ANSWERS = 5
"""How many answers that are not valid are shown."""


def ran(done: RunResult) -> None:
    """Show the scores of a run and where it lies."""
    console = Terminal()
    record = done.record
    scores = record.scores
    console.print(
        f"\n{record.task} by {record.model}, seed {record.seed}, "
        f"protocol {record.protocol.name}"
        + (f", without {record.settings['ablate']}" if "ablate" in record.settings else "")
        + (" (was run before)" if done.again else "")
    )
    metrics = [each for each in scores.metrics if each.label is None]
    metrics.sort(key=lambda each: each.name != scores.main)
    for metric in metrics[: _METRICS + 1]:
        value, interval = metric.value, metric.interval
        told = f"not defined ({metric.reason})" if value is None else f"{value:.4f}"
        if interval is not None:
            told += f" [{interval.low:.4f}, {interval.high:.4f}]"
        console.print(f"  {metric.name}: {told}")
    invalid = f", {scores.invalid:,} answers not valid" if scores.invalid else ""
    console.print(
        f"  {scores.examples:,} examples{invalid}; "
        f"{record.costs.wall_seconds:.1f} s; {done.directory}"
    )
    costs, answers = record.costs, record.answers
    if costs.input_tokens:
        money = f", cost {costs.money:,.2f}" if costs.money else ""
        console.print(
            f"  {costs.input_tokens:,} tokens read and {costs.output_tokens:,} written{money}"
        )
    if answers.notes:
        notes = ", ".join(f"{name} {count:,}" for name, count in answers.notes.items())
        console.print(f"  answers: {notes}")
    for answer in answers.invalid[:_ANSWERS]:
        if answer.raw:
            console.print(f"  not valid, {answer.count:,} times: {line(answer.raw)}")


def estimate(task: str, model: str, seed: int, found: Estimate | None) -> None:
    """Show what a run would cost."""
    console = Terminal()
    told = f"{task} by {model}, seed {seed}: "
    if found is None:
        console.print(f"{told}it costs no money")
        return
    console.print(
        f"{told}{found.requests:,} requests to send, about {found.input_tokens:,} tokens; "
        f"{found.answered:,} are answered already"
    )
    if found.cost is None:
        console.print("  The cost is unknown: give --set prices=FILE")
    else:
        most = "" if found.cost_at_most is None else f", at most {found.cost_at_most:,.2f}"
        console.print(f"  Cost: about {found.cost:,.2f}{most}; {found.cost_before:,.2f} before")


def lengths(found: Iterable[tuple[Run, Sequence[Third]]]) -> None:
    """Show how scores change with the length of the input."""
    console = Terminal()
    table = Table("run", "inputs", "characters", "examples", box=None, header_style="dim")
    table.add_column("score", justify="right")
    for run, thirds in found:
        name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
        for place, third in enumerate(thirds):
            value = third.scores.value(third.scores.main)
            table.add_row(
                "" if place else name,
                third.name,
                f"{third.shortest:,} to {third.longest:,}",
                f"{third.scores.examples:,}",
                "not defined" if value is None else f"{value:.4f}",
            )
    console.print(table)


def all_ran(done: Iterable[RunResult]) -> None:
    """Show the scores of several runs."""
    for each in done:
        ran(each)


def models(entries: Iterable[Entry]) -> None:
    """List models."""
    table = Table("model", "", box=None, header_style="dim")
    for entry in entries:
        table.add_row(entry.name, entry.about)
    Terminal(soft_wrap=False).print(table)


def protocols(known: Iterable[Protocol]) -> None:
    """List protocols with their defects."""
    console = Terminal()
    for protocol in known:
        console.print(f"{protocol.name}: {protocol.title}")
        console.print(f"  {protocol.source}")
        for defect in protocol.defects:
            console.print(f"  - {defect}")

"""What people see of models, runs and labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldpan.core.result import Block, Line, Table, renders
from goldpan.evaluation.label_errors import LabelErrors
from goldpan.evaluation.lengths import LengthScores
from goldpan.evaluation.model import ModelEntry
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.record import run_blocks
from goldpan.evaluation.resolved import ResolvedResult
from goldpan.evaluation.run import RunResult
from goldpan.execution.resolve import EXPLAINED


@renders(list[ModelEntry])
def models(results: Sequence[ModelEntry]) -> Iterator[Block]:
    """Yield one table."""
    yield Table(("model", ""), [(entry.name, entry.about) for entry in results])


@renders(Protocol)
def protocol(result: Protocol) -> Iterator[Block]:
    """Yield its source and its defects."""
    yield Line(f"{result.name}: {result.title}")
    yield Line(f"  {result.source}")
    yield from (Line(f"  - {defect}") for defect in result.defects)


@renders(ResolvedResult)
def resolved(result: ResolvedResult) -> Iterator[Block]:
    """Yield how many issues are resolved, and what similarity says of the same patches."""
    share, count = result.resolved, result.counts.get("resolved", 0)
    if share.value is not None:
        yield Line(
            f"{count:,} of {len(result.resolutions):,} issues are resolved, {share.value:.1%} "
            f"[{share.low:.1%}, {share.high:.1%}]"
        )
    yield Table(
        ("outcome", "rows", "meaning"),
        [(outcome, rows, EXPLAINED[outcome]) for outcome, rows in result.counts.items()],
    )
    if undone := sum(bool(resolution.restored) for resolution in result.resolutions):
        yield Line(
            f"{undone:,} patches change tests or what configures them, which was undone (--json)"
        )
    for name, similarity in (("resolve", result.right), ("do not", result.wrong)):
        if similarity.codebleu is not None:
            yield Line(
                f"Of {similarity.patches:,} patches that {name}, CodeBLEU is "
                f"{similarity.codebleu:.3f}, {similarity.exact:,} equal the merged fix"
            )
    if result.separation is not None:
        yield Line(
            "CodeBLEU puts a patch that resolves its issue above one that does not in "
            f"{result.separation:.0%} of pairs (50% is guessing)"
        )


@renders(LabelErrors)
def suspects(result: LabelErrors) -> Iterator[Block]:
    """Yield which labels are suspect."""
    yield Line(
        f"{result.task}: {result.suspects:,} of {result.rows:,} rows are suspect; out of fold, "
        f"{result.right_out_of_fold:.1%} of the decisions are as the labels say"
    )
    for row in result.ranked:
        stated, rather = (" and ".join(names) or "none" for names in (row.given, row.suggested))
        mark = "" if row.suspect else " (not suspect)"
        yield Line(f"  {row.id}: {stated}, rather {rather}; margin {row.margin:+.2f}{mark}")
        yield Line(f"    {row.text}")


@renders(RunResult)
def finished(result: RunResult) -> Iterator[Block]:
    """Yield its scores; what makes them worth less comes first."""
    return run_blocks(result.record, result.directory, again=result.again)


@renders(list[LengthScores])
def lengths(results: Sequence[LengthScores]) -> Iterator[Block]:
    """Yield how scores change with the length of the input."""
    cells = []
    for result in results:
        run = result.run
        name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
        for index, third in enumerate(result.thirds):
            value = third.scores.value(third.scores.main)
            cells.append(
                (
                    "" if index else name,
                    third.name,
                    f"{third.shortest:,} to {third.longest:,}",
                    third.scores.examples,
                    "not defined" if value is None else f"{value:.4f}",
                )
            )
    yield Table(("run", "inputs", "characters", "examples", "score"), cells)

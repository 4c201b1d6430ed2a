"""Results of the operations of annotation, and their output for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.annotation.agreement import Agreement
from goldpan.annotation.studio.decisions import CollectedAnswers
from goldpan.annotation.studio.gold import GoldSet
from goldpan.annotation.studio.progress import AnnotatorProgress, Progress
from goldpan.annotation.studio.pull import PullResult
from goldpan.annotation.studio.push import PushResult
from goldpan.annotation.studio.serve import Running
from goldpan.annotation.studio.summary import Summary
from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.filters.basis import Basis, basis_blocks

_MOST = 20
_UNDEFINED = "not defined"


@dataclass(frozen=True, slots=True)
class Pushed(Result):
    """The subjects that a push added, and the basis of its suggestions."""

    push: PushResult
    basis: tuple[Basis, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the counts."""
        return {**asdict(self.push), "basis": [asdict(basis) for basis in self.basis]}

    def blocks(self) -> Iterator[Block]:
        """Yield how many subjects are new, and where annotators start."""
        push = self.push
        counts = f"{push.added:,} subjects added, {push.known:,} already there"
        yield Line(f"{push.project}: {counts}, {push.seconds:.1f} s")
        if push.suggested:
            yield Line(f"{push.suggested:,} of them are pre-filled")
        yield from basis_blocks(self.basis)
        yield Line(f"Annotators start at {push.page}")


@dataclass(frozen=True, slots=True)
class Pulled(Result):
    """The answers fetched of a project and its adjudications, and the decisions they make."""

    project: str
    collected: CollectedAnswers

    @property
    def exit_code(self) -> int:
        """3 where the server could not export a task."""
        return 3 if self.collected.unreadable else 0

    def plain(self) -> dict[str, Any]:
        """Return the counts of the project, its adjudications and the decisions."""
        collected = self.collected
        return {
            **asdict(collected.original),
            "adjudications": [asdict(pulled) for pulled in collected.adjudications],
            "decisions": collected.counts,
        }

    def blocks(self) -> Iterator[Block]:
        """Yield what each project brought, and how subjects were decided."""
        collected = self.collected
        if self.project != collected.original.project:
            original = collected.original.project
            yield Line(f"{self.project} adjudicates {original}: both are pulled")
        for pulled in (collected.original, *collected.adjudications):
            yield from _pulled(pulled)
        yield from (Line(f"{how}: {count:,}") for how, count in collected.counts.items())


def _pulled(result: PullResult) -> Iterator[Block]:
    yield Line(
        f"{result.project}: {result.fetched:,} tasks fetched, {result.answers:,} answers count, "
        f"{result.done:,} of {result.tasks:,} subjects are done, {result.seconds:.1f} s"
    )
    for problem, count in sorted(result.problems.items()):
        yield Line(f"  {count:,} do not count: {problem}")
    yield from (Line(f"  renamed: {name}") for name in result.renamed)
    if result.configuration_changed:
        yield Line("  The form was changed on the server")
    if result.gone or result.foreign:
        foreign = f"{result.foreign:,} are not Goldpan's"
        yield Line(f"  {result.gone:,} tasks were deleted there, {foreign}")
    for task in result.unreadable[:_MOST]:
        yield Line(f"  The server cannot export task {task}: check it there")


@dataclass(frozen=True, slots=True)
class ProjectStatus(Result):
    """The progress of a project."""

    progress: Progress

    def plain(self) -> dict[str, Any]:
        """Return the counts, by annotator too."""
        return asdict(self.progress)

    def blocks(self) -> Iterator[Block]:
        """Yield progress, by annotator too, and when it is likely to end."""
        progress = self.progress
        yield Line(
            f"{progress.project} ({progress.form}): {progress.finished:,} of "
            f"{progress.subjects:,} subjects finished, {progress.begun:,} begun, "
            f"{progress.answers:,} of {progress.wanted:,} answers"
        )
        if progress.deleted:
            yield Line(f"{progress.deleted:,} more were deleted on the server")
        if progress.passed_over:
            yield Line(
                f"{progress.passed_over:,} were skipped and have no answers: somebody else has to "
                "answer them"
            )
        cells = [
            (
                one.annotator,
                one.answers,
                one.skipped,
                one.other,
                one.doubts,
                "-" if one.seconds is None else f"{one.seconds:.0f}",
            )
            for one in progress.annotators
        ]
        columns = ("annotator", "answers", "skipped", "other", "doubts", "seconds per task")
        yield Table(columns, cells)
        yield from _filled_in(progress.annotators)
        if progress.work_left is not None:
            yield Line(f"Left: {progress.work_left} of one person's work")
        if progress.ends_at is not None:
            yield Line(f"At this pace it will be finished on {progress.ends_at:%Y-%m-%d}")
        yield Line(f"Annotators start at {progress.page}")


@dataclass(frozen=True, slots=True)
class Agreements(Result):
    """The agreement of people on each field, and with the dataset's labels."""

    fields: tuple[Agreement, ...]
    dataset: Agreement | None
    annotators: tuple[AnnotatorProgress, ...]

    def plain(self) -> dict[str, Any]:
        """Return the agreement on each field."""
        return {
            "fields": [asdict(agreement) for agreement in self.fields],
            "dataset": asdict(self.dataset) if self.dataset else None,
            "filled_in": sum(annotator.filled_in for annotator in self.annotators),
            "accepted": sum(annotator.accepted for annotator in self.annotators),
        }

    def blocks(self) -> Iterator[Block]:
        """Yield raw agreement, kappa and alpha of each field, and the conflicts."""
        yield from _filled_in(self.annotators)
        for field in (*self.fields, *([self.dataset] if self.dataset else [])):
            yield Title(field.field)
            if field is not self.dataset:
                rated = f"{field.items:,} rated by two or more, {field.single:,} by one alone"
                yield Line(f"  {rated}")
            yield Line(f"  raw agreement {field.raw.shown('not defined')}")
            for pair in field.pairs:
                kappa = f"{pair.kappa.shown('not defined')} on {pair.items:,}"
                yield Line(f"  Cohen's kappa {' and '.join(pair.raters)}: {kappa}")
            yield Line(
                f"  Fleiss' kappa {field.fleiss.shown('not defined')} on {field.fleiss_items:,}"
            )
            yield Line(f"  Krippendorff's alpha {field.alpha.shown('not defined')}")
            for category in field.categories:
                alpha = category.alpha.shown(_UNDEFINED)
                yield Line(f"    {category.category}: chosen {category.chosen:,}, alpha {alpha}")
            for item in field.disagreements[:_MOST]:
                answers = "; ".join(
                    f"{who}: {', '.join(values)}" for who, values in item.labels.items()
                )
                yield Line(f"  differ on {item.item} ({answers})")
            if len(field.disagreements) > _MOST:
                yield Line(f"  and {len(field.disagreements) - _MOST:,} more: see --json")


@dataclass(frozen=True, slots=True)
class AnnotationExport(Result):
    """Files for a paper: a summary of rounds of annotation, or a gold set."""

    summary: Summary | None
    files: tuple[Path, ...]
    gold: GoldSet | None
    gold_file: Path | None
    labels: Mapping[str, int]

    def plain(self) -> dict[str, Any]:
        """Return the rounds and the labels of the gold set."""
        value: dict[str, Any] = {}
        if self.summary is not None:
            value["files"] = [str(path) for path in self.files]
            value["rounds"] = [
                {
                    "project": annotated.project,
                    "items": annotated.items,
                    "agreed": annotated.agreed,
                    "adjudicated": len(annotated.adjudicated),
                    "conflicts": len(annotated.conflicts),
                }
                for annotated in self.summary.rounds
            ]
        if self.gold is not None:
            value["gold"] = str(self.gold_file)
            value |= {"labels": dict(self.labels), "undecided": self.gold.undecided}
        return value

    def blocks(self) -> Iterator[Block]:
        """Yield a line a round, and what the gold set holds."""
        if self.summary is not None:
            for annotated in self.summary.rounds:
                yield Line(
                    f"{annotated.project}: {annotated.items:,} items, {annotated.agreed:,} agreed, "
                    f"{len(annotated.adjudicated):,} adjudicated, "
                    f"{len(annotated.conflicts):,} open conflicts"
                )
            yield Line(f"Wrote {' and '.join(map(str, self.files))}")
        if self.gold is not None:
            counts = ", ".join(f"{label} {count:,}" for label, count in self.labels.items())
            yield Line(f"{self.gold_file}: {len(self.gold.items):,} items ({counts})")
            if self.gold.undecided:
                undecided = f"{self.gold.undecided:,} more are not decided"
                yield Line(f"{undecided}: adjudicate them, then pull")


def running_blocks(running: Running) -> Iterator[Block]:
    """Yield where a server runs and who may log in."""
    yield Title("Label Studio", f" runs at {running.server.url} until Ctrl-C")
    for account in running.accounts:
        yield Line(f"  {account.address}  password {account.password}")
    yield Line("goldpan annotate push and pull find it automatically, with the same --workspace")


def _filled_in(annotators: Sequence[AnnotatorProgress]) -> Iterator[Block]:
    """Yield how often people left what was filled in: agreement of such answers is no proof."""
    if not any(annotator.filled_in for annotator in annotators):
        return
    yield Line("Not blind: people who see the same suggestion agree more than they would")
    for one in annotators:
        if one.filled_in:
            share = f"{one.accepted / one.filled_in:.0%}"
            left = f"left {one.accepted:,} of {one.filled_in:,} suggestions as they were"
            yield Line(f"  {one.annotator} {left} ({share})")

"""What people see of annotation and of reviews by models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldpan.annotation.agreement import Agreement
from goldpan.annotation.review.calibration import Calibration
from goldpan.annotation.review.run import ReviewResult
from goldpan.annotation.studio.gold import Agreements, GoldExport
from goldpan.annotation.studio.pull import CollectedAnswers, PullResult
from goldpan.annotation.studio.push import PushResult
from goldpan.annotation.studio.serve import Running
from goldpan.annotation.studio.summary import AnnotationReport, Progress
from goldpan.core.proportions import Estimate
from goldpan.core.result import Block, Line, Table, Title, count, renders
from goldpan.filters.basis import basis_sentences
from goldpan.renderers.llm import requests_and_cost

_MOST = 20
_MOST_FAILURES = 5


@renders(PushResult)
def _pushed(result: PushResult) -> Iterator[Block]:
    counts = f"{count(result.added, 'subject')} added, {result.known:,} already there"
    yield Line(f"{result.project}: {counts}, {result.seconds:.1f} s")
    yield Line(f"Annotators start at {result.page}")


@renders(CollectedAnswers)
def _collected(result: CollectedAnswers) -> Iterator[Block]:
    original = result.pulls[0].project
    if result.project != original:
        yield Line(f"{result.project} adjudicates {original}: both are pulled")
    for each in result.pulls:
        yield from _pulled(each)
    yield from (Line(f"{how}: {number:,}") for how, number in result.decisions.items())


def _pulled(result: PullResult) -> Iterator[Line]:
    yield Line(
        f"{result.project}: {count(result.fetched, 'task')} fetched, "
        f"{count(result.answers, 'answer')} {'counts' if result.answers == 1 else 'count'}, "
        f"{result.done:,} of {count(result.tasks, 'subject')} are done, {result.seconds:.1f} s"
    )
    for problem, number in result.problems.items():
        yield Line(f"  {number:,} do not count: {problem}")
    if result.configuration_changed:
        yield Line("  The form was changed on the server")
    if result.foreign:
        yield Line(f"  Tasks on the server that Goldpan did not push: {result.foreign:,}")


@renders(Progress)
def _progressed(result: Progress) -> Iterator[Block]:
    yield Line(
        f"{result.project} ({result.form}): {result.finished:,} of "
        f"{count(result.subjects, 'subject')} finished, {result.begun:,} begun, "
        f"{result.answers:,} of {count(result.wanted, 'answer')}"
    )
    if result.pulled_at is not None:
        yield Line(
            f"As of the pull of {result.pulled_at:%Y-%m-%d %H:%M} UTC: "
            f"goldpan annotate pull --project {result.project} fetches newer answers"
        )
    if result.passed_over:
        yield Line(f"Skipped, and needing another annotator: {result.passed_over:,}")
    yield Table(
        ("annotator", "answers", "skipped", "other", "doubts", "seconds per task"),
        [
            (
                *(own.annotator, own.answers, own.skipped, own.other, own.doubts),
                "-" if own.seconds is None else f"{own.seconds:.0f}",
            )
            for own in result.annotators
        ],
    )
    yield Line(f"Annotators start at {result.page}")


@renders(Agreements)
def _agreed(result: Agreements) -> Iterator[Block]:
    for field in result.fields:
        rated = f"{field.items:,} rated by two or more people, {field.single:,} by one"
        yield from _agreement(field, Line(f"  {rated}"))
    if result.dataset is not None:
        yield from _agreement(result.dataset)


def _agreement(field: Agreement, *rated: Line) -> Iterator[Block]:
    yield Title(field.field)
    yield from rated
    yield Line(f"  raw agreement {_shown(field.raw)}")
    for pair in field.pairs:
        kappa = f"{_shown(pair.kappa)} on {pair.items:,}"
        yield Line(f"  Cohen's kappa {' and '.join(pair.raters)}: {kappa}")
    yield Line(f"  Krippendorff's alpha {_shown(field.alpha)}")
    for category in field.categories:
        alpha = _shown(category.alpha)
        yield Line(f"    {category.category}: chosen {category.chosen:,}, alpha {alpha}")
    for item, labels in [*field.disagreements.items()][:_MOST]:
        answers = "; ".join(f"{who}: {', '.join(values)}" for who, values in labels.items())
        yield Line(f"  differ on {item} ({answers})")
    if len(field.disagreements) > _MOST:
        yield Line(f"  and {len(field.disagreements) - _MOST:,} more: see --json")


def _shown(estimate: Estimate) -> str:
    return estimate.shown("not defined")


@renders(GoldExport)
def _exported(result: GoldExport) -> Iterator[Block]:
    counts = ", ".join(f"{label} {number:,}" for label, number in result.labels.items())
    yield Line(f"{result.gold}: {count(result.items, 'item')} ({counts})")
    if result.undecided:
        yield Line(f"Not decided yet: {result.undecided:,}. Adjudicate them, then pull")


@renders(AnnotationReport)
def _reported(result: AnnotationReport) -> Iterator[Block]:
    for each in result.rounds:
        yield Line(
            f"{each.project}: {count(each.progress.subjects, 'item')}, {each.agreed:,} agreed, "
            f"{each.adjudicated:,} adjudicated, {count(each.conflicts, 'open conflict')}"
        )
    yield Line(f"Wrote {' and '.join(map(str, result.files))}")


@renders(Running)
def _running(result: Running) -> Iterator[Block]:
    yield Title("Label Studio", f" runs at {result.address} until Ctrl-C")
    yield Line(f"  annotators sign up, once, at {result.invitation}")
    yield Line(f"  {result.owner.address}  password {result.owner.password}")
    if result.exposed:
        yield Line(
            "Anyone who can reach this address sees the sign-in page, and anyone with the link all "
            "projects; passwords and texts are not encrypted. Use a network that you trust"
        )
    yield Line("goldpan annotate push and pull find it automatically, with the same --workspace")


@renders(ReviewResult)
def _reviewed(result: ReviewResult) -> Iterator[Block]:
    yield from _planned(result) if result.dry_run else _judged(result)
    yield from map(Line, basis_sentences(result.basis))
    if not result.dry_run and not result.complete:
        yield Line(
            "Some requests got no answer: check --base-url, --model and the settings, then run "
            "the same command again"
            if result.failed
            else "Some requests remain: run the same command again"
        )


def _planned(result: ReviewResult) -> Iterator[Block]:
    for prompt, number in result.subjects.items():
        yield Line(f"{prompt}: {count(number, 'subject')}")
    yield from requests_and_cost(result.estimate, prices="[prices] in the settings file")


def _judged(result: ReviewResult) -> Iterator[Block]:
    counts = (result.subjects, result.keep, result.drop, result.people)
    yield Table(
        ("prompt", "subjects", "keep", "drop", "people"),
        [
            (prompt, *(by_prompt.get(prompt, 0) for by_prompt in counts))
            for prompt in result.subjects
        ],
    )
    yield from (Line(f"  {reason}: {number:,}") for reason, number in result.reasons.items())
    for words, number in [*result.failed.items()][:_MOST_FAILURES]:
        yield Line(f"  no answer, {count(number, 'time')}: {words}")
    usage, before = result.usage, result.estimate
    estimated = " (estimated: the endpoint reports none)" if usage.estimated else ""
    yield Line(
        f"{count(result.sent, 'request')} sent, {before.answered:,} answered from the archive, "
        f"{usage.input:,} input and {usage.output:,} output tokens{estimated}, cost "
        f"{result.cost:,.2f} ({before.cost_before:,.2f} before), {result.seconds:.1f} s"
    )


@renders(Calibration)
def _calibrated(result: Calibration) -> Iterator[Block]:
    yield Title(result.criterion)
    yield Table(
        ("subjects", "precision of keep", "recall of keep", "kappa"),
        [(result.subjects, *map(Estimate.shown, (result.precision, result.recall, result.kappa)))],
    )
    for model, counts in result.confusion.items():
        people = ", ".join(f"{name} {number:,}" for name, number in counts.items())
        yield Line(f"  model {model}: people {people}")
    all_kept, kept = result.without_model.short() or "-", result.precision.short() or "-"
    yield Line(f"  People keep {all_kept} of all subjects, {kept} of those that the model keeps:")
    yield Line(f"  {'the model helps' if result.helps else 'nothing shows that the model helps'}")
    yield Line(f"  It leaves {result.undecided.short()} of the subjects to people")
    yield Line(
        f"  They disagree on {len(result.disagreements):,}; judged by the model alone: "
        f"{result.only_model:,}, by people alone: {result.only_people:,}"
    )


@renders(list[Calibration])
def _calibrations(results: Sequence[Calibration]) -> Iterator[Block]:
    for result in results:
        yield from _calibrated(result)
    yield from map(Line, basis_sentences(results[0].basis))

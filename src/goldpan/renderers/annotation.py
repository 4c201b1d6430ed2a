"""What people see of annotation and of reviews by models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from goldpan.annotation.review.calibration import Calibration
from goldpan.annotation.review.run import ReviewResult
from goldpan.annotation.studio.answers import Progress
from goldpan.annotation.studio.gold import Agreements, GoldExport
from goldpan.annotation.studio.pull import CollectedAnswers
from goldpan.annotation.studio.push import PushResult
from goldpan.annotation.studio.serve import Running
from goldpan.annotation.studio.summary import AnnotationReport
from goldpan.core.result import Hint, Piece, Table, Title, count, counts_text, renders, table_of
from goldpan.filters.basis import basis_sentences
from goldpan.renderers.llm import requests_and_cost

_MOST = 20
_MOST_FAILURES = 5


@renders(PushResult)
def _pushed(result: PushResult) -> Iterator[Piece]:
    counts = f"{count(result.added, 'subject')} added, {result.known:,} already there"
    yield f"{result.project}: {counts}, {result.seconds:.1f} s"
    yield result.removed and f"Removed duplicates: {count(result.removed, 'task')}"
    yield f"Annotators start at {result.page}"


@renders(CollectedAnswers)
def _collected(result: CollectedAnswers) -> Iterator[Piece]:
    if result.project != result.pulls[0].progress.project:
        yield f"{result.project} adjudicates {result.pulls[0].progress.project}: both are pulled"
    for each in result.pulls:
        state = each.progress
        yield (
            f"{state.project}: {count(state.answers, 'answer')} "
            f"{'counts' if state.answers == 1 else 'count'}, {state.finished:,} of "
            f"{count(state.subjects, 'subject')} finished, {each.seconds:.1f} s"
        )
        for problem, number in state.problems.items():
            yield f"  not counted, {problem}: {number:,}"
        if each.lost:
            yield (
                f"  The server cannot export {count(len(each.lost), 'task')}, so answers are "
                f"missing: check {', '.join(map(str, each.lost[:_MOST]))} there"
            )
        if each.configuration_changed:
            yield "  The form was changed on the server"
        if each.foreign:
            yield f"  Tasks on the server that Goldpan did not push: {each.foreign:,}"
    yield from (f"{how}: {number:,}" for how, number in result.decisions.items())


@renders(Progress)
def _progressed(result: Progress) -> Iterator[Piece]:
    yield (
        f"{result.project} ({result.form}): {result.finished:,} of "
        f"{count(result.subjects, 'subject')} finished, {result.begun:,} begun, "
        f"{result.answers:,} of {count(result.wanted, 'answer')}"
    )
    if result.pulled_at is not None:
        yield Hint(
            f"As of the pull of {result.pulled_at:%Y-%m-%d %H:%M} UTC: "
            f"goldpan annotate pull --project {result.project} fetches newer answers"
        )
    skipped = f"Skipped, and needing another annotator: {result.passed_over:,}"
    yield result.passed_over and skipped
    columns = ("annotator", "answers", "skipped", "other", "doubts", "seconds")
    if result.annotators:
        yield table_of(result.annotators, *columns)
    yield f"Annotators start at {result.page}"


@renders(Agreements)
def _agreed(result: Agreements) -> Iterator[Piece]:
    for field in (*result.fields, *filter(None, [result.dataset])):
        yield Title(field.field)
        yield f"  raw agreement {field.raw.shown('not defined')}"
        if field is not result.dataset:
            yield f"  {field.items:,} rated by two or more people, {field.single:,} by one"
        yield f"  Krippendorff's alpha {field.alpha.shown('not defined')}"
        yield table_of(field.pairs, "raters", "items", "kappa", title="Cohen's kappa")
        yield table_of(field.categories, title="Krippendorff's alpha of each category")
        for item, labels in islice(field.disagreements.items(), _MOST):
            answers = (f"{who}: {', '.join(values)}" for who, values in labels.items())
            yield f"  differ on {item} ({'; '.join(answers)})"
        if field.differing > _MOST:
            yield f"  and on {field.differing - _MOST:,} more: see --json"


@renders(GoldExport)
def _exported(result: GoldExport) -> Iterator[Piece]:
    yield f"{result.gold}: {count(result.items, 'item')} ({counts_text(result.labels)})"
    undecided = f"Not decided yet: {result.undecided:,}. Adjudicate them, then pull"
    yield result.undecided and undecided


@renders(AnnotationReport)
def _reported(result: AnnotationReport) -> Iterator[Piece]:
    for each in result.rounds:
        yield (
            f"{each.project}: {count(each.progress.subjects, 'item')}, {each.agreed:,} agreed, "
            f"{each.adjudicated:,} adjudicated, {count(each.conflicts, 'open conflict')}"
        )
    yield f"Wrote {' and '.join(map(str, result.files))}"


@renders(Running)
def _running(result: Running) -> Iterator[Piece]:
    yield Title("Label Studio", f" runs at {result.address} until Ctrl-C")
    yield f"  annotators sign up, once, at {result.invitation}"
    yield f"  {result.owner.address}  password {result.owner.password}"
    if result.exposed:
        yield (
            "Anyone who can reach this address sees the sign-in page, and anyone with the link all "
            "projects; passwords and texts are not encrypted. Use a network that you trust"
        )
    yield "goldpan annotate push and pull find it automatically, with the same --workspace"


@renders(ReviewResult)
def _reviewed(result: ReviewResult) -> Iterator[Piece]:
    yield from _planned(result) if result.dry_run else _judged(result)
    yield from basis_sentences(result.basis)
    if not result.dry_run and not result.complete:
        yield (
            "Some requests got no answer: check --base-url, --model and the settings, then run "
            "the same command again"
            if result.failed
            else "Some requests remain: run the same command again"
        )


def _planned(result: ReviewResult) -> Iterator[Piece]:
    for prompt, number in result.subjects.items():
        yield f"{prompt}: {count(number, 'subject')}"
    for reason, number in result.reasons.items():
        yield f"  {count(number, 'subject')} not sent, left to people: {reason}"
    yield from requests_and_cost(result.estimate, prices="[prices] in the settings file")


def _judged(result: ReviewResult) -> Iterator[Piece]:
    counts = (result.subjects, result.keep, result.drop, result.people)
    yield Table(
        ("prompt", "subjects", "keep", "drop", "people"),
        [(prompt, *(each.get(prompt, 0) for each in counts)) for prompt in result.subjects],
    )
    yield from (f"  {reason}: {number:,}" for reason, number in result.reasons.items())
    for words, number in [*result.failed.items()][:_MOST_FAILURES]:
        yield f"  no answer, {count(number, 'time')}: {words}"
    usage, before = result.usage, result.estimate
    estimated = " (estimated: the endpoint reports none)" if usage.estimated else ""
    yield (
        f"{count(result.sent, 'request')} sent, {before.answered:,} answered from the archive, "
        f"{usage.input:,} input and {usage.output:,} output tokens{estimated}, cost "
        f"{result.cost:,.2f} ({before.cost_before:,.2f} before), {result.seconds:.1f} s"
    )


@renders(list[Calibration])
def _calibrations(results: Sequence[Calibration]) -> Iterator[Piece]:
    for result in results:
        yield from _calibrated(result)
    yield from basis_sentences(results[0].basis)


@renders(Calibration)
def _calibrated(result: Calibration) -> Iterator[Piece]:
    yield Title(result.criterion)
    yield table_of([result], "subjects", "precision", "recall", "kappa")
    for model, counts in result.confusion.items():
        yield f"  model {model}: people {counts_text(counts)}"
    all_kept, kept = result.without_model.short() or "-", result.precision.short() or "-"
    yield f"  People keep {all_kept} of all subjects, {kept} of those that the model keeps:"
    yield f"  {'the model helps' if result.helps else 'nothing shows that the model helps'}"
    yield f"  It leaves {result.undecided.short()} of the subjects to people"
    yield (
        f"  They disagree on {len(result.disagreements):,}; judged by the model alone: "
        f"{result.only_model:,}, by people alone: {result.only_people:,}"
    )

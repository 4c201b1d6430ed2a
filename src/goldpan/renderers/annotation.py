"""What people see of reviews and annotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldpan.annotation.review.calibration import Calibration
from goldpan.annotation.review.run import ReviewResult
from goldpan.annotation.review.votes import ReviewEstimate
from goldpan.annotation.studio.gold import Agreements, GoldExport
from goldpan.annotation.studio.progress import AnnotatorProgress, Progress
from goldpan.annotation.studio.pull import CollectedAnswers, PullResult
from goldpan.annotation.studio.push import PushResult
from goldpan.annotation.studio.serve import Running
from goldpan.core.proportions import Estimate
from goldpan.core.result import Block, Line, Table, Title, renders
from goldpan.filters.basis import basis_sentences
from goldpan.renderers.llm import requests_and_cost

_MOST = 20
_MOST_REASONS = 5
_UNDEFINED = "not defined"


@renders(Calibration)
def calibrated(result: Calibration) -> Iterator[Block]:
    """Yield the quality of the verdicts on all subjects and on each part of them."""
    yield Title(result.criterion)
    yield Table(
        ("subjects of", "subjects", "precision of keep", "recall of keep", "kappa"),
        [
            (
                group.name,
                group.subjects,
                *map(Estimate.shown, (group.precision, group.recall, group.kappa)),
            )
            for group in result.groups
        ],
    )
    for model, counts in result.groups[0].confusion.items():
        people = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        yield Line(f"  model {model}: people {people}")
    yield Line(
        f"  {len(result.disagreements):,} disagree; "
        f"{result.only_model:,} only the model judged, {result.only_people:,} only people"
    )


@renders(ReviewEstimate)
def estimated(result: ReviewEstimate) -> Iterator[Block]:
    """Yield the number of requests, their destination and their cost."""
    for prompt, count in result.subjects.items():
        yield Line(f"{prompt}: {count:,} subjects")
    yield from requests_and_cost(result, prices="[prices] in the settings file")
    yield from map(Line, basis_sentences(result.basis))


@renders(ReviewResult)
def reviewed(result: ReviewResult) -> Iterator[Block]:
    """Yield the verdicts, and what they cost."""
    counts = (result.subjects, result.keep, result.drop, result.people)
    yield Table(
        ("prompt", "subjects", "keep", "drop", "people"),
        [
            (prompt, *(by_prompt.get(prompt, 0) for by_prompt in counts))
            for prompt in result.subjects
        ],
    )
    for reason, count in result.reasons.items():
        yield Line(f"  {reason}: {count:,}")
    for words, count in [*result.failed.items()][:_MOST_REASONS]:
        yield Line(f"  no answer, {count:,} time{'' if count == 1 else 's'}: {words}")
    estimated = " (estimated: the endpoint counts none)" if result.usage.estimated else ""
    yield Line(
        f"{result.sent:,} requests sent, {result.answered:,} answered from the archive, "
        f"{result.usage.input:,} tokens read and {result.usage.output:,} written{estimated}, cost "
        f"{result.cost:,.2f} ({result.cost_before:,.2f} before), {result.seconds:.1f} s"
    )
    yield from map(Line, basis_sentences(result.basis))
    if not result.complete and result.failed:
        yield Line(
            "Requests have no answer: check --base-url, --model and the settings, and run the "
            "same command again"
        )
    elif not result.complete:
        yield Line("Some requests remain: run the same command again")


@renders(Progress)
def progressed(result: Progress) -> Iterator[Block]:
    """Yield progress, by annotator too, and when it is likely to end."""
    yield Line(
        f"{result.project} ({result.form}): {result.finished:,} of "
        f"{result.subjects:,} subjects finished, {result.begun:,} begun, "
        f"{result.answers:,} of {result.wanted:,} answers"
    )
    if result.pulled_at is not None:
        yield Line(
            f"As of the pull of {result.pulled_at:%Y-%m-%d %H:%M} UTC: "
            f"goldpan annotate pull --project {result.project} fetches what came later"
        )
    if result.passed_over:
        yield Line(
            f"{result.passed_over:,} were skipped and have no answers: somebody else has to "
            "answer them"
        )
    columns = ("annotator", "answers", "skipped", "other", "doubts", "seconds per task")
    yield Table(
        columns,
        [
            (
                *(own.annotator, own.answers, own.skipped, own.other, own.doubts),
                "-" if own.seconds is None else f"{own.seconds:.0f}",
            )
            for own in result.annotators
        ],
    )
    yield from _suggestions(result.annotators)
    if result.work_left is not None:
        yield Line(f"Left: {result.work_left} of one person's work")
    if result.ends_at is not None:
        yield Line(f"At this pace it will be finished on {result.ends_at:%Y-%m-%d}")
    yield Line(f"Annotators start at {result.page}")


def _suggestions(annotators: Sequence[AnnotatorProgress]) -> Iterator[Line]:
    """Yield how often people kept the suggestions: agreement of such answers is no proof."""
    if not any(annotator.filled_in for annotator in annotators):
        return
    yield Line("Not blind: people who see the same suggestion agree more than they would")
    for own in annotators:
        if own.filled_in:
            share = f"{own.accepted / own.filled_in:.0%}"
            left = f"left {own.accepted:,} of {own.filled_in:,} suggestions as they were"
            yield Line(f"  {own.annotator} {left} ({share})")


@renders(Agreements)
def agreed(result: Agreements) -> Iterator[Block]:
    """Yield raw agreement, kappa and alpha of each field, and the conflicts."""
    yield from _suggestions(result.annotators)
    for field in (*result.fields, *([result.dataset] if result.dataset else [])):
        yield Title(field.field)
        if field is not result.dataset:
            rated = f"{field.items:,} rated by two or more, {field.single:,} by one alone"
            yield Line(f"  {rated}")
        yield Line(f"  raw agreement {field.raw.shown(_UNDEFINED)}")
        for pair in field.pairs:
            kappa = f"{pair.kappa.shown(_UNDEFINED)} on {pair.items:,}"
            yield Line(f"  Cohen's kappa {' and '.join(pair.raters)}: {kappa}")
        yield Line(f"  Fleiss' kappa {field.fleiss.shown(_UNDEFINED)} on {field.fleiss_items:,}")
        yield Line(f"  Krippendorff's alpha {field.alpha.shown(_UNDEFINED)}")
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


@renders(GoldExport)
def exported(result: GoldExport) -> Iterator[Block]:
    """Yield what the gold set holds."""
    counts = ", ".join(f"{label} {count:,}" for label, count in result.labels.items())
    yield Line(f"{result.gold}: {result.items:,} items ({counts})")
    if result.undecided:
        yield Line(f"{result.undecided:,} more are not decided: adjudicate them, then pull")


@renders(PushResult)
def pushed(result: PushResult) -> Iterator[Block]:
    """Yield how many subjects are new, and where annotators start."""
    counts = f"{result.added:,} subjects added, {result.known:,} already there"
    yield Line(f"{result.project}: {counts}, {result.seconds:.1f} s")
    if result.suggested:
        yield Line(f"{result.suggested:,} of them are pre-filled")
    yield from map(Line, basis_sentences(result.basis))
    yield Line(f"Annotators start at {result.page}")


@renders(CollectedAnswers)
def collected(result: CollectedAnswers) -> Iterator[Block]:
    """Yield what each project brought, and how subjects were decided."""
    if result.requested != result.original.project:
        yield Line(f"{result.requested} adjudicates {result.original.project}: both are pulled")
    for pulled in (result.original, *result.adjudications):
        yield from _pulled(pulled)
    yield from (Line(f"{how}: {count:,}") for how, count in result.counts.items())


@renders(Running)
def running(result: Running) -> Iterator[Block]:
    """Yield where it runs, who may log in, and what others can reach."""
    yield Title("Label Studio", f" runs at {result.address} until Ctrl-C")
    yield Line(f"  annotators sign up, once, at {result.invitation}")
    yield Line(f"  {result.owner.address}  password {result.owner.password}")
    if result.exposed:
        yield Line(
            "Whoever reaches this address sees the sign-in page, and whoever has the link all "
            "projects; passwords and texts travel unencrypted. Use a network that you trust"
        )
    yield Line("goldpan annotate push and pull find it automatically, with the same --workspace")


def _pulled(result: PullResult) -> Iterator[Block]:
    """Yield what was fetched and counts, and what people have to look at."""
    yield Line(
        f"{result.project}: {result.fetched:,} tasks fetched, {result.answers:,} answers count, "
        f"{result.done:,} of {result.tasks:,} subjects are done, {result.seconds:.1f} s"
    )
    for problem, count in sorted(result.problems.items()):
        yield Line(f"  {count:,} do not count: {problem}")
    yield from (Line(f"  renamed: {name}") for name in result.renamed)
    if result.configuration_changed:
        yield Line("  The form was changed on the server")
    if result.gone:
        yield Line(f"  Answers of the pull before that were deleted there: {result.gone:,}")
    if result.foreign:
        yield Line(f"  Tasks there that Goldpan did not push: {result.foreign:,}")
    for task in result.unreadable[:_MOST]:
        yield Line(f"  The server cannot export task {task}: check it there")

"""What people see of tasks, imports, comparisons and exports of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from goldpan.core import sanitize
from goldpan.core.proportions import Estimate
from goldpan.core.result import (
    Hint,
    Line,
    Piece,
    Table,
    Title,
    count,
    counts_text,
    fields_of,
    first_lines,
    names_text,
    renders,
    table_of,
)
from goldpan.datasets.compare.contamination import ContaminationResult
from goldpan.datasets.compare.diff import DiffResult
from goldpan.datasets.export.export import ExportResult
from goldpan.datasets.gold import GoldScore, SampleScore
from goldpan.datasets.hub.publish import PublishResult
from goldpan.datasets.tasks.importing import PROJECT, ImportResult
from goldpan.datasets.tasks.own_task import AddedTask
from goldpan.datasets.tasks.registry import TaskFacts, TaskPage
from goldpan.datasets.tasks.sources import SourceImport

_MOST, _LONGEST = 24, 40
"""Labels that have a line, and characters of a label."""
_TASK = attrgetter("name", "type", "activity", "rows")
_ACCESS = {"public": "public", "built": "built", "request": "on request", "no-copy": "no copying"}


@renders(ImportResult)
def _imported(result: ImportResult) -> Iterator[Piece]:
    yield Title(result.task.name, f": {count(result.written.rows, 'row')}")
    yield table_of(result.written.splits, "name", "rows")
    yield from result.written.dropped_blocks("their text is")
    yield result.unlabeled and f"  {result.unlabeled:,} left out: no label"
    yield from result.warnings()
    if result.missing:
        missing = count(len(result.missing), "project")
        yield f"Partial: {missing} not given: {names_text(result.missing, 8)}"
    absent = {f"{PROJECT}{name}" for name in result.missing}
    for check in result.checks:
        if not check.exact and check.what not in absent:
            yield f"{check.what}: {check.difference} than the registry says"
    if result.exact and result.checks:
        yield f"The counts match the registry ({len(result.checks)} checked)."
    for check in result.announced:
        if not check.exact and not result.missing:
            yield f"{check.what} says {check.expected:,}: {check.difference}"
    source = result.task.source
    if not source.url:
        yield "Its source has no address: goldpan publish refuses unpublished data."
    elif source.license == "unknown":
        yield "Its license is unknown: check the source before you share it."
    if source.url and source.access == "no-copy":
        yield "Its source forbids copying: goldpan publish refuses it."
    yield result.written.place()


@renders(list[TaskFacts])
def _listed(results: Sequence[TaskFacts]) -> Iterator[Piece]:
    cells = [
        (*_TASK(task), f"{_ACCESS[task.access]}{', here' * task.imported}") for task in results
    ]
    yield Table(("task", "type", "activity", "rows", "access"), cells, wide=frozenset({"activity"}))


@renders(TaskPage)
def _page(result: TaskPage) -> Iterator[Piece]:
    task = result.task
    yield Title(task.name, f": {task.title}")
    yield task.definition
    yield Table(("fact", "value"), [fact for fact in _facts(result).items() if fact[1]])
    labels = []
    for label in task.labels:
        shown = f" ({label.text})" if label.text != label.name else ""
        labels.append(f"  {label.name}{shown}: {label.description}")
    yield from first_lines(labels, _MOST)
    yield Title("Prompt")
    yield from (Line(f"  {part}") for part in task.prompt.fill("...").strip().split("\n"))


def _facts(result: TaskPage) -> dict[str, str]:
    task, source = result.task, result.task.source
    return {
        "type": task.type,
        "activity": task.activity,
        "category": task.category,
        "benchmarks": ", ".join(task.suites),
        "metric": task.metric,
        "split": task.split,
        "steps": ", ".join(task.steps) or "none",
        "longest input": f"{task.max_length:,} tokens",
        "rows": counts_text(task.counts),
        **{f"rows by {where}": f"{count:,}" for where, count in task.announced.items()},
        "source": f"{source.title}, {source.url}" if source.url else source.title,
        "license": source.license,
        "access": _ACCESS[source.access] + (", in the workspace" if result.imported else ""),
        "files": ", ".join(source.files),
        "on the Hub": f"{source.hub} {source.revision}".strip(),
        "columns": f"{', '.join(task.columns.text)} -> {', '.join(task.columns.target)}",
        "fresh rows": source.fresh or f"goldpan build {source.builder}" * bool(source.builder),
        "note": source.note,
    }


@renders(SourceImport)
def _imported_all(result: SourceImport) -> Iterator[Piece]:
    cells = []
    for each in result.tasks:
        rows = {split.name: split.rows for split in each.written.splits}
        wrong = [check.what for check in each.checks if not check.exact]
        text = "differ: " + ", ".join(wrong) if wrong else f"all {len(each.checks)} match"
        sides = (rows.get("train", 0), rows.get("test", 0))
        cells.append((each.task.name, each.written.rows, *sides, text))
    yield Table(("task", "rows", "train", "test", "counts"), cells)
    for each in result.tasks:
        yield from (f"{each.task.name}: {text}" for text in each.warnings())
    yield f"Files not given: {', '.join(result.not_given)}" if result.not_given else None


@renders(ContaminationResult)
def _contaminated(result: ContaminationResult) -> Iterator[Piece]:
    share = f"{result.contaminated:,} of {count(result.rows, 'row')} ({result.share:.1%})"
    yield f"{result.dataset}: {share} also found in the data it was compared with"
    yield f"  compared: {', '.join(result.columns)}"
    for other in result.against:
        sizes = f"{count(other.rows, 'row')}, {count(other.items, 'item')}"
        yield Title(other.against, f": {sizes}")
        yield f"  compared: {', '.join(other.columns)}"
        yield from (f"  {rows:,} by {kind}" for kind, rows in other.kinds.items())
        if other.same_repository is not None:
            yield (
                f"  {other.same_repository:,} from a repository that is in that data too, which "
                "is no evidence by itself"
            )
        yield other.common and f"  {count(other.common, 'common n-gram')} left out"
    if result.evidence:
        yield Title("Rows with their evidence and the matching item:")
    for item in result.evidence:
        shared = f" ({item.shared:,})" if item.shared else ""
        yield f"  {item.id}: {item.kind} {item.value:.2f}{shared}, {item.item}"
    yield "Paraphrases, short texts and renamed repositories are not detected."


@renders(DiffResult)
def _differing(result: DiffResult) -> Iterator[Piece]:
    for age, version in (("old", result.old), ("new", result.new)):
        size = f"{count(version.rows, 'example')}, content {version.content}"
        yield f"{age}: {version.directory} ({size})"
    is_counted = result.changed and result.changed_in_task is not None
    in_task = f" ({result.changed_in_task:,} of them in input or target)" if is_counted else ""
    yield (
        f"{result.added:,} added, {result.gone:,} removed, {result.changed:,} changed{in_task}, "
        f"{result.moved:,} moved to another split, {result.same:,} unchanged"
    )
    if result.reasons:
        reasons = [(reason.change, reason.rows, reason.reason) for reason in result.reasons]
        yield Table(("change", "rows", "why"), reasons)
    if result.columns:
        yield Table(("column", "rows"), list(result.columns.items()))
    for verb, names in (
        ("New columns", result.columns_added),
        ("Removed columns", result.columns_gone),
        ("Columns whose type changed (not compared)", result.columns_retyped),
    ):
        yield f"{verb}: {', '.join(names)}" if names else None
    if result.causes:
        causes = [(cause.what, cause.old or "none", cause.new or "none") for cause in result.causes]
        yield Table(("made with", "before", "now"), causes)
    for kind, rows in result.examples.items():
        for row in rows:
            columns = f": {', '.join(row.columns)}" if row.columns else ""
            yield f"  {kind} {row.id}{columns}"


@renders(ExportResult)
def _exported(result: ExportResult) -> Iterator[Piece]:
    yield from fields_of(result, "rows", "left_out")
    if result.audit:
        yield "Rows include the findings of their audit"
    elif result.lacking:
        yield Hint(f"Rows include no audit findings: {result.lacking}")
    yield f"Written to {result.directory}"
    yield f"Next: {result.next}"


@renders(PublishResult)
def _published(result: PublishResult) -> Iterator[Piece]:
    changes = [f"  {one.action} {one.path} {count(one.size, 'byte')}" for one in result.changes]
    yield from first_lines(changes, 30)
    if result.dry_run:
        yield f"Nothing was sent. All checks passed; it would go to {result.url}"
        if not result.compared:
            yield "The current content of the Hub was not checked: no token was given."
    elif not result.changes:
        yield f"{result.url} already has this content"
    else:
        yield f"Published as {result.url} in commit {result.commit}"
    yield f"Tagged {result.tag}" if result.tag and not result.dry_run else None


@renders(GoldScore)
def _scored(result: GoldScore) -> Iterator[Piece]:
    labeled = f"{result.labeled:,} of {count(result.rows, 'row')} labeled"
    yield Title(result.gold, f": {labeled}")
    if result.sample:
        yield from _reading(result.sample)
    if not result.labeled:
        yield "  no row of this dataset is in the gold set: was it made for another one?"
        return
    yield f"  {result.kind}: {counts_text(result.labels)}"
    yield f"  right: {_share(result.right)}"
    if "partly" in result.labels:
        yield f"  right at least in part: {_share(result.at_least_partly)}"
    if not result.sample:
        having = f"{count(result.there, 'issue')} with such an answer or fix"
        yield f"  recall, of {having}: {_share(result.kept)}"


def _reading(sample: SampleScore) -> Iterator[Piece]:
    """Yield who read how much of a sample, how far they agree, and what is missing."""
    drawn, readers = count(sample.drawn, "row"), counts_text(sample.readers) or "nobody"
    yield f"  sample of {drawn}, seed {sample.seed}; read by {readers}"
    if sample.strata:
        yield f"  weighted by a model's vote; read by vote: {counts_text(sample.strata)}"
    for pair in sample.pairs:
        kappa = "not defined" if pair.kappa is None else f"{pair.kappa:.2f}"
        agreed = f"agree on {pair.same:,} of {count(pair.rows, 'row')}"
        yield f"  {' and '.join(pair.readers)} {agreed}; Cohen's kappa {kappa}"
    missing: Mapping[str, int] = {
        "not read by anyone yet": sample.drawn - sample.read,
        "not counted: nobody could judge them": sample.cannot_tell,
        "judged differently without a majority: the less favorable judgment counts": (
            sample.differing
        ),
        "judged but no longer in the sample: removed, changed, or of another dataset": (
            sample.elsewhere
        ),
    }
    yield from (f"  {number:,} {reason}" for reason, number in missing.items() if number)


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "unknown"
    return f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]"


@renders(AddedTask)
def _added(result: AddedTask) -> Iterator[Piece]:
    yield from _imported(result.imported)
    task, rows = result.imported.task, sum(result.labels.values())
    names = [name for name in task.label_names if name in result.labels]
    cells = [
        (sanitize.line(name, _LONGEST), result.labels[name], f"{result.labels[name] / rows:.1%}")
        for name in names[:_MOST]
    ]
    yield Table(("label", "rows", "share"), cells) if cells else None
    if len(names) > _MOST:
        yield f"and {count(len(names) - _MOST, 'more label')}"
    answers = {
        "regression": "numbers",
        "binary": f"the positive class is {', the other '.join(row[0] for row in cells)}",
    }.get(task.type, count(len(names), "label"))
    yield f"{result.file}: {task.type}, {answers}"
    if result.doubts:
        yield "Check these rows before you trust a score:"
    yield from (f"  {doubt}" for doubt in result.doubts)
    if not result.imported.written.report.lacking:
        yield Hint(f"Next: goldpan evaluate run --task {task.name} --model tfidf-svm")

"""What people see of tasks, imports, comparisons and exports of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from goldpan.core import sanitize
from goldpan.core.proportions import Estimate
from goldpan.core.result import Block, Line, Table, Title, count, renders
from goldpan.datasets.compare.contamination import ContaminationResult
from goldpan.datasets.compare.diff import DiffResult
from goldpan.datasets.export.export import ExportResult
from goldpan.datasets.gold import GoldScore, SampleScore
from goldpan.datasets.hub.publish import PublishResult
from goldpan.datasets.tasks.importing import PROJECT, ImportResult
from goldpan.datasets.tasks.own_task import AddedTask
from goldpan.datasets.tasks.registry import TaskFacts, TaskPage
from goldpan.datasets.tasks.sources import SourceImport

_MOST_MISSING = 8
_MOST_LISTED, _LONGEST_LISTED = 24, 40
_MOST_LABELS = 24
_MOST_CHANGES = 30
_TASK = attrgetter("name", "type", "activity", "rows")
_ACCESS = {"public": "public", "built": "built", "request": "on request", "no-copy": "no copying"}


@renders(ImportResult)
def _imported(result: ImportResult) -> Iterator[Block]:
    yield Title(result.task.name, f": {count(result.written.rows, 'row')}")
    yield Table(("split", "rows"), [(split.name, split.rows) for split in result.written.splits])
    yield from result.written.dropped_blocks("their text is")
    if result.unlabeled:
        yield Line(f"  {result.unlabeled:,} left out: no label")
    yield from map(Line, result.warnings())
    if result.missing:
        names = ", ".join(result.missing[:_MOST_MISSING])
        more = " and more" * (len(result.missing) > _MOST_MISSING)
        yield Line(f"Partial: {count(len(result.missing), 'project')} not given: {names}{more}")
    absent = {f"{PROJECT}{name}" for name in result.missing}
    for check in result.checks:
        if not check.exact and check.what not in absent:
            yield Line(f"{check.what}: {check.difference} than the registry says")
    if result.exact and result.checks:
        yield Line(f"The counts match the registry ({len(result.checks)} checked).")
    for check in result.announced:
        if not check.exact and not result.missing:
            yield Line(f"{check.what} says {check.expected:,}: {check.difference}")
    source = result.task.source
    if not source.url:
        yield Line("Its source has no address: goldpan publish refuses unpublished data.")
    elif source.license == "unknown":
        yield Line("Its license is unknown: check the source before you share it.")
    if source.url and source.access == "no-copy":
        yield Line("Its source forbids copying: goldpan publish refuses it.")
    yield Line(f"Written to {result.written.directory}")


@renders(list[TaskFacts])
def _listed(results: Sequence[TaskFacts]) -> Iterator[Block]:
    cells = [
        (*_TASK(task), f"{_ACCESS[task.access]}{', here' * task.imported}") for task in results
    ]
    yield Table(("task", "type", "activity", "rows", "access"), cells, wide=frozenset({"activity"}))


@renders(TaskPage)
def _page(result: TaskPage) -> Iterator[Block]:
    task = result.task
    yield Title(task.name, f": {task.title}")
    yield Line(task.definition)
    yield Table(("fact", "value"), [fact for fact in _facts(result).items() if fact[1]])
    for label in task.labels[:_MOST_LABELS]:
        shown = f" ({label.text})" if label.text != label.name else ""
        yield Line(f"  {label.name}{shown}: {label.description}")
    if len(task.labels) > _MOST_LABELS:
        yield Line(f"  and {count(len(task.labels) - _MOST_LABELS, 'more label')}")
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
        "rows": ", ".join(f"{key} {count:,}" for key, count in task.counts.items()),
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
def _imported_all(result: SourceImport) -> Iterator[Block]:
    cells = []
    for each in result.tasks:
        rows = {split.name: split.rows for split in each.written.splits}
        wrong = [check.what for check in each.checks if not check.exact]
        text = "differ: " + ", ".join(wrong) if wrong else f"all {len(each.checks)} match"
        sides = (rows.get("train", 0), rows.get("test", 0))
        cells.append((each.task.name, each.written.rows, *sides, text))
    yield Table(("task", "rows", "train", "test", "counts"), cells)
    for each in result.tasks:
        yield from (Line(f"{each.task.name}: {text}") for text in each.warnings())
    if result.not_given:
        yield Line(f"Files not given: {', '.join(result.not_given)}")


@renders(ContaminationResult)
def _contaminated(result: ContaminationResult) -> Iterator[Block]:
    share = f"{result.contaminated:,} of {count(result.rows, 'row')} ({result.share:.1%})"
    yield Line(f"{result.dataset}: {share} also found in the data it was compared with")
    yield Line(f"  compared: {', '.join(result.columns)}")
    for other in result.against:
        sizes = f"{count(other.rows, 'row')}, {count(other.items, 'item')}"
        yield Title(other.against, f": {sizes}")
        yield Line(f"  compared: {', '.join(other.columns)}")
        for kind, rows in other.kinds.items():
            yield Line(f"  {rows:,} by {kind}")
        if other.same_repository is not None:
            yield Line(
                f"  {other.same_repository:,} from a repository that is in that data too, which "
                "is no evidence by itself"
            )
        if other.common:
            yield Line(f"  {count(other.common, 'common n-gram')} left out")
    if result.evidence:
        yield Title("Rows with their evidence and the matching item:")
    for item in result.evidence:
        shared = f" ({item.shared:,})" if item.shared else ""
        yield Line(f"  {item.id}: {item.kind} {item.value:.2f}{shared}, {item.item}")
    yield Line("Paraphrases, short texts and renamed repositories are not detected.")


@renders(DiffResult)
def _differing(result: DiffResult) -> Iterator[Block]:
    for age, version in (("old", result.old), ("new", result.new)):
        yield Line(
            f"{age}: {version.directory} ({count(version.rows, 'example')}, content "
            f"{version.content})"
        )
    is_counted = result.changed and result.changed_in_task is not None
    in_task = f" ({result.changed_in_task:,} of them in input or target)" if is_counted else ""
    yield Line(
        f"{result.added:,} added, {result.gone:,} removed, {result.changed:,} changed{in_task}, "
        f"{result.moved:,} moved to another split, {result.same:,} unchanged"
    )
    reasons = [(reason.change, reason.rows, reason.reason) for reason in result.reasons]
    yield from _table(("change", "rows", "why"), reasons)
    yield from _table(("column", "rows"), list(result.columns.items()))
    for verb, names in (
        ("New columns", result.columns_added),
        ("Removed columns", result.columns_gone),
        ("Columns whose type changed (not compared)", result.columns_retyped),
    ):
        if names:
            yield Line(f"{verb}: {', '.join(names)}")
    causes = [(cause.what, cause.old or "none", cause.new or "none") for cause in result.causes]
    yield from _table(("made with", "before", "now"), causes)
    for kind, rows in result.examples.items():
        for row in rows:
            columns = f": {', '.join(row.columns)}" if row.columns else ""
            yield Line(f"  {kind} {row.id}{columns}")


def _table(columns: tuple[str, ...], cells: Sequence[Sequence[object]]) -> Iterator[Block]:
    if cells:
        yield Table(columns, cells)


@renders(ExportResult)
def _exported(result: ExportResult) -> Iterator[Block]:
    for split, rows in result.rows.items():
        yield Line(f"{split}: {count(rows, 'row')}")
    for reason, rows in result.left_out.items():
        yield Line(f"left out, {reason}: {rows:,}")
    if result.audit:
        yield Line("Rows include the findings of their audit")
    elif result.lacking:
        yield Line(f"Rows include no audit findings: {result.lacking}")
    yield Line(f"Written to {result.directory}")
    yield Line(f"Next: {result.next}")


@renders(PublishResult)
def _published(result: PublishResult) -> Iterator[Block]:
    for change in result.changes[:_MOST_CHANGES]:
        yield Line(f"  {change.action} {change.path} {count(change.size, 'byte')}")
    if len(result.changes) > _MOST_CHANGES:
        yield Line(f"  and {len(result.changes) - _MOST_CHANGES:,} more")
    if result.dry_run:
        yield Line(f"Nothing was sent. All checks passed; it would go to {result.url}")
        if not result.compared:
            yield Line("The current content of the Hub was not checked: no token was given.")
        return
    if not result.changes:
        yield Line(f"{result.url} already has this content")
    else:
        yield Line(f"Published as {result.url} in commit {result.commit}")
    if result.tag:
        yield Line(f"Tagged {result.tag}")


@renders(GoldScore)
def _scored(result: GoldScore) -> Iterator[Block]:
    part = f", half {result.half}" if result.half else ""
    labeled = f"{result.labeled:,} of {count(result.rows, 'row')} labeled"
    yield Title(result.gold, f"{part}: {labeled}")
    if result.sample:
        yield from _reading(result.sample)
    counts = ", ".join(f"{label} {number:,}" for label, number in result.labels.items())
    if not result.labeled:
        yield Line("  no row of this dataset is in the gold set: was it made for another one?")
        return
    yield Line(f"  {result.kind}: {counts}")
    yield Line(f"  right: {_share(result.right)}")
    if "partly" in result.labels:
        yield Line(f"  right at least in part: {_share(result.at_least_partly)}")
    if not result.sample:
        having = f"{count(result.there, 'issue')} with such an answer or fix"
        yield Line(f"  recall, of {having}: {_share(result.kept)}")


def _reading(sample: SampleScore) -> Iterator[Line]:
    """Yield who read how much of a sample, how far they agree, and what is missing."""
    readers = ", ".join(f"{name} {rows:,}" for name, rows in sample.readers.items()) or "nobody"
    drawn = count(sample.drawn, "row")
    yield Line(f"  sample of {drawn}, seed {sample.seed}; read by {readers}")
    if sample.strata:
        votes = ", ".join(f"{name} {rows:,}" for name, rows in sample.strata.items())
        yield Line(f"  weighted by a model's vote; read by vote: {votes}")
    for pair in sample.pairs:
        kappa = "not defined" if pair.kappa is None else f"{pair.kappa:.2f}"
        agreed = f"agree on {pair.same:,} of {count(pair.rows, 'row')}"
        both = f"  {' and '.join(pair.readers)} {agreed}"
        yield Line(f"{both}; Cohen's kappa {kappa}")
    missing = {
        "not read by anyone yet": sample.drawn - sample.read,
        "not counted: nobody could judge them": sample.cannot_tell,
        "judged differently without a majority: the less favorable judgment counts": (
            sample.differing
        ),
        "judged but no longer in the sample: removed, changed, or of another dataset": (
            sample.elsewhere
        ),
    }
    yield from (Line(f"  {number:,} {reason}") for reason, number in missing.items() if number)


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "unknown"
    return f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]"


@renders(AddedTask)
def _added(result: AddedTask) -> Iterator[Block]:
    yield from _imported(result.imported)
    task, rows = result.imported.task, sum(result.labels.values())
    names = [name for name in task.label_names if name in result.labels]
    cells = [
        (sanitize.line(name, _LONGEST_LISTED), number, f"{number / rows:.1%}")
        for name, number in ((name, result.labels[name]) for name in names[:_MOST_LISTED])
    ]
    more = len(names) - _MOST_LISTED
    if cells:
        yield Table(("label", "rows", "share"), cells)
    if more > 0:
        yield Line(f"and {count(more, 'more label')}")
    answers = {
        "regression": "numbers",
        "binary": f"the positive class is {', the other '.join(row[0] for row in cells)}",
    }.get(task.type, count(len(names), "label"))
    yield Line(f"{result.file}: {task.type}, {answers}")
    if result.doubts:
        yield Line("Check these rows before you trust a score:")
    yield from (Line(f"  {doubt}") for doubt in result.doubts)
    if not result.imported.written.report.lacking:
        yield Line(f"Next: goldpan evaluate run --task {task.name} --model tfidf-svm")

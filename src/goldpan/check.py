"""Verifies everything in a workspace by the digests that are kept with it: `goldpan check`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from goldpan.annotation.review.stored import lost_answers
from goldpan.audit.trials.runs import RERUNS
from goldpan.builders.recipes import RECIPES
from goldpan.core.errors import DamagedError, GoldpanError, WorkspaceError
from goldpan.core.result import Block, Line, Result, blocks_of
from goldpan.core.storage.archive import run_files
from goldpan.core.storage.parquet import open_file
from goldpan.core.storage.sealed import check_inputs, check_outputs, is_sealed, read_json
from goldpan.core.storage.workspace import UNPAIRED, WorkspaceLayout, hold_lock
from goldpan.core.terminal import Reporter
from goldpan.datasets.provenance import (
    PROVENANCE,
    Dependents,
    build_command,
    is_as_recorded,
    read_provenance,
    tested_repository,
)
from goldpan.evaluation.resolved import RESOLVED_FILE
from goldpan.evaluation.runs import RESULT
from goldpan.execution.packages import is_open, package_caches, package_flaws
from goldpan.execution.records import RECORD, changed_files
from goldpan.execution.resolve import ANSWER
from goldpan.git.refs import RECORD as REFS
from goldpan.git.refs import find_ref_flaws, is_damaged, object_files
from goldpan.git.refs import remedy as clone_again
from goldpan.miners.repair import Repair, check_archive, repair
from goldpan.miners.tables.normalize import check_replies

_MOST_DEPENDENTS = 8
_REVIEWED = ".llm.parquet"
_REMADE = {"pairs": "pair", "revisions": "clone", "changes": "clone"}


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in a workspace that is not as it was written."""

    file: str
    offset: int | None
    """The byte where it begins, where that is known."""
    reason: str
    remedy: str
    """The command that makes it anew."""
    dependents: tuple[str, ...] = ()
    """Files that derive from it, by paths within the workspace."""


@dataclass(frozen=True, slots=True)
class CheckResult(Result):
    """The result of verifying a workspace."""

    workspace: str
    files: int
    bytes: int
    unsealed: int
    """Tables without a digest, from early versions, of which only the format was checked, and
    packages of a run of tests that is going on or was stopped."""
    damaged: tuple[Damage, ...]
    repaired: tuple[Repair, ...] = ()
    """The archives that were mended before."""

    def blocks(self) -> Iterator[Block]:
        """Yield what was mended, and each damaged file with what was made of it."""
        for mended in self.repaired:
            yield from blocks_of(mended)
        yield Line(f"{self.files:,} files, {self.bytes / 1e6:,.0f} MB in {self.workspace}")
        if self.unsealed:
            yield Line(
                f"{self.unsealed:,} have no digest: tables of an earlier version, of which the "
                "form was checked, or packages of tests that run now or were stopped"
            )
        for damage in self.damaged:
            at = "" if damage.offset is None else f" at byte {damage.offset:,}"
            yield Line(f"Damaged: {damage.file}{at}: {damage.reason}")
            if damage.dependents:
                more = len(damage.dependents) - _MOST_DEPENDENTS
                named = ", ".join(damage.dependents[:_MOST_DEPENDENTS])
                others = f" and {more:,} more" if more > 0 else ""
                yield Line(f"  Made of it: {named}{others}.")
            yield Line(f"  {damage.remedy}.")
        yield Line(f"{len(self.damaged):,} damaged." if self.damaged else "Nothing is damaged.")

    @property
    def exit_code(self) -> int:
        """1 where something is damaged."""
        return 1 if self.damaged else 0


@dataclass(frozen=True, slots=True)
class _Item:
    """Some files that are verified together."""

    files: tuple[Path, ...]
    verify: Callable[[], list[Damage]]
    unsealed: Callable[[], bool] = field(default=lambda: False)

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.files if path.exists())


def check_workspace(workspace: WorkspaceLayout, reporter: Reporter) -> CheckResult:
    """Verify archives, tables, verdicts, annotations, datasets, runs, histories and test runs."""
    items = list(_items(workspace))
    sizes = [item.size for item in items]
    damaged: list[Damage] = []
    unsealed = 0
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        reporter.task("Checking, in MB", sum(sizes) >> 20) as task,
    ):
        size_checked = 0
        found = pool.map(lambda item: item.verify(), items)
        for item, size, result in zip(items, sizes, found, strict=True):
            damaged += result
            unsealed += not result and item.unsealed()
            size_checked += size
            task.advance((size_checked >> 20) - task.done)
    if damaged:
        dependents = Dependents(workspace)
        damaged = [
            replace(damage, dependents=dependents.of(Path(damage.file))) for damage in damaged
        ]
    files = sum(len(item.files) for item in items)
    return CheckResult(str(workspace.root), files, sum(sizes), unsealed, tuple(damaged))


def archives(workspace: WorkspaceLayout) -> list[Path]:
    """Return the directories of all archives: raw replies, reviews, prompts."""
    names = ("raw", "reviews", "prompts")
    folders = {path.parent for name in names for path in (workspace.root / name).rglob("run-*.zst")}
    return sorted(path for path in folders if path.name != "damaged")


def repair_archives(workspace: WorkspaceLayout) -> list[Repair]:
    """Mend all archives that are damaged; return what was done to each.

    Raises `WorkspaceError` where another process works in one.
    """
    repairs = []
    for directory in archives(workspace):
        busy = WorkspaceError(f"Another goldpan is working in {directory}", "Wait for it")
        with hold_lock(directory / "lock", busy):
            if check_archive(directory):
                repairs.append(repair(directory))
    return repairs


def _items(workspace: WorkspaceLayout) -> Iterator[_Item]:
    root = workspace.root
    for directory in archives(workspace):
        yield _Item(tuple(run_files(directory)), partial(_archive, directory))
    for path in _below(
        root, "tables", "verdicts", "annotations", "audits", "gharchive", "runs", "cache"
    ):
        if (
            path.suffix == ".parquet"
            or path.name in (RESULT, RESOLVED_FILE)
            or (path.suffix == ".json" and path.match("tables/*/*/*"))
            or (path.suffix == ".json" and path.match("audits/*/*"))
        ):
            yield _Item((path,), partial(_file, root, path), partial(_is_unsealed, path))
        if path.name.endswith(_REVIEWED):
            yield _Item((), partial(_answers, workspace, path))
    for directory in sorted(path for path in (root / "tables").glob("*/*") if path.is_dir()):
        yield _Item((), partial(_lineage, workspace, directory))
    for folder in _below(root, "datasets", "crosscode"):
        if folder.name == PROVENANCE:
            yield from _dataset(workspace, folder)
    for clone in sorted((root / "git").glob("*/*.git")):
        for path in object_files(clone):
            yield _Item((path,), partial(_objects, root, path))
        yield _Item((clone / REFS,), partial(_refs, clone))
    for name in (RECORD, ANSWER, RERUNS):
        for path in sorted((root / "verification").rglob(name)):
            if not path.relative_to(root / "verification").parts[0].startswith("."):
                logs = tuple(other for other in path.parent.iterdir() if other.is_file())
                yield _Item(logs, partial(_test_run, workspace, path))
    for cache in package_caches(workspace):
        files = tuple(path for path in cache.rglob("*") if path.is_file() and not path.is_symlink())
        yield _Item(files, partial(_packages, workspace, cache), partial(is_open, cache))


def _below(root: Path, *names: str) -> Iterator[Path]:
    for name in names:
        for path in sorted((root / name).rglob("*")):
            unfinished = any(part.endswith(".work") for part in path.relative_to(root).parts)
            if path.is_file() and not unfinished:
                yield path


def _archive(directory: Path) -> list[Damage]:
    remedy = "Restore it, or run goldpan check --repair"
    return [
        Damage(str(flaw.path), flaw.start, flaw.reason, remedy) for flaw in check_archive(directory)
    ]


def _file(root: Path, path: Path) -> list[Damage]:
    try:
        if path.suffix == ".json":
            read_json(path)
        else:
            with open_file(path) as file:
                if not is_sealed(path):
                    for _ in file.iter_batches():
                        pass
    except (OSError, pa.ArrowException, orjson.JSONDecodeError) as error:
        return [Damage(str(path), None, str(error).splitlines()[0], _remedy(root, path))]
    return []


def _is_unsealed(path: Path) -> bool:
    return path.suffix == ".parquet" and not is_sealed(path)


def _lineage(workspace: WorkspaceLayout, directory: Path) -> list[Damage]:
    """Find tables of several runs beside each other, or of replies that are there no more."""
    repo = f"{directory.parent.name}/{directory.name}"
    flaws = []
    for verify in (
        partial(check_outputs, directory, "normalize"),
        partial(_check_pairs, workspace, repo),
        partial(check_replies, workspace, repo),
    ):
        try:
            verify()
        except GoldpanError as error:
            if not isinstance(error.__cause__, DamagedError):  # that is told of the file itself
                flaws.append(Damage(str(directory), None, error.problem, error.remedy))
    return flaws


def _check_pairs(workspace: WorkspaceLayout, repo: str) -> None:
    for rules in workspace.paired_by(repo):
        check_inputs(workspace.tables(repo), f"pair.{rules}")


def _dataset(workspace: WorkspaceLayout, provenance: Path) -> Iterator[_Item]:
    directory = provenance.parent
    again = "Restore it from a copy, or run goldpan build or goldpan import for the dataset again"
    try:
        facts = read_provenance(directory)
        files = facts["files"]
    except GoldpanError as error:
        damage = Damage(str(provenance), None, error.problem, again)
        yield _Item((provenance,), lambda: [damage])
        return
    if facts.get("family") in RECIPES:
        again = f"Restore it from a copy, or run {build_command(directory, workspace.root)}"

    def verify(path: Path, about: Mapping[str, Any]) -> list[Damage]:
        try:
            is_sound = is_as_recorded(path, about)
            reason = "" if is_sound else f"{PROVENANCE} records another digest"
        except OSError as error:
            reason = str(error.strerror)
        return [Damage(str(path), None, reason, again)] if reason else []

    yield _Item((provenance,), list)
    for name, about in files.items():
        path = directory / name
        yield _Item((path,), partial(verify, path, about))


def _objects(root: Path, path: Path) -> list[Damage]:
    if is_damaged(path):
        return [Damage(str(path), None, "git's checksum is another", _remedy(root, path))]
    return []


def _refs(clone: Path) -> list[Damage]:
    return [
        Damage(str(flaw.path), None, flaw.reason, clone_again(flaw))
        for flaw in find_ref_flaws(clone)
    ]


def _answers(workspace: WorkspaceLayout, path: Path) -> list[Damage]:
    """Find answers that are gone: the end of an archive may be cut off as if by a kill."""
    with suppress(OSError, pa.ArrowException):  # that is told of the file itself
        if lost := lost_answers(workspace, path):
            archive, reason = lost
            again = _remedy(workspace.root, path).removeprefix("Delete it and run ")
            return [Damage(str(archive), None, reason, f"Restore it, or run {again}")]
    return []


def _test_run(workspace: WorkspaceLayout, record: Path) -> list[Damage]:
    """Find what changed of a run of tests, or of a model's answer: its record, logs and reports."""
    again = _verify_again(workspace, record)
    if record.name == ANSWER:
        again = again.replace("goldpan verify", "goldpan evaluate resolved")
    if record.name == RERUNS:
        again = again.replace("goldpan verify", "goldpan audit --finding weak-tests")
    flaws = changed_files(record.parent, record.name)
    return [Damage(str(path), None, reason, again) for path, reason in flaws]


def _packages(workspace: WorkspaceLayout, cache: Path) -> list[Damage]:
    again = f"{_verify_again(workspace, cache)}, which fetches the packages again"
    return [Damage(str(path), None, reason, again) for path, reason in package_flaws(cache)]


def _verify_again(workspace: WorkspaceLayout, path: Path) -> str:
    repo = tested_repository(path.relative_to(workspace.root / "verification").parts)
    datasets = Dependents(workspace).proved_datasets(repo)
    return f"Run goldpan verify {datasets[0] if datasets else f'on the dataset of {repo}'}"


def _remedy(root: Path, path: Path) -> str:
    """Say which command makes a file anew."""
    from goldpan.filters.profile import shipped_profiles

    stage, *rest = path.relative_to(root).parts
    repo = "/".join(rest[:2]).removesuffix(".git")
    match stage:
        case "tables":
            name, _, rules = path.stem.partition(".")
            again = f"Run goldpan {_REMADE.get(name, 'normalize')} --repo {repo}"
            return f"{again} --rules {rules}" if path.stem.startswith("pairs.") else again
        case "verdicts" if rest[0] == "labels":
            return "Delete it and run goldpan review labels again"
        case "verdicts" if len(rest) == 1:
            return "Delete it and run goldpan filter"
        case "verdicts":
            profile, _, reviewed = path.stem.partition(".")
            command = f"goldpan {'review' if reviewed else 'filter'} --repo {repo}"
            rules = "" if path.parent.name == UNPAIRED else f" --rules {path.parent.name}"
            if not reviewed and profile not in shipped_profiles():  # its name goes with the file
                profile += ".toml"
            return f"Delete it and run {command} --profile {profile}{rules}"
        case "audits":
            return f"Run goldpan audit {rest[0]}"
        case "annotations":
            return f"Run goldpan annotate pull --project {rest[0]}"
        case "gharchive":
            return "Delete it and run goldpan mine gharchive for its hours again"
        case "cache":
            return "Delete it: it is made again where it is needed"
        case "git":
            return f"Delete {root / 'git' / repo}.git and run goldpan clone --repo {repo}"
        case _:
            return "Delete its directory and run goldpan evaluate run again"

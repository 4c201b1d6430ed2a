"""Verifies everything in a workspace by the digests that are kept with it: `goldpan check`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pyarrow as pa

from goldpan.annotation.review.stored import lost_answers
from goldpan.builders.recipes import RECIPES
from goldpan.core.errors import DamagedError, GoldpanError, WorkspaceError
from goldpan.core.locks import hold_lock
from goldpan.core.result import Result
from goldpan.core.storage.archive import Repair, check_archive, repair, run_files
from goldpan.core.storage.sealed import (
    check_inputs,
    check_outputs,
    file_digest,
    is_sealed,
    read_json,
    verify_parquet,
)
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.provenance import PROVENANCE, build_command, read_provenance
from goldpan.evaluation.resolved import RESOLVED_FILE
from goldpan.filters.profile import shipped_profiles
from goldpan.git.refs import RECORD as REFS
from goldpan.git.refs import find_ref_flaws, is_damaged, object_files
from goldpan.git.refs import remedy as clone_again
from goldpan.lineage.stages import STAGES, Fields, Stage, remedy_for, stage_of
from goldpan.miners.tables.normalize import check_replies

_PROVED = "issue-resolution"
"""The family of datasets whose rows runs of tests prove."""
_REVIEWED = ".llm.parquet"
_FILE_FIRST = re.compile(r"(.+?\.(?:json|parquet|zst)) (.+)", re.S)
_FOLDERS = ("build", "build crosscode", "verify", "resolve", "rerun")
"""The stages that keep the digests of all their files in one."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in a workspace that is not as it was written."""

    file: str
    offset: int | None
    """The byte where it begins, where that is known."""
    reason: str
    remedy: str = ""
    """The command that makes it anew."""
    dependents: tuple[str, ...] = ()
    """Files that derive from it, by paths within the workspace."""


@dataclass(frozen=True, slots=True)
class CheckResult(Result):
    """The result of verifying a workspace."""

    schema: ClassVar[int] = 2

    workspace: str
    files: int
    bytes: int
    damaged: tuple[Damage, ...]
    repaired: tuple[Repair, ...] = ()
    """The archives that were mended before."""

    @property
    def exit_code(self) -> int:
        """1 where something is damaged."""
        return 1 if self.damaged else 0


Checked = tuple[Sequence[Path], Callable[[], Iterable[Damage]]]
"""Some files that are verified together, and what finds their damages."""


def check_workspace(workspace: WorkspaceLayout, reporter: Reporter) -> CheckResult:
    """Verify all files that stages wrote and that bear digests, each damaged one told once."""
    items = list(_items(workspace))
    sizes = [sum(path.stat().st_size for path in files if path.exists()) for files, _ in items]
    found: dict[str, Damage] = {}
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        reporter.task("Checking, in MB", sum(sizes) >> 20) as task,
    ):
        size_checked = 0
        results = pool.map(lambda item: list(item[1]()), items)
        for size, damages in zip(sizes, results, strict=True):
            for damage in damages:
                told = f"{damage.file} {damage.reason} "
                if not any(f"{file} " in told for file in found):
                    found[damage.file] = damage
            size_checked += size
            task.advance((size_checked >> 20) - task.done)
    damaged = list(found.values())
    if damaged:
        dependents = Dependents(workspace.root)
        damaged = [dependents.with_remedy(damage) for damage in damaged]
    count = sum(len(files) for files, _ in items)
    return CheckResult(str(workspace.root), count, sum(sizes), tuple(damaged))


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


def _items(workspace: WorkspaceLayout) -> Iterator[Checked]:
    """Yield what is verified: files of their own digests, then files that belong together."""
    root = workspace.root
    for directory in archives(workspace):
        yield run_files(directory), partial(_archive, directory)
    for clone in sorted((root / "git").glob("*/*.git")):
        yield from (([path], partial(_objects, path)) for path in object_files(clone))
        yield [clone / REFS], partial(_refs, clone)
    for stage in STAGES.values():
        for path in stage.files(root) if stage.name != "clone" else ():
            is_record = stage.keeps_digests(root, path)
            if stage.name in _FOLDERS:
                yield from _folder(path) if is_record else ()
            elif is_record or path.suffix == ".parquet" or path.name == RESOLVED_FILE:
                yield [path], partial(_file, path)
            if path.name.endswith(_REVIEWED):
                yield [], partial(_answers, workspace, path)
    for repo in workspace.repositories("tables"):
        yield [], partial(_tables, workspace, repo)


def _archive(directory: Path) -> Iterator[Damage]:
    for flaw in check_archive(directory):
        yield Damage(str(flaw.path), flaw.start, flaw.reason)


def _file(path: Path) -> Iterator[Damage]:
    try:
        if path.suffix == ".json":
            read_json(path)
        elif not is_sealed(verify_parquet(path)):
            yield Damage(str(path), None, "it has no digest")
    except (OSError, pa.ArrowException, orjson.JSONDecodeError) as error:
        reason = str(error).splitlines()[0].removeprefix(f"{path} is damaged: ")
        yield Damage(str(path), None, reason)


def _folder(record: Path) -> Iterator[Checked]:
    """Yield the file that keeps the digests of a folder, and each file that it names."""
    try:
        files = dict(read_json(record)["files"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        damage = Damage(str(record), None, "it was changed after it was written")
        yield [record], lambda: [damage]
        return
    yield [record], list
    for name, about in files.items():
        path = record.parent / name
        yield [path], partial(_recorded, path, about, record.name)


def _recorded(path: Path, about: str | Mapping[str, Any], record: str) -> Iterator[Damage]:
    try:
        if file_digest(path) != (about if isinstance(about, str) else about["sha256"]):
            yield Damage(str(path), None, f"{record} records another digest")
    except FileNotFoundError:
        yield Damage(str(path), None, f"{record} names it, and it is gone")
    except OSError as error:
        yield Damage(str(path), None, str(error.strerror))


def _objects(path: Path) -> Iterator[Damage]:
    if is_damaged(path):
        yield Damage(str(path), None, "git's checksum differs")


def _refs(clone: Path) -> Iterator[Damage]:
    for flaw in find_ref_flaws(clone):
        yield Damage(str(flaw.path), None, flaw.reason, clone_again(clone))


def _tables(workspace: WorkspaceLayout, repo: str) -> Iterator[Damage]:
    """Yield tables of several runs beside each other, or of replies that are there no more."""
    directory = workspace.tables(repo)
    pairs = [
        partial(check_inputs, directory, f"pair.{rules}") for rules in workspace.paired_by(repo)
    ]
    outputs = partial(check_outputs, directory, "normalize")
    for verify in (outputs, *pairs, partial(check_replies, workspace, repo)):
        try:
            verify()
        except GoldpanError as error:
            if not isinstance(error.__cause__, DamagedError):  # that is told of the file itself
                named = _FILE_FIRST.match(error.problem)
                file = named[1] if named else str(directory)
                reason = f"it {named[2]}" if named else error.problem
                yield Damage(file, None, reason, error.remedy)


def _answers(workspace: WorkspaceLayout, path: Path) -> Iterator[Damage]:
    """Yield answers that are gone: the end of an archive may be cut off as if by a kill."""
    with suppress(OSError, pa.ArrowException):  # that is told of the file itself
        if lost := lost_answers(workspace, path):
            archive, reason = lost
            again = remedy_for(workspace.root, path).removeprefix("Delete it and run ")
            yield Damage(str(archive), None, reason, f"Restore it, or run {again}")


class Dependents:
    """The results that depend on files of a workspace.

    Datasets record what they were made of; of other results, the stages that read the file tell.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._datasets: dict[Path, Mapping[str, Any]] = {}
        for path in STAGES["build"].files(root):
            if path.name == PROVENANCE:
                try:
                    self._datasets[path.parent] = read_provenance(path.parent)
                except GoldpanError:
                    continue  # checks of the file itself report that

    def of(self, path: Path) -> tuple[str, ...]:
        """Return the results of a file, as paths within the workspace, in the order of stages."""
        known = stage_of(self._root, path)
        if known is None:
            return ()
        stage, fields = known
        if directory := self._dataset(path):
            fields = self._fields(directory)
        reached: dict[str, list[Fields]] = {stage.name: [fields]}
        found: dict[Path, None] = {}
        for later in STAGES.values():
            if later.name == "build":
                made = [(d, self._fields(d)) for d in self._made_of(stage, fields, path.name)]
            else:
                given = [each for name in later.inputs for each in reached.get(name, ())]
                made = [
                    (result, own)
                    for each in given
                    for result, own in later.results(self._root, each)
                    if not each or each.keys() & own.keys()  # else nothing is known
                ]
            found.update(dict.fromkeys(result for result, _ in made))
            reached.setdefault(later.name, []).extend(own for _, own in made)
        whole = [result for result in found if found.keys().isdisjoint(result.parents)]
        return tuple(str(result.relative_to(self._root)) for result in whole)

    def with_remedy(self, damage: Damage) -> Damage:
        """Return a damage with what was made of the file, and what makes it anew."""
        path = Path(damage.file)
        made = self.of(path)
        known = stage_of(self._root, path)
        if damage.remedy or known is None:
            return replace(damage, dependents=made)
        (stage, fields), command, more = known, "", {}
        if stage.name == "build":
            directory = self._dataset(path)
            if directory is not None and self._datasets[directory].get("family") in RECIPES:
                command = build_command(directory, self._root)
        elif stage.name == "filter" and fields["profile"] not in shipped_profiles():
            more["profile"] = f"{fields['profile']}.toml"  # the file that has it is the user's
        elif "dataset" not in fields and "repo" in fields:
            proved = self._made_of(STAGES["verify"], {"repo": fields["repo"]}, "")
            named = f"on the dataset of {fields['repo']}"
            more["dataset"] = shlex.quote(str(proved[0])) if proved else named
        remedy = remedy_for(self._root, path, command, **more)
        return replace(damage, dependents=made, remedy=remedy)

    def _dataset(self, path: Path) -> Path | None:
        return next((folder for folder in path.parents if folder in self._datasets), None)

    def _fields(self, directory: Path) -> Fields:
        """Return the fields in the paths of what is made of a dataset."""
        family = self._datasets[directory].get("family", directory.name)
        return {"dataset": directory.name, "task": str(family)}

    def _made_of(self, stage: Stage, fields: Fields, file: str) -> list[Path]:
        """Return the datasets that record a file of a stage among their inputs.

        It is one of a repository, rules and a profile where its fields say so.
        """
        name = stage.named.format(file=file, **fields)

        def is_of(source: Mapping[str, Any], family: object) -> bool:
            is_proved = name == STAGES["verify"].named and family == _PROVED
            return (
                fields.get("repo") in (None, str(source.get("repo")).lower())
                and ("rules" not in fields or source.get("rules") in (None, fields["rules"]))
                and (is_proved or name in source.get("inputs", {}))
            )

        return [
            directory
            for directory, facts in self._datasets.items()
            if fields.get("project") in facts.get("corrections", {})
            or (
                fields.get("profile") in (None, facts.get("profile", {}).get("name"))
                and any(is_of(source, facts.get("family")) for source in facts.get("sources", ()))
            )
        ]

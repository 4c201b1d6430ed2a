"""Records of instances whose tests were run: what the runs prove, and every log beside it.

WORKSPACE/verification/OWNER/NAME/ISSUE-PULL/
├── record.json      the verdict with all that it rests on, and the digests of the files beside it
├── build.log        what building the environment printed
├── network.jsonl    each request of building, to the package index or refused
└── after-1.log ...  what each run of the tests printed, with its report beside it

"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import orjson

from goldpan.code.patch import split_patch
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.locks import hold_lock
from goldpan.core.parallel.engine import open_engine
from goldpan.core.result import ID_IN_JSON
from goldpan.core.settings.config import repository_name
from goldpan.core.storage.sealed import file_digest, sealed_json, stored_json
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, write_whole
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.execution.checkout import make_accessible
from goldpan.execution.command import CommandLimits
from goldpan.execution.isolation import IsolationName
from goldpan.execution.network import NetworkName
from goldpan.execution.proof import Proof, Verdict
from goldpan.execution.recipe import load_recipes

J = TypeVar("J")
T = TypeVar("T")


class EndedError(Exception):
    """The verdict is clear before all runs were made."""

    def __init__(self, verdict: Verdict, detail: str = "") -> None:
        super().__init__(verdict)
        self.verdict, self.detail = verdict, detail


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a run of the tests that are not the usual ones."""

    variables: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    """A command that runs the one behind it, such as one that binds it to a processor."""
    seconds: float | None = None
    """A lower limit of time."""


USUAL = Conditions()


RECORD = "record.json"
FILES = "files"
"""The member of a record that has the digests of what lies beside it."""
_SECONDS = "seconds"
_PACKAGES = ".packages"
ALL_TESTS = "all_tests"
"""The member of an environment that says that all tests ran."""
BROKE_OFF = "broke_off"
"""The member that says that the runner fails with the fix, though no test does."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_VERSION = 12
"""Raised where the same instance and settings would give another record."""


@dataclass(frozen=True, slots=True)
class FixInstance:
    """A fix with the tests that it brings, in SWE-bench's terms."""

    id: str
    repo: str
    issue: int
    pull: int
    base_commit: str
    patch: str = field(repr=False)
    test_patch: str = field(repr=False)
    test_files: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of what is run: another fix of the same issue has another."""
        parts = [self.repo.lower(), self.base_commit, self.patch, self.test_patch, *self.test_files]
        return _digest(parts)


def instance_of(row: Mapping[str, Any]) -> FixInstance:
    """Return what is run of a row of the family issue-resolution.

    Raises `UsageError` for a row that names no repository, commit or path within one, or whose
    patches are no git diffs: anybody may have built the dataset, and these become paths and
    arguments.
    """
    for name, is_right in (
        ("repo", repository_name(str(row["repo"])) == row["repo"]),
        ("base_commit", bool(_COMMIT.fullmatch(str(row["base_commit"])))),
        ("patch", _is_git_diff(row["patch"])),
        ("test_patch", _is_git_diff(row["test_patch"])),
        ("test_files", all(map(_is_inside, row["test_files"]))),
    ):
        if not is_right:
            raise UsageError(
                f"{row['id']} has the {name} {str(row[name])[:100]!r}, which is not one",
                "Build the dataset again with goldpan build issue-resolution",
            )
    texts = {name: str(row[name]) for name in ("id", "repo", "base_commit", "patch", "test_patch")}
    issue, pull = int(row["issue"]), int(row["pull"])
    return FixInstance(**texts, issue=issue, pull=pull, test_files=tuple(row["test_files"]))


def _is_git_diff(patch: object) -> bool:
    with suppress(ValueError):
        split_patch(str(patch))
        return True
    return False


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts and bool(pure.name)


@dataclass(frozen=True, slots=True)
class TrialSettings(CommandLimits):
    """How the tests of instances are run; part of each record.

    The limits are those of one run of the tests, and of one step of building.
    """

    repeats: int = 3
    """How often the tests run in each state that counts."""
    isolation: IsolationName = "auto"
    image: str = ""
    """The image of a container engine."""
    network: NetworkName = "index"
    """Network access of building: the package index alone, or all that this machine reaches."""


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One instance whose tests are run; it travels to other processes and machines."""

    workspace: WorkspaceLayout
    instance: FixInstance
    settings: TrialSettings
    recipes: tuple[Path, ...] = ()
    """The user's own recipes, tried before the shipped ones."""
    again: bool = False
    """True where it is run although its outcome is known."""

    def __str__(self) -> str:
        return self.instance.id


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """The outcome of one instance."""

    instance: FixInstance = field(metadata=ID_IN_JSON)
    proof: Proof
    detail: str
    """The failure, or the log that shows it; empty where nothing failed. Logs hold times and paths
    of a machine, so none of their text is here."""
    digest: str
    """SHA-256 of what the record says, but for its logs: the same run gives the same one."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Seconds taken to `build` and to run the `tests`; empty where it ended early."""

    @property
    def takes_all(self) -> bool:
        """True where all tests ran, for those of the changed files could not show the fix."""
        return bool(self.environment.get(ALL_TESTS))


@contextmanager
def hold_verification(workspace: WorkspaceLayout) -> Iterator[None]:
    """Keep other processes from running tests in this workspace, and packages until the end.

    They share records and logs. Raises `WorkspaceError` if one does.
    """
    folder = workspace.root / "verification"
    make_directory(folder)
    busy = WorkspaceError(
        f"Another goldpan is running tests in {workspace.root}",
        "Wait for it, or use another --workspace",
    )
    packages = folder / _PACKAGES
    with hold_lock(folder / "lock", busy):
        try:
            _remove(packages)  # of a run that was killed
            yield
        finally:
            _remove(packages)


def run_trials(
    workspace: WorkspaceLayout,
    work: Callable[[J], T],
    jobs: Sequence[J],
    execution: Execution,
    reporter: Reporter,
) -> Iterator[T]:
    """Yield the result of each job that runs tests, in order, however they are spread."""
    with (
        hold_verification(workspace),
        open_engine(execution) as running,
        reporter.task("Running tests", len(jobs)) as task,
    ):
        for result in running.map(work, jobs):
            yield result
            task.advance()


def _remove(folder: Path) -> None:
    if folder.exists():
        make_accessible(folder)
        shutil.rmtree(folder, ignore_errors=True)


def package_cache(workspace: WorkspaceLayout, repo: str) -> Path:
    """Return where the packages of a repository lie while tests run: no two share one."""
    return workspace.root / "verification" / _PACKAGES / repo.lower()


def record_directory(workspace: WorkspaceLayout, instance: FixInstance) -> Path:
    """Return where the record and the logs of an instance lie."""
    folder = workspace.root / "verification" / instance.repo.lower()
    return folder / f"{instance.issue}-{instance.pull}"


def records_digest(workspace: WorkspaceLayout, repo: str) -> str | None:
    """Return the SHA-256 over the records of a repository with their logs, None without any."""
    folder = workspace.root / "verification" / repo.lower()
    paths = sorted(folder.glob(f"*/{RECORD}"))
    lines = [f"{path.parent.name} {file_digest(path)}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else None


def run_digest(settings: TrialSettings, own_recipes: Sequence[Path]) -> str:
    """Return the SHA-256 of how tests are run: settings, and recipes by name with their digests."""
    recipes = {recipe.name: recipe.digest for recipe in load_recipes(own_recipes)}
    return _digest([_VERSION, asdict(settings), dict(sorted(recipes.items()))])


def write_record(
    directory: Path,
    instance: FixInstance,
    run: str,
    proof: Proof,
    detail: str,
    environment: Mapping[str, Any],
    seconds: Mapping[str, float],
) -> TrialRecord:
    """Write the record of an instance, whole or not at all, and return it."""
    named = ("id", "repo", "issue", "pull", "base_commit")
    plain = {
        **{name: getattr(instance, name) for name in named},
        "instance": instance.digest,
        "run": run,
        **asdict(proof),
        "detail": detail,
        "environment": dict(environment),
    }
    keep_record(directory / RECORD, {**plain, _SECONDS: dict(seconds)})
    return TrialRecord(instance, proof, detail, _digest(plain), environment, seconds)


def keep_record(path: Path, plain: Mapping[str, Any]) -> None:
    """Write what came of runs, with the digests of the files beside it."""
    files = seal_files(path.parent, path.name)
    write_whole(path, sealed_json({**plain, FILES: files}))


def kept_record(path: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `keep_record` wrote, empty unless it and its files are whole and `about` this."""
    plain = stored_json(path)
    is_whole = plain.items() >= about.items() and not changed_files(path.parent, path.name)
    return plain if is_whole else {}


def seal_files(directory: Path, record: str) -> dict[str, str]:
    """Return the digests of the logs and reports beside a record, by name."""
    files = (path for path in directory.iterdir() if path.is_file() and path.name != record)
    return {path.name: file_digest(path) for path in sorted(files)}


def changed_files(directory: Path, record: str) -> list[tuple[Path, str]]:
    """Return the files of a run that are not as it left them, and why, its record first."""
    path = directory / record
    files = stored_json(path).get(FILES)
    if not isinstance(files, dict):
        return [(path, "it was changed after it was written")]
    present = seal_files(directory, record)
    return [
        (
            directory / name,
            f"{record} records another digest"
            if name in present
            else f"{record} names it, and it is gone",
        )
        for name, digest in files.items()
        if present.get(name) != digest
    ]


def read_record(
    directory: Path, instance: FixInstance, run: str | None = None
) -> TrialRecord | None:
    """Return the record of an instance, None where there is none of this fix, or of this run.

    A damaged record counts as none: running the tests again makes it anew.
    """
    plain = stored_json(directory / RECORD)
    if plain.get("instance") != instance.digest or run not in (None, plain.get("run")):
        return None
    try:
        lists = (each.name for each in fields(Proof) if each.name != "verdict")
        proof = Proof(plain["verdict"], *(tuple(plain[name]) for name in lists))
        digest = _digest({key: plain[key] for key in plain if key not in (FILES, _SECONDS)})
        seconds = dict(plain.get(_SECONDS, {}))  # records of before 2026-11 have none
        return TrialRecord(instance, proof, plain["detail"], digest, plain["environment"], seconds)
    except (KeyError, TypeError):  # without a digest, so another wrote it
        return None


def _digest(plain: object) -> str:
    return hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()

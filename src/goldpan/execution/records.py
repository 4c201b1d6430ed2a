"""What is kept of each instance whose tests were run: a record, and every log beside it.

WORKSPACE/verification/OWNER/NAME/ISSUE-PULL/
├── record.json      the verdict with all that it rests on, and the digests of the files beside it
├── build.log        what building the environment printed
├── network.jsonl    each request that building made to the package index, or elsewhere in vain
└── after-1.log ...  what each run of the tests printed, with its report beside it
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from goldpan.core.config import repository_name
from goldpan.core.errors import DamagedError, UsageError, WorkspaceError
from goldpan.core.sealed import file_digest, read_json, sealed_json
from goldpan.core.workspace import Workspace, hold_lock, make_directory, write_whole
from goldpan.execution.isolation import IsolationName
from goldpan.execution.network import NetworkName
from goldpan.execution.outcome import Proof

RECORD = "record.json"
FILES = "files"
"""The member of a record that has the digests of what lies beside it."""
_SECONDS = "seconds"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_VERSION = 5
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

    Raises `UsageError` for a row that names no repository, commit or path within one: the dataset
    may be of others, and these become paths and arguments.
    """
    for name, right in (
        ("repo", repository_name(str(row["repo"])) == row["repo"]),
        ("base_commit", bool(_COMMIT.fullmatch(str(row["base_commit"])))),
        ("test_files", all(map(_is_inside, row["test_files"]))),
    ):
        if not right:
            raise UsageError(
                f"{row['id']} has the {name} {str(row[name])[:100]!r}, which is not one",
                "Build the dataset again with goldpan build issue-resolution",
            )
    return FixInstance(
        str(row["id"]),
        str(row["repo"]),
        int(row["issue"]),
        int(row["pull"]),
        str(row["base_commit"]),
        str(row["patch"]),
        str(row["test_patch"]),
        tuple(row["test_files"]),
    )


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts and bool(pure.name)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the tests of instances are run; part of each record."""

    repeats: int = 3
    """How often the tests run in each state that counts."""
    seconds: float = 1_800
    """The most seconds of one run of the tests, and of one step of building."""
    memory: int = 8 << 30
    """The most bytes of one process."""
    processes: int = 512
    disk: int = 16 << 30
    """The most bytes that one run, or one step of building, adds to its directories."""
    isolation: IsolationName = "auto"
    image: str = ""
    """The image of a container engine."""
    network: NetworkName = "index"
    """What building reaches: the package index alone, or all that this machine reaches."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """The outcome of one instance."""

    instance: FixInstance
    proof: Proof
    detail: str
    """What failed, or which log tells; empty where nothing did. Logs hold times and paths of a
    machine, so none of their text is here."""
    digest: str
    """SHA-256 of what the record says, but for its logs: the same run gives the same one."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    """What it took, to `build` and to run the `tests`; empty where it ended early."""


@contextmanager
def hold_verification(workspace: Workspace) -> Iterator[None]:
    """Keep other processes from running tests in this workspace meanwhile.

    They share records, logs and package caches. Raises `WorkspaceError` if one does.
    """
    folder = workspace.root / "verification"
    make_directory(folder)
    busy = WorkspaceError(
        f"Another goldpan is running tests in {workspace.root}",
        "Wait for it, or use another --workspace",
    )
    with hold_lock(folder / "lock", busy):
        yield


def record_directory(workspace: Workspace, repo: str, issue: int, pull: int) -> Path:
    """Return where the record and the logs of an instance lie."""
    return workspace.root / "verification" / repo.lower() / f"{issue}-{pull}"


def records_digest(workspace: Workspace, repo: str) -> str | None:
    """Return the SHA-256 over the records of a repository with their logs, None without any."""
    folder = workspace.root / "verification" / repo.lower()
    paths = sorted(folder.glob(f"*/{RECORD}"))
    lines = [f"{path.parent.name} {file_digest(path)}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else None


def run_digest(settings: Settings, recipes: Mapping[str, str]) -> str:
    """Return the SHA-256 of how tests are run: settings, and recipes by name with their digests."""
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
    plain = {
        "id": instance.id,
        "repo": instance.repo,
        "issue": instance.issue,
        "pull": instance.pull,
        "base_commit": instance.base_commit,
        "instance": instance.digest,
        "run": run,
        **asdict(proof),
        "detail": detail,
        "environment": dict(environment),
    }
    sealed = {**plain, _SECONDS: dict(seconds), FILES: seal_files(directory, RECORD)}
    write_whole(directory / RECORD, sealed_json(sealed))
    return TrialRecord(instance, proof, detail, _digest(plain), environment, seconds)


def seal_files(directory: Path, record: str) -> dict[str, str]:
    """Return the digests of the logs and reports beside a record, by name."""
    files = (path for path in directory.iterdir() if path.is_file() and path.name != record)
    return {path.name: file_digest(path) for path in sorted(files)}


def changed_files(directory: Path, record: str) -> list[tuple[Path, str]]:
    """Return the files of a run that are not as it left them, and why, its record first."""
    path = directory / record
    try:
        files = dict(read_json(path)[FILES])
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        return [(path, "it is not as it was written")]
    lying = seal_files(directory, record)
    return [
        (
            directory / name,
            f"{record} records another digest"
            if name in lying
            else f"{record} names it, and it is gone",
        )
        for name, digest in files.items()
        if lying.get(name) != digest
    ]


def read_record(
    directory: Path, instance: FixInstance, run: str | None = None
) -> TrialRecord | None:
    """Return the record of an instance, None where there is none of this fix, or of this run.

    A damaged record counts as none: running the tests again makes it anew.
    """
    path = directory / RECORD
    try:
        plain = read_json(path)
        if plain["instance"] != instance.digest or run not in (None, plain["run"]):
            return None
        lists = ("fail_to_pass", "pass_to_pass", "broken", "flaky")
        proof = Proof(plain["verdict"], *(tuple(plain[name]) for name in lists))
        said = {name: value for name, value in plain.items() if name not in (FILES, _SECONDS)}
        seconds = dict(plain.get(_SECONDS, {}))  # records of before 2026-11 have none
        environment = plain["environment"]
        return TrialRecord(instance, proof, plain["detail"], _digest(said), environment, seconds)
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def _digest(plain: object) -> str:
    return hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()

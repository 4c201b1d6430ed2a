"""Provenance: the origin of a dataset.

Nothing in it depends on when, where or by whom the dataset was built: times are those of the
mined replies, names of files are relative. So building twice gives the same bytes.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from goldpan._version import __version__
from goldpan.core.errors import DatasetError, UsageError, choices, suggested
from goldpan.core.storage.sealed import file_digest, read_json, sealed_json
from goldpan.core.storage.workspace import DEFAULT_RULES, WorkspaceLayout
from goldpan.datasets.splits import SplitPlan

PROVENANCE = "provenance.json"
_FORMAT = 1
_BATCH = 64


@dataclass(frozen=True, slots=True)
class MinedSource:
    """A mined repository that a dataset was made of."""

    repo: str
    mined_from: datetime | None = None
    """When the first archived reply came."""
    mined_until: datetime | None = None
    """When the last one came."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the inputs, by names that hold on any machine: raw/run-0001.zst; tables over all
    that was judged; verdicts, duplicates, reviews and annotations/PROJECT of the judgments;
    verification over the records of tests with their logs; of a history the commit of its default
    branch (git HEAD), and over all its refs (git refs)."""
    license: str | None = None
    """The license of the repository, by its SPDX identifier."""
    license_source: str | None = None
    """The source of the license: GitHub, backup or stated by the user; None without one."""
    rules: str | None = None
    """The pairing rules by which its fix pairs were made; None where it was not paired."""
    history: str | None = None
    """The address that the code's history was fetched from, else folder or bundle."""
    via: str | None = None
    """How it was mined: graphql, rest or backup."""
    complete: bool | None = None
    """True where all that GitHub announced is stored, as `goldpan status` tells it."""
    announced: Mapping[str, int | None] = field(default_factory=dict)
    """How many of each kind GitHub announced; null where it did not say."""
    stored: Mapping[str, int] = field(default_factory=dict)
    """How many of each kind are stored."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a builder's rows; values are plain JSON data."""

    sources: tuple[MinedSource, ...] = ()
    profile: Mapping[str, Any] = field(default_factory=dict)
    """The filter profile with all its settings."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The digest of each criterion's settings and version."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings of the builder."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of the packages on which the rows depend."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Subjects that passed the filters and gave no row, by reason, and the like."""
    redactions: Mapping[str, int] = field(default_factory=dict)
    """Redactions in texts, by kind."""
    reviews: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The reviewers, by review: models with prompt and samples, people with their agreement."""
    pairing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The settings of the pairing rules, by name."""
    corrections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Corrections of labels by people, by annotation project; see `Corrections`."""
    plugins: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each plugin on which the rows depend, by its name."""


_WHERE_ANY = ("corrections", "plugins")
"""The members that most datasets have no use for."""


def write_provenance(
    directory: Path, provenance: Provenance, about: Mapping[str, Any], files: Mapping[str, Any]
) -> None:
    """Write `provenance.json` beside the files of a dataset, with further members in `about`."""
    plain = {item.name: getattr(provenance, item.name) for item in fields(provenance)}
    written = {
        **about,
        **{name: value for name, value in plain.items() if value or name not in _WHERE_ANY},
        "sources": list(map(asdict, provenance.sources)),
        "goldpan": {"format": _FORMAT, "version": __version__},
        "versions": {"pyarrow": pa.__version__, **provenance.versions},
        "files": dict(files),
    }
    (directory / PROVENANCE).write_bytes(sealed_json(written))


def read_provenance(directory: Path) -> dict[str, Any]:
    """Read the `provenance.json` of a dataset; raises `DatasetError` where it is none.

    Raises `UsageError` where the directory is missing.
    """
    path = directory / PROVENANCE
    remedy = "Give the directory of a dataset that goldpan build wrote"
    try:
        read = read_json(path)
    except FileNotFoundError:
        if directory.is_dir():
            raise DatasetError(f"{directory} holds no {PROVENANCE}", remedy) from None
        beside = directory.parent.iterdir() if directory.parent.is_dir() else ()
        names = sorted(folder.name for folder in beside if (folder / PROVENANCE).exists())
        near = suggested(directory.name, names)
        others = f"Choose {choices(names)}, or give" if names else "Give"
        raise UsageError(
            f"There is no dataset {directory}{near}",
            f"{others} the directory of a dataset that goldpan build wrote",
        ) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise DatasetError(f"{path} cannot be read ({error})", "Build the dataset again") from None
    program = read.get("goldpan") if isinstance(read, dict) else None
    if not isinstance(program, dict) or not isinstance(read.get("files"), dict):
        raise DatasetError(f"{path} was not written by Goldpan", remedy)
    if program.get("format") != _FORMAT:
        raise DatasetError(
            f"{path} was written by Goldpan {program.get('version')} in another format",
            "Build the dataset again with this version",
        )
    return dict(read)


def shard_paths(directory: Path, split: str = "*") -> list[Path]:
    """Return the Parquet files of a split, or all, after checking them against the provenance.

    A directory without `provenance.json` is taken as it is. Raises `DatasetError` that names a
    file that is damaged, gone or of elsewhere.
    """
    pattern = f"{split}-*.parquet" if split != "*" else "*.parquet"
    paths = sorted((directory / "data").glob(pattern))
    if not (directory / PROVENANCE).exists():
        return paths
    contents = {
        directory / name: about["sha256"]
        for name, about in read_provenance(directory)["files"].items()
        if fnmatch(name, f"data/{pattern}")
    }
    remedy = "Restore the file from a copy, or build the dataset again"
    for path in sorted({*contents, *paths}):
        if path not in contents:
            raise DatasetError(f"{path} is not one of the files that {PROVENANCE} names", remedy)
        if not path.exists():
            raise DatasetError(f"{path} is gone, though {PROVENANCE} names it", remedy)
        if file_digest(path) != contents[path]:
            raise DatasetError(f"{path} is damaged: {PROVENANCE} records another digest", remedy)
    return paths


def stored_rows(directory: Path, split: str = "*") -> Iterator[dict[str, Any]]:
    """Yield the rows of a split, or all, a few in memory at a time.

    Raises `DatasetError` as `shard_paths` does, and for a file that cannot be read.
    """
    for path in shard_paths(directory, split):
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(_BATCH):
                    yield from batch.to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(f"{path} cannot be read ({error})", "Restore the file") from None


def finished_datasets(workspace: WorkspaceLayout) -> list[Path]:
    """Return the directories of the datasets in a workspace, sorted."""
    return sorted(path.parent for path in (workspace.root / "datasets").glob(f"*/{PROVENANCE}"))


def build_options(directory: Path) -> str:
    """Return a command's options for the rules and the profile of a dataset."""
    try:
        rules, profile = rules_and_profile(read_provenance(directory))
    except (DatasetError, UsageError):
        return ""
    options = [f" --profile {profile}"] if profile else []
    options += [f" --rules {name}" for name in rules if name != DEFAULT_RULES]
    return "".join(options)


def build_command(directory: Path, workspace: Path, gold: Path | None = None) -> str:
    """Return the command that builds a dataset as it was, with a gold set on its card."""
    provenance = read_provenance(directory)
    settings = provenance["settings"]
    words = [option for source in provenance["sources"] for option in ("--repo", source["repo"])]
    for option in ("split", "seed", "answer", "limit", "texts"):
        if settings.get(option) not in (None, "none", 0, "as-mined"):
            words += [f"--{option}", str(settings[option])]
    for option, key in (("require", "reviews"), ("source", "sources")):
        words += [word for name in settings.get(key, ()) for word in (f"--{option}", name)]
    words += ["--output", str(directory), *([] if gold is None else ["--gold", str(gold)])]
    words += ["--workspace", str(workspace)]
    return f"goldpan build {provenance['family']}{build_options(directory)} {shlex.join(words)}"


def rules_and_profile(provenance: dict[str, Any]) -> tuple[list[str], str | None]:
    """Return the names of the pairing rules and of the filter profile behind a dataset."""
    rules = {source["rules"] for source in provenance.get("sources", ()) if source.get("rules")}
    return sorted(rules), provenance.get("profile", {}).get("name")


def content_digest(provenance: Mapping[str, Any]) -> str:
    """Return the digest of the rows that the card's citation names, out of the provenance."""
    files = {
        name: about["sha256"]
        for name, about in provenance["files"].items()
        if name.startswith("data/")
    }
    splits = provenance.get("splits", {})
    try:
        order = SplitPlan.parse(str(splits.get("plan")), int(splits.get("seed", 0))).names
    except UsageError:
        order = ()

    def order_of(name: str) -> tuple[int, str]:
        split = name.removeprefix("data/").rsplit("-", 3)[0]
        return (order.index(split) if split in order else len(order), name)

    whole = "".join(files[name] for name in sorted(files, key=order_of))
    return hashlib.sha256(whole.encode()).hexdigest()[:12]

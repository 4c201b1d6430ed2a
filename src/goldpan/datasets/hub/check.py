"""Checks a dataset before it is published: its files, licenses, texts and paths.

The card is as it was written with the rows, by its digest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError
from goldpan.core.storage.sealed import file_digest
from goldpan.datasets.card import CARD
from goldpan.datasets.croissant import CROISSANT
from goldpan.datasets.examples import known_family
from goldpan.datasets.family import Column, Family
from goldpan.datasets.licenses import UNKNOWN, spdx
from goldpan.datasets.manifest import Origin
from goldpan.datasets.provenance import PROVENANCE, read_provenance

_BATCH = 64
_MOST_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class PublishProblem:
    """Why a dataset should not be published as it is."""

    file: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}: {self.cause}. {self.remedy}."


def _check_texts(directory: Path, family: Family, shards: list[str]) -> Iterator[PublishProblem]:
    """Find secrets in all texts, and personal data in prose: code has to stay as it was."""
    columns = [column for column in family.columns if column.holds != "fact"]
    names = ["id", *(column.name for column in columns)]
    count = 0
    for shard in shards:
        for batch in pq.ParquetFile(directory / shard).iter_batches(_BATCH, columns=names):
            for column in columns:
                for index, kind in _findings(batch.column(column.name), column):
                    count += 1
                    if count <= _MOST_FINDINGS:
                        cause = f"{batch['id'][index]} has {kind} in its {column.name}"
                        yield PublishProblem(shard, cause, "Redact or leave out the example")
    if count > _MOST_FINDINGS:
        cause = f"{count - _MOST_FINDINGS} more texts hold what should not be public"
        yield PublishProblem("data", cause, "Redact or leave out the examples")


def _check_further(directory: Path, names: list[str]) -> Iterator[PublishProblem]:
    """Find secrets and personal data in further files of a dataset, which are UTF-8 text."""
    from goldpan.text.redaction import find_private

    for name in names:
        text = (directory / name).read_text(encoding="utf-8", errors="replace")
        for kind in sorted({finding.kind for finding in find_private(text)}):
            yield PublishProblem(name, f"it holds {kind}", "Leave the example out that it is of")


def _findings(values: pa.Array, column: Column) -> list[tuple[int, str]]:
    """Return each row's number with each kind that was found in it, once and sorted."""
    # Loading the detectors takes a second, which only this check has to wait for.
    from goldpan.text.redaction import SECRETS_ONLY, PrivateRules, find_private, may_be_private

    texts = [(at, text) for at, value in enumerate(values.to_pylist()) for text in _texts(value)]
    searched = pa.array([text for _, text in texts], pa.string())
    rules = SECRETS_ONLY if column.holds == "code" else PrivateRules()
    likely = may_be_private(searched, rules).to_pylist()
    return sorted(
        {
            (at, finding.kind)
            for (at, text), is_likely in zip(texts, likely, strict=True)
            if is_likely
            for finding in find_private(text, rules)
        }
    )


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)


_BUILD = "Build the dataset again"


def check_dataset(
    directory: Path, *, allowed_licenses: Collection[str] | None = None
) -> list[PublishProblem]:
    """Return all reasons not to publish a dataset; none when all is well.

    `allowed_licenses` are SPDX identifiers, and ``unknown`` for repositories without a known
    license; None allows every known license.
    """
    try:
        provenance = read_provenance(directory)
    except DatasetError as error:
        return [PublishProblem(PROVENANCE, error.problem, error.remedy)]
    shards = [name for name in provenance["files"] if name.startswith("data/")]
    schemas = {shard: _read_schema(directory / shard) for shard in shards}
    known = next((one for one in schemas.values() if isinstance(one, pa.Schema)), None)
    family = known_family(provenance, known)
    if family is None:
        cause = f"this version of Goldpan does not know the family {provenance.get('family')!r}"
        return [
            PublishProblem(PROVENANCE, cause, "Publish with the version that built the dataset")
        ]
    problems = list(_check_files(directory, provenance["files"]))
    if any(problem.file != CARD for problem in problems) or not (directory / CARD).is_file():
        return problems
    for shard, schema in schemas.items():
        if schema != family.schema:
            strange = f"its columns are not those of {family.name}"
            cause = strange if isinstance(schema, pa.Schema) else f"it cannot be read ({schema})"
            problems.append(PublishProblem(shard, cause, _BUILD))
    if any(problem.file != CARD for problem in problems):
        return problems
    texts = [name for name in provenance["files"] if name not in shards]
    origins = [Origin(**origin) for origin in provenance["repositories"]]
    further = [name for name in texts if name not in (CARD, CROISSANT)]
    return [
        *problems,
        *_check_sources(provenance),
        *_check_licenses(origins, allowed_licenses),
        *_check_paths(directory, [*texts, PROVENANCE]),
        *_check_texts(directory, family, shards),
        *_check_further(directory, further),
    ]


def _read_schema(path: Path) -> pa.Schema | Exception:
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        return error


def _check_sources(provenance: Mapping[str, Any]) -> Iterator[PublishProblem]:
    """Find sources of tasks that may not be copied, by the tasks in the builders' settings."""
    settings = provenance.get("settings", {})
    for task in (settings.get("task"), *settings.get("tasks", ())):
        source = task.get("source") if isinstance(task, Mapping) else None
        if isinstance(source, Mapping) and source.get("access") == "no-copy":
            cause = f"its source, {source.get('title')}, may not be copied"
            yield PublishProblem(
                "data", cause, "Publish nothing of it; name the source to people instead"
            )


def _check_files(directory: Path, files: Mapping[str, Any]) -> Iterator[PublishProblem]:
    problems = {
        path.relative_to(directory).as_posix(): path
        for path in sorted(directory.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }
    for name in sorted(files.keys() - problems.keys()):
        yield PublishProblem(name, f"it is missing, though {PROVENANCE} names it", _BUILD)
    for name in (CARD, "data"):
        if not any(file == name or file.startswith(f"{name}/") for file in files):
            yield PublishProblem(PROVENANCE, f"it names no {name}", _BUILD)
    for name, path in problems.items():
        if path.is_symlink() or not path.is_file():
            yield PublishProblem(
                name, "it is a link or not a regular file", "Remove it, or build again"
            )
        elif name == PROVENANCE:
            continue
        elif name not in files:
            yield PublishProblem(name, f"{PROVENANCE} does not name it", "Move it elsewhere")
        elif file_digest(path) != files[name]["sha256"]:
            yield PublishProblem(name, f"it was changed since {PROVENANCE} was written", _BUILD)


def _check_licenses(
    origins: Sequence[Origin], allowed: Collection[str] | None
) -> Iterator[PublishProblem]:
    allow = None if allowed is None else {(spdx(name) or name).lower() for name in allowed}
    for origin in origins:
        identifier = spdx(origin.license)
        name = (identifier or UNKNOWN).lower()
        if name in allow if allow is not None else identifier:
            continue
        what = f"{origin.rows} examples are" if origin.rows else "texts that others quote are"
        cause = f"{what} of {origin.repo}, whose license is {origin.license or 'not known'}"
        if allow is not None and identifier:
            cause += " and not in the allow-list"
        remedy = f"Leave {origin.repo} out, or allow {identifier or UNKNOWN} if you may publish it"
        yield PublishProblem("data", cause, remedy)


def _check_paths(directory: Path, names: list[str]) -> Iterator[PublishProblem]:
    root = directory.resolve()
    deep = [folder for folder in (root, *root.parents[:2], Path.cwd()) if len(folder.parts) > 2]
    for name in names:
        text = (directory / name).read_text(encoding="utf-8", errors="replace")
        for folder in sorted({f"{folder}/" for folder in (*deep, Path.home())} - {"//"}):
            if folder in text:
                yield PublishProblem(name, f"it names the path {folder} of this machine", _BUILD)

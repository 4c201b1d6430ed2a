"""Files that carry the SHA-256 of themselves, and what each stage read and wrote by these digests.

The digest stands in the file's own metadata (a key of a Parquet footer, a member of a JSON
object) and is that of the file with zeros in its place. So a file and its digest are published
by one rename, go wherever the file goes, and no second file can disagree after a kill.
Files of others, without a digest, are taken as they are.

``STAGE.json`` beside a stage's tables names the digests of what it read and of what it wrote, its
lineage; ``pair.RULES`` is the stage that made the pairs by these rules. Whoever takes the tables
over sees by it that a run was stopped while it replaced them, or that they were made of others
than those that are there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import orjson

from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.storage.workspace import write_whole

KEY = "goldpan.sha256"
_MARK = "goldpan-seal:"
EMPTY = _MARK + "0" * 64
"""Placeholder of the digest while it is computed."""
_BINARY = re.compile(rb"goldpan\.sha256\x18\x4dgoldpan-seal:([0-9a-f]{64})")
_TEXT = re.compile(rb'"goldpan\.sha256": ?"goldpan-seal:([0-9a-f]{64})"')
_SIGNS = (KEY.encode(), _MARK.encode())
_SIGN_OF_KEY = b"goldpan.sha256\x18\x4d"
_TAIL = 8
_BLOCK = 1 << 20
_ZEROS = b"0" * 64
Value = TypeVar("Value")


def seal_parquet(path: Path) -> None:
    """Put a Parquet file's digest into its metadata, which hold `KEY` and `EMPTY` already."""
    position = _place_in_parquet(path)
    if position is None:
        raise ValueError(f"{path} has no place for its digest")
    digest = _digest(path, position)
    with path.open("r+b") as file:
        file.seek(position)
        file.write(digest.encode())


def once_a_change(read: Callable[[Path], Value]) -> Callable[[Path], Value]:
    """Have a function of a file read it once, and again only when it changed."""

    @lru_cache(maxsize=16_384)
    def of_state(path: Path, *_: int) -> Value:
        return read(path)

    @wraps(read)
    def of_path(path: Path) -> Value:
        status = path.stat()
        return of_state(path, status.st_size, status.st_mtime_ns, status.st_ino)

    return of_path


@once_a_change
def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@once_a_change
def seal_of_parquet(path: Path) -> str:
    """Return the digest of a Parquet file that is as it was written.

    Raises `DamagedError` for another, `OSError` where it cannot be read.
    """
    position = _place_in_parquet(path)
    if position is None:
        return file_digest(path)
    with path.open("rb") as file:
        file.seek(position)
        stored = file.read(64).decode("ascii")
    if _digest(path, position) != stored:
        raise DamagedError(path)
    return stored


def verify_parquet(path: Path) -> Path:
    """Return a path whose file is as it was written; raises as `seal_of_parquet` does."""
    seal_of_parquet(path)
    return path


def is_sealed(path: Path) -> bool:
    """Tell whether a Parquet file carries its digest."""
    return _place_in_parquet(path) is not None


def sealed_json(value: Mapping[str, Any]) -> bytes:
    """Return a JSON object as a file holds it, indented and sorted, with its digest."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    data = orjson.dumps({**value, KEY: EMPTY}, option=options)
    position = _last(_TEXT, data)
    assert position is not None
    digest = hashlib.sha256(data).hexdigest().encode()
    return data[:position] + digest + data[position + 64 :]


def read_json(path: Path) -> Any:
    """Read a JSON file and check its digest, if it has one, which is left out.

    Raises `DamagedError`, `OSError`, and `orjson.JSONDecodeError` for what is no JSON.
    """
    data = path.read_bytes()
    position = _last(_TEXT, data)
    if position is None:
        if any(sign in data for sign in _SIGNS):
            raise DamagedError(path)
        return orjson.loads(data)
    whole = data[:position] + _ZEROS + data[position + 64 :]
    if hashlib.sha256(whole).hexdigest().encode() != data[position : position + 64]:
        raise DamagedError(path)
    value = orjson.loads(data)
    del value[KEY]
    return value


def stored_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one where none is there, or it is damaged."""
    try:
        value = read_json(path)
    except (OSError, DamagedError, orjson.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def _place_in_parquet(path: Path) -> int | None:
    """Return where a Parquet file's digest stands, None where it has none."""
    with path.open("rb") as file:
        total = file.seek(0, 2)
        file.seek(max(0, total - _TAIL))
        tail = file.read()
        length = int.from_bytes(tail[:4], "little")
        if len(tail) < _TAIL or tail[4:] != b"PAR1" or length + _TAIL > total:
            raise DamagedError(path)
        file.seek(total - _TAIL - length)
        footer = file.read(length)
        file.seek(max(0, total - _BLOCK))
        end = file.read()
    position = _last(_BINARY, footer)
    if position is not None:
        return total - _TAIL - length + position
    if any(sign in footer for sign in _SIGNS) or _SIGN_OF_KEY in end:
        raise DamagedError(path)  # where the footer's own length is wrong, the key lies before it
    return None


def _last(pattern: re.Pattern[bytes], data: bytes) -> int | None:
    """Return where the last digest begins: what users wrote stands before Goldpan's own."""
    position = None
    for match in pattern.finditer(data):
        position = match.start(1)
    return position


def _digest(path: Path, position: int) -> str:
    """Return the SHA-256 of a file with zeros in place of its digest."""
    whole = hashlib.sha256()
    with path.open("rb") as file:
        left = position
        while left and (block := file.read(min(left, _BLOCK))):
            whole.update(block)
            left -= len(block)
        file.seek(position + 64)
        whole.update(_ZEROS)
        while block := file.read(_BLOCK):
            whole.update(block)
    return whole.hexdigest()


_FORMAT = 1


def write_lineage(
    directory: Path,
    stage: str,
    inputs: Mapping[str, Any],
    outputs: Sequence[Path],
    plugins: Mapping[str, str] | None = None,
    rules: Mapping[str, Any] | None = None,
) -> None:
    """Say what a stage made its tables of, by digest; `inputs`, files and plugins by names.

    `rules` are those that made pairs, with what they ask for.
    """
    facts = {
        "format": _FORMAT,
        "inputs": dict(inputs),
        "outputs": {path.name: seal_of_parquet(path) for path in outputs},
        **({"plugins": dict(plugins)} if plugins else {}),
        **({"rules": dict(rules)} if rules else {}),
    }
    write_whole(directory / f"{stage}.json", sealed_json(facts))


def read_lineage(directory: Path, stage: str) -> dict[str, dict[str, Any]]:
    """Return what a stage said of its tables; empty where it said nothing.

    Raises `WorkspaceError` for a file that is damaged.
    """
    path = directory / f"{stage}.json"
    try:
        facts = read_json(path)
        keys = ("inputs", "outputs", *(name for name in ("plugins", "rules") if name in facts))
        return {name: dict(facts[name]) for name in keys}
    except FileNotFoundError:
        return {"inputs": {}, "outputs": {}}
    except (DamagedError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        raise WorkspaceError(f"{path} is damaged", f"Run {_again(directory, stage)}") from None


def check_outputs(directory: Path, stage: str) -> None:
    """Raise `WorkspaceError` where a stage's tables are not all of its last finished run."""
    for name, digest in read_lineage(directory, stage)["outputs"].items():
        if not _is(directory, stage, name, digest):
            raise WorkspaceError(
                f"{directory / name} is not what the last finished {_command(stage)} wrote: "
                "a run was stopped while it replaced the tables, or the file is from elsewhere",
                f"Run {_again(directory, stage)}",
            )


def check_inputs(directory: Path, stage: str) -> None:
    """Raise `WorkspaceError` where a stage read other tables of the directory than are there."""
    for name, digest in read_lineage(directory, stage)["inputs"].items():
        if not _is(directory, "normalize", name, digest):
            raise WorkspaceError(
                f"{directory / name} changed since {_command(stage)} read it",
                f"Run {_again(directory, stage)}",
            )


def _is(directory: Path, maker: str, name: str, digest: str) -> bool:
    """Tell whether a table has a digest; raises `WorkspaceError` where it is damaged."""
    try:
        return seal_of_parquet(directory / name) == digest
    except FileNotFoundError:
        return False
    except DamagedError as error:
        raise WorkspaceError(str(error), f"Run {_again(directory, maker)}") from error


def _command(stage: str) -> str:
    return f"goldpan {stage.partition('.')[0]}"


def _again(directory: Path, stage: str) -> str:
    rules = stage.partition(".")[2]
    again = f"{_command(stage)} --repo {directory.parent.name}/{directory.name}"
    return f"{again} --rules {rules}" if rules else again

"""What a stage read and wrote, told beside its tables, and whether that still holds.

``STAGE.json`` beside a stage's tables names the digests of what it read and of what it wrote;
``pair.RULES`` is the stage that made the pairs by these rules.
Whoever takes the tables over sees by it that a run was stopped while it replaced them, or that
they were made of other tables than those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import WorkspaceError
from goldpan.core.resources import write_file
from goldpan.core.sealed import DamagedError, read_json, seal_of_parquet, sealed_json

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
    unfinished = directory / f"{stage}.json.new"
    write_file(unfinished, sealed_json(facts))
    unfinished.replace(directory / f"{stage}.json")


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

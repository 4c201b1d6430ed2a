"""Values that operations and their stages take: options that always go together, and limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, overload

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from goldpan.core.errors import UsageError

Positive = Annotated[int, Parameter(validator=Number(gte=1))]
"""A whole number of 1 or more."""
Count = Annotated[int, Parameter(validator=Number(gte=0))]
"""A whole number of 0 or more."""
EngineName = Literal["local", "ray"]
IsolationName = Literal["auto", "docker", "podman", "bubblewrap", "none"]
NetworkName = Literal["index", "full"]


@Parameter(name="*", group=Group("Where work is done", sort_key=2))
@dataclass(frozen=True, slots=True)
class Execution:
    """Where work is done.

    Args:
        engine: This machine, or a Ray cluster.
        address: The address of a Ray cluster, HOST:PORT or auto.
        workers: How many processes work at once; 0 is one per core.
    """

    engine: EngineName = "local"
    address: Annotated[str, Parameter(metavar="ADDRESS")] = ""
    workers: Count = 0

    def with_workers(self, default: int) -> Execution:
        """Return it with `default` workers where it names none."""
        return replace(self, workers=self.workers or default)


LOCAL = Execution()
ONE_PROCESS = Execution(workers=1)
ExportName = Literal["swe-bench", "harbor", "inspect", "lm-eval", "alpaca", "chat"]


@Parameter(name="*", group=Group("How tests of repositories run", sort_key=2))
@dataclass(frozen=True, slots=True)
class Sandbox:
    """How tests of repositories run.

    Args:
        isolation: How to isolate the repositories' code; none runs it with your own rights.
        image: The image for docker or podman, with what the tests need.
        recipe: A TOML file that says how to run tests, tried before the shipped ones.
        network: What building reaches: the package index, or all that this machine reaches.
        timeout: The time limit of one run.
        memory: The memory limit of one run.
        disk: The most that one run may write.
    """

    isolation: IsolationName = "auto"
    image: Annotated[str, Parameter(metavar="IMAGE")] = ""
    recipe: Sequence[Path | str] = ()
    network: NetworkName = "index"
    timeout: Annotated[float, Parameter(metavar="SECONDS", validator=Number(gte=1))] = 1_800.0
    memory: Annotated[Positive, Parameter(metavar="GIB")] = 8
    disk: Annotated[Positive, Parameter(metavar="GIB")] = 16


SANDBOX = Sandbox()


def file_paths(files: Path | str | Iterable[Path | str]) -> list[Path]:
    """Return the paths of one file, or of some."""
    return [Path(file) for file in ([files] if isinstance(files, (str, Path)) else files)]


def several(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return what may be given several times: one text, or some."""
    return (value,) if isinstance(value, str) else tuple(value)


@overload
def output_file(option: str, path: None, ending: str = ".html") -> None: ...
@overload
def output_file(option: str, path: Path | str, ending: str = ".html") -> Path: ...
def output_file(option: str, path: Path | str | None, ending: str = ".html") -> Path | None:
    """Return where an option has a file written; `UsageError` for another ending or no folder."""
    from goldpan.core.resources import check_folder

    if path is None:
        return None
    file = Path(path)
    if file.suffix != ending:
        raise UsageError(f"--{option} {file} does not end in {ending}", f"End it in {ending}")
    check_folder(file)
    return file

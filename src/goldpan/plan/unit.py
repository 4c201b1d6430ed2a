"""Units of work: a stage of the pipeline for a repository, or a dataset, evaluation, publishing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from goldpan.core.result import Result
from goldpan.plan.record import Record

Stage = Literal[
    "mine",
    "tasks",
    "pair",
    "clone",
    "duplicates",
    "filter",
    "review",
    "dataset",
    "annotate",
    "verify",
    "evaluate",
    "compare",
    "audit",
    "export",
    "publish",
]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""In the order in which they are run, unless a unit needs one of a later stage."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of work that is run, skipped or reported as one."""

    stage: Stage
    subject: str
    """A repository, or the name of what is made."""
    needs: tuple[str, ...] = ()
    """The units without which it makes no sense, by name."""
    after: tuple[str, ...] = ()
    """The units that are run before it and it can do without, by name."""

    @property
    def name(self) -> str:
        """Its name, such as ``mine/numpy/numpy``."""
        return f"{self.stage}/{self.subject}"


@dataclass(frozen=True, slots=True)
class Cost:
    """What running a unit would take, as far as anything tells; None is unknown."""

    requests: int | None = None
    points: int | None = None
    money: float | None = None
    calls: int | None = None
    """Requests to models."""
    seconds: float | None = None
    bytes: int | None = None
    note: str = ""
    """Why something is unknown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a unit brought."""

    said: str
    made: tuple[Path, ...] = ()
    """Files whose content the unit stands for."""
    kept: tuple[Path, ...] = ()
    """Files and folders that count for its size alone."""
    spent: Mapping[str, float] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    again: bool = False
    """Whether another run may bring what is missing."""
    waits: bool = False
    """Whether nothing that needs the unit is to run while something is missing."""
    facts: Mapping[str, str] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    """What the operation returned, which people may see."""


class Step(ABC):
    """How a unit is run: each is a call of what the command of that name calls."""

    unit: Unit
    owns: ClassVar[bool] = True
    """Whether what it made, changed by others, has to be made again."""

    @property
    def stays(self) -> bool:
        """Whether it runs where the plan is, though others go to a cluster.

        What needs tokens or keys stays with them.
        """
        return False

    @property
    def gpus(self) -> float:
        """How many GPUs of one machine it asks a cluster for, each part for itself."""
        return 0.0

    @property
    def parts(self) -> int:
        """How many parts it has that a cluster may run at once; 0 where it is one."""
        return 0

    def run_part(self, number: int) -> Outcome:
        """Do one part, from 0 on; raises `GoldpanError` where the unit is to fail for it."""
        raise NotImplementedError

    def join(self, parts: Sequence[Outcome]) -> Outcome:
        """Return the outcome of the unit, of those of all its parts."""
        raise NotImplementedError

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Return what the result depends on beside files."""

    @abstractmethod
    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the files that the result depends on."""

    @abstractmethod
    def run(self) -> Outcome:
        """Do it; raises `GoldpanError` where it fails."""

    def price(self) -> Cost:
        """Return what it would cost beyond what the last run tells, and GitHub for mining."""
        return Cost()

    def due(self, record: Record, update: bool) -> str:
        """Return why it has to run though nothing changed here; empty where it has not."""
        return ""

    def prepare(self, record: Record | None) -> None:  # noqa: B027 - most need nothing
        """Keep what a run will replace and needs; done once, also where a run is killed."""

"""A unit of a plan, and the step that it takes: a method's options, what is read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from goldpan._version import __version__
from goldpan.core.result import Line, Result, Title, blocks_of
from goldpan.plan.opened import OpenPlan
from goldpan.plan.record import State, StepResult, digests_of, flat
from goldpan.plan.section import EXECUTION, StageSection, subject_of
from goldpan.workspace.building import builder_method
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.options import options_of
from goldpan.workspace.workspace import Workspace

Results = Sequence[Any]
"""What the calls of a step returned."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a step ended, as far as its results do not tell by their first lines and exit codes."""

    outputs: Iterable[Path] = ()
    """The files that count as what was written: without them the unit is due again."""
    summary: str | None = None
    """A line on the results."""
    missing: tuple[str, ...] | None = None
    again: bool = False
    """True where another run may bring what is missing."""
    repo: str = ""
    """The name under which a mined repository is kept."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a unit does, as the workspace is now: calls of its stage's method."""

    options: Sequence[Mapping[str, Any]] = ({},)
    """Of each call, beside those that the section gives."""
    inputs: Iterable[Path] = ()
    """The files on whose content the result depends."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else it depends on, beside the section: what the names in it stand for."""
    ended: Callable[[Results], Outcome] = lambda _: Outcome()
    prepare: Callable[[], None] = lambda: None
    """Makes ready for the calls."""
    due: str = ""
    """Why it has to run though nothing changed here."""
    command: str = ""
    """The command whose method is called, where it is not the stage's."""
    tells_errors: bool = False
    """True where `ended` tells of the errors of results, one of which else fails the unit."""


Names = Callable[["Unit"], Iterable[str]]


@dataclass(frozen=True)
class Stage:
    """A stage: a table of the file, and the steps of its units."""

    name: str
    heading: str
    """The table of the file, such as ``[[verify]]``."""
    command: str
    """The command whose method is called."""
    step: Callable[[Unit], Step]
    """Returns what a unit does, as the workspace is now."""
    needs: Names = lambda _: ()
    """Returns the units without which one makes no sense, by name."""
    after: Names = lambda _: ()
    """Returns the units that run before one and that it can do without."""
    keys: type[StageSection] = StageSection
    """The keys that no option has."""
    without: tuple[str, ...] = ()
    """The options that the plan itself gives."""
    several: tuple[str, ...] = ()
    """The options of which the file may give more values than the method takes at once."""
    is_of_repository: bool = False
    """True where a unit is a repository, of which the method takes many."""

    def units(self, plan: OpenPlan) -> Iterator[Unit]:
        """Yield the units of a plan: a section, or one with each repository."""
        for place, section in plan.file.by_stage[self.name].items():
            named = plan.file.by_stage["dataset"].get(place[:-1], section)  # of [dataset.publish]
            own = [subject_of(named) or str(place[-1])]
            has_units = self.name != "clone" or section.get("enabled")
            repos = plan.repos if has_units else ()
            for subject in repos if self.is_of_repository else own:
                unit = Unit(plan, self, subject, section)
                yield replace(unit, needs=tuple(self.needs(unit)), after=tuple(self.after(unit)))


@dataclass(frozen=True)
class Unit:
    """A section of a plan, or one with a repository, which becomes due by itself."""

    plan: OpenPlan
    stage: Stage
    subject: str
    """A repository, or the name of what is made."""
    section: StageSection
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, such as ``mine/numpy/numpy``."""
        return f"{self.stage.name}/{self.subject}"

    @property
    def repo(self) -> str:
        """The repository that it works on, by the name under which it is kept."""
        return self.plan.kept(self.subject)

    @property
    def record(self) -> StepResult | None:
        """What is kept of its last run."""
        return self.plan.record(self.name)

    def method(self, step: Step) -> Callable[..., Any]:
        """Return the method of the workspace that a step calls."""
        command = step.command or self.stage.command
        return method_of(command, self.plan.lab, self.section.get("family"))

    def options(self, step: Step, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the method is called with: of the section, else of the plan's head."""
        options = options_of(self.method(step))
        where = [option.name for option in options if option.group == EXECUTION]
        head = {name: value for name, value in self.plan.execution.items() if name in where}
        # The workspace was opened with what the section of mining says.
        given = {} if self.stage.name == "mine" else self.plan.file.given(self.section)
        return {**head, **given, **more}

    def basis(self, step: Step) -> dict[str, Any]:
        """Return all that the result depends on, by name."""
        settings = flat({**self.section.values(), **step.settings}, "setting ")
        digests = digests_of({*step.inputs}, self.plan.lab.path, self.plan.file.path.parent)
        inputs = {f"input {name}": digest for name, digest in digests.items()}
        return {"Goldpan's version": __version__, **settings, **inputs}

    def result(self, state: State, **about: Any) -> StepResult:
        """Return what is known of it in a state."""
        stage = self.stage.name
        return StepResult(unit=self.name, stage=stage, subject=self.subject, state=state, **about)


def method_of(
    command: str, lab: Workspace | None = None, family: str | None = None
) -> Callable[..., Any]:
    """Return the method of a workspace that a command is, or of `Dataset`."""
    owner: Any = lab or Workspace()
    if family is not None:
        return builder_method(owner.build, family)
    if command in ("export", "publish"):
        return Dataset.export if command == "export" else Dataset.publish
    if command == "mine":
        return owner.mine.__call__  # type: ignore[no-any-return]
    path = ".".join("import_" if word == "import" else word for word in command.split())
    method: Callable[..., Any] = attrgetter(path.replace("-", "_"))(owner)
    return method


def headline(result: Result) -> str:
    """Return a result in one line: the first that people see of it."""
    for block in blocks_of(result):
        if isinstance(block, Title):
            return block.rest.removeprefix(": ") or block.name
        if isinstance(block, Line):
            return block.text
    return ""

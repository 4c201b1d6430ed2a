"""A stage of a plan, and its steps: a method with its options, and the files read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from goldpan._version import __version__
from goldpan.core.result import Line, Result, Title, blocks_of
from goldpan.core.storage.workspace import make_directory
from goldpan.plan.opened import OpenPlan
from goldpan.plan.record import State, StepResult, digests_of, flat
from goldpan.plan.section import EXECUTION, StageSection
from goldpan.workspace.building import builder_method
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.options import options_of
from goldpan.workspace.workspace import Workspace

Results = Sequence[Any]
"""What the calls of a step returned."""
Subjects = Iterable[tuple[str, StageSection]]


def each_section(plan: OpenPlan, stage: Stage) -> Subjects:
    """Yield each section of a stage with its name, or what it works on."""
    datasets = plan.file.by_stage["dataset"]
    for place, section in plan.file.by_stage[stage.name].items():
        named = datasets.get(place[:-1], section)
        names = (named.get(key) for key in ("name", "project", "dataset"))
        yield next(filter(None, names), str(place[-1])), section


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage: the table of the file, the method that is called, and how its steps hang together.

    Functions take the step, and where it ended what its calls returned.
    """

    name: str
    heading: str = ""
    """The table of the file, such as ``[[verify]]``; empty for a stage without one."""
    command: str
    """The command whose method is called."""
    keys: type[StageSection] = StageSection
    """The keys that no option has."""
    without: tuple[str, ...] = ()
    """The options that the plan itself gives."""
    several: tuple[str, ...] = ()
    """The options of which the file may give more values than the method takes at once."""
    subjects: Callable[[OpenPlan, Stage], Subjects] = each_section
    """Yields what its steps work on, each with its section."""
    is_of_repository: bool = False
    """True where a step works on one repository."""
    needs: Callable[[Step], Iterable[str]] = lambda _: ()
    """Returns the steps without which it makes no sense, by name."""
    after: Callable[[Step], Iterable[str]] = lambda _: ()
    """Returns the steps that run before it and that it can do without, by name."""
    after_people: bool = False
    """True where it waits for annotations."""
    reads: tuple[str, ...] = ()
    """The stages of a workspace whose files it reads."""
    files: Callable[[Step], Iterable[Path]] = lambda _: ()
    """Returns what else it reads."""
    reads_issues: bool = False
    """True where it reads the issues of all repositories, too."""
    settings: Callable[[Step], Mapping[str, Any]] = lambda _: {}
    """Returns what the names in a section stand for, such as pairing rules."""
    options: Callable[[Step], Mapping[str, Any]] = lambda _: {}
    """Returns the options that the plan gives beside the section."""
    each: tuple[str, ...] = ()
    """The options of which each value has a call of its own."""
    prepare: Callable[[Step], None] = lambda _: None
    """Makes ready for a run, once, also where it is killed."""
    makes: tuple[str, ...] = ()
    """The stages of a workspace whose files it writes."""
    writes: Callable[[Step, Results], Iterable[Path]] = lambda *_: ()
    """Returns what else was written."""
    summary: Callable[[Step, Results], str] = lambda _, results: "; ".join(map(headline, results))
    """Returns a line on the results."""
    ends: Callable[[Step, Results, StepResult], StepResult] = lambda _step, _results, ended: ended
    """Returns how a step ended with what the results tell beside."""
    is_due: Callable[[Step, StepResult, bool], str] = lambda *_: ""
    """Returns why it has to run though nothing changed here; the last is true for an update."""
    together: bool = False
    """True where repositories are worked on at once on one machine, too."""
    goes_on: bool = False
    """True where results tell of failures beside what was done."""
    owns: bool = True
    """True where outputs that others changed have to be made again."""
    appends: bool = False
    """True where it may add to what it reads, as a stated license to the raw replies."""

    def steps(self, plan: OpenPlan) -> list[Step]:
        """Return the steps of a plan."""
        bare = [
            Step(plan, self, subject, section) for subject, section in self.subjects(plan, self)
        ]
        return [
            replace(step, needs=tuple(self.needs(step)), after=tuple(self.after(step)))
            for step in bare
        ]


@dataclass(frozen=True)
class Step:
    """One call of a method, or one for each value of some options."""

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

    @property
    def method(self) -> Callable[..., Any]:
        """The method of the workspace that it calls."""
        return method_of(self.stage.command, self.plan.lab, self.section.get("family"))

    def options(self) -> dict[str, Any]:
        """Return what the method is called with: of the section, else of the plan's head."""
        where = [option.name for option in options_of(self.method) if option.group == EXECUTION]
        head = {name: value for name, value in self.plan.execution.items() if name in where}
        return {**head, **self.plan.file.given(self.section), **self.stage.options(self)}

    def basis(self) -> dict[str, Any]:
        """Return all that the result depends on, as it is now, by name."""
        settings = {**self.section.values(), **self.stage.settings(self)}
        inputs = {f"input {name}": digest for name, digest in sorted(self.inputs().items())}
        return {"Goldpan's version": __version__, **flat(settings, "setting "), **inputs}

    def inputs(self) -> dict[str, str]:
        """Return the digests of what the result depends on, by name."""
        paths = [*self._tables(self.stage.reads), *self.stage.files(self)]
        issues = self.plan.issues() if self.stage.reads_issues else {}
        return {**digests_of(paths, self.plan.lab.path, self.plan.file.path.parent), **issues}

    @property
    def is_joint(self) -> bool:
        """True where one call takes many repositories: of mining, or on a cluster."""
        is_joint = self.stage.together or self.plan.is_on_cluster(self.section)
        return self.stage.is_of_repository and is_joint

    def _tables(self, stages: tuple[str, ...]) -> set[Path]:
        """Return what stages of a workspace wrote of its repository or its dataset."""
        if self.stage.is_of_repository:
            return self.plan.tables(stages, repo=self.repo)
        return self.plan.tables(stages, dataset=self.section.get("dataset") or self.subject)

    def prepare(self) -> None:
        """Make ready for a run: the directory of what it writes."""
        if (output := self.options().get("output")) is not None:
            make_directory(Path(output).parent)
        self.stage.prepare(self)

    def result(self, state: State, **about: Any) -> StepResult:
        """Return what is known of it in a state."""
        stage = self.stage.name
        return StepResult(unit=self.name, stage=stage, subject=self.subject, state=state, **about)

    def ended(self, begun: StepResult, results: Results) -> StepResult:
        """Return how it ended by the results of its calls; raises what one says that failed."""
        for result in results:
            for error in () if self.stage.goes_on else getattr(result, "errors", ()):
                raise error
        ended = self.stage.ends(
            self,
            results,
            replace(
                begun,
                summary=self.stage.summary(self, results),
                missing=tuple(
                    headline(one) for one in results if isinstance(one, Result) and one.exit_code
                ),
                results=tuple(one for one in results if isinstance(one, Result)),
            ),
        )
        made = (*self._tables(self.stage.makes), *self.stage.writes(self, results))
        return replace(
            ended,
            state="partial" if ended.missing else "done",
            basis=self.basis() if self.stage.appends else begun.basis,
            outputs=digests_of(made, self.plan.lab.path),
        )


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

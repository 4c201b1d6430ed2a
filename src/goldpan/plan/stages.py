"""The table of a plan's stages: a new stage is one entry in `STAGES`.

An entry names the table of the file and the command whose method is called with its keys, the steps
that it needs, and what it reads and writes, by the stages of `goldpan.lineage.stages`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.result import count
from goldpan.plan.datasets import DATASET, PUBLISH, data_steps
from goldpan.plan.opened import OpenPlan, files_below
from goldpan.plan.record import StepResult
from goldpan.plan.repositories import CLONE, FILTER, MINE, NORMALIZE, PAIR, REVIEW
from goldpan.plan.section import EvaluationSection, ExportSection, NamedSection, OfDataset
from goldpan.plan.step import Results, Stage, Step


def _import_files(step: Step) -> list[Path]:
    corrections = step.plan.decisions(step.section.names("corrections"))
    return [*step.plan.named_files(step.section, "files"), *corrections]


TASKS = Stage(
    name="tasks",
    heading="[tasks.NAME]",
    command="tasks import",
    without=("name",),
    options=lambda step: {"name": step.subject},
    files=_import_files,
    writes=lambda _, results: files_below(*(one.written.directory for one in results)),
)


def _data(step: Step) -> list[str]:
    return data_steps(step.plan, step.section)


def _push_files(step: Step) -> list[Path]:
    return [*step.plan.data(step.section), *step.plan.decisions([step.subject])]


def _pushed(step: Step, _: Results, ended: StepResult) -> StepResult:
    """Return how it ended, which waits until what people decided is pulled."""
    if all(path.exists() for path in step.plan.decisions([step.subject])):
        return ended
    waiting = f"people annotate; then run goldpan annotate pull --project {step.subject}"
    return replace(ended, missing=(waiting,), stops=True)


ANNOTATE = Stage(
    name="annotate",
    heading="[annotate.push]",
    command="annotate push",
    needs=_data,
    files=_push_files,
    ends=_pushed,
    owns=False,
)


def _of_dataset(step: Step) -> list[str]:
    return [f"dataset/{step.section.get('dataset')}"]


def _proofs(step: Step, results: Results) -> Iterator[Path]:
    from goldpan.execution.records import RECORD, record_directory

    for record in (record for result in results for record in result.records):
        yield record_directory(step.plan.lab.layout, record.instance) / RECORD


VERIFY = Stage(
    name="verify",
    heading="[[verify]]",
    command="verify",
    keys=OfDataset,
    needs=_of_dataset,
    after_people=True,
    options=lambda step: {"dataset": step.subject},
    settings=lambda _: {"recipe": None},  # whose content is an input
    reads=("build",),
    files=lambda step: step.plan.named_files(step.section, "recipe"),
    writes=_proofs,
)


def _evaluated(_: Step, results: Results, ended: StepResult) -> StepResult:
    (found,) = results
    missing = tuple(map(str, found.failures))
    if missing and not found.runs:
        first = found.failures[0]
        raise EvaluationError(f"No run finished: {first.problem}", first.remedy)
    line = count(len(found.runs), "run")
    return replace(ended, summary=line, missing=missing, again=bool(missing))


EVALUATE = Stage(
    name="evaluate",
    heading="[[evaluation]]",
    command="evaluate run",
    keys=EvaluationSection,
    needs=_data,
    after_people=True,
    settings=lambda _: {"gpus": None},  # on which no score depends
    files=lambda step: step.plan.data(step.section),
    writes=lambda _, results: [run.directory / "result.json" for run in results[0].runs],
    ends=_evaluated,
    goes_on=True,
)


def _evaluations(step: Step) -> list[str]:
    return [f"evaluate/{one.get('name')}" for one in step.plan.file.sections("evaluate")]


def _page(step: Step) -> dict[str, Path]:
    page = step.plan.lab.path / "comparisons" / f"{step.subject}.html"
    return {"output": step.plan.file.given(step.section).get("output") or page}


def _pages(step: Step, _: object) -> list[Path]:
    options = step.options()
    return [Path(options[name]) for name in ("output", "markdown", "latex") if options.get(name)]


COMPARE = Stage(
    name="compare",
    heading="[[comparison]]",
    command="evaluate compare",
    keys=NamedSection,
    needs=_evaluations,
    after_people=True,
    options=_page,
    files=lambda step: (step.plan.lab.path / "runs").rglob("result.json"),
    writes=_pages,
)


def _trials(step: Step) -> Iterator[str]:
    """Yield the steps whose runs of models and tests an audit of their dataset reads."""
    own = f"dataset/{step.subject}"
    yield f"verify/{step.subject}"
    for section in step.plan.file.sections("evaluate"):
        if own in data_steps(step.plan, section):
            yield f"evaluate/{section.get('name')}"


def _evidence(step: Step) -> list[Path]:
    """Return the runs of models and of tests on a dataset's rows, which findings read."""
    from goldpan.audit.stored_runs import run_files
    from goldpan.core.storage.parquet import read_table
    from goldpan.datasets.provenance import shard_paths
    from goldpan.execution.records import RECORD

    layout = step.plan.lab.layout
    ids, repos = set[str](), set[str]()
    for path in shard_paths(layout.dataset(step.subject)):
        rows = read_table(path)
        ids.update(rows["id"].to_pylist())
        repos.update(filter(None, rows["repo"].to_pylist() if "repo" in rows.column_names else ()))
    tests = [layout.root / "verification" / repo.lower() for repo in sorted(repos)]
    return [*run_files(layout, ids), *(file for one in tests for file in one.glob(f"*/{RECORD}"))]


AUDIT = Stage(
    name="audit",
    heading="[[audit]]",
    command="audit",
    keys=OfDataset,
    without=("limit",),
    needs=_of_dataset,
    after=_trials,
    after_people=True,
    options=lambda step: {"dataset": step.subject},
    reads=("build",),
    files=_evidence,
    writes=lambda _, results: files_below(*(Path(one.file).parent for one in results)),
)


def _exported(step: Step) -> dict[str, Path]:
    layout, name = step.plan.lab.layout, step.section.get("dataset")
    return {"dataset": layout.dataset(name), "output": layout.root / "exports" / step.subject}


EXPORT = Stage(
    name="export",
    heading="[[export]]",
    command="export",
    keys=ExportSection,
    without=("output",),
    needs=_of_dataset,
    after=lambda step: [f"audit/{step.section.get('dataset')}"],
    after_people=True,
    options=_exported,
    reads=("build", "audit"),
    writes=lambda _, results: files_below(*(one.directory for one in results)),
)


STAGES = (
    *(MINE, NORMALIZE, TASKS, PAIR, CLONE, FILTER, REVIEW, DATASET, ANNOTATE),
    *(VERIFY, EVALUATE, COMPARE, AUDIT, EXPORT, PUBLISH),
)
"""In the order in which they run, unless a step needs one of a later stage."""


def make_steps(plan: OpenPlan) -> list[Step]:
    """Return all steps, each after those that it needs; raises `UsageError` for a circle."""
    left = _after_people([step for stage in STAGES for step in stage.steps(plan)])
    there = {step.name for step in left}
    steps: dict[str, Step] = {}
    while left:
        later = []
        for step in left:
            if {*step.needs, *step.after} & there <= steps.keys():
                steps[step.name] = step
            else:
                later.append(step)
        if len(later) == len(left):
            names = ", ".join(step.name for step in later[:3])
            raise UsageError(f"{names} wait for one another", "Correct the plan")
        left = later
    return list(steps.values())


def _after_people(steps: list[Step]) -> list[Step]:
    """Return steps of which those that follow annotations need them."""
    pushed = next((step for step in steps if step.stage.name == "annotate"), None)
    if pushed is None:
        return steps
    by_name = {step.name: step for step in steps}
    before, found = {pushed.name}, [pushed]
    while found:
        step = found.pop()
        new = {*step.needs, *step.after} - before
        before |= new
        found += [by_name[name] for name in new if name in by_name]
    return [
        replace(step, needs=(*step.needs, pushed.name))
        if step.stage.after_people and step.name not in before
        else step
        for step in steps
    ]

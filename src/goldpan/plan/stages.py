"""The table of a plan's stages: a new stage is one entry in `STAGES`.

An entry names the table of the file, the command whose method is called with its keys, the units
that it needs, and a function that returns what a unit does: options, inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.result import count
from goldpan.plan.datasets import DATASET, PUBLISH, data_units
from goldpan.plan.opened import OpenPlan, files_below
from goldpan.plan.repositories import CLONE, FILTER, MINE, NORMALIZE, PAIR, REVIEW
from goldpan.plan.section import EvaluationSection, ExportSection, NamedSection, OfDataset
from goldpan.plan.step import Outcome, Results, Stage, Step, Unit, outcome


def _data(unit: Unit) -> list[str]:
    return data_units(unit.plan, unit.section)


def _of_dataset(unit: Unit) -> list[str]:
    return [f"dataset/{unit.section.get('dataset')}"]


def _import(unit: Unit) -> Step:
    plan, section = unit.plan, unit.section
    corrections = plan.decisions(section.names("corrections"))

    def ended(results: Results) -> Outcome:
        return outcome(results, *files_below(*(one.written.directory for one in results)))

    return Step(
        options=[{"name": unit.subject}],
        inputs=[*plan.named_files(section, "files"), *corrections],
        ended=ended,
    )


TASKS = Stage(
    name="tasks", heading="[tasks.NAME]", command="tasks import", without=("name",), step=_import
)


def _push(unit: Unit) -> Step:
    decisions = unit.plan.decisions([unit.subject])

    def ended(results: Results) -> Outcome:
        waiting = f"people annotate; then run goldpan annotate pull --project {unit.subject}"
        is_pulled = all(path.exists() for path in decisions)
        return replace(outcome(results), missing=() if is_pulled else (waiting,))

    return Step(
        options=[{"rules": unit.plan.file.rules[0]}],
        inputs=[*unit.plan.data(unit.section), *decisions],
        ended=ended,
    )


ANNOTATE = Stage(
    name="annotate",
    heading="[annotate.push]",
    command="annotate push",
    without=("rules",),
    needs=_data,
    step=_push,
)


def _verify(unit: Unit) -> Step:
    plan, name = unit.plan, unit.subject

    def ended(results: Results) -> Outcome:
        from goldpan.execution.records import RECORD, record_directory

        records = (record for result in results for record in result.records)
        folders = (record_directory(plan.lab.layout, record.instance) for record in records)
        return outcome(results, *(folder / RECORD for folder in folders))

    return Step(
        options=[{"dataset": name}],
        settings={"recipe": None},  # whose content is an input
        inputs=[*plan.tables("build", dataset=name), *plan.named_files(unit.section, "recipe")],
        ended=ended,
    )


VERIFY = Stage(
    name="verify",
    heading="[[verify]]",
    command="verify",
    keys=OfDataset,
    needs=_of_dataset,
    step=_verify,
)


def _evaluate(unit: Unit) -> Step:
    def ended(results: Results) -> Outcome:
        (found,) = results
        missing = tuple(map(str, found.failures))
        if missing and not found.runs:
            first = found.failures[0]
            raise EvaluationError(f"No run finished: {first.problem}", first.remedy)
        outputs = [run.directory / "result.json" for run in found.runs]
        line = count(len(found.runs), "run")
        return Outcome(summary=line, outputs=outputs, missing=missing, again=bool(missing))

    return Step(
        settings={"gpus": None},  # on which no score depends
        inputs=unit.plan.data(unit.section),
        ended=ended,
    )


EVALUATE = Stage(
    name="evaluate",
    heading="[[evaluation]]",
    command="evaluate run",
    keys=EvaluationSection,
    needs=_data,
    step=_evaluate,
)


def _evaluations(unit: Unit) -> list[str]:
    return [f"evaluate/{one.get('name')}" for one in unit.plan.file.sections("evaluate")]


def _compare(unit: Unit) -> Step:
    root, given = unit.plan.lab.path, unit.plan.file.given(unit.section)
    given = {"output": root / "comparisons" / f"{unit.subject}.html", **given}
    pages = [Path(given[name]) for name in ("output", "markdown", "latex") if given.get(name)]
    return Step(
        options=[{"output": given["output"]}],
        inputs=(root / "runs").rglob("result.json"),
        ended=lambda results: outcome(results, *pages),
    )


COMPARE = Stage(
    name="compare",
    heading="[[comparison]]",
    command="evaluate compare",
    keys=NamedSection,
    needs=_evaluations,
    step=_compare,
)


def _trials(unit: Unit) -> Iterator[str]:
    """Yield what names the runs of models and tests that an audit of their dataset reads."""
    own = f"dataset/{unit.subject}"
    yield f"verify/{unit.subject}"
    for section in unit.plan.file.sections("evaluate"):
        if own in data_units(unit.plan, section):
            yield f"evaluate/{section.get('name')}"


def _evidence(plan: OpenPlan, dataset: str) -> Iterator[Path]:
    """Yield the runs of models and of tests on a dataset's rows, which findings read."""
    from goldpan.audit.stored_runs import run_files
    from goldpan.core.storage.parquet import read_table
    from goldpan.datasets.provenance import shard_paths
    from goldpan.execution.records import RECORD

    layout = plan.lab.layout
    ids, repos = set[str](), set[str]()
    for path in shard_paths(layout.dataset(dataset)):
        rows = read_table(path)
        ids.update(rows["id"].to_pylist())
        repos.update(filter(None, rows["repo"].to_pylist() if "repo" in rows.column_names else ()))
    yield from run_files(layout, ids)
    for repo in repos:
        yield from (layout.root / "verification" / repo.lower()).glob(f"*/{RECORD}")


def _audit(unit: Unit) -> Step:
    plan, name = unit.plan, unit.subject

    def ended(results: Results) -> Outcome:
        return outcome(results, *files_below(*(Path(one.file).parent for one in results)))

    return Step(
        options=[{"dataset": name}],
        inputs=[*plan.tables("build", dataset=name), *_evidence(plan, name)],
        ended=ended,
    )


AUDIT = Stage(
    name="audit",
    heading="[[audit]]",
    command="audit",
    keys=OfDataset,
    without=("limit",),
    needs=_of_dataset,
    after=_trials,
    step=_audit,
)


def _export(unit: Unit) -> Step:
    layout, name = unit.plan.lab.layout, unit.section.get("dataset")
    output = layout.root / "exports" / unit.subject
    return Step(
        options=[{"dataset": layout.dataset(name), "output": output}],
        inputs=unit.plan.tables("build", "audit", dataset=name),
        ended=lambda results: outcome(results, *files_below(output)),
    )


EXPORT = Stage(
    name="export",
    heading="[[export]]",
    command="export",
    keys=ExportSection,
    without=("output",),
    needs=_of_dataset,
    after=lambda unit: [f"audit/{unit.section.get('dataset')}"],
    step=_export,
)


STAGES = (
    *(MINE, NORMALIZE, TASKS, PAIR, CLONE, FILTER, REVIEW),
    *(DATASET, ANNOTATE, VERIFY, EVALUATE, COMPARE, AUDIT, EXPORT, PUBLISH),
)
"""In the order in which they run, unless a unit needs one of a later stage."""
_AFTER_PEOPLE = {stage.name for stage in STAGES[STAGES.index(DATASET) :]}
"""The stages that use annotations: they wait for people, where the plan asks some."""


def make_units(plan: OpenPlan) -> list[Unit]:
    """Return all units, each after those that it needs; raises `UsageError` for a circle."""
    left = _after_people([unit for stage in STAGES for unit in stage.units(plan)])
    there = {unit.name for unit in left}
    units: dict[str, Unit] = {}
    while left:
        later = []
        for unit in left:
            if {*unit.needs, *unit.after} & there <= units.keys():
                units[unit.name] = unit
            else:
                later.append(unit)
        if len(later) == len(left):
            names = ", ".join(unit.name for unit in later[:3])
            raise UsageError(f"{names} wait for one another", "Correct the plan")
        left = later
    return list(units.values())


def _after_people(units: list[Unit]) -> list[Unit]:
    """Return units of which those that follow annotations need them."""
    pushed = [unit for unit in units if unit.stage is ANNOTATE]
    by_name = {unit.name: unit for unit in units}
    before, found = {unit.name for unit in pushed}, [*pushed]
    while found:
        unit = found.pop()
        new = {*unit.needs, *unit.after} - before
        before |= new
        found += [by_name[name] for name in new if name in by_name]
    return [
        replace(unit, needs=(*unit.needs, *(one.name for one in pushed)))
        if unit.stage.name in _AFTER_PEOPLE and unit.name not in before
        else unit
        for unit in units
    ]

"""The table of a plan's stages: a new stage is one entry in `STAGES`.

An entry names the table of the file, a function that returns what a unit does, the command whose
method is called with the table's keys, and the units that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.result import count
from goldpan.plan.datasets import build_after, build_needs, build_step, data_units, publish_step
from goldpan.plan.opened import OpenPlan, files_below
from goldpan.plan.repositories import clone_step, filter_step, mine_step, pair_step, review_step
from goldpan.plan.section import (
    CloneSection,
    DatasetSection,
    EvaluationSection,
    ExportSection,
    MineSection,
    NamedSection,
    OfDataset,
)
from goldpan.plan.step import Names, Outcome, Results, Stage, Step, Unit

if TYPE_CHECKING:
    from goldpan.workspace.runs import Score


def _import_step(unit: Unit) -> Step:
    plan, section = unit.plan, unit.section
    files = plan.named_files(section, "files")
    return Step(
        options=[{"name": unit.subject}],
        inputs=[*files, *plan.decisions(section.names("corrections"))],
        ended=lambda results: Outcome(
            outputs=files_below(*(one.written.directory for one in results))
        ),
    )


def _push_step(unit: Unit) -> Step:
    (decisions,) = unit.plan.decisions([unit.subject])
    waiting = f"people annotate; then run goldpan annotate pull --project {unit.subject}"
    return Step(
        inputs=[*unit.plan.data(unit.section), decisions],
        ended=lambda _: Outcome(missing=() if decisions.exists() else (waiting,)),
    )


def _verify_step(unit: Unit) -> Step:
    from goldpan.execution.records import RECORD, record_directory

    plan, name, layout = unit.plan, unit.subject, unit.plan.lab.layout

    def ended(results: Results) -> Outcome:
        (proved,) = results
        rows, verified = len(proved.records), proved.counts.get("verified", 0)
        return Outcome(
            outputs=(record_directory(layout, one.instance) / RECORD for one in proved.records),
            summary=f"{verified:,} of {count(rows, 'fix')} proved by running their tests",
        )

    return Step(
        options=[{"dataset": name}],
        settings={"recipe": None},  # whose content is an input
        inputs=[*plan.tables("build", dataset=name), *plan.named_files(unit.section, "recipe")],
        ended=ended,
    )


def _evaluate_step(unit: Unit) -> Step:
    def ended(results: Results) -> Outcome:
        (found,) = results
        missing = tuple(map(str, found.failures))
        if missing and not found.runs:
            first = found.failures[0]
            raise EvaluationError(f"No run finished: {first.problem}", first.remedy)
        outputs = [run.directory / "result.json" for run in found.runs]
        line = _scores_text(found.scores) or count(len(found.runs), "run")
        return Outcome(summary=line, outputs=outputs, missing=missing, again=bool(missing))

    return Step(
        settings={"gpus": None},  # on which no score depends
        inputs=unit.plan.data(unit.section),
        ended=ended,
        tells_errors=True,
    )


def _scores_text(scores: Sequence[Score]) -> str:
    """Return the main scores of runs in a line, with their task where there are several."""
    told = [one for one in scores if one.value is not None]
    are_many = len({one.task for one in told}) > 1
    return "; ".join(
        f"{f'{task}: ' * are_many}{', '.join(f'{one.model} {one.value:.2f}' for one in group)} "
        f"{metric}"
        for (task, metric), group in groupby(told, lambda one: (one.task, one.metric))
    )


def _compare_step(unit: Unit) -> Step:
    root, given = unit.plan.lab.path, unit.plan.file.given(unit.section)
    given = {"output": root / "comparisons" / f"{unit.subject}.html", **given}
    pages = [Path(given[name]) for name in ("output", "latex") if given.get(name)]
    return Step(
        options=[{"output": given["output"]}],
        inputs=(root / "runs").rglob("result.json"),
        ended=lambda results: Outcome(outputs=pages, summary=results[0].summary[0]),
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


def _audit_step(unit: Unit) -> Step:
    plan, name = unit.plan, unit.subject

    def ended(results: Results) -> Outcome:
        (result,) = results
        rows = f"{result.counts.flagged:,} of {count(result.counts.total, 'row')} may mislead"
        return Outcome(outputs=files_below(Path(result.file).parent), summary=rows)

    return Step(
        options=[{"dataset": name}],
        inputs=[*plan.tables("build", dataset=name), *_evidence(plan, name)],
        ended=ended,
    )


def _export_step(unit: Unit) -> Step:
    layout, name = unit.plan.lab.layout, unit.section.get("dataset")
    output = layout.root / "exports" / unit.subject
    return Step(
        options=[{"dataset": layout.dataset(name), "output": output}],
        inputs=unit.plan.tables("build", "audit", dataset=name),
        ended=lambda _: Outcome(outputs=files_below(output)),
    )


def _same(stage: str) -> Names:
    """Return what names a stage's unit of the same repository or dataset."""
    return lambda unit: [f"{stage}/{unit.section.get('dataset') or unit.subject}"]


def _every(stage: str) -> Names:
    """Return what names all units of a stage of repositories."""
    return lambda unit: [f"{stage}/{repo}" for repo in unit.plan.repos]


def _evaluations(unit: Unit) -> list[str]:
    return [f"evaluate/{one.get('name')}" for one in unit.plan.file.sections("evaluate")]


def _data(unit: Unit) -> list[str]:
    return data_units(unit.plan, unit.section)


def _before_filter(unit: Unit) -> list[str]:
    has_history = unit.plan.file.sections("clone")[0].get("enabled")
    return [f"{'clone' if has_history else 'pair'}/{unit.subject}"]


_of_repository = partial(Stage, is_of_repository=True)
_of_dataset = partial(Stage, needs=_same("dataset"))

STAGES = (
    _of_repository("mine", "[mine]", "mine", mine_step, keys=MineSection),
    Stage("tasks", "[tasks.NAME]", "tasks import", _import_step, without=("name",)),
    _of_repository("pair", "[pair]", "pair", pair_step, _same("mine"), several=("rules",)),
    _of_repository("clone", "[clone]", "clone", clone_step, _same("pair"), keys=CloneSection),
    _of_repository(
        "filter",
        "[filter]",
        "filter",
        filter_step,
        needs=_before_filter,
        after=_every("mine"),  # among whose issues near duplicates are found
        without=("rules", "settings", "list", "rejects"),
        several=("profile",),
    ),
    Stage(
        "review",
        "[review]",
        "review",
        review_step,
        needs=_every("filter"),
        without=("rules", "dataset", "calibrate"),
    ),
    Stage(
        "dataset",
        "[[dataset]]",
        "build",
        build_step,
        needs=build_needs,
        after=build_after,
        keys=DatasetSection,
    ),
    Stage("annotate", "[annotate.push]", "annotate push", _push_step, _data),
    _of_dataset("verify", "[[verify]]", "verify", _verify_step, keys=OfDataset),
    Stage(
        "evaluate", "[[evaluation]]", "evaluate run", _evaluate_step, _data, keys=EvaluationSection
    ),
    Stage(
        "compare",
        "[[comparison]]",
        "evaluate compare",
        _compare_step,
        needs=_evaluations,
        keys=NamedSection,
    ),
    _of_dataset(
        "audit",
        "[[audit]]",
        "audit",
        _audit_step,
        after=_trials,
        keys=OfDataset,
        without=("limit",),
    ),
    _of_dataset(
        "export",
        "[[export]]",
        "export",
        _export_step,
        after=_same("audit"),
        keys=ExportSection,
        without=("output",),
    ),
    _of_dataset(
        "publish",
        "[dataset.publish]",
        "publish",
        publish_step,
        after=_same("audit"),
        without=("dataset",),
    ),
)
"""In the order in which they run, unless a unit needs one of a later stage."""


def make_units(plan: OpenPlan) -> list[Unit]:
    """Return all units, each after those that it needs; raises `UsageError` for a circle."""
    left = [unit for stage in STAGES for unit in stage.units(plan)]
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

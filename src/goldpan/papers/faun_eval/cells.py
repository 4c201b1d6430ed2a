"""Cells of FAUN-Eval's tables from built datasets and from finished runs.

Datasets: rows of the table are `repositories`, `entries` and `fix pairs` with one column, or
datasets by `_DATASETS` with the columns languages, repositories and samples.

Runs (Tables 4 and 5, Figure 3): rows are `TASK: METRIC`, with the parts of the input that were
shown after a comma; columns are the recipe's models by their titles, and Average.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

import pyarrow as pa

from goldpan.plugins import data, evaluation
from goldpan.plugins.data import PROVENANCE, Task, WorkspaceLayout, find_task, read_provenance
from goldpan.plugins.evaluation import CellOutcome, PaperContext, State, TableRecipe

_NAME = "faun-eval"
"""The name of the paper's rules, profile and protocol; datasets of its plan begin with it."""
_DATASETS = {"FAUN-Eval-QA": ("qa",), "FAUN-Eval-fix": ("code-edit", "fault-localization")}
_AT_LEAST = ("entries", "fix pairs")
"""Rows of which the paper prints rough numbers, so that more is as much."""
_PLAN = Path(__file__).parent / "plans" / f"{_NAME}.toml"
_SPLITS = ("train", "validation", "test")


def built_datasets(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the counts of the first workspace that has some."""
    for workspace in evaluation.workspaces(context):
        counts = _mined(workspace)
        for row, value in counts.items():
            if row in table.rows and value:
                yield _outcome(table, row, table.columns[0], value, workspace.root)
        for row, families in _DATASETS.items():
            directory = _built_dataset(workspace, families) if row in table.rows else None
            if directory is None:
                continue
            rows = _rows(directory)
            facts: dict[str, float] = {
                "languages": len(set(rows["language"].to_pylist()) - {None}),
                "repositories": len(set(rows["repo"].to_pylist())),
                "samples": rows.num_rows,
            }
            gaps = _gaps(directory)
            for column in table.columns:
                yield _outcome(table, row, column, facts[column], directory, gaps)
        return
    plan = context.directory / _PLAN.name
    if not plan.exists():  # people change theirs
        data.make_directory(plan.parent)
        data.write_whole(plan, _PLAN.read_bytes())
    context.note(
        "No workspace with the paper's datasets is there: goldpan run"
        f" {shlex.quote(str(plan))} makes them from GitHub (--dry-run says at what cost), and the"
        " same command then finds them; or give one with --workspace or --data."
    )


def _outcome(
    table: TableRecipe, row: str, column: str, value: float, where: Path, gaps: Sequence[str] = ()
) -> CellOutcome:
    paper = table.number(row, column)
    note = ""
    if paper is not None and value != paper:
        note = "less than the paper's" if value < paper else "more than the paper's"
    if value > (paper or 0) and row in _AT_LEAST:
        note = ""
    note = "; ".join(filter(None, (note, *gaps)))
    state: State = "in part" if note else "run"
    return CellOutcome(row, column, value, state, note, {"directory": str(where)})


def _mined(workspace: WorkspaceLayout) -> dict[str, int]:
    repositories = workspace.repositories("tables")
    tables = {
        "entries": [workspace.table(repo, "entries") for repo in repositories],
        "fix pairs": [workspace.pairs(repo, _NAME) for repo in repositories],
    }
    rows = {
        name: sum(data.count_rows(path) for path in paths if path.exists())
        for name, paths in tables.items()
    }
    return {"repositories": len(repositories), **rows}


def _built_dataset(workspace: WorkspaceLayout, families: tuple[str, ...]) -> Path | None:
    """Return the dataset of the first family, that of the plan's name before others."""
    for family in families:
        for directory in (workspace.dataset(f"{_NAME}-{family}"), workspace.dataset(family)):
            is_there = (directory / PROVENANCE).exists()
            if is_there and read_provenance(directory).get("family") == family:
                return directory
    return None


def _rows(directory: Path) -> pa.Table:
    parts = [
        data.read_table(path, columns=["repo", "language"])
        for split in _SPLITS
        for path in data.shard_paths(directory, split)
    ]
    if not parts:
        raise data.DatasetError(f"{directory} holds no rows", "Build it again")
    return pa.concat_tables(parts)


def _gaps(directory: Path) -> tuple[str, ...]:
    """Return in what a dataset differs from FAUN-Eval's as described (section 3.3), in clauses.

    Its semantic check has models review what the filters keep, and then people. A folder without
    provenance is taken as built by other hands.
    """
    if not (directory / PROVENANCE).exists():
        return ("rows of unknown making",)
    provenance = read_provenance(directory)
    profile = provenance.get("profile", {}).get("name")
    reviewers = {kind for review in provenance.get("reviews", {}).values() for kind in review}
    gaps = () if profile == _NAME else (f"filtered by the profile {profile}",)
    match "people" in reviewers, "models" in reviewers:
        case False, False:
            return (*gaps, "not reviewed")
        case False, True:
            return (*gaps, "reviewed by models alone")
        case True, False:
            return (*gaps, "reviewed by people alone")
    return gaps


_TASKS = {"QA": "qa", "FL": "fault_localization", "CE": "code_edit"}
_METRICS = {
    "BLEU": "sentence_bleu",
    "ROUGE-L": "rouge_l",
    "ROUGE-1": "rouge_1",
    "ES": "edit_similarity",
    "average": "faun_average",
    "EM": "exact_match",
    "CodeBLEU": "codebleu",
}
_ABLATE = "ablate"
_AVERAGE = "Average"
_ROWS = 300
"""Test rows of each of the paper's datasets."""


@dataclass(frozen=True, slots=True)
class _Stored:
    workspace: WorkspaceLayout
    run: evaluation.RunRecord
    title: str
    """The model's name in the tables."""
    shown: str
    """The parts of the input, such as IT+IB."""
    whole: bool
    """True where those are all parts."""
    as_printed: bool
    """True where it ran under the paper's protocol."""
    note: str = ""
    """Differences of the run from the paper's, beside its rows."""

    @property
    def subject(self) -> tuple[str, str, str]:
        return self.run.task, self.title, self.shown


def runs(
    context: PaperContext,
    table: TableRecipe,
    averages: Mapping[str, Sequence[str]],
    *,
    changes: bool = False,
) -> Iterator[CellOutcome]:
    """Yield the cells of models that have finished runs; of several seeds, the mean.

    `averages` has the models over which rows of a task are averaged, where those are not all; with
    `changes`, scores are in percent of the whole input's, without a sign.
    """
    stored = _stored_runs(context)
    for row in table.rows:
        models = averages.get(row.partition(": ")[0]) or tuple(
            name for name in table.columns if name != _AVERAGE
        )
        scores = _row(row, stored, models)
        if changes:
            wholes = _row(row.partition(",")[0], stored, models)
            scores = {
                title: replace(score, value=100 * abs(change))
                for title, score in scores.items()
                if title in wholes
                and (change := evaluation.relative_change(wholes[title].value, score.value))
                is not None
            }
        yield from (
            CellOutcome(row, title, score.value, *_state(score), {"rows": score.rows})
            for title, score in scores.items()
            if title in table.columns
        )


@dataclass(frozen=True, slots=True)
class _Score:
    value: float
    rows: int
    note: str


def _mean(scores: Sequence[_Score]) -> _Score:
    """Return the mean of scores, with the fewest rows and all notes of them."""
    notes = "; ".join(dict.fromkeys(score.note for score in scores if score.note))
    return _Score(
        fmean(score.value for score in scores), min(score.rows for score in scores), notes
    )


def _state(score: _Score) -> tuple[State, str]:
    other = "" if score.rows == _ROWS else f"{score.rows:,} of {_ROWS} rows"
    if score.rows > _ROWS:
        other = f"{score.rows:,} rows, not {_ROWS}"
    note = "; ".join(filter(None, (other, score.note)))
    return ("in part" if note else "run"), note


def _row(row: str, stored: Sequence[_Stored], averaged: Sequence[str]) -> dict[str, _Score]:
    """Return scores by the models' titles, and their average where all of `averaged` ran.

    Of several seeds it is the mean.
    """
    name, _, shown = row.partition(", ")
    task, _, metric = name.partition(": ")
    values: dict[str, list[_Score]] = defaultdict(list)
    for entry in stored:
        if entry.run.task != _TASKS[task] or (entry.shown != shown if shown else not entry.whole):
            continue
        value = entry.run.scores.value(_METRICS[metric])
        if value is not None:
            values[entry.title].append(_Score(value, entry.run.scores.examples, entry.note))
    means = {title: _mean(scores) for title, scores in values.items()}
    if set(averaged) <= set(means):
        means[_AVERAGE] = _mean([means[title] for title in averaged])
    return means


def lengths(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield what section 5.3 says of each model on short, medium and long inputs.

    Scores of the thirds are means of several seeds.
    """
    runs: dict[tuple[str, str], list[_Stored]] = defaultdict(list)
    for entry in _stored_runs(context):
        if entry.whole and entry.title in table.rows:
            runs[entry.title, entry.run.task].append(entry)
    for (title, task), entries in runs.items():
        values: dict[str, list[float]] = {"short": [], "medium": [], "long": []}
        try:
            for third in (third for entry in entries for third in _thirds(entry)):
                values[third.value.partition(" ")[0]].append(third.score or 0.0)
        except data.GoldpanError as error:  # its rows are others now; further runs may count
            context.problem(str(error))
            continue
        scores = {name: evaluation.as_decimal(fmean(seeds)) for name, seeds in values.items()}
        short, medium, long = scores.values()
        column, value = {
            "qa": ("QA: worst", _lowest(scores)),
            "fault_localization": ("FL: medium against short", _word(medium, short)),
            "code_edit": ("CE: long against medium", _word(long, medium)),
        }[task]
        facts = {"thirds": scores, "seeds": sorted(entry.run.seed for entry in entries)}
        state = _state(
            _mean([_Score(0.0, entry.run.scores.examples, entry.note) for entry in entries])
        )
        yield CellOutcome(title, column, value, *state, facts)


def _word(score: float, other: float) -> str:
    return "lower" if score < other else "higher" if score > other else "equal"


def _lowest(scores: Mapping[str, float]) -> str:
    """Return the names of the lowest scores: several where they tie, `equal` where all do."""
    names = [name for name, score in scores.items() if score == min(scores.values())]
    return "equal" if len(names) == len(scores) else " and ".join(names)


def _thirds(entry: _Stored) -> tuple[evaluation.PartScore, ...]:
    run, task = entry.run, find_task(entry.run.task, data.tasks_directory(entry.workspace.root))
    directory = _task_dataset(entry.workspace, task)
    rows = evaluation.scored_input(entry.workspace, task, run.data_hash, directory)
    by = evaluation.LENGTH
    predictions = evaluation.with_values(run.predictions(), rows.data, [by])
    scoring = partial(evaluation.score, task, seed=run.seed, files=rows.files, part=True)
    return evaluation.scores_by(scoring, predictions, by, run.scores.main).parts


def _task_dataset(workspace: WorkspaceLayout, task: Task) -> Path:
    """Return where a task's dataset lies: that of the plan's name before others."""
    named = workspace.dataset(f"{_NAME}-{task.source.builder}")
    return named if named.exists() else data.task_directory(workspace, task)


def _stored_runs(context: PaperContext) -> list[_Stored]:
    stored = []
    for workspace in evaluation.workspaces(context):
        names = [name for name in _TASKS.values() if (workspace.root / "runs" / name).is_dir()]
        for run in evaluation.read_runs(workspace, tasks=names) if names else ():
            model = evaluation.model_of(context.recipe.models, run)
            task = find_task(run.task, data.tasks_directory(workspace.root))
            family = evaluation.built_family(task)
            if model is None or family is None:
                continue
            removed = tuple(filter(None, str(run.settings.get(_ABLATE, "")).split("+")))
            shown = evaluation.without(family, removed).name
            name = run.protocol.name
            other = "" if name == context.recipe.protocol else f"under the protocol {name}"
            gaps = _gaps(_task_dataset(workspace, task))
            note = "; ".join(filter(None, (other, *gaps)))
            stored.append(_Stored(workspace, run, model.title, shown, not removed, not other, note))
    if not stored:
        first = ", ".join(model.name for model in context.recipe.models[:3])
        context.note(
            "No finished run of the paper's models is in a workspace: cells come from goldpan"
            " evaluate run --task qa --model prompted --set model=NAME --protocol"
            f" {context.recipe.protocol} --workspace DIR (NAME: {first} and so on), from"
            " --task fault_localization and code_edit, and with --ablate title and the like."
        )
    # Those under the paper's protocol, others where a model and input has none.
    printed = {entry.subject for entry in stored if entry.as_printed}
    return [entry for entry in stored if entry.as_printed or entry.subject not in printed]

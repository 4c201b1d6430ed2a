"""The tables of NLBSE'24 on issue reports: of the print, of the organizers' files, and of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean, harmonic_mean

import orjson

from goldpan.plugins.data import DatasetError
from goldpan.plugins.evaluation import (
    CellOutcome,
    FoundFile,
    MissingFileError,
    ModelRecipe,
    PaperContext,
    PaperRecipe,
    SourceFile,
    SplitRecipe,
    State,
    TableRecipe,
    TaskRecipe,
    find_models,
    find_protocol,
    from_print,
    prepared,
    read_list,
    read_text,
    run_of,
)

_HERE = Path(__file__).parent
_MEAN = "Mean"
_REPOSITORIES = {
    "react": "facebook/react",
    "tensorflow": "tensorflow/tensorflow",
    "vscode": "microsoft/vscode",
    "bitcoin": "bitcoin/bitcoin",
    "opencv": "opencv/opencv",
}
"""The repository of each column."""
_PUBLISHED = {
    "SetFit (result file)": "setfit",
    "RoBERTa (result file)": "roberta",
    "fastText (result file)": "fasttext",
}
_BASELINES = ("tfidf-svm", "ensemble")


def means(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the mean of the printed F1 of the repositories."""
    for row in table.rows:
        yield from from_print(row, _MEAN, table, [(row, name) for name in _REPOSITORIES], fmean)


def published(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the scores of the organizers' result files that are there."""
    for row, key in _PUBLISHED.items():
        try:
            file = context.file(key)
        except MissingFileError:
            continue
        yield from _outcomes(row, _read(file), "recomputed")


def _read(file: FoundFile) -> dict[str, float]:
    try:
        results = orjson.loads(read_text(file))
        return {
            name: float(results[name]["average"]["f1-score"]) for name in _REPOSITORIES.values()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{file.path} holds no F1 of every repository ({error})",
            "Give the file as its authors publish it",
        ) from None


def runs(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the scores of models that run here, under their titles."""
    (task,) = context.recipe.tasks
    ready = prepared(context, task)
    protocol = find_protocol(context.recipe.protocol)
    for model in find_models(context.recipe, context.effort.models):
        result = run_of(context, ready.data, model, protocol)
        if result is None:
            continue
        parts = {part.value: part.score for part in result.scores_by["repo"].parts}
        if missing := [name for name in _REPOSITORIES.values() if name not in parts]:
            context.note(f"{model.title} has no test row of {', '.join(missing)}, so no scores.")
            continue
        scores = {name: parts[name] or 0.0 for name in _REPOSITORIES.values()}
        limit = context.effort.limit
        notes = [*ready.notes, *([] if limit is None else [f"at most {limit:,} rows"])]
        yield from _outcomes(model.title, scores, "in part" if notes else "run", "; ".join(notes))


def _outcomes(
    row: str, scores: Mapping[str, float], state: State, note: str = ""
) -> Iterator[CellOutcome]:
    for column, repository in _REPOSITORIES.items():
        yield CellOutcome(row, column, scores[repository], state, note)
    yield CellOutcome(row, _MEAN, fmean(scores.values()), state, note)


def f1(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the F1 that printed precision and recall give."""
    for row in table.rows:
        cells = [(row, "Precision"), (row, "Recall")]
        yield from from_print(row, "F1", table, cells, harmonic_mean)


PAPER = PaperRecipe(
    name="nlbse24",
    title="NLBSE'24 tool competition: issue reports, one model a repository",
    citation=(
        "R. Kallis, G. Colavito, A. Al-Kaswan, L. Pascarella, O. Chaparro and P. Rani: The"
        " NLBSE'24 Tool Competition, NLBSE 2024."
    ),
    url="https://github.com/nlbse2024/issue-report-classification",
    protocol="nlbse24",
    about=(
        "Printed figures are those of the competition's README; the organizers' result files hold"
        " another run of SetFit, and RoBERTa and fastText, which the README does not print.",
    ),
    files=read_list(_HERE / "nlbse24_files.csv", SourceFile),
    tasks=(
        TaskRecipe(
            task="nlbse24_issue_type",
            files=("train", "test"),
            steps="none",
            counts={
                "total": 3000,
                "label:bug": 1000,
                "label:feature": 1000,
                "label:question": 1000,
            },
            split=SplitRecipe(plan="given"),
        ),
    ),
    models=tuple(
        ModelRecipe(name=name, title=name, kind="baseline", model=name) for name in _BASELINES
    ),
    printed=_HERE / "nlbse24_printed.csv",
    tables=(
        TableRecipe(
            key="ranking",
            title="Mean F1 of three classes by repository",
            compute=(means, published, runs),
            runs=True,
            own=(*_PUBLISHED, *_BASELINES),
        ),
        TableRecipe(
            key="labels",
            title="SetFit by repository and class",
            compute=(f1,),
            note=(
                "Precision and recall are the print's own: SetFit is not run here, and its result"
                " file is of another run."
            ),
        ),
    ),
)

"""Baselines that learn nothing of the text: the majority, and copied answers.

Where answers are paths or texts, a row that one of them solves measures nothing. Copy Ex-output
answers with the output of one of the task's own examples, drawn for each row;
Copy Ins-input answers with the input of the row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.splits import draw_number
from goldpan.datasets.tasks.task import CLASSIFICATION, Task, TaskType, target_column
from goldpan.datasets.tasks.wording import Wording, WordingError, read_texts, wording_of
from goldpan.evaluation.model import (
    Answer,
    Answers,
    Fitted,
    FittedFunction,
    TrainingContext,
    entry,
    label_answers,
    require_type,
)
from goldpan.evaluation.task_input import PATHS


@dataclass(frozen=True, slots=True)
class _Constant:
    """Gives every row the same answer; words of NER get one tag each."""

    value: Answer
    scores: tuple[float, ...] | None
    each_word: bool = False

    def answer(self, rows: pa.Table) -> Answers:
        count = len(rows)
        if self.each_word:
            tokens = rows["tokens"].to_pylist()
            return Answers([[str(self.value)] * len(words) for words in tokens])
        scores = None if self.scores is None else [self.scores] * count
        return Answers([self.value] * count, scores)


def _majority(_: Mapping[str, Any], context: TrainingContext) -> _Constant:
    task = context.task
    targets = context.whole_train[target_column(task.type).name].to_pylist()
    context.learning.from_all = True
    match task.type:
        case "binary" | "multi-class":
            counts = Counter(targets)
            shares = tuple(counts[name] / len(targets) for name in task.label_names)
            return _Constant(_commonest(counts), shares)
        case "multi-label":
            counts = Counter(name for names in targets for name in names)
            shares = tuple(counts[name] / len(targets) for name in task.label_names)
            (chosen,) = label_answers(task, [shares]).values
            return _Constant(chosen, shares)
        case "regression":
            return _Constant(median(targets), None)
        case "ner":
            counts = Counter(tag for tags in targets for tag in tags)
            return _Constant(_commonest(counts), None, each_word=True)
        case "text-generation":
            return _Constant(_commonest(Counter(targets)), None)
        case "mlm":
            raise EvaluationError(
                f"The model majority does not answer {task.name}", "Choose a masked language model"
            )


def _commonest(counts: Counter[str]) -> str:
    """Return the most frequent, of several the first by name, so that runs are alike."""
    return min(counts, key=lambda name: (-counts[name], name))


_Copy = Callable[[TrainingContext, Mapping[str, Any]], str]
"""Returns the text to copy for a row."""


def _value(wording: Wording, text: str) -> Answer:
    """Return the answer in a copied text; of classes, a label only where it is just its text."""
    try:
        value: Answer = read_texts(wording, "", text)[1]
    except WordingError:
        return None
    return value


def _example(context: TrainingContext, row: Mapping[str, Any]) -> str:
    examples = context.task.prompt.examples
    number = draw_number(context.seed, context.task.name, row["id"], "shortcut")
    return examples[number % len(examples)][1]


def _input(_: TrainingContext, row: Mapping[str, Any]) -> str:
    return str(row["text"])


def _fit_copier(copy: _Copy, _: Mapping[str, Any], context: TrainingContext) -> Fitted:
    task = context.task
    if copy is _example and not task.prompt.examples:
        raise EvaluationError(f"{task.name} has no examples", "Add them to its file")
    wording = wording_of(task)

    def answer(rows: pa.Table) -> Answers:
        raw = [
            copy(context, row)
            for batch in rows.select(["id", "text"]).to_batches(max_chunksize=256)
            for row in batch.to_pylist()
        ]
        return Answers([_value(wording, text) for text in raw], raw=raw)

    return FittedFunction(answer)


_MOST_CHANGED, _LONGEST = "most-changed-file", "longest-comment"
_DIALOGUE = "dialogue"


def _fit_most_changed(_: Mapping[str, Any], context: TrainingContext) -> Fitted:
    """Name the file of a row's project that changed most often; of an unknown one, of all."""
    task, rows = context.task, context.whole_train
    context.learning.from_all = True
    counts: dict[str | None, Counter[str]] = defaultdict(Counter)
    targets = rows[target_column(task.type).name].to_pylist()
    for repo, path in zip(rows["repo"].to_pylist(), targets, strict=True):
        counts[repo][path] += 1
    most_changed = {repo: _commonest(paths) for repo, paths in counts.items()}
    of_all = _commonest(Counter(targets))

    def answer(rows: pa.Table) -> Answers:
        return Answers([most_changed.get(repo, of_all) for repo in rows["repo"].to_pylist()])

    return FittedFunction(answer)


def _answers(name: str, *types: TaskType) -> Callable[[Task], None]:
    """Return what refuses tasks of other types."""

    def check(task: Task) -> None:
        require_type(task, types, f"The model {name} does not answer", "Choose majority")

    return check


def _check_files(task: Task) -> None:
    if task.source.builder != PATHS:
        raise EvaluationError(
            f"The model {_MOST_CHANGED} does not answer {task.name}, whose answers are no files",
            "Choose copy-ins-input",
        )


def _fit_longest(_: Mapping[str, Any], context: TrainingContext) -> Fitted:
    return FittedFunction(_longest_comments)


def _longest_comments(rows: pa.Table) -> Answers:
    """Answer with the longest of several comments, the first of equals; one alone is no choice."""
    dialogues = (
        [turn["content"] or "" for turn in turns or () if turn["comment_id"] is not None]
        for turns in rows[_DIALOGUE].to_pylist()
    )
    return Answers(
        [max(comments, key=len) if len(comments) > 1 else None for comments in dialogues]
    )


MODELS = (
    entry(
        "majority",
        "Always the most frequent answer of train, the median for numbers.",
        _majority,
        tasks="any",
    ),
    entry(
        "copy-ex-output",
        "Always the output of one of the task's own examples (CrossCodeBench).",
        partial(_fit_copier, _example),
        tasks="classification, text generation",
        check=_answers("copy-ex-output", *CLASSIFICATION, "text-generation"),
        needs_train=False,
    ),
    entry(
        "copy-ins-input",
        "Always the input itself (CrossCodeBench).",
        partial(_fit_copier, _input),
        tasks="classification, text generation",
        check=_answers("copy-ins-input", *CLASSIFICATION, "text-generation"),
        needs_train=False,
    ),
    entry(
        _MOST_CHANGED,
        "The file that changed most often in the train rows of the same project.",
        _fit_most_changed,
        tasks="fault localization",
        check=_check_files,
    ),
    entry(
        _LONGEST,
        "The longest of several comments in the dialogue that the answer was taken from.",
        _fit_longest,
        tasks="question answering",
        check=_answers(_LONGEST, "text-generation"),
        columns=(_DIALOGUE,),
        needs_train=False,
        predict_train=False,
    ),
)

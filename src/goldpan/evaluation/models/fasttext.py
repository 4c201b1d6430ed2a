"""fastText (SELU, IV-C): supervised for labels, averaged word vectors and a ridge for numbers.

The trainer lives in an environment of its own (`core/isolated_env.py`). Each training is a process
of its own, and one that ends in NaN, as some do at random, is run again.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import orjson
import pyarrow as pa
from annotated_types import Ge

from goldpan.core.errors import EvaluationError
from goldpan.core.isolated_env import LOCKS, IsolatedEnv, interpreter
from goldpan.core.storage.workspace import replacing_file, write_whole
from goldpan.datasets.tasks.task import Task, target_column
from goldpan.evaluation.model import (
    LABELS_AND_NUMBERS,
    Answers,
    Fitted,
    Model,
    ModelEntry,
    TrainingContext,
    label_answers,
    model_settings,
    require_labels,
)
from goldpan.evaluation.models import fasttext_worker
from goldpan.evaluation.models.boosted import choose
from goldpan.evaluation.models.linear import fit_ridge

NAME = "fasttext"
TRAINER = IsolatedEnv(
    name="fastText",
    lock=LOCKS / "fasttext.txt",
    variable="GOLDPAN_FASTTEXT_VENV",
    folder="fasttext-0.9.2",
    proof="lib/python*/site-packages/fasttext/__init__.py",
    newest_python=(3, 12),
)
"""fastText has the import name of the predictor of languages, so both cannot share one
environment. Later builds for numpy 2, and 0.9.3, end some trainings with NaN."""
_DEFAULTS = {"grid": "small", "dim": 100, "ngrams": 1, "quoted": False, "install": False}
_KINDS = {
    "grid": Literal["paper", "kit", "small"],
    "dim": Annotated[int, Ge(1)],
    "ngrams": Annotated[int, Ge(1)],
}
_GRIDS: dict[str, tuple[Sequence[float], Sequence[int]]] = {
    "paper": ((1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1), range(5, 21)),
    "kit": ((1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1), (5, 10, 15, 20)),
    "small": ((0.1, 0.3, 1.0), (5, 20)),
}
"""Learning rates and epochs to choose from; the paper's largest rate is too small for few rows."""
_TRIES = 5
_SECONDS = 3_600
_MOST_CHARACTERS = 20_000
_LABEL = "__label__"
_VECTORS = {"model": "skipgram", "epoch": 5, "minCount": 1}


@dataclass(frozen=True, slots=True)
class Trainer:
    """The trainer's environment, and where it works."""

    environment: Path
    directory: Path

    def train(self, kind: str, text: Path, settings: Mapping[str, Any], model: Path) -> None:
        """Train a model; raises `EvaluationError` where it fails, or ends in NaN each time."""
        all_settings = {**settings, "thread": 1, "verbose": 0}
        with replacing_file(model) as draft:
            for _ in range(_TRIES):
                if self._run("train", kind, text, draft, settings=all_settings) == 0:
                    return
            raise EvaluationError(
                f"fastText ended in NaN {_TRIES} times with {dict(settings)}",
                "Choose another --seed, or another grid",
            )

    def ask(self, kind: str, model: Path, texts: Sequence[str]) -> Any:
        """Return the output of a model for texts: chances of labels, or a vector each."""
        questions, output = self.directory / "asked.json", self.directory / "answered.json"
        write_whole(questions, orjson.dumps([one_line(text) for text in texts]))
        self._run("ask", kind, questions, model, output=str(output))
        return orjson.loads(output.read_bytes())

    def _run(self, work: str, kind: str, text: Path, model: Path, **more: Any) -> int:
        path = self.directory / "order.json"
        order = {"work": work, "kind": kind, "input": str(text), "model": str(model), **more}
        write_whole(path, orjson.dumps(order))
        command = [str(interpreter(self.environment)), "-I", fasttext_worker.__file__, str(path)]
        try:
            process = subprocess.run(  # noqa: S603 - our own interpreter and script
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EvaluationError(
                f"fastText in {self.environment} does not run ({error})",
                "Delete that directory and install it again with --set install=yes",
            ) from None
        if process.returncode not in (0, fasttext_worker.NAN):
            message = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise EvaluationError(
                f"fastText failed: {message[:300]}",
                f"Delete {self.environment} and install it again with --set install=yes",
            )
        return process.returncode


@dataclass(frozen=True, slots=True)
class _FastText:
    task: Task
    trainer: Trainer
    model: Path

    def answer(self, rows: pa.Table) -> Answers:
        predicted = self.trainer.ask("supervised", self.model, rows["text"].to_pylist())
        labels = [f"{_LABEL}{index}" for index in range(len(self.task.labels))]
        chances = [[chances_of.get(label, 0.0) for label in labels] for chances_of in predicted]
        return label_answers(self.task, chances)


@dataclass(frozen=True, slots=True)
class _Averaged:
    """Averaged word vectors, as features of a ridge."""

    trainer: Trainer
    model: Path
    size: float = 1.0
    """Usual length of vectors: from few texts they stay near 0, and a ridge flat."""

    def of(self, rows: pa.Table) -> Any:
        vectors = self.trainer.ask("vectors", self.model, rows["text"].to_pylist())
        return np.asarray(vectors, dtype=np.float64) / self.size


def one_line(text: str) -> str:
    """Return a text as fastText reads it; labels and line ends in it mean nothing."""
    words = text[:_MOST_CHARACTERS].replace("\0", " ").split()
    return " ".join("_" + word if word.startswith(_LABEL) else word for word in words)


def _fit(settings: Mapping[str, Any], install: bool, context: TrainingContext) -> Fitted:
    path = TRAINER.default_place(os.environ)
    if install:
        TRAINER.install(path, context.reporter)
    if not TRAINER.is_installed(path):
        raise EvaluationError(
            f"The trainer of fastText is not installed in {path}",
            "Give --set install=yes, which installs it there",
        )
    trainer = Trainer(path, context.directory)
    if context.task.type == "regression":
        return fit_ridge(_averaged(trainer, settings, context).of, context)
    return _supervised(trainer, settings, context)


def _averaged(trainer: Trainer, settings: Mapping[str, Any], context: TrainingContext) -> _Averaged:
    text, model = context.directory / "train.txt", context.directory / "vectors.bin"
    lines = map(one_line, context.whole_train["text"].to_pylist())
    write_whole(text, "\n".join(lines) + "\n")
    # It takes no seed: with one thread it draws the same each time.
    trainer.train("vectors", text, {**_VECTORS, "dim": settings["dim"]}, model)
    lengths = np.linalg.norm(_Averaged(trainer, model).of(context.whole_train), axis=1)
    return _Averaged(trainer, model, float(lengths.mean()) or 1.0)


def _supervised(
    trainer: Trainer, settings: Mapping[str, Any], context: TrainingContext
) -> _FastText:
    task = context.task
    text, best = context.directory / "train.txt", context.directory / "best.bin"
    lines = _lines(task, context.train, quoted=settings["quoted"] and task.type != "multi-label")
    write_whole(text, "".join(lines))
    fixed = {
        "dim": settings["dim"],
        "wordNgrams": settings["ngrams"],
        "minn": 0,
        "maxn": 0,
        "loss": "ova" if task.type == "multi-label" else "softmax",
        "seed": context.seed,
    }
    if settings["ngrams"] == 1:
        fixed["bucket"] = 0

    def candidate(rate: float, epochs: int) -> _FastText:
        model = context.directory / "candidate.bin"
        trainer.train("supervised", text, {**fixed, "lr": rate, "epoch": epochs}, model)
        return _FastText(task, trainer, model)

    def keep(classifier: _FastText) -> _FastText:
        return replace(classifier, model=classifier.model.replace(best))

    grid = list(product(*_GRIDS[settings["grid"]]))
    return choose(context, "fastText is", grid, candidate, keep=keep)


def _lines(task: Task, rows: pa.Table, *, quoted: bool) -> list[str]:
    labels = {name: f"{_LABEL}{index}" for index, name in enumerate(task.label_names)}
    targets = rows[target_column(task.type).name].to_pylist()
    lines = []
    for target, written in zip(targets, rows["text"].to_pylist(), strict=True):
        text = one_line(written)
        named = [labels[name] for name in ([target] if isinstance(target, str) else target)]
        lines.append(" ".join([*named, in_quotes(text) if quoted else text]) + "\n")
    return lines


def in_quotes(text: str) -> str:
    """Return a text as pandas writes it into a table that is separated by spaces.

    SELU's kit learns from such a table, so the first and last word of a text are none that a text
    to answer has.
    """
    return '"' + text.replace('"', '""') + '"' if " " in text or '"' in text else text


def _model(overrides: Mapping[str, Any]) -> Model:
    settings = model_settings(NAME, _DEFAULTS, overrides, _KINDS)
    # Whether it had to be installed tells no runs apart.
    install = settings.pop("install")
    check = partial(require_labels, problem="fastText does not answer", more="regression")
    return Model(NAME, partial(_fit, settings, install), settings, check=check)


MODELS = (
    ModelEntry(
        NAME,
        "fastText in its own environment, which install=yes creates; grid=paper is SELU's, and "
        "quoted=yes learns from texts in quotation marks, as its kit does; "
        "averaged word vectors and ridge regression for numbers.",
        _model,
        tasks=LABELS_AND_NUMBERS,
    ),
)

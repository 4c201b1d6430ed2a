"""Models that are equal, or better by a known amount, and the answers that they would give."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from goldpan.evaluation.compare.scores import (
    Floats,
    Measure,
    TaskEvidence,
    bins_of,
    models_evidence,
)
from goldpan.evaluation.units import Unit


@dataclass(frozen=True)
class Cell:
    """One setting of a simulation."""

    tasks: int = 1
    rows: int = 200
    seeds: int = 1
    models: int = 2
    flip: float = 0.1
    """Share of the rows of which each seed draws an answer of its own."""
    documents: int = 0
    """Documents a task, whose rows a model gets right or wrong together; 0 for none."""
    hang: float = 1.0
    """How strongly, as the standard deviation of a model's log-odds over documents."""
    shares: tuple[float, ...] = (0.5, 0.5)
    """Of classes."""
    right: float = 0.7
    """How often a model is right on a row of middling difficulty."""
    gain: float = 0.0
    """How much more often the first model is; 0 is a null simulation."""
    seed_sd: float = 0.0
    """How far a seed moves the whole model, in log-odds."""
    shared: bool = False
    """Whether one training answers all tasks, so that its luck is that of all."""
    task_sd: float = 0.0
    """How far a model's skill differs between tasks, in log-odds."""
    lopsided: bool = False
    """Whether every other model errs towards the first class and the rest to the last, with
    equally good expected scores."""
    uneven: bool = False
    """Whether the rows of a document hang together for every other model alone; for the rest as
    much varies by row."""

    def named(self) -> str:
        """Return it in a line."""
        parts = [f"{self.tasks} x {self.rows} rows", f"{self.seeds} seeds", f"{self.models} models"]
        parts.append(f"{100 * self.flip:g}% change")
        if self.documents:
            parts.append(f"{self.documents} documents")
        if self.shares != (0.5, 0.5):
            parts.append("classes " + "/".join(f"{100 * share:g}" for share in self.shares))
        parts += [
            f"{name} {getattr(self, name):g}"
            for name in ("gain", "seed_sd", "shared", "task_sd", "lopsided", "uneven")
            if getattr(self, name)
        ]
        return ", ".join(parts)


@dataclass(frozen=True)
class Drawn:
    """One simulated study."""

    evidence: tuple[TaskEvidence, ...]
    scores: Floats
    """Macro F1, models x tasks x seeds."""
    right: tuple[Floats, ...]
    """Whether each answer is right, models x seeds x rows, a task."""

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of the models, by number."""
        return tuple(f"m{at:02}" for at in range(len(self.scores)))


def draw(cell: Cell, random: np.random.Generator) -> Drawn:
    """Return the answers of models to test sets."""
    classes = len(cell.shares)
    truths, answers, rights, units = [], [], [], []
    chosen = cell.right + np.where(np.arange(cell.models) == 0, cell.gain, 0.0)
    common = random.normal(0, 1, (cell.models, cell.seeds, 1)) if cell.shared else None
    for _ in range(cell.tasks):
        truth = random.choice(classes, cell.rows, p=cell.shares)
        unit = (
            np.sort(random.integers(0, cell.documents, cell.rows))
            if cell.documents
            else np.arange(cell.rows)
        )
        skill = np.log(chosen / (1 - chosen))[:, None, None] + random.normal(0, 0.8, cell.rows)
        skill = skill + random.normal(0, 1, (cell.models, 1, 1)) * cell.task_sd
        own = random.normal(0, 1, (cell.models, cell.seeds, 1)) if common is None else common
        skill = skill + own * cell.seed_sd
        if cell.documents:
            pull = random.normal(0, cell.hang, (cell.models, 1, cell.documents))
            pull = pull[..., unit]
            if cell.uneven:
                pull[1::2] = random.normal(0, cell.hang, pull[1::2].shape)
            skill = skill + pull
        if cell.lopsided:
            side = np.where(np.arange(cell.models) % 2 == 0, 1.0, -1.0)[:, None, None]
            skill = skill + side * np.where(truth == 0, 1.0, -1.0)
        size = (cell.models, cell.seeds, cell.rows)
        luck = np.broadcast_to(random.logistic(0, 1, (cell.models, 1, cell.rows)), size)
        anew = random.random(size) < cell.flip
        luck = np.where(anew, random.logistic(0, 1, size), luck)
        right = skill + luck > 0
        wrong = (truth + 1 + random.integers(0, classes - 1, (cell.models, 1, cell.rows))) % classes
        answer = np.where(right, truth, np.broadcast_to(wrong, size))
        answers.append(answer)
        truths.append(truth)
        rights.append(right.astype(np.float64))
        units.append(unit)
    starts = np.cumsum([0, *(int(unit.max()) + 1 for unit in units)])
    bins = bins_of([unit + start for unit, start in zip(units, starts, strict=False)])
    tasks = []
    drawn = zip(truths, answers, bins, units, strict=True)
    for number, (truth, answer, bin_of, unit) in enumerate(drawn):
        used, summed = _counts(truth, answer, classes, bin_of)
        evidence = {
            f"m{at:02}": replace(model, training=f"m{at:02}" if cell.shared else "")
            for at, model in enumerate(models_evidence(summed, macro_f1))
        }
        kind: Unit = "documents" if cell.documents else "rows"
        many = len(np.unique(unit))
        tasks.append(
            TaskEvidence(f"t{number:02}", f"s{number:02}", kind, many, used, evidence, macro_f1)
        )
    scores = np.array([[task.models[name].scores for task in tasks] for name in tasks[0].models])
    return Drawn(tuple(tasks), scores, tuple(rights))


def _counts(
    truth: np.ndarray, answer: np.ndarray, classes: int, bins: np.ndarray
) -> tuple[np.ndarray, Floats]:
    """Return the bins that occur and what the answers in each add to the counts of each class.

    These are true and false positives and false negatives: models x seeds x bins x 3 a class.
    """
    used, position = np.unique(bins, return_inverse=True)
    models, seeds, rows = answer.shape
    starts = np.arange(models * seeds)[:, None] * len(used) + position
    answer = answer.reshape(-1, rows)
    of_truth, of_answer = (3 * (starts * classes + label) for label in (truth, answer))
    right = answer == truth
    size = models * seeds * len(used) * 3 * classes
    counts = np.bincount(of_truth[right], minlength=size).astype(np.float64)
    counts += np.bincount(of_answer[~right] + 1, minlength=size)
    counts += np.bincount(of_truth[~right] + 2, minlength=size)
    return used, counts.reshape(models, seeds, len(used), 3 * classes)


def macro_f1(sums: Floats) -> Floats:
    """Measure macro F1 of true and false positives and false negatives, a block a label."""
    tp, fp, fn = np.moveaxis(sums.reshape(len(sums), -1, 3), -1, 0)
    halves = 2 * tp + fp + fn
    f1 = np.divide(2 * tp, halves, out=np.zeros_like(halves), where=halves > 0)
    means: Floats = f1.mean(axis=1)
    return means


def mean_of(examples: int) -> Measure:
    """Return the measure that is the mean of one number an example, such as being right."""
    return lambda sums: sums[:, 0] / examples

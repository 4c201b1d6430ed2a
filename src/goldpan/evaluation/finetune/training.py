"""Training loop: steps, evaluations, early stopping, checkpoints.

The loop is Goldpan's own, as what it has to keep is more than what a trainer would save: the
same steps whatever fits on a device, a resume that gives the same losses, and one way for PyTorch
and DeepSpeed.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError
from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import ProgressTask, Reporter
from goldpan.evaluation.finetune.engines import (
    ProcessGroup,
    accumulation,
    make_engine,
    resume,
    save,
)
from goldpan.evaluation.finetune.heads import LoadedModel, TensorBatch, out_of_memory, rows_at_once
from goldpan.evaluation.finetune.job import WORD_TASKS, TrainingJob
from goldpan.evaluation.finetune.loading import learned, load_model, quiet
from goldpan.evaluation.model import Answer, Answers, load
from goldpan.evaluation.score import predictions_of, score


def validate(
    job: TrainingJob, loaded: LoadedModel, group: ProcessGroup, batch: int
) -> tuple[float | None, float]:
    """Return the score, and the same such that higher is better; processes share the rows."""
    assert job.validation is not None
    mine = job.validation.take(list(range(group.rank, len(job.validation), group.world)))
    values: Sequence[Answer] = []
    if len(mine):
        values = loaded.answers(mine, batch).values
    shares = group.gather(list(values))
    every = [shares[row % group.world][row // group.world] for row in range(len(job.validation))]
    table = predictions_of(job.task, job.validation, Answers(every))
    metric = score(job.task, table, resamples=0).metric(job.task.metric)
    if metric.value is None:
        return None, -math.inf
    return metric.value, metric.value if metric.higher_is_better else -metric.value


LEARNED = "learned.pt"
"""The weights that training changed, at their best."""
TRAINED = "trained.json"
"""Facts of a finished training; the file is written last."""
_PENDING = 50
"""Steps after which their losses are fetched."""
_BETWEEN = 600.0
"""Seconds after which a checkpoint is due though no evaluation is."""


class TooLargeError(Exception):
    """The rows that a device was given at once do not fit."""


def train(job: TrainingJob, group: ProcessGroup, device_batch: int, reporter: Reporter) -> None:
    """Train, going on from a checkpoint where there is one; leave `LEARNED` and `TRAINED`.

    All processes of a training call it. Raises `TooLargeError` where `device_batch` rows do not
    fit, `EvaluationError` where nothing can be learned.
    """
    torch = load("torch")
    devices = [group.device] if group.device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices), quiet():
            torch.manual_seed(job.seed)
            training = _Training(job, group, device_batch, reporter)
            with reporter.task(f"{job.task.name}: steps", training.steps) as progress:
                progress.advance(training.state.step)
                training.run(progress)
            if group.first:
                training.finish()
            group.wait()
    except RuntimeError as error:
        if out_of_memory(error):
            raise TooLargeError from None
        raise


class _Training:
    """A training from its first step, or from where its newest checkpoint left it."""

    def __init__(
        self, job: TrainingJob, group: ProcessGroup, device_batch: int, reporter: Reporter
    ) -> None:
        settings = job.settings
        self.job, self.group, self.device_batch = job, group, device_batch
        self.loaded = load_model(job, group.device, master_copies=settings.deepspeed != "none")
        self.examples = self.loaded.head.examples(job.train, learn=True)
        if not self.examples:
            raise EvaluationError(
                f"The train split of {job.task.name} has nothing to learn", "Import more rows"
            )
        module, half = self.loaded.module, self.loaded.half
        self.engine = make_engine(module, settings, group, device_batch, half=half)
        self.steps_per_epoch = math.ceil(len(self.examples) / settings.batch)
        self.steps = self.steps_per_epoch * job.epochs
        load("torch").manual_seed(job.seed + group.rank)  # each draws its own dropout
        self.state = resume(job.directory, self.engine, group, reporter)

    def rate(self) -> float:
        """Return the learning rate of the next step: it rises, then stays or falls on a line."""
        settings, step = self.job.settings, self.state.step
        rising = math.ceil(settings.warmup * self.steps)
        if step < rising:
            return settings.learning_rate * (step + 1) / rising
        if not settings.decay:
            return settings.learning_rate
        return settings.learning_rate * (self.steps - step) / max(1, self.steps - rising)

    def run(self, progress: ProgressTask) -> None:
        """Take all steps that are left, unless the score stops rising before."""
        job, state = self.job, self.state
        lengths = [example.length for example in self.examples]
        interval = self.steps_per_epoch
        if job.task.type not in WORD_TASKS:
            interval = math.ceil(self.steps / job.settings.evaluations)
        started, before = time.monotonic(), state.seconds
        order: list[list[int]] = []
        pending: list[Any] = []
        while state.step < self.steps and state.misses < job.settings.patience:
            epoch, at = divmod(state.step, self.steps_per_epoch)
            if at == 0 or not order:
                order = steps_of_epoch(
                    lengths, job.settings.batch, job.seed, epoch, group=job.settings.group_lengths
                )
            pending.append(self._step(order[at], f"{job.seed} {epoch}"))
            progress.advance()
            looks = state.step % interval == 0 or state.step == self.steps
            if not looks and len(pending) < _PENDING:
                continue
            self._settle(pending)
            if looks:
                self._evaluate()
            spent = self.group.gather(before + time.monotonic() - started)[0]
            if looks or spent - state.seconds > _BETWEEN:
                state.seconds = spent
                save(job.directory, state, self.engine, self.group)

    def _step(self, rows: Sequence[int], salt: str) -> Any:
        """Change the weights once, by the mean loss over all that the step asks for; return it."""
        group, loaded, state = self.group, self.loaded, self.state
        longest = max(self.examples[row].length for row in rows)
        size = rows_at_once(self.device_batch, longest, group.device.type)
        parts = parts_of(rows, group.rank, group.world, size)
        batches = [
            loaded.head.batch([self.examples[row] for row in part.rows], salt) for part in parts
        ]
        counting = [batch for part, batch in zip(parts, batches, strict=True) if part.counts]
        mine = sum(batch.count for batch in counting), sum(batch.tokens for batch in counting)
        sums = group.gather(mine)
        total = max(1, sum(count for count, _ in sums))
        loaded.module.train()
        losses = [
            self._learn(part, batch, total, last=number == len(parts))
            for number, (part, batch) in enumerate(zip(parts, batches, strict=True), 1)
        ]
        self.engine.update(self.rate())
        state.step += 1
        state.tokens += sum(tokens for _, tokens in sums)
        return sum(losses)

    def _learn(self, part: StepPart, batch: TensorBatch, total: int, *, last: bool) -> Any:
        loaded = self.loaded
        # Engines average over processes, so that a sum over all of them wants this factor.
        share = self.group.world / total if part.counts else 0.0

        def loss_of(module: Any) -> Any:
            logits = loaded.call(module, batch.inputs).logits
            return loaded.head.loss(logits, batch.targets.to(logits.device)) * share

        return self.engine.learn(loss_of, last=last)

    def _settle(self, pending: list[Any]) -> None:
        """Fetch the losses of the last steps; asking a GPU for each at once would make it wait."""
        shares = self.group.gather([float(loss) for loss in pending])
        pending.clear()
        known = self.state.losses
        for losses in zip(*shares, strict=True):
            known.append(math.fsum(losses) / self.group.world)
            if not math.isfinite(known[-1]):
                raise EvaluationError(
                    f"The loss of step {len(known)} is not a number",
                    "Give a smaller learning_rate, or precision=fp32",
                )

    def _evaluate(self) -> None:
        job, state = self.job, self.state
        if job.validation is None or not len(job.validation):
            return
        value, better = validate(job, self.loaded, self.group, self.device_batch * 2)
        state.scores.append((state.step, value))
        improved = state.best is None or better > state.best
        # Of equals the later one has learned more: few rows to choose by cannot tell it.
        if improved or better == state.best:
            state.best, state.best_step = max(better, -1e308), state.step
            if self.group.first:
                self._keep()
        state.misses = 0 if improved else state.misses + 1

    def _keep(self) -> None:
        path = self.job.directory / LEARNED
        unfinished = path.with_suffix(".unfinished")
        load("torch").save(learned(self.loaded.module), unfinished)
        unfinished.replace(path)

    def finish(self) -> None:
        """Leave the weights and the facts of the training."""
        loaded, group, state = self.loaded, self.group, self.state
        if state.best is None:
            self._keep()
            state.best_step = state.step
        parameters = list(loaded.module.parameters())
        facts = {
            **asdict(state),
            "planned_steps": self.steps,
            "stopped_early": state.step < self.steps,
            "device": group.device.type,
            "gpus": group.gpus,
            "processes": group.world,
            "precision": "bf16" if loaded.half else "fp32",
            "attention": loaded.attention,
            "max_length": loaded.head.tokenizer.limit,
            "device_batch": self.device_batch,
            "accumulation": accumulation(self.job.settings, self.device_batch),
            "parameters": sum(weight.numel() for weight in parameters),
            "trained_parameters": sum(
                weight.numel() for weight in parameters if weight.requires_grad
            ),
        }
        write_whole(self.job.directory / TRAINED, orjson.dumps(facts, option=orjson.OPT_INDENT_2))


def read_trained(directory: Path) -> dict[str, Any] | None:
    """Return the facts of a finished training, None of an unfinished one."""
    path = directory / TRAINED
    return dict(orjson.loads(path.read_bytes())) if path.exists() else None


_POOL = 50
"""Steps whose rows are sorted by length together: padding is little, order still random."""


def steps_of_epoch(
    lengths: Sequence[int], batch: int, seed: int, epoch: int, *, group: bool
) -> list[list[int]]:
    """Return the rows of each step of an epoch, longest first within a step where grouped.

    The first step of the first epoch has the longest row, so that memory runs out at once if
    ever.
    """
    draw = random.Random(f"{seed} order {epoch}")  # noqa: S311
    rows = list(range(len(lengths)))
    draw.shuffle(rows)
    if not group:
        return [rows[start : start + batch] for start in range(0, len(rows), batch)]
    pooled = []
    for start in range(0, len(rows), batch * _POOL):
        pool = sorted(rows[start : start + batch * _POOL], key=lambda row: -lengths[row])
        pooled += [pool[at : at + batch] for at in range(0, len(pool), batch)]
    draw.shuffle(pooled)
    if epoch == 0:
        heaviest = max(range(len(pooled)), key=lambda step: lengths[pooled[step][0]])
        pooled[0], pooled[heaviest] = pooled[heaviest], pooled[0]
    return pooled


@dataclass(frozen=True, slots=True)
class StepPart:
    """Rows that a process takes at once."""

    rows: Sequence[int]
    counts: bool = True
    """False where there are no rows left for it: it takes one that does not count, since all
    processes must take part in every exchange."""


def parts_of(step: Sequence[int], rank: int, world: int, device_batch: int) -> list[StepPart]:
    """Return the parts of a step that one of `world` processes takes, as many as any other."""
    largest = math.ceil(len(step) / world)
    parts = math.ceil(largest / device_batch)
    mine = step[rank::world]
    cut = [mine[at * len(mine) // parts : (at + 1) * len(mine) // parts] for at in range(parts)]
    return [StepPart(rows) if rows else StepPart(step[:1], counts=False) for rows in cut]

"""Training by transformers' `Trainer`, with what tasks add to it.

Its own are the loop, optimizer, schedule, accumulation, mixed precision, processes, DeepSpeed, the
choice of the best step, reports to other tools, and checkpoints.

Ours are losses as means over all that a step asks for, whatever parts it is taken in, and scores of
the task.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from goldpan.core.errors import EvaluationError, GoldpanError
from goldpan.core.terminal import ProgressTask, Reporter
from goldpan.evaluation.finetune.arguments import CHECKPOINTS, STATE, sharding, training_arguments
from goldpan.evaluation.finetune.heads import (
    NOT_ASKED,
    LoadedModel,
    Tensor,
    TokenizedExample,
    out_of_memory,
    rows_at_once,
)
from goldpan.evaluation.finetune.job import TooLargeError, TrainingJob, write_trained
from goldpan.evaluation.finetune.loading import load_model, pick_device, quiet
from goldpan.evaluation.finetune.steps import StepSampler, TakenRow, device_share
from goldpan.evaluation.model import Answers, load
from goldpan.evaluation.score import predictions_of, ranking_metric, score

_torch = load("torch")
_transformers = load("transformers")
_accelerate = load("accelerate.utils")
_Trainer: Any = _transformers.Trainer
_TrainerCallback: Any = _transformers.TrainerCallback

_LATER, _SAME = 1e-13, 1e-7
"""What a step adds to its score, and the difference of scores that counts."""
_BETWEEN = 600.0
"""Seconds after which a checkpoint is due though no evaluation is."""
_ASKED = 50
"""Steps after which processes agree on that."""


def train(job: TrainingJob, device_batch: int, checkpoint: Path | None, reporter: Reporter) -> None:
    """Train, going on from a checkpoint where one is given; all processes of a training call it.

    Raises `TooLargeError` where `device_batch` rows do not fit, and `EvaluationError` where nothing
    can be learned, or the checkpoint cannot be loaded.
    """
    world = job.settings.processes
    rank = int(os.environ["LOCAL_RANK"]) if world > 1 else 0
    device = pick_device(job.settings.device, rank)
    if job.settings.deepspeed != "none" and device.type == "cpu":
        # Else a compiler is called for an extension that gloo does without.
        load("deepspeed.ops").__compatible_ops__["deepspeed_shm_comm"] = False
    trainer = None
    try:
        with _own_randomness(device), quiet():
            _torch.manual_seed(job.seed)
            # While it is kept, weights are shared out as they are read.
            shared_out = sharding(job.settings, gpu=device.type == "cuda")
            loaded = load_model(job, device)
            del shared_out
            examples = loaded.head.examples(job.train, learn=True)
            if not examples:
                raise EvaluationError(
                    f"The train split of {job.task.name} has nothing to learn", "Import more rows"
                )
            lengths = [example.length for example in examples]
            most = rows_at_once(device_batch, max(lengths), device.type)
            sampler = StepSampler(
                lengths,
                job.settings.batch,
                device_share(job.settings.batch, world, most),
                job.seed,
                job.settings.group_lengths,
                rank,
                world,
            )
            with reporter.task(f"{job.task.name}: steps", sampler.steps * job.epochs) as progress:
                trainer = TaskTrainer(job, loaded, examples, sampler, progress)
                trainer.learn(checkpoint)
    except GoldpanError:
        raise
    except Exception as error:
        if isinstance(error, RuntimeError) and out_of_memory(error):
            raise TooLargeError from None
        if checkpoint is not None and trainer is not None and not trainer.stepped:
            raise EvaluationError(
                f"{checkpoint} cannot be loaded ({' '.join(str(error).split())[:200]})",
                "Delete it: the same command resumes from the one before",
            ) from None
        if "No space left" in str(error) or "PytorchStreamWriter" in str(error):
            raise EvaluationError(
                f"A checkpoint in {job.directory / CHECKPOINTS} cannot be written ({error})",
                "Free some space on that disk; the same command resumes from the one before",
            ) from None
        raise


class TaskTrainer(_Trainer):  # type: ignore[misc]
    """A Trainer of one head, with the task's metric as the score of an evaluation."""

    def __init__(
        self,
        job: TrainingJob,
        loaded: LoadedModel,
        examples: Sequence[TokenizedExample],
        sampler: StepSampler,
        progress: ProgressTask,
    ) -> None:
        gpu = loaded.device.type == "cuda"
        arguments = training_arguments(job, sampler, gpu=gpu, half=loaded.half)
        try:
            super().__init__(
                model=loaded.module,
                args=_transformers.TrainingArguments(**arguments),
                train_dataset=_Rows(examples),
                eval_dataset=job.validation,  # only that there is one: `evaluate` asks by itself
                data_collator=self._collated,
                compute_loss_func=self._mean_loss,
                callbacks=[_Steps(self, progress)],
            )
        except (ImportError, RuntimeError, ValueError) as error:
            if job.settings.report_to == "none" or out_of_memory(error):
                raise
            raise EvaluationError(
                f"The training cannot report to {job.settings.report_to} ({error})",
                "Install that tool's package, or leave report_to away",
            ) from None
        self.remove_callback(_transformers.PrinterCallback)
        self.job, self.loaded, self.sampler = job, loaded, sampler
        self.clock = time.monotonic()
        self.stepped = False
        if arguments.get("eval_strategy"):
            stopping = _transformers.EarlyStoppingCallback(job.settings.patience, _SAME)
            self.add_callback(stopping)

    def learn(self, checkpoint: Path | None) -> None:
        """Take all steps that are left, and write the facts of the training."""
        _torch.manual_seed(self.job.seed + self.args.process_index)  # each draws its own dropout
        if checkpoint is None or not self._was_last(checkpoint):
            self.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        if self.args.should_save:
            write_trained(self.job.directory, self._facts())
        self.accelerator.wait_for_everyone()

    def get_train_dataloader(self) -> Any:
        """Return the rows of this process, which are dealt out already."""
        return _torch.utils.data.DataLoader(
            self.train_dataset, batch_sampler=self.sampler, collate_fn=self.data_collator
        )

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the task's metric on the validation split, whose rows the processes share."""
        job, rank, world = self.job, self.args.process_index, self.args.world_size
        assert job.validation is not None
        # Where the weights are shared, all processes take part in each answer.
        alike = job.settings.shares_weights
        numbers = list(range(0 if alike else rank, len(job.validation), 1 if alike else world))
        values: Sequence[Any] = []
        if numbers:
            rows = job.validation.take(numbers)
            values = self.loaded.answers(rows, self.sampler.device_batch * 2).values
        shares = list(zip(numbers, values, strict=True))
        if world > 1 and not alike:
            shares = _accelerate.gather_object(shares)
        answers = Answers([value for _, value in sorted(shares, key=lambda share: share[0])])
        table = predictions_of(job.task, job.validation, answers)
        metric = score(job.task, table, resamples=0).metric(job.task.metric)
        rising = ranking_metric(metric).value
        metrics = {
            f"eval_{metric.name}": math.nan if metric.value is None else metric.value,
            # Of equals the later one has learned more: few rows to choose by cannot tell it.
            "eval_score": -math.inf if rising is None else rising + self.state.global_step * _LATER,
        }
        self.log(metrics)
        self.control: Any = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Keep and report figures, with the seconds that the training has taken in all."""
        if not math.isfinite(logs.get("loss", 0.0)):
            raise EvaluationError(
                f"The loss of step {self.state.global_step} is not a number",
                "Give a smaller learning_rate, or precision=fp32",
            )
        now = time.monotonic()
        logs["seconds"] = _seconds(self.state.log_history) + now - self.clock
        self.clock = now
        super().log(logs, start_time)

    def _collated(self, part: Sequence[tuple[TokenizedExample, bool]]) -> Mapping[str, Tensor]:
        salt = f"{self.job.seed} {self.sampler.epoch}"
        batch = self.loaded.head.batch([example for example, _ in part], salt)
        if not part[0][1]:
            batch["labels"].fill_(NOT_ASKED)
        return batch

    def _mean_loss(self, outputs: Any, labels: Tensor, num_items_in_batch: Tensor) -> Tensor:
        return self.loaded.head.loss(outputs.logits, labels) / num_items_in_batch.clamp(min=1)

    def _was_last(self, checkpoint: Path) -> bool:
        """Return whether the training was over when it was written; takes over its state then."""
        state = _transformers.TrainerState.load_from_json(str(checkpoint / STATE))
        waited = state.stateful_callbacks.get("EarlyStoppingCallback", {}).get("attributes", {})
        patient = waited.get("early_stopping_patience_counter", 0) < self.job.settings.patience
        if patient and state.global_step < self.sampler.steps * self.job.epochs:
            return False
        self.state = state
        return True

    def _facts(self) -> dict[str, Any]:
        state, loaded, key = self.state, self.loaded, f"eval_{self.job.task.metric}"
        scores = {entry["step"]: entry[key] for entry in state.log_history if key in entry}
        best = state.best_global_step or state.global_step
        weights = list(loaded.module.parameters())
        counts = [getattr(weight, "ds_numel", weight.numel()) for weight in weights]
        steps = self.sampler.steps * self.job.epochs
        return {
            "step": state.global_step,
            "best": scores.get(best),
            "best_step": best,
            "losses": [entry["loss"] for entry in state.log_history if "loss" in entry],
            "scores": list(scores.items()),
            "tokens": self._tokens(),
            "seconds": _seconds(state.log_history),
            "planned_steps": steps,
            "stopped_early": state.global_step < steps,
            "device": loaded.device.type,
            "gpus": self.args.world_size if loaded.device.type == "cuda" else 0,
            "processes": self.args.world_size,
            "precision": "bf16" if loaded.half else "fp32",
            "attention": loaded.attention,
            "max_length": loaded.head.tokenizer.limit,
            "device_batch": self.sampler.device_batch,
            "accumulation": self.sampler.parts,
            "parameters": sum(counts),
            "trained_parameters": sum(
                count for count, weight in zip(counts, weights, strict=True) if weight.requires_grad
            ),
            "learned": f"{CHECKPOINTS}/checkpoint-{best}",
        }

    def _tokens(self) -> int:
        """Return how many tokens were learned from."""
        epochs, steps = divmod(int(self.state.global_step), self.sampler.steps)
        self.sampler.epoch = epochs
        lengths = self.sampler.lengths
        part = sum(lengths[row] for rows in self.sampler.rows()[:steps] for row in rows)
        return epochs * sum(lengths) + part


class _Rows:
    """Examples as a data loader asks for them."""

    def __init__(self, examples: Sequence[TokenizedExample]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, taken: TakenRow) -> tuple[TokenizedExample, bool]:
        return self._examples[taken.row], taken.counts


class _Steps(_TrainerCallback):  # type: ignore[misc]
    """Counts steps, says which epoch it is, and asks for checkpoints between evaluations."""

    def __init__(self, trainer: TaskTrainer, progress: ProgressTask) -> None:
        self._trainer, self._progress = trainer, progress
        self._saved = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin where the checkpoint was."""
        self._trainer.clock = self._saved = time.monotonic()
        self._progress.advance(state.global_step)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Deal out the rows anew."""
        self._trainer.sampler.epoch = state.global_step // self._trainer.sampler.steps

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """From here on the checkpoint is loaded."""
        self._trainer.stepped = True

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Ask for a checkpoint when the last one is long ago for the first process."""
        self._progress.advance()
        if state.global_step % _ASKED == 0:
            ages = [time.monotonic() - self._saved]
            if args.world_size > 1:
                ages = _accelerate.gather_object(ages)
            control.should_save = control.should_save or ages[0] > _BETWEEN

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note when the last checkpoint was written."""
        self._saved = time.monotonic()


def _seconds(history: Sequence[Mapping[str, float]]) -> float:
    return next((entry["seconds"] for entry in reversed(history) if "seconds" in entry), 0.0)


@contextmanager
def _own_randomness(device: Any) -> Iterator[None]:
    """Leave the generators of Python, numpy and PyTorch as they were."""
    python, numbers = random.getstate(), np.random.get_state()
    try:
        with _torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)

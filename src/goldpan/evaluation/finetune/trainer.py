"""Training by transformers' `Trainer`, with what tasks add to it.

Its own are the loop, optimizer, schedule, accumulation, mixed precision, processes, DeepSpeed, the
choice of the best step, reports to other tools, and checkpoints.

Ours are losses as means over all that a step asks for, whatever parts it is taken in, and scores of
the task.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError, GoldpanError
from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import ProgressTask, Reporter
from goldpan.evaluation.finetune.heads import (
    NOT_ASKED,
    LoadedModel,
    Tensor,
    TokenizedExample,
    out_of_memory,
    rows_at_once,
)
from goldpan.evaluation.finetune.job import (
    CHECKPOINTS,
    STATE,
    TRAINED,
    WORD_TASKS,
    TooLargeError,
    TrainingJob,
    device_share,
)
from goldpan.evaluation.finetune.loading import (
    deepspeed_config,
    load_model,
    pick_device,
    quiet,
    sharing,
)
from goldpan.evaluation.model import Answers, load
from goldpan.evaluation.score import predictions_of, ranking_metric, score

_torch = load("torch")
_transformers = load("transformers")
_Trainer: Any = _transformers.Trainer
_TrainerCallback: Any = _transformers.TrainerCallback
_EarlyStoppingCallback: Any = _transformers.EarlyStoppingCallback

_LATER, _SAME = 1e-13, 1e-7
"""What a step adds to its score, and the difference of scores that counts."""
_LOGGED = 1_000
"""Losses that are kept at most."""
_NO_ROW = -1
"""The number of a row that does not count: the last of the data set."""


@dataclass(slots=True)
class StepSampler:
    """The rows that one of `world` processes takes at once, for a data loader.

    A step has the same rows however many processes share it and however few fit on a device, so
    neither changes what is learned. The last one is filled up with rows that do not count.
    """

    lengths: Sequence[int]
    batch: int
    device_batch: int
    seed: int
    grouped: bool
    rank: int = 0
    world: int = 1
    epoch: int = 0

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return math.ceil(len(self.lengths) / self.batch)

    @property
    def parts(self) -> int:
        """Parts of a step."""
        return self.batch // (self.world * self.device_batch)

    def __len__(self) -> int:
        return self.steps * self.parts

    def __iter__(self) -> Iterator[list[int]]:
        rows = self.order()
        rows += [_NO_ROW] * (self.steps * self.batch - len(rows))
        at_once = self.world * self.device_batch
        for start in range(0, len(rows), at_once):
            yield rows[start : start + at_once][self.rank :: self.world]

    def order(self) -> list[int]:
        """Return the rows of an epoch; grouped, those of like length stand side by side."""
        draw = _torch.Generator().manual_seed((self.seed * 1_000_003 + self.epoch) % 2**63)
        if not self.grouped:
            return list(_torch.randperm(len(self.lengths), generator=draw).tolist())
        grouped = load("transformers.trainer_pt_utils").get_length_grouped_indices
        return list(grouped(list(self.lengths), self.batch, generator=draw))


def train(job: TrainingJob, device_batch: int, checkpoint: Path | None, reporter: Reporter) -> None:
    """Train, going on from a checkpoint where one is given; all processes of a training call it.

    Raises `TooLargeError` where `device_batch` rows do not fit, and `EvaluationError` where nothing
    can be learned, or the checkpoint cannot be loaded.
    """
    world = job.settings.processes
    device = pick_device(job.settings.device, int(os.environ["LOCAL_RANK"]) if world > 1 else 0)
    if device.type == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"  # else it warns that there is no GPU
    if job.settings.deepspeed != "none" and device.type == "cpu":
        # Else a compiler is called for an extension that gloo does without.
        load("deepspeed.ops").__compatible_ops__["deepspeed_shm_comm"] = False
    trainer = None
    try:
        with _torch.random.fork_rng([device] if device.type == "cuda" else []), quiet():
            _torch.manual_seed(job.seed)
            with sharing(job.settings, gpu=device.type == "cuda"):
                loaded = load_model(job, device)
            trainer = TaskTrainer(job, loaded, device_batch)
            with reporter.task(f"{job.task.name}: steps", trainer.steps) as progress:
                trainer.learn(checkpoint, progress)
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

    def __init__(self, job: TrainingJob, loaded: LoadedModel, device_batch: int) -> None:
        examples = loaded.head.examples(job.train, learn=True)
        if not examples:
            raise EvaluationError(
                f"The train split of {job.task.name} has nothing to learn", "Import more rows"
            )
        self.job, self.loaded = job, loaded
        self.sampler = _sampler(
            job, [len(example.ids) for example in examples], loaded, device_batch
        )
        self.steps = self.sampler.steps * job.epochs
        self.clock = time.monotonic()
        self.stepped = False
        shortest = min(examples, key=lambda example: len(example.ids))
        try:
            super().__init__(
                model=loaded.module,
                args=_transformers.TrainingArguments(**_arguments(job, loaded, self.sampler)),
                train_dataset=[*((example, True) for example in examples), (shortest, False)],
                eval_dataset=job.validation,  # only that there is one: `evaluate` asks by itself
                data_collator=self._collated,
                compute_loss_func=self._mean_loss,
            )
        except (ImportError, RuntimeError, ValueError) as error:
            if job.settings.report_to == "none" or out_of_memory(error):
                raise
            raise EvaluationError(
                f"The training cannot report to {job.settings.report_to} ({error})",
                "Install that tool's package, or leave out report_to",
            ) from None
        self.remove_callback(_transformers.PrinterCallback)
        if self.args.eval_strategy != "no":
            self.add_callback(_EarlyStopping(job.settings.patience, _SAME))

    def learn(self, checkpoint: Path | None, progress: ProgressTask) -> None:
        """Take all steps that are left, and write the facts of the training."""
        self.add_callback(_Steps(self, progress))
        _torch.manual_seed(self.job.seed + self.args.process_index)  # each draws its own dropout
        if checkpoint is None or not self._was_last(checkpoint):
            self.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        if self.args.should_save:
            facts = orjson.dumps(self._facts(), option=orjson.OPT_INDENT_2)
            write_whole(self.job.directory / TRAINED, facts)
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
            batch = self.sampler.device_batch * 2
            values = self.loaded.head.answers(self.loaded, rows, batch).values
        shares = list(zip(numbers, values, strict=True))
        if world > 1 and not alike:
            shares = load("accelerate.utils").gather_object(shares)
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
        batch["labels"][~_torch.tensor([counts for _, counts in part])] = NOT_ASKED
        return batch

    def _mean_loss(self, outputs: Any, labels: Tensor, num_items_in_batch: Tensor) -> Tensor:
        return self.loaded.head.loss(outputs.logits, labels) / num_items_in_batch.clamp(min=1)

    def _was_last(self, checkpoint: Path) -> bool:
        """Return whether the training was over when it was written; takes over its state then."""
        state = _transformers.TrainerState.load_from_json(str(checkpoint / STATE))
        waited = state.stateful_callbacks.get(_EarlyStopping.__name__, {}).get("attributes", {})
        patient = waited.get("early_stopping_patience_counter", 0) < self.job.settings.patience
        if patient and state.global_step < self.steps:
            return False
        self.state = state
        return True

    def _facts(self) -> dict[str, Any]:
        state, loaded, key = self.state, self.loaded, f"eval_{self.job.task.metric}"
        scores = {entry["step"]: entry[key] for entry in state.log_history if key in entry}
        best = state.best_global_step or state.global_step
        weights = list(loaded.module.parameters())
        counts = [getattr(weight, "ds_numel", weight.numel()) for weight in weights]
        return {
            "step": state.global_step,
            "best": scores.get(best),
            "best_step": best,
            "losses": [entry["loss"] for entry in state.log_history if "loss" in entry],
            "scores": list(scores.items()),
            "tokens": int(state.num_input_tokens_seen),
            "seconds": _seconds(state.log_history),
            "planned_steps": self.steps,
            "stopped_early": state.global_step < self.steps,
            "device": loaded.device.type,
            "gpus": self.args.world_size if loaded.device.type == "cuda" else 0,
            "processes": self.args.world_size,
            "precision": "bf16" if loaded.half else "fp32",
            "max_length": loaded.head.tokenizer.model_max_length,
            "device_batch": self.sampler.device_batch,
            "accumulation": self.sampler.parts,
            "parameters": sum(counts),
            "trained_parameters": sum(
                count for count, weight in zip(counts, weights, strict=True) if weight.requires_grad
            ),
            "learned": f"{CHECKPOINTS}/checkpoint-{best}",
        }


class _EarlyStopping(_EarlyStoppingCallback):  # type: ignore[misc]
    """Waits for a better score only once scores differ: a model may give one answer for long."""

    def check_metric_value(self, args: Any, state: Any, control: Any, metric_value: float) -> None:
        before = (entry["eval_score"] for entry in state.log_history if "eval_score" in entry)
        if any(abs(metric_value - score) > _SAME for score in before):
            super().check_metric_value(args, state, control, metric_value)


class _Steps(_TrainerCallback):  # type: ignore[misc]
    """Counts steps, and tells the sampler which epoch it is."""

    def __init__(self, trainer: TaskTrainer, progress: ProgressTask) -> None:
        self._trainer, self._progress = trainer, progress

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin where the checkpoint was."""
        self._trainer.clock = time.monotonic()
        self._progress.advance(state.global_step)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Deal out the rows anew."""
        self._trainer.sampler.epoch = state.global_step // self._trainer.sampler.steps

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """From here on the checkpoint is loaded."""
        self._trainer.stepped = True

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Count the step."""
        self._progress.advance()


def _seconds(history: Sequence[Mapping[str, float]]) -> float:
    return next((entry["seconds"] for entry in reversed(history) if "seconds" in entry), 0.0)


def _sampler(
    job: TrainingJob, lengths: Sequence[int], loaded: LoadedModel, device_batch: int
) -> StepSampler:
    settings, world = job.settings, job.settings.processes
    most = rows_at_once(device_batch, max(lengths), loaded.device.type)
    return StepSampler(
        lengths,
        settings.batch,
        device_share(settings.batch, world, most),
        job.seed,
        settings.group_lengths,
        int(os.environ["LOCAL_RANK"]) if world > 1 else 0,
        world,
    )


def _arguments(job: TrainingJob, loaded: LoadedModel, sampler: StepSampler) -> dict[str, Any]:
    """Return the arguments of transformers' `TrainingArguments` for a training."""
    settings, gpu = job.settings, loaded.device.type == "cuda"
    steps = sampler.steps * job.epochs
    by_epoch = job.task.type in WORD_TASKS
    interval = sampler.steps if by_epoch else math.ceil(steps / settings.evaluations)
    arguments: dict[str, Any] = {
        "output_dir": str(job.directory / CHECKPOINTS),
        "seed": job.seed % 2**32,
        "use_cpu": not gpu,
        "bf16": loaded.half,
        "per_device_train_batch_size": sampler.device_batch,
        "gradient_accumulation_steps": sampler.parts,
        "num_train_epochs": job.epochs,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.clip,
        "warmup_steps": math.ceil(settings.warmup * steps),
        "lr_scheduler_type": "linear" if settings.decay else "constant_with_warmup",
        "gradient_checkpointing": settings.recompute,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
        "save_strategy": "steps",
        "save_steps": interval,
        "save_total_limit": 2,
        "restore_callback_states_from_checkpoint": True,
        "logging_steps": math.ceil(steps / _LOGGED),
        "logging_nan_inf_filter": False,
        "include_num_input_tokens_seen": "non_padding",
        "report_to": [name for name in settings.report_to.split(",") if name != "none"],
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "label_names": ["labels"],
        "dataloader_pin_memory": gpu,
    }
    if job.validation is not None and len(job.validation):
        arguments |= {
            "eval_strategy": "steps",
            "eval_steps": interval,
            "metric_for_best_model": "score",
            "greater_is_better": True,
        }
    if "LOCAL_RANK" in os.environ:
        arguments["ddp_backend"] = "nccl" if gpu else "gloo"
    if settings.deepspeed != "none":
        arguments["deepspeed"] = deepspeed_config(settings, gpu=gpu)
    return arguments

"""Language models that are fine-tuned: weights with the head that a task wants."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, get_type_hints

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.finetune.heads import LoadedModel
from goldpan.evaluation.finetune.job import (
    AS_LONG_AS_THE_MODEL,
    LENGTHS,
    WORD_TASKS,
    TrainingJob,
    TrainingSettings,
    check,
    find_recipe,
    with_enough_steps,
)
from goldpan.evaluation.finetune.launch import run_job
from goldpan.evaluation.finetune.loading import load_model, pick_device, quiet
from goldpan.evaluation.finetune.weights import Weights, encoder_weights
from goldpan.evaluation.model import (
    Answers,
    Costs,
    Model,
    ModelEntry,
    TrainingContext,
    load,
    model_settings,
)

NAME = "finetuned"
_PLACE = {"weights": "", "download": False}
"""Settings of where weights come from; their hash says which they are."""


@dataclass(frozen=True, slots=True)
class Finetuned:
    """A model that has been trained, on the device that answers."""

    loaded: LoadedModel
    batch: int
    costs: Costs
    facts: Mapping[str, Any]
    """Facts of the training, as plain JSON data."""

    def answer(self, rows: pa.Table) -> Answers:
        """Answer rows that have no target; masks of masked words are part of what is asked."""

        def count(tokens: int) -> None:
            self.costs.input_tokens += tokens

        started = time.monotonic()
        loaded = replace(self.loaded, answered=count)
        with quiet():
            answers = loaded.head.answers(loaded, rows, self.batch)
        if self.loaded.device.type == "cuda":
            self.costs.gpu_seconds += time.monotonic() - started
        return answers


def _fit(
    weights: Weights, defaults: TrainingSettings, chosen: Collection[str], context: TrainingContext
) -> Finetuned:
    words = context.task.type in WORD_TASKS
    settings = with_enough_steps(defaults, len(context.train), words=words, chosen=chosen)
    job = TrainingJob(
        context.task,
        context.train,
        context.validation,
        settings,
        context.seed,
        weights.directory,
        context.directory,
    )
    load("torch")
    load("transformers")
    facts = run_job(job, context.reporter)
    context.costs.gpu_seconds += facts["seconds"] * facts["gpus"]
    context.costs.input_tokens += facts["tokens"]
    _add_facts(context, {**facts, "epochs": job.epochs, "batch": settings.batch})
    loaded = load_model(job, pick_device(settings.device), job.directory / facts["learned"])
    return Finetuned(loaded, facts["device_batch"] * 2, context.costs, facts)


def _add_facts(context: TrainingContext, facts: Mapping[str, Any]) -> None:
    if facts["scores"]:
        context.learning.chosen_on = context.validation_name
        context.learning.candidates = len(facts["scores"])
    # A loss a step would make results of long trainings unreadable.
    context.learning.facts |= {name: value for name, value in facts.items() if name != "losses"}


def finetuned(options: Mapping[str, Any]) -> Model:
    """Return the model for settings; `weights` is a folder, ID@COMMIT on the Hub, or minilm.

    Raises `UsageError` for settings that it does not know and weights that are not there, and
    what `encoder_weights` raises.
    """
    runtime = model_settings(NAME, _PLACE, {key: options[key] for key in _PLACE if key in options})
    overrides = {key: value for key, value in options.items() if key not in _PLACE}
    if not runtime["weights"]:
        raise UsageError(
            "The model finetuned has no weights",
            "Name them with --set weights=FOLDER or --set weights=OWNER/NAME@COMMIT",
        )
    recipe = dict(find_recipe(str(overrides.get("recipe", "default"))))
    lengths = recipe.pop(LENGTHS, None)
    defaults = {**asdict(TrainingSettings()), **recipe}
    kinds = get_type_hints(TrainingSettings, include_extras=True)
    settings = TrainingSettings(**model_settings(NAME, defaults, overrides, kinds))
    weights = encoder_weights(runtime["weights"], download=runtime["download"])
    if not settings.learning_rate:
        settings = replace(settings, learning_rate=_learning_rate(settings, weights))
    if lengths is not None and "max_length" not in overrides:
        longest = lengths.get(weights.config.get("model_type", ""), AS_LONG_AS_THE_MODEL)
        settings = replace(settings, max_length=longest)
    described = {"weights": weights.name, "weights_hash": weights.digest, **asdict(check(settings))}
    described.pop("report_to")  # who is told changes nothing
    name = f"{NAME}-{weights.short}" + ("-lora" if settings.lora else "")

    def facts(task: Task) -> Mapping[str, Any]:
        return {"max_length": settings.max_length or task.max_length}

    return Model(
        name, partial(_fit, weights, settings, frozenset(overrides)), described, task_facts=facts
    )


def _learning_rate(settings: TrainingSettings, weights: Weights) -> float:
    if settings.lora:
        return 2e-4
    return 1e-4 if weights.config.get("is_encoder_decoder") else 5e-5


MODELS = (
    ModelEntry(
        NAME,
        "A language model with a head for the task; weights=FOLDER or OWNER/NAME@COMMIT.",
        finetuned,
        tasks="any",
    ),
)

"""Language models behind an OpenAI-compatible endpoint, asked by prompts of the task's file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.datasets.task import Task
from goldpan.datasets.wording import find_method, wording_of
from goldpan.evaluation.model import Answer, Answers, Entry, Model, TrainingContext, settled
from goldpan.evaluation.prompting.asking import RowReply, ask_rows, estimate_rows
from goldpan.evaluation.prompting.inputs import answer_schema
from goldpan.evaluation.prompting.prompts import (
    PromptExample,
    Requests,
    Script,
    own_examples,
    prompt_digest,
    train_examples,
)
from goldpan.evaluation.prompting.reading import Read, read_answer
from goldpan.evaluation.prompting.settings import (
    REQUEST_SETTINGS,
    RUN_SETTINGS,
    PromptSettings,
    check_settings,
    prompt_settings,
)
from goldpan.llm.budget import CostEstimate

_NAME = "prompted"
_SPOKEN = (None, "truncated")
"""Failures of an answer that was still given; others say nothing of the row."""


@dataclass(frozen=True, slots=True)
class _Prompted:
    """A model with the prompts for a task."""

    context: TrainingContext
    requests: Requests

    def answer(self, rows: pa.Table) -> Answers:
        context = self.context
        notes: Counter[str] = Counter()
        raw: list[str] = []

        def read(reply: RowReply) -> Answer:
            raw.append(reply.text or "")
            return self._read(reply, notes).value

        path = _reply_directory(context)
        values = ask_rows(path, self.requests, rows, read, context.reporter, context.costs)
        return Answers(values, raw=raw, notes=dict(sorted(notes.items())))

    def _read(self, reply: RowReply, notes: Counter[str]) -> Read:
        wording = self.requests.script.wording
        if not reply.structured and answer_schema(wording) is not None:
            notes["without-schema"] += 1
        if reply.shown.shortened:
            notes["text-shortened"] += 1
        if reply.failure:
            notes[reply.failure] += 1
        if reply.failure not in _SPOKEN:
            return Read(None)
        text = reply.text or ""
        read = read_answer(wording, reply.shown, text, structured=reply.structured)
        if read.note:
            notes[read.note] += 1
        return read


def _requests(settings: Mapping[str, Any], context: TrainingContext) -> Requests:
    """Make the prompts: all that fitting is."""
    prompting = prompt_settings(settings, context.protocol, context.task.type)
    wording = wording_of(context.task)
    method, prompt, seed = prompting.method, context.task.prompt, context.seed
    script = Script(
        wording,
        method,
        _positive(prompting, context),
        own_examples(wording, prompt.negative_examples, method.negative, seed),
    )
    structured = prompting.structured != "no" and answer_schema(wording) is not None
    return Requests(script, prompting, seed, structured)


def _positive(prompting: PromptSettings, context: TrainingContext) -> tuple[PromptExample, ...]:
    wording, count = wording_of(context.task), prompting.method.positive("evaluation")
    if prompting.from_train and count:
        # The row itself may take half of the characters, all examples together the other half.
        most = prompting.asking.max_characters // 2 // count
        return train_examples(wording, context.train, count, context.seed, most)
    return _enough(
        context, own_examples(wording, context.task.prompt.examples, count, context.seed), count
    )


def _enough(
    context: TrainingContext, examples: tuple[PromptExample, ...], count: int
) -> tuple[PromptExample, ...]:
    if len(examples) < count:
        raise UsageError(
            f"{context.task.name} has {len(examples)} examples in its file, not {count}",
            "Add them, or set another method, or examples=train",
        )
    return examples


def _reply_directory(context: TrainingContext) -> Path:
    return context.replies or context.directory / "prompts"


def _make(options: Mapping[str, Any]) -> Model:
    settings = settled(_NAME, {**RUN_SETTINGS, **REQUEST_SETTINGS}, options)
    check_settings(settings)

    def fit(context: TrainingContext) -> _Prompted:
        return _Prompted(context, _requests(settings, context))

    def estimate(context: TrainingContext, rows: pa.Table) -> CostEstimate:
        return estimate_rows(_reply_directory(context), _requests(settings, context), rows)

    def task_facts(task: Task) -> Mapping[str, Any]:
        return {"prompt": prompt_digest(task, find_method(settings["method"]))}

    return Model(
        _NAME,
        fit,
        {name: settings[name] for name in RUN_SETTINGS},
        needs_train=settings["examples"] == "train",
        predict_train=False,
        task_facts=task_facts,
        estimate=estimate,
    )


MODELS = (
    Entry(
        _NAME,
        "A language model behind an OpenAI-compatible endpoint, asked zero-shot, with examples or "
        "instructions; model=NAME and base_url=URL say which. It costs money: see --dry-run.",
        _make,
    ),
)

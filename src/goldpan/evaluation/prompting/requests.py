"""Makes the request that asks for a row: the same row gives the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from goldpan.datasets.task import Task
from goldpan.datasets.wording import Method, wording_of
from goldpan.evaluation.prompting.examples import own_examples
from goldpan.evaluation.prompting.inputs import KEYS, PromptRow, answer_schema, show_row
from goldpan.evaluation.prompting.messages import Script
from goldpan.evaluation.prompting.settings import PromptSettings
from goldpan.evaluation.task_input import PATH, built_family
from goldpan.llm.planner import Question
from goldpan.llm.request import Request

# Tells runs with other prompts apart, be it the task's file or Goldpan that changed.

_WORD = "word"


def prompt_digest(task: Task, method: Method) -> str:
    """Return a digest of all that a model is told beside the row, in whatever form it answers."""
    wording, prompt = wording_of(task), task.prompt
    family = built_family(task)
    parts = dict.fromkeys((*family.inputs, PATH), _WORD) if family else {}
    row = {"text": _WORD, "tokens": [_WORD], "masks": [{"start": 0, "end": 4}], **parts}
    script = Script(
        wording,
        method,
        own_examples(wording, prompt.examples, len(prompt.examples), 0),
        own_examples(wording, prompt.negative_examples, len(prompt.negative_examples), 0),
    )
    shown = show_row(task, row, len(_WORD) * len(row))
    forms = (False, True) if task.type in KEYS else (False,)
    messages = [script.messages(shown, structured=form) for form in forms]
    return hashlib.sha256(orjson.dumps([messages, answer_schema(wording)])).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes the requests of one run."""

    script: Script
    settings: PromptSettings
    seed: int
    structured: bool
    """Whether the server is to hold the model to the form of the answer."""

    def question(self, row: Mapping[str, Any]) -> Question[PromptRow, str]:
        """Return what is asked about a row."""
        return Question(partial(self._make, row), str)

    def _make(self, row: Mapping[str, Any], cuts: int) -> tuple[PromptRow, Request]:
        shown = self._show(row, cuts)
        return shown, self._request(shown)

    def _show(self, row: Mapping[str, Any], cuts: int) -> PromptRow:
        most = self.settings.asking.max_characters
        shown = show_row(self.script.wording.task, row, most)
        if not cuts:
            return shown
        whole = sum(len(part.text) for part in shown.texts())
        return show_row(self.script.wording.task, row, whole >> cuts)

    def _request(self, shown: PromptRow) -> Request:
        asking = self.settings.asking
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": self.script.messages(shown, structured=self.structured),
            asking.limit_parameter: asking.max_tokens,
        }
        if self.structured:
            schema = {
                "name": "answer",
                "strict": True,
                "schema": answer_schema(self.script.wording),
            }
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if asking.temperature is not None:
            body["temperature"] = asking.temperature
        if self.settings.send_seed:
            body["seed"] = self.seed
        return Request(f"evaluate {self.script.wording.task.name}", body)

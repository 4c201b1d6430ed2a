"""Makes the request that asks for a row: the same row gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from goldpan.evaluation.prompting.forms import answer_schema
from goldpan.evaluation.prompting.inputs import PromptRow, show_row
from goldpan.evaluation.prompting.messages import Script
from goldpan.evaluation.prompting.settings import PromptSettings
from goldpan.llm.planner import Question
from goldpan.llm.request import Request


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

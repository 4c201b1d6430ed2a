"""Tells runs with other prompts apart, be it the task's file or Goldpan that changed."""

from __future__ import annotations

import hashlib

import orjson

from goldpan.datasets.prompt_methods import Method
from goldpan.datasets.task import Task
from goldpan.datasets.wording import wording_of
from goldpan.evaluation.prompting.examples import own_examples
from goldpan.evaluation.prompting.forms import KEYS, answer_schema
from goldpan.evaluation.prompting.inputs import show_row
from goldpan.evaluation.prompting.messages import Script
from goldpan.evaluation.task_input import PATH, built_family

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

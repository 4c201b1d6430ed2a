"""Has a sample of a dataset's rows judged in Label Studio, in place of the terminal."""

from __future__ import annotations

from goldpan.annotation.label_reading import LabelSample
from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.decisions import collect, read_answers
from goldpan.annotation.studio.forms import find_form, make_task
from goldpan.annotation.studio.push import push
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace

_FORMS = {"answers": "question-answer", "fix pairs": "fix-pair", "changed files": "changed-file"}
"""By what is judged."""


def read_in_studio(
    workspace: Workspace, server: Server, name: str, sample: LabelSample, reporter: Reporter
) -> str:
    """Push the rows that a project has not got yet, and keep what its annotators answered.

    Returns the address where they begin.
    An answer on another reply than the row has now is of a row that changed, and not kept.
    """
    form = find_form(_FORMS[sample.question.kind.name])
    tasks = [make_task(form, drawn.row) for drawn in sample.rows]
    pushed = push(workspace, server, name, form, tasks, reporter)
    collect(workspace, server, name, reporter)
    items = {
        (task.subject_id, task.comment): drawn.item
        for task, drawn in zip(tasks, sample.rows, strict=True)
    }
    for key, answer in read_answers(workspace, name):
        item = items.get((key["subject_id"], key["comment"]))
        if item is not None:
            (value,) = answer.values
            sample.keep(item, answer.annotator, form.gold.get(value, value), answer.reason)
    return pushed.page

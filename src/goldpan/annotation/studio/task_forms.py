"""Forms made of a task: its definition, its labels as choices, their descriptions as hints.

So people can be asked about any classification task, also about one of a researcher's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from xml.sax.saxutils import quoteattr

from goldpan.annotation.studio.configuration import NONE, complete
from goldpan.annotation.studio.forms import OF_TASK, TASK_FIELD, TASK_READINGS, Form, find_form
from goldpan.annotation.studio.project import Project
from goldpan.core.errors import UsageError
from goldpan.datasets.task import CLASSIFICATION, Label, Task

_KEYS = "123456789"
_DOUBT_KEY = "0"
_PAGE = """\
<View>
  <Style/>
  <View className="gp-note"><HyperText name="note" value="$note" inline="true"/></View>
  <View className="gp-page">
    <View className="gp-right"><HyperText name="text" value="$text_panel" inline="true"/></View>
    <View className="gp-side"><Header size="6" value={definition}/><Definitions/></View>
  </View>
  <View className="gp-answer">
    <Choices name="{field}" toName="text" choice="{choice}" layout="inline" required="true"
             requiredMessage="{message}">
{choices}
    </Choices>
    <View className="gp-rest">
      <Choices name="doubt" toName="text" choice="multiple" layout="inline">
        <Choice value="I am in doubt" alias="doubt" hotkey="{doubt}"/>
      </Choices>
      <TextArea name="reason" toName="text" rows="1" maxSubmissions="1"
                placeholder="Why, in one sentence"/>
    </View>
  </View>
</View>
"""


def task_form(task: Task) -> Form:
    """Return the form that asks for the labels of a task.

    Several labels may be chosen in a multi-label task, or none of them. Raises `UsageError` for a
    task without labels.
    """
    if task.type not in CLASSIFICATION:
        raise UsageError(
            f"{task.name} has no labels to choose from", "Choose a classification task"
        )
    several = task.type == "multi-label"
    labels = [(label.name, label) for label in task.labels]
    if several:
        labels.append((NONE, Label("None of these", "", "")))
    xml = _PAGE.format(
        definition=quoteattr(task.definition),
        field=TASK_FIELD,
        choice="multiple" if several else "single-radio",
        message="Choose one or more labels, or none of these" if several else "Choose a label",
        choices="\n".join(_choices(labels)),
        doubt=_DOUBT_KEY,
    )
    name = f"{OF_TASK}{task.name}"
    return Form(name, TASK_READINGS, TASK_FIELD, own=complete(name, xml))


def form_of(project: Project) -> Form:
    """Return the form of a project; one that was made of a task asks what the project asks."""
    form = find_form(project.facts.form)
    return replace(form, own=project.configuration) if form.name.startswith(OF_TASK) else form


def _choices(labels: Iterable[tuple[str, Label]]) -> Iterator[str]:
    for number, (alias, label) in enumerate(labels):
        key = f' hotkey="{_KEYS[number]}"' if number < len(_KEYS) else ""
        hint = f" hint={quoteattr(label.description)}" if label.description else ""
        value, stored = quoteattr(label.name), quoteattr(alias)
        yield f"      <Choice value={value} alias={stored}{key}{hint}/>"

"""Forms: what annotators can be asked about, and how a row of a dataset becomes a task.

A form can be made of any classification task, also of a researcher's own.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import quoteattr

import msgspec
import pyarrow.parquet as pq

from goldpan.annotation.studio.configuration import NONE, Configuration, complete, load
from goldpan.annotation.studio.panels import (
    CHANGED_FILE,
    FIX_PAIR,
    FIX_PATCH,
    ISSUE,
    ISSUE_TEXT,
    QUESTION_ANSWER,
    TASK_ISSUE,
    TASK_TEXT,
    DatasetRow,
    RowShape,
    SubjectKind,
)
from goldpan.annotation.studio.project import Project, SubjectKey
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
from goldpan.core.sanitize import line
from goldpan.core.storage.parquet import reading
from goldpan.datasets.gold import CANNOT_TELL
from goldpan.datasets.provenance import shard_paths
from goldpan.datasets.tasks.task import CLASSIFICATION, Label, Task

TASK_FIELD = "label"
"""The question of forms that are made of a task."""
_AT_ONCE = 64
_LONGEST_TITLE = 120
_WORD = re.compile(r"[a-z0-9]+")
_LANGUAGES = {"smalltalk": "pharo"}
"""The names that forms use, by other names of a programming language."""


@dataclass(frozen=True, slots=True)
class StudioTask:
    """A subject as annotators see it."""

    key: SubjectKey
    panels: Mapping[str, str]
    """HTML by the panel's name."""
    title: str
    """The words by which lists name it."""
    dataset_labels: tuple[str, ...] = ()
    """The labels that the dataset gives it, as choices of the form; annotators do not see them."""

    def data(self) -> dict[str, object]:
        """Return the task's data on the server."""
        return {**msgspec.to_builtins(self.key), "title": self.title, **self.panels}


@dataclass(frozen=True, slots=True)
class Form:
    """A configuration together with the rows that it asks about."""

    name: str
    """The name of the configuration that ships."""
    readings: tuple[RowShape, ...]
    """The shapes of rows that it can ask about; the first that fits is taken."""
    decides: str
    """The field that people have to agree on."""
    keeps: frozenset[str] = field(default_factory=frozenset)
    """Its values that keep a subject; empty where the answer is a label, not a judgment."""
    language: str | None = None
    """The programming language whose rows it asks about, where rows name theirs."""
    gold: Mapping[str, str] = field(default_factory=dict)
    """The names of its values in a gold set; empty where it makes none."""
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Choices by other names that datasets use for them."""
    own: Configuration | None = None
    """The configuration of a form that was made of a task."""
    file: Path | None = None
    """The file of its configuration, for a form of a plugin."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("annotation form", self.name, self)]

    @property
    def configuration(self) -> Configuration:
        """Return what annotators are asked."""
        return self.own or load(self.name, self.file)

    @property
    def subject(self) -> SubjectKind:
        """The kind of subject that it asks about."""
        return self.readings[0].subject

    def reading(self, names: set[str], source: Path | str = "The row") -> RowShape:
        """Return how rows with these columns are read; raises `DatasetError` where they are not."""
        for shape in self.readings:
            if shape.fits(names):
                return shape
        missing = [name for name in self.readings[0].columns if name not in names]
        raise DatasetError(
            f"{source} lacks what {self.name} shows: {', '.join(missing)}",
            "Choose the dataset that belongs to it, as docs/annotation.md lists them",
        )


_OWN = {
    form.name: form
    for form in (
        Form(
            "fix-pair",
            (FIX_PAIR, FIX_PATCH),
            "verdict",
            frozenset({"fixes"}),
            gold={
                **{name: name for name in ("fixes", "partly", "not", CANNOT_TELL)},
                "no-problem": "not",
            },
        ),
        Form(
            "question-answer",
            (QUESTION_ANSWER,),
            "verdict",
            frozenset({"answers"}),
            gold={
                **{name: name for name in ("answers", "partly", "not", CANNOT_TELL)},
                **dict.fromkeys(("other-reply", "no-question"), "not"),
            },
        ),
        Form(
            "issue-type",
            (ISSUE, ISSUE_TEXT),
            "type",
            synonyms={"enhancement": "feature", "docs": "documentation"},
        ),
        Form("changed-file", (CHANGED_FILE,), "verdict"),
    )
}
FORMS = Registry("form", lambda: _OWN, "annotation form")
OF_TASK = "task-"
"""The prefix of the names of forms that are made of a task; see `task_form`."""
TASK_READINGS = (TASK_TEXT, TASK_ISSUE)


def find_form(name: str) -> Form:
    """Return a form; raises `UsageError` that lists all forms.

    One that was made of a task is known by its name; its configuration lies in its projects.
    """
    if name.startswith(OF_TASK):
        return Form(name, TASK_READINGS, TASK_FIELD)
    return FORMS.find(name)


def make_task(form: Form, row: DatasetRow) -> StudioTask:
    """Return the task of a row."""
    reading = form.reading(set(row))
    repo, issue, pull = row["repo"], row.get("issue"), row.get("pull")
    comment = row["answer_comment_id"] if reading is QUESTION_ANSWER else None
    if reading.subject == "pair":
        key = SubjectKey(f"pair:{repo}#{issue}+{pull}", "pair", repo or "", issue, repo, pull)
    elif reading.subject == "issue":
        key = SubjectKey(f"issue:{repo}#{issue}", "issue", repo or "", issue, comment=comment)
    else:
        key = SubjectKey(str(row["id"]), "text", repo or "")
    return StudioTask(key, reading.draw(row), _title(row), _dataset_labels(form, row))


def _title(row: DatasetRow) -> str:
    """Return a row's title, or how its text begins."""
    texts = (row.get(name) for name in ("title", "problem_statement", "sentence", "text"))
    text = next((text for text in texts if text), "")
    return line(str(text).strip().partition("\n")[0], _LONGEST_TITLE)


def _dataset_labels(form: Form, row: DatasetRow) -> tuple[str, ...]:
    """Return a row's own labels as choices of the form; empty where one is no choice of it.

    An empty set of labels is the choice `none`.
    """
    labels = [row["label"]] if "label" in row else row.get("labels")
    if labels is None or None in labels:
        return ()
    choices = {choice_of(form, str(label)) or "" for label in labels or [NONE]}
    return () if "" in choices else tuple(sorted(choices))


def choice_of(form: Form, label: str) -> str | None:
    """Return the choice of a form that a dataset's label means, None where it has none.

    Names are compared by their words alone; a form that was made of a task has its very labels.
    """
    choices = form.configuration.question(form.decides).labels
    if form.own is not None:
        return label if label in choices else None
    word = "-".join(_WORD.findall(label.casefold()))
    choice = form.synonyms.get(word, word)
    return choice if choice in choices else None


def read_tasks(
    directory: Path, form: Form, only: Container[str] | None = None
) -> Iterator[StudioTask]:
    """Yield a task for each row of a dataset, all splits, in the order of its files.

    Annotators see what is published: texts without what is private. Rows of another programming
    language are passed over, and with `only` rows of other ids. Raises `DatasetError` where the
    directory holds no dataset that the form can ask about, or no row for it.
    """
    paths = shard_paths(directory)
    if not paths:
        raise DatasetError(f"{directory} holds no dataset", "Make one with goldpan build")
    read = matching = 0
    for path in paths:
        with reading(path, "Build it again", DatasetError):
            file = pq.ParquetFile(path, page_checksum_verification=True)
            column_names = set(file.schema_arrow.names)
            shape = form.reading(column_names, directory)
            optional = [name for name in shape.optional if name in column_names]
            columns = dict.fromkeys((*([] if only is None else ["id"]), *shape.columns, *optional))
            for batch in file.iter_batches(_AT_ONCE, columns=list(columns)):
                for row in batch.to_pylist():
                    read += 1
                    if _is_in_language(form, row) and (only is None or row["id"] in only):
                        matching += 1
                        yield make_task(form, row)
    if read and not matching and form.language:
        raise DatasetError(
            f"{directory} holds no row in {form.language}", "Choose the form of its language"
        )


def _is_in_language(form: Form, row: DatasetRow) -> bool:
    name = str(row.get("language") or "").casefold()
    return not form.language or not name or _LANGUAGES.get(name, name) == form.language


_KEYS = "123456789"
_DOUBT_KEY = "0"


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
    page = (files("goldpan.annotation.studio") / "templates/task.xml").read_text(encoding="utf-8")
    xml = page.format(
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
    """Return the form of a project, with the project's configuration where it is of a task."""
    form = find_form(project.facts.form)
    return replace(form, own=project.configuration) if form.name.startswith(OF_TASK) else form


def _choices(labels: Iterable[tuple[str, Label]]) -> Iterator[str]:
    for number, (alias, label) in enumerate(labels):
        key = f' hotkey="{_KEYS[number]}"' if number < len(_KEYS) else ""
        hint = f" hint={quoteattr(label.description)}" if label.description else ""
        value, stored = quoteattr(label.name), quoteattr(alias)
        yield f"      <Choice value={value} alias={stored}{key}{hint}/>"

"""The pages of the tables, the datasets and the tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from docs.generate.markdown import page, table
from goldpan.builders.recipes import RECIPES
from goldpan.core.schemas import stages
from goldpan.core.schemas.mined import MINED
from goldpan.core.schemas.table import TableSchema
from goldpan.datasets.family import Family
from goldpan.datasets.tasks.registry import load_tasks
from goldpan.datasets.tasks.task import Task
from goldpan.papers.crosscodebench.prompts import CROSSCODE
from goldpan.papers.nlbse.comment_build import CODE_COMMENTS

_TABLES = """\
Each table is one Parquet file per repository, `tables/OWNER/NAME/TABLE.parquet` in lower case,
with sorted rows. Times are UTC, and enumerated values are in lower case. Null means that the
source cannot see the value, never that it is zero."""
_DATASETS = """\
The columns of the datasets that `goldpan build` makes; [Datasets](../datasets.md) says how they
are built. Datasets of classification tasks have the columns of their [task type](tasks.md)."""
_TASKS = """\
The tasks that ship with Goldpan; `goldpan tasks show NAME` adds the prompt and the counts, and
[Tasks](../tasks.md) says how to import data and how to write a task of your own."""
_COMMAND = re.compile(r"goldpan (?:build [\w-]+|annotate)\b")


def tables_page() -> str:
    """Return the page of all tables between stages."""
    others = [thing for _, thing in sorted(vars(stages).items()) if isinstance(thing, TableSchema)]
    texts = ("\n\n".join(_table(schema)) for schema in (*MINED, *others))
    return page("Tables", _TABLES, *texts)


def _table(schema: TableSchema) -> Iterator[str]:
    order = ", ".join(f"`{name}`" for name in schema.order)
    yield f"## {schema.name}"
    yield f"{schema.about} Sorted by {order}.".replace("](", "](../")
    rows = [
        (f"`{field.name}`", _type(field.type), schema.descriptions.get(field.name, ""))
        for field in schema.schema
    ]
    yield table(("column", "type", ""), [(*row[:2], row[2].replace("](", "](../")) for row in rows])


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {_type(kind.value_type)}"
    return "timestamp" if pa.types.is_timestamp(kind) else str(kind).partition("<")[0]


def datasets_page() -> str:
    """Return the page of the dataset families."""
    families = [*(recipe.family for recipe in RECIPES.values()), CODE_COMMENTS, CROSSCODE]
    return page(
        "Dataset families", _DATASETS, *("\n\n".join(_family(family)) for family in families)
    )


def _family(family: Family) -> Iterator[str]:
    yield f"## {family.name}"
    yield f"{family.title}: {family.task} Source: {family.source}."
    inputs = ", ".join(f"`{name}`" for name in family.inputs)
    yield f"Input: {inputs}. Target: `{family.target}`."
    yield table(
        ("column", "type", ""),
        [(f"`{column.name}`", _type(column.kind), column.description) for column in family.columns],
    )
    if family.limits:
        yield "Limits:\n\n" + "\n".join(f"- {limit}" for limit in family.limits)


def tasks_page() -> str:
    """Return the page of the tasks that ship with Goldpan."""
    tasks = load_tasks(None)
    rows = [
        (
            f"[`{name}`](#{name})",
            task.type,
            task.activity,
            f"{task.counts['total']:,}" if "total" in task.counts else "",
            f"`{task.metric}`",
            f"`{match[0]}`" if (match := _COMMAND.search(task.source.fresh)) else "",
        )
        for name, task in tasks.items()
    ]
    head = ("task", "type", "activity", "rows", "metric", "fresh rows from")
    return page(
        "Task registry",
        _TASKS,
        table(head, rows),
        *("\n\n".join(_task(name, task)) for name, task in tasks.items()),
    )


def _task(name: str, task: Task) -> Iterator[str]:
    yield f"## {name}"
    yield f"{task.title}. {task.definition}"
    source = task.source
    yield (
        f"Source: [{source.title}]({source.url}), license {source.license}, access "
        f"{source.access}; split `{task.split}`."
    )
    if task.labels:
        yield table(
            ("label", ""), [(f"`{label.name}`", label.description) for label in task.labels]
        )

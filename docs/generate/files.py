"""The page of the files that users write, by the classes that read them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from docstring_parser import parse
from pydantic import BaseModel

from docs.generate.markdown import attribute_docs, page, table, value
from goldpan.datasets.tasks.table_reader import Layout
from goldpan.datasets.tasks.task import Label, Task, TaskColumns, TaskPrompt, TaskSource
from goldpan.papers.nlbse.issues.profile import IssueTypeProfile
from goldpan.reproduce.recipe import (
    ModelRecipe,
    PaperRecipe,
    SourceFile,
    SplitRecipe,
    TableRecipe,
    TaskRecipe,
)

_ABOUT = "Every key of the files that you can write, with its default and what it means."
_FILES: dict[str, tuple[str, dict[str, type[Any]]]] = {
    "Task": (
        "[Task files](task-files.md) has examples. A task whose source has no `url` needs only "
        "`type`, `[columns]` and labels; it counts as unpublished.",
        {
            "": Task,
            "[source]": TaskSource,
            "[columns]": TaskColumns,
            "[settings] of the reader table": Layout,
            "[[labels]]": Label,
            "[prompt]": TaskPrompt,
        },
    ),
    "Recipe of a paper": (
        "[Plugins](../plugins.md#a-paper) has an example. All are classes of "
        "`goldpan.plugins.evaluation`.",
        {
            "`PaperRecipe`": PaperRecipe,
            "`SourceFile`": SourceFile,
            "`TaskRecipe`": TaskRecipe,
            "`SplitRecipe`": SplitRecipe,
            "`ModelRecipe`": ModelRecipe,
            "`TableRecipe`": TableRecipe,
        },
    ),
    "Profile of issue types": (
        "[Issue types](../issue-types.md#profiles) lists those that ship; `extends` names the one "
        "whose settings hold where a file has none.",
        {"": IssueTypeProfile},
    ),
}
_NO_KEYS = ("name", "synonyms")
_NAMED = (Label, ModelRecipe, PaperRecipe)
"""Of these, the name is a key; of the others it is that of the file."""


def files_page() -> str:
    """Return the page of the files that users write."""
    parts = [
        part
        for title, (about, tables) in _FILES.items()
        for part in (f"## {title}", about, *_tables(tables))
    ]
    return page("Files of your own", _ABOUT, *parts)


def _tables(tables: dict[str, type[Any]]) -> Iterator[str]:
    for name, kind in tables.items():
        yield f"### `{name}`" if name.startswith("[") else f"### {name}" if name else ""
        yield keys_table(kind, leave_out=() if kind in _NAMED else _NO_KEYS)


def keys_table(kind: type[Any], names: Sequence[str] = (), *, leave_out: Sequence[str] = ()) -> str:
    """Return what a file may hold, by the fields of a dataclass or a model that reads it."""
    arguments = parse(inspect.getdoc(kind) or "").params
    about = attribute_docs(kind) | {
        item.arg_name: " ".join((item.description or "").split()) for item in arguments
    }
    defaults = dict(_defaults(kind))
    chosen = names or [name for name in defaults if name not in leave_out]
    rows = [(f"`{name}`", defaults[name], _about(kind, name, about)) for name in chosen]
    return table(("setting", "default", ""), rows)


def _about(kind: type[Any], name: str, about: dict[str, str]) -> str:
    """Return what a key means, with its values where its type lists them."""
    hint = get_type_hints(kind).get(name)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    text = about.get(name, "")
    told = not choices or all(f"`{choice}`" in text for choice in choices)
    return text if told else f"{', '.join(f'`{choice}`' for choice in choices)}. {text}"


def _defaults(kind: type[Any]) -> Iterator[tuple[str, str]]:
    if issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            default = field.get_default(call_default_factory=True)
            yield field.alias or name, "required" if field.is_required() else value(default)
    else:
        yield from ((field.name, default_of(field)) for field in fields(kind) if field.repr)


def default_of(field: Field[Any]) -> str:
    """Return the default of a dataclass's field."""
    if field.default is not MISSING:
        return value(field.default)
    return value(field.default_factory()) if field.default_factory is not MISSING else "required"

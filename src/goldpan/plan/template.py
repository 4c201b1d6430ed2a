"""A plan to begin with: every table and every key, with its help and its default."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator
from typing import Any, Literal, get_args, get_origin

import orjson
from pydantic.fields import FieldInfo

from goldpan.operations.table import children
from goldpan.plan.section import Section, StageSection
from goldpan.plan.sections import Select, dataset_section, plan_section

_HEAD = """\
# A plan for goldpan run. Lines that begin with # and a space are help; remove the # before a line
# without one to set what it says. Values are the defaults, or examples where there is none.
# Paths are relative to this file (docs/plans.md).
"""
_LISTED = '[repositories]\n# Their names, OWNER/NAME.\nlisted = ["OWNER/NAME"]\n'
_SINGLE = ("mine", "pair", "clone", "filter", "review")
_SEVERAL = ("verify", "evaluation", "comparison", "audit", "export")


def commented_plan() -> str:
    """Return a plan that runs once its repository is named, with all other keys as comments."""
    plan = plan_section()
    parts = [_HEAD + "\n" + _keys(plan, ("workspace", "refresh")), _LISTED]
    parts.append(_table("[[repositories.select]]", Select))
    parts += [_table(f"[{name}]", _of(plan, name)) for name in _SINGLE]
    parts.append(_table("[tasks.NAME]", _of(plan, "tasks")))
    parts += _datasets()
    parts.append(_table("[annotate.push]", _of(_of(plan, "annotate"), "push")))
    parts += [_table(f"[[{name}]]", _of(plan, name)) for name in _SEVERAL]
    return "\n".join(parts)


def _datasets() -> Iterator[str]:
    """Yield a dataset of each family, with the keys that those before it have not."""
    families = [name.rpartition(" ")[2] for name in children("build")]
    shown: set[str] = {"name", "family"}
    for family in sorted(families, key=lambda name: name != "qa"):
        section = dataset_section(family)
        keys = [key for key in section.model_fields if key not in shown and key != "publish"]
        shown |= set(keys)
        about = _about(section) if family == "qa" else f"# Of the family {family}:\n"
        head = f'{about}#[[dataset]]\n#name = "{family}"\n#family = "{family}"\n'
        yield head + _keys(section, keys)
        if family == "qa":
            yield _table("[dataset.publish]", _of(section, "publish"))


def _of(section: type[Section], name: str) -> type[Section]:
    """Return the section that a field holds, one or several."""
    found = [section.model_fields[name].annotation]
    while found:
        kind = found.pop()
        if isinstance(kind, type) and issubclass(kind, Section):
            return kind
        found += get_args(kind)
    raise KeyError(name)


def _table(head: str, section: type[Section]) -> str:
    keys = [name for name, field in section.model_fields.items() if field.description is not None]
    return f"{_about(section)}#{head}\n{_keys(section, keys)}"


def _about(section: type[Section]) -> str:
    is_own = section.__doc__ and section.__doc__ != StageSection.__doc__
    return _help(section.__doc__ or "") if is_own else ""


def _keys(section: type[Section], names: Collection[str]) -> str:
    lines = []
    for name in names:
        field = section.model_fields[name]
        lines.append(_help(field.description or ""))
        lines.append(f"#{name.replace('_', '-')} = {_value(field, name, section)}\n")
    return "".join(lines)


def _help(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 96))


def _value(field: FieldInfo, name: str, section: type[Section]) -> str:
    """Return the default as TOML writes it, or an example of the kind."""
    if not field.is_required() and field.default is not None:
        return _toml(field.default)
    kinds = [
        kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not type(None)
    ]
    if get_origin(field.annotation) is Literal:
        return _toml(kinds[0])
    if get_origin(kinds[0]) is Literal:
        return _toml(get_args(kinds[0])[0])
    parameter = issubclass(section, StageSection) and section.parameters.get(name)
    example = (parameter.placeholder if parameter else "") or name.upper()
    by_kind: dict[Any, Any] = {bool: False, int: 1, float: 1.0, dict: {}}
    return _toml(by_kind.get(get_origin(kinds[0]) or kinds[0], example))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return orjson.dumps(value).decode()

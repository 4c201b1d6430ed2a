"""Every type of result, filled with far too much: what Python prints of it stays short."""

from __future__ import annotations

import importlib
import pkgutil
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import goldpan
from goldpan.core.errors import EvaluationError
from goldpan.core.result import Result, Results
from goldpan.core.secrets import register
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.record import RunRecord
from goldpan.workspace.runs import Evaluation

_SECRET = "glpat-of-a-large-result"
_TEXT = f"a text\nof \x1b[2J two lines with {_SECRET} " * 20
_MANY = (60, 4, 2)
"""Number of items of a list, of a list in it, and of lists further down."""
_KNOWN: dict[Any, Any] = {
    str: _TEXT,
    bool: True,
    int: 1_234,
    float: 0.123,
    Path: Path("a/b/c"),
    datetime: datetime(2024, 2, 3, tzinfo=UTC),
    date: date(2024, 2, 3),
    timedelta: timedelta(days=3),
    type(None): None,
}


_CHOICES = {"access": "public"}
"""Values of fields that only some texts can have."""


class _Open(dict[Any, Any]):
    """A row that has every column that is asked for."""

    def __missing__(self, key: object) -> object:
        return datetime(2024, 2, 3, tzinfo=UTC) if str(key).endswith("_at") else 7


def _value(hint: Any, depth: int = 0) -> Any:
    """Return a value of a type, as large as it may be in the result of a large workspace."""
    many = _MANY[min(depth, len(_MANY) - 1)]
    of, inner = get_origin(hint), get_args(hint)
    below = partial(_value, depth=depth + 1)
    if of in (Annotated, Union, types.UnionType):
        return _value(inner[0], depth)
    if of is Literal:
        return inner[0]
    if of is tuple and inner[-1] is not Ellipsis:
        return tuple(map(below, inner))
    if of in (tuple, list, Sequence, Iterable, Collection, Iterator):
        return tuple(below(inner[0]) for _ in range(many))
    if of in (dict, Mapping):
        keys = [f"{n} {_TEXT}" if inner[0] is str else below(inner[0]) for n in range(many)]
        return _Open((key, below(inner[1])) for key in keys)
    if not is_dataclass(hint):
        return _KNOWN.get(hint, _TEXT)
    hints = get_type_hints(hint, include_extras=True)
    made: Any = hint
    values = {one.name: _value(hints[one.name], depth) for one in fields(hint) if one.init}
    chosen = {name: value for name, value in _CHOICES.items() if name in values}
    result = made(**values | chosen)
    return _scored(result) if isinstance(result, Scores) else result


def _scored(scores: Scores) -> Scores:
    """Return scores that have the metrics which are asked for."""
    names = product((scores.main, "precision", "recall", "f1"), (None, _TEXT))
    metrics = [replace(scores.metrics[0], name=name, label=label) for name, label in names]
    return replace(scores, metrics=(*metrics, *scores.metrics))


def _types() -> dict[str, Any]:
    """Return all types of results by their names."""
    for module in pkgutil.walk_packages(goldpan.__path__, "goldpan."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError, EvaluationError):  # of an extra that is not installed
                importlib.import_module(module.name)

    def below(kind: Any) -> Iterator[Any]:
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    own = (one for one in below(Result) if one.__module__.startswith("goldpan"))
    found = {one.__qualname__: one for one in own}
    return dict(sorted(found.items()))


def test_what_is_printed_of_a_large_result_is_short_and_harmless() -> None:
    register(_SECRET)
    for name, kind in _types().items():
        if not is_dataclass(kind):
            continue
        result = _value(kind)
        for shown in (str(result), str(Results([result] * 20))):
            lines = shown.splitlines()
            assert 0 < len(lines) <= 40, name
            assert max(map(len, lines)) <= 160, name
            assert _SECRET not in shown, name
            assert "\x1b" not in shown, name


def test_no_type_prints_itself_in_a_way_of_its_own() -> None:
    for kind in _types().values():
        assert kind.__str__ is Result.__str__
        assert kind._repr_html_ is Result._repr_html_


def test_a_notebook_shows_a_line_of_each_run() -> None:
    run = _value(RunRecord)
    runs = [replace(run, model=f"model-{number}") for number in range(50)]
    assert Evaluation(runs)._repr_html_().count("<tr>") == len(runs) + 1

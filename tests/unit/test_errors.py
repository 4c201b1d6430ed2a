"""Errors survive the way between processes, and are told anew with another remedy."""

import importlib
import inspect
import pickle
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import goldpan
from goldpan.core.errors import DamagedError, EvaluationError, GoldpanError
from goldpan.core.parallel.engine import do
from goldpan.datasets.tasks.table_reader import WrongAnswerError
from goldpan.miners.github.rest_lists import RefusedError
from goldpan.miners.replies import HttpReply, NoAnswerError, Verdict

_REPLY = HttpReply(403, {}, b"", None, Verdict.FAILED, "HTTP 403: no")
_GIVEN: dict[str, Any] = {"reply": _REPLY, "path": Path("raw/run-1.zst"), "after": 1.5}


def _all_errors() -> list[type[Exception]]:
    found = {}
    for module in pkgutil.walk_packages(goldpan.__path__, "goldpan."):
        try:
            loaded = importlib.import_module(module.name)
        except (ImportError, EvaluationError):
            continue  # it needs an extra that is not installed
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, Exception):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return [kind for name, kind in sorted(found.items()) if name.startswith("goldpan.")]


@pytest.mark.parametrize("kind", _all_errors())
def test_every_error_survives_the_way_between_processes(kind: type[Exception]) -> None:
    arguments: list[Any] = ["some problem"]
    if inspect.isfunction(kind.__init__):
        names = list(inspect.signature(kind.__init__).parameters)[1:]
        arguments = [_GIVEN.get(name, f"some {name}") for name in names]
    if kind is RefusedError:
        arguments = ["repos/o/n/issues", _REPLY]
    error = kind(*arguments)
    error.add_note("while mining o/n")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is kind
    assert str(copied) == str(error) != ""
    assert vars(copied) == vars(error)


@pytest.mark.parametrize(
    "error",
    [
        WrongAnswerError("maybe", "The answer is none", "Correct it"),
        NoAnswerError("GET /x", _REPLY),
        RefusedError("GET /x", _REPLY),
    ],
)
def test_an_error_of_a_unit_bears_its_name_and_stays_what_it_is(error: GoldpanError) -> None:
    def work(unit: str) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        do(work, "o/n")
    assert caught.value.problem == f"o/n: {error.problem}"
    assert caught.value.remedy == error.remedy
    assert str(caught.value).startswith("o/n: ")
    kept = {"problem", "remedy"}
    assert {name: value for name, value in vars(caught.value).items() if name not in kept} == {
        name: value for name, value in vars(error).items() if name not in kept
    }
    again = error.reworded("It failed", "Try it by hand")
    assert type(again) is type(error)
    assert str(again) == "It failed. Try it by hand."


def test_a_damaged_file_is_named_once() -> None:
    copied = pickle.loads(pickle.dumps(DamagedError(Path("raw/run-1.zst"))))
    assert str(copied).count("is damaged") == 1

"""Errors that users see, as one hierarchy.

    GoldpanError
    ├── UsageError               the command line, a setting or an input file is wrong
    │   └── UnknownNameError     a name is unknown, which a plugin may bring
    ├── WorkspaceError           the workspace is locked, damaged or holds something else
    ├── DatasetError             a dataset cannot be written, or is not what it should be
    │   └── WrongAnswerError     a row has no answer of its task (`datasets/tasks/table_reader.py`)
    ├── EditError                SEARCH/REPLACE blocks do not fit (`code/edits/apply.py`)
    ├── EndpointError            a model's endpoint serves nobody (`llm/exchange.py`)
    ├── StudioError              Label Studio does not do what it should
    ├── PublishError             a dataset cannot go to the Hub
    ├── EvaluationError          a model cannot be run or a run cannot be read
    │   └── UnansweredError      a prompted model did not answer all (`evaluation/model.py`)
    ├── StatisticsError          scores cannot be compared (`evaluation/compare/scores.py`)
    ├── PluginError              a plugin cannot be imported, or fails (`core/plugins/loading.py`)
    ├── StoppedError             the user pressed Ctrl-C
    └── MiningError
        ├── AuthenticationError  GitHub does not accept the token
        ├── RepositoryError      the repository is not there, blocked or out of sight
        ├── ServerError          GitHub did not answer well, however often it was asked
        ├── QueryError           GitHub refused a query: asking again cannot help
        └── GitError             git cannot fetch or read a repository's history

Every message names the input and the cause, and ends with the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import Any, Self

from goldpan.core.sanitize import visible
from goldpan.core.secrets import mask


class GoldpanError(Exception):
    """An expected failure; `str` gives one message that ends with what to do next."""

    exit_code = 1

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = visible(mask(problem))
        self.remedy = visible(mask(remedy))
        super().__init__(f"{_ended(self.problem)} {_ended(self.remedy)}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Kinds have constructors of their own, and each keeps what it holds on its way.
        return type(self).__new__, (type(self), *self.args), self.__dict__

    def reworded(self, problem: str, remedy: str | None = None) -> Self:
        """Return the same error in other words, of its kind and with what else it holds."""
        error = copy(self)
        GoldpanError.__init__(error, problem, self.remedy if remedy is None else remedy)
        return error


def cause_of(error: Exception) -> str:
    """Return why something failed, without the path that an `OSError` repeats after the caller."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not a text in UTF-8"
    return getattr(error, "strerror", None) or str(error)


def refuse_empty(path: Path, remedy: str) -> None:
    """Raise `UsageError` for a file without a byte."""
    if path.is_file() and not path.stat().st_size:
        raise UsageError(f"{path} is empty", remedy)


def _ended(sentence: str) -> str:
    # What a library says may end in a mark of its own.
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


class UsageError(GoldpanError):
    """The command line, a setting or an input file is wrong."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name is of nothing that is known here; a plugin that is not loaded may bring it."""


class WorkspaceError(GoldpanError):
    """The workspace is locked, damaged or holds something else."""


class DatasetError(GoldpanError):
    """A dataset cannot be written, or is not what it should be."""


class PublishError(GoldpanError):
    """A dataset cannot go to the Hub."""


class TagTakenError(PublishError):
    """A tag on the Hub marks another version."""


class EvaluationError(GoldpanError):
    """A model cannot be run, or a run cannot be read."""


class PluginError(GoldpanError):
    """A plugin cannot be imported, or what it brought fails."""


class StoppedError(GoldpanError):
    """The user pressed Ctrl-C."""

    exit_code = 130


class MiningError(GoldpanError):
    """Mining cannot go on."""


class AuthenticationError(MiningError):
    """GitHub does not accept the token."""


class RepositoryError(MiningError):
    """The repository is not there, blocked or out of sight."""


class ServerError(MiningError):
    """GitHub did not answer well, however often it was asked."""


class QueryError(MiningError):
    """GitHub refused a query: asking again cannot help."""


class GitError(MiningError):
    """Git cannot fetch or read a repository's history."""


class DamagedError(OSError):
    """A file is not as it was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return f"{self.args[0]} is damaged: its bytes are not those that were written"


def suggested(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return `` (did you mean NAME?)`` with the known names nearest to `name`, or nothing."""
    asked = question(name, known, most)
    return f" ({asked[0].lower()}{asked[1:]})" if asked else ""


def question(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return ``Did you mean NAME?`` with the known names nearest to `name`, or nothing.

    Case does not count, nor do hyphens for underscores; at most so many names are offered, of at
    least this likeness.
    """
    from difflib import get_close_matches  # which help does without

    by_name = {_folded(one): one for one in known}
    near = get_close_matches(_folded(name), by_name, n=most, cutoff=cutoff)
    return ask(by_name[key] for key in near) if near else ""


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")


def ask(names: Iterable[str]) -> str:
    """Return ``Did you mean NAME?`` for one name or several."""
    return f"Did you mean {choices(names)}?"


def choices(names: Iterable[str]) -> str:
    """Return names as a choice between them: ``a, b or c``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last

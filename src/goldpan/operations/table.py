"""Which commands there are: each command's words, from which the place of its operation follows.

The method of a command has the command's words for its name: ``goldpan build issue-type`` is
``Workspace.build.issue_type``. Python keeps ``import`` for itself: ``goldpan import`` is
``Workspace.import_``, and ``goldpan tasks import`` is ``Workspace.tasks.import_``. Everything else
is read off the operation (`signature.py`). Papers and plugins add commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from keyword import iskeyword
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from goldpan.core.errors import UsageError
from goldpan.core.plugins.loading import names_of, source_of
from goldpan.core.plugins.parts import BUILD, EVALUATE, FILTER, LOOK, MINE, START, Command, imported
from goldpan.core.plugins.registry import Registry

if TYPE_CHECKING:
    from goldpan.operations.signature import Operation
    from goldpan.operations.workspace import Workspace


BUILD_GROUP = "build"
"""The group to which a plugin's families add commands."""
_HERE = "goldpan.operations."
_GROUPS = {
    "mine": "stages.mining:Mine",
    "annotate": "stages.annotating:Annotate",
    "build": "stages.building:Build",
    "tasks": "stages.tasks:Tasks",
    "evaluate": "stages.evaluating:Evaluate",
    "config": "stages.starting:Config",
}
_PLACES = {
    "run": "stages.starting:run",
    "mine": "stages.mining:Mine.__call__",
    "export": "dataset:Dataset.export",
    "publish": "dataset:Dataset.publish",
    "apply-edit": "functions:apply_edit",
    "diff": "functions:diff",
    "contamination": "functions:contamination",
}
"""Places of the operations that are not the method of `Workspace` that their words name."""
_EXAMPLES: Mapping[str, Mapping[str, str]] = {
    START: {"demo": "", "init": "lab", "trust": "lab", "doctor": "", "run": "plan.toml --dry-run"},
    MINE: {
        "mine": "--repo numpy/numpy",
        "mine gharchive": "--from 2022-01-01 --to 2022-01-02",
        "normalize": "--repo numpy/numpy",
        "clone": "--repo numpy/numpy",
        "pair": "--repo numpy/numpy --rules unconfirmed",
        "status": "--repo numpy/numpy",
    },
    FILTER: {
        "filter": "--profile verified",
        "funnel": "--profile verified --output funnel.svg",
        "why": "numpy/numpy#12345",
        "review": "--model gpt-4o --dry-run",
        "annotate": "",
        "annotate push": "--project pairs --form fix-pair --dataset data",
        "annotate pull": "--project pairs",
        "annotate status": "--project pairs",
        "annotate agreement": "--project pairs",
        "annotate adjudicate": "--project pairs",
        "annotate export": "--project pairs --output appendix",
        "annotate serve": "--install",
    },
    BUILD: {
        "build": "",
        "build qa": "--split random:0.8,0.1,0.1",
        "build fault-localization": "--profile verified",
        "build code-edit": "--profile verified",
        "build issue-resolution": "--profile verified",
        "verify": "issue-resolution --workers 2",
        "audit": "qa --finding solution-in-issue",
        "tasks": "",
        "tasks list": "--type binary",
        "tasks show": "issue_type",
        "tasks validate": "",
        "tasks add": "urgent reports.csv --text body --label urgent",
        "tasks import": "bug_issue bugs.csv",
        "import": "our-source posts.csv",
        "export": "qa --to inspect --output qa-inspect",
        "publish": "qa --repo-id lab/qa --private",
        "apply-edit": "answer.md --root checkout",
    },
    EVALUATE: {
        "evaluate": "",
        "evaluate run": "--task issue_type --model tfidf-svm --seed 0",
        "evaluate score": "--task issue_type",
        "evaluate lengths": "--task issue_type --model bert-base-cased",
        "evaluate compare": "--task issue_type",
        "evaluate finetune": "--task issue_type --weights bert-base-cased",
        "evaluate resolved": "proved --predictions patches.jsonl",
        "evaluate labels": "qa --gold answers.csv",
        "evaluate label-errors": "--task requirement_type",
        "evaluate models": "",
        "evaluate protocols": "",
        "reproduce": "our-paper.toml --table 3 --data papers",
    },
    LOOK: {
        "report": "--output report.html",
        "open": "",
        "diff": "published/qa qa",
        "contamination": "code-edit --against swe-bench.parquet",
        "trace": "qa:numpy/numpy#12345",
        "check": "lab",
        "prune": "--workspace s3://lab/data --older-than 30",
        "config": "",
        "config show": "",
    },
}
"""By panels of the program's help and by words, what is typed behind the words in an example."""


def python_names(words: str) -> list[str]:
    """Return the words of a command as Python writes them."""
    return [f"{name}_" if iskeyword(name) else name for name in words.replace("-", "_").split()]


def _own(words: str, example: str, panel: str) -> Command:
    first, *others = python_names(words)
    group = _GROUPS.get(first, "")
    if others:
        return Command(words, f"{_HERE}{group}.{others[0]}", example)
    operation = _PLACES.get(words, "" if group else f"workspace:Workspace.{first}")
    return Command(
        words, operation and _HERE + operation, example, group and _HERE + group, panel=panel
    )


OWN: Mapping[str, Command] = MappingProxyType(
    {
        words: _own(words, example, panel)
        for panel, examples in _EXAMPLES.items()
        for words, example in examples.items()
    }
)
"""By all their words, in the order of the pipeline."""


def every_command() -> dict[str, Command]:
    """Return all commands and groups by their words, those of papers and plugins after the own.

    Raises `UsageError` for one that stands in a group that there is not.
    """
    commands = Registry("command", lambda: OWN, "command").entries()
    families = (f"{BUILD_GROUP} {name}" for name in names_of("dataset"))
    made = _HERE + "stages.building:recipe_function"
    commands |= {name: Command(name, made, is_made=True) for name in families}
    for name in names_of("command"):
        above = name.rpartition(" ")[0]
        plugin = source_of("command", name)
        if above and above not in commands and plugin is not None:
            raise UsageError(
                f"{plugin.name} registers the command {name!r}, and there is no command {above!r}",
                "Register a Command of that name with a group, too",
            )
    return commands


def operations() -> dict[str, Command]:
    """Return all commands that run an operation."""
    return {name: command for name, command in every_command().items() if command.operation}


def is_group(name: str) -> bool:
    """Tell whether the words name a group that runs nothing by itself."""
    command = every_command().get(name)
    return command is not None and not command.operation


def first_words() -> dict[str, str]:
    """Return the first words of all commands, each with its panel of the program's help."""
    return {name: command.panel for name, command in every_command().items() if " " not in name}


def children(name: str) -> list[str]:
    """Return the commands and groups that a group of commands holds, each by all its words."""
    return [other for other in every_command() if other.rpartition(" ")[0] == name]


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a command."""
    return every_command()[name].function


def summary_of(name: str) -> str:
    """Return the first line that a command or a group of commands says of itself."""
    return every_command()[name].summary


class Group:
    """Operations of one workspace; a subclass has them as methods.

    Commands that papers and plugins add to its words are methods, too.
    """

    words: ClassVar[str] = ""
    """The words of the group on the command line."""

    def __init__(self, lab: Workspace) -> None:
        self.lab = lab

    def __getattr__(self, name: str) -> Any:
        return added_method(self.lab, f"{self.words} {name}", self)


def added_method(lab: Workspace, words: str, owner: object) -> Any:
    """Return the operation, or the group, that was registered under the words of a command.

    Raises `AttributeError` where there is none.
    """
    name = words.strip().rstrip("_").replace("_", "-")
    command = None if name.rpartition(" ")[2].startswith("-") else every_command().get(name)
    if command is None:
        last = words.rpartition(" ")[2]
        raise AttributeError(f"{type(owner).__name__!r} object has no attribute {last!r}")
    return imported(command.group)(lab) if command.group else partial(command.function, lab)


def owner_of(operation: Operation, lab: Workspace) -> object:
    """Return the workspace, or the group of it that has the operation as a method.

    A method of `Dataset` has the workspace, too: it opens the dataset.
    """
    if operation.owner in ("Workspace", "Dataset"):
        return lab
    group: type[Group] = operation.function.__globals__[operation.owner]
    return group(lab)

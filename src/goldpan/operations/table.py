"""Which commands there are: each command's words, and where its operation stands.

The method of a command has the command's words for its name: ``goldpan build issue-type`` is
``Workspace.build.issue_type``. Python keeps ``import`` for itself: ``goldpan import`` is
``Workspace.import_``, and ``goldpan tasks import`` is ``Workspace.tasks.import_``. Everything else
is read off the operation (`signature.py`). Papers and plugins add commands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from goldpan.core.commands import BUILD, EVALUATE, FILTER, LOOK, MINE, START, Command
from goldpan.core.errors import UsageError
from goldpan.core.plugins import names_of, source_of
from goldpan.core.registry import Registry

BUILD_GROUP = "build"
"""The group to which a plugin's families add commands."""


_HERE = "goldpan.operations."


def _own(
    name: str, operation: str = "", example: str = "", group: str = "", panel: str = ""
) -> Command:
    """Return a command whose operation and group are named from `goldpan.operations` on."""
    return Command(name, operation and _HERE + operation, example, group and _HERE + group, panel)


OWN: Mapping[str, Command] = MappingProxyType(
    {
        command.name: command
        for command in (
            _own("demo", "planning:demo", panel=START),
            _own("init", "starting:init", "lab", panel=START),
            _own("trust", "starting:trust", "lab", panel=START),
            _own("doctor", "starting:doctor", panel=START),
            _own("run", "planning:run", "plan.toml --dry-run", panel=START),
            _own(
                "mine",
                "mining:Mine.__call__",
                "--repo numpy/numpy",
                group="mining:Mine",
                panel=MINE,
            ),
            _own("mine gharchive", "mining:Mine.gharchive", "--from 2022-01-01 --to 2022-01-02"),
            _own("normalize", "mining:normalize", "--repo numpy/numpy", panel=MINE),
            _own("clone", "mining:clone", "--repo numpy/numpy", panel=MINE),
            _own("pair", "mining:pair", "--repo numpy/numpy --rules faun-eval", panel=MINE),
            _own("status", "coverage:status", "--repo numpy/numpy", panel=MINE),
            _own("filter", "filtering:filter", "--profile faun-eval", panel=FILTER),
            _own(
                "funnel",
                "filtering:funnel",
                "--profile faun-eval --output funnel.svg",
                panel=FILTER,
            ),
            _own("why", "filtering:why", "numpy/numpy#12345", panel=FILTER),
            _own("review", "reviewing:review", "--model gpt-4o --dry-run", panel=FILTER),
            _own("annotate", group="annotating:Annotate", panel=FILTER),
            _own(
                "annotate push",
                "annotating:Annotate.push",
                "--project pairs --form fix-pair --dataset data",
            ),
            _own("annotate pull", "annotating:Annotate.pull", "--project pairs"),
            _own("annotate status", "annotating:Annotate.status", "--project pairs"),
            _own("annotate agreement", "annotating:Annotate.agreement", "--project pairs"),
            _own("annotate adjudicate", "annotating:Annotate.adjudicate", "--project pairs"),
            _own(
                "annotate export", "annotating:Annotate.export", "--project pairs --output appendix"
            ),
            _own("annotate serve", "annotating:Annotate.serve", "--install"),
            _own("build", group="building:Build", panel=BUILD),
            _own("build qa", "building:Build.qa", "--split random:0.8,0.1,0.1"),
            _own(
                "build fault-localization",
                "building:Build.fault_localization",
                "--profile faun-eval",
            ),
            _own("build code-edit", "building:Build.code_edit", "--profile faun-eval"),
            _own("build issue-resolution", "building:Build.issue_resolution", "--profile verified"),
            _own("verify", "verifying:verify", "issue-resolution --workers 2", panel=BUILD),
            _own("audit", "auditing:audit", "qa --finding solution-in-issue", panel=BUILD),
            _own("tasks", group="tasks:Tasks", panel=BUILD),
            _own("tasks list", "tasks:Tasks.list", "--suite selu"),
            _own("tasks show", "tasks:Tasks.show", "issue_type"),
            _own("tasks validate", "tasks:Tasks.validate"),
            _own("tasks add", "tasks:Tasks.add", "urgent reports.csv --text body --label urgent"),
            _own("tasks import", "tasks:Tasks.import_", "bug_issue bugs.csv"),
            _own("import", "tasks:import_", "nlbse23-comments java.csv", panel=BUILD),
            _own(
                "export",
                "dataset:Dataset.export",
                "qa --to inspect --output qa-inspect",
                panel=BUILD,
            ),
            _own(
                "publish", "dataset:Dataset.publish", "qa --repo-id lab/qa --private", panel=BUILD
            ),
            _own("apply-edit", "functions:apply_edit", "answer.md --root checkout", panel=BUILD),
            _own("evaluate", group="evaluating:Evaluate", panel=EVALUATE),
            _own(
                "evaluate run",
                "evaluating:Evaluate.run",
                "--task issue_type --model tfidf-svm --seed 0",
            ),
            _own("evaluate score", "evaluating:Evaluate.score", "--task issue_type"),
            _own(
                "evaluate lengths",
                "evaluating:Evaluate.lengths",
                "--task issue_type --model bert-base-cased",
            ),
            _own("evaluate compare", "evaluating:Evaluate.compare", "--task issue_type"),
            _own(
                "evaluate finetune",
                "evaluating:Evaluate.finetune",
                "--task issue_type --weights bert-base-cased",
            ),
            _own(
                "evaluate resolved",
                "evaluating:Evaluate.resolved",
                "proved --predictions patches.jsonl",
            ),
            _own("evaluate labels", "evaluating:Evaluate.labels", "qa --gold answers.csv"),
            _own(
                "evaluate label-errors",
                "evaluating:Evaluate.label_errors",
                "--task requirement_type",
            ),
            _own("evaluate models", "evaluating:Evaluate.models"),
            _own("evaluate protocols", "evaluating:Evaluate.protocols"),
            _own(
                "reproduce", "reproducing:reproduce", "selu --table 3 --data papers", panel=EVALUATE
            ),
            _own("report", "reporting:report", "--output report.html", panel=LOOK),
            _own("open", "starting:open_page", panel=LOOK),
            _own("diff", "functions:diff", "published/qa qa", panel=LOOK),
            _own(
                "contamination",
                "functions:contamination",
                "code-edit --against swe-bench.parquet",
                panel=LOOK,
            ),
            _own("trace", "reporting:trace", "qa:numpy/numpy#12345", panel=LOOK),
            _own("check", "checking:check", "lab", panel=LOOK),
            _own(
                "prune", "checking:prune", "--workspace s3://lab/faun --older-than 30", panel=LOOK
            ),
            _own("config", group="starting:Config", panel=LOOK),
            _own("config show", "starting:Config.show"),
        )
    }
)
"""By all their words, in the order of the pipeline."""


def every_command() -> dict[str, Command]:
    """Return all commands and groups by their words, those of papers and plugins after the own.

    Raises `UsageError` for one that stands in a group that there is not.
    """
    commands = Registry("command", lambda: OWN, "command").entries()
    families = (f"{BUILD_GROUP} {name}" for name in names_of("dataset"))
    made = _HERE + "building:recipe_function"
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
    documented = every_command()[name].documented
    return (inspect.getdoc(documented) or "").partition("\n\n")[0].replace("\n", " ")

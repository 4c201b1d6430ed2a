"""Which commands there are: each command's words, and where its operation stands.

The method of a command has the command's words for its name: ``goldpan build issue-type`` is
``Workspace.build.issue_type``. Python keeps ``import`` for itself: ``goldpan import`` is
``Workspace.import_``, and ``goldpan tasks import`` is ``Workspace.tasks.import_``. Everything else
is read off the operation (`signature.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from goldpan.core.plugins import registered

START, MINE, FILTER = "Start", "Mine and pair", "Filter and review"
BUILD, EVALUATE, LOOK = "Build and publish", "Evaluate", "Look and verify"

BUILD_GROUP = "build"
"""The group to which plugins add commands."""
PANELS = (START, MINE, FILTER, BUILD, EVALUATE, LOOK)

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "demo": START,
        "init": START,
        "trust": START,
        "doctor": START,
        "run": START,
        "mine": MINE,
        "normalize": MINE,
        "clone": MINE,
        "pair": MINE,
        "status": MINE,
        "filter": FILTER,
        "funnel": FILTER,
        "why": FILTER,
        "review": FILTER,
        "annotate": FILTER,
        "build": BUILD,
        "verify": BUILD,
        "tasks": BUILD,
        "import": BUILD,
        "export": BUILD,
        "publish": BUILD,
        "apply-edit": BUILD,
        "evaluate": EVALUATE,
        "reproduce": EVALUATE,
        "report": LOOK,
        "open": LOOK,
        "diff": LOOK,
        "contamination": LOOK,
        "trace": LOOK,
        "check": LOOK,
        "prune": LOOK,
        "config": LOOK,
    }
)
"""The panel of help of each command or group, in the order of the pipeline."""

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "build": "building:Build",
        "build crosscode": "crosscode:Crosscode",
        "evaluate": "evaluating:Evaluate",
        "annotate": "annotating:Annotate",
        "tasks": "tasks:Tasks",
        "mine": "mining:Mine",
        "config": "starting:Config",
    }
)
"""The summary of each group of commands."""

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "planning:demo",
        "run": "planning:run",
        "pair": "mining:pair",
        "normalize": "mining:normalize",
        "build qa": "building:Build.qa",
        "build fault-localization": "building:Build.fault_localization",
        "build code-edit": "building:Build.code_edit",
        "build issue-resolution": "building:Build.issue_resolution",
        "build issue-type": "building:Build.issue_type",
        "build code-comments": "building:Build.code_comments",
        "build crosscode": "crosscode:Crosscode.__call__",
        "build crosscode export": "crosscode:Crosscode.export",
        "build crosscode import": "crosscode:Crosscode.import_",
        "build crosscode check": "crosscode:Crosscode.check",
        "build crosscode splits": "crosscode:Crosscode.splits",
        "build crosscode split": "crosscode:Crosscode.split",
        "build crosscode shortcut": "crosscode:Crosscode.shortcut",
        "evaluate run": "evaluating:Evaluate.run",
        "evaluate score": "evaluating:Evaluate.score",
        "evaluate lengths": "evaluating:Evaluate.lengths",
        "evaluate compare": "evaluating:Evaluate.compare",
        "evaluate finetune": "evaluating:Evaluate.finetune",
        "evaluate resolved": "evaluating:Evaluate.resolved",
        "evaluate labels": "evaluating:Evaluate.labels",
        "evaluate label-errors": "evaluating:Evaluate.label_errors",
        "evaluate models": "evaluating:Evaluate.models",
        "evaluate protocols": "evaluating:Evaluate.protocols",
        "annotate push": "annotating:Annotate.push",
        "annotate pull": "annotating:Annotate.pull",
        "annotate status": "annotating:Annotate.status",
        "annotate agreement": "annotating:Annotate.agreement",
        "annotate adjudicate": "annotating:Annotate.adjudicate",
        "annotate export": "annotating:Annotate.export",
        "annotate serve": "annotating:Annotate.serve",
        "verify": "verifying:verify",
        "export": "dataset:Dataset.export",
        "publish": "dataset:Dataset.publish",
        "apply-edit": "functions:apply_edit",
        "diff": "functions:diff",
        "contamination": "functions:contamination",
        "reproduce": "reproducing:reproduce",
        "tasks list": "tasks:Tasks.list",
        "tasks show": "tasks:Tasks.show",
        "tasks validate": "tasks:Tasks.validate",
        "tasks add": "tasks:Tasks.add",
        "tasks import": "tasks:Tasks.import_",
        "import": "tasks:import_",
        "filter": "filtering:filter",
        "funnel": "filtering:funnel",
        "why": "filtering:why",
        "init": "starting:init",
        "trust": "starting:trust",
        "doctor": "starting:doctor",
        "mine": "mining:Mine.__call__",
        "mine gharchive": "mining:Mine.gharchive",
        "clone": "mining:clone",
        "status": "coverage:status",
        "open": "starting:open_page",
        "check": "checking:check",
        "prune": "checking:prune",
        "config show": "starting:Config.show",
        "review": "reviewing:review",
        "report": "reporting:report",
        "trace": "reporting:trace",
    }
)
"""By the words of the command, ``module:function`` or ``module:Class.method``."""

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "demo": "goldpan demo",
        "run": "goldpan run plan.toml --dry-run",
        "pair": "goldpan pair --repo numpy/numpy --rules faun-eval",
        "normalize": "goldpan normalize --repo numpy/numpy",
        "build qa": "goldpan build qa --split random:0.8,0.1,0.1",
        "build fault-localization": "goldpan build fault-localization --profile faun-eval",
        "build code-edit": "goldpan build code-edit --profile faun-eval",
        "build issue-resolution": "goldpan build issue-resolution --profile verified",
        "build issue-type": "goldpan build issue-type --profile nlbse23",
        "build code-comments": "goldpan build code-comments --repo numpy/numpy --language python",
        "build crosscode": "goldpan build crosscode --task qa --task code_edit --split Type-QA",
        "build crosscode export": "goldpan build crosscode export --all",
        "build crosscode import": "goldpan build crosscode import tasks",
        "build crosscode check": "goldpan build crosscode check tasks",
        "build crosscode splits": "goldpan build crosscode splits",
        "build crosscode split": "goldpan build crosscode split Sub-Inter-ML",
        "build crosscode shortcut": "goldpan build crosscode shortcut built --method "
        "copy-ex-output",
        "export": "goldpan export qa --to inspect --output qa-inspect",
        "publish": "goldpan publish qa --repo-id lab/qa --private",
        "apply-edit": "goldpan apply-edit answer.md --root checkout",
        "diff": "goldpan diff published/qa qa",
        "contamination": "goldpan contamination code-edit --against swe-bench.parquet",
        "reproduce": "goldpan reproduce selu --table 3 --data papers",
        "evaluate run": "goldpan evaluate run --task issue_type --model tfidf-svm --seed 0",
        "evaluate score": "goldpan evaluate score --task issue_type",
        "evaluate lengths": "goldpan evaluate lengths --task issue_type --model bert-base-cased",
        "evaluate compare": "goldpan evaluate compare --task issue_type",
        "evaluate finetune": "goldpan evaluate finetune --task issue_type "
        "--weights bert-base-cased",
        "evaluate resolved": "goldpan evaluate resolved proved --predictions patches.jsonl",
        "evaluate labels": "goldpan evaluate labels qa --gold answers.csv",
        "evaluate label-errors": "goldpan evaluate label-errors --task requirement_type",
        "evaluate models": "goldpan evaluate models",
        "evaluate protocols": "goldpan evaluate protocols",
        "annotate push": "goldpan annotate push --project pairs --form fix-pair --dataset data",
        "annotate pull": "goldpan annotate pull --project pairs",
        "annotate status": "goldpan annotate status --project pairs",
        "annotate agreement": "goldpan annotate agreement --project pairs",
        "annotate adjudicate": "goldpan annotate adjudicate --project pairs",
        "annotate export": "goldpan annotate export --project pairs --output appendix",
        "annotate serve": "goldpan annotate serve --install",
        "verify": "goldpan verify issue-resolution --workers 2",
        "tasks list": "goldpan tasks list --suite selu",
        "tasks show": "goldpan tasks show issue_type",
        "tasks validate": "goldpan tasks validate",
        "tasks add": "goldpan tasks add urgent reports.csv --text body --label urgent",
        "tasks import": "goldpan tasks import bug_issue bugs.csv",
        "import": "goldpan import nlbse23-comments java.csv",
        "filter": "goldpan filter --profile faun-eval",
        "funnel": "goldpan funnel --profile faun-eval --output funnel.svg",
        "why": "goldpan why numpy/numpy#12345",
        "init": "goldpan init lab",
        "trust": "goldpan trust lab",
        "doctor": "goldpan doctor",
        "mine": "goldpan mine --repo numpy/numpy",
        "mine gharchive": "goldpan mine gharchive --from 2022-01-01 --to 2022-01-02",
        "clone": "goldpan clone --repo numpy/numpy",
        "status": "goldpan status --repo numpy/numpy",
        "open": "goldpan open",
        "check": "goldpan check lab",
        "prune": "goldpan prune --workspace s3://lab/faun --older-than 30",
        "config show": "goldpan config show",
        "review": "goldpan review --model gpt-4o --dry-run",
        "report": "goldpan report --output report.html",
        "trace": "goldpan trace qa:numpy/numpy#12345",
    }
)
"""The example at the end of each command's help, which a test parses."""


def find_function(path: str) -> Callable[..., Any]:
    """Return the function that a table of commands names: ``module:function`` or ``:Class.method``.

    Modules are those of `goldpan.operations`.
    """
    module, _, names = path.partition(":")
    found: Any = import_module(f"goldpan.operations.{module}")
    for name in names.split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = found
    return function


def children(name: str) -> list[str]:
    """Return the commands and groups that a group of commands holds, each by all its words."""
    plugins = [f"{BUILD_GROUP} {family}" for family in registered("dataset")]
    named = dict.fromkeys((*OPERATIONS, *GROUPS, *plugins))
    return [other for other in named if other.rpartition(" ")[0] == name]


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a command; that of a plugin's family is made as Goldpan's own are."""
    if name in OPERATIONS:
        return find_function(OPERATIONS[name])
    from goldpan.operations.building import family_function

    return family_function(name.removeprefix(f"{BUILD_GROUP} "))


def summary_of(name: str) -> str:
    """Return the first line that a command or a group of commands says of itself."""
    documented = find_function(GROUPS[name]) if name in GROUPS else function_of(name)
    return (inspect.getdoc(documented) or "").partition("\n\n")[0].replace("\n", " ")

"""Which commands there are: each command's words, and where its operation stands.

The method of a command has the command's words for its name: ``goldpan build issue-type`` is
``Workspace.build.issue_type``. Python keeps ``import`` for itself: ``goldpan import`` is
``Workspace.import_``, and ``goldpan tasks import`` is ``Workspace.tasks.import_``. Everything else
is read off the operation (`signature.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

START, MINE, FILTER = "Start", "Mine and pair", "Filter and review"
BUILD, EVALUATE, LOOK = "Build and publish", "Evaluate", "Look and verify"

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
        "verify": "verifying:verify",
        "reproduce": "reproducing:reproduce",
    }
)
"""By the words of the command, ``module:function`` or ``module:Class.method``."""

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "demo": "goldpan demo",
        "run": "goldpan run plan.toml --dry-run",
        "pair": "goldpan pair --repo numpy/numpy --rules faun-eval",
        "normalize": "goldpan normalize --repo numpy/numpy",
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
        "reproduce": "goldpan reproduce selu --table 3 --data papers",
        "verify": "goldpan verify issue-resolution --workers 2",
    }
)
"""The example at the end of each command's help, which a test parses."""

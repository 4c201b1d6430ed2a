"""Which commands there are: each command's words, and where its operation stands.

The method of a command has the command's words for its name: ``goldpan build issue-type`` is
``Workspace.build.issue_type``. Everything else is read off the operation (`signature.py`).
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
        "mine": "mining:Mine",
        "config": "starting:Config",
    }
)
"""The summary of each group of commands."""

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "init": "starting:init",
        "trust": "starting:trust",
        "doctor": "starting:doctor",
        "mine": "mining:Mine.__call__",
        "mine gharchive": "mining:Mine.gharchive",
        "normalize": "mining:normalize",
        "clone": "mining:clone",
        "pair": "mining:pair",
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
        "init": "goldpan init lab",
        "trust": "goldpan trust lab",
        "doctor": "goldpan doctor",
        "mine": "goldpan mine --repo numpy/numpy",
        "mine gharchive": "goldpan mine gharchive --from 2022-01-01 --to 2022-01-02",
        "normalize": "goldpan normalize --repo numpy/numpy",
        "clone": "goldpan clone --repo numpy/numpy",
        "pair": "goldpan pair --repo numpy/numpy --rules faun-eval",
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

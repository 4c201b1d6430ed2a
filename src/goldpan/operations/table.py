"""Which commands there are: each command's words, and where its operation stands.

The method of a command has the command's words for its name: ``goldpan build issue-type`` is
``Workspace.build.issue_type``. Everything else is read off the operation (`signature.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

START, MINE, FILTER = "Start", "Mine and pair", "Filter and review"
BUILD, EVALUATE, LOOK = "Build and publish", "Evaluate", "Look and verify"

PANELS: Mapping[str, str] = MappingProxyType(
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

GROUPS: Mapping[str, str] = MappingProxyType({})
"""The summary of each group of commands."""

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "pair": "mining:pair",
        "normalize": "mining:normalize",
        "filter": "filtering:filter",
        "funnel": "filtering:funnel",
        "why": "filtering:why",
        "review": "reviewing:review",
        "report": "reporting:report",
        "trace": "reporting:trace",
    }
)
"""By the words of the command, ``module:function`` or ``module:Class.method``."""

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "pair": "goldpan pair --repo numpy/numpy --rules faun-eval",
        "normalize": "goldpan normalize --repo numpy/numpy",
        "filter": "goldpan filter --profile faun-eval",
        "funnel": "goldpan funnel --profile faun-eval --output funnel.svg",
        "why": "goldpan why numpy/numpy#12345",
        "review": "goldpan review --model gpt-4o --dry-run",
        "report": "goldpan report --output report.html",
        "trace": "goldpan trace qa:numpy/numpy#12345",
    }
)
"""The example at the end of each command's help, which a test parses."""

"""Which commands there are: each command's words, and where its operation stands.

The method of a command has the command's words for its name: ``goldpan build issue-type`` is
``Workspace.build.issue_type``, and ``import``, which Python keeps for itself, is ``import_``.
Everything else is read off the operation (`signature.py`).
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
        "build": "building:Build",
        "build crosscode": "crosscode:Crosscode",
    }
)
"""By the words of each group of commands, the class that says what it is: ``module:Class``."""

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
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
        "verify": "verifying:verify",
        "export": "dataset:Dataset.export",
        "publish": "dataset:Dataset.publish",
        "apply-edit": "edits:apply_edit",
        "diff": "differences:diff",
        "contamination": "differences:contamination",
        "reproduce": "reproducing:reproduce",
    }
)
"""By the words of the command, ``module:function`` or ``module:Class.method``."""

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
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
        "verify": "goldpan verify issue-resolution --workers 2",
    }
)
"""The example at the end of each command's help, which a test parses."""

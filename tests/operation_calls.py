"""A call of every command on the demo's workspace, in words; a test makes each in Python, too."""

from __future__ import annotations

from collections.abc import Mapping

CALLS: Mapping[str, str] = {
    "init": "init new",
    "trust": "trust demo",
    "doctor": "doctor --workspace demo",
    "run": "run plan.toml --dry-run --workspace demo",
    "normalize": "normalize --workspace demo",
    "clone": "clone --workspace demo --source sluice.bundle",
    "pair": "pair --workspace demo --rules faun-eval",
    "status": "status --workspace demo",
    "filter": "filter --workspace demo --profile faun-eval --rules faun-eval",
    "funnel": "funnel --workspace demo",
    "why": "why prospector/sluice#1 --workspace demo",
    "review": "review --workspace demo --model demo-reviewer --dry-run",
    "build qa": "build qa --workspace demo --output qa",
    "build fault-localization": "build fault-localization --workspace demo --output places",
    "build code-edit": "build code-edit --workspace demo --output edits",
    "build issue-resolution": "build issue-resolution --workspace demo --profile verified "
    "--output resolution",
    "build issue-type": "build issue-type --workspace demo --source mined --output types",
    "build code-comments": "build code-comments --workspace demo --output comments",
    "build crosscode splits": "build crosscode splits",
    "tasks list": "tasks list --workspace demo",
    "tasks show": "tasks show nlbse23_issue_type --workspace demo",
    "tasks validate": "tasks validate --workspace demo",
    "evaluate models": "evaluate models --workspace demo",
    "evaluate protocols": "evaluate protocols",
    "evaluate run": "evaluate run --workspace demo --task nlbse23_issue_type --model majority",
    "evaluate score": "evaluate score --workspace demo --task nlbse23_issue_type",
    "evaluate lengths": "evaluate lengths --workspace demo --task nlbse23_issue_type",
    "evaluate compare": "evaluate compare --workspace demo --task nlbse23_issue_type",
    "evaluate label-errors": "evaluate label-errors --workspace demo --task nlbse23_issue_type "
    "--folds 2",
    "reproduce": "reproduce ecser --workspace demo",
    "export": "export demo/datasets/qa --to chat --output chat",
    "publish": "publish demo/datasets/qa --repo-id me/qa --dry-run",
    "report": "report --workspace demo --output report.html",
    "diff": "diff demo/datasets/qa demo/datasets/qa",
    "contamination": "contamination demo/datasets/qa --against demo/datasets/qa",
    "trace": "trace qa:prospector/sluice#5 --workspace demo",
    "check": "check demo",
    "config show": "config show --workspace demo",
}

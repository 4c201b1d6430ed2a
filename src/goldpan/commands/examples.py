"""One example for each command, which its help ends with; a test parses every one."""

from __future__ import annotations

from collections.abc import Mapping

import typer

EXAMPLES: Mapping[str, str] = {
    "demo": "goldpan demo",
    "init": "goldpan init lab",
    "trust": "goldpan trust lab",
    "doctor": "goldpan doctor",
    "run": "goldpan run plan.toml --dry-run",
    "mine": "goldpan mine --repo numpy/numpy",
    "mine gharchive": "goldpan mine gharchive --from 2022-01-01 --to 2022-01-02",
    "clone": "goldpan clone --repo numpy/numpy",
    "normalize": "goldpan normalize --repo numpy/numpy",
    "pair": "goldpan pair --repo numpy/numpy --rules faun-eval",
    "status": "goldpan status --repo numpy/numpy",
    "filter": "goldpan filter --profile faun-eval",
    "funnel": "goldpan funnel --profile faun-eval --plot funnel.svg",
    "why": "goldpan why numpy/numpy#12345",
    "review": "goldpan review --model gpt-4o --max-cost 5",
    "annotate push": "goldpan annotate push --project pairs --form fix-pair --dataset data",
    "annotate pull": "goldpan annotate pull --project pairs",
    "annotate status": "goldpan annotate status --project pairs",
    "annotate agreement": "goldpan annotate agreement --project pairs",
    "annotate adjudicate": "goldpan annotate adjudicate --project pairs",
    "annotate export": "goldpan annotate export --project pairs --output appendix",
    "annotate serve": "goldpan annotate serve --install",
    "build qa": "goldpan build qa --split random:0.8,0.1,0.1",
    "build fault-localization": "goldpan build fault-localization --profile faun-eval",
    "build code-edit": "goldpan build code-edit --profile faun-eval",
    "build issue-resolution": "goldpan build issue-resolution --profile verified",
    "build issue-type": "goldpan build issue-type --profile nlbse23",
    "build code-comments": "goldpan build code-comments --repo numpy/numpy --language python",
    "build crosscode export": "goldpan build crosscode export --all",
    "build crosscode import": "goldpan build crosscode import tasks",
    "build crosscode check": "goldpan build crosscode check tasks",
    "build crosscode splits": "goldpan build crosscode splits",
    "build crosscode split": "goldpan build crosscode split cross-task",
    "build crosscode shortcut": "goldpan build crosscode shortcut split --method retrieval",
    "verify": "goldpan verify goldpan-workspace/datasets/issue-resolution --workers 2",
    "evaluate run": "goldpan evaluate run --task issue_type --model tfidf-svm --seed 0",
    "evaluate finetune": "goldpan evaluate finetune --task issue_type --weights bert-base-cased",
    "evaluate score": "goldpan evaluate score --task issue_type",
    "evaluate compare": "goldpan evaluate compare --task issue_type",
    "evaluate label-errors": "goldpan evaluate label-errors --task requirement_type",
    "evaluate lengths": "goldpan evaluate lengths --task issue_type --model bert-base-cased",
    "evaluate labels": "goldpan evaluate labels lab/datasets/qa --gold answers.csv",
    "evaluate resolved": "goldpan evaluate resolved proved --predictions patches.jsonl",
    "evaluate models": "goldpan evaluate models",
    "evaluate protocols": "goldpan evaluate protocols",
    "reproduce": "goldpan reproduce selu --table 3 --data papers",
    "export": "goldpan export lab/datasets/qa --to inspect --output qa-inspect",
    "publish": "goldpan publish datasets/qa --repo-id lab/qa --private",
    "report": "goldpan report --output report.html",
    "open": "goldpan open",
    "diff": "goldpan diff published/qa goldpan-workspace/datasets/qa",
    "contamination": "goldpan contamination datasets/code-edit --against swe-bench.parquet",
    "trace": "goldpan trace qa:numpy/numpy#12345",
    "check": "goldpan check lab",
    "prune": "goldpan prune --workspace s3://lab/faun --older-than 30",
    "apply-edit": "goldpan apply-edit answer.md --root checkout",
    "config show": "goldpan config show",
}


def add_examples(app: typer.Typer, group: str = "") -> None:
    """End the help of each command of a program, and of its groups, with its example."""
    for command in app.registered_commands:
        name = command.name or str(getattr(command.callback, "__name__", "")).replace("_", "-")
        command.epilog = _epilog(f"{group}{name}")
    for inner in app.registered_groups:
        if inner.typer_instance is not None:
            add_examples(inner.typer_instance, f"{group}{inner.name} ")


def _epilog(name: str) -> str:
    return f"Example: `{EXAMPLES[name]}`"

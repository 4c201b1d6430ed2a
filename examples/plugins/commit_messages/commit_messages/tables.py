"""The tables of the paper: how far the labellers agree (Cohen's kappa), and macro F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from commit_messages.logs import Message, messages
from goldpan.plugins.evaluation import (
    CellOutcome,
    ModelRecipe,
    PaperContext,
    PaperRecipe,
    SourceFile,
    SplitRecipe,
    TableRecipe,
    TaskRecipe,
    run_scores,
)

LOGS = {
    "kettle": "8bae868f87c7eee488239de22d155403ec61487d35219add67d3b5786181ac64",
    "lantern": "a411193b4a64d07954b336103bb1a962f0bcd3fe2568e8a061a64ea604c8a7fa",
    "orchard": "85fe4a77cc9a13f7e69d23112b4559ab41d98719e06982197421618ab7ad83d3",
}
"""The SHA-256 of each project's log."""


def kappa(labelled: list[Message]) -> float:
    """Return the agreement beyond chance of the two labellers."""
    first, second = (Counter(message.labels[at] for message in labelled) for at in (0, 1))
    total = len(labelled)
    chance = sum(first[label] * second[label] for label in first) / total**2
    return (sum(message.agreed for message in labelled) / total - chance) / (1 - chance)


def agreement(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield a row for each project, and one for all."""
    by_project = {file.source.key: list(messages(file.path)) for file in context.files(LOGS)}
    by_project["all"] = [message for log in by_project.values() for message in log]
    for project, log in by_project.items():
        yield CellOutcome(project, "messages", len(log), "run")
        yield CellOutcome(project, "agreed", sum(message.agreed for message in log), "run")
        yield CellOutcome(project, "kappa", kappa(log), "run")


PAPER = PaperRecipe(
    name="commit-messages",
    title="Commit messages: what the first word tells",
    citation="An example that nobody published; its messages were invented for it.",
    protocol="commit-messages",
    files=tuple(
        SourceFile(key=key, title=f"messages of {key}", paths=(f"{key}.log",), sha256=(digest,))
        for key, digest in LOGS.items()
    ),
    tasks=(
        TaskRecipe(
            task="commit_purpose",
            files=tuple(LOGS),
            split=SplitRecipe(plan="project:example/orchard"),
        ),
    ),
    models=(
        ModelRecipe(name="majority", title="Majority", kind="baseline", model="majority"),
        ModelRecipe(name="first-word", title="First word", kind="baseline", model="first-word"),
    ),
    printed=Path(__file__).with_name("printed.csv"),
    tables=(
        TableRecipe(
            key="1",
            title="Table 1: messages and the agreement of the labellers",
            compute=(agreement,),
        ),
        TableRecipe(key="2", title="Table 2: macro F1", compute=(run_scores,), runs=True),
    ),
)

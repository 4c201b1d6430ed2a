"""Table 1 of the paper: messages, and how far the labellers agree (Cohen's kappa)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from commit_messages.logs import Message, messages
from goldpan.plugins.evaluation import TableRecipe
from goldpan.reproduce.cells import CellOutcome, PaperContext


def kappa(labelled: list[Message]) -> float:
    """Return the agreement beyond chance of the two labellers."""
    first, second = (Counter(message.labels[at] for message in labelled) for at in (0, 1))
    total = len(labelled)
    chance = sum(first[label] * second[label] for label in first) / total**2
    return (sum(message.agreed for message in labelled) / total - chance) / (1 - chance)


def compute(
    context: PaperContext, table: TableRecipe, logs: tuple[str, ...]
) -> Iterator[CellOutcome]:
    """Yield a row for each project, and one for all."""
    files = context.files(logs)
    by_project = {file.source.key: list(messages(file.path)) for file in files}
    by_project["all"] = [message for log in by_project.values() for message in log]
    for project, log in by_project.items():
        yield CellOutcome(project, "messages", len(log), "run")
        yield CellOutcome(project, "agreed", sum(message.agreed for message in log), "run")
        yield CellOutcome(project, "kappa", kappa(log), "run")

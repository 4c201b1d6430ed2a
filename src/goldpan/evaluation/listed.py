"""What `goldpan evaluate` lists: models, protocols, scores by length, of labels and suspects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from goldpan.core.proportions import Estimate
from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.datasets.gold import GoldScore
from goldpan.evaluation.label_errors import LabelErrors
from goldpan.evaluation.model import Entry
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.runs import Run
from goldpan.evaluation.slices import Third


@dataclass(frozen=True, slots=True)
class ModelList(Result):
    """The models that can be run."""

    entries: tuple[Entry, ...]

    def plain(self) -> list[dict[str, str]]:
        """Return name and description of each."""
        return [{"name": entry.name, "about": entry.about} for entry in self.entries]

    def blocks(self) -> Iterator[Block]:
        """Yield one table."""
        yield Table(("model", ""), [(entry.name, entry.about) for entry in self.entries])


@dataclass(frozen=True, slots=True)
class ProtocolList(Result):
    """Evaluation protocols with their known defects."""

    protocols: tuple[Protocol, ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return each with its settings."""
        return [asdict(protocol) for protocol in self.protocols]

    def blocks(self) -> Iterator[Block]:
        """Yield each with its source and defects."""
        for protocol in self.protocols:
            yield Line(f"{protocol.name}: {protocol.title}")
            yield Line(f"  {protocol.source}")
            yield from (Line(f"  - {defect}") for defect in protocol.defects)


@dataclass(frozen=True, slots=True)
class LengthScores(Result):
    """The scores of short, medium and long inputs of runs (FAUN-Eval, RQ3)."""

    measured: tuple[tuple[Run, Sequence[Third]], ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return the thirds of each run."""
        return [
            {"directory": str(run.directory), "thirds": [asdict(third) for third in thirds]}
            for run, thirds in self.measured
        ]

    def blocks(self) -> Iterator[Block]:
        """Yield how scores change with the length of the input."""
        cells = []
        for run, thirds in self.measured:
            name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
            for index, third in enumerate(thirds):
                value = third.scores.value(third.scores.main)
                cells.append(
                    (
                        "" if index else name,
                        third.name,
                        f"{third.shortest:,} to {third.longest:,}",
                        third.scores.examples,
                        "not defined" if value is None else f"{value:.4f}",
                    )
                )
        yield Table(("run", "inputs", "characters", "examples", "score"), cells)


@dataclass(frozen=True, slots=True)
class LabelScores(Result):
    """How the rows of a dataset agree with gold sets."""

    scores: tuple[GoldScore, ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return the score on each gold set."""
        return [asdict(score) for score in self.scores]

    def blocks(self) -> Iterator[Block]:
        """Yield the shares that are right, each with its interval."""
        for score in self.scores:
            part = f", half {score.half}" if score.half else ""
            labelled = f"{score.labelled:,} of {score.rows:,} rows are labelled"
            yield Title(score.gold, f"{part}: {labelled}")
            counts = ", ".join(f"{label} {count:,}" for label, count in score.labels.items())
            yield Line(f"  {score.kind}: {counts}")
            yield Line(f"  right: {_share(score.right)}")
            yield Line(f"  right at least in part: {_share(score.at_least_partly)}")
            yield Line(f"  of {score.there:,} issues that have one, kept: {_share(score.kept)}")


@dataclass(frozen=True, slots=True)
class SuspectLabels(Result):
    """The labels of a task, the most suspect first."""

    found: LabelErrors

    def plain(self) -> dict[str, Any]:
        """Return the counts and the rows."""
        return asdict(self.found)

    def blocks(self) -> Iterator[Block]:
        """Yield which labels are suspect."""
        found = self.found
        yield Line(
            f"{found.task}: {found.suspects:,} of {found.rows:,} rows are suspect; out of fold, "
            f"{found.right_out_of_fold:.1%} of the decisions are as the labels say"
        )
        for row in found.ranked:
            stated, rather = (" and ".join(names) or "none" for names in (row.given, row.suggested))
            mark = "" if row.suspect else " (not suspect)"
            yield Line(f"  {row.id}: {stated}, rather {rather}; margin {row.margin:+.2f}{mark}")
            yield Line(f"    {row.text}")


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "cannot be told"
    return f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]"

"""Print how right the answers of `build qa` are in repositories that the rules were not made on.

``python -m tests.gold.by_repository`` reads the rows' points in ``points.csv`` beside. With
``WORKSPACE ...`` it writes these first: it wants one repository in each workspace, mined from its
archive, paired by the rules `unconfirmed` and filtered by the profile `default`. The license does
not count, as archives state none. Rows of random draws give the shares of answered issues; to the
surest ones the fourth sheets belong as well.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from goldpan.builders.label_facts import TIERS, tier_of
from goldpan.core.proportions import wilson
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.answers import named_comment
from goldpan.filters.profile import load_profile
from tests.gold.audit import shown

POINTS = range(min(tier.least for tier in TIERS), 14)
GOAL = 0.85
_SURE_DRAW, _SURE_POINTS = "4", 12
_FOLDER = Path(__file__).parent
_COLUMNS = ("repo", "issue", "comment_id", "points")
_ELSEWHERE = {"license", "answer"}


@dataclass(slots=True)
class Gold:
    """The labels of the replies to one issue; `random` unless it was drawn as a sure one."""

    random: bool
    labels: dict[int, str] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether a reply answers by itself and in whole."""
        return "answers" in self.labels.values()


@dataclass(frozen=True, slots=True)
class Row:
    """A row that `build qa` gives from nine points on."""

    repo: str
    points: int
    label: str
    random: bool


def read_gold() -> dict[str, dict[int, Gold]]:
    """Return the labelled issues of each further repository."""
    gold: dict[str, dict[int, Gold]] = defaultdict(dict)
    with (_FOLDER / "answers_others.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            issues = gold[row["repo"].lower()]
            issue = issues.setdefault(int(row["issue"]), Gold(row["draw"] != _SURE_DRAW))
            issue.labels[int(row["comment_id"])] = row["label"]
    return gold


def chosen_replies(
    workspace: Path, gold: Container[int], repo: str
) -> Iterator[tuple[object, ...]]:
    """Yield the best replies to the labelled issues that all else keeps, with their points."""
    layout = WorkspaceLayout(workspace, rules="unconfirmed")
    decide = set(load_profile("default").decide) - _ELSEWHERE
    dropped, best = set(), {}
    for verdict in pq.read_table(layout.verdicts(repo, "default")).to_pylist():
        if verdict["subject"] != "issue":
            continue
        if verdict["criterion"] == "answer" and verdict["value"] is not None:
            best[verdict["issue"]] = (int(verdict["value"]), named_comment(verdict["evidence"]))
        elif verdict["criterion"] in decide and verdict["keep"] is not True:
            dropped.add(verdict["issue"])
    for number, (points, reply) in sorted(best.items()):
        if number in gold and number not in dropped and points >= POINTS[0]:
            yield repo, number, reply, points


def read_rows(gold: dict[str, dict[int, Gold]]) -> list[Row]:
    """Return the rows that the stored points give, with their labels."""
    rows = []
    with (_FOLDER / "points.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            issue = gold[row["repo"]][int(row["issue"])]
            label = issue.labels.get(int(row["comment_id"]), "not")
            rows.append(Row(row["repo"], int(row["points"]), label, issue.random))
    return rows


def counted_by_tier(rows: list[Row]) -> dict[str, tuple[int, int, int]]:
    """Return how many rows of each tier are whole, at least in part, and all of them."""
    counts = {}
    for tier in TIERS:
        labels = [
            row.label
            for row in rows
            if tier_of(row.points) == tier.name and (row.random or row.points >= _SURE_POINTS)
        ]
        whole = labels.count("answers")
        counts[tier.name] = (whole, whole + labels.count("partly"), len(labels))
    return counts


def _share(rows: list[Row], *labels: str) -> str:
    right = sum(row.label in labels for row in rows)
    return f"{right}/{len(rows)} = {shown(wilson(right, len(rows)))}" if rows else "-"


def _line(name: str, points: int, rows: list[Row], answered: int) -> str:
    sure = [row for row in rows if row.points >= points and (row.random or points >= _SURE_POINTS)]
    found = sum(row.label == "answers" for row in sure if row.random)
    cells = (_share(sure, "answers"), _share(sure, "answers", "partly"), f"{found}/{answered}")
    return f"| {name} | {points} | {' | '.join(cells)} |"


def _least(rows: list[Row]) -> int | None:
    """Return the lowest threshold that reaches the goal on these rows; None where none does."""
    for points in POINTS:
        sure = [row for row in rows if row.points >= points]
        if sure and sum(row.label == "answers" for row in sure) / len(sure) >= GOAL:
            return points
    return None


def main(workspaces: list[Path]) -> None:
    """Print each repository, the curve over all, and thresholds chosen without the one scored."""
    gold = read_gold()
    if workspaces:
        replies = [
            reply
            for repo, issues in sorted(gold.items())
            for path in workspaces
            if WorkspaceLayout(path).tables(repo).exists()
            for reply in chosen_replies(path, issues, repo)
        ]
        with (_FOLDER / "points.csv").open("w", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *replies])
    rows = read_rows(gold)
    answered = {
        repo: sum(issue.answered for issue in issues.values() if issue.random)
        for repo, issues in sorted(gold.items())
    }
    lines = ["| repository | points | whole answers | at least in part | answered issues found |"]
    lines.append("|---|---:|---:|---:|---:|")
    for repo in answered:
        own = [row for row in rows if row.repo == repo]
        lines += [_line(repo, points, own, answered[repo]) for points in (9, 12)]
    lines += [_line("all", points, rows, sum(answered.values())) for points in POINTS]
    lines.append("")
    for name, (whole, at_least_partly, count) in counted_by_tier(rows).items():
        shares = [shown(wilson(part, count)) for part in (whole, at_least_partly)]
        lines.append(f"{name}: {whole} and {at_least_partly} of {count}: {' and '.join(shares)}")
    lines.append("")
    for repo in answered:
        least = _least([row for row in rows if row.repo != repo])
        left = [row for row in rows if row.repo == repo and least and row.points >= least]
        lines.append(
            f"{repo}: {GOAL:.0%} on the others from {least} points; here {_share(left, 'answers')}"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])

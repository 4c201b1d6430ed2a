"""Print how often pairs of the gold set are right, by the kind of evidence behind them.

``python -m tests.gold.by_evidence WORKSPACE`` wants what `tests.gold.draw` wants.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from goldpan.core.proportions import wilson
from tests.gold.draw import REPOSITORIES, open_repository

_REMARKS = {"comment", "review", "review_comment"}
_SOON = 3 * 60  # seconds
_PAIRS = """
SELECT p.issue, p.pull, p.merged, p.stance, p.signals, p.evidence,
       i.closed_at, q.merged_at
FROM pairs p JOIN entries i ON i.number = p.issue JOIN entries q ON q.number = p.pull
"""


def kinds(pair: dict[str, Any]) -> list[str]:
    """Return the kinds of evidence that a pair belongs to."""
    where = {piece["where"] for piece in pair["evidence"] if piece["signal"] == "keyword"}
    labels = ["merged" if pair["merged"] else "not merged"]
    if not pair["merged"]:
        return labels
    labels.append(f"merged, keyword {pair['stance']}")
    labels.append(
        f"merged, keyword in {'a comment alone' if where <= _REMARKS else 'its own text'}"
    )
    if "closed_by_commit" in pair["signals"]:
        labels.append("merged, issue closed by its commit")
    if pair["closed_at"] is None:
        labels.append("merged, issue still open")
    elif 0 <= (pair["closed_at"] - pair["merged_at"]).total_seconds() <= _SOON:
        labels.append("merged, issue closed within three minutes")
    else:
        labels.append("merged, issue closed at another time")
    return labels


def main(workspace: Path) -> None:
    """Print a row for each kind of evidence: pairs, share that fixes, share at least in part."""
    with (Path(__file__).parent / "pairs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for repo in REPOSITORIES:
        connection = open_repository(workspace, repo)
        records = connection.sql(_PAIRS).to_arrow_table().to_pylist()
        pairs = {(pair["issue"], pair["pull"]): pair for pair in records}
        for row in rows:
            if row["repo"] == repo:
                pair = pairs.get((int(row["issue"]), int(row["pull"])))
                for kind in kinds(pair) if pair else ["mentioned without a keyword, merged"]:
                    counts[kind][row["label"]] += 1
    for kind, labels in sorted(counts.items()):
        decided = sum(labels.values()) - labels["cannot-tell"]
        right = wilson(labels["fixes"], decided)
        partly = wilson(labels["fixes"] + labels["partly"], decided)
        span = f"[{right.low:.0%}, {right.high:.0%}]" if decided else ""
        sys.stdout.write(
            f"| {kind} | {decided} | {right.value or 0:.0%} {span} | {partly.value or 0:.0%} |\n"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Draw issues and pairs of further repositories, and print what readers need to label them.

``python -m tests.gold.draw_others OUT NAME=WORKSPACE ...`` wants one repository in each workspace,
taken from an archive, paired by the rules `unconfirmed` and filtered by the profile `default`. It
writes ``OUT/NAME.txt``: issues, then pairs, and ``OUT/NAME-2.txt``: as many issues again. Of the
pairs some are kept, some dropped by what a criterion reads out of claims and dates, and some are
mere mentions. ``OUT/NAME-3.txt`` has the other pairs that `says-fixes` and `issue-closed` drop, as
a draw from all dropped ones holds few; ``OUT/NAME-4.txt`` further issues with a reply that the rule
rates high, for the share of right ones among the surest (no random draw: rules are not to be made
on it).
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import duckdb

from goldpan.core.storage.workspace import WorkspaceLayout
from tests.gold.draw import (
    Sizes,
    answer_sheet,
    drawn_issues,
    merged_mentions,
    open_repository,
    pair_sheet,
)

SEED = 33
ISSUES = 25
KEPT, DROPPED, MENTIONED, RARE = 10, 9, 6, 20
SURE, SURE_POINTS = 6, 12
_SMALL = Sizes(1500, 800)
_BLANK = re.compile(r"\n\s*\n+")

_JUDGED = """
SELECT p.issue, p.pull, bool_and(v.keep IS NOT false) AS kept
FROM pairs p JOIN entries q ON q.number = p.pull AND q.merged
JOIN verdicts v ON v.issue = p.issue AND v.pull = p.pull
WHERE p.pull_repo = p.repo AND v.criterion IN ('says-fixes', 'issue-closed', 'one-to-one')
GROUP BY ALL ORDER BY ALL
"""
_RARE = """
SELECT DISTINCT p.issue, p.pull
FROM pairs p JOIN entries q ON q.number = p.pull AND q.merged
JOIN verdicts v ON v.issue = p.issue AND v.pull = p.pull
WHERE p.pull_repo = p.repo AND v.criterion IN ('says-fixes', 'issue-closed') AND v.keep IS false
ORDER BY ALL
"""
_SURE = """
SELECT DISTINCT issue FROM verdicts v JOIN entries i ON i.number = v.issue AND i.state = 'closed'
WHERE criterion = 'answer' AND pull IS NULL AND value >= $1 ORDER BY ALL
"""
_HEADER = """\
Read tests/gold/README.md first. Judge each reply and each pair by itself, by reading, and write one
line for each into a file of your own:
  {repo} ISSUE COMMENT_ID label      label: answers, partly, not
  {repo} ISSUE pull:NUMBER label     label: fixes, partly, not, cannot-tell
Replies that a list leaves out count as `not`. Texts are cut; blank lines are left out.
"""


def drawn_pairs(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, int]]:
    """Return the pairs drawn: kept, dropped and mentioned ones; what one lacks the others give."""
    generator = random.Random(SEED)
    judged = connection.execute(_JUDGED).fetchall()
    kinds = [
        ([(issue, pull) for issue, pull, kept in judged if kept], KEPT),
        ([(issue, pull) for issue, pull, kept in judged if not kept], DROPPED),
        (merged_mentions(connection), MENTIONED),
    ]
    drawn: list[tuple[int, int]] = []
    rest: list[tuple[int, int]] = []
    for pairs, count in kinds:
        shuffled = generator.sample(pairs, len(pairs))
        drawn += shuffled[:count]
        rest += shuffled[count:]
    return sorted(drawn + rest[: KEPT + DROPPED + MENTIONED - len(drawn)])


def rare_pairs(
    connection: duckdb.DuckDBPyConnection, without: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return pairs that the criteria drop which drop few, of those not drawn before."""
    left = [pair for pair in connection.execute(_RARE).fetchall() if pair not in without]
    return sorted(random.Random(SEED).sample(left, min(RARE, len(left))))


def sure_issues(connection: duckdb.DuckDBPyConnection, without: list[int]) -> list[int]:
    """Return issues with a reply that the rule rates high, of those not drawn before."""
    found = [number for (number,) in connection.execute(_SURE, [SURE_POINTS]).fetchall()]
    left = [number for number in found if number not in without]
    return sorted(random.Random(SEED).sample(left, min(SURE, len(left))))


def main(out: Path, workspaces: dict[str, Path]) -> None:
    """Write a sheet for each repository."""
    out.mkdir(parents=True, exist_ok=True)
    for name, path in workspaces.items():
        workspace = WorkspaceLayout(path, "unconfirmed")
        (folder,) = workspace.repositories("tables")
        connection = open_repository(path, folder)
        (repo,) = connection.execute("SELECT any_value(repo) FROM entries").fetchall()[0]
        verdicts = workspace.verdicts(repo, "default")
        connection.execute(f"CREATE VIEW verdicts AS FROM '{verdicts}'")
        first = drawn_issues(connection, ISSUES, SEED)
        second = drawn_issues(connection, ISSUES, SEED, without=first)
        drawn = drawn_pairs(connection)
        parts: dict[str, tuple[list[int], list[tuple[int, int]]]] = {
            name: (first, drawn),
            f"{name}-2": (second, []),
            f"{name}-3": ([], rare_pairs(connection, without=drawn)),
            f"{name}-4": (sure_issues(connection, without=first + second), []),
        }
        for part, (issues, pairs) in parts.items():
            sheets = [answer_sheet(connection, repo, number, _SMALL) for number in issues]
            sheets += [pair_sheet(connection, repo, *pair, _SMALL) for pair in pairs]
            if sheets:
                text = "\n\n".join(_BLANK.sub("\n", sheet) for sheet in sheets)
                text = f"{_HEADER.format(repo=repo)}\n\n{text}\n"
                (out / f"{part}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(
        Path(sys.argv[1]), {k: Path(v) for k, _, v in (arg.partition("=") for arg in sys.argv[2:])}
    )

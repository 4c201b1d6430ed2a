"""Draw the issues and pairs of the gold sets, and print what a reader needs to label them.

``python -m tests.gold.draw WORKSPACE OUT`` wants bitcoin-core/secp256k1 and bitcoin-core/gui mined
from metadata backups and paired by the rules `unconfirmed`, and writes reading sheets to OUT.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from goldpan.core.storage.workspace import WorkspaceLayout

SEED = 15
REPOSITORIES = {"bitcoin-core/secp256k1": (190, 110, 25), "bitcoin-core/gui": (110, 90, 15)}
"""Issues, pairs named by a closing keyword, and pairs of a mere mention."""
SCIPY_PAIRS = 60
_NOTE = 500


class Sizes(NamedTuple):
    """How many characters of an issue's body and of a reply a sheet shows."""

    body: int
    reply: int


_LARGE = Sizes(3000, 2500)

_ISSUES = """
SELECT number FROM entries i
WHERE kind = 'issue' AND state = 'closed' AND EXISTS (
  FROM comments c WHERE c.number = i.number AND c.kind = 'comment' AND length(trim(c.body)) > 0
  AND c.author IS DISTINCT FROM i.author AND c.author_type IS DISTINCT FROM 'bot')
ORDER BY number
"""
_MENTIONS = """
SELECT DISTINCT r.target_number AS issue, r.number AS pull
FROM refs r JOIN entries p ON p.number = r.number AND p.kind = 'pull' AND p.merged
JOIN entries i ON i.number = r.target_number AND i.kind = 'issue'
WHERE r.signal = 'mention' AND r.evidence.where IN ('body', 'title', 'commit')
  AND r.target_repo = r.repo
  AND (r.target_number, r.number) NOT IN (SELECT (issue, pull) FROM pairs)
ORDER BY ALL
"""


def open_repository(workspace: Path, repo: str) -> duckdb.DuckDBPyConnection:
    """Return a connection with the repository's tables as views."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in ("entries", "comments", "commits", "references", "pairs", "events"):
        path = WorkspaceLayout(workspace, "unconfirmed").table(repo, table)
        view = "refs" if table == "references" else table
        connection.execute(f"CREATE VIEW {view} AS FROM '{path}'")
    return connection


def cut(text: str | None, size: int) -> str:
    """Return the text's first characters, and how many are missing."""
    whole = (text or "").replace("\r", "").strip()
    left = len(whole) - size
    return whole if left <= 0 else f"{whole[:size]} [... {left} more characters]"


def drawn_issues(
    connection: duckdb.DuckDBPyConnection, count: int, seed: int, without: Sequence[int] = ()
) -> list[int]:
    """Return closed issues that another person replied to, drawn from those not drawn before."""
    numbers = [number for (number,) in connection.execute(_ISSUES).fetchall()]
    left = [number for number in numbers if number not in without]
    return sorted(random.Random(seed).sample(left, min(count, len(left))))


def answer_sheet(
    connection: duckdb.DuckDBPyConnection, repo: str, number: int, sizes: Sizes
) -> str:
    """Return the sheet of an issue: the issue and all replies with their ids."""
    issue = _row(connection, "FROM entries WHERE number = $1", number)
    lines = [
        f"=== {repo}#{number} by {issue['author']}, {issue['state_reason'] or 'closed'} "
        f"{issue['closed_at']:%Y-%m-%d}",
        f"TITLE: {issue['title']}",
        cut(issue["body"], sizes.body),
    ]
    replies = _rows(
        connection,
        "FROM comments WHERE number = $1 AND kind = 'comment' "
        "AND author_type IS DISTINCT FROM 'bot' ORDER BY created_at, comment_id",
        number,
    )
    for reply in replies:
        if not (reply["body"] or "").strip():
            continue
        asker = " (ASKER)" if reply["author"] == issue["author"] else ""
        lines.append(
            f"--- reply {reply['comment_id']} by {reply['author']}{asker}, "
            f"{reply['author_association']}, {reply['created_at']:%Y-%m-%d}"
        )
        lines.append(cut(reply["body"], sizes.reply))
    return "\n".join(lines)


def merged_mentions(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, int]]:
    """Return issues with merged pull requests that mention them and are not paired with them."""
    return connection.execute(_MENTIONS).fetchall()


def pair_sheets(
    connection: duckdb.DuckDBPyConnection, repo: str, named: int, mentioned: int
) -> Iterator[str]:
    """Yield a sheet for each pair drawn, of those named by a keyword and of mere mentions."""
    generator = random.Random(SEED)
    pairs = connection.execute("SELECT issue, pull FROM pairs ORDER BY ALL").fetchall()
    drawn = generator.sample(pairs, named) + generator.sample(
        merged_mentions(connection), mentioned
    )
    for issue_number, pull_number in sorted(drawn):
        yield pair_sheet(connection, repo, issue_number, pull_number, _LARGE)


def pair_sheet(
    connection: duckdb.DuckDBPyConnection,
    repo: str,
    issue_number: int,
    pull_number: int,
    sizes: Sizes,
) -> str:
    """Return the sheet of a pair: both texts, the commits, and what either says of the other."""
    issue = _row(connection, "FROM entries WHERE number = $1", issue_number)
    pull = _row(connection, "FROM entries WHERE number = $1", pull_number)
    closed = f"closed {issue['closed_at']:%Y-%m-%d %H:%M}" if issue["closed_at"] else "open"
    merged = f"merged {pull['merged_at']:%Y-%m-%d %H:%M}" if pull["merged"] else "NOT merged"
    lines = [
        f"=== {repo} issue #{issue_number} ({closed}) | pull #{pull_number} ({merged})",
        f"ISSUE: {issue['title']}",
        cut(issue["body"], sizes.body // 2),
        f"--- PULL: {pull['title']}",
        cut(pull["body"], sizes.body // 2),
    ]
    for commit in _rows(connection, "FROM commits WHERE number = $1", pull_number)[:6]:
        lines.append(f"--- commit: {cut(commit['message'], _NOTE)}")
    for number, other in ((issue_number, pull_number), (pull_number, issue_number)):
        for note in _rows(
            connection,
            "FROM comments WHERE number = $1 AND regexp_matches(body, $2) "
            "ORDER BY created_at, comment_id",
            number,
            rf"(#|/)({other})\b",
        )[:4]:
            lines.append(f"--- comment on #{number}: {cut(note['body'], _NOTE)}")
    return "\n".join(lines)


def scipy_sheets(data: Path) -> Iterator[str]:
    """Yield a sheet for each pair drawn of scipy's recorded cross references (no texts there)."""
    folder = data / "github" / "scipy__scipy"
    issues = [edge["node"] for edge in _json(folder / "issues-graphql.json.xz")]
    pulls = {
        edge["node"]["number"]: edge["node"] for edge in _json(folder / "pulls-graphql.json.xz")
    }
    pairs = sorted(
        {
            (issue["number"], item["node"]["source"]["number"])
            for issue in issues
            for item in issue["timelineItems"]["edges"]
            if item["node"]["__typename"] == "CrossReferencedEvent"
            and item["node"]["source"].get("number") in pulls
            and not item["node"]["isCrossRepository"]
        }
    )
    titles = {issue["number"]: issue for issue in issues}
    for issue_number, pull_number in sorted(random.Random(SEED).sample(pairs, SCIPY_PAIRS)):
        issue, pull = titles[issue_number], pulls[pull_number]
        merged = f"merged {pull['mergedAt']}" if pull["mergedAt"] else "NOT merged"
        closed = f"closed {issue['closedAt']}" if issue["closedAt"] else "open"
        yield (
            f"=== scipy/scipy issue #{issue_number} ({closed}) | pull #{pull_number} ({merged})\n"
            f"ISSUE: {issue['title']}\n--- PULL by {pull['author'] and pull['author']['login']}: "
            f"{pull['title']}\n(no texts here: judge by the titles and the dates)"
        )


def _json(path: Path) -> Any:
    with lzma.open(path) as source:
        return json.load(source)


def _rows(
    connection: duckdb.DuckDBPyConnection, query: str, *values: object
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        connection.sql(query, params=values or None).to_arrow_table().to_pylist()
    )
    return rows


def _row(connection: duckdb.DuckDBPyConnection, query: str, *values: object) -> dict[str, Any]:
    return _rows(connection, query, *values)[0]


def main(workspace: Path, out: Path) -> None:
    """Write two reading sheets of answers and two of pairs, halves of about equal length."""
    answers: list[str] = []
    pairs: list[str] = []
    for repo, (issues, named, mentioned) in REPOSITORIES.items():
        connection = open_repository(workspace, repo)
        numbers = drawn_issues(connection, issues, SEED)
        answers += [answer_sheet(connection, repo, number, _LARGE) for number in numbers]
        pairs.extend(pair_sheets(connection, repo, named, mentioned))
    pairs.extend(scipy_sheets(Path(os.environ.get("GOLDPAN_REAL_DATA", "../shared/data"))))
    out.mkdir(parents=True, exist_ok=True)
    for name, sheets in {"answers": answers, "pairs": pairs}.items():
        for part in (0, 1):
            text = "\n\n".join(sheets[part::2])
            (out / f"{name}-{part + 1}.txt").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

"""A group of commands.

goldpan --plugin long_threads.py threads longest --most 3
"""

from collections.abc import Iterator
from dataclasses import dataclass

from goldpan.plugins import Command, register
from goldpan.plugins.data import Block, Result, Table, open_tables
from goldpan.plugins.operations import Positive, Workspace, known_repositories

QUERY = """
SELECT repo, number, comment_count AS comments FROM entries WHERE kind = 'issue'
ORDER BY comments DESC, number LIMIT $most
"""


@dataclass(frozen=True)
class Threads(Result):
    """The issues with the most comments, of each repository."""

    threads: list[tuple[str, int, int]]

    def blocks(self) -> Iterator[Block]:
        """Yield what people see; --json prints the fields."""
        yield Table(("repo", "issue", "comments"), self.threads)


def longest(lab: Workspace, *repos: str, most: Positive = 10) -> Threads:
    """List the issues with the most comments.

    Example: goldpan threads longest --most 3

    Args:
        most: How many of each repository.
    """
    threads = []
    for repo in known_repositories(lab.layout, repos, "tables"):
        with open_tables(lab.layout, repo, ["entries"]) as tables:
            threads += tables.sql(QUERY, params={"most": most}).fetchall()
    return Threads(threads)


register(
    Command("threads", about="Look at long discussions.", panel="Look and verify"),
    Command("threads longest", "long_threads:longest"),
)

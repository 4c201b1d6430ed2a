"""A group of commands, whose methods are `lab.threads.longest` and so on.

goldpan --plugin long_threads.py threads longest --most 3
"""

from collections.abc import Iterator
from dataclasses import dataclass

from goldpan.plugins import Command, register
from goldpan.plugins.data import Block, Result, Table, open_tables
from goldpan.plugins.operations import Group, Positive, known_repositories

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


class ThreadCommands(Group):
    """Look at long discussions."""

    words = "threads"

    def longest(self, *repos: str, most: Positive = 10) -> Threads:
        """List the issues with the most comments.

        Args:
            most: How many of each repository.
        """
        threads = []
        for repo in known_repositories(self.lab.layout, repos, "tables"):
            with open_tables(self.lab.layout, repo, ["entries"]) as tables:
                threads += tables.sql(QUERY, params={"most": most}).fetchall()
        return Threads(threads)


register(
    Command("threads", group="long_threads:ThreadCommands", panel="Look and verify"),
    Command("threads longest", "long_threads:ThreadCommands.longest", "--most 3"),
)

"""A dataset, its task and a rule for prompts: write the title of an issue, given its body.

goldpan --plugin issue_titles.py build issue-titles --split random:0.5,0.5
goldpan --plugin issue_titles.py evaluate run --task issue_titles --model majority
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.plugins import BuildContext, Column, Family, Part, Recipe, read_task, register

TITLES = Family(
    name="issue-titles",
    title="Issue titles",
    task="Given the body of an issue, write its title.",
    source="An example of docs/plugins.md",
    citation="",
    columns=(
        Column("id", pa.string(), "The identifier, as issue-titles:owner/name#ISSUE."),
        Column("repo", pa.string(), "The repository, as owner/name."),
        Column("license", pa.string(), "The SPDX identifier of the repository's license."),
        Column("issue", pa.int64(), "The number of the issue."),
        Column("created_at", pa.timestamp("us", tz="UTC"), "When the issue was opened."),
        Column("body", pa.string(), "The first text of the issue.", holds="prose"),
        Column("title", pa.string(), "The title of the issue.", holds="prose"),
    ),
    order=("repo", "issue"),
    subject=("repo", "issue"),
    inputs=("body",),
    target="title",
    task_categories=("summarization",),
)

QUERY = """
SELECT number, title, body, created_at FROM kept JOIN issues ON number = issue ORDER BY number
"""


def rows(context: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield a row for each issue that the filters keep."""
    shared = context.repository()
    for issue in context.rows(QUERY):
        if not issue["body"]:
            context.dropped["no-body"] += 1
            continue
        yield {
            "id": f"issue-titles:{shared['repo']}#{issue['number']}",
            "repo": shared["repo"],
            "license": shared["license"],
            "issue": issue["number"],
            "created_at": issue["created_at"],
            "body": context.text(issue["body"]),  # private data is redacted
            "title": context.text(issue["title"]),
        }


register(
    Recipe(TITLES, "issue", rows, {"no-body": "the issue has no text"}),
    read_task(Path(__file__).with_name("issue_titles.toml")),
    Part("prompt rule", "issue-titles", Path(__file__).with_name("issue_titles.txt")),
)

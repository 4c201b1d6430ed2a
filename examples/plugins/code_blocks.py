"""A criterion: keeps issues that show code.

    goldpan --plugin code_blocks.py filter --profile with_code.toml

where with_code.toml names it, with a setting of its own:

    decide = ["has-code"]

    [has-code]
    lines = 2
"""

from dataclasses import dataclass

import pyarrow as pa

from goldpan.plugins import Criterion, RepoView, register


@dataclass(frozen=True)
class Settings:
    """What counts as code."""

    lines: int = 1
    """The fewest lines of a fenced block."""


QUERY = """
SELECT number AS issue, coalesce(max(lines), 0) >= $lines AS keep,
       CASE WHEN coalesce(max(lines), 0) < $lines THEN 'no-code' END AS reason,
       coalesce(max(lines), 0) AS value
FROM issues LEFT JOIN (
  SELECT number, len(string_split(trim(block, chr(10)), chr(10))) AS lines
  FROM (SELECT number, unnest(regexp_extract_all(text, '(?s)```[^\\n]*\\n(.*?)```', 1)) AS block
        FROM texts WHERE source = 'body')
) USING (number)
GROUP BY number
"""


def judge(repository: RepoView, settings: Settings) -> pa.Table:
    """Return one row per issue."""
    return repository.sql(QUERY, lines=settings.lines)


register(
    Criterion(
        name="has-code",
        subject="issue",
        definition="Keeps issues whose first text shows a block of code.",
        source="An example of docs/plugins.md",
        settings=Settings,
        judge=judge,
    )
)

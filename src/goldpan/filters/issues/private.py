"""Keeps issues in which nobody gave away a secret."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.filters.criterion import Criterion
from goldpan.filters.repo_view import RepoView
from goldpan.text.redaction import (
    ALLOWED_EMAILS,
    KINDS,
    SECRET,
    PrivateRules,
    find_private,
    may_be_private,
)


@dataclass(frozen=True, slots=True)
class PrivateSettings:
    """The kinds of private data that drop an issue."""

    drop: tuple[str, ...] = (SECRET,)
    """Kinds that drop an issue: secret, email, ip-address. The others are not looked for here:
    what is published is redacted in any case."""
    allowed_emails: tuple[str, ...] = ALLOWED_EMAILS
    """Addresses that are nobody's, as patterns of the shell's kind."""

    def __post_init__(self) -> None:
        if strange := sorted(set(self.drop) - set(KINDS)):
            raise UsageError(
                f"The filter setting private.drop names {strange[0]!r}",
                f"Choose from {', '.join(KINDS)}",
            )


_QUERY = "SELECT number, coalesce(comment_id::VARCHAR, source) AS place, text FROM texts"
_BATCH = 8_192
_FINDINGS = pa.schema(
    [("number", pa.int64()), ("place", pa.string()), ("kind", pa.string()), ("n", pa.int64())]
)

_ANSWER = """
SELECT i.number AS issue, n IS NULL AS keep, reason, coalesce(n, 0) AS value, evidence
FROM issues i LEFT JOIN (
  SELECT number, sum(n)::BIGINT AS n, max(split_part(kind, ':', 1)) AS reason,
         left(string_agg(kind || ' in ' || place, ', ' ORDER BY kind DESC, place), 200) AS evidence
  FROM private_findings GROUP BY number
) USING (number)
"""


def _judge(view: RepoView, settings: PrivateSettings) -> pa.Table:
    rules = PrivateRules(settings.drop, settings.allowed_emails)
    counts: Counter[tuple[int, str, str]] = Counter()
    for batch in view.connection.sql(_QUERY).to_arrow_reader(_BATCH):
        suspicious = batch.filter(may_be_private(batch["text"], rules))
        for row in suspicious.to_pylist():
            for finding in find_private(row["text"], rules):
                counts[row["number"], row["place"], finding.kind] += 1
    rows = [
        {"number": number, "place": place, "kind": kind, "n": count}
        for (number, place, kind), count in counts.items()
    ]
    findings = pa.Table.from_pylist(rows, _FINDINGS)
    return view.sql_over("private_findings", findings, _ANSWER)


PRIVATE = Criterion(
    name="private",
    subject="issue",
    definition="Keeps issues that hold no passwords, keys or tokens.",
    source="Goldpan: a secret that was published once must not be published again",
    settings=PrivateSettings,
    judge=_judge,
    discussions=True,
    version=2,
)

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
    EMAIL,
    IP_ADDRESS,
    SECRET,
    PrivateRules,
    find_private,
    may_be_private,
)

_KINDS = (SECRET, EMAIL, IP_ADDRESS)


@dataclass(frozen=True, slots=True)
class PrivateSettings:
    """The kinds of private data that drop an issue."""

    drop: tuple[str, ...] = (SECRET,)
    """Kinds that drop an issue: secret, email, ip-address. The others are not looked for here:
    what is published is redacted in any case."""
    allowed_emails: tuple[str, ...] = ALLOWED_EMAILS
    """Addresses that are nobody's, as patterns of the shell's kind."""

    def __post_init__(self) -> None:
        if strange := sorted(set(self.drop) - set(_KINDS)):
            raise UsageError(
                f"The filter setting private.drop names {strange[0]!r}",
                f"Choose from {', '.join(_KINDS)}",
            )


_QUERY = "SELECT number, coalesce(comment_id::VARCHAR, source) AS place, text FROM texts"
_BATCH = 8_192

_ANSWER = """
SELECT i.number AS issue, n IS NULL AS keep, reason, coalesce(n, 0) AS value, evidence
FROM issues i LEFT JOIN (
  SELECT number, sum(n)::BIGINT AS n, max(split_part(kind, ':', 1)) AS reason,
         left(string_agg(kind || ' in ' || place, ', ' ORDER BY kind DESC, place), 200) AS evidence
  FROM private_findings GROUP BY number
) USING (number)
"""


def _judge(view: RepoView, settings: PrivateSettings) -> pa.Table:
    rules = PrivateRules(
        emails=EMAIL in settings.drop,
        ip_addresses=IP_ADDRESS in settings.drop,
        secrets=SECRET in settings.drop,
        allowed_emails=settings.allowed_emails,
    )
    counts: Counter[tuple[int, str, str]] = Counter()
    for batch in view.connection.sql(_QUERY).to_arrow_reader(_BATCH):
        suspicious = batch.filter(may_be_private(batch["text"], rules))
        for row in suspicious.to_pylist():
            for finding in find_private(row["text"], rules):
                counts[row["number"], row["place"], finding.kind] += 1
    columns = list(zip(*counts, strict=True)) or [(), (), ()]
    findings = pa.table(
        {
            "number": pa.array(columns[0], pa.int64()),
            "place": pa.array(columns[1], pa.string()),
            "kind": pa.array(columns[2], pa.string()),
            "n": pa.array(counts.values(), pa.int64()),
        }
    )
    return view.sql_over("private_findings", findings, _ANSWER)


PRIVATE = Criterion(
    name="private",
    subject="issue",
    definition="Keeps issues that hold no passwords, keys or tokens.",
    source="Goldpan: a secret that was published once must not be published again",
    settings=PrivateSettings,
    judge=_judge,
    discussions=True,
)

"""The micro-averaged F1 of the issue competition (NLBSE'23, section II-B).

Settings: `average`, the column of the average; `support`, how many test issues each class has, by
the column of its recall. As every issue has one class and gets one answer, the average follows
from the recalls alone; what comes out of printed recalls has their rounding in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.plugins.core import EvaluationError
from goldpan.plugins.reproduce import Context, Outcome, TableRecipe, parsed


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    average: str
    support: Mapping[str, int]


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the average of each row that prints all recalls."""
    chosen = parsed(_Settings, settings)
    for row in table.rows:
        recalls = {column: table.number(row, column) for column in chosen.support}
        present = {column: value for column, value in recalls.items() if value is not None}
        if len(present) == len(recalls):
            value = issue_rule(present, chosen.support)
            yield Outcome(row, chosen.average, value, "recomputed", "from rounded recalls")


def issue_rule(recalls: Mapping[str, float], support: Mapping[str, int]) -> float:
    """Return the micro-averaged F1 of section II-B from each class's recall and size.

    Every issue has one class and gets one answer, so it is the share of right answers, which is
    the mean of the recalls weighted by size.
    """
    if recalls.keys() != support.keys():
        raise EvaluationError(
            "Recalls and sizes are not of the same classes", "Give both for every class"
        )
    total = sum(support.values())
    return math.fsum(recalls[name] * support[name] for name in sorted(support)) / total

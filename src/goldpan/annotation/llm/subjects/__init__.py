"""The kinds of subjects that models review, one a file, each holding its `KIND`."""

from __future__ import annotations

from goldpan.annotation.llm.case import SubjectKind
from goldpan.annotation.llm.subjects import issue, pair
from goldpan.filters.criterion import Subject

KINDS: dict[Subject, SubjectKind] = {kind.subject: kind for kind in (issue.KIND, pair.KIND)}

"""The kinds of subjects that models review, one a file, each holding its `KIND`."""

from __future__ import annotations

from goldpan.annotation.review.answer import ReviewSubject, SubjectKind
from goldpan.annotation.review.subjects import issue, pair
from goldpan.filters.criterion import Subject

KINDS: dict[Subject, SubjectKind] = {kind.subject: kind for kind in (issue.KIND, pair.KIND)}
LABEL_PROMPT = "label"
PROMPTS: dict[ReviewSubject, str] = {
    **{kind.subject: kind.prompt for kind in KINDS.values()},
    "label": LABEL_PROMPT,
}
"""The prompt by which each kind of case is judged."""

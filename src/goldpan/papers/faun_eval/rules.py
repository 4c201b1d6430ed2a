"""The pairing rules of FAUN-Eval (section 3.2)."""

from goldpan.plugins import Rules

RULES = Rules(
    "faun-eval",
    ("keyword",),
    # Algorithm 1 reads title, body, comments and review comments, and no commit messages.
    ("title", "body", "comment", "review_comment"),
    same_repository=True,
    default_branch=True,
)

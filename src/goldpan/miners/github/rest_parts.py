"""Which part of an entry a list of REST's belongs to, for those who read what was kept."""

from __future__ import annotations

PART_OF_LIST = {"pull_comments": "review_comments"}
"""Lists of one entry that another part's rows come from."""

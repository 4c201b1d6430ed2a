"""A round of annotation whose every text is another's."""

from __future__ import annotations

from datetime import UTC, datetime

from goldpan.annotation.agreement import Rating, agree
from goldpan.annotation.studio.answers import AnnotatorProgress, Progress
from goldpan.annotation.studio.summary import Day, DisputedItem, Round

HOSTILE = "a|b <script>alert(1)</script> [x](http://evil) `c`\n# d"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_round(disputed: int = 1) -> Round:
    """Return a round with so many adjudicated items, and one conflict."""
    ratings = [Rating("1", "ann", ("fixes",)), Rating("1", "ben", ("partly",))]
    answers = {"ann": ("fixes",), "ben": (HOSTILE,)}
    own = AnnotatorProgress("ann", 2, 1, 0, 1, 12.0)
    return Round(
        project="round1",
        form="fix-pair",
        wanted=2,
        progress=Progress(
            *("round1", "fix-pair", NOON, "http://127.0.0.1", 9, 1, 1, 0, 18, 2),
            problems={"skipped": 2},
            annotators=(own,),
        ),
        days=(Day(NOON.date(), {"ann": 2}),),
        agreed=0,
        conflicts=1,
        adjudicated=disputed,
        disputed=(
            *(
                DisputedItem(
                    *(f"item {number} {HOSTILE}", HOSTILE, answers, ("fixes",), "cleo", False),
                    texts={"issue": HOSTILE},
                )
                for number in range(disputed)
            ),
            DisputedItem("item", "", answers, None, None, False, {}),
        ),
        agreement=(agree("verdict", ratings),),
    )

"""Which entries with parts that a token may not see are to be asked for again.

A person who reads that a token lacks access may give it some, or take another token. Both show
only by asking: for all such entries with another token, for a few with the same one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from goldpan.core.archive import Record
from goldpan.miners.github.limits import TokenPool
from goldpan.miners.github.sweep import Target
from goldpan.miners.journal import Journal

TRIED = 10  # a request or two


@dataclass(frozen=True, slots=True)
class Hidden:
    """Entries with hidden parts."""

    of_others: tuple[Target, ...] = ()
    """Those that were hidden from tokens that are no longer there."""
    tried: tuple[Target, ...] = ()
    """Those by which a run finds out whether the same token sees more now."""
    rest: tuple[Target, ...] = ()
    """Those to ask for if it does."""

    @property
    def chosen(self) -> tuple[Target, ...]:
        """Return what is asked for in any case."""
        return (*self.of_others, *self.tried)

    def is_seen(self, journal: Journal) -> bool:
        """Tell whether an entry that was tried is hidden no longer."""
        hidden = hidden_entries(journal)
        return any(target.number not in hidden for target in self.tried)


def hidden_entries(journal: Journal) -> dict[int, Record]:
    """Return what was hidden of entries when they were read last, the oldest first."""
    hidden: dict[int, Record] = {}
    for record in journal.archive.records:
        meta = record.meta
        if meta["part"] == "entries":
            for _, number, _ in meta["nodes"]:
                hidden.pop(number, None)
        elif meta["part"] == "failed" and meta.get("token") is not None:
            hidden[meta["number"]] = record
    return hidden


def choose_hidden(
    journal: Journal, pool: TokenPool, listed: Mapping[int, Target], fresh: Collection[int]
) -> Hidden:
    """Choose among listed entries, but `fresh` ones, which are asked for anyway.

    Those that were asked for longest ago come first, so that each gets its turn.
    """
    of_others: list[Target] = []
    same: list[Target] = []
    for number, record in hidden_entries(journal).items():
        if number in listed and number not in fresh and record.run != journal.run:
            owned = pool.owns(record.meta["token"])
            (same if owned else of_others).append(listed[number])
    return Hidden(tuple(of_others), tuple(same[:TRIED]), tuple(same[TRIED:]))

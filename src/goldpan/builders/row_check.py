"""Drops rows that have what a build must not have, as whoever asks for the build finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

NOT = "not:"
"""What a requirement begins with that names a finding of `goldpan audit`."""
NOT_AUDITED = "not-audited"
"""The verdict on a row that no audit has as it is now."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Findings that rows must not have; it goes to other processes."""

    requirements: tuple[str, ...]
    """As they were asked for, such as not:solution-in-issue."""
    verdicts: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, str]]]
    """Returns of each row, by requirement: found, not-found, cannot-tell or `NOT_AUDITED`."""
    audits: Mapping[str, str] = field(default_factory=dict)
    """The digests of the stored audits that it reads, by name."""

    @property
    def explained(self) -> dict[str, str]:
        """What dropped rows have, by requirement."""
        return {name: f"goldpan audit finds {name.removeprefix(NOT)}" for name in self.requirements}

    def kept(
        self,
        batches: Iterable[pa.RecordBatch],
        dropped: Counter[str],
        untold: Counter[tuple[str, str]],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows without findings; rows that cannot be told are kept and counted."""
        for batch in batches:
            places = []
            for place, verdicts in enumerate(self.verdicts(batch.to_pylist())):
                if found := [name for name in self.requirements if verdicts[name] == "found"]:
                    dropped[found[0]] += 1
                    continue
                places.append(place)
                untold.update(item for item in verdicts.items() if item[1] != "not-found")
            yield batch.take(pa.array(places, pa.int64()))

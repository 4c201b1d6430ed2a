"""What looks wrong with a table of texts and answers, with the rows where it stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from goldpan.core import sanitize
from goldpan.datasets.tasks.data import copies_of

_SHOWN, _LONGEST = 5, 40
_OFTEN = 10
"""Rows from which on answers may number them."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that looks wrong with a table, in words that end before the rows."""

    about: str
    rows: int
    examples: tuple[str, ...]
    """The first of the rows: their numbers, or FILE:NUMBER where there are several files."""

    def __str__(self) -> str:
        names = f"row{'s' if self.rows > 1 else ''} {', '.join(self.examples)}"
        more = f" and {self.rows - len(self.examples):,} more"
        return f"{self.about} ({names}{more if self.rows > len(self.examples) else ''})"


@dataclass(slots=True)
class Places:
    """How many rows there are of a kind, and the first of them."""

    rows: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count a row."""
        self.rows += 1
        if len(self.first) < _SHOWN:
            self.first.append(place)

    def doubt(self, about: str) -> Doubt:
        """Return what is doubted of these rows."""
        return Doubt(about, self.rows, tuple(self.first))


class LabeledTexts:
    """The rows of a table as they are read: its labels, and what looks wrong.

    Of a text only a digest is kept, some 200 bytes a row.
    """

    def __init__(self) -> None:
        self.by_label: defaultdict[str, Places] = defaultdict(Places)
        """The rows of each answer that is there."""
        self.unlabeled, self._empty = Places(), Places()
        self._copies, self._contradicting = Places(), Places()
        self._first: dict[str, tuple[str, str]] = {}

    @property
    def counts(self) -> Counter[str]:
        """The numbers of rows by label."""
        return Counter({label: places.rows for label, places in self.by_label.items()})

    def add(self, place: str, text: str, label: str) -> None:
        """Take in a row by its place in the files."""
        (self.by_label[label] if label else self.unlabeled).add(place)
        if not text.strip():
            self._empty.add(place)
        elif label:
            other, first = self._first.setdefault(copies_of(text), (label, place))
            if first != place:
                same = other == label
                (self._copies if same else self._contradicting).add(f"{place} = {first}")

    def numbered(self) -> bool:
        """Tell whether the answers are the numbers of the rows: 0 or 1, 2, 3 and so on."""
        counts = self.counts
        try:
            numbers = sorted(map(int, counts))
        except ValueError:
            return False
        start = numbers[0] if numbers else 0
        every = numbers == list(range(start, start + len(counts)))
        return len(counts) > _OFTEN and max(counts.values()) == 1 and every

    def doubts(self, *, are_labels: bool) -> Iterator[Doubt]:
        """Yield what looks wrong; of answers that are numbers, only their texts are judged."""
        if are_labels:
            yield from self._of_labels()
        if self._empty.rows:
            yield self._empty.doubt("Empty texts")
        if self._copies.rows:
            yield self._copies.doubt("Equal texts with the same answer")
        if self._contradicting.rows:
            yield self._contradicting.doubt("Equal texts with different answers")

    def _of_labels(self) -> Iterator[Doubt]:
        alike: defaultdict[str, list[str]] = defaultdict(list)
        for label in self.by_label:
            alike[_folded(label)].append(label)
        for label, places in self.by_label.items():
            usual = max(alike[_folded(label)], key=lambda name: self.by_label[name].rows)
            if usual != label:
                yield places.doubt(f"{_shown(label)} may be the same label as {_shown(usual)}")
            elif places.rows == 1:
                yield places.doubt(f"{_shown(label)} has one row, too few to train and test")


def _folded(label: str) -> str:
    """Return a label without what people write now one way and now the other: case and blanks."""
    return "".join(label.casefold().replace("-", " ").replace("_", " ").split())


def _shown(label: str) -> str:
    return f"'{sanitize.line(label, _LONGEST)}'"

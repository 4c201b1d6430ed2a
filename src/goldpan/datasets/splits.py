"""Splits into training and test rows, with near duplicates on one side.

Every row has a side of its own, by the hash of its group, the hash or the name of its repository,
or its time. A group of near duplicates goes to the side of its earliest row, and its rows of
another side are dropped: on the earlier side they would show training what comes after the
cut-off, on the later one they would show tests what training has seen.

A hash depends on the seed and the name alone, so rows keep their side as a dataset grows.
Stratified splits do not: they keep the share of every label, and put whole groups on a side. The
split `given` is the source's own, taken as it is.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, lcm
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from goldpan.core.errors import DatasetError, UsageError

if TYPE_CHECKING:  # it takes long to import, and help needs the forms alone
    import pyarrow as pa


# Draws by hash depend on the seed and the names alone, and stay as data grow.

Item = TypeVar("Item")


def draw_number(seed: int, *names: str) -> int:
    """Return a number below 2^64 that a seed and names give."""
    text = "\0".join((str(seed), *names))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def sample_by_hash(
    items: Iterable[Item], most: int, seed: int, name: Callable[[Item], str]
) -> list[Item]:
    """Return at most `most` items, those with the least numbers, in their own order.

    No more than `most` are kept in memory. Names have to differ.
    """

    def number(entry: tuple[int, Item]) -> int:
        return draw_number(seed, name(entry[1]))

    chosen = heapq.nsmallest(most, enumerate(items), key=number)
    return [item for _, item in sorted(chosen, key=itemgetter(0))]


# Stratified splits: every side gets its share of every label.
#
# Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011), which SELU uses for multi-
# label tasks: labels are dealt out one after the other, the rarest first, each name to the side
# that lacks most of that label; names that stand for many examples come first. With one label an
# example it is plain stratification, within one example of each label's share.


def stratify(
    labels: Mapping[str, Collection[str]],
    sizes: Mapping[str, int],
    shares: Sequence[Fraction],
    seed: int,
) -> dict[str, int]:
    """Return the side of each name, given its labels and how many examples it stands for.

    The order of names does not matter. Those without a label go where examples are wanted most.
    The time grows with the number of labels that names have, and of different labels.
    """
    order = sorted(labels, key=lambda name: (-sizes[name], _draw(seed, name), name))
    by_label: dict[str, list[str]] = {}
    total: Counter[str] = Counter()
    for name in order:
        for label in labels[name]:
            by_label.setdefault(label, []).append(name)
            total[label] += sizes[name]
    left = Counter({label: len(names) for label, names in by_label.items()})
    # Counted in parts of an example, so that integers do: fractions would take many times longer.
    parts = lcm(*(share.denominator for share in shares))
    portions = [int(share * parts) for share in shares]
    needed = {label: [portion * count for portion in portions] for label, count in total.items()}
    room = [portion * sum(sizes.values()) for portion in portions]
    sides: dict[str, int] = {}

    def assign(name: str, label: str | None) -> None:
        lacking = needed[label] if label is not None else room
        side = max(range(len(shares)), key=lambda place: (lacking[place], room[place], -place))
        sides[name] = side
        room[side] -= parts * sizes[name]
        for other in labels[name]:
            needed[other][side] -= parts * sizes[name]
            left[other] -= 1

    while left := +left:
        rarest = min(left, key=lambda label: (left[label], label))
        for name in by_label[rarest]:
            if name not in sides:
                assign(name, rarest)
    for name in order:
        if name not in sides:
            assign(name, None)
    return sides


def _draw(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest()


_SHOWN = 3  # projects that a message names
Kind = Literal["random", "time", "repository", "project", "stratified", "given", "none"]
_NAMES = {1: ("test",), 2: ("train", "test"), 3: ("train", "validation", "test")}
SPLIT_FORMS = (
    "none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME, stratified:0.8,0.2, "
    "time:2023-01-01[,2024-01-01] or, where the rows have one from their source, given"
)
"""The forms that `SplitPlan.parse` reads, for people."""
_REMEDY = f"Write {SPLIT_FORMS}"
_HASHES = 2**64
_ROUNDED_UP = 0.75
"""The share of a row with which a stratified split gives a side one."""
_MORE_ROWS = {
    "time": "choose another cut-off",
    "repository": "more repositories or another --seed help",
    "project": "name other projects",
}


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A way to split a dataset; `parse` reads it as people write it."""

    kind: Kind = "none"
    shares: tuple[Fraction, ...] = ()
    cuts: tuple[datetime, ...] = ()
    projects: tuple[str, ...] = ()
    """In lower case; they are for testing, all others for training."""
    seed: int = 0

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> Self:
        """Read a plan such as ``random:0.8,0.1,0.1``; raises `UsageError` where it is none."""
        kind, _, listed = text.strip().partition(":")
        values = [value.strip() for value in listed.split(",")] if listed else []
        match kind:
            case "none" | "given" if not values:
                return cls(kind, seed=seed)
            case "random" | "repository" | "stratified" if 2 <= len(values) <= 3:
                return cls(kind, shares=_shares(text, values), seed=seed)
            case "project" if values and all(values):
                return cls("project", projects=tuple(map(str.lower, values)), seed=seed)
            case "time" if 1 <= len(values) <= 2:
                return cls("time", cuts=_cuts(text, values), seed=seed)
            case _:
                raise UsageError(f"{text!r} is not a way to split a dataset", _REMEDY)

    def __str__(self) -> str:
        parts = [_plain(share) for share in self.shares]
        parts += self.projects
        parts += [cut.isoformat().removesuffix("T00:00:00+00:00") for cut in self.cuts]
        return f"{self.kind}:{','.join(parts)}" if parts else self.kind

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the splits: test, train and test, or these and validation between."""
        if self.kind == "given":
            return _NAMES[3]
        if self.kind == "project":
            return _NAMES[2]
        return _NAMES[len(self.shares) or len(self.cuts) + 1]


@dataclass(frozen=True, slots=True)
class SplitCandidate:
    """The facts of a row that splitting needs."""

    id: str
    group: str
    repo: str
    moment: datetime | None
    stratum: tuple[str, ...] = ()
    """The row's labels."""
    partition: str | None = None
    """The official split of the source."""


@dataclass(frozen=True, slots=True)
class SplitReport:
    """The result of a split in numbers."""

    plan: str
    seed: int
    rows: Mapping[str, int]
    """By split, those without rows included."""
    groups: int
    straddling: int
    """Groups of near duplicates that lay on several sides."""
    dropped: int
    """Rows of such groups that are in no split."""

    @property
    def lacking(self) -> str:
        """Which splits have no row, and the way to split that gives them some; empty without."""
        empty = [name for name, rows in self.rows.items() if not rows]
        kind, _, shares = self.plan.partition(":")
        if not empty or kind == "given":
            return ""
        total = sum(self.rows.values()) + self.dropped
        remedy = _MORE_ROWS.get(kind, "more rows or other shares help")
        if self.groups < len(self.rows):
            remedy = "near duplicates stay together, so rows with other texts are needed"
        elif kind == "random":
            least = min(map(float, shares.split(",")))
            dealt = shares if total * least >= _ROUNDED_UP else "0.8,0.2"
            remedy = f"--split stratified:{dealt} deals few rows evenly"
        rows = "row" if total == 1 else "rows"
        return f"Of {total:,} {rows} none is in {' and '.join(empty)}: {remedy}"


@dataclass(frozen=True, slots=True)
class Splits:
    """The split of each row, in the order of the rows; None where a row was dropped."""

    names: tuple[str | None, ...]
    report: SplitReport


def assign_splits(rows: Sequence[SplitCandidate], plan: SplitPlan) -> Splits:
    """Assign each row to a split, whatever the order of the rows.

    Raises `DatasetError` where a plan by time meets a row without one, the plan `given` a row
    without an official split, or a plan by project no row of its projects.
    """
    own = _own_sides(rows, plan)
    first: dict[str, int] = {}
    for index, row in enumerate(rows):
        split_of_group = first.get(row.group)
        if split_of_group is None or _age(row) < _age(rows[split_of_group]):
            first[row.group] = index
    home_side = {group: own[index] for group, index in first.items()}
    strays = [side != home_side[row.group] for row, side in zip(rows, own, strict=True)]
    names = tuple(
        None if stray and plan.kind != "given" else plan.names[side]
        for side, stray in zip(own, strays, strict=True)
    )
    counts = Counter(names)
    report = SplitReport(
        str(plan),
        plan.seed,
        {name: counts[name] for name in plan.names},
        len(first),
        len({row.group for row, stray in zip(rows, strays, strict=True) if stray}),
        counts[None],
    )
    return Splits(names, report)


def strata(table: pa.Table, column: str) -> list[tuple[str, ...]]:
    """Return the labels of each row, from a column of texts or of lists; none without a column."""
    if not column:
        return [()] * len(table)
    values = table.column(column).to_pylist()
    return [tuple(value) if isinstance(value, list) else (value,) for value in values]


def _own_sides(rows: Sequence[SplitCandidate], plan: SplitPlan) -> list[int]:
    """Return each row's own side, regardless of its group: a place in the plan's names."""
    match plan.kind:
        case "none":
            return [0] * len(rows)
        case "time":
            return [sum(moment >= cut for cut in plan.cuts) for moment in _moments(rows, plan)]
        case "random":
            return _sides_by_hash([row.group for row in rows], plan)
        case "repository":
            return _sides_by_hash([row.repo.lower() for row in rows], plan)
        case "project":
            sides = [int(row.repo.lower() in plan.projects) for row in rows]
            if 1 not in sides:
                few = ", ".join(sorted({row.repo for row in rows})[:_SHOWN])
                raise DatasetError(
                    f"No row belongs to {', '.join(plan.projects)}, so {plan} leaves no test rows",
                    f"Name projects that have rows, such as {few}",
                )
            return sides
        case "stratified":
            return _stratified(rows, plan)
        case "given":
            if odd := [row.id for row in rows if row.partition not in plan.names]:
                raise DatasetError(
                    f"{odd[0]} has no official split, so it belongs to no side of {plan}",
                    "Split at random or stratified",
                )
            return [plan.names.index(str(row.partition)) for row in rows]


def _moments(rows: Iterable[SplitCandidate], plan: SplitPlan) -> Iterator[datetime]:
    for row in rows:
        if row.moment is None:
            raise DatasetError(
                f"{row.id} has no time, so it belongs to no side of {plan}",
                "Split by repository or at random",
            )
        yield row.moment


def _stratified(rows: Sequence[SplitCandidate], plan: SplitPlan) -> list[int]:
    """Return the side of each row; groups are units, with the labels of all their rows."""
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row.group, set()).update(row.stratum)
    sizes = Counter(row.group for row in rows)
    sides = stratify(labels, sizes, plan.shares, plan.seed)
    return [sides[row.group] for row in rows]


def _sides_by_hash(names: list[str], plan: SplitPlan) -> list[int]:
    bounds = [ceil(bound * _HASHES) for bound in accumulate(plan.shares)][:-1]
    seed = hashlib.sha256(f"{plan.seed}\0".encode())
    sides = []
    for name in names:
        hasher = seed.copy()
        hasher.update(name.encode())
        number = int.from_bytes(hasher.digest()[:8])
        sides.append(sum(number >= bound for bound in bounds))
    return sides


def _age(row: SplitCandidate) -> tuple[bool, datetime, str]:
    """Order rows by time, those without one last, then by id."""
    return (row.moment is None, row.moment or datetime.max.replace(tzinfo=UTC), row.id)


def _shares(text: str, values: list[str]) -> tuple[Fraction, ...]:
    try:
        shares = tuple(Fraction(value) for value in values)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"The shares of {text!r} are not numbers", _REMEDY) from None
    if min(shares) <= 0 or sum(shares) != 1:
        raise UsageError(f"The shares of {text!r} are not all above 0 with a sum of 1", _REMEDY)
    return shares


def _plain(share: Fraction) -> str:
    decimal = str(float(share))
    return decimal if Fraction(decimal) == share else str(share)


def _cuts(text: str, values: list[str]) -> tuple[datetime, ...]:
    try:
        cuts = [datetime.fromisoformat(value) for value in values]
        utc = tuple(cut.astimezone(UTC) if cut.tzinfo else cut.replace(tzinfo=UTC) for cut in cuts)
    except (ValueError, OverflowError):
        raise UsageError(f"The cut-offs of {text!r} are not dates", _REMEDY) from None
    if any(later <= earlier for earlier, later in pairwise(utc)):
        raise UsageError(f"The cut-offs of {text!r} do not rise", "Write the earlier date first")
    return utc

"""Scores the labels of a dataset against a gold set: items labeled by reading.

A gold set is a CSV file with the columns `repo`, `issue`, `label` and one of `comment_id`, for
answers (answers, partly, not, cannot-tell), `pull`, for fix pairs (fixes, partly, not,
cannot-tell), and `changed_path`, for the file that a fix changed (right, wrong, cannot-tell).

With a column `reader` it holds judgments of a sample, a line for each row and reader, as
`goldpan evaluate labels --sample` keeps them. By `seed` and `sample`, the rows are drawn again from
any dataset, and only judgments of these count.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from goldpan.core.errors import DatasetError, UsageError, refuse_empty
from goldpan.core.locks import hold_lock
from goldpan.core.proportions import Estimate, Stratum, cohen_kappa, stratified, wilson
from goldpan.core.result import Result, count
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import write_whole
from goldpan.datasets.splits import sample_by_hash
from goldpan.datasets.table_files import form_of, table_rows

Item = tuple[str, int, int | str]
"""The repository in lower case, the issue, and the comment that answers, the pull request or the
file that its fix changed."""
CANNOT_TELL = "cannot-tell"
_READER = re.compile(r"[\w.-]{1,40}")
_REMEDY = "Give a CSV file with repo, issue, label and comment_id, pull or changed_path"


@dataclass(frozen=True, slots=True)
class GoldKind:
    """A kind of item that gold sets label."""

    name: str
    gold_column: str
    """The column of the gold set that names the item beside the issue."""
    column: str
    """The column of a dataset that does."""
    right: str
    labels: tuple[str, ...]
    """From right to wrong; any other label decides nothing."""
    read: type[int] | type[str] = int
    """The type of the item's name: a number or a text."""


KINDS = (
    GoldKind("answers", "comment_id", "answer_comment_id", "answers", ("answers", "partly", "not")),
    GoldKind("fix pairs", "pull", "pull", "fixes", ("fixes", "partly", "not")),
    GoldKind("changed files", "changed_path", "changed_path", "right", ("right", "wrong"), str),
)


@dataclass(frozen=True, slots=True)
class RowJudgment:
    """One reader's judgment of one row of a sample."""

    item: Item
    reader: str
    label: str
    note: str
    """In the reader's words; empty for none."""
    dataset: str
    """The digest of the rows that the sample was drawn of, as the card's citation names it."""
    seed: int
    sample: int
    """The size of the sample."""
    stratum: str = ""
    """The vote of a model on the row, where the sample is stratified by it."""
    stratum_rows: int = 0
    """Rows of the dataset with this vote."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold set."""

    name: str
    sha256: str
    kind: GoldKind
    labels: Mapping[Item, str]
    judgments: tuple[RowJudgment, ...] = ()
    """Those of a sample, where it is one."""


@dataclass(frozen=True, slots=True)
class ReaderPair:
    """Two readers on the rows that both judged."""

    readers: tuple[str, str]
    rows: int
    same: int
    """Rows with the same label."""
    kappa: float | None
    """Cohen's; None where it is not defined, as where both give all rows one label."""


@dataclass(frozen=True, slots=True)
class SampleScore:
    """The reading of a sample whose labels are scored."""

    seed: int
    size: int
    """The size of the sample."""
    drawn: int
    """Rows that the seed draws of this dataset, fewer where it has no more."""
    read: int
    """Drawn rows that somebody judged."""
    cannot_tell: int
    """Judged rows that their readers could not decide."""
    differing: int
    """Judged rows without a majority of readers: the less favorable judgment counts."""
    elsewhere: int
    """Further judged rows: gone, changed since, not drawn of this dataset, or of another one."""
    readers: Mapping[str, int]
    """The rows that each reader judged."""
    pairs: tuple[ReaderPair, ...]
    strata: Mapping[str, int] = field(default_factory=dict, metadata={"json": False})
    """Rows read by a model's vote, where the sample is stratified by it; shares are weighted."""


@dataclass(frozen=True, slots=True)
class GoldScore(Result):
    """The agreement of a dataset's rows with a gold set."""

    schema = 2

    gold: str
    sha256: str
    kind: str
    rows: int
    """Rows of the dataset."""
    labels: Mapping[str, int]
    """The number of labeled rows with each label, from right to wrong."""
    right: Estimate
    """The share of labeled rows that are right, with its 95% interval (Wilson)."""
    at_least_partly: Estimate
    """The share that is right at least in part."""
    there: int
    """Issues of the dataset's repositories for which the gold set has a right item."""
    kept: Estimate
    """The share of these for which the dataset has a row; of a sample it is not asked."""
    sample: SampleScore | None = None
    """The drawing and the reading of the rows, where the gold set is a sample."""

    @property
    def labeled(self) -> int:
        """Rows that the gold set labels."""
        return sum(self.labels.values())

    @property
    def summary(self) -> str:
        """How many rows were judged, and how many judgments are of other rows."""
        if self.sample is None:
            return f"{self.gold}: {self.labeled:,} of {self.rows:,} rows labeled"
        judged = f"{self.gold}: {self.sample.read:,} of {self.sample.drawn:,} rows judged"
        if not self.sample.elsewhere:
            return judged
        return f"{judged}, {count(self.sample.elsewhere, 'judgment')} of rows that are not here"


def read_gold(path: Path) -> Gold:
    """Read a gold set; raises `UsageError` where it is none."""
    rows, kind = _read(path)
    labels: dict[Item, str] = {}
    judgments: tuple[RowJudgment, ...] = ()
    if "reader" in rows[0]:
        judgments = tuple(_judgments(path, rows, kind))
        votes = _votes(judgments)
        labels = {item: _settled(by.values(), kind)[0] for item, by in votes.items()}
    else:
        for line, row in enumerate(rows, 2):
            item, label = _item(path, line, row, kind), str(row["label"]).strip().lower()
            if labels.setdefault(item, label) != label:
                raise UsageError(f"{path}, line {line}, labels an item twice", "Keep one")
    return Gold(path.name, file_digest(path), kind, labels, judgments)


def read_judgments(path: Path, kind: GoldKind) -> list[RowJudgment]:
    """Return the judgments that a file holds, none where there is no file.

    Raises `UsageError` where it holds something else, or judgments of another kind.
    """
    if form_of(path) != "csv":
        raise UsageError(f"{path} does not end in .csv", "Give another name with --output")
    if not path.exists():
        return []
    rows, found = _read(path)
    if found != kind or "reader" not in rows[0]:
        content = f"judgments of {found.name}" if "reader" in rows[0] else "a gold set of its own"
        raise UsageError(f"{path} holds {content}", "Give another file with --output")
    return _judgments(path, rows, kind)


def keep_judgment(path: Path, kind: GoldKind, judgment: RowJudgment) -> None:
    """Write a judgment into a file, in place of its reader's earlier one on the same row.

    A lock keeps other processes from writing at the same time.
    """
    with hold_lock(path.with_name(f".{path.name}.lock")):
        kept = {(old.item, old.reader): old for old in read_judgments(path, kind)}
        kept[judgment.item, judgment.reader] = judgment
        columns = [*_JUDGMENT_COLUMNS, *(_STRATUM_COLUMNS if judgment.stratum else ())]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["repo", "issue", kind.gold_column, *columns])
        for each in kept.values():
            writer.writerow([*each.item, *(getattr(each, name) for name in columns)])
        write_whole(path, text.getvalue().encode())


_JUDGMENT_COLUMNS = ("reader", "label", "note", "dataset", "seed", "sample")
_STRATUM_COLUMNS = ("stratum", "stratum_rows")


def checked_reader(name: str) -> str:
    """Return the name of a reader; raises `UsageError` for one that a card could not print."""
    if not _READER.fullmatch(name):
        raise UsageError(
            f"{name!r} does not name a reader",
            "Give up to 40 letters, digits, dots, hyphens or underscores",
        )
    return name


def _read(path: Path) -> tuple[list[dict[str, Any]], GoldKind]:
    refuse_empty(path, _REMEDY)
    rows = list(table_rows(path))
    columns = set(rows[0]) if rows else set()
    kind = next((kind for kind in KINDS if kind.gold_column in columns), None)
    if kind is None or not {"repo", "issue", "label"} <= columns:
        raise UsageError(f"{path} is not a gold set: its columns are {sorted(columns)}", _REMEDY)
    return rows, kind


def _item(path: Path, line: int, row: Mapping[str, Any], kind: GoldKind) -> Item:
    try:
        # pandas writes the whole numbers of a column with gaps as 12.0.
        issue, item = (str(row[name]) for name in ("issue", kind.gold_column))
        item = item.removesuffix(".0") if kind.read is int else item
        return row["repo"].strip().lower(), int(issue.removesuffix(".0")), kind.read(item)
    except (TypeError, ValueError, AttributeError):
        raise UsageError(f"{path}, line {line}, holds no numbers: {row}", _REMEDY) from None


def _judgments(path: Path, rows: Sequence[Mapping[str, Any]], kind: GoldKind) -> list[RowJudgment]:
    found: list[RowJudgment] = []
    for line, row in enumerate(rows, 2):
        item, label = _item(path, line, row, kind), row["label"]
        reader = str(row["reader"] or "")
        note, dataset, stratum = (row.get(name) or "" for name in ("note", "dataset", "stratum"))
        try:
            numbers = int(row["seed"]), int(row["sample"]), int(row.get("stratum_rows") or 0)
        except (KeyError, TypeError, ValueError):
            numbers = None
        if (
            numbers is None
            or label not in (*kind.labels, CANNOT_TELL)
            or not _READER.fullmatch(reader)
            or (found and (numbers[0], bool(stratum)) != (found[0].seed, bool(found[0].stratum)))
        ):
            raise UsageError(
                f"{path}, line {line}, is no judgment of one sample: {dict(row)}",
                f"Correct it: a reader, a label of {', '.join(kind.labels)} or {CANNOT_TELL}, "
                "and the seed and the size of all other lines",
            )
        seed, size, of_stratum = numbers
        told = (item, reader, label, note, dataset, seed, size, stratum, of_stratum)
        found.append(RowJudgment(*told))
    return found


def _votes(judgments: Iterable[RowJudgment]) -> Mapping[Item, Mapping[str, str]]:
    """Return the label that each reader gives each row."""
    votes: dict[Item, dict[str, str]] = defaultdict(dict)
    for each in judgments:
        votes[each.item][each.reader] = each.label
    return votes


def _settled(votes: Iterable[str], kind: GoldKind) -> tuple[str, bool]:
    """Return the label of most readers and True, or without a majority the least favorable."""
    counts = Counter(votes)
    label, count = counts.most_common(1)[0]
    if count * 2 > counts.total():
        return label, True
    return max(counts, key=[*kind.labels[:-1], CANNOT_TELL, kind.labels[-1]].index), False


def score_labels(files: Iterable[Path], gold: Gold) -> GoldScore:
    """Score the rows of a dataset's Parquet files.

    Raises `DatasetError` where the dataset has no such items.
    """
    data = ds.dataset([str(path) for path in files], format="parquet")
    columns = ["repo", "issue", gold.kind.column, *(["id"] if gold.judgments else [])]
    if not set(columns) <= set(data.schema.names):
        raise DatasetError(
            f"The dataset has no {gold.kind.name}, which {gold.name} labels",
            "Give a gold set of what the dataset holds",
        )
    rows = data.to_table(columns).to_pylist()
    drawn, sample = rows, None
    strata = {each.item: each.stratum for each in gold.judgments if each.stratum}
    if strata:
        drawn = [row for row in rows if _item_of(row, gold.kind) in strata]
    elif gold.judgments:
        size = max(each.sample for each in gold.judgments)
        drawn = sample_by_hash(rows, size, gold.judgments[0].seed, itemgetter("id"))
    items = [_item_of(row, gold.kind) for row in drawn]
    if gold.judgments:
        sample = _sample_score(gold, items, strata)
    counts = Counter(gold.labels[item] for item in items if item in gold.labels)
    decided = {label: counts[label] for label in gold.kind.labels}
    repos = {repo for repo, _, _ in items}
    identities = {
        item[:2]
        for item, label in gold.labels.items()
        if label == gold.kind.right and item[0] in repos and not sample
    }

    def share(*good: str) -> Estimate:
        if strata:
            return _stratified_share(gold, [strata[item] for item in items], items, good)
        return wilson(sum(decided.get(label, 0) for label in good), sum(decided.values()))

    return GoldScore(
        gold.name,
        gold.sha256,
        gold.kind.name,
        len(rows),
        decided,
        share(gold.kind.right),
        share(gold.kind.right, "partly"),
        len(identities),
        wilson(len(identities & {item[:2] for item in items}), len(identities)),
        sample,
    )


def _item_of(row: Mapping[str, Any], kind: GoldKind) -> Item:
    return row["repo"].lower(), row["issue"], row[kind.column]


def _stratified_share(
    gold: Gold, strata_of: Sequence[str], items: Sequence[Item], good: Sequence[str]
) -> Estimate:
    """Return the share of all rows with a good label, from the rows read of each stratum."""
    sizes = {each.stratum: each.stratum_rows for each in gold.judgments}
    strata = []
    for name, size in sorted(sizes.items()):
        labels = [
            gold.labels[item] for item, of in zip(items, strata_of, strict=True) if of == name
        ]
        read = [label for label in labels if label != CANNOT_TELL]
        strata.append(Stratum(max(size, len(read)), len(read), sum(each in good for each in read)))
    return stratified(strata)


def _sample_score(gold: Gold, drawn: Sequence[Item], strata: Mapping[Item, str]) -> SampleScore:
    votes = _votes(gold.judgments)
    judged = {item: votes[item] for item in drawn if item in votes}
    readers = Counter(reader for by in judged.values() for reader in sorted(by))
    pairs = []
    for first, second in combinations(sorted(readers), 2):
        both = [(by[first], by[second]) for by in judged.values() if first in by and second in by]
        if both:
            left, right = zip(*both, strict=True)
            same = sum(one == other for one, other in both)
            pairs.append(ReaderPair((first, second), len(both), same, cohen_kappa(left, right)))
    return SampleScore(
        gold.judgments[0].seed,
        max(each.sample for each in gold.judgments),
        len(drawn),
        len(judged),
        sum(gold.labels[item] == CANNOT_TELL for item in judged),
        sum(not _settled(by.values(), gold.kind)[1] for by in judged.values()),
        len(votes) - len(judged),
        dict(sorted(readers.items())),
        tuple(pairs),
        dict(sorted(Counter(strata[item] for item in judged if strata).items())),
    )

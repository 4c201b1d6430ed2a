"""Scores the labels of a dataset against a gold set: items labeled by reading.

A gold set is a CSV file with the columns `repo`, `issue`, `label` and one of `comment_id`, for
answers (answers, partly, not, cannot-tell), `pull`, for fix pairs (fixes, partly, not,
cannot-tell), and `changed_path`, for the file that a fix changed (right, wrong, cannot-tell). A
column `half` may separate the rows that rules were made on (`dev`) from the others (`test`).

With a column `reader` it holds judgments of a sample, a line for each row and reader, as
`goldpan evaluate labels --sample` keeps them. By `seed` and `sample`, the rows are drawn again from
any dataset, and only judgments of these count.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from operator import itemgetter
from pathlib import Path

import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError, cause_of, refuse_empty
from goldpan.core.proportions import Estimate, Stratum, cohen_kappa, stratified, wilson
from goldpan.core.result import Result, count
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import hold_lock, write_whole
from goldpan.datasets.splits import sample_by_hash

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
    half: str | None
    labels: Mapping[Item, str]
    by_reader: Mapping[Item, Mapping[str, str]] = field(default_factory=dict)
    """The judgments of each reader on each row, where it holds those of a sample."""
    seed: int = 0
    """The seed of the sample."""
    size: int = 0
    """The size of the sample."""
    strata: Mapping[Item, str] = field(default_factory=dict)
    """The stratum of each row, where the sample is stratified."""
    stratum_rows: Mapping[str, int] = field(default_factory=dict)
    """Rows of the dataset in each stratum."""


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

    gold: str
    sha256: str
    kind: str
    half: str | None
    """The half of the gold set; None for all of it."""
    rows: int
    """Rows of the dataset."""
    labels: Mapping[str, int]
    """The number of labeled rows with each label, from right to wrong."""
    right: Estimate
    """The share of labeled rows that are right, with its 95 % interval (Wilson)."""
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


def half_of(repo: str, issue: int) -> str:
    """Return the half that an issue belongs to, `dev` or `test`, whatever is drawn."""
    digest = hashlib.sha256(f"{repo.lower()}#{issue}".encode()).digest()
    return "dev" if digest[0] % 2 else "test"


def read_gold(path: Path, half: str | None = None) -> Gold:
    """Read a gold set, or one half of it; raises `UsageError` where it is none."""
    labels: dict[Item, str]
    rows, kind = _read(path)
    if rows and "reader" in rows[0]:
        if half is not None:
            raise UsageError(f"{path} is a sample, which has no halves", "Leave --half out")
        judgments = _judgments(path, rows, kind)
        by_reader: dict[Item, dict[str, str]] = defaultdict(dict)
        for each in judgments:
            by_reader[each.item][each.reader] = each.label
        labels = {item: _settled(votes.values(), kind)[0] for item, votes in by_reader.items()}
        size = max(each.sample for each in judgments)
        seed = judgments[0].seed
        strata = {each.item: each.stratum for each in judgments if each.stratum}
        sizes = {each.stratum: each.stratum_rows for each in judgments if each.stratum}
        name, digest = path.name, file_digest(path)
        return Gold(name, digest, kind, None, labels, by_reader, seed, size, strata, sizes)
    if half is not None and half not in {row.get("half") for row in rows}:
        raise UsageError(f"The gold set {path} has no half {half!r}", "Leave --half out")
    labels = {}
    for line, row in enumerate(rows, 2):
        if half is not None and row["half"] != half:
            continue
        item = _item(path, line, row, kind)
        if labels.setdefault(item, row["label"]) != row["label"]:
            raise UsageError(f"{path}, line {line}, labels an item twice", "Keep one of them")
    return Gold(path.name, file_digest(path), kind, half, labels)


def read_judgments(path: Path, kind: GoldKind) -> list[RowJudgment]:
    """Return the judgments that a file holds, none where there is no file.

    Raises `UsageError` where it holds something else, or judgments of another kind.
    """
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


def _read(path: Path) -> tuple[list[dict[str, str]], GoldKind]:
    refuse_empty(path, _REMEDY)
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(
            f"The gold set {path} cannot be read: {cause_of(error)}", _REMEDY
        ) from None
    columns = {str(name) for name in rows[0]} if rows else set()
    kind = next((kind for kind in KINDS if kind.gold_column in columns), None)
    if kind is None or not {"repo", "issue", "label"} <= columns:
        raise UsageError(f"{path} is not a gold set: its columns are {sorted(columns)}", _REMEDY)
    return rows, kind


def _item(path: Path, line: int, row: Mapping[str, str], kind: GoldKind) -> Item:
    try:
        return row["repo"].lower(), int(row["issue"]), kind.read(row[kind.gold_column])
    except (TypeError, ValueError, AttributeError):
        raise UsageError(f"{path}, line {line}, holds no numbers: {row}", _REMEDY) from None


def _judgments(path: Path, rows: Sequence[Mapping[str, str]], kind: GoldKind) -> list[RowJudgment]:
    found: list[RowJudgment] = []
    for line, row in enumerate(rows, 2):
        item = _item(path, line, row, kind)
        try:
            known = row["label"] in (*kind.labels, CANNOT_TELL)
            seed, size = int(row["seed"]), int(row["sample"])
            stratum, stratum_rows = row.get("stratum") or "", int(row.get("stratum_rows") or 0)
        except (KeyError, TypeError, ValueError):
            known, seed, size, stratum, stratum_rows = False, 0, 0, "", 0
        if (
            not known
            or not _READER.fullmatch(row["reader"] or "")
            or (found and (seed, bool(stratum)) != (found[0].seed, bool(found[0].stratum)))
        ):
            raise UsageError(
                f"{path}, line {line}, is no judgment of one sample: {dict(row)}",
                f"Correct it: a reader, a label of {', '.join(kind.labels)} or {CANNOT_TELL}, "
                "and the seed and the size of all other lines",
            )
        note, dataset = row.get("note") or "", row.get("dataset") or ""
        told = (item, row["reader"], row["label"], note, dataset, seed, size)
        found.append(RowJudgment(*told, stratum, stratum_rows))
    return found


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
    columns = ["repo", "issue", gold.kind.column, *(["id"] if gold.by_reader else [])]
    rows: list[tuple[Item, str]] = []
    for path in files:
        with pq.ParquetFile(path) as file:
            if not set(columns) <= set(file.schema_arrow.names):
                raise DatasetError(
                    f"The dataset has no {gold.kind.name}, which {gold.name} labels",
                    "Give a gold set of what the dataset holds",
                )
            for batch in file.iter_batches(columns=columns):
                values = (batch.column(name).to_pylist() for name in columns)
                rows += [
                    ((repo.lower(), issue, item), name[0] if name else "")
                    for repo, issue, item, *name in zip(*values, strict=True)
                ]
    count, sample, items = len(rows), None, [item for item, _ in rows]
    if gold.by_reader:
        drawn = sample_by_hash(rows, gold.size, gold.seed, itemgetter(1))
        if gold.strata:
            drawn = [row for row in rows if row[0] in gold.strata]
        items = [item for item, _ in drawn]
        sample = _sample_score(gold, items)
    counts = Counter(gold.labels[item] for item in items if item in gold.labels)
    decided = {label: counts[label] for label in gold.kind.labels}
    total = sum(decided.values())
    right = decided[gold.kind.right]
    repos = {repo for repo, _, _ in items}
    identities = {
        item[:2]
        for item, label in gold.labels.items()
        if label == gold.kind.right and item[0] in repos and not sample
    }
    return GoldScore(
        gold.name,
        gold.sha256,
        gold.kind.name,
        gold.half,
        count,
        decided,
        _share(gold, items, (gold.kind.right,)) if gold.strata else wilson(right, total),
        _share(gold, items, (gold.kind.right, "partly"))
        if gold.strata
        else wilson(right + decided.get("partly", 0), total),
        len(identities),
        wilson(len(identities & {item[:2] for item in items}), len(identities)),
        sample,
    )


def _share(gold: Gold, items: Sequence[Item], good: Sequence[str]) -> Estimate:
    """Return the share of all rows with a good label, from the rows read of each stratum."""
    strata = []
    for name, size in sorted(gold.stratum_rows.items()):
        labels = [gold.labels[item] for item in items if gold.strata[item] == name]
        read = [label for label in labels if label != CANNOT_TELL]
        strata.append(Stratum(max(size, len(read)), len(read), sum(each in good for each in read)))
    return stratified(strata)


def _sample_score(gold: Gold, drawn: Sequence[Item]) -> SampleScore:
    judged = {item: gold.by_reader[item] for item in drawn if item in gold.by_reader}
    readers = Counter(reader for votes in judged.values() for reader in sorted(votes))
    pairs = []
    for first, second in combinations(sorted(readers), 2):
        both = [(by[first], by[second]) for by in judged.values() if first in by and second in by]
        if both:
            left, right = zip(*both, strict=True)
            same = sum(one == other for one, other in both)
            pairs.append(ReaderPair((first, second), len(both), same, cohen_kappa(left, right)))
    return SampleScore(
        gold.seed,
        gold.size,
        len(drawn),
        len(judged),
        sum(gold.labels[item] == CANNOT_TELL for item in judged),
        sum(not _settled(votes.values(), gold.kind)[1] for votes in judged.values()),
        len(gold.by_reader) - len(judged),
        dict(sorted(readers.items())),
        tuple(pairs),
        dict(sorted(Counter(gold.strata[item] for item in judged if gold.strata).items())),
    )

"""Scores the labels of a dataset against a gold set: items labelled by reading.

A gold set is a CSV file with the columns `repo`, `issue`, `label` and either `comment_id`, for
answers (answers, partly, not), or `pull`, for fix pairs (fixes, partly, not, cannot-tell). A
column `half` may tell the rows that rules were made on (`dev`) from the others (`test`).
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError, cause_of
from goldpan.core.proportions import Estimate, wilson
from goldpan.core.sealed import file_digest

Item = tuple[str, int, int]
"""The repository in lower case, the issue, and the comment that answers or the pull request."""


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
    """From right to wrong; what is none of them decides nothing."""


KINDS = (
    GoldKind("answers", "comment_id", "answer_comment_id", "answers", ("answers", "partly", "not")),
    GoldKind("fix pairs", "pull", "pull", "fixes", ("fixes", "partly", "not")),
)


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold set."""

    name: str
    sha256: str
    kind: GoldKind
    half: str | None
    labels: Mapping[Item, str]


@dataclass(frozen=True, slots=True)
class GoldScore:
    """The agreement of a dataset's rows with a gold set."""

    gold: str
    sha256: str
    kind: str
    half: str | None
    """Which half of the gold set; None for all of it."""
    rows: int
    """Rows of the dataset."""
    labels: Mapping[str, int]
    """The number of labelled rows with each label, from right to wrong."""
    right: Estimate
    """The share of labelled rows that are right, with its 95 % interval (Wilson)."""
    at_least_partly: Estimate
    """The share that is right at least in part."""
    there: int
    """Issues of the dataset's repositories for which the gold set has a right item."""
    kept: Estimate
    """The share of these for which the dataset has a row."""

    @property
    def labelled(self) -> int:
        """Rows that the gold set labels."""
        return sum(self.labels.values())


def half_of(repo: str, issue: int) -> str:
    """Return the half that an issue belongs to, `dev` or `test`, whatever is drawn."""
    digest = hashlib.sha256(f"{repo.lower()}#{issue}".encode()).digest()
    return "dev" if digest[0] % 2 else "test"


def read_gold(path: Path, half: str | None = None) -> Gold:
    """Read a gold set, or one half of it; raises `UsageError` where it is none."""
    remedy = "Give a CSV file with repo, issue, label and comment_id or pull"
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"The gold set {path} cannot be read: {cause_of(error)}", remedy) from None
    columns = {str(name) for name in rows[0]} if rows else set()
    kind = next((kind for kind in KINDS if kind.gold_column in columns), None)
    if kind is None or not {"repo", "issue", "label"} <= columns:
        raise UsageError(f"{path} is not a gold set: its columns are {sorted(columns)}", remedy)
    if half is not None and half not in {row.get("half") for row in rows}:
        raise UsageError(f"The gold set {path} has no half {half!r}", "Leave --half out")
    labels: dict[Item, str] = {}
    for line, row in enumerate(rows, 2):
        if half is not None and row["half"] != half:
            continue
        try:
            item = row["repo"].lower(), int(row["issue"]), int(row[kind.gold_column])
        except (TypeError, ValueError):
            raise UsageError(f"{path}, line {line}, holds no numbers: {row}", remedy) from None
        if labels.setdefault(item, row["label"]) != row["label"]:
            raise UsageError(f"{path}, line {line}, labels an item twice", "Keep one of them")
    return Gold(path.name, file_digest(path), kind, half, labels)


def score_labels(files: Iterable[Path], gold: Gold) -> GoldScore:
    """Score the rows of a dataset's Parquet files.

    Raises `DatasetError` where the dataset has no such items.
    """
    columns = ["repo", "issue", gold.kind.column]
    items: list[Item] = []
    for path in files:
        with pq.ParquetFile(path) as file:
            if not set(columns) <= set(file.schema_arrow.names):
                raise DatasetError(
                    f"The dataset has no {gold.kind.name}, which {gold.name} labels",
                    "Give a gold set of what the dataset holds",
                )
            for batch in file.iter_batches(columns=columns):
                values = (batch.column(name).to_pylist() for name in columns)
                items += [
                    (repo.lower(), issue, item) for repo, issue, item in zip(*values, strict=True)
                ]
    counts = Counter(gold.labels[item] for item in items if item in gold.labels)
    decided = {label: counts[label] for label in gold.kind.labels}
    total = sum(decided.values())
    right = decided[gold.kind.right]
    repos = {repo for repo, _, _ in items}
    identities = {
        item[:2]
        for item, label in gold.labels.items()
        if label == gold.kind.right and item[0] in repos
    }
    return GoldScore(
        gold.name,
        gold.sha256,
        gold.kind.name,
        gold.half,
        len(items),
        decided,
        wilson(right, total),
        wilson(right + decided["partly"], total),
        len(identities),
        wilson(len(identities & {item[:2] for item in items}), len(identities)),
    )

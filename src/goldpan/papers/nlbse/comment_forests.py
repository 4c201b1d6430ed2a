"""The forests of the code-comment competition (NLBSE'23, section III-B), trained anew.

A random forest a category on the organizers' own features, NEON patterns and TF-IDF, in their ARFF
files, weights both classes alike, as Weka's ClassBalancer. The forest is scikit-learn's with Weka's
settings: 100 trees, the binary logarithm of the number of features plus one at each split; so its
cells are in part. Settings: `row` of the table, and `features`, two files, train and test, by task.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldpan.papers.nlbse.nlbse23 import mean_scores
from goldpan.plugins.data import DatasetError, open_text
from goldpan.plugins.evaluation import (
    CellOutcome,
    Confusion,
    FoundFile,
    PaperContext,
    TableRecipe,
    load,
)

_TREES = 100
_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+\S", re.I)
_REMEDY = "Give the file as its authors publish it, of Weka's sparse form"


@dataclass(frozen=True, slots=True)
class SparseRows:
    """The rows of an ARFF file."""

    names: tuple[str, ...]
    """The names of the features."""
    features: Sequence[Mapping[str, float]]
    """The features of each row by name; one that a row leaves out is 0."""
    labels: Sequence[int]


def compute(
    context: PaperContext, table: TableRecipe, row: str, features: Mapping[str, tuple[str, str]]
) -> Iterator[CellOutcome]:
    """Yield mean precision, recall and F1 over all categories; nothing where one is missing."""
    if not context.effort.run:
        return
    context.files(key for keys in features.values() for key in keys)  # all, or none
    files = [context.files(keys) for keys in features.values()]
    answered = [forest(train, test, context.seed) for train, test in files]
    for column, value in mean_scores(answered).items():
        note = "scikit-learn's forest in place of Weka's"
        yield CellOutcome(row, column, value, "in part", note)


def forest(train: FoundFile, test: FoundFile, seed: int) -> Confusion:
    """Return what a balanced forest answers to the test rows of a category."""
    train_data, test_data = read_arff(train.path), read_arff(test.path)
    names = train_data.names
    if len(set(train_data.labels)) < 2:
        raise DatasetError(
            f"{train.path} holds only one class", "Give the file as its authors publish it"
        )
    columns = load("sklearn.feature_extraction").DictVectorizer(sort=False)
    columns.fit([dict.fromkeys(names, 0.0)])
    model = load("sklearn.ensemble").RandomForestClassifier(
        n_estimators=_TREES,
        max_features=min(len(names), int(math.log2(len(names))) + 1),
        class_weight="balanced",
        random_state=seed,
    )
    model.fit(columns.transform(train_data.features), train_data.labels)
    answers = model.predict(columns.transform(test_data.features))
    matrix = load("sklearn.metrics").confusion_matrix(test_data.labels, answers, labels=[0, 1])
    tn, fp, fn, tp = map(int, matrix.ravel())
    return Confusion(tp, fp, tn, fn)


def read_arff(path: Path) -> SparseRows:
    """Read Weka's sparse features and a last attribute of 0 and 1.

    Raises `DatasetError` that names the line for a file of another form.
    """
    names: list[str] = []
    rows: list[dict[str, float]] = []
    data = False
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text or text.startswith("%"):
                continue
            if data:
                rows.append(dict(_cells(text, names, f"{path}, line {number}")))
            elif text.lower().startswith("@data"):
                data = True
            elif matched := _ATTRIBUTE.match(text):
                names.append(matched.group(1).strip("'\""))
    if not names or not rows:
        raise DatasetError(f"{path} has {len(names)} attributes and {len(rows)} rows", _REMEDY)
    *features, label = names
    labels = [row.pop(label, 0.0) for row in rows]
    if wrong := set(labels) - {0.0, 1.0}:
        raise DatasetError(f"{path} has the class {wrong.pop():g}, not 0 or 1", _REMEDY)
    return SparseRows(tuple(features), rows, [int(value) for value in labels])


def _cells(text: str, names: Sequence[str], where: str) -> Iterator[tuple[str, float]]:
    if not (text.startswith("{") and text.endswith("}")):
        raise DatasetError(f"{where}, is no sparse row", _REMEDY)
    for part in filter(None, (part.strip() for part in text[1:-1].split(","))):
        at, _, value = part.partition(" ")
        try:
            number, cell = int(at), float(value)
            if not math.isfinite(cell):
                raise ValueError
        except ValueError:
            raise DatasetError(f"{where}: {part[:40]!r} is no number and value", _REMEDY) from None
        if not 0 <= number < len(names):
            raise DatasetError(f"{where}: there is no attribute {number}", _REMEDY)
        yield names[number], cell

"""A linear model on words and what stands beside them, for tags: a baseline without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import Task, input_column, target_column
from goldpan.evaluation.model import Answers, Fitted, FittedFunction, TrainingContext, entry, load

_NAME = "token-svm"
_BESIDE = 2
"""Words that are read on either side."""
_AFFIX = 4
_LONGEST = 100
"""Characters of a word that are read."""


def features_of(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the features of each word: itself, its ends and shape, and the words beside it."""
    read = [word[:_LONGEST] for word in words]
    shapes = [shape(word) for word in read]
    edge = [""] * _BESIDE
    around, forms = [*edge, *read, *edge], [*edge, *shapes, *edge]
    for number, word in enumerate(read, _BESIDE):
        low = word.lower()
        features = ["bias", f"w={low}", f"s={shapes[number - _BESIDE]}"]
        features += [f"p{size}={low[:size]}" for size in range(1, _AFFIX)]
        features += [f"e{size}={low[-size:]}" for size in range(1, _AFFIX)]
        for step in range(-_BESIDE, _BESIDE + 1):
            if step:
                features.append(f"w{step}={around[number + step].lower()}")
                features.append(f"s{step}={forms[number + step]}")
        features.append(f"b={around[number - 1].lower()}|{low}")
        features.append(f"a={low}|{around[number + 1].lower()}")
        yield features


def shape(word: str) -> str:
    """Return the kinds of a word's characters, each run once: `getName()` is ``aAa()``."""
    kinds = (
        "a" if char.islower() else "A" if char.isupper() else "0" if char.isdigit() else char
        for char in word
    )
    return "".join(kind for kind, _ in groupby(kinds))


def with_beginnings(tags: Sequence[str]) -> list[str]:
    """Return tags in which every name begins with a B: one that only goes on begins here."""
    repaired: list[str] = []
    for index, tag in enumerate(tags):
        before = tags[index - 1] if index else "O"
        lost = tag.startswith("I-") and before.partition("-")[2] != tag[2:]
        repaired.append(f"B-{tag[2:]}" if lost else tag)
    return repaired


def _check(task: Task) -> None:
    if task.type != "ner":
        raise EvaluationError(
            f"The model {_NAME} gives tags, and {task.name} is {task.type}",
            "Choose another --model: goldpan evaluate models lists them",
        )


def _fit(settings: Mapping[str, Any], context: TrainingContext) -> Fitted:
    context.learning.from_all = True
    hasher = load("sklearn.feature_extraction").FeatureHasher(2**20, input_type="string")
    texts = context.whole_train[input_column("ner").name].to_pylist()
    tags = [*chain.from_iterable(context.whole_train[target_column("ner").name].to_pylist())]
    matrix = hasher.transform(chain.from_iterable(map(features_of, texts)))
    if len(set(tags)) < 2:
        model = load("sklearn.dummy").DummyClassifier(strategy="most_frequent")
    else:
        kind = load("sklearn.linear_model").SGDClassifier
        rounds, seed = settings["rounds"], context.seed
        model = kind(alpha=1e-6, average=True, max_iter=rounds, tol=None, random_state=seed)
    model.fit(matrix, tags)

    def answer(rows: pa.Table) -> Answers:
        texts = rows[input_column("ner").name].to_pylist()
        if not any(texts):
            return Answers([[] for _ in texts])
        features = chain.from_iterable(map(features_of, texts))
        predicted = iter(model.predict(hasher.transform(features)).tolist())
        return Answers([with_beginnings(list(islice(predicted, len(words)))) for words in texts])

    return FittedFunction(answer)


MODELS = (
    entry(
        _NAME,
        "Linear support vector machine on words, their endings and shapes, and neighboring "
        "words, for tags.",
        _fit,
        {"rounds": 5},
        check=_check,
        least={"rounds": 1},
    ),
)

"""Reads what SELU's tasks need readers of their own for: specifications, and StackOverflowNER.

SELU takes the verbs of a specification for the actions of its users (section III-B). spaCy finds
them, which comes with `goldpan-mining[nlp]` and needs a model of its own; any other finder serves.

A post of StackOverflowNER, question or answer, begins with a sentence that names it and one with
its address; both are left out. It has a word a line with its tag, then a blank line. The four
fields of a line are word, tag, word after segmentation, its tag; the first two are the annotation.
A row is a post, and the three files are the official split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldpan.plugins.data import DatasetError, Task, UsageError, load, open_text, stem_of

Verbs = Callable[[str], list[tuple[int, int]]]
"""Finds the verbs of a text: where each starts and ends, in characters."""
_LONGEST = 1_000_000
"""Characters that the model is given at once; its memory grows with them."""


def read_requirement_verbs(
    task: Task, files: Sequence[Path], verbs: Verbs | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the specifications in the order of the files, which give them their ids.

    Raises `UsageError` where spaCy or its model is missing, or a text is too long for it.
    """
    find = verbs or spacy_verbs(task.settings.get("model", "en_core_web_sm"))
    for path in files:
        with open_text(path) as file:
            text = file.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise UsageError(
                f"{path} has more than {_LONGEST:,} characters", "Give one specification per file"
            )
        yield {
            "id": f"{task.name}:{stem_of(path)}",
            "source": path.name,
            "text": text,
            "masks": [{"start": start, "end": end} for start, end in find(text)],
        }


def spacy_verbs(model: str) -> Verbs:
    """Return a finder of verbs by a model of spaCy: the tokens whose part of speech is VERB."""
    spacy = load("spacy", "Finding verbs")
    try:
        pipeline = spacy.load(model)
    except OSError:
        raise UsageError(
            f"spaCy has no model {model!r}", f"Run python -m spacy download {model}"
        ) from None

    def find(text: str) -> list[tuple[int, int]]:
        return [
            (word.idx, word.idx + len(word.text)) for word in pipeline(text) if word.pos_ == "VERB"
        ]

    return find


_QUESTION, _ANSWER, _ADDRESS = "Question_ID", "Answer_to_Question_ID", "Question_URL"
_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_OUTSIDE = "O"
_Sentence = list[tuple[str, str]]
"""Words with their tags."""


@dataclass(slots=True)
class _Post:
    question: str
    position: int
    words: _Sentence = field(default_factory=list)


def read_stackoverflow_ner(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the posts; the setting `kinds` maps the kinds of entities to those of the task.

    Kinds that it does not name become O. Raises `UsageError` for a file that is named after no
    split, `DatasetError` for one of another form.
    """
    for path in files:
        part = stem_of(path).rpartition("_")[2]
        if part not in _SPLITS:
            raise UsageError(
                f"{path} is named after none of the splits",
                f"Give the files under their authors' names: {', '.join(task.source.files)}",
            )
        for number, post in enumerate(_posts(task, path), 1):
            yield {
                "id": f"{task.name}:{part}:{number:04}",
                "document": post.question,
                "position": post.position,
                "partition": _SPLITS[part],
                "source": f"{path.name}:{number}",
                "tokens": [word for word, _ in post.words],
                "tags": [tag for _, tag in post.words],
            }


def _posts(task: Task, path: Path) -> Iterator[_Post]:
    post: _Post | None = None
    for sentence in _sentences(task, path):
        first = sentence[0][0]
        if first in (_QUESTION, _ANSWER):
            if post:
                yield post
            question = sentence[2][0] if len(sentence) > 2 else ""
            follows = post is not None and post.question == question and first == _ANSWER
            post = _Post(question, post.position + 1 if post and follows else 0)
        elif first != _ADDRESS:
            if post is None:
                raise _refusal(task, f"{path} begins with no {_QUESTION}")
            post.words += sentence
    if post:
        yield post


def _sentences(task: Task, path: Path) -> Iterator[_Sentence]:
    sentence: _Sentence = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                word, *others = line.rstrip("\n").split("\t")
                sentence.append((word, _tag(task, f"{path}, line {number}", others)))
            elif sentence:
                yield sentence
                sentence = []
    if sentence:
        yield sentence


def _tag(task: Task, where: str, fields: Sequence[str]) -> str:
    if not fields:
        raise _refusal(task, f"{where}: a word has no tag")
    tag = fields[0].strip()
    prefix, dash, kind = tag.partition("-")
    if tag != _OUTSIDE and (not dash or prefix not in ("B", "I")):
        raise _refusal(task, f"{where}: {tag[:80]!r} is not a tag")
    kinds = task.settings["kinds"]
    return f"{prefix}-{kinds[kind]}" if kind in kinds else _OUTSIDE


def _refusal(task: Task, problem: str) -> DatasetError:
    source = task.source
    return DatasetError(problem, f"Get the file of {source.title} again: {source.url}")

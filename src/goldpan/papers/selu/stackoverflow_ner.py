"""Reads the tagged posts of StackOverflowNER: a word a line with its tag, then a blank line.

A post, question or answer, begins with a sentence that names it and one with its address; both
are left out. The four fields of a line are word, tag, word after segmentation, its tag; the
first two are the annotation. A row is a post, and the three files are the official split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.import_files import open_text, stem_of
from goldpan.datasets.task import Task

_QUESTION, _ANSWER, _ADDRESS = "Question_ID", "Answer_to_Question_ID", "Question_URL"
_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_OUTSIDE = "O"


@dataclass(slots=True)
class _Post:
    question: str
    position: int
    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the posts; the setting `kinds` maps the kinds of entities to those of the task.

    Kinds that it does not name become O. Raises `UsageError` for a file that is named after no
    split, `DatasetError` for one of another form.
    """
    for path in files:
        part = stem_of(path).rpartition("_")[2]
        if part not in _SPLITS:
            raise UsageError(
                f"{path} is named after none of the splits",
                "Name it stackoverflow_train.txt, stackoverflow_dev.txt or stackoverflow_test.txt",
            )
        with open_text(path) as lines:
            for number, post in enumerate(_posts(lines, path, task.settings["kinds"]), 1):
                yield {
                    "id": f"{task.name}:{part}:{number:04}",
                    "document": post.question,
                    "position": post.position,
                    "partition": _SPLITS[part],
                    "source": f"{path.name}:{number}",
                    "tokens": post.tokens,
                    "tags": post.tags,
                }


def _posts(lines: IO[str], path: Path, kinds: Mapping[str, str]) -> Iterator[_Post]:
    post: _Post | None = None
    for sentence in _sentences(lines, path):
        first = sentence[0][0]
        if first in (_QUESTION, _ANSWER):
            if post:
                yield post
            question = sentence[2][0] if len(sentence) > 2 else ""
            follows = post is not None and post.question == question and first == _ANSWER
            post = _Post(question, post.position + 1 if post and follows else 0)
        elif first != _ADDRESS:
            if post is None:
                raise DatasetError(f"{path} begins with no {_QUESTION}", "Fetch the file again")
            for word, tag in sentence:
                post.tokens.append(word)
                post.tags.append(_tag(tag, kinds, path))
    if post:
        yield post


def _sentences(lines: IO[str], path: Path) -> Iterator[list[tuple[str, str]]]:
    sentence: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if sentence:
                yield sentence
            sentence = []
            continue
        fields = line.rstrip("\n").split("\t")
        if len(fields) < 2:
            raise DatasetError(f"{path}, line {number}: a word has no tag", "Fetch the file again")
        sentence.append((fields[0], fields[1].strip()))
    if sentence:
        yield sentence


def _tag(tag: str, kinds: Mapping[str, str], path: Path) -> str:
    if tag == _OUTSIDE:
        return tag
    prefix, dash, kind = tag.partition("-")
    if not dash or prefix not in ("B", "I"):
        raise DatasetError(f"{path}: {tag[:80]!r} is not a tag", "Fetch the file again")
    return f"{prefix}-{kinds[kind]}" if kind in kinds else _OUTSIDE

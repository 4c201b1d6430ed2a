"""The rows of a file: one a sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from goldpan.datasets.family import GROUP
from goldpan.git.commits import Commit
from goldpan.papers.nlbse.comments.annotated import Labels
from goldpan.papers.nlbse.comments.extract import CommentFound
from goldpan.papers.nlbse.comments.family import CODE_COMMENTS
from goldpan.papers.nlbse.comments.reading import ReadFile

_SHORT = 12


def rows_of(commit: Commit, read_file: ReadFile, labels: Labels) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a file, with what people decided about them.

    Comments that read the same are near duplicates. A class that a file declares twice is one
    subject, so all its comments go with the first.
    """
    owner, _, name = commit.repo.partition("/")
    blob = read_file.file.id
    groups: dict[str, str] = {}
    for comment in read_file.contents.comments:
        group = groups.setdefault(comment.name, _fingerprint(comment))
        for position, sentence in enumerate(comment.sentences):
            start, end = sentence.span.start, sentence.span.end
            location = f"{read_file.file.path}@{blob[:_SHORT]}:{start}-{end}"
            id = f"{CODE_COMMENTS.name}:{commit.repo}:{location}"
            label = labels.by_id.get(id)
            yield {
                "id": id,
                "repo": commit.repo,
                "owner": owner,
                "name": name,
                "license": commit.license,
                "language": read_file.contents.language,
                "commit": commit.id,
                "committed_at": commit.at,
                "path": read_file.file.path,
                "blob": blob,
                "encoding": read_file.contents.encoding,
                "class": comment.name,
                "kind": comment.kind,
                "form": comment.form,
                "position": position,
                "sentences": len(comment.sentences),
                "sentence": sentence.sentence,
                "text": sentence.text,
                "start": start,
                "end": end,
                "line": sentence.line,
                "end_line": sentence.end_line,
                "comment": comment.comment,
                "code": comment.code,
                "labels": label and list(label.labels),
                "decided": label and label.how,
                GROUP: group,
            }


def _fingerprint(comment: CommentFound) -> str:
    content = "\n".join(sentence.text for sentence in comment.sentences)
    return hashlib.sha256(content.encode()).hexdigest()

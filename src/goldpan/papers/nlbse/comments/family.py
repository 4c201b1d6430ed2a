"""The published table of sentences of class comments: every column, described."""

from __future__ import annotations

import pyarrow as pa

from goldpan.datasets.family import Column, Family

_TEXT = pa.string()
_COUNT = pa.int64()
_TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))
_NLBSE23 = """\
@inproceedings{kallis2023nlbse,
  title     = {The {NLBSE}'23 Tool Competition},
  author    = {Kallis, Rafael and Izadi, Maliheh and Pascarella, Luca and Chaparro, Oscar and
               Rani, Pooja},
  booktitle = {2nd International Workshop on Natural Language-Based Software Engineering},
  year      = {2023},
  pages     = {1--8},
  doi       = {10.1109/NLBSE59153.2023.00007}
}"""

CODE_COMMENTS = Family(
    name="code-comments",
    title="Sentences of class comments",
    task=(
        "Given a sentence of a comment on a class, tell which kinds of information it gives: a "
        "summary, how to use the class, who owns it, and so on. A sentence may be of several "
        "kinds, or of none."
    ),
    source="NLBSE'23, section III-A",
    citation=_NLBSE23,
    columns=(
        Column("id", _TEXT, "As code-comments:owner/name:PATH@BLOB:START-END; the blob is short."),
        Column("repo", _TEXT, "The repository, as owner/name."),
        Column("owner", _TEXT, "The owner of the repository."),
        Column("name", _TEXT, "The name of the repository without its owner."),
        Column("license", _TEXT, "The SPDX identifier of the repository's license, by GitHub."),
        Column("language", _TEXT, "The programming language of the file."),
        Column("commit", _TEXT, "The commit whose files were read."),
        Column(
            "committed_at",
            pa.timestamp("us", tz="UTC"),
            "When that commit was made; splits by time go by it.",
        ),
        Column("path", _TEXT, "The file."),
        Column("blob", _TEXT, "Git's identifier of the file's content."),
        Column("encoding", _TEXT, "The character encoding of the file."),
        Column("class", _TEXT, "What the comment is on, within those around it: Outer.Inner."),
        Column("kind", _TEXT, "What that is: class, interface, struct, module and the like."),
        Column(
            "form",
            _TEXT,
            "doc-comment before the declaration, docstring in it, or class-comment apart from it.",
        ),
        Column("position", _COUNT, "The sentence's place in the comment, from 0."),
        Column("sentences", _COUNT, "How many sentences the comment has."),
        Column("sentence", _TEXT, "The sentence as written, without comment marks.", holds="prose"),
        Column(
            "text",
            _TEXT,
            "The sentence normalized: lower case, and without special characters.",
            holds="prose",
        ),
        Column("start", _COUNT, "Where the sentence begins in the file, in bytes from 0."),
        Column("end", _COUNT, "Where it ends; the byte there is not part of it."),
        Column("line", _COUNT, "The line on which it begins, from 1."),
        Column("end_line", _COUNT, "The line on which it ends."),
        Column("comment", _TEXT, "The whole comment, cut at 4,000 characters.", holds="prose"),
        Column(
            "code",
            _TEXT,
            "The first lines of the class, without the comment; null where it has no code there.",
            holds="code",
        ),
        Column(
            "labels",
            _TEXTS,
            "The kinds of information that people found in it; null where nobody decided.",
        ),
        Column(
            "decided",
            _TEXT,
            "How they came to it: agreed or adjudicated; null where nobody decided.",
        ),
    ),
    order=("repo", "path", "start"),
    subject=("repo", "path", "class"),
    inputs=("text",),
    target="labels",
    task_categories=("text-classification",),
    tags=("code-comments",),
    limits=(
        "Sentences of the same class, and of classes whose comments read the same, are on one "
        "side of a split. Single sentences such as a line that names the author can still stand "
        "on both.",
        "Sentences end where lines end, unless the dataset was built to join them, so many are "
        "parts of sentences.",
        "Comments that a program wrote are here as well.",
    ),
    moment="committed_at",
    stratum="labels",
)
"""Sentences of class comments and docstrings."""

"""Class comments of Pharo in Tonel and FileTree."""

from __future__ import annotations

from typing import Any

import pytest

from goldpan.git.trees import TreeFile
from goldpan.papers.nlbse.comment_extract import CommentSource, read_file, wanted_files

TONEL = """\
"
I am a bowl.
I say ""hello"" to #water.

Collaborators: Rim
"
Class {
	#name : #Bowl,
	#superclass : #Object,
	#category : #Sluice
}

{ #category : #pouring }
Bowl >> pour [
	"I pour."
	^ self
]
"""


def read(path: str, text: str) -> list[dict[str, Any]]:
    file = read_file(CommentSource(path, text.encode()))
    assert file.language == "Smalltalk"
    return file.rows


def test_tonel() -> None:
    rows = read("src/Sluice/Bowl.class.st", TONEL)
    sentences = ["I am a bowl.", 'I say "hello" to #water.', "Collaborators: Rim"]
    assert [row["sentence"] for row in rows] == sentences
    assert {(row["class"], row["kind"], row["form"]) for row in rows} == {
        ("Bowl", "class", "class-comment")
    }
    assert rows[0]["code"].startswith("Class {")
    assert [(row["start"], row["line"]) for row in rows] == [(0, 1)] * 3


def test_a_doubled_quote_can_begin_and_end_a_sentence() -> None:
    text = '"  ""ä"" or ""b""\n"\nClass {\n\t#name : #A\n}\n'
    (row,) = read("A.class.st", text)
    assert row["sentence"] == '"ä" or "b"'


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("Class {\n\t#name : 'Bowl',\n}", "Bowl"),
        ("Trait {\n\t#name : #TBowl,\n}", "TBowl"),
        ("Class {\r\n\t#category : 'x',\r\n\t#name : #Bowl\r\n}", "Bowl"),
        ("Class {\n}", "File"),
    ],
)
def test_names_of_tonel(head: str, name: str) -> None:
    (row,) = read("File.class.st", f'"I am."\n{head}\n')
    assert row["class"] == name


@pytest.mark.parametrize(
    "text",
    [
        "Class {\n\t#name : #Bowl\n}\n",
        '"I am nobody\'s comment."\nExtension { #name : #Object }',
        '"never closed Class {',
        '""\nClass {\n\t#name : #Bowl\n}',
        "",
    ],
)
def test_no_class_comment(text: str) -> None:
    assert read("Bowl.class.st", text) == []


def test_filetree() -> None:
    path = "repository/Sluice.package/Bowl.class/README.md"
    rows = read(path, "I am a bowl.\r\n\r\n# Heading\r\n\tI hold\twater.")
    assert {(row["class"], row["kind"], row["code"]) for row in rows} == {("Bowl", "class", None)}
    assert [row["sentence"] for row in rows] == ["I am a bowl.", "# Heading", "I hold\twater."]


def test_which_files_hold_class_comments() -> None:
    paths = [
        "A.class/README.md",
        "A.class/properties.json",
        "B.class/README.md",
        "p/T.trait/README.md",
        "p/T.trait/properties.json",
        "README.md",
        "C.class.st",
        "T.trait.st",
        "C.extension.st",
        "package.st",
        "old.st",
    ]
    files = [TreeFile(path, "100644", "file", "0" * 40) for path in paths]
    wanted = [file.path for file in wanted_files(files, {"Smalltalk"})]
    assert wanted == ["A.class/README.md", "p/T.trait/README.md", "C.class.st", "T.trait.st"]

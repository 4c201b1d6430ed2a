"""Comments before declarations, language by language."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

import pytest

from goldpan.papers.nlbse.comment_extract import LANGUAGES, CommentSource, read_file, written_in


def parsed(path: str, text: str) -> list[tuple[str, str, list[str]]]:
    """Return name, kind and sentences of each documented class."""
    rows = read_file(CommentSource(path, text.encode())).rows
    comments = groupby(rows, itemgetter("class", "kind"))
    return [(*about, [row["sentence"] for row in group]) for about, group in comments]


JAVA = """\
/* Copyright, not a class comment. */
package a;

/**
 * Holds water.
 * Leaks, e.g. at night.
 *
 * @author me
 */


@Entity
@Table(name = "bowl", comment = "/** no */")
public final class Bowl<T> {
    /** Of a method. */
    void pour() {}

    /** How full. */
    enum Level { LOW /** x */ }

    // Not documentation.
    interface Rim {}

    /** Record of a leak. */
    // a remark between
    record Leak(int at) {}
    /** Marks. */ @interface Mark {}
}
"""


def test_java() -> None:
    assert parsed("Bowl.java", JAVA) == [
        ("Bowl", "class", ["Holds water.", "Leaks, e.g. at night.", "@author me"]),
        ("Bowl.Level", "enum", ["How full."]),
        ("Bowl.Leak", "record", ["Record of a leak."]),
        ("Bowl.Mark", "annotation", ["Marks."]),
    ]


def test_the_code_is_shown_without_the_comment() -> None:
    row = read_file(CommentSource("Bowl.java", JAVA.encode())).rows[0]
    assert row["code"].startswith("@Entity\n@Table")
    assert "Holds water" not in row["code"]
    assert row["comment"] == "Holds water.\nLeaks, e.g. at night.\n\n@author me"


@pytest.mark.parametrize(
    ("comment", "sentences"),
    [
        ("/** One line. */", ["One line."]),
        ("/**One line.**/", ["One line."]),
        ("/**\n * A.\n *\n *\n * B.\n */", ["A.", "B."]),
        ("/**\n\tA.\n\tB.\n*/", ["A.", "B."]),
        ("/**\n * <p>\n * * A point.\n * **Bold**\n */", ["* A point.", "**Bold**"]),
        ("/***************\n * Banner.\n ***************/", ["Banner."]),
        ("/// A.\n/// B.", ["A.", "B."]),
        ("/** A */ // remark", ["A"]),
        ("/** Old. */\n/** New. */", ["New."]),
        ("/** A. */\n\n\n\n", ["A."]),
    ],
)
def test_forms_of_java_comments(comment: str, sentences: list[str]) -> None:
    assert parsed("A.java", f"{comment}\nclass A {{}}\n") == [("A", "class", sentences)]


@pytest.mark.parametrize(
    "comment", ["/* A. */", "// A.", "/**/", "/** */", "/** <p> */", "/** A. */ int x;", ""]
)
def test_no_comment_on_a_java_class(comment: str) -> None:
    assert parsed("A.java", f"package p;\n{comment}\nclass A {{}}\n") == []


SAMPLES = {
    "a.ts": (
        "/** Bowl. */\n@C({a: 1})\nexport default abstract class A {}\n"
        "/** I. */ export interface I {}\n/** E. */ export declare enum E {A}\n"
        "/** T. */\ndeclare class T {}\nfunction f() {\n  /** In. */\n  class Q {}\n}\n",
        [
            ("A", "abstract class", ["Bowl."]),
            ("I", "interface", ["I."]),
            ("E", "enum", ["E."]),
            ("T", "class", ["T."]),
            ("Q", "class", ["In."]),
        ],
    ),
    "a.tsx": ("/** Bowl. */\nclass A { r() { return <b>/** no */</b> } }", "A"),
    "a.js": ("/** Bowl. */\nexport class A {}\n", "A"),
    "a.rs": (
        "//! The crate.\n\n/// Bowl.\n/// Leaks.\n#[derive(Clone)]\n#[x]\npub struct A { x: u8 }\n"
        "/** E. */ enum E {}\n/// T.\n\ntrait T {}\n// no\nunion U { a: u8 }\n",
        [("A", "struct", ["Bowl.", "Leaks."]), ("E", "enum", ["E."]), ("T", "trait", ["T."])],
    ),
    "a.go": (
        "// Package a.\npackage a\n\n// Bowl holds.\n//go:generate x\n// Leaks.\n"
        "type A struct{}\n\n// Far away.\n\ntype B struct{}\n\ntype (\n"
        "\t// C is in a group.\n\tC interface{}\n\tD struct{}\n)\n",
        [("A", "struct", ["Bowl holds.", "Leaks."]), ("C", "interface", ["C is in a group."])],
    ),
    "a.rb": (
        "# frozen_string_literal: true\n\n# Bowl.\n#   Leaks.\nclass A < B\n"
        "  # M.\n  module M; end\nend\n=begin\nLong.\nText.\n=end\nclass C; end\nx = 1 # no\n"
        "class D; end\n",
        [
            ("A", "class", ["Bowl.", "Leaks."]),
            ("A.M", "module", ["M."]),
            ("C", "class", ["Long.", "Text."]),
        ],
    ),
    "a.php": (
        "<?php\n/** File. */\nnamespace X;\n/** Bowl. */\n#[Attr]\nfinal class A {}\n"
        "/** T. */\ntrait T {}",
        [("A", "class", ["Bowl."]), ("T", "trait", ["T."])],
    ),
    "a.kt": (
        "/** Bowl. */\n@X\ndata class A(val x: Int)\n/** O. */\nobject O {\n/** In. */\nclass B\n}",
        [("A", "class", ["Bowl."]), ("O", "object", ["O."]), ("O.B", "class", ["In."])],
    ),
    "a.scala": (
        "/** Bowl. */\n@deprecated\ncase class A(x: Int)\n/** O. */\nobject O\n/** T. */ trait T\n",
        [("A", "class", ["Bowl."]), ("O", "object", ["O."]), ("T", "trait", ["T."])],
    ),
    "a.swift": (
        "/// Bowl.\n@objc public class A {}\n/** P. */\nprotocol P {}\n",
        [("A", "class", ["Bowl."]), ("P", "protocol", ["P."])],
    ),
    "a.cs": (
        "/// <summary>\n/// Bowl.\n/// </summary>\n[Serializable]\npublic class A {}\n"
        "/** S. */ struct S {}",
        [("A", "class", ["Bowl."]), ("S", "struct", ["S."])],
    ),
    "a.cpp": (
        "/*! Bowl. */\ntemplate <class T>\nclass A {};\n/// S.\nstruct S { int x; ///< no\n};\n"
        "/// Forward.\nclass F;\n//! N.\nstruct N {\n  /** In. */\n  struct I {} i;\n};\n",
        [
            ("A", "class", ["Bowl."]),
            ("S", "struct", ["S."]),
            ("N", "struct", ["N."]),
            ("N.I", "struct", ["In."]),
        ],
    ),
    "a.c": (
        "/** Bowl. */\ntypedef struct { int x; } a_t;\n"
        "/** Named. */\ntypedef struct b { int x; } b;\n"
        "/** Of a variable. */\nstruct b x;\n/** E. */\nenum e { X };\n",
        [("a_t", "struct", ["Bowl."]), ("b", "struct", ["Named."]), ("e", "enum", ["E."])],
    ),
    "a.h": ("/** Bowl. */\nnamespace x { /** In. */\nclass A { public: int y; }; }", None),
}


@pytest.mark.parametrize("path", SAMPLES)
def test_other_languages(path: str) -> None:
    text, expected = SAMPLES[path]
    if isinstance(expected, str):
        expected = [(expected, "class", ["Bowl."])]
    elif expected is None:
        expected = [("A", "class", ["In."])]
    assert parsed(path, text) == expected


def test_every_language_is_tried_here() -> None:
    tried = {written_in(path) for path in (*SAMPLES, "A.java")}
    assert tried | {"Python", "Smalltalk"} == set(LANGUAGES)


def test_a_header_is_read_as_the_language_that_parses() -> None:
    file = read_file(CommentSource("a.h", SAMPLES["a.h"][0].encode()))
    assert file.language == "C++"
    assert read_file(CommentSource("a.h", b"/** S. */\nstruct s { int x; };\n")).language == "C"


def test_broken_code_is_read_as_far_as_it_goes() -> None:
    text = "/** A. */\nclass A {}\nclass {{{ int 3x\n/** B. */ class B {"
    file = read_file(CommentSource("A.java", text.encode()))
    assert file.rows[0]["class"] == "A"
    assert file.counts["syntax-errors"] == 1


def test_a_far_comment_belongs_to_nothing() -> None:
    assert parsed("A.java", "/** A. */" + " " * 5_000 + "class A {}") == []

from __future__ import annotations

import time

import pytest
from hypothesis import given

from goldpan.text.markdown import LIMIT, OBJECT, blocks, paragraphs
from tests.drawing import daily, texts


def lines(text: str) -> list[tuple[int, str]]:
    return [(block.line, block.text) for block in blocks(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\n", []),
        ("one\ntwo\n\nthree", [(1, "one\ntwo"), (4, "three")]),
        ("hard  \nbreak\\\nhere", [(1, "hard\nbreak\nhere")]),
        ("# head\ntext", [(1, "head"), (2, "text")]),
        ("- a\n- [x] b\n  1. c", [(1, "a"), (2, "[x] b"), (3, "c")]),
        ("a|b\n-|-\nc|d", [(1, "a"), (1, "b"), (3, "c"), (3, "d")]),
        ("**a** _b_ ~~c~~ ***d***", [(1, "a b c d")]),
        ("a `code` b", [(1, f"a {OBJECT} b")]),
        ("a ![alt](src) b", [(1, f"a {OBJECT} b")]),
        ("[text](dest 'title') <https://x.org>", [(1, "text https://x.org")]),
        ("&lt;a&amp;b&gt; &#35; &nosuch; \\# \\*", [(1, "<a&b> # &nosuch; # *")]),
        ("```\ncode\n```\n\n~~~\ncode\n~~~\n\n    code\n\ntext", [(11, "text")]),
        ("> quote\nlazy\n\ntext", [(4, "text")]),
        ("> a\n> > b\n> - c\n\n- > d\n- e", [(6, "e")]),
        ("a <!-- b --> c", [(1, "a  c")]),
        ("<!-- a\n\nb --> c\n\nd", [(3, "c\n"), (5, "d")]),
        ("<!-- never closed\n\ntext", []),
        ("<details>\n<summary>a</summary>\nb <i>c</i>\n</details>", [(2, "a"), (3, "b c\n")]),
        ("<p>a &amp; &#98;<br>c</p>", [(1, "a & b\nc")]),
        ("a <code>b</code> <tt>c</tt> d", [(1, f"a {OBJECT} {OBJECT} d")]),
        ("<script>\na\n\nb</script>\n\n<style>\nc\n</style>\n\nd", [(10, "d")]),
        ("<blockquote>\n\na\n\n</blockquote>\n\nb", [(7, "b")]),
        ("<blockquote>a<blockquote>b</blockquote>c</blockquote>\nd", [(2, "d")]),
        ("<blockquote>\n\na</blockquote>\n\nb", [(5, "b")]),
        ("</code></blockquote> a", [(1, "a")]),
        ("use the <code> tag\n\nb", [(1, f"use the {OBJECT}"), (3, "b")]),
        ("&NewLine;a\n\n<p>\n\n<p>\n&#10;b", [(1, "a"), (6, "b")]),
        ("a\0b \ud800", [(1, "a\ufffdb \ud800")]),
    ],
)
def test_blocks(text: str, expected: list[tuple[int, str]]) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    "link",
    [
        *("[a](/b)", "[a][b]\n\n[b]: /b", '<a title="x" href="/b">a</a>'),
        *("<a href=/b>a</a>", "<a href='/&#98;'>a</a>"),
    ],
)
def test_links_keep_their_address(link: str) -> None:
    (block,) = blocks("see " + link)
    assert block.text == "see a"
    nodes = [(node.start, node.end, node.href) for node in block.nodes]
    assert nodes == [(0, 4, None), (4, 5, "/b")]
    assert [block.node_at(offset).href for offset in range(5)] == [None] * 4 + ["/b"]


def test_text_nodes_end_at_markup() -> None:
    (block,) = blocks("a\nb \\* **c*d* e** `f` <b>g</b>")
    assert [block.text[node.start : node.end] for node in block.nodes] == [
        *("a\nb * ", "c", "d", " e", " "),
        OBJECT,
        " ",
        "g",
    ]


def test_paragraphs_of_plain_text() -> None:
    parts = list(paragraphs("title\n\n \n* a `b`\n> c\r\n\r\nd"))
    told = [(block.line, block.text) for block in parts]
    assert told == [(1, "title"), (4, "* a `b`\n> c\r"), (7, "d")]
    assert list(paragraphs("\n \n")) == []


def test_long_texts_are_cut() -> None:
    (block,) = blocks("a" * (LIMIT + 1))
    assert len(block.text) == LIMIT


@given(texts())
def test_any_text_gives_sound_blocks(text: str) -> None:
    last = 1
    for block in blocks(text):
        assert block.text.strip()
        assert last <= block.line <= text.count("\n") + text.count("\r") + 1
        last = block.line
        edges = [0, *(node.end for node in block.nodes)]
        assert [node.start for node in block.nodes] == edges[:-1]
        assert edges[-1] == len(block.text)
        assert all(node.start < node.end for node in block.nodes)


@pytest.mark.parametrize(
    "piece",
    [
        *("[![](", "**a_", ">1)\n<\n", "- ", "x<!--", "a``b`", '<a href="', '[a](b "'),
        *("a|b\n-|-\n", "&", "<p>\n"),
        *daily(
            [],
            [
                *("[", "![[", "*a ", ">", "> a\n", ")\n<\n>  1", "<!--", "`", "<a ", "<aaaa"),
                *("[a](<", "[a]: b 'c\n", "|a", "<?", "\\"),
            ],
        ),
    ],
)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    text = piece * (25_000 // len(piece))
    start = time.process_time()
    list(blocks(text))
    assert time.process_time() - start < 2

"""Every scanner of texts from outside, hostile texts for each, and how their time may grow.

Processor time is compared with that of a quarter of the text in the same run, so neither a slow
nor a busy machine matters: what is quadratic takes sixteen times as long.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from math import inf

from goldpan.annotation.review.subjects import find_injection
from goldpan.code.edits.parse import find_path, parse_edits
from goldpan.code.lexer import C_LIKE, GO, JAVA, SOLIDITY, strip
from goldpan.code.patch import side_by_side, split_patch
from goldpan.code.paths import is_test_file, unquote_path
from goldpan.core.errors import GoldpanError
from goldpan.core.sanitize import for_prompt, line, visible, without_tokens
from goldpan.datasets.licenses import bibtex_problem
from goldpan.datasets.tasks.wording import wording_of
from goldpan.evaluation.metrics.generation import extract_path, rouge_l, rouge_tokens, tokenize
from goldpan.evaluation.models.prompt_answers import PromptRow, read_answer
from goldpan.filters import answers
from goldpan.filters.duplicates.settings import fold, words
from goldpan.filters.issues.redundancy import find_claims, plain_label
from goldpan.filters.issues.text_quality import describe, has_prose
from goldpan.filters.pairs.files import is_test_by_words
from goldpan.llm.parts import without_logs
from goldpan.miners.gharchive.reading import pieces_of
from goldpan.miners.replies import HttpReply, Verdict, links_of
from goldpan.papers.nlbse.comment_declarations import (
    ByteSpan,
    CommentRules,
    Notes,
    read_smalltalk,
    unmarked,
)
from goldpan.text.credentials import find_secrets
from goldpan.text.keywords import find_closing_keywords, find_mentions, may_close
from goldpan.text.language import detect_languages, model_languages
from goldpan.text.lines import classify, template_lines
from goldpan.text.markdown import blocks, excerpt
from goldpan.text.markers import escaped, nfkc, unescaped
from goldpan.text.preprocessing import (
    jira_to_markdown,
    mask_code,
    mask_hashes,
    mask_mentions,
    mask_urls,
    white_space,
)
from goldpan.text.prose import has_words, normalize_sentence, prose, split_sentences
from goldpan.text.redaction import find_emails, find_ip_addresses, redact
from goldpan.text.remarks import read_remarks
from tests.crosscode_tasks import make_task

Text = Callable[[int], str]
"""Writes a hostile text of about so many characters."""

SIZES = (16_384, 65_536, 262_144, 1_048_576)
HALF = (131_072, 524_288)
SMALL = (4_096, 16_384, 65_536)
"""For scanners of many seconds a megabyte, and for what bounds its input below."""
GROWTH = 6.0
"""Times as long as a quarter of the text: four for what is linear, sixteen for what is not."""
SLACK = 0.5
"""Seconds of processor time that caches, clocks and other programs may cost."""


def repeated(piece: str, before: str = "", after: str = "") -> Text:
    """Repeat a piece between two others."""
    return lambda size: before + piece * (size // len(piece)) + after


def each(*pieces: str) -> tuple[Text, ...]:
    """Repeat each of some pieces, a text of each."""
    return tuple(map(repeated, pieces))


def growing(piece: str, between: str = " ") -> Text:
    """Write runs of a piece, each one longer than the last."""
    return lambda size: between.join(piece * run for run in range(1, int((2 * size) ** 0.5)))


def halves(first: str, second: str) -> Text:
    """Write a run of one piece after a run of another."""
    return lambda size: repeated(first)(size // 2) + repeated(second)(size // 2)


PIECES = (
    *(".", "?!", ": ", ", ", "(", ")", "[", "{", "<", "<a ", "`", "`` `", "~~~ ", "*", "** ", "_"),
    *("![", "[a](b ", "]](", "\\", "//", "/*", '"', "' ", "#", "#1 ", "a/b#1", "fix:", "1", "1.1."),
    *("a@a.", "- ", "|a|-", "&#1", "&lt ", "{{", "{code:a}", "!a", "://a:b", ".eyJ", "-us1", "\t"),
    *("<code>", "dup ", "n't ", "\x85", "\u200b", "\u0301\u0323", "\u4f60", "\U0001f469\u200d"),
    *("\U000e0061", "\u1100\u1161", "\0"),
)


def anthology(part: int) -> Text:
    """Give each of a third of the pieces a stretch of the text, and a mixture one."""
    pieces = PIECES[part::3]
    chance = random.Random(part)
    mixture = "".join(chance.choice(PIECES) for _ in range(97))

    def write(size: int) -> str:
        share = size // (len(pieces) + 1)
        stretches = [repeated(piece)(share) for piece in (*pieces, mixture)]
        return (" x\n" if part % 2 else " x ").join(stretches)

    return write


ANTHOLOGIES = tuple(anthology(part) for part in range(3))


def took(scan: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    scan(text)
    return time.process_time() - start


def check_growth(scan: Callable[[str], object], text: Text, sizes: Iterable[int] = SIZES) -> None:
    """Fail where four times the text takes much more than four times the work, five times."""
    scan(text(1_000))
    before = inf
    for size in sizes:
        most = GROWTH * before + SLACK
        written = text(size)
        spent = took(scan, written)
        for _ in range(4):
            if spent > most:
                spent = min(spent, took(scan, written))
        assert spent <= most, f"{size:,} characters {written[:40]!r}: {spent:.1f} s, {before:.1f} s"
        before = spent


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def unmarked_comment(text: str) -> None:
    for data in (b"/*" + utf8(text), b"/*" + utf8(text) + b"x*/", utf8(text)):
        unmarked(data, [ByteSpan(0, len(data))])


def patched(text: str) -> None:
    with suppress(GoldpanError):
        parse_edits(text)


def parsed_diff(text: str) -> None:
    with suppress(ValueError):
        split_patch(text)


def answered(text: str) -> None:
    reply = answers.IssueReply(0, "a", "owner", datetime(2024, 1, 1, tzinfo=UTC), text)
    answers.first_answer(answers.AskedQuestion("b", "", None, None), [reply])


def documented(text: str) -> None:
    """Look for the comment of each of many declarations, as extraction does."""
    data = utf8(text)
    lines = [ByteSpan(at, at + 4) for at in range(0, len(data) - 8, 8)]
    notes = Notes(data, lines, (), CommentRules("", "//"))
    for span in lines:
        notes.before(span.end + 1)


def linked(text: str) -> None:
    links_of(HttpReply(200, {"link": text}, b"", None, Verdict.DONE))


def read_number(text: str) -> None:
    read_answer(wording_of(make_task("t", "regression")), PromptRow("text"), text, structured=True)


def read_tags(text: str) -> None:
    task = make_task("t", "ner")
    read_answer(wording_of(task), PromptRow("text", words=("a", "1")), text, structured=False)


KEY = "-----BEGIN PRIVATE KEY-----\n"
BARED = f"8.9.10.11_authToken={('a1B2c3D4e5F6g7H8i9J0' * 4)[:75]}8.9.10.11"
"""Repeated, each is found only once the one to its right is gone."""

CLOSING = each(
    *("fixes ", "fixes #1 ", "fixes #1\n\n", "fixes a/", "fixes o\\", "fix fixes [", "not "),
    *("fixes **", "\n", " "),
)
"""Texts full of closing keywords."""
SCANNERS: dict[str, tuple[Callable[[str], object], tuple[Text, ...]]] = {
    "keywords": (find_closing_keywords, (repeated("![]![![](#"), repeated("[fixes ]("), *CLOSING)),
    "keywords of plain texts": (
        lambda text: find_closing_keywords(text, markdown=False),
        (repeated("fixes fixes: "), repeated("\n", "fixes"), *CLOSING),
    ),
    "may close": (may_close, (repeated("fix_"), repeated("fix:a-"))),
    "mentions": (
        find_mentions,
        each("#", "a/", "a-", "GH-", "#1", "#1 ", "a/a#1", "/issues/1", "9", "https://github.com/"),
    ),
    "blocks": (lambda text: list(blocks(text)), (repeated(">1)\n<\n"), repeated("> "))),
    "duplicate claims": (
        lambda text: list(find_claims(text, "a/b", 1)),
        (
            *each("dup #1 ", "#2 dup of ", "closing this as ", "> dup #3 "),
            repeated("the issue ", "same as "),
            repeated(" (", "dup"),
        ),
    ),
    "duplicate claims in titles": (
        lambda text: list(find_claims(text, "a/b", 1, title=True)),
        (repeated("the issue ", "dup "), repeated(" ", "dup")),
    ),
    "Jira": (jira_to_markdown, (repeated("{code}"), repeated(" ", "h1"), repeated("*a "))),
    "fences": (mask_code, (repeated("```"), repeated(" ", "</pre"), repeated("<pre>"))),
    "hashes": (mask_hashes, (repeated("a1"),)),
    "URLs": (mask_urls, (repeated("https://"), repeated("."))),
    "users": (mask_mentions, (repeated("@a"),)),
    "white space": (white_space, (repeated(" \n"),)),
    "sentences": (
        lambda text: (split_sentences(text), split_sentences(text, "join")),
        (
            *each("a.", "<a", "1.", "e.g.", ".'", "- \n", "a", ".", "<", "!?", " ", "&a", "_", "^"),
            repeated(".", after="x"),
            repeated("?!", after="x"),
        ),
    ),
    "normalized sentence": (normalize_sentence, each("1.", "a.", "<a", "e.g.", ".'", "&a", "^")),
    "words of a sentence": (has_words, (repeated("<"), repeated("&a"))),
    "prose": (
        prose,
        (
            growing("`"),
            growing("`", "`a"),
            *each("](", "[](", "[a](b](", "`` ` ", "<!--", "<a ", "<pre>\n", "_", "0a", ">"),
            *each("- \n", "@@ -1 +1 @@\n", "a@b:", "at a(", "a:1: ", "http://", "On " + "a" * 190),
        ),
    ),
    "kinds of lines": (classify, (repeated("    - [ ] a\n"), repeated("<!--a-->"))),
    "quality": (
        lambda text: (describe(text), has_prose(text, 30)),
        (
            *each("at a.b(c:1:2\n", "=" * 9 + " ", "- \n", "<!-- ", "1: ", "\r"),
            *each("- [ ] a\n", "\u4e2d\n"),
        ),
    ),
    "template": (
        lambda text: template_lines([text] * 3),
        each("## Steps to do\n", "- \n", "<!-- ", "\r", "Go to\n"),
    ),
    "logs": (without_logs, (repeated("Caused by: a\n"),)),
    "language": (lambda text: detect_languages([text]), (repeated("a\u0434 "), repeated("ab"))),
    "language by the model alone": (lambda text: model_languages([text]), ()),
    "secrets": (
        lambda text: list(find_secrets(text)),
        (
            *each(".eyJ", "eyJ", "eyJ=", "sk-", " sk-", "password=", "token:", "://a:", "://a:b@"),
            *each("M" * 24, "AccountKey=", "glagent-" + "a" * 1_025 + " ", KEY, KEY + "ab1" * 99),
        ),
    ),
    "e-mail addresses": (lambda text: list(find_emails(text)), each("a@a-", "a.", "a@a.", "@a")),
    "IP addresses": (
        lambda text: list(find_ip_addresses(text)),
        each("2001::", "1.2.3.4 ", "2a00:"),
    ),
    "redaction": (redact, (repeated(BARED), repeated("a@a.io "))),
    "NFKC": (nfkc, (repeated("\u0301\u0323"), repeated(" \u0301"), repeated("\ufdfa"))),
    "duplicate words": (
        lambda text: words(fold(text)),
        (repeated("\u0301\u0323"), repeated("<!-")),
    ),
    "injection": (
        find_injection,
        (
            *each("ignore your ", "ignore ", "you are a ", "answer the ", "begin of the ", "<|"),
            *each("===", "=== 0123456789abcdef ", " ", "\n", "verdict : ", "-", "note to the "),
            *each(
                "\U000e0061", "<tool_call ", '"role" : ', "confidence = 1 ", "\u0301\u0323", "&#0"
            ),
            repeated("1", "&#"),
        ),
    ),
    "what a model sees": (
        lambda text: (without_tokens(for_prompt(text)), line(text)),
        (repeated("<|"),),
    ),
    "what people see": (lambda text: (visible(text), excerpt(text)), (repeated("```\n"),)),
    "path in an answer": (
        extract_path,
        (repeated(":1"), repeated("#L1-L"), repeated("a"), repeated("1", ":", "x")),
    ),
    "tokens of BLEU and ROUGE": (
        lambda text: (tokenize(text), rouge_l(rouge_tokens(text), rouge_tokens(text[1:]))),
        (repeated(".,"),),
    ),
    "number in an answer": (read_number, (repeated("1"), repeated("\n```", "```\n"))),
    "tags in an answer": (read_tags, (repeated("1. a: B-x\n"), repeated("a:"))),
    "SEARCH/REPLACE": (
        patched,
        (
            repeated("<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n"),
            repeated("<"),
            repeated("```\n", after="<<<<<<< SEARCH\n"),
        ),
    ),
    "path above a block": (
        lambda text: find_path(text.split("\n")),
        (repeated("a.", after="*"), repeated("*"), repeated("`a")),
    ),
    "quoted path": (lambda text: unquote_path(f'"{text}"'), (repeated(r"\303"), repeated("\\"))),
    "lines of a prompt": (
        lambda text: unescaped(escaped(text)),
        (
            repeated("\u0301\u0323", "input:"),
            repeated("\n", after="Output:"),
            *each("\nOutput", " \n", "\u0130\ninput:", "\\", "\u200b", "example "),
        ),
    ),
    "Smalltalk": (
        lambda text: (
            read_smalltalk(utf8(f'"{text}'), "a.class.st"),
            read_smalltalk(utf8(f'"{text}" Class {{'), "a.class.st"),
        ),
        each('"" a ', " ", '"', '""', '" ', "a", "\n", "Class {"),
    ),
    "marks of comments": (unmarked_comment, (repeated("*"), repeated(" "))),
    "comments above declarations": (documented, (repeated("//a\nint\n"),)),
    "code without a grammar": (
        lambda text: [strip(utf8(text), lexis) for lexis in (C_LIKE, SOLIDITY, JAVA, GO)],
        (repeated('R"a('), repeated("import\n"), repeated(" ", "#"), repeated("1'0")),
    ),
    "remarks of a reply": (
        read_remarks,
        (
            *each("can ", "@a", "by add", "it is now ", "`", "please x. "),
            repeated("i'll a b ", "open"),
        ),
    ),
    "question back": (answered, (repeated(" ", "?", "x"), repeated("?)"))),
    "diff side by side": (side_by_side, (repeated("@@ -1 +1 @@\n-a\n+b\n"),)),
    "diff": (parsed_diff, (repeated("diff --git a b\n"), repeated("@@ -1 +1 @@\n-a\n+b\n"))),
    "events": (
        lambda text: pieces_of(utf8(text)),
        (repeated("\0" * 4_095 + "x"), repeated('{"id":"1","type":"'), repeated('}{"a')),
    ),
    "tests in a file": (
        lambda text: [is_test_file(f"a/testing/b{end}", text) for end in (".py", ".rb", ".ts")],
        (repeated("\n"), repeated(" \n"), repeated("def ")),
    ),
    "path of a test": (is_test_by_words, (repeated("spec/"), repeated("spec."))),
    "label": (plain_label, (repeated("1", "a", "a"), repeated("a:"))),
    "links of a reply": (linked, (repeated("<"), repeated("<a>;"), repeated("<a>; rel=next, "))),
    "BibTeX": (
        bibtex_problem,
        (*each("@a{b,title=,author=,year=}"), *(repeated(x, "@a{b,", "}") for x in "\na")),
    ),
}

MARKUP = {
    "quotes and lists": repeated(">1)\n<\n"),
    "links": repeated("[a]("),
    "tags": repeated("<a "),
    "ticks": growing("`"),
    "emphasis": repeated("*a **a "),
    "table": repeated("|a|\n|-|\n"),
    "spaces": repeated(" " * 8_000 + "a", "```\n"),
}

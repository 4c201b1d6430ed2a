"""The answer is in the question: the fix, a link to it, or the reply that answers.

Texts are compared by their tokens, so white space and indentation do not count. An added line
counts where it is telling: four tokens or more, no import, and not in the file before. The fix is
found where the texts hold telling lines with half of all tokens, where a block of code holds each
of its lines, or where a link leads to its pull request, a commit or a branch of it. New names alone
are evidence but no finding, as a request for a feature names it. For an answer, sentences count,
and an edit that says what solved the problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from goldpan.audit.finding import Finding, FindingName, Span, Text, span_of
from goldpan.audit.fixes import Fix
from goldpan.audit.rows import Row, TokenText, tokens_of
from goldpan.text.keywords import find_mentions
from goldpan.text.lines import LineKind, classify
from goldpan.text.prose import prose, split_sentences
from goldpan.text.remarks import read_remarks

NAME: FindingName = "solution-in-issue"
_SHARE = 0.5
"""The least share of the fix's telling tokens, or of the answer's words, for a finding."""
_LEAST_LINE = 4
_LEAST_QUOTED = 6
"""The least tokens of a telling line, and of all quoted lines."""
_LEAST_WORDS = 8
_MOST_NAMES = 8
_IMPORT = re.compile(r"\s*(?:import|from|#\s*include|using|require|use|package)\b")
_NAME = re.compile(r"[^\W\d]\w{2,}")
_SHAPED = re.compile(r"[a-z0-9][A-Z]|\w_\w|[A-Za-z]\d")
_WORD = re.compile(r"\w+")
_COMMIT = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,40}(?![0-9A-Za-z])")
_BRANCH = re.compile(
    r"https?://(?:www\.)?github\.com/[\w.-]+/[\w.-]+/compare/(?:[\w./-]+\.{2,3})?[\w-]+:[\w./-]+"
)
_TREE = re.compile(
    r"https?://(?:www\.)?github\.com/([\w.-]+/[\w.-]+)/(?:tree|commits)/([\w./-]*\w)", re.I
)
_GIST = re.compile(r"https?://gist\.github(?:usercontent)?\.com/([\w-]+)/[0-9a-f]{16,}", re.I)
_EDIT = re.compile(
    r"\W*(?:edit(?:ed)?|updated?|eta)\b(?:\s+(?:from|by)\s+@?[\w-]{1,39}|\([\w-]{1,39}\))?"
    r"[\s\d]*[:*_\-\u2013\u2014)\]]",
    re.I,
)
_SOLVED = re.compile(r"\W*(?:solved|resolved|fixed)(?:\W*:|\s+(?:it\s+)?by\b|\s+it\b)", re.I)
_BY = re.compile(r"\b(?:solved|fixed|resolved) (?:by|with|using|via)\b", re.I)
_NOT = re.compile(
    r"n['\u2019]t\b|\b(?:not|still|never|unsolved|(?:ca|did|do|does|is|was|wo)nt)\b", re.I
)


def find_solution(row: Row, fix: Fix | None) -> Finding:
    """Return whether the texts of a row give its fix or its answer away, and since when."""
    found = _find(row, fix)
    texts = {text.source: text for text in row.texts}
    dated = (
        replace(span, time=row.times.first(texts[span.source], span)) for span in found.evidence
    )
    found = replace(found, evidence=tuple(dated))
    return _with_case(row, fix, found) if found.verdict == "found" else found


def _with_case(row: Row, fix: Fix | None, found: Finding) -> Finding:
    """Return a finding with its case: whether the texts before the fix was begun have it too."""
    versions = [(text, *row.times.before(text)) for text in row.texts]
    before = tuple(earlier for _, earlier, why in versions if earlier and not why)
    if _is_found(row, fix, before):
        return replace(found, case="before-fix")
    if reasons := "; ".join(dict.fromkeys(why for _, _, why in versions if why)):
        why = f"{found.why}; when it was added is unknown: {reasons}"
        return replace(found, case="when-unknown", why=why, remedy=row.times.remedy)
    # Today's versions of the texts that existed then differ from them by edits alone.
    edited = tuple(text for text, earlier, _ in versions if earlier)
    if _is_found(row, fix, edited):
        why = f"{found.why}, by an edit after the fix was begun"
        return replace(found, case="edited-in", why=why)
    return replace(found, case="after-fix")


def _is_found(row: Row, fix: Fix | None, texts: tuple[Text, ...]) -> bool:
    return _find(replace(row, texts=texts), fix).verdict == "found"


def _find(row: Row, fix: Fix | None) -> Finding:
    if not row.has_fix:
        return _find_answer(row)
    links = [span for text in row.texts for span in _links(row, text)]
    if fix is None:
        if links:
            return Finding(NAME, "found", _linked(links), tuple(links))
        remedy = f"Run goldpan clone --repo {row.repo}" if row.repo else "Give rows with a git diff"
        return Finding(NAME, "cannot-tell", "the diff of the fix is not available", remedy=remedy)
    lines = [line for file in fix.files for line in file.added]
    telling = {line: tokens for line in lines if _is_telling(line, tokens := tokens_of(line))}
    streams = [(text, TokenText(text.text)) for text in row.texts]
    quotes = {
        line: found
        for line, tokens in telling.items()
        if (found := _first(streams, "line", tokens))
    }
    names = tuple(_named(fix, streams))
    blocks = tuple(span for text in row.texts for span in _blocks(text, lines))
    total = sum(map(len, telling.values()))
    quoted = sum(len(telling[line]) for line in quotes)
    share = quoted / total if total else None
    gists = tuple(span for text in row.texts for span in _gists(row, text))
    evidence = (*links, *blocks, *quotes.values(), *gists, *names)
    why = f"{len(quotes):,} of {len(telling):,} distinctive lines of the fix are quoted"
    if links:
        return Finding(NAME, "found", _linked(links), evidence, value=share)
    if blocks:
        return Finding(NAME, "found", "a block of code holds the whole fix", evidence, value=share)
    if share is not None and share >= _SHARE and quoted >= _LEAST_QUOTED:
        return Finding(NAME, "found", why, evidence, value=share)
    if gists:
        why = "a gist of the fix's author is linked, and its content is unknown"
        return Finding(NAME, "cannot-tell", why, evidence, "gist", "Read the gist", share)
    if not telling:
        why = "the fix adds no distinctive line"
        return Finding(NAME, "cannot-tell", why, evidence, remedy="Read the row")
    return Finding(NAME, "not-found", why, evidence, value=share)


def _linked(links: Sequence[Span]) -> str:
    kinds = {"pull": "its pull request", "commit": "its commit", "branch": "a branch"}
    return f"a link leads to {' and '.join(dict.fromkeys(kinds[link.kind] for link in links))}"


def _links(row: Row, text: Text) -> Iterator[Span]:
    code = _code_spans(text.text)
    for mention in find_mentions(text.text):
        own = mention.repo is None or mention.repo.lower() == row.repo
        in_code = any(start <= mention.start < end for start, end in code)
        if mention.number == row.pull and own and (mention.pattern == "url" or not in_code):
            yield span_of(text, "pull", mention.start, mention.end)
    for match in _COMMIT.finditer(text.text):
        if any(commit.startswith(match[0]) for commit in row.commits):
            yield span_of(text, "commit", *match.span())
    for match in _BRANCH.finditer(text.text):
        yield span_of(text, "branch", *match.span())
    work = row.times.work
    for match in _TREE.finditer(text.text):
        if work and work.branch and f"{match[1]}:{match[2]}".lower() == work.branch.lower():
            yield span_of(text, "branch", *match.span())


def _gists(row: Row, text: Text) -> Iterator[Span]:
    """Yield links to gists of the fix's author; their content is not available."""
    author = row.times.work.author if row.times.work else None
    for match in _GIST.finditer(text.text):
        if author and match[1].lower() == author.lower():
            yield span_of(text, "gist", *match.span())


def _is_telling(line: str, tokens: Sequence[str]) -> bool:
    return len(tokens) >= _LEAST_LINE and not _IMPORT.match(line) and bool(_NAME.search(line))


def _first(
    streams: Sequence[tuple[Text, TokenText]], kind: str, tokens: Sequence[str]
) -> Span | None:
    for text, stream in streams:
        if place := stream.find(tokens):
            return span_of(text, kind, *place)
    return None


def _named(fix: Fix, streams: Sequence[tuple[Text, TokenText]]) -> Iterator[Span]:
    """Yield the new names of the fix in the texts."""
    old = frozenset[str]().union(*(file.old for file in fix.files))
    added = (token for file in fix.files for line in file.added for token in tokens_of(line))
    new = [name for name in dict.fromkeys(added) if name not in old and _SHAPED.search(name)]
    found = (_first(streams, "name", (name,)) for name in new if _NAME.fullmatch(name))
    yield from [span for span in found if span][:_MOST_NAMES]


def _blocks(text: Text, lines: Sequence[str]) -> Iterator[Span]:
    """Yield the blocks of code that hold each added line of the fix."""
    sequences = [tokens for line in lines if (tokens := tokens_of(line))]
    if sum(map(len, sequences)) < _LEAST_LINE:
        return
    for start, end in _code_spans(text.text):
        stream = TokenText(text.text[start:end])
        if all(stream.find(tokens) for tokens in sequences):
            yield span_of(text, "block", start, end)


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Return the places of neighboring lines of code and traces in a text."""
    spans: list[tuple[int, int]] = []
    at, was_code = 0, False
    kinds = [line.kind for line in classify(text)]
    for kind, line in zip(kinds, text.split("\n"), strict=True):
        is_code = kind in (LineKind.CODE, LineKind.TRACE)
        if is_code and was_code:
            spans[-1] = (spans[-1][0], at + len(line))
        elif is_code:
            spans.append((at, at + len(line)))
        at, was_code = at + len(line) + 1, is_code
    return spans


def _find_answer(row: Row) -> Finding:
    comment = row.columns.get("answer_comment_id")
    address = re.compile(rf"(?:issue|discussion)comment-{re.escape(str(comment))}(?!\d)")
    links: list[Span] = []
    edits: list[Span] = []
    for text in row.texts:
        if comment and (link := address.search(text.text)):
            links.append(span_of(text, "answer", *link.span()))
        edits += _edits(text)
    quotes, share, quoted = _quoted_sentences(row)
    evidence = (*links, *edits, *quotes)
    why = f"{len(quotes):,} sentences of the answer are quoted"
    if links:
        return Finding(NAME, "found", "a link leads to the answer", evidence, value=share)
    if edits:
        return Finding(NAME, "found", "an edit says what solved it", evidence, value=share)
    if share is not None and share >= _SHARE and quoted >= _LEAST_WORDS:
        return Finding(NAME, "found", why, evidence, value=share)
    if share is None:
        why = "the answer has no distinctive sentence"
        return Finding(NAME, "cannot-tell", why, remedy="Read the row")
    return Finding(NAME, "not-found", why, evidence, value=share)


def _edits(text: Text) -> Iterator[Span]:
    """Yield the lines that say, as an afterthought, what solved the problem."""
    at = 0
    lines = text.text.split("\n")
    for classified, line in zip(classify(text.text), lines, strict=True):
        opened = _EDIT.match(line)
        is_edit = opened and (read_remarks(line[opened.end() :]).solved or _BY.search(line))
        is_prose = classified.kind is LineKind.PROSE
        if is_prose and (is_edit or _SOLVED.match(line)) and not _NOT.search(line):
            yield span_of(text, "edit", at, at + len(line))
        at += len(line) + 1


def _quoted_sentences(row: Row) -> tuple[list[Span], float | None, int]:
    """Return the answer's sentences that the texts quote, with the share and number of words."""
    written = prose(row.column("answer"))
    parts = (written[part.start : part.end] for part in split_sentences(written, "join"))
    sentences = [tuple(map(str.lower, _WORD.findall(part))) for part in parts]
    long = [words for words in sentences if len(words) >= _LEAST_LINE]
    streams = [(text, TokenText(text.text, _WORD, fold=True)) for text in row.texts]
    found = [(words, span) for words in long if (span := _first(streams, "sentence", words))]
    total, quoted = sum(map(len, long)), sum(len(words) for words, _ in found)
    return [span for _, span in found], quoted / total if total else None, quoted

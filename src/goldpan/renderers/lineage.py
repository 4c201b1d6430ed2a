"""What people see of checks and traces of a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from goldpan.core.result import Hint, Line, Piece, Title, blocks_of, count, names_text, renders
from goldpan.filters.basis import basis_sentences
from goldpan.lineage.check import CheckResult
from goldpan.lineage.explain import Explanation
from goldpan.lineage.trace import Trace
from goldpan.miners.pairing import relation
from goldpan.text.markdown import OBJECT

_MOST_DEPENDENTS = 8
_HOLDS = {True: "", False: "does not hold: ", None: "cannot be verified: "}
_CONCLUSIONS = {
    True: "The whole chain holds.",
    False: "The chain is broken: goldpan check names damaged files and how to rebuild them.",
    None: "Everything that could be verified holds; the rest is listed above.",
}


@renders(CheckResult)
def _checked(result: CheckResult) -> Iterator[Piece]:
    for mended in result.repaired:
        yield from blocks_of(mended)
    size = f"{count(result.files, 'file')}, {result.bytes / 1e6:,.0f} MB"
    yield f"{size} in {result.workspace}"
    for damage in result.damaged:
        at = "" if damage.offset is None else f" at byte {damage.offset:,}"
        yield f"Damaged: {damage.file}{at}: {damage.reason}"
        if damage.dependents:
            yield f"  Made from it: {names_text(damage.dependents, _MOST_DEPENDENTS)}."
        yield Hint(f"  {damage.remedy}.")
    yield f"{len(result.damaged):,} damaged." if result.damaged else "Nothing is damaged."


@renders(Explanation)
def _explained(result: Explanation) -> Iterator[Piece]:
    yield Line(f"{result.repo}#{result.number}", "bold")
    yield from _entry(result)
    for row in result.ledger:
        if row["state"] not in ("complete", "unseen"):
            state = f"{row['part']} {row['state']}: ".capitalize()
            yield f"{state}{row['reason']}"
    # Both ends may have shown the same link; people need to read it once.
    lines = dict.fromkeys(map(_reference, result.references))
    yield Title("References", f" ({len(lines):,})")
    yield from lines
    yield Title("Fix pairs", f" ({len(result.pairs):,})")
    yield from basis_sentences([result.basis])
    for pair in result.pairs:
        yield (
            f"  issue #{pair['issue']} {relation(pair)} {pair['pull_repo']}#{pair['pull']}: "
            f"{', '.join(pair['signals'])}"
        )
        yield from _evidence(pair, "    ")
    yield from _verdicts(result)
    yield Title("Raw replies", f" ({len(result.records):,})")
    for record in result.records:
        yield f"  {record}"


def _entry(result: Explanation) -> Iterator[Piece]:
    entry, discussion = result.entry, result.discussion
    if entry is None:
        yield "Not stored as an entry."
        return
    merged, author = ", merged" if entry["merged"] else "", entry["author"] or "ghost"
    opened = entry["created_at"].isoformat()
    yield f"{entry['kind']}, {entry['state']}{merged}, by {author}, {opened}"
    yield str(entry["title"])
    if discussion is None:
        return
    takes = "" if discussion["is_answerable"] else ", which takes no answers"
    yield f"category {discussion['category']}{takes}"
    if chosen_at := discussion["answer_chosen_at"]:
        answer_id, by = discussion["answer_id"], discussion["answer_chosen_by"] or "ghost"
        answer = f"comment {answer_id}" if answer_id else "a comment that is gone"
        yield f"accepted answer: {answer}, by {by}, {chosen_at.isoformat()}"


def _verdicts(result: Explanation) -> Iterator[Piece]:
    """Yield profiles' verdicts on each subject: the result, then what stood against it."""

    def subject(row: Mapping[str, Any]) -> tuple[str, str]:
        pair = f" and {row['pull_repo']}#{row['pull']}" if row["subject"] == "pair" else ""
        kind = "discussion" if row["subject"] == "discussion" else "issue"
        return row["profile"], f"{kind} #{row['issue']}{pair}"

    for (profile, name), group in groupby(result.verdicts, subject):
        rows = list(group)
        against = [row for row in rows if row["keep"] is not True]
        out = any(row["decides"] for row in against)
        yield Title(f"Verdict of profile {profile} on {name}")
        yield f"  {'dropped' if out else 'kept'} ({count(len(rows), 'criterion')})"
        for row in against:
            line = f"  {row['criterion']}: {row['reason'] or 'undecided'}"
            if row["value"] is not None:
                line += f" ({row['value']:g})"
            if not row["decides"]:
                line += " (does not decide)"
            yield f"{line}  {row['evidence']}" if row["evidence"] else line


def _evidence(pair: Mapping[str, Any], indent: str) -> Iterator[Piece]:
    """Yield the texts that show that a pull request fixes an issue."""
    for evidence in pair["evidence"]:
        if evidence["excerpt"]:
            yield f"{indent}{evidence['where']}: {_excerpt(evidence['excerpt'])}"


def _reference(row: Mapping[str, Any]) -> str:
    source = _name(row["repo"], row["number"], row["commit_sha"])
    target = _name(row["target_repo"], row["target_number"], None)
    notes = (
        row["keyword"],
        row["stance"] if row["stance"] != "stated" else "",
        f"in {row['where']}" if row["where"] not in (None, "timeline", "links") else "",
        f"line {row['line']}" if row["line"] else "",
    )
    note = ", ".join(note for note in notes if note)
    line = f"  {row['signal']}: {source} -> {target}" + (f" ({note})" if note else "")
    return f"{line}  {_excerpt(row['excerpt'])}" if row["excerpt"] else line


def _excerpt(text: str) -> str:
    """Return a text in which dots stand for code and pictures."""
    return text.replace(OBJECT, "...")


def _name(repo: str | None, number: int | None, sha: str | None) -> str:
    if sha:
        return f"commit {sha[:12]}"
    return f"{repo or '?'}#{number}" if number is not None else str(repo)


@renders(Trace)
def _traced(result: Trace) -> Iterator[Piece]:
    yield result.id
    yield f"split {result.split} of {result.dataset}"
    for name, value in result.place.items():
        yield f"  {name}: {value}"
    yield from _entries(result)
    if result.objects:
        yield Title("Git objects")
    for git_object in result.objects:
        size = git_object.size
        state = "missing" if size is None else f"{git_object.kind}, {count(size, 'byte')}"
        yield f"  {git_object.column} {git_object.sha}  {state}"
    if result.replies:
        yield Title("Raw replies")
    for reply in result.replies:
        state = "missing"
        if reply.size is not None and reply.sha256:
            state = f"{count(reply.size, 'byte')}, sha256 {reply.sha256}"
        yield f"  {reply.name}  {reply.part}, {reply.fetched_at}, {state}"
    if result.chain:
        yield Title("Verified, from the sources to the example")
        for link in result.chain:
            yield f"  {link.step}: {_HOLDS[link.holds]}{link.found}"
        yield Hint(_CONCLUSIONS[result.holds])


def _entries(result: Trace) -> Iterator[Piece]:
    if result.entries:
        yield Title("Entries")
    for entry in result.entries:
        if entry.entry:
            kind, title = entry.entry["kind"], entry.entry["title"]
            yield f"  {entry.repo}#{entry.number} {kind}: {title}"
    numbers = {entry.number for entry in result.entries}
    for pair in (pair for entry in result.entries[:1] for pair in entry.pairs):
        if pair["pull"] in numbers:
            yield Title(f"Evidence: {', '.join(pair['signals'])}")
            yield from _evidence(pair, "  ")

"""Shows what is known of one entry."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from goldpan.explain import Explanation
from goldpan.show.terminal import clean


def explanation(found: Explanation) -> None:
    """Show all that is known of one entry."""
    console = Console(highlight=False, soft_wrap=True)
    entry = found.entry
    console.print(Text(f"{found.repo}#{found.number}", style="bold"))
    if entry is None:
        console.print("Not stored as an entry.")
    else:
        merged = ", merged" if entry["merged"] else ""
        console.print(
            Text(f"{entry['kind']}, {entry['state']}{merged}, by {entry['author'] or 'ghost'}, ")
            + Text(f"{entry['created_at']}\n")
            + clean(entry["title"])
        )
    _missing(console, found)
    console.print("\nReferences", style="bold")
    # Both ends may have shown the same link; people need to read it once.
    lines = dict.fromkeys(_reference(reference).plain for reference in found.references)
    for line in lines:
        console.print(Text(line))
    console.print(f"\nFix pairs ({len(found.pairs):,})", style="bold")
    for one in found.pairs:
        console.print(
            f"  issue #{one['issue']} fixed by {one['pull_repo']}#{one['pull']}: "
            f"{', '.join(one['signals'])}" + (" (negated keyword)" if one["negated"] else "")
        )
        for evidence in one["evidence"]:
            if evidence["excerpt"]:
                console.print(Text(f"    {evidence['where']}: ") + clean(evidence["excerpt"]))
    _verdicts(console, found)
    console.print(f"\nRaw replies ({len(found.records):,})", style="bold")
    for record in found.records:
        console.print(f"  {record}")


def _verdicts(console: Console, found: Explanation) -> None:
    """Show a profile's verdicts on each subject: the result, then what stood against it."""

    def subject(row: Mapping[str, Any]) -> tuple[str, str]:
        pair = f" fixed by {row['pull_repo']}#{row['pull']}" if row["subject"] == "pair" else ""
        return row["profile"], f"issue #{row['issue']}{pair}"

    for (profile, name), group in groupby(found.verdicts, subject):
        rows = list(group)
        against = [row for row in rows if row["keep"] is not True]
        out = any(row["decides"] for row in against)
        console.print(f"\nVerdict of profile {profile} on {name}", style="bold")
        console.print(f"  {'dropped' if out else 'kept'} ({len(rows)} criteria)")
        for row in against:
            line = Text(f"  {row['criterion']}: ") + clean(row["reason"] or "undecided")
            if row["value"] is not None:
                line += Text(f" ({row['value']:g})")
            if not row["decides"]:
                line += Text(" (does not decide)")
            if row["evidence"]:
                line += Text("  ") + clean(row["evidence"])
            console.print(line)


def _missing(console: Console, found: Explanation) -> None:
    for gap in found.missing:
        console.print(Text(f"Missing {gap['part']}: ") + clean(gap["reason"]))


def _reference(row: Mapping[str, Any]) -> Text:
    source = _place(row["repo"], row["number"], row["commit_sha"])
    target = _place(row["target_repo"], row["target_number"], None)
    notes = [
        row["keyword"] or "",
        "negated" if row["negated"] else "",
        f"in {row['where']}" if row["where"] not in (None, "timeline", "links") else "",
        f"line {row['line']}" if row["line"] else "",
    ]
    note = ", ".join(note for note in notes if note)
    line = Text(f"  {row['signal']}: {source} -> {target}" + (f" ({note})" if note else ""))
    if row["excerpt"]:
        line += Text("  ") + clean(row["excerpt"])
    return line


def _place(repo: str | None, number: int | None, sha: str | None) -> str:
    if sha:
        return f"commit {sha[:12]}"
    return f"{repo or '?'}#{number}" if number is not None else str(repo)

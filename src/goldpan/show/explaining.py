"""Shows what is known of one entry."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text

from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:
    from goldpan.explain import Explanation


def explanation(found: Explanation) -> None:
    """Show all that is known of one entry."""
    from goldpan.miners.pairing import relation

    console = Terminal()
    entry = found.entry
    console.print(clean(f"{found.repo}#{found.number}", style="bold"))
    if entry is None:
        console.print("Not stored as an entry.")
    else:
        merged = ", merged" if entry["merged"] else ""
        console.print(
            clean(f"{entry['kind']}, {entry['state']}{merged}, by {entry['author'] or 'ghost'}, ")
            + clean(entry["created_at"])
        )
        console.print(clean(entry["title"]))
    _ledger(console, found)
    console.print("\nReferences", style="bold")
    # Both ends may have shown the same link; people need to read it once.
    lines = dict.fromkeys(_reference(reference).plain for reference in found.references)
    for line in lines:
        console.print(clean(line))
    by = f" by rules {found.rules}" if found.rules else ""
    console.print(clean(f"\nFix pairs{by} ({len(found.pairs):,})"), style="bold")
    for one in found.pairs:
        console.print(
            f"  issue #{one['issue']} {relation(one)} {one['pull_repo']}#{one['pull']}: "
            f"{', '.join(one['signals'])}"
        )
        for evidence in one["evidence"]:
            if evidence["excerpt"]:
                console.print(clean(f"    {evidence['where']}: ") + clean(evidence["excerpt"]))
    _verdicts(console, found)
    console.print(f"\nRaw replies ({len(found.records):,})", style="bold")
    for record in found.records:
        console.print(f"  {record}")


def _verdicts(console: Terminal, found: Explanation) -> None:
    """Show a profile's verdicts on each subject: the result, then what stood against it."""

    def subject(row: Mapping[str, Any]) -> tuple[str, str]:
        pair = f" and {row['pull_repo']}#{row['pull']}" if row["subject"] == "pair" else ""
        return row["profile"], f"issue #{row['issue']}{pair}"

    for (profile, name), group in groupby(found.verdicts, subject):
        rows = list(group)
        against = [row for row in rows if row["keep"] is not True]
        out = any(row["decides"] for row in against)
        console.print(f"\nVerdict of profile {profile} on {name}", style="bold")
        console.print(f"  {'dropped' if out else 'kept'} ({len(rows)} criteria)")
        for row in against:
            line = clean(f"  {row['criterion']}: ") + clean(row["reason"] or "undecided")
            if row["value"] is not None:
                line += clean(f" ({row['value']:g})")
            if not row["decides"]:
                line += clean(" (does not decide)")
            if row["evidence"]:
                line += clean("  ") + clean(row["evidence"])
            console.print(line)


def _ledger(console: Terminal, found: Explanation) -> None:
    for row in found.ledger:
        if row["state"] not in ("complete", "unseen"):
            told = clean(f"{row['part']} {row['state']}: ".capitalize())
            console.print(told + clean(row["reason"]))


def _reference(row: Mapping[str, Any]) -> Text:
    source = _place(row["repo"], row["number"], row["commit_sha"])
    target = _place(row["target_repo"], row["target_number"], None)
    notes = [
        row["keyword"] or "",
        row["stance"] if row["stance"] != "stated" else "",
        f"in {row['where']}" if row["where"] not in (None, "timeline", "links") else "",
        f"line {row['line']}" if row["line"] else "",
    ]
    note = ", ".join(note for note in notes if note)
    line = clean(f"  {row['signal']}: {source} -> {target}" + (f" ({note})" if note else ""))
    if row["excerpt"]:
        line += clean("  ") + clean(row["excerpt"])
    return line


def _place(repo: str | None, number: int | None, sha: str | None) -> str:
    if sha:
        return f"commit {sha[:12]}"
    return f"{repo or '?'}#{number}" if number is not None else str(repo)

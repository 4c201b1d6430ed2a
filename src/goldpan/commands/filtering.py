"""Commands that judge issues and fix pairs, and explain the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from goldpan.commands.shared import (
    Address,
    Directory,
    Engine,
    EngineChoice,
    Json,
    Repos,
    opened,
    print_result,
    settings_of,
)
from goldpan.core.show import show
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.core.workspace import Workspace as Layout
from goldpan.filters.basis import basis_blocks

if TYPE_CHECKING:  # these take long to import
    from goldpan.explain import Explanation
    from goldpan.filters.criterion import AnyCriterion, StoredCriterion
    from goldpan.filters.funnel import Funnel, Step
    from goldpan.filters.pipeline import FilterResult

ProfileName = Annotated[
    str, typer.Option("--profile", help="default, faun-eval, or the path of your own .toml file.")
]
_BAR = 24
_WIDE = 100
_COLUMNS = ("criterion", "out", "undecided", "only", "left", "bar", "most frequent reason")
_NUMBERS = ("out", "undecided", "only", "left")

RulesName = Annotated[
    str, typer.Option("--rules", help="The rules whose pairs to use: default, faun-eval...")
]


def filter(
    repo: Repos = None,
    profile: ProfileName = "default",
    rules: RulesName = "default",
    rejects: Annotated[
        Path | None,
        typer.Option(help="Also write what is dropped, to a .parquet, .jsonl or .csv file."),
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="Only list the criteria and which ones decide.")
    ] = False,
    engine: Engine = EngineChoice.LOCAL,
    address: Address = "",
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Judge every issue and fix pair by every criterion; each verdict has a reason.

    Nothing is deleted: a profile says which criteria decide, and with which settings.
    """
    if only_list:
        from goldpan.core.config import use_plugins
        from goldpan.filters.stored import find_profile

        use_plugins(workspace)
        layout = Layout(settings_of(workspace=workspace).workspace)
        chosen = find_profile(layout, layout.repositories("tables"), profile)
        available = list(chosen.criteria().values())
        print_result(json, chosen.plain(), lambda: print_criteria(available, chosen.decide))
        return
    names = repo or ()
    with opened(json, workspace=workspace) as lab:
        results = lab.filter(
            *names, profile=profile, rules=rules, engine=engine.value, address=address
        )
        count = lab.rejects(rejects, *names, profile=profile, rules=rules) if rejects else 0
    print_result(json, [asdict(result) for result in results], lambda: print_filtered(results))
    if rejects and not json:
        Terminal().print(f"\n{count:,} dropped subjects are in {rejects}")


def funnel(
    repo: Repos = None,
    profile: ProfileName = "default",
    rules: RulesName = "default",
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the funnel, to a .svg, .png or .html file.")
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Show what each criterion drops, on its own and in sequence."""
    with opened(json, workspace=workspace) as lab:
        issues, pairs = lab.funnel(*(repo or ()), profile=profile, rules=rules)
        bases = lab.basis(*(repo or ()), profile=profile, rules=rules)
    if plot:
        from goldpan.report.funnel_plot import plot_funnel

        plot_funnel([issues, pairs], plot)

    def for_people() -> None:
        show(basis_blocks(bases))
        print_funnel(issues)
        print_funnel(pairs)

    described = [asdict(item) for item in bases]
    print_result(
        json, [{**asdict(item), "basis": described} for item in (issues, pairs)], for_people
    )


def why(
    subject: Annotated[str, typer.Argument(help="OWNER/NAME#NUMBER")],
    rules: RulesName = "default",
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Explain one issue or pull request: references, signals, pairs, verdicts, raw replies."""
    with opened(json, workspace=workspace) as lab:
        explanation = lab.why(subject, rules=rules)
    print_result(json, asdict(explanation), lambda: print_explanation(explanation))


def print_filtered(filter_results: Sequence[FilterResult]) -> None:
    """Show what filtering kept, with the funnels."""
    console = Terminal()
    for result in filter_results:
        rows = result.issues.rows + result.pairs.rows
        console.print(
            titled(
                result.repo,
                f" by profile {result.profile}: {rows:,} subjects in {result.seconds:.1f} s, "
                f"{len(result.judged)} criteria judged, {len(result.reused)} reused",
            )
        )
        show(basis_blocks([result.basis]))
        print_funnel(result.issues)
        print_funnel(result.pairs)
        if result.pairs.rows and not result.cloned:
            console.print(
                "Some criteria need the history of the code: "
                f"run goldpan clone --repo {result.repo}, then goldpan filter again"
            )


def print_funnel(counted: Funnel) -> None:
    """Show one funnel as a table with bars."""
    from goldpan.filters.funnel import PLURAL

    console = Terminal(soft_wrap=False)
    console.print(f"\n{PLURAL[counted.subject]}: {counted.rows:,} in, {counted.kept:,} kept")
    if not counted.rows:
        return
    wide = console.width >= _WIDE
    table = Table(box=None, header_style="dim")
    for name in _COLUMNS:
        if name != "bar" or wide:
            table.add_column(
                "" if name == "bar" else name,
                justify="right" if name in _NUMBERS else "left",
                no_wrap=True,
                ratio=1 if name == "most frequent reason" else None,
            )
    for step in counted.steps:
        left = "-" if step.left is None else f"{step.left:,}"
        bar = "" if step.left is None else "█" * round(_BAR * step.left / counted.rows)
        table.add_row(
            step.criterion,
            f"{step.out:,}",
            f"{step.undecided:,}" if step.undecided else "",
            f"{step.only:,}" if step.decides else "-",
            left,
            *([bar] if wide else []),
            _reason(step),
            style=None if step.decides else "dim",
        )
    console.print(table)


def _reason(step: Step) -> Text:
    if not step.reasons:
        return Text()
    reason, count = max(step.reasons.items(), key=lambda item: (item[1], item[0]))
    return clean(reason) + clean(f" {count:,}")


def print_criteria(
    any_criterions: Sequence[AnyCriterion | StoredCriterion], decide: Sequence[str]
) -> None:
    """Show what each criterion means and whether it decides."""
    table = Table("criterion", "judges", "decides", "definition", "source", header_style="dim")
    for criterion in any_criterions:
        decides = "yes" if criterion.name in decide else "no"
        table.add_row(
            criterion.name, criterion.subject, decides, criterion.definition, criterion.source
        )
    Terminal(soft_wrap=False).print(table)


def print_explanation(explanation: Explanation) -> None:
    """Show all that is known of one entry."""
    from goldpan.miners.pairing import relation

    console = Terminal()
    entry = explanation.entry
    console.print(clean(f"{explanation.repo}#{explanation.number}", style="bold"))
    if entry is None:
        console.print("Not stored as an entry.")
    else:
        merged = ", merged" if entry["merged"] else ""
        console.print(
            clean(f"{entry['kind']}, {entry['state']}{merged}, by {entry['author'] or 'ghost'}, ")
            + clean(entry["created_at"])
        )
        console.print(clean(entry["title"]))
    _ledger(console, explanation)
    # Both ends may have shown the same link; people need to read it once.
    lines = dict.fromkeys(_reference(reference).plain for reference in explanation.references)
    console.print(titled("References", f" ({len(lines):,})"))
    for line in lines:
        console.print(clean(line))
    console.print(titled("Fix pairs", f" ({len(explanation.pairs):,})"))
    show(basis_blocks([explanation.basis]))
    for pair in explanation.pairs:
        console.print(
            f"  issue #{pair['issue']} {relation(pair)} {pair['pull_repo']}#{pair['pull']}: "
            f"{', '.join(pair['signals'])}"
        )
        for evidence in pair["evidence"]:
            if evidence["excerpt"]:
                console.print(clean(f"    {evidence['where']}: ") + clean(evidence["excerpt"]))
    _verdicts(console, explanation)
    console.print(f"\nRaw replies ({len(explanation.records):,})", style="bold")
    for record in explanation.records:
        console.print(f"  {record}")


def _verdicts(console: Terminal, explanation: Explanation) -> None:
    """Show a profile's verdicts on each subject: the result, then what stood against it."""

    def subject(row: Mapping[str, Any]) -> tuple[str, str]:
        pair = f" and {row['pull_repo']}#{row['pull']}" if row["subject"] == "pair" else ""
        return row["profile"], f"issue #{row['issue']}{pair}"

    for (profile, name), group in groupby(explanation.verdicts, subject):
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


def _ledger(console: Terminal, explanation: Explanation) -> None:
    for row in explanation.ledger:
        if row["state"] not in ("complete", "unseen"):
            text = clean(f"{row['part']} {row['state']}: ".capitalize())
            console.print(text + clean(row["reason"]))


def _reference(row: Mapping[str, Any]) -> Text:
    source = _web_address(row["repo"], row["number"], row["commit_sha"])
    target = _web_address(row["target_repo"], row["target_number"], None)
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


def _web_address(repo: str | None, number: int | None, sha: str | None) -> str:
    if sha:
        return f"commit {sha[:12]}"
    return f"{repo or '?'}#{number}" if number is not None else str(repo)

"""What the commands for mining show, on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.errors import GoldpanError
from goldpan.core.show import show
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.filters.basis import stored_blocks

if TYPE_CHECKING:  # these take long to import
    from goldpan.miners.coverage import Coverage
    from goldpan.miners.estimate import Estimate
    from goldpan.miners.mine import MineResult
    from goldpan.miners.pairing import PairResult
    from goldpan.miners.repair import Repair


_MOST_GAPS = 20


def print_mined(results: Sequence[MineResult]) -> None:
    """Show what mining brought, and predicted against spent cost."""
    from goldpan.miners.mine import duration

    for result in results:
        console = Terminal(soft_wrap=False)
        path = "GraphQL" if result.via == "graphql" else "REST"
        console.print(titled(result.repo, f" over {path}, {duration(result.seconds)}"))
        table = Table("", "predicted", "spent", box=None, header_style="dim")
        table.add_row("requests", f"{result.predicted.requests:,}", f"{result.requests:,}")
        if result.free:
            table.add_row("of them free", "", f"{result.free:,}")
        if result.via == "graphql":
            table.add_row("points", f"{result.predicted.points:,}", f"{result.points:,}")
        table.add_row("time", duration(result.predicted.seconds), duration(result.seconds))
        console.print(table)
        if result.coverage:
            print_coverage(result.coverage, title=False)


def mined_json(result: MineResult) -> dict[str, Any]:
    """Return a result as plain data."""
    return {
        "repo": result.repo,
        "via": result.via,
        "requests": result.requests,
        "free": result.free,
        "points": result.points,
        "seconds": round(result.seconds, 3),
        "predicted": asdict(result.predicted),
        "rows": dict(result.rows),
        "coverage": asdict(result.coverage) if result.coverage else None,
        "failure": str(result.failure) if result.failure else None,
    }


def failed_json(repo: str, error: GoldpanError) -> dict[str, Any]:
    """Return what a repository that could not be mined is in a list of results."""
    return {"repo": repo, "failure": str(error)}


def print_estimates(costs: Mapping[str, Estimate]) -> None:
    """Show predicted costs."""
    from goldpan.miners.mine import duration

    table = Table("repository", "requests", "points", "time", box=None, header_style="dim")
    for name, cost in costs.items():
        points = f"{cost.points:,}" if cost.points else "-"
        table.add_row(name, f"{cost.requests:,}", points, duration(cost.seconds))
    Terminal(soft_wrap=False).print(table)


def print_status(
    coverages: Sequence[Coverage], stored: Mapping[str, Mapping[str, Sequence[str]]]
) -> None:
    """Show the coverage of several repositories, and by what they were paired and filtered."""
    for coverage in coverages:
        print_coverage(coverage)
        show(stored_blocks(stored[coverage.repo]))


def print_coverage(coverage: Coverage, *, title: bool = True) -> None:
    """Show announced against stored counts and what is missing."""
    console = Terminal(soft_wrap=False)
    if title:
        since = f", entries updated since {coverage.since}" if coverage.since else ""
        console.print(titled(coverage.repo, f" via {coverage.via}, {coverage.mined_at}{since}"))
    table = Table("", "announced", "stored", box=None, header_style="dim")
    for count in coverage.counts:
        announced = "-" if count.announced is None else f"{count.announced:,}"
        table.add_row(count.kind, announced, f"{count.stored:,}")
    console.print(table)
    if not coverage.finished:
        console.print("The last run did not finish: run the same goldpan mine command again.")
    for unknown in coverage.unknown:
        where = f"{unknown.count:,} times, as in #{unknown.number}"
        console.print(clean(f"Unknown {unknown.kind} {unknown.name}: {where}"))
    if not coverage.gaps and not coverage.unseen:
        console.print("Nothing is missing." if coverage.finished else "")
        return
    if coverage.unseen:
        nothing = coverage.finished and not coverage.gaps
        beyond = "what cannot be seen without a token:"
        console.print(f"Nothing is missing, except {beyond}" if nothing else f"Besides, {beyond}")
        for part in coverage.unseen:
            console.print(clean(f"  {part}"))
    if not coverage.gaps:
        return
    console.print(f"{len(coverage.gaps):,} missing:")
    for gap in coverage.gaps[:_MOST_GAPS]:
        where = f"#{gap.number}" if gap.number is not None else "repository"
        console.print(clean(f"  {where} {gap.part} {gap.state}: ") + clean(gap.reason))
    if len(coverage.gaps) > _MOST_GAPS:
        lists = f"goldpan status --repo {coverage.repo} --json lists them"
        console.print(clean(f"  and {len(coverage.gaps) - _MOST_GAPS:,} more: {lists}"))


def print_repairs(names: Sequence[str], repairs: Sequence[Repair]) -> None:
    """Show what mending the archives of repositories gave, and what to do next."""
    console = Terminal()
    for name, repair in zip(names, repairs, strict=True):
        if not repair.lost and not repair.aside:
            console.print(f"{name}: nothing is damaged.")
            continue
        console.print(f"{name}: {repair.kept:,} intact replies kept, {len(repair.lost):,} lost.")
        for path in repair.aside:
            console.print(f"  The damaged file is kept as {path}")
        for lost in repair.lost:
            whose = f" of #{lost.number}" if lost.number is not None else ""
            what = (lost.part or "replies") + whose
            console.print(f"  {lost.file} at byte {lost.offset}: {what} ({lost.reason})")
        if repair.backups:
            console.print(
                f"  Only the backup still has these: goldpan mine --repo {name} --from-backup PATH"
            )
        else:
            console.print(f"  goldpan mine --repo {name} fetches them again.")


def print_tables(counts: Mapping[str, Mapping[str, int]]) -> None:
    """Show how many rows each table has."""
    table = Table("repository", "table", "rows", box=None, header_style="dim")
    for repo, rows in counts.items():
        for name, count in rows.items():
            table.add_row(clean(repo), name, f"{count:,}")
    Terminal(soft_wrap=False).print(table)


def print_pairs(pair_results: Sequence[PairResult]) -> None:
    """Show how many pairs each signal gave."""
    console = Terminal()
    for result in pair_results:
        console.print(titled(result.repo, f": {result.pairs:,} fix pairs by rules {result.rules}"))
        table = Table("signal", "pairs", box=None, header_style="dim")
        for signal, count in result.by_signal.items():
            table.add_row(signal, f"{count:,}")
        console.print(table)
        if result.unconfirmed:
            console.print(
                f"Closing keywords without a confirming cross reference: {result.unconfirmed:,} "
                "(--rules unconfirmed accepts them)"
            )
        if result.elsewhere:
            console.print(f"Links to issues of other repositories: {result.elsewhere:,}")

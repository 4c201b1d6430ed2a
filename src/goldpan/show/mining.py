"""Shows what mining and pairing brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.errors import GoldpanError
from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:
    from goldpan.miners.coverage import Coverage
    from goldpan.miners.estimate import Estimate
    from goldpan.miners.mine import MineResult
    from goldpan.miners.pairing import PairResult
    from goldpan.miners.repair import Repair

_MOST_GAPS = 20


def mined(results: Sequence[MineResult]) -> None:
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
            coverage(result.coverage, title=False)


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


def estimates(costs: Mapping[str, Estimate]) -> None:
    """Show predicted costs."""
    from goldpan.miners.mine import duration

    table = Table("repository", "requests", "points", "time", box=None, header_style="dim")
    for name, cost in costs.items():
        points = f"{cost.points:,}" if cost.points else "-"
        table.add_row(name, f"{cost.requests:,}", points, duration(cost.seconds))
    Terminal(soft_wrap=False).print(table)


def status(found: Sequence[Coverage]) -> None:
    """Show the coverage of several repositories."""
    for one in found:
        coverage(one)


def coverage(found: Coverage, *, title: bool = True) -> None:
    """Show announced against stored counts and what is missing."""
    console = Terminal(soft_wrap=False)
    if title:
        since = f", entries updated since {found.since}" if found.since else ""
        console.print(titled(found.repo, f" via {found.via}, {found.mined_at}{since}"))
    table = Table("", "announced", "stored", box=None, header_style="dim")
    for count in found.counts:
        announced = "-" if count.announced is None else f"{count.announced:,}"
        table.add_row(count.kind, announced, f"{count.stored:,}")
    console.print(table)
    if not found.finished:
        console.print("The last run did not finish: run the same goldpan mine command again.")
    for one in found.unknown:
        place = f"{one.count:,} times, as in #{one.number}"
        console.print(clean(f"Unknown {one.kind} {one.name}: {place}"))
    if not found.gaps:
        console.print("Nothing is missing." if found.finished else "")
        return
    console.print(f"{len(found.gaps):,} missing:")
    for gap in found.gaps[:_MOST_GAPS]:
        place = f"#{gap.number}" if gap.number is not None else "repository"
        console.print(clean(f"  {place} {gap.part} {gap.state}: ") + clean(gap.reason))
    if len(found.gaps) > _MOST_GAPS:
        console.print(f"  and {len(found.gaps) - _MOST_GAPS:,} more: see the table ledger.parquet")


def repairs(names: Sequence[str], done: Sequence[Repair]) -> None:
    """Show what mending the archives of repositories gave, and what to do next."""
    console = Terminal()
    for name, one in zip(names, done, strict=True):
        if not one.lost and not one.aside:
            console.print(f"{name}: nothing is damaged.")
            continue
        console.print(f"{name}: {one.kept:,} intact replies kept, {len(one.lost):,} lost.")
        for path in one.aside:
            console.print(f"  The damaged file is kept as {path}")
        for lost in one.lost:
            whose = f" of #{lost.number}" if lost.number is not None else ""
            what = (lost.part or "replies") + whose
            console.print(f"  {lost.file} at byte {lost.offset}: {what} ({lost.reason})")
        if one.backups:
            console.print(
                f"  Only the backup still has these: goldpan mine --repo {name} --from-backup PATH"
            )
        else:
            console.print(f"  goldpan mine --repo {name} fetches them again.")


def tables(counts: Mapping[str, Mapping[str, int]]) -> None:
    """Show how many rows each table has."""
    table = Table("repository", "table", "rows", box=None, header_style="dim")
    for repo, rows in counts.items():
        for name, count in rows.items():
            table.add_row(clean(repo), name, f"{count:,}")
    Terminal(soft_wrap=False).print(table)


def pairs(found: Sequence[PairResult]) -> None:
    """Show how many pairs each signal gave."""
    console = Terminal()
    for one in found:
        console.print(titled(one.repo, f": {one.pairs:,} fix pairs by rules {one.rules}"))
        table = Table("signal", "pairs", box=None, header_style="dim")
        for signal, count in one.by_signal.items():
            table.add_row(signal, f"{count:,}")
        console.print(table)
        if one.unconfirmed:
            console.print(
                f"Closing keywords without a confirming cross reference: {one.unconfirmed:,} "
                "(--rules unconfirmed accepts them)"
            )
        if one.elsewhere:
            console.print(f"Links to issues of other repositories: {one.elsewhere:,}")

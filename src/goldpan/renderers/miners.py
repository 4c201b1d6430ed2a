"""What people see of mining, its tables, histories and pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from goldpan.core.result import Block, Line, Table, Title, count, renders
from goldpan.core.storage.workspace import DEFAULT_RULES, UNPAIRED
from goldpan.miners.coverage import Coverage
from goldpan.miners.gharchive.mine import ArchiveResult
from goldpan.miners.gharchive.store import HourReport
from goldpan.miners.history.revisions import FetchedHistory
from goldpan.miners.mine import MineResult, duration
from goldpan.miners.pairing import PairResult
from goldpan.miners.repair import Repair
from goldpan.miners.tables.normalize import TableCounts

_MOST_GAPS = _MOST_NUMBERS = _MOST_RUNS = 20


@renders(Coverage)
def _covered(result: Coverage) -> Iterator[Block]:
    since = f", entries updated since {result.since}" if result.since else ""
    yield Title(result.repo, f" via {result.via}, {result.mined_at}{since}")
    yield from counted_and_missing(result)
    parts = []
    for rules, profiles in result.stored.items():
        pairs = "without pairs" if rules == UNPAIRED else f"--rules {rules}"
        by = ", ".join(f"--profile {name}" for name in profiles)
        parts.append(f"{pairs} ({by or 'not filtered'})")
    if parts:
        yield Line(f"Stored: {', '.join(parts)}")


def counted_and_missing(result: Coverage) -> Iterator[Block]:
    """Yield the same without a title."""
    cells = [
        (each.kind, "-" if each.announced is None else each.announced, each.stored)
        for each in result.counts
    ]
    yield Table(("", "announced", "stored"), cells)
    if not result.finished:
        yield Line("The last run did not finish: run the same goldpan mine command again.")
    for unknown in result.unknown:
        where = f"{count(unknown.count, 'time')}, as in #{unknown.number}"
        yield Line(f"Unknown event {unknown.name}: {where}")
    if result.unseen:
        beyond = "what is visible only with a token:"
        yield Line(f"Nothing is missing, except {beyond}" if result.complete else f"And {beyond}")
        yield from (Line(f"  {part}") for part in result.unseen)
    elif result.complete:
        yield Line("Nothing is missing.")
    if result.gaps:
        yield Line(f"{len(result.gaps):,} missing:")
    for gap in result.gaps[:_MOST_GAPS]:
        where = f"#{gap.number}" if gap.number is not None else "repository"
        yield Line(f"  {where} {gap.part} {gap.state}: {gap.reason}")
    if len(result.gaps) > _MOST_GAPS:
        lists = f"goldpan status --repo {result.repo} --json lists them"
        yield Line(f"  and {len(result.gaps) - _MOST_GAPS:,} more: {lists}")


@renders(MineResult)
def _mined(result: MineResult) -> Iterator[Block]:
    if result.is_prediction:
        yield _predictions((result,))
    if result.coverage is None:
        return
    if result.via == "backup":
        yield from _covered(result.coverage)
        return
    path = "GraphQL" if result.via == "graphql" else "REST"
    yield Title(result.repo, f" over {path}, {duration(result.seconds)}")
    cells: list[tuple[object, ...]] = [("requests", result.predicted.requests, result.requests)]
    if result.free:
        cells.append(("of them free", "", result.free))
    if result.via == "graphql":
        cells.append(("points", result.predicted.points, result.points))
    cells.append(("time", duration(result.predicted.seconds), duration(result.seconds)))
    yield Table(("", "predicted", "spent"), cells)
    yield from counted_and_missing(result.coverage)


@renders(list[MineResult])
def _mined_each(results: Sequence[MineResult]) -> Iterator[Block]:
    if predicted := [result for result in results if result.is_prediction]:
        yield _predictions(predicted)
    for result in results:
        if not result.is_prediction:
            yield from _mined(result)


def _predictions(results: Sequence[MineResult]) -> Table:
    cells = [
        (
            result.repo,
            result.predicted.requests,
            result.predicted.points or "-",
            duration(result.predicted.seconds),
        )
        for result in results
    ]
    return Table(("repository", "requests", "points", "time"), cells)


@renders(ArchiveResult)
def _archived(result: ArchiveResult) -> Iterator[Block]:
    totals = result.totals
    yield Title(
        "GH Archive",
        f": {count(totals['hours'], 'hour')}, {result.reused:,} already downloaded, "
        f"in {result.seconds:.1f} s",
    )
    cells = [(f"hours {state}", number) for state, number in result.states.items()]
    cells += [(name, totals[name]) for name in ("bytes", "lines", "corrupt")]
    cells.append((f"events kept ({', '.join(result.types)})", totals["events"]))
    yield Table(("", "count"), cells)
    runs = list(_runs(result.not_whole))
    for first, *later in runs[:_MOST_RUNS]:
        hours = " to ".join(map(_name, (first, *later[-1:])))
        yield Line(f"  {hours} {first.state}: {first.reason or ''}")
    if len(runs) > _MOST_RUNS:
        yield Line(f"  and {len(runs) - _MOST_RUNS:,} more: see gharchive/hours.parquet")
    if result.complete:
        yield Line("Every hour is complete.")


def _runs(reports: Iterable[HourReport]) -> Iterator[Sequence[HourReport]]:
    """Yield the hours that follow each other with the same state."""

    def run_of(numbered: tuple[int, HourReport]) -> tuple[object, ...]:
        index, report = numbered
        return report.hour - timedelta(hours=index), report.state, report.reason

    for _, run in groupby(enumerate(reports), run_of):
        yield [report for _, report in run]


def _name(report: HourReport) -> str:
    return report.file.removesuffix(".json.gz")


@renders(FetchedHistory)
def _fetched(result: FetchedHistory) -> Iterator[Block]:
    history = result.history
    if not result.is_mined:
        yield Title(history.repo, f": {count(result.clone.refs, 'ref')}")
        yield Line("The repository has not been mined, so no pull requests were read")
        return
    yield Title(
        history.repo,
        f": {count(result.clone.refs, 'ref')}, {count(history.pulls, 'pull request')} "
        f"read, {count(history.changes, 'changed file')}, "
        f"{count(history.fetched, 'file')} fetched",
    )
    if result.clone.kept:
        yield Line(f"{count(result.clone.kept, 'commit')} kept that the source no longer has")
    cells = [*history.states.items(), *history.notes.items()]
    yield Table(("state or note", "pull requests"), cells)
    if history.disagreeing:
        numbers = ", ".join(f"#{number}" for number in history.disagreeing[:_MOST_NUMBERS])
        hidden = len(history.disagreeing) - _MOST_NUMBERS
        remainder = f" and {hidden:,} more" if hidden > 0 else ""
        yield Line(f"The size of the change differs from GitHub's: {numbers}{remainder}")


@renders(PairResult)
def _paired(result: PairResult) -> Iterator[Block]:
    yield Title(result.repo, f": {count(result.pairs, 'fix pair')} by rules {result.rules}")
    yield Table(("signal", "pairs"), tuple(result.by_signal.items()))
    if result.unconfirmed:
        yield Line(
            f"Closing keywords without a confirming cross reference: {result.unconfirmed:,} "
            "(--rules unconfirmed accepts them)"
        )
    if result.lacks_history:
        yield Line(f"No history: run goldpan clone --repo {result.repo}, then pair again")
    if result.elsewhere:
        yield Line(f"Links to issues of other repositories: {result.elsewhere:,}")
    if result.other_rules:
        others = ", ".join(f"--rules {name}" for name in result.other_rules)
        yield Line(f"Also stored: {others}")
    if result.rules != DEFAULT_RULES:
        yield Line(f"Later commands use these pairs with --rules {result.rules}")


@renders(Repair)
def _mended(result: Repair) -> Iterator[Block]:
    kept = f"{count(result.kept, 'intact reply')} kept"
    yield Line(f"{result.directory}: {count(result.flaws, 'damaged place')}, {kept}.")
    for path in result.aside:
        yield Line(f"  The damaged file is kept as {path}")
    parent = result.directory.parent
    if parent.parent.name == "raw":
        mine = f"goldpan mine --repo {parent.name}/{result.directory.name}"
        yield Line(f"  {mine} fetches what is lost; add --from-backup PATH for that of a backup.")


@renders(TableCounts)
def _counted(result: TableCounts) -> Iterator[Block]:
    cells = [(repo, *row) for repo, rows in result.tables.items() for row in rows.items()]
    yield Table(("repository", "table", "rows"), cells)

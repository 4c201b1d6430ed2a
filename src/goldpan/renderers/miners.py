"""What people see of mining, its tables, histories and pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from goldpan.core.result import Hint, Piece, Table, Title, count, first_lines, names_text, renders
from goldpan.core.storage.archive import Repair
from goldpan.core.storage.workspace import DEFAULT_RULES, UNPAIRED
from goldpan.miners.coverage import Coverage
from goldpan.miners.gharchive.mine import ArchiveResult
from goldpan.miners.gharchive.store import HourReport
from goldpan.miners.history.revisions import FetchedHistory
from goldpan.miners.mine import MineResult, duration
from goldpan.miners.pairing import PairResult
from goldpan.miners.tables.normalize import TableCounts

_MOST = 20


@renders(Coverage)
def _covered(result: Coverage) -> Iterator[Piece]:
    since = f", entries updated since {result.since}" if result.since else ""
    yield Title(result.repo, f" via {result.via}, {result.mined_at}{since}")
    yield from _counted_and_missing(result)
    for rules, profiles in result.stored.items():
        pairs = "Not paired" if rules == UNPAIRED else f"Paired by the rules {rules}"
        names = f"{'profile' if len(profiles) == 1 else 'profiles'} {', '.join(profiles)}"
        yield f"{pairs}, {f'filtered by the {names}' if profiles else 'not filtered'}."


def _counted_and_missing(result: Coverage) -> Iterator[Piece]:
    cells = [
        (each.kind, "-" if each.announced is None else each.announced, each.stored)
        for each in result.counts
    ]
    yield Table(("", "announced", "stored"), cells)
    if not result.finished:
        yield Hint("The last run did not finish: run goldpan mine again.")
    for unknown in result.unknown:
        where = f"{count(unknown.count, 'time')}, as in #{unknown.number}"
        yield f"Unknown event {unknown.name}: {where}"
    if result.unseen:
        beyond = "what is visible only with a token:"
        yield f"Nothing is missing, except {beyond}" if result.complete else f"And {beyond}"
        yield from (f"  {part}" for part in result.unseen)
    elif result.complete:
        yield "Nothing is missing."
    yield f"{len(result.gaps):,} missing:" if result.gaps else None
    gaps = []
    for gap in result.gaps:
        where = f"#{gap.number}" if gap.number is not None else "repository"
        gaps.append(f"  {where} {gap.part} {gap.state}: {gap.reason}")
    yield from first_lines(gaps, _MOST, f": goldpan status --repo {result.repo} --json lists them")


@renders(MineResult)
def _mined(result: MineResult) -> Iterator[Piece]:
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
    yield from _counted_and_missing(result.coverage)


@renders(list[MineResult])
def _mined_each(results: Sequence[MineResult]) -> Iterator[Piece]:
    if predicted := [result for result in results if result.is_prediction]:
        yield _predictions(predicted)
    for result in results:
        if not result.is_prediction:
            yield from _mined(result)


def _predictions(results: Sequence[MineResult]) -> Table:
    cells = [
        (
            *(result.repo, result.predicted.requests, result.predicted.points or "-"),
            duration(result.predicted.seconds),
        )
        for result in results
    ]
    return Table(("repository", "requests", "points", "time"), cells)


@renders(ArchiveResult)
def _archived(result: ArchiveResult) -> Iterator[Piece]:
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
    yield from first_lines(list(_runs(result.not_whole)), _MOST, ": see gharchive/hours.parquet")
    if result.complete:
        yield "Every hour is complete."


def _runs(reports: Iterable[HourReport]) -> Iterator[str]:
    """Yield a line for the hours that follow each other with the same state."""

    def run_of(numbered: tuple[int, HourReport]) -> tuple[object, ...]:
        index, report = numbered
        return report.hour - timedelta(hours=index), report.state, report.reason

    for _, run in groupby(enumerate(reports), run_of):
        first, *later = (report for _, report in run)
        names = (report.file.removesuffix(".json.gz") for report in (first, *later[-1:]))
        yield f"  {' to '.join(names)} {first.state}: {first.reason or ''}"


@renders(FetchedHistory)
def _fetched(result: FetchedHistory) -> Iterator[Piece]:
    history, refs = result.history, count(result.clone.refs, "ref")
    if not result.is_mined:
        yield Title(history.repo, f": {refs}")
        yield "The repository has not been mined, so no pull requests were read"
        return
    yield Title(
        history.repo,
        f": {refs}, {count(history.pulls, 'pull request')} read, "
        f"{count(history.changes, 'changed file')}, {count(history.fetched, 'file')} fetched",
    )
    kept = f"{count(result.clone.kept, 'commit')} kept that the source no longer has"
    yield result.clone.kept and kept
    cells = [*history.states.items(), *history.notes.items()]
    yield Table(("state or note", "pull requests"), cells)
    if history.disagreeing:
        numbers = names_text([f"#{number}" for number in history.disagreeing], _MOST)
        yield f"The size of the change differs from GitHub's: {numbers}"


@renders(PairResult)
def _paired(result: PairResult) -> Iterator[Piece]:
    yield Title(result.repo, f": {count(result.pairs, 'fix pair')} by rules {result.rules}")
    yield Table(("signal", "pairs"), tuple(result.by_signal.items()))
    yield result.unconfirmed and (
        f"Closing keywords without a confirming cross reference: {result.unconfirmed:,} "
        "(--rules unconfirmed accepts them)"
    )
    if result.lacks_history:
        yield Hint(f"No history: run goldpan clone --repo {result.repo}, then pair again")
    yield result.elsewhere and f"Links to issues of other repositories: {result.elsewhere:,}"
    if result.other_rules:
        yield f"Also stored: {', '.join(f'--rules {name}' for name in result.other_rules)}"
    if result.rules != DEFAULT_RULES:
        yield f"Later commands use these pairs with --rules {result.rules}"


@renders(Repair)
def _mended(result: Repair) -> Iterator[Piece]:
    kept = f"{count(result.kept, 'intact reply')} kept"
    yield f"{result.directory}: {count(result.flaws, 'damaged file')}, {kept}."
    yield from (f"  The damaged file is kept as {path}" for path in result.aside)
    parent = result.directory.parent
    if parent.parent.name == "raw":
        mine = f"goldpan mine --repo {parent.name}/{result.directory.name}"
        hint = f"  {mine} fetches what was lost; add --from-backup PATH if it came from a backup."
        yield Hint(hint)


@renders(TableCounts)
def _counted(result: TableCounts) -> Iterator[Piece]:
    cells = [(repo, *row) for repo, rows in result.tables.items() for row in rows.items()]
    yield Table(("repository", "table", "rows"), cells)

"""Print how right the findings of `goldpan audit` are on the rows that were read.

``python -m tests.gold.audit FINDINGS ...`` wants the tables of findings that audits of these rows
left, each an `audits/NAME/findings.parquet`. Precision is of the rows that are flagged now;
recall weights each row by the rows that it was drawn from.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from sklearn.metrics import cohen_kappa_score as kappa  # type: ignore[import-untyped]

from goldpan.core.proportions import Estimate, wilson

_HALVES = (("tuned",), ("held-back",), ("tuned", "held-back"))
_GROUPS = (
    ("solution-in-issue", "fix", ("told",)),
    ("solution-in-issue", "fix", ("told", "described")),
    ("solution-in-issue", "answer", ("told",)),
    ("place-in-issue", "fix", ("fully", "partly")),
    ("demanding-tests", "fix", ("named",)),
    ("demanding-tests", "fix", ("named", "behaviour")),
)


@dataclass(frozen=True, slots=True)
class Read:
    """A row that was read, with what an audit says of it now."""

    finding: str
    about: str
    half: str
    weight: float
    first: str
    second: str
    label: str
    verdict: str
    case: str


def read_rows(findings: Sequence[Path]) -> list[Read]:
    """Return the rows that were read and that these tables tell of."""
    now = {
        (row["finding"], row["id"]): (row["verdict"], row["case"] or "")
        for path in findings
        for row in pq.read_table(path).to_pylist()
    }
    with (Path(__file__).parent / "audit.csv").open(encoding="utf-8") as file:
        return [
            Read(
                row["finding"],
                row["about"],
                row["half"],
                float(row["weight"]),
                row["first"],
                row["second"],
                row["label"],
                *now[row["finding"], row["row"]],
            )
            for row in csv.DictReader(file)
            if (row["finding"], row["row"]) in now
        ]


def weighted(rows: Sequence[Read], is_right: Callable[[Read], bool]) -> Estimate:
    """Return a weighted share with the interval of as many equal rows as the weights are worth."""
    total = sum(row.weight for row in rows)
    if not total:
        return wilson(0, 0)
    share = sum(row.weight for row in rows if is_right(row)) / total
    worth = max(1, round(total**2 / sum(row.weight**2 for row in rows)))
    around = wilson(round(share * worth), worth)
    return Estimate(share, around.low, around.high)


def shown(share: Estimate) -> str:
    """Return a share with its interval in percent."""
    if share.value is None or share.low is None or share.high is None:
        return "-"
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"


def _lines(rows: Sequence[Read]) -> Iterator[str]:
    yield "| finding | about | right | half | precision | recall | read |"
    yield "|---|---|---|---|---:|---:|---:|"
    for finding, about, right in _GROUPS:
        of = [row for row in rows if (row.finding, row.about) == (finding, about)]
        for halves in _HALVES:
            told = [row for row in of if row.half in halves and row.verdict != "cannot-tell"]
            flagged = [row for row in told if row.verdict == "found"]
            hits = sum(row.label in right for row in flagged)
            precision = f"{hits}/{len(flagged)} = {shown(wilson(hits, len(flagged)))}"
            true = [row for row in told if row.label in right]
            recall = shown(weighted(true, lambda row: row.verdict == "found"))
            name = "both" if len(halves) > 1 else halves[0]
            cells = (finding, about, "/".join(right), name, precision, recall, str(len(told)))
            yield f"| {' | '.join(cells)} |"
    for finding, about, _ in dict.fromkeys((*group[:2], "") for group in _GROUPS):
        of = [row for row in rows if (row.finding, row.about) == (finding, about)]
        first, second = [row.first for row in of], [row.second for row in of]
        if of:
            yield f"{finding}, {about}: {len(of)} rows, kappa {kappa(first, second):.2f}"
    for halves in _HALVES:
        place = [row for row in rows if row.finding == "place-in-issue" and row.half in halves]
        right_case = wilson(sum(row.case == row.label for row in place), len(place))
        yield f"place-in-issue, {'/'.join(halves)}: the case as read {shown(right_case)}"


def read_survivors(draw: str) -> list[list[tuple[str, str]]]:
    """Return of each row what two readers said of its surviving variants: differs or alike.

    Of a row whose variants are all killed they said whether its tests are weak or strong. Variants
    that are not made any more are left out.
    """
    rows: dict[str, list[tuple[str, str]]] = {}
    with (Path(__file__).parent / "survivors.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["draw"] == draw and row["made"] == "yes":
                rows.setdefault(row["row"], []).append((row["first"], row["second"]))
    return list(rows.values())


def _survivor_lines(draw: str) -> Iterator[str]:
    read = read_survivors(draw)
    rows = [row for row in read if not {"weak", "strong"}.intersection(*row)]
    passed = [labels for row in read if row not in rows for labels in row]
    survivors = [labels for row in rows for labels in row]
    for reader in (0, 1):
        name = f"weak-tests, draw {draw}, reader {reader + 1}"
        hits = sum(any(labels[reader] == "differs" for labels in row) for row in rows)
        yield f"{name}: {hits}/{len(rows)} = {shown(wilson(hits, len(rows)))} of rows"
        differing = sum(labels[reader] == "differs" for labels in survivors)
        share = shown(wilson(differing, len(survivors)))
        yield f"{name}: {differing}/{len(survivors)} = {share} of survivors"
        strong = sum(labels[reader] == "strong" for labels in passed)
        if passed:
            share = shown(wilson(strong, len(passed)))
            yield f"{name}: {strong}/{len(passed)} = {share} of passed rows have strong tests"
    first, second = zip(*survivors, strict=True)
    yield f"weak-tests, draw {draw}: kappa {kappa(first, second):.2f}"


def _luck_line(findings: Sequence[Path]) -> str:
    columns = ["finding", "verdict"]
    told = [row for path in findings for row in pq.read_table(path, columns=columns).to_pylist()]
    luck = [row["verdict"] for row in told if row["finding"] == "luck"]
    flagged, rows = luck.count("found"), len(luck) - luck.count("cannot-tell")
    return f"luck: {flagged}/{rows} flagged {shown(wilson(flagged, rows))}"


def main(findings: Sequence[Path]) -> None:
    """Print precision and recall of each finding, and the agreement of the two readings."""
    survivors = [line for draw in ("1", "2", "3") for line in _survivor_lines(draw)]
    lines = (*_lines(read_rows(findings)), *survivors, _luck_line(findings))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])

"""How often equal models are declared different, and better ones found.

    python -m benchmarks.calibration --results FOLDER

Writes the tables of docs/statistics.md to standard output. Results are kept in FOLDER, and cells
that are finished there do not run again: use a new folder after changing a method. With `--share
1/2` and `--share 2/2` two processes run half of the cells each; one more run prints all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.calibration_cells import NAMED, NULLS, POWER, TASKS
from benchmarks.calibration_methods import METHODS, NEW_ROWS, NEW_TASKS, folds_and_projects
from benchmarks.calibration_runs import LIMIT, Runs, Tally, wilson

_PARTS = ("rows", "tasks", "power", "named")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what lacks, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="folder of results")
    parser.add_argument("--part", choices=_PARTS, action="append", help="one table; repeatable")
    parser.add_argument("--fewest", type=int, default=1_000, help="studies a cell")
    parser.add_argument("--most", type=int, default=8_000, help="studies a cell that is unclear")
    parser.add_argument(
        "--share", type=_share, default=(1, 1), help="K/N: the Kth of N shares of the cells"
    )
    parser.add_argument("--tables", action="store_true", help="run nothing, print what is there")
    settings = parser.parse_args(arguments)
    fewest, most = (0, 0) if settings.tables else (settings.fewest, settings.most)
    runs = Runs(settings.results, fewest, most)
    number, shares = settings.share
    failed = 0
    for part in settings.part or _PARTS:
        if part in ("rows", "tasks"):
            groups, method = (NULLS, NEW_ROWS) if part == "rows" else (TASKS, NEW_TASKS)
            tallies: dict[str, dict[str, Tally]] = {}
            for group, cells in groups.items():
                for cell in cells[number - 1 :: shares]:
                    tally = runs.repeat_until_clear(part, cell, method)
                    count = tally.different.get(method, 0)
                    print(f"{cell.named()}: {count} of {tally.repeats}", file=sys.stderr)
                    tallies.setdefault(group, {})[cell.named()] = tally
            failed += _print_nulls(part, tallies, method)
        else:
            cells = POWER if part == "power" else NAMED
            methods = [NEW_ROWS, NEW_TASKS] if part == "power" else list(METHODS)
            measured = {
                cell.named(): tally
                for cell in cells[number - 1 :: shares]
                if (tally := runs.repeat(part, cell, methods)).repeats
            }
            (_print_power if part == "power" else _print_named)(measured)
    if failed:
        raise SystemExit(f"{failed} cells are clearly above {100 * LIMIT:g}%")


def _share(text: str) -> tuple[int, int]:
    number, shares = (int(part) for part in text.split("/"))
    if not 1 <= number <= shares:
        raise ValueError(text)
    return number, shares


def _print_nulls(part: str, groups: Mapping[str, Mapping[str, Tally]], method: str) -> int:
    print(f"\n### New {part}: equal models declared different\n")
    print("| cells | studies | rate | highest cell | clearly below 6% | unclear | above |")
    print("|---|---|---|---|---|---|---|")
    every: dict[str, Tally] = {}
    lacking = 0
    for group, cells in groups.items():
        tallies = {name: tally for name, tally in cells.items() if tally.repeats}
        lacking += len(cells) - len(tallies)
        if tallies:
            print(_row(group, tallies.values(), method))
            every |= tallies
    if not every:
        return 0
    print(_row("all", every.values(), method))
    print("\n| highest cells | declared different | Wilson, 99% |\n|---|---|---|")
    for name in sorted(every, key=lambda name: -every[name].rate(method))[:10]:
        print(f"| {name} | {_counted(every[name], method)} | {_interval(every[name], method)} |")
    print(f"\nfewest studies a cell: {min(tally.repeats for tally in every.values()):,}", end="")
    print(f"; cells without any: {lacking}")
    return sum(_where(tally, method) == "above" for tally in every.values())


def _row(group: str, tallies: Iterable[Tally], method: str) -> str:
    cells = list(tallies)
    studies = sum(tally.repeats for tally in cells)
    share = sum(tally.different[method] for tally in cells) / studies
    places = [_where(tally, method) for tally in cells]
    highest = max(cells, key=lambda tally: tally.rate(method))
    clear = " | ".join(str(places.count(side)) for side in ("below", "unclear", "above"))
    return (
        f"| {group}: {len(cells)} | {studies:,} | {100 * share:.1f}% |"
        f" {_counted(highest, method)} | {clear} |"
    )


def _where(tally: Tally, method: str) -> str:
    low, high = wilson(tally.different[method], tally.repeats)
    return "below" if high <= LIMIT else "above" if low > LIMIT else "unclear"


def _counted(tally: Tally, method: str) -> str:
    count = tally.different[method]
    return f"{100 * tally.rate(method):.1f}% ({count:,} of {tally.repeats:,})"


def _interval(tally: Tally, method: str) -> str:
    low, high = wilson(tally.different[method], tally.repeats)
    return f"{100 * low:.1f} to {100 * high:.1f}%"


def _print_power(measured: Mapping[str, Tally]) -> None:
    print("\n### Power\n\n| cell | studies | new rows | new tasks |\n|---|---|---|---|")
    for name, tally in measured.items():
        shown = " | ".join(f"{100 * tally.power(method):.0f}%" for method in (NEW_ROWS, NEW_TASKS))
        print(f"| {name} | {tally.repeats:,} | {shown} |")


def _print_named(measured: Mapping[str, Tally]) -> None:
    print("\n### Methods by name: equal models declared different\n")
    print("| method | " + " | ".join(measured) + " |")
    print("|---" * (len(measured) + 1) + "|")
    for method in METHODS:
        shares = " | ".join(f"{100 * tally.rate(method):.1f}%" for tally in measured.values())
        print(f"| {method} | {shares} |")
    print("| studies | " + " | ".join(f"{tally.repeats:,}" for tally in measured.values()) + " |")
    random = np.random.default_rng(0)
    losses = sum(folds_and_projects(random) for _ in range(2_000))
    print(f"\nS8, mann-whitney u: {losses / 20:.1f}% of 2,000")


if __name__ == "__main__":
    main()

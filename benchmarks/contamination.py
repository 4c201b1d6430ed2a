"""What `goldpan contamination` takes for many rows against a large file.

Rows and items are synthetic: words drawn from 200,000, as rare as words are (Zipf), in texts of
ten to ninety words for rows and of 60 to 900 for the items, shaped as SWE-bench. One row in
a thousand quotes an item. The same is done with a quarter of the rows, to see how time grows::

    python -m benchmarks.contamination [--rows 1000000] [--megabytes 100]

Half an hour on two cores.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

_WORDS = 200_000
_BATCH = 10_000
_PROGRAM = "from goldpan.cli import main; main()"
_QUOTES = 1_000
"""One row in so many quotes an item."""


def _texts(draw: np.random.Generator, low: int, high: int, count: int) -> Iterator[list[str]]:
    lengths = draw.integers(low, high, count)
    flat = np.minimum(draw.zipf(1.3, int(lengths.sum())), _WORDS)
    at = 0
    for length in lengths.tolist():
        yield [f"w{number}" for number in flat[at : at + length].tolist()]
        at += length


def write_items(path: Path, size: int) -> list[str]:
    """Write items shaped as SWE-bench's of `size` bytes; return some of their texts."""
    draw = np.random.default_rng(0)
    quotes: list[str] = []
    written = number = 0
    with path.open("wb") as file:
        while written < size:
            for words in _texts(draw, 60, 900, 1_000):
                number += 1
                item = {
                    "repo": f"o{number % 50}/n",
                    "instance_id": f"o{number % 50}__n-{number}",
                    "base_commit": f"{number:040x}",
                    "problem_statement": " ".join(words[: len(words) // 2]),
                    "patch": " ".join(words[len(words) // 2 :]),
                    "FAIL_TO_PASS": "[]",
                }
                written += file.write(orjson.dumps(item) + b"\n")
                if len(quotes) < _QUOTES:
                    quotes.append(str(item["problem_statement"]))
    return quotes


def write_rows(path: Path, count: int, quoted: list[str]) -> int:
    """Write `count` rows; return how many of them quote an item."""
    draw = np.random.default_rng(1)
    schema = pa.schema([("id", pa.string()), ("repo", pa.string()), ("text", pa.string())])
    quotes = 0
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, _BATCH):
            rows = []
            for at, words in enumerate(_texts(draw, 10, 90, min(_BATCH, count - start)), start):
                text = " ".join(words)
                if at % _QUOTES == 0:
                    text, quotes = f"{text} {quoted[quotes % len(quoted)]}", quotes + 1
                rows.append({"id": f"row:{at}", "repo": f"o{at % 5_000}/n", "text": text})
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return quotes


def measure(rows: Path, items: Path) -> tuple[float, float, int, int]:
    """Return seconds of processors and of the clock, peak memory in MB, contaminated rows."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    arguments = ("contamination", str(rows), "--against", str(items), "--limit", "0", "--json")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], stdout=subprocess.PIPE, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss // 1024
    return spent, time.monotonic() - begun, peak, int(orjson.loads(done.stdout)["contaminated"])


def main() -> None:
    """Print what a quarter of the rows takes, and what all do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--megabytes", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        items, rows = Path(folder) / "items.jsonl", Path(folder) / "rows.parquet"
        quoted = write_items(items, options.megabytes * 1_000_000)
        for count in (options.rows // 4, options.rows):
            quotes = write_rows(rows, count, quoted)
            spent, clock, peak, contaminated = measure(rows, items)
            print(
                f"{count:,} rows against {items.stat().st_size / 1e6:,.0f} MB: {spent:,.0f} s of "
                f"processors, {clock:,.0f} s by the clock, {peak:,} MB at most; "
                f"{contaminated:,} rows found of {quotes:,} that quote an item",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Near duplicates among 200,000 issue texts: time, memory and recall, beside datatrove.

The texts are a real repository's issues, repeated under new numbers. In each repetition every
third word is another one, so that repetitions share no shingle; every fifth text is then a copy
of an earlier one with some words changed, its similarity known. Both tools compute as many hashes
in as many bands of the same shingles with two cores at hand. Each reads its own format from disk
and ends with clusters; Goldpan also compares the texts that meet, and says how similar they are.

datatrove lives in an environment of its own, which is named by ``--datatrove-python`` or the
variable ``GOLDPAN_DATATROVE_PYTHON``.::

    python -m venv datatrove-venv
    datatrove-venv/bin/pip install "datatrove[processing]==0.10.1" orjson
    python -m benchmarks.duplicates --datatrove-python datatrove-venv/bin/python

With ``--engine ray`` Goldpan works on two Ray nodes of one processor each, which are started on
this machine and counted with it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.backup import watch
from benchmarks.scale import base_world, mine_world, scratch
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.miners.tables.normalize import normalize

WORKERS = 2
BATCH = 5_000
# Its processes import the module by name, so it must not run as the main one.
OWN = ("-c", "from benchmarks.duplicates_goldpan import main; main()")
PEER = Path(__file__).with_name("duplicates_datatrove.py")
RANGES = ((0.0, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0), (1.0, 1.1))


@dataclass(frozen=True, slots=True)
class Planted:
    """A copy, the text it was made from, and their Jaccard similarity."""

    number: int
    source: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool took, and the cluster of each text that has one."""

    seconds: float
    processor: float
    peak_mb: float
    clusters: dict[int, str]


def issue_texts() -> list[str]:
    """Return the issue texts of the real repository, or of a synthetic one without it."""
    with scratch() as directory:
        workspace = WorkspaceLayout(Path(directory))
        repo = mine_world(base_world(), workspace.root).repo
        normalize(workspace, repo, Reporter(quiet=True))
        entries = pq.read_table(
            workspace.table(repo, "entries"),
            columns=["title", "body"],
            filters=[("kind", "=", "issue")],
        )
    rows = zip(entries["title"].to_pylist(), entries["body"].to_pylist(), strict=True)
    return [f"{title or ''}\n{body or ''}" for title, body in rows]


def repeated(base: list[str], count: int, planted: list[Planted]) -> Iterator[str]:
    """Yield texts with the numbers 0, 1, ...; the copies among them are noted in `planted`."""
    chance = random.Random(1)
    vocabulary = sorted({word for text in base for word in text.split()})
    sources: list[tuple[int, str]] = []
    for number in range(count):
        if number % 5 == 4 and sources:
            source, text = chance.choice(sources)
            copy = _edited(text, vocabulary, chance)
            planted.append(Planted(number, source, similarity(text, copy)))
            yield copy
            continue
        words = base[number % len(base)].split()
        for at in range(number % 3, len(words), 3):
            words[at] = chance.choice(vocabulary)
        text = " ".join(words)
        if len(_words(text)) >= 2 * DuplicateSettings().min_words:
            sources = [*sources[-999:], (number, text)]
        yield text


def _edited(text: str, vocabulary: list[str], chance: random.Random) -> str:
    words = text.split()
    if chance.random() < 0.2:
        return "\n".join(words).upper()
    for _ in range(chance.randint(1, max(1, len(words) // 7))):
        at = chance.randrange(len(words))
        words[at : at + chance.randint(0, 1)] = [chance.choice(vocabulary)][: chance.randint(0, 1)]
    return " ".join(words)


def similarity(left: str, right: str) -> float:
    """Return the Jaccard similarity of two texts' sets of shingles, computed plainly."""
    first, second = _shingles(left), _shingles(right)
    return len(first & second) / len(first | second)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _shingles(text: str) -> set[tuple[str, ...]]:
    width = DuplicateSettings().shingle_words
    words = _words(text)
    return {tuple(words[at : at + width]) for at in range(len(words) - width + 1)}


def write_texts(directory: Path, texts: Iterator[str]) -> int:
    """Write texts as Parquet and, dealt out to files, as JSON lines; return their size in bytes."""
    schema = pa.schema([("repo", pa.string()), ("number", pa.int64()), ("text", pa.string())])
    (directory / "json").mkdir()
    files = [(directory / "json" / f"{index}.jsonl").open("wb") for index in range(WORKERS)]
    size = number = 0
    with pq.ParquetWriter(directory / "texts.parquet", schema) as target:
        rows: list[str] = []
        for number, text in enumerate(texts):
            files[number % WORKERS].write(orjson.dumps({"id": str(number), "text": text}) + b"\n")
            size += len(text.encode())
            rows.append(text)
            if len(rows) == BATCH:
                target.write_table(_table(rows, number + 1, schema))
                rows = []
        target.write_table(_table(rows, number + 1, schema))
    for file in files:
        file.close()
    return size


def _table(rows: list[str], end: int, schema: pa.Schema) -> pa.Table:
    columns = [["o/r"] * len(rows), list(range(end - len(rows), end)), rows]
    return pa.table([pa.array(column) for column in columns], schema.names).cast(schema)


def measure(command: list[str], directory: str, name: str) -> Result:
    """Run a tool in a process of its own; its seconds include the start of the process."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        run = watch(process)
    table = pq.read_table(Path(directory) / f"{name}.parquet")
    named = dict(zip(table["number"].to_pylist(), table["cluster"].to_pylist(), strict=True))
    return Result(run.clock, run.processor, run.proportional, named)


def show(name: str, result: Result, count: int) -> None:
    """Print a tool's time and memory."""
    print(
        f"{name:<10} {result.seconds:7.1f} s ({result.processor:6.1f} s of processor time)  "
        f"{count / result.seconds:8,.0f} texts/s  peak of all processes {result.peak_mb:6,.0f} MB  "
        f"{len(result.clusters):,} in clusters"
    )


def show_recall(planted: list[Planted], results: list[Result]) -> None:
    """Print the share of planted copies that share a cluster with their source."""
    print("copies whose cluster is that of their source, by similarity")
    for low, high in RANGES:
        pairs = [pair for pair in planted if low <= pair.similarity < high]
        if not pairs:
            continue
        shares = [
            sum(
                pair.number in result.clusters
                and result.clusters[pair.number] == result.clusters.get(pair.source)
                for pair in pairs
            )
            / len(pairs)
            for result in results
        ]
        label = "1.0" if low == 1 else f"{low} to {high}"
        print(f"  {label:<12} {len(pairs):>7,}  " + "  ".join(f"{share:8.4f}" for share in shares))


def main() -> None:
    """Measure both tools and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    parser.add_argument(
        "--datatrove-python", default=os.environ.get("GOLDPAN_DATATROVE_PYTHON", "")
    )
    args = parser.parse_args()
    settings = DuplicateSettings()
    planted: list[Planted] = []
    with scratch() as name:
        directory = Path(name)
        size = write_texts(directory, repeated(issue_texts(), args.texts, planted))
        print(
            f"{args.texts:,} texts, {size / 1e6:,.0f} MB, {len(planted):,} planted; "
            f"{settings.shingle_words}-word shingles, {settings.bands} bands of {settings.rows}"
        )
        results = [
            measure([sys.executable, *OWN, name, str(WORKERS), args.engine], name, "goldpan")
        ]
        show("goldpan", results[0], args.texts)
        if args.datatrove_python:
            figures = (
                WORKERS,
                settings.shingle_words,
                settings.bands,
                settings.rows,
                settings.seed,
            )
            peer = [args.datatrove_python, str(PEER), name, *map(str, figures)]
            results.append(measure(peer, name, "datatrove"))
            show("datatrove", results[1], args.texts)
            print(
                f"datatrove takes {results[1].seconds / results[0].seconds:.1f} x the time and "
                f"{results[1].processor / results[0].processor:.1f} x the processor time"
            )
        else:
            print("datatrove is not measured: give --datatrove-python (see the module's text)")
        show_recall(planted, results)


if __name__ == "__main__":
    main()

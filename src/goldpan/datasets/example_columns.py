"""What the published example tables share: columns, kinds of values, and known limits."""

from __future__ import annotations

import pyarrow as pa

from goldpan.datasets.family import Column

TEXT = pa.string()
COUNT = pa.int64()
TIME = pa.timestamp("us", tz="UTC")
TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))


def list_of(**fields: pa.DataType) -> pa.DataType:
    """Return the type of a list of structs with these fields."""
    struct = pa.struct([pa.field(name, kind) for name, kind in fields.items()])
    return pa.list_(pa.field("item", struct, nullable=False))


REPOSITORY = (
    Column("repo", TEXT, "The repository, as owner/name."),
    Column("owner", TEXT, "The owner of the repository."),
    Column("name", TEXT, "The name of the repository without its owner."),
    Column("language", TEXT, "The main programming language of the repository, by GitHub."),
    Column("license", TEXT, "The SPDX identifier of the repository's license."),
)
ISSUE_NUMBER = Column("issue", COUNT, "The number of the issue.")
PULL_NUMBER = Column("pull", COUNT, "The number of the pull request that fixed the issue.")
LABELS = Column("labels", TEXTS, "The labels of the issue.", holds="prose")
ISSUE = (
    Column("title", TEXT, "The title of the issue.", holds="prose"),
    Column("body", TEXT, "The first text of the issue, in Markdown.", holds="prose"),
    Column("created_at", TIME, "When the issue was opened; splits by time go by it."),
    Column("updated_at", TIME, "When the issue last changed, as of mining."),
    Column("closed_at", TIME, "When the issue was closed, if it was."),
    LABELS,
)
MERGED_AT = Column("merged_at", TIME, "When the pull request was merged.")
SIGNALS = Column(
    "signals", TEXTS, "What shows that the pull request fixes the issue, such as keyword."
)
RAW = Column(
    "raw",
    TEXTS,
    "The archived replies of GitHub that the row was made of, as run-0001.zst@OFFSET.",
)
FAUN_EVAL = """\
@misc{hu2024fauneval,
  title         = {A Real-World Benchmark for Evaluating Fine-Grained Issue Solving Capabilities
                   of Large Language Models},
  author        = {Hu, Ruida and Peng, Chao and Ren, Jingyi and Jiang, Bo and Meng, Xiangxin and
                   Wu, Qinyun and Gao, Pengfei and Wang, Xinchen and Gao, Cuiyun},
  year          = {2024},
  eprint        = {2411.18019},
  archivePrefix = {arXiv},
  doi           = {10.48550/arXiv.2411.18019}
}"""
MINED_LIMITS = (
    "Texts are as they stood when the repository was mined; people may have edited them since "
    "they were first written.",
    "The texts are public, so models may have been trained on them. Split by time, or keep only "
    "issues from after a model's training data, where that matters.",
)

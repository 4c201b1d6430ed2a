"""Where models keep what several runs of a workspace use: embeddings and fine-tuned trunks.

    WORKSPACE/cache/
    ├── embeddings/DIGEST.sqlite  vectors of texts, by what made them (`vectors.py`)
    └── trunks/DIGEST/            a fine-tuned encoder, by all that it was trained on (`trunk.py`)

All of it can be deleted: it is made again when it is wanted.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson

from goldpan.core.workspace import make_directory
from goldpan.evaluation.model import TrainingContext

_CHARACTERS = 24


def cache_directory(context: TrainingContext, kind: str) -> Path:
    """Return a directory of the workspace that its runs share, and make it.

    A run works in ``WORKSPACE/runs/TASK/MODEL/RUN.work``, four levels below the workspace.
    """
    path = context.directory.parents[3] / "cache" / kind
    make_directory(path)
    return path


def digest(*parts: object) -> str:
    """Return a name for plain JSON data: another one for other data."""
    plain = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(plain).hexdigest()[:_CHARACTERS]

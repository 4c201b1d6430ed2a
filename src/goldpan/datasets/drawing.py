"""Draws by hash: what is drawn depends on the seed and the names alone, and stays as data grow."""

from __future__ import annotations

import hashlib


def draw_number(seed: int, *names: str) -> int:
    """Return a number below 2^64 that a seed and names give."""
    text = "\0".join((str(seed), *names))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

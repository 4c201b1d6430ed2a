"""Puts hostile texts between fences that they cannot imitate.

The code in the fences is a hash of all the texts: to write it into a text, one would have to know
the hash of a text that holds its own hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import orjson

from goldpan.llm.parts import Part


def fence_code(parts: Sequence[Part]) -> str:
    """Return the code that marks the fences of these texts: 32 characters in none of them."""
    data = orjson.dumps([[part.name, part.text] for part in parts])
    code = hashlib.sha256(data).hexdigest()[:32]
    while any(code in part.text for part in parts):
        code = hashlib.sha256(code.encode()).hexdigest()[:32]
    return code


def fenced(parts: Sequence[Part], code: str) -> str:
    """Return the texts, each between two lines that bear the code."""
    return "\n".join(
        f"=== {code} begin {part.name} ===\n{part.text}\n=== {code} end {part.name} ==="
        for part in parts
    )

"""What the demo's reviewer says: judgements written by people, served as a model's answers.

Of `assay` the first words of a fix or of a reply are the proof; no wish has an answer.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.openai_server import Said, answer

from .assay import evidence


@dataclass(frozen=True)
class _Judgement:
    quote: str
    verdict: str = "keep"
    reasons: Sequence[str] = ()
    confidence: float = 0.9


_TEXT = (Path(__file__).parent / "tracker_texts" / "judgements.toml").read_text(encoding="utf-8")
_TABLES = tomllib.loads(_TEXT)
# A pair shows its issue too, so the pull request's title decides first.
_JUDGEMENTS = {
    title: _Judgement(told) if isinstance(told, str) else _Judgement(**told)
    for title, told in {**_TABLES["pairs"], **_TABLES["issues"], **evidence()}.items()
}


def judge(body: dict[str, Any]) -> Said:
    """Answer a request by the texts in it; an issue or a pair without a judgement is an error."""
    prompt = body["messages"][1]["content"]
    verdict = next((verdict for title, verdict in _JUDGEMENTS.items() if title in prompt), None)
    if verdict is None:
        raise LookupError(f"Nobody judged {json.dumps(prompt)[:400]}")
    reply = _reply(prompt, verdict.quote) if verdict.verdict == "keep" else None
    return answer(
        verdict.verdict,
        verdict.quote,
        reasons=verdict.reasons,
        confidence=verdict.confidence,
        reply=reply,
    )


def _reply(prompt: str, quote: str) -> int | None:
    """Return the number of the reply that holds the quote; None for a pair, which has none."""
    before, separator, _ = prompt.partition(quote)
    numbers = re.findall(r"^=== \w+ begin reply (\d+) of", before, re.MULTILINE)
    return int(numbers[-1]) if separator and numbers else None

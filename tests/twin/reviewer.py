"""What the demo's reviewer says: judgements written by people, served as a model's answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.openai_server import Said, answer


@dataclass(frozen=True)
class _Judgement:
    quote: str
    verdict: str = "keep"
    reasons: tuple[str, ...] = ()
    confidence: float = 0.9


_ISSUES = {
    "Reader drops the last line": _Judgement("what is left there has to come out behind the loop"),
    "ignores its second predicate": _Judgement("It was meant to stop at the first *refusal*."),
    "Crash on an empty stream": _Judgement("It should ask with a default and return"),
    "Time zones are lost": _Judgement("`astimezone()` converts instead."),
    "How do I sieve two files": _Judgement("Then let the standard library merge them"),
    "Memory grows to 3 GB": _Judgement("`heapq.merge()` needs forty rows at a time"),
    "Which encodings does": _Judgement("`opened()` leaves the choice to Python"),
    "see the row before": _Judgement("let it be an object that remembers"),
    "the order of predicates": _Judgement("put first what is cheap and refuses most"),
    "Reading from our mirror": _Judgement(
        "ask me at <EMAIL> for access", "unsure", ("not-self-contained",), 0.5
    ),
    "UnicodeDecodeError on Windows": _Judgement("Run Python with `-X utf8`"),
    "safe to use from several threads": _Judgement("`self.done += 1` reads, adds and writes"),
    "Please support Python 3.8": _Judgement("3.8 gets no fixes after October 2024"),
    "`windows()` yields nothing": _Judgement("It must be `==`."),
    "reads past the end of the block": _Judgement("the distance to the end, `end - at`"),
    "return at the end of a stream": _Judgement("An empty string at the end, and yes"),
    "progress display flickers": _Judgement("`Progress` itself prints nothing, it only counts."),
    "`sample()` prefers late rows": _Judgement("it must be `randrange(index + 1)`"),
}
_PAIRS = {
    "Use less memory": _Judgement("This does not fix #22, but it helps.", "drop", ("partial",)),
    "Backport: globs": _Judgement("return lambda text: fnmatch(text, pattern)"),
    "Yield every window": _Judgement("+        if len(held) == size:"),
    "Read annotations late": _Judgement("+from __future__ import annotations"),
    "Draw the rule as wide": _Judgement('"-+-".join("-" * width for width in widths)'),
    "Read sizes without a unit": _Judgement("a last character that is a digit"),
    "Stay inside of the block": _Judgement("while (found < room"),
    "Rename nuget to nugget": _Judgement("(key(row), -index, row)", confidence=0.8),
    "Give all rows the same chance": _Judgement("place = dice.randrange(index + 1)"),
    "End quietly when nobody": _Judgement("except BrokenPipeError:"),
    "Add a reader of JSON Lines": _Judgement("yield json.loads(line)"),
}


def judge(body: dict[str, Any]) -> Said:
    """Answer a request by the texts in it; an issue or a pair without a judgement is an error."""
    prompt = body["messages"][1]["content"]
    # A pair shows its issue too, so the pull request's title decides first.
    verdict = next(
        (verdict for title, verdict in (_PAIRS | _ISSUES).items() if title in prompt), None
    )
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

"""Reads specifications, one plain text a file, and finds the verbs to mask in them.

SELU takes the verbs of a specification for the actions of its users (section III-B). spaCy finds
them, which comes with `goldpan-mining[nlp]` and needs a model of its own; `read` takes any other
finder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from goldpan.plugins.data import Task, UsageError, load, open_text, stem_of

Verbs = Callable[[str], list[tuple[int, int]]]
"""Finds the verbs of a text: where each starts and ends, in characters."""
_LONGEST = 1_000_000
"""Characters that the model is given at once; its memory grows with them."""


def read(task: Task, files: Sequence[Path], verbs: Verbs | None = None) -> Iterator[dict[str, Any]]:
    """Yield the specifications in the order of the files, which give them their ids.

    Raises `UsageError` where spaCy or its model is missing, or a text is too long for it.
    """
    find = verbs or spacy_verbs(task.settings.get("model", "en_core_web_sm"))
    for path in files:
        with open_text(path) as file:
            text = file.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise UsageError(
                f"{path} has more than {_LONGEST:,} characters", "Give one specification per file"
            )
        yield {
            "id": f"{task.name}:{stem_of(path)}",
            "source": path.name,
            "text": text,
            "masks": [{"start": start, "end": end} for start, end in find(text)],
        }


def spacy_verbs(model: str) -> Verbs:
    """Return a finder of verbs by a model of spaCy: the tokens whose part of speech is VERB."""
    spacy = load("spacy", "Finding verbs")
    try:
        pipeline = spacy.load(model)
    except OSError:
        raise UsageError(
            f"spaCy has no model {model!r}", f"Run python -m spacy download {model}"
        ) from None

    def find(text: str) -> list[tuple[int, int]]:
        return [
            (word.idx, word.idx + len(word.text)) for word in pipeline(text) if word.pos_ == "VERB"
        ]

    return find

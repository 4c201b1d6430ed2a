"""The purpose of a reply's sentences: explain, advise, ask back, thank, announce, close, triage.

The cues are English, as are the issues that the filters keep. Code, quotes, traces, addresses and
names of people are no sentences (`goldpan.text.prose`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

from goldpan.core.settings.file import read_toml
from goldpan.text.lines import LineKind, classify
from goldpan.text.prose import prose_of, split_sentences

_MOST_SENTENCES = 200
_LONGEST = 1_000  # characters of a sentence that are looked at
_WORD = re.compile(r"[^\W\d_]{2,}")
_SPAN = re.compile(r"`[^`\n]{1,200}`")
_ADDRESSED = re.compile(r"\s*@([A-Za-z0-9][A-Za-z0-9-]{0,38})\b")


def _cues(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern for sentences in lower case, which `re` searches in half the time.

    Alternatives begin with a letter, before which a look behind is the cheapest word boundary.
    """
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})")


_CUES = read_toml(resources.files(__package__) / "remarks.toml").values
_TODAY = _cues(*_CUES["today"])
"""How the problem stands today: that it is gone explains nothing."""

_NOTE = _cues(*_CUES["note"], *_CUES["today"])
"""One pattern for all kinds: the time goes into the places that are tried."""
_NOTE_OPENING = re.compile(
    r"^\W*(?:fixed|resolved|addressed|solved|merged|implemented|done|landed|completed)\b"
)
_THANKS = re.compile(
    r"^\W*(?:(?:very|so) )?(?:thank\w*|thx|cheers|great|awesome|nice|cool|perfect|sorry"
    r"|oh,? thank|(?:concept |approach )?n?ack\b|(?:i )?agree\w*|love\b|yes please"
    r"|same|me too|sounds|as i)\b"
)
_TRIAGE = re.compile(r"\W*triage\b")
_BRIEF = 40  # words; what opens with how the problem stands today may explain it in more
_UNSURE = _cues(*_CUES["unsure"])
_REASON = _cues(*_CUES["reason"])
_ADVICE = _cues(*_CUES["advice"])
_SOLVED = _cues(*_CUES["solved"])
_STEP = re.compile(
    r"\bby (?:add|remov|delet|sett|runn|us|install|replac|go|chang|call|pass|edit|revert|downgrad"
    r"|upgrad|updat|enabl|disabl|creat|mov|renam|unsett|switch)ing\b"
    r"|^\W*(?:use|try|run|add|remove|install|set|make sure|delete|upgrade|update|downgrade|replace"
    r"|change|call|pass|enable|disable|edit|put|include|define|compile|build|link|configure|create"
    r"|move|rename|switch|export|unset|rebuild|reinstall|sudo|pip|npm|brew|apt|cargo|git)\b"
)


@dataclass(frozen=True, slots=True)
class Remarks:
    """Contents of a reply; words are those of its sentences, without code and quotes."""

    words: int
    """Words of all sentences."""
    statement_words: int
    """Words of the sentences that are neither notes nor questions."""
    question_words: int
    """Words of questions."""
    reasons: bool
    """True where a sentence gives a reason."""
    steps: bool
    """True where a sentence says what to do."""
    solved: bool
    """True where a sentence says that something solved the problem."""
    code: bool
    """True where the reply has a block of code and is no mere report of the problem's status."""
    spans: bool
    """The same for code within a line."""
    quotes: int
    """Lines that it quotes."""
    thanks: bool
    """True where the reply opens with thanks or agreement."""
    unsure: bool
    """True where a sentence that is no question makes a guess."""
    addressed: str | None
    """The login with which it opens, in lower case."""


def read_remarks(text: str) -> Remarks:
    """Read the contents of a reply in time linear in its length."""
    lines = classify(text)
    written = prose_of(lines)
    stretches = split_sentences(written, "join")[:_MOST_SENTENCES]
    sentences = [written[part.start : part.end][:_LONGEST].lower() for part in stretches]
    words = statement_words = question_words = 0
    reasons = steps = solved = unsure = False
    status = _is_status(sentences)
    for sentence in sentences:
        size = len(_WORD.findall(sentence))
        words += size
        if sentence.endswith("?"):
            question_words += size
            continue
        if not (status or _NOTE_OPENING.match(sentence) or _NOTE.search(sentence)):
            statement_words += size
        reasons = reasons or _REASON.search(sentence) is not None
        steps = steps or _ADVICE.search(sentence) is not None or _STEP.search(sentence) is not None
        solved = solved or _SOLVED.search(sentence) is not None
        unsure = unsure or _UNSURE.search(sentence) is not None
    opening = next((line.text for line in lines if line.kind is LineKind.PROSE and line.text), "")
    addressed = _ADDRESSED.match(opening)
    return Remarks(
        words=words,
        statement_words=statement_words,
        question_words=question_words,
        reasons=reasons,
        steps=steps,
        solved=solved,
        code=not status and any(line.kind is LineKind.CODE for line in lines),
        spans=not status and _SPAN.search(text) is not None,
        quotes=sum(line.kind is LineKind.QUOTE for line in lines),
        thanks=bool(sentences) and _THANKS.match(sentences[0]) is not None,
        unsure=unsure,
        addressed=addressed[1].lower() if addressed else None,
    )


def _is_status(sentences: list[str]) -> bool:
    """Return whether a reply only reports the problem's status."""
    if not sentences:
        return False
    if _TRIAGE.match(sentences[0]):
        return True
    if _TODAY.search(sentences[0]) is None:
        return False
    return sum(len(_WORD.findall(sentence)) for sentence in sentences) < _BRIEF

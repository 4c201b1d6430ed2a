"""Reads the subjects that a profile keeps, makes their texts fit to leave the machine."""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import orjson
import pyarrow as pa
import zstandard

from goldpan.annotation.review.subjects import ReviewItem, SubjectKind
from goldpan.core.resources import named
from goldpan.core.sanitize import for_prompt, line, without_tokens
from goldpan.core.schemas import DUPLICATES, VERDICTS
from goldpan.core.workspace import Workspace
from goldpan.filters.criterion import KEYS
from goldpan.filters.profile import Profile
from goldpan.filters.repo_view import RepoView, open_material
from goldpan.filters.stored import current_verdicts
from goldpan.text.markers import nfkc
from goldpan.text.redaction import redact

# Finds texts that try to steer the model that reads them.
#
# Patterns find what attackers write, not what they could write: a text in which nothing is found
# may still be hostile, which is why texts are fenced as well. What is found goes to people. Every
# quantifier is bounded, so time is linear in the text.

_MODEL = (
    r"(?:AI|LLM|large language model|language model|chatbot|ChatGPT|GPT-?\d\w{0,3}|Claude|Gemini"
    r"|Copilot)"
)
_TOLD = r"(?:instructions?|prompts?|rubric|guidelines|directives|commands)"
_PATTERNS = {
    "override": (
        rf"\b(?:ignore|disregard|forget|override|skip)\b[^.\n]{{0,30}}\b(?:previous|prior|above|"
        rf"earlier|preceding|your|these|original|system)\b[^.\n]{{0,20}}\b{_TOLD}\b"
        rf"|\b(?:ignore|disregard|forget) (?:all|any|every|the) {_TOLD}\b"
        r"|\bnew (?:system )?(?:instructions|prompt):"
        r"|\byour (?:real|new|true|actual) (?:task|job|instructions)\b"
        r"|\bdo not follow (?:the|your|any) (?:\w{1,20} )?instructions\b"
        r"|\byou are now (?:in )?(?:an?|the|DAN|developer|debug|jailbroken)\b"
    ),
    "addressed": (
        rf"\b(?:if|when|since|as) you(?:'re| are) an? (?:\w{{1,20}} )?{_MODEL}\b"
        r"|\b(?:note|message|attention|instructions?|hint|dear|hello|hey)[ ,:]{1,3}(?:to|for)?[ ]?"
        rf"(?:the |any |all )?{_MODEL}(?:s)?\b(?: reviewer| assistant| model| judge)?[ ]?[:,]"
        rf"|\byou(?:'re| are) (?:an?|the) (?:helpful |impartial )?(?:{_MODEL}|AI assistant|judge"
        r"|grader|reviewing model)\b"
    ),
    "answer": (
        r"\b(?:answer|respond|reply|output|return|say|print|write)\b[^.\n]{0,30}"
        r"(?:[\"'`“](?:yes|keep|approved?|accept)[\"'`”]|(?-i:\bKEEP\b|\bYES\b))"
        r"|\"?verdict\"?\s{0,5}[:=]\s{0,5}\"?(?:keep|drop|yes)\b"
        r"|\b(?:verdict|rating|label) (?:must|should|has to|is to) be\b[^.\n]{0,20}\bkeep\b"
        r"|\b(?:rate|score|grade|judge|classify|label) (?:this|it|the \w{1,20}) (?:as|with)\b"
        r"[^.\n]{0,20}\b(?:keep|kept|yes|accepted|approved)\b"
        r"|\bkeep\b[^.\n]{0,20}\bconfidence\b[^.\n]{0,10}\b(?:1|100)\b"
        r"|\bmark (?:this|it) as (?:keep|kept|accepted|valid)\b"
        r"|\b(?:confidence|score)\s{0,3}[:=]\s{0,3}1(?:\.0)?\b[^\n]{0,40}\b(?:keep|verdict)"
    ),
    "role": (
        r"<[|｜][\w▁ ]{1,40}[|｜]>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"
        r"|</?(?:system|assistant|developer)(?:_(?:prompt|message))?>"
        r"|\"role\"\s{0,5}:\s{0,5}\"(?:system|developer)\""
        r"|^\W{0,5}(?:begin|end|start)(?:ing)? (?:of )?(?:the )?(?:system|assistant|developer) "
        r"(?:prompt|message)"
        r"|^\s{0,3}(?:\#{1,6} |\*\*)?(?:system|developer)(?: prompt| message)(?:\*\*)?:"
    ),
    "tool": (
        r"</?(?:tool_calls?|function_calls?|tool_response|function_results?|invoke|antml:\w{1,20})\b"
        r"[^>\n]{0,80}>|\"(?:tool_calls|function_call)\"\s{0,5}:"
    ),
    "delimiter": (
        r"^===? [0-9a-f]{8,64} (?:begin|end) "
        r"|^\W{0,9}(?:begin|end)(?: of)?(?: the| untrusted| user)?"
        r" (?:data|input|texts?|context|document|issue|user content|review)\W{0,9}$"
    ),
}
_FINDERS = {kind: re.compile(pattern, re.I | re.M) for kind, pattern in _PATTERNS.items()}
_TAGS = re.compile("(?<!\U0001f3f4)(?<![\U000e0020-\U000e007f])[\U000e0020-\U000e007f]+")
_REORDERED = re.compile("[\u202d\u202e]")
_ZEROS = re.compile("&#0++(?=[0-9])")
_NO_CHARACTER = re.compile("&#[0-9]{8,}+;?")


def find_injection(text: str) -> list[str]:
    """Return what looks like an attempt to steer a model: kind and words, a line for each kind.

    Words are searched as a model may read them: without unseen characters, with hidden tags
    spelled out, compatibility forms folded and HTML entities resolved.
    """
    suspicions = [f"hidden: {spelled}" for spelled in _hidden(text)][:1]
    tags = "\n".join(_spelled(match[0]) for match in _TAGS.finditer(text))
    plain = nfkc(_resolved(for_prompt(text) + "\n" + tags))
    for kind, finder in _FINDERS.items():
        if match := finder.search(plain):
            suspicions.append(f"{kind}: {line(match[0], 120)}")
    return suspicions


def _hidden(text: str) -> Iterator[str]:
    for match in _TAGS.finditer(text):
        yield line(_spelled(match[0]), 120) or "tag characters"
    if _REORDERED.search(text):
        yield "characters that reverse the direction of writing"


def _resolved(text: str) -> str:
    """Return a text without HTML entities; Python refuses numbers of thousands of digits."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", _ZEROS.sub("&#", text)))


def _spelled(tags: str) -> str:
    return "".join(chr(ord(tag) - 0xE0000) for tag in tags if ord(tag) < 0xE007F)


def read_cases(
    workspace: Workspace, repo: str, profile: Profile, kind: SubjectKind, limit: int | None = None
) -> Iterator[ReviewItem]:
    """Yield the subjects of a kind that a profile keeps, with `limit` so many drawn by hash.

    Texts are redacted, and plain. Raises `WorkspaceError` where the repository is not filtered by
    the profile as it stands.
    """
    verdicts = current_verdicts(workspace, repo, profile)
    bots = profile.settings["bots"]
    none = DUPLICATES.schema.empty_table()
    with open_material(workspace, repo, bots, none, 1) as view:
        view.keep(verdicts, kind.subject, kind.required)
        if limit is not None:
            _draw(view, limit)
        for case in kind.read(view):
            yield prepare(case)


def prepare(case: ReviewItem) -> ReviewItem:
    """Return a case whose texts are plain and redacted, with what is suspicious in them."""
    parts = []
    suspicions: Counter[str] = Counter()
    for part in case.parts:
        suspicions.update(f"{part.name}: {suspicion}" for suspicion in find_injection(part.text))
        text = without_tokens(for_prompt(redact(for_prompt(part.text)).text))
        parts.append(replace(part, text=text))
    return replace(case, parts=tuple(parts), suspicions=tuple(suspicions))


def _draw(view: RepoView, limit: int) -> None:
    """Leave so many subjects in `kept`: the same ones each time, with others only added."""
    rows = view.sql("SELECT issue, pull_repo, pull FROM kept").to_pylist()
    rows.sort(key=lambda row: hashlib.sha256(orjson.dumps([view.repo, *row.values()])).digest())
    schema = pa.schema([VERDICTS.schema.field(name) for name in KEYS["pair"]])
    sample = pa.Table.from_pylist(rows[:limit], schema=schema)
    view.connection.register("drawn", sample)
    view.connection.execute("CREATE OR REPLACE TEMP TABLE kept AS FROM drawn")


_CASES = msgspec.json.Decoder(ReviewItem)


class CaseFile:
    """Cases on disk, which are gone through several times; private texts are not among them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.repositories: list[tuple[str, int]] = []
        """Each repository and how many cases it has, in the order of the cases."""

    def write(self, repo: str, cases: Iterable[ReviewItem]) -> None:
        """Add the cases of a repository."""
        count = 0
        with named(self._path), zstandard.open(self._path, "ab") as file:
            for case in cases:
                file.write(orjson.dumps(case) + b"\n")
                count += 1
        self.repositories.append((repo, count))

    def __iter__(self) -> Iterator[ReviewItem]:
        unpacker = zstandard.ZstdDecompressor()
        with (
            self._path.open("rb") as packed,
            unpacker.stream_reader(packed, read_across_frames=True) as file,
        ):
            rest = b""
            while chunk := file.read(2**20):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(_CASES.decode, lines)


@contextmanager
def case_file(workspace: Workspace) -> Iterator[CaseFile]:
    """Open an empty file of cases that is removed afterwards."""
    with workspace.scratch() as scratch:
        yield CaseFile(scratch / "cases.zst")

"""Reads the subjects that a profile keeps, makes their texts fit to leave the machine."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow as pa
import zstandard

from goldpan.annotation.review.injection import find_injection
from goldpan.annotation.review.item import ReviewItem, SubjectKind
from goldpan.core.resources import named
from goldpan.core.sanitize import for_prompt, without_tokens
from goldpan.core.schemas import DUPLICATES, VERDICTS
from goldpan.core.workspace import Workspace
from goldpan.filters.criterion import KEYS
from goldpan.filters.profile import Profile
from goldpan.filters.repo_view import RepoView, open_material
from goldpan.filters.stored import current_verdicts
from goldpan.text.redaction import redact


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
                file.write(orjson.dumps(case.plain()) + b"\n")
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
                for line in lines:
                    yield ReviewItem.from_plain(orjson.loads(line))


@contextmanager
def case_file(workspace: Workspace) -> Iterator[CaseFile]:
    """Give an empty file of cases that vanishes afterwards."""
    with workspace.scratch() as scratch:
        yield CaseFile(scratch / "cases.zst")

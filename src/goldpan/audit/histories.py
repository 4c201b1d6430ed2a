"""Reads when the texts of rows came to be from the tables of their repositories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime

from goldpan.audit.rows import Row
from goldpan.audit.times import NOT_READ, Times
from goldpan.core.sealed import seal_of_parquet
from goldpan.core.workspace import Workspace
from goldpan.miners.versions import TABLES, Versions, open_versions


class Histories(ExitStack):
    """The histories of rows' texts; opens the tables of repositories as they are asked for."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        super().__init__()
        self._versions: dict[str, Versions | None] = {}
        self._edited = 0
        self._untold = Counter[str]()

    def add_to(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows with the times of their texts."""
        times: dict[int, Times] = {}
        for repo in sorted({row.repo for row in rows}):
            places = [place for place, row in enumerate(rows) if row.repo == repo]
            found = self._times(repo, [rows[place] for place in places])
            times |= dict(zip(places, found, strict=True))
        dated = [replace(row, times=times[place]) for place, row in enumerate(rows)]
        for row in dated:
            self._count(row)
        return dated

    def read(self) -> dict[str, str]:
        """Return the digests of the tables that were read, by repository."""
        used = sorted(repo for repo, versions in self._versions.items() if versions)
        paths = {
            f"{name} {repo}": self._workspace.table(repo, name)
            for repo in used
            for name in (*TABLES, "edits")
        }
        return {name: seal_of_parquet(path) for name, path in paths.items() if path.exists()}

    def notes(self) -> tuple[str, ...]:
        """Return how many rows had a text edited since, and of how many nobody can tell."""
        notes = []
        if self._edited:
            notes.append(f"Edited after the fix was begun, or the answer given: {self._edited:,}")
        for why, count in self._untold.most_common():
            notes.append(f"Whether a text was edited since cannot be told of {count:,}: {why}")
        return tuple(notes)

    def _times(self, repo: str, rows: Sequence[Row]) -> list[Times]:
        versions = self._open(repo)
        if versions is None:
            remedy = f"Run goldpan mine --repo {repo}" if repo else "Give rows that name one"
            why = NOT_READ if repo else "the rows name no repository"
            return [Times(lacks=why, remedy=remedy) for _ in rows]
        pulls = {row.pull for row in rows if row.pull}
        written = versions.of({number for row in rows for number in row.issues} | pulls)
        work = versions.work(pulls)
        made = []
        for row in rows:
            texts = tuple(text for number in row.issues for text in written.get(number, ()))
            fix = work.get(row.pull or 0) if row.has_fix else None
            at = fix.begun if fix else None if row.has_fix else _answered(row)
            why, remedy = "", f"Run goldpan mine --repo {repo}"
            if not texts:
                why, remedy = "the row names no issue that was mined", "Give rows with issue"
            elif at is None:
                why = "nothing tells when its fix was begun"
            made.append(Times(at, texts, written.get(row.pull or 0, ()), fix, why, remedy))
        return made

    def _open(self, repo: str) -> Versions | None:
        if repo not in self._versions:
            tables = [self._workspace.table(repo, name) for name in TABLES] if repo else []
            is_there = bool(tables) and all(path.exists() for path in tables)
            opened = open_versions(self._workspace, repo) if is_there else None
            self._versions[repo] = self.enter_context(opened) if opened else None
        return self._versions[repo]

    def _count(self, row: Row) -> None:
        stood = [(text, *row.times.before(text)) for text in row.texts if text.of_issue]
        if why := next((why for _, _, why in stood if why), ""):
            self._untold[f"{why}. {row.times.remedy}"] += 1
        elif any(earlier != text for text, earlier, _ in stood):
            self._edited += 1


def _answered(row: Row) -> datetime | None:
    at = row.columns.get("answer_created_at")
    return at if isinstance(at, datetime) else None

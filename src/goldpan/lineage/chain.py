"""Recomputes what a published row rests on, stage by stage: `goldpan trace --verify`.

Replies and git's objects are verified by their digests. Tables, pairs, revisions, verdicts and the
row are made anew from them in a scratch workspace and compared with those that are stored, so that
nothing holds merely because a file says so of itself. Answers of models and runs of tests cannot be
had again alike: they are verified by the digests in the records that rest on them.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.annotation.review.stored import lost_answers, review_path
from goldpan.builders.recipes import find_recipe
from goldpan.builders.repository_rows import write_rows
from goldpan.builders.request import AS_MINED, BuildRequest
from goldpan.core.errors import GoldpanError, UnknownNameError, UsageError
from goldpan.core.plugins.loading import plugin_command
from goldpan.core.result import count
from goldpan.core.storage.archive import Archive, check_archive
from goldpan.core.storage.sealed import file_digest, seal_of_parquet
from goldpan.core.storage.workspace import UNPAIRED, WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.spool import Spool
from goldpan.execution.records import (
    RECORD,
    changed_files,
    instance_of,
    read_record,
    record_directory,
    records_digest,
)
from goldpan.filters.clusters import duplicates_path
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import CRITERIA, Profile, profile_of
from goldpan.filters.stored import inputs_digest, read_stored_profile
from goldpan.git.clone import read_heads
from goldpan.git.objects import Objects
from goldpan.git.refs import verify_clone
from goldpan.lineage.stages import STAGES
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.tables.normalize import check_replies, normalize

_SHARED = ("raw", "git", "reviews", "annotations", "verification")
OBJECTS = ("base_sha", "head_sha", "base_commit", "blob_before", "blob_after", "commit", "blob")
"""The columns of rows that name objects of git."""
_QUIET = Reporter(quiet=True)


class _BrokenError(Exception):
    """A link that does not hold, and why."""


@dataclass(frozen=True, slots=True)
class Link:
    """One step of the way from raw replies to a published row."""

    step: str
    holds: bool | None
    """None where it cannot be made anew here."""
    found: str
    """A sentence on what was compared, or on the difference."""


def verify_chain(
    workspace: WorkspaceLayout, row: Mapping[str, Any], provenance: Mapping[str, Any]
) -> tuple[Link, ...]:
    """Recompute everything that a row of a dataset rests on, in the order of the stages.

    `provenance` is the dataset's, whose files were verified. It takes as long as normalizing,
    filtering and building the row's repository.
    """
    repo = row.get("repo")
    sources = provenance.get("sources", ())
    source = next((s for s in sources if str(s["repo"]).lower() == str(repo).lower()), None)
    if repo is None or source is None:
        return (Link("sources", None, "the dataset names no repository of the row"),)
    rules = str(source.get("rules") or UNPAIRED)
    with workspace.scratch() as scratch:
        anew = _again(workspace, scratch / "w", repo)
        stored, anew = workspace.by_rules(rules), anew.by_rules(rules)
        chain = _Chain(stored, anew, row, provenance, repo, source.get("inputs", {}))
        return tuple(chain.links())


@dataclass(frozen=True, slots=True)
class _Chain:
    """The links of one row."""

    stored: WorkspaceLayout
    anew: WorkspaceLayout
    row: Mapping[str, Any]
    provenance: Mapping[str, Any]
    repo: str
    inputs: Mapping[str, str]
    """The digests of what the dataset was made of."""

    def links(self) -> Iterator[Link]:
        """Yield the links that the row has, from its sources on."""
        tables, clone = "tables" in self.inputs, self.stored.clone(self.repo).exists()
        raw = any(name.startswith("raw/") for name in self.inputs)
        git = any(name.startswith("git ") for name in self.inputs)
        history = STAGES["history"].files(self.stored.root, repo=self.repo)
        links: tuple[tuple[object, str, Callable[[], str]], ...] = (
            (raw, "raw replies", self._replies),
            (git or clone, "git objects", self._objects),
            (tables, "tables", self._tables),
            (tables and self.stored.paired_by(self.repo), "pairs", self._pairs),
            (tables and clone and history, "history", self._history),
            (tables, "judged tables", self._judged),
            ("verdicts" in self.inputs, "verdicts", self._verdicts),
            ("reviews" in self.inputs, "reviews", self._reviews),
            (self.row.get("verification_digest"), "test runs", self._test_runs),
            (True, "row", self._made),
        )
        for is_part, step, verify in links:
            if is_part:
                yield self._link(step, verify)

    def _link(self, step: str, verify: Callable[[], str]) -> Link:
        try:
            return Link(step, True, verify())
        except UnknownNameError as error:
            if plugins := self.provenance.get("plugins"):
                traced = f"trace {shlex.quote(str(self.row['id']))} --verify"
                return Link(step, None, f"{error.problem}. Run {plugin_command(plugins, traced)}.")
            return Link(step, None, str(error))
        except UsageError as error:  # the family is not made row by row
            return Link(step, None, str(error))
        except (_BrokenError, GoldpanError, OSError, pa.ArrowException) as error:
            return Link(step, False, str(error).splitlines()[0])

    def _replies(self) -> str:
        directory = self.stored.raw(self.repo)
        for flaw in check_archive(directory):
            raise _BrokenError(f"{flaw.path} at byte {flaw.start}: {flaw.reason}")
        if "tables" in self.inputs:
            check_replies(self.stored, self.repo)
        for name in self.inputs:
            if name.startswith("raw/"):
                self._recorded(name, directory / name.removeprefix("raw/"))
        records = {record.name for record in Archive(directory).records}
        names = self.row.get("raw") or ()
        if missing := [name for name in names if name not in records]:
            raise _BrokenError(f"{directory} has no reply {missing[0]}")
        return f"{count(len(records), 'record')} intact, {len(names):,} of this row"

    def _objects(self) -> str:
        clone = self.stored.clone(self.repo)
        verify_clone(clone)
        heads = read_heads(clone)
        for name, value in (("git HEAD", heads.head), ("git refs", heads.refs)):
            if self.inputs.get(name, value) != value:
                raise _BrokenError(f"{name} changed since the dataset was built")
        ids = [self.row[name] for name in OBJECTS if self.row.get(name)]
        with Objects(clone) as objects:
            for id_, read in zip(ids, objects.read(ids), strict=True):
                if read is None or read.data is None:
                    raise _BrokenError(f"{clone} has no object {id_}")
                head = f"{read.kind} {len(read.data)}\0".encode()
                if hashlib.sha1(head + read.data, usedforsecurity=False).hexdigest() != id_:
                    raise _BrokenError(f"the object {id_} has another digest")
        return f"packs and refs intact, {count(len(ids), 'object')} of this row"

    def _tables(self) -> str:
        normalize(self.anew, self.repo, _QUIET, workers=1)
        return self._same("normalize")

    def _pairs(self) -> str:
        for rules in self.stored.paired_by(self.repo):
            try:
                pair(self.anew, self.repo, find_rules(rules))
            except UnknownNameError:  # a plugin's
                if rules == self.stored.rules_of(self.repo):
                    raise
                _link_to(self.stored.pairs(self.repo, rules), self.anew.pairs(self.repo, rules))
        return self._same("pair")

    def _history(self) -> str:
        read_history(self.anew, self.repo, _QUIET, network=False)
        return self._same("history")

    def _judged(self) -> str:
        self._need_rules()
        for name, workspace in (("recomputed", self.anew), ("stored", self.stored)):
            if inputs_digest(workspace, self.repo) != self.inputs["tables"]:
                raise _BrokenError(f"the tables as {name} are not those of provenance.json")
        return "the tables match provenance.json"

    def _verdicts(self) -> str:
        self._need_rules()
        profile = self._profile()
        run_filters(self.anew, [self.repo], profile, _QUIET)
        found = self._same("filter", profile=profile.name)
        self._recorded("verdicts", self.stored.verdicts(self.repo, profile.name))
        duplicates = duplicates_path(self.anew, profile.settings["near-duplicates"])
        self._recorded("duplicates", duplicates)
        return found

    def _reviews(self) -> str:
        path = review_path(self.stored, self.repo, self.provenance["profile"]["name"])
        if lost := lost_answers(self.stored, path):
            raise _BrokenError(f"{lost[0]}: {lost[1]}")
        self._recorded("reviews", path)
        return "the verdicts of models, and every answer that they rest on"

    def _test_runs(self) -> str:
        instance = instance_of(self.row)
        directory = record_directory(self.stored, instance)
        for path, reason in changed_files(directory, RECORD):
            raise _BrokenError(f"{path}: {reason}")
        record = read_record(directory, instance)
        if record is None or record.digest != self.row["verification_digest"]:
            raise _BrokenError(f"{directory / RECORD} is of another run than the row's")
        if records_digest(self.stored, self.repo) != self.inputs.get("verification"):
            raise _BrokenError("tests were run again since the dataset was built")
        return "the record that the row names, with its logs and reports"

    def _made(self) -> str:
        family = self.provenance.get("family")
        if "verdicts" not in self.inputs:
            again = f"rows of {family} are drawn from all at once: build it again and compare"
            raise UsageError(again, "Run goldpan diff")
        self._need_rules()
        made = self._row_anew()
        if made is None:
            raise _BrokenError("the builder no longer makes this row from the stored tables")
        differing = [column for column in self.row if made.get(column) != self.row[column]]
        if differing:
            raise _BrokenError(f"recomputed, it differs in {', '.join(differing)}")
        return f"recomputed, equal in all {count(len(self.row), 'column')}"

    def _row_anew(self) -> dict[str, Any] | None:
        """Return the row as the builder makes it, None where it makes none.

        Raises `UsageError` for a family that is not made of one repository at a time.
        """
        settings = self.provenance["settings"]
        recipe = find_recipe(str(self.provenance["family"]))
        request = BuildRequest(
            recipe.family.name,
            [self.repo],
            self._profile(),
            SplitPlan(),
            self.anew.root,
            reviews=settings["reviews"],
            answer=settings.get("answer"),
            sources=settings.get("sources", ()),
            texts=settings.get("texts", AS_MINED),
        )
        scratch = self.anew.root / "rows"
        scratch.mkdir()
        spool = Spool([write_rows(self.anew, request, scratch, self.repo).path], ["id"])
        ids = spool.facts["id"].to_pylist()
        for rows in spool.read([at for at, name in enumerate(ids) if name == self.row["id"]]):
            return dict(rows.to_pylist()[0])
        return None

    def _profile(self) -> Profile:
        """Return the profile that stands behind the stored verdicts.

        Raises `UsageError` for criteria that are not known here.
        """
        chosen = profile_of(self.provenance["profile"])
        stored = read_stored_profile(self.stored.verdicts(self.repo, chosen.name))
        for name in stored.get("judged", ()):
            CRITERIA.find(name)
        return profile_of(stored) if stored else chosen

    def _need_rules(self) -> None:
        """Raise `UnknownNameError` where the pairs could not be made anew."""
        if rules := self.stored.rules_of(self.repo):
            find_rules(rules)

    def _same(self, stage: str, **fields: str) -> str:
        """Compare what a stage made anew with what is stored."""
        files = STAGES[stage].files(self.anew.root, repo=self.repo, **fields)
        tables = [path for path in files if path.suffix == ".parquet" and not path.is_symlink()]
        for anew in tables:
            stored = self.stored.root / anew.relative_to(self.anew.root)
            if not stored.exists():
                raise _BrokenError(f"{stored} is gone")
            if seal_of_parquet(stored) != seal_of_parquet(anew):
                raise _BrokenError(f"{stored} differs from what its inputs give when recomputed")
        return f"{', '.join(path.stem for path in tables)}: recomputed, same bytes"

    def _recorded(self, name: str, path: Path) -> None:
        """Compare a file with the digest that provenance names."""
        digest = seal_of_parquet if path.suffix == ".parquet" else file_digest
        if name in self.inputs and not (path.exists() and digest(path) == self.inputs[name]):
            raise _BrokenError(f"{name} changed since the dataset was built")


def _again(workspace: WorkspaceLayout, root: Path, repo: str) -> WorkspaceLayout:
    """Return a workspace with the same sources and none of the repository's tables."""
    anew, old = WorkspaceLayout(root), workspace.root.absolute()
    root.mkdir()
    for name in _SHARED:
        if (old / name).exists():
            (root / name).symlink_to(old / name)
    for other in workspace.repositories("tables"):
        if other != repo.lower():
            _link_to(old / "tables" / other, anew.tables(other))
    for path in (old / "verdicts" / repo.lower()).glob("*/[!.]*.llm.parquet"):
        if path.parent.name != UNPAIRED or workspace.rules_of(repo) is None:
            _link_to(path, root / path.relative_to(old))
    return anew


def _link_to(target: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)

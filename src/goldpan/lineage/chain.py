"""Recomputes what a published row rests on, link by link: `goldpan trace --verify`.

Replies and git's objects are verified by their digests. Tables, pairs, revisions, verdicts and the
row are made anew from them in a scratch workspace and compared with those that are stored, so that
nothing holds merely because a file says so of itself. Answers of models and runs of tests cannot be
had again alike: they are verified by the digests in the records that rest on them.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.annotation.review.stored import lost_answers, review_path
from goldpan.builders.build import BEFORE_FIX
from goldpan.builders.qa import subjects_of
from goldpan.builders.recipes import VERIFIED, find_recipe, required_reviews
from goldpan.builders.repository_rows import RowsRequest, read_rows, write_rows
from goldpan.core.errors import GoldpanError, UnknownNameError, UsageError
from goldpan.core.plugins.loading import plugin_command
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.sealed import file_digest, seal_of_parquet
from goldpan.core.storage.workspace import UNPAIRED, WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.execution.records import (
    RECORD,
    changed_files,
    instance_of,
    read_record,
    record_directory,
    records_digest,
)
from goldpan.filters.answers import Choice
from goldpan.filters.clusters import duplicates_path
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import Profile, criteria, profile_of
from goldpan.filters.stored import inputs_digest, read_stored_profile
from goldpan.git.clone import read_heads
from goldpan.git.objects import Objects
from goldpan.git.refs import verify_clone
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.repair import check_archive
from goldpan.miners.tables.normalize import check_replies, normalize

_SHARED = ("raw", "git", "reviews", "annotations", "verification")
_OBJECTS = ("base_sha", "head_sha", "base_commit", "blob_before", "blob_after", "commit", "blob")
_OF_GIT = ("revisions", "changes")
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
    with workspace.scratch() as scratch:
        chain = _Chain(workspace, _again(workspace, scratch / "w", repo), row, provenance, source)
        return tuple(chain.links(scratch))


class _Chain:
    """The links of one row."""

    def __init__(
        self,
        stored: WorkspaceLayout,
        anew: WorkspaceLayout,
        row: Mapping[str, Any],
        provenance: Mapping[str, Any],
        source: Mapping[str, Any],
    ) -> None:
        rules = str(source.get("rules") or UNPAIRED)
        self._stored, self._anew = stored.by_rules(rules), anew.by_rules(rules)
        self._row, self._provenance = row, provenance
        self._repo: str = row["repo"]
        self._inputs: Mapping[str, str] = source.get("inputs", {})

    def links(self, scratch: Path) -> Iterator[Link]:
        """Yield the links that the row has."""
        clone = self._stored.clone(self._repo)
        if any(name.startswith("raw/") for name in self._inputs):
            yield self._link("raw replies", self._replies)
        if any(name.startswith("git ") for name in self._inputs) or clone.exists():
            yield self._link("git objects", self._objects)
        if "tables" in self._inputs:
            yield self._link("tables", self._tables)
            if self._stored.paired_by(self._repo):
                yield self._link("pairs", self._pairs)
            if clone.exists():
                yield self._link("history", self._history)
            yield self._link("what was judged", self._judged)
        if "verdicts" in self._inputs:
            yield self._link("verdicts", self._verdicts)
        if "reviews" in self._inputs:
            yield self._link("reviews", self._reviews)
        if self._row.get("verification_digest"):
            yield self._link("test runs", self._test_runs)
        if "verdicts" in self._inputs:
            yield self._link("row", lambda: self._made(scratch))
        else:
            family = self._provenance.get("family")
            again = f"rows of {family} are drawn from all at once: build it again and compare"
            yield Link("row", None, f"{again} with goldpan diff")

    def _replies(self) -> str:
        directory = self._stored.raw(self._repo)
        for flaw in check_archive(directory):
            raise _BrokenError(f"{flaw.path} at byte {flaw.start}: {flaw.reason}")
        if "tables" in self._inputs:
            check_replies(self._stored, self._repo)
        self._compare({path.name: path for path in directory.glob("run-*.zst")}, "raw/")
        records = {record.name: record for record in Archive(directory).records}
        names = self._row.get("raw") or ()
        if missing := [name for name in names if name not in records]:
            raise _BrokenError(f"{directory} has no reply {missing[0]}")
        return f"{len(records):,} records as they came, {len(names):,} of them the row's"

    def _objects(self) -> str:
        clone = self._stored.clone(self._repo)
        verify_clone(clone)
        heads = read_heads(clone)
        for name, value in (("git HEAD", heads.head), ("git refs", heads.refs)):
            if name in self._inputs and self._inputs[name] != value:
                raise _BrokenError(f"{name} is another than when the dataset was built")
        ids = [self._row[name] for name in _OBJECTS if self._row.get(name)]
        with Objects(clone) as objects:
            for id_, read in zip(ids, objects.read(ids), strict=True):
                if read is None or read.data is None:
                    raise _BrokenError(f"{clone} has no object {id_}")
                head = f"{read.kind} {len(read.data)}\0".encode()
                if hashlib.sha1(head + read.data, usedforsecurity=False).hexdigest() != id_:
                    raise _BrokenError(f"the object {id_} has another digest")
        return f"packs and refs as git and goldpan clone left them, {len(ids)} objects of the row"

    def _tables(self) -> str:
        normalize(self._anew, self._repo, _QUIET, workers=1)
        made = sorted(path.stem for path in self._anew.tables(self._repo).glob("*.parquet"))
        return self._same(self._tables_of(made))

    def _pairs(self) -> str:
        names = []
        for rules in self._stored.paired_by(self._repo):
            try:
                pair(self._anew, self._repo, find_rules(rules))
                names.append(rules)
            except UnknownNameError:  # a plugin's
                if rules == self._stored.rules_of(self._repo):
                    raise
                _link_to(self._stored.pairs(self._repo, rules), self._anew.pairs(self._repo, rules))
        return self._same(self._tables_of([f"pairs.{rules}" for rules in names]))

    def _history(self) -> str:
        present = [n for n in _OF_GIT if self._stored.table(self._repo, n).exists()]
        if present:
            read_history(self._anew, self._repo, _QUIET, network=False)
        return self._same(self._tables_of(present))

    def _judged(self) -> str:
        self._need_rules()
        for name, workspace in (("made anew", self._anew), ("stored", self._stored)):
            if inputs_digest(workspace, self._repo) != self._inputs["tables"]:
                raise _BrokenError(f"the tables as {name} are not those of provenance.json")
        return "these tables are those that provenance.json names"

    def _verdicts(self) -> str:
        self._need_rules()
        plain = self._provenance["profile"]
        path = self._stored.verdicts(self._repo, plain["name"])
        profile = judging_profile(self._provenance, path)
        run_filters(self._anew, [self._repo], profile, _QUIET)
        anew = self._anew.verdicts(self._repo, plain["name"])
        found = self._same({path.name: (path, anew)})
        self._compare({"verdicts": path})
        duplicates = duplicates_path(self._anew, profile.settings["near-duplicates"])
        self._compare({"duplicates": duplicates})
        return found

    def _reviews(self) -> str:
        path = review_path(self._stored, self._repo, self._provenance["profile"]["name"])
        if lost := lost_answers(self._stored, path):
            raise _BrokenError(f"{lost[0]}: {lost[1]}")
        self._compare({"reviews": path})
        return "the verdicts of models, and every answer that they rest on"

    def _test_runs(self) -> str:
        instance = instance_of(self._row)
        directory = record_directory(self._stored, instance)
        for path, reason in changed_files(directory, RECORD):
            raise _BrokenError(f"{path}: {reason}")
        record = read_record(directory, instance)
        if record is None or record.digest != self._row["verification_digest"]:
            raise _BrokenError(f"{directory / RECORD} is of another run than the row's")
        if records_digest(self._stored, self._repo) != self._inputs.get("verification"):
            raise _BrokenError("tests were run again since the dataset was built")
        return "the record that the row names, with its logs and reports"

    def _made(self, scratch: Path) -> str:
        self._need_rules()
        stored = self._stored.verdicts(self._repo, self._provenance["profile"]["name"])
        profile = judging_profile(self._provenance, stored)
        rows = scratch / "rows"
        rows.mkdir()
        name = str(self._row["id"])
        made = rebuild_row(self._anew, self._repo, name, self._provenance, profile, rows)
        if made is None:
            raise _BrokenError("the builder makes no such row of what is there")
        differing = [column for column in self._row if made.get(column) != self._row[column]]
        if differing:
            raise _BrokenError(f"made anew it differs in {', '.join(differing)}")
        return f"made anew, the same in all {len(self._row)} columns"

    def _link(self, step: str, verify: Callable[[], str]) -> Link:
        try:
            return Link(step, True, verify())
        except UnknownNameError as error:
            if plugins := self._provenance.get("plugins"):
                again = plugin_command(
                    plugins, f"trace {shlex.quote(str(self._row['id']))} --verify"
                )
                return Link(step, None, f"{error.problem}. Run {again}.")
            return Link(step, None, str(error))
        except UsageError as error:  # the family is not made row by row
            return Link(step, None, str(error))
        except (_BrokenError, GoldpanError, OSError, pa.ArrowException) as error:
            return Link(step, False, str(error).splitlines()[0])

    def _need_rules(self) -> None:
        """Raise `UnknownNameError` where the pairs could not be made anew."""
        if rules := self._stored.rules_of(self._repo):
            find_rules(rules)

    def _tables_of(self, names: list[str]) -> dict[str, tuple[Path, Path]]:
        stored, anew = self._stored.tables(self._repo), self._anew.tables(self._repo)
        return {name: (stored / f"{name}.parquet", anew / f"{name}.parquet") for name in names}

    def _same(self, files: Mapping[str, tuple[Path, Path]]) -> str:
        """Compare stored files with those made anew."""
        for stored, anew in files.values():
            if not stored.exists():
                raise _BrokenError(f"{stored} is gone")
            if seal_of_parquet(stored) != seal_of_parquet(anew):
                raise _BrokenError(f"{stored} is not what is made anew of what it rests on")
        return f"{', '.join(files)}: made anew, the same bytes"

    def _compare(self, files: Mapping[str, Path], prefix: str = "") -> None:
        """Compare files with the digests that provenance names."""
        known = {name for name in self._inputs if prefix and name.startswith(prefix)}
        for name in sorted(known | {prefix + name for name in files if not prefix}):
            path = files.get(name.removeprefix(prefix))
            digest = seal_of_parquet if path and path.suffix == ".parquet" else file_digest
            if path is None or digest(path) != self._inputs[name]:
                raise _BrokenError(f"{name} is another than when the dataset was built")


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
    for path in (old / "verdicts" / repo.lower()).glob("*/*.llm.parquet"):
        if path.parent.name != UNPAIRED or workspace.rules_of(repo) is None:
            _link_to(path, root / path.relative_to(old))
    return anew


def _link_to(target: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def judging_profile(provenance: Mapping[str, Any], verdicts: Path) -> Profile:
    """Return the profile that stands behind stored verdicts.

    The provenance may tell of another choice of answers: the builder takes that over verdicts of
    the profile's own. Raises `UsageError` for criteria that are not known here.
    """
    chosen = profile_of(provenance["profile"])
    if told := read_stored_profile(verdicts):  # which also has what its file left to the defaults
        chosen = replace(chosen, stated=told.stated)
    answer = criteria()["answer"]
    table = read_table(verdicts, ["criterion", "settings"])
    stored = table.filter(pc.equal(table["criterion"], answer.name))["settings"].unique()
    for choice in get_args(Choice):
        settings = replace(chosen.settings[answer.name], choice=choice)
        profile = replace(chosen, settings={**chosen.settings, answer.name: settings})
        if stored.to_pylist() == [profile.digest(answer.name)]:
            return profile
    return chosen


def rebuild_row(
    workspace: WorkspaceLayout,
    repo: str,
    example_id: str,
    provenance: Mapping[str, Any],
    profile: Profile,
    scratch: Path,
) -> dict[str, Any] | None:
    """Return a row as the builder makes it of a workspace, None where it makes none.

    Raises `UsageError` for a family that is not made of one repository at a time.
    """
    settings = provenance["settings"]
    recipe = find_recipe(str(provenance["family"]))
    answer = settings.get("answer")
    required = tuple(name for name in recipe.required if not (answer and name == "answer"))
    request = RowsRequest(
        workspace,
        recipe.family.name,
        profile,
        profile_of(provenance["profile"]),
        required,
        required_reviews(recipe, settings["reviews"]),
        VERIFIED in settings["reviews"],
        answer == "reviewed",
        scratch,
        subjects_of(settings["sources"]) if "sources" in settings else (),
        before_fix=settings.get("texts") == BEFORE_FIX,
    )
    for batch in read_rows([write_rows(request, repo)]):
        rows = pa.Table.from_batches([batch])
        found = rows.filter(pc.equal(rows["id"], example_id)).to_pylist()
        if found:
            return dict(found[0])
    return None

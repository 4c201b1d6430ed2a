"""Makes the rows of repositories, each in whichever process, and says how they came to be."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.builders import qa
from goldpan.builders.context import BuildContext
from goldpan.builders.recipes import find_recipe, required_reviews
from goldpan.builders.request import BEFORE_FIX, VERIFIED, BuildRequest
from goldpan.core.parallel.engine import open_engine
from goldpan.core.plugins.loading import attribute_to_plugin, digests
from goldpan.core.result import json_data
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.parquet import count_rows, read_table
from goldpan.core.storage.sealed import read_lineage, seal_of_parquet
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.datasets.examples import ISSUE_RESOLUTION
from goldpan.datasets.family import GROUP
from goldpan.datasets.provenance import MinedSource
from goldpan.datasets.splits import sample_by_hash
from goldpan.datasets.spool import Spool, write_spool
from goldpan.execution.records import records_digest
from goldpan.filters.answers import named_comment
from goldpan.filters.clusters import duplicates_path, workspace_duplicates
from goldpan.filters.criterion import Subject
from goldpan.filters.profile import Profile, criteria
from goldpan.filters.repo_view import open_repo_view
from goldpan.filters.stored import current_verdicts, inputs_digest, read_stored_profile
from goldpan.git.clone import read_heads
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.journal import sources
from goldpan.miners.journal_state import JournalState
from goldpan.miners.pairing import find_rules


def mined_source(
    workspace: WorkspaceLayout, repo: str, archive: Archive | None = None
) -> MinedSource:
    """Return what provenance says of a mined repository; `archive` is its own, if that is open."""
    archive = archive or Archive(workspace.raw(repo))
    times = sorted(record.meta["at"] for record in archive.records if record.meta.get("at"))
    inputs = {"tables": inputs_digest(workspace, repo)}
    for path in sorted({record.path for record in archive.records}):
        with path.open("rb") as file:
            inputs[f"raw/{path.name}"] = hashlib.file_digest(file, "sha256").hexdigest()
    facts = read_table(workspace.table(repo, "repositories")).to_pylist()
    repository = facts[0] if facts else {}
    source = MinedSource(
        repository.get("repo") or repo,
        datetime.fromisoformat(times[0]) if times else None,
        datetime.fromisoformat(times[-1]) if times else None,
        inputs,
        license=repository.get("license"),
        license_source=repository.get("license_source"),
    )
    if not archive.records:  # tables without replies: GitHub's counts are not known
        return source
    coverage = measure_coverage(workspace, repo, JournalState(archive.records))
    return replace(
        source,
        via=coverage.via,
        complete=coverage.complete,
        announced={count.kind: count.announced for count in coverage.counts},
        stored={count.kind: count.stored for count in coverage.counts},
    )


def stored_rules(workspace: WorkspaceLayout, repos: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the rules that paired repositories, by name, as stored with their pairs.

    Those of a plugin need not be known here.
    """
    rules = {}
    for repo in repos:
        if name := workspace.rules_of(repo):
            stored = read_lineage(workspace.tables(repo), f"pair.{name}").get("rules")
            rules[name] = stored or json_data(find_rules(name))
    return dict(sorted(rules.items()))


def used_plugins(
    workspace: WorkspaceLayout, family: str, repos: Sequence[str], profile: Profile
) -> dict[str, str]:
    """Return the digests of the plugins on which the rows depend."""
    plugins = digests(("dataset", family), *(("criterion", name) for name in criteria()))
    for repo in repos:
        verdicts = workspace.verdicts(repo, profile.name)
        plugins |= read_stored_profile(verdicts).get("plugins", {})
        stage = f"pair.{workspace.rules_of(repo)}"
        plugins |= read_lineage(workspace.tables(repo), stage).get("plugins", {})
    return dict(sorted(plugins.items()))


_WORTH_PROCESSES = 20_000  # entries; starting processes takes as long as building of some thousands


@dataclass(frozen=True, slots=True)
class RepositoryRows:
    """The rows of one repository, in a file, and how they came to be."""

    path: Path
    """A file that a `Spool` reads."""
    source: MinedSource
    count: int
    dropped: Counter[str]
    redacted: Counter[str]
    undecided: Counter[tuple[str, str]]
    """Rows that the check keeps as it cannot tell, by requirement and verdict."""


def make_rows(
    workspace: WorkspaceLayout, request: BuildRequest, scratch: Path, reporter: Reporter
) -> list[RepositoryRows]:
    """Make the rows of all repositories, in their order, in files of a folder.

    Where they are large enough, as many repositories are worked on at once as there are
    workers, or each on a processor of a cluster (`open_engine`); the rows are the same. Raises
    `WorkspaceError` as `build` does.
    """
    repos, execution = request.repos, request.execution
    work: Callable[[str], RepositoryRows] = partial(write_rows, workspace, request, scratch)
    with ExitStack() as stack:
        if execution.engine == "ray":  # once for duplicates and rows
            stack.enter_context(open_engine(execution))
        settings = request.profile.settings["near-duplicates"]
        workspace_duplicates(workspace, settings, reporter, execution)
        processes = min(execution.workers, len(repos))
        task = stack.enter_context(reporter.task(f"{request.family} of repositories", len(repos)))
        tables = [workspace.table(repo, "entries") for repo in repos]
        entries = sum(count_rows(table) for table in tables if table.exists())
        made: Iterator[RepositoryRows] = map(work, repos)
        if execution.engine != "local" or (processes > 1 and entries >= _WORTH_PROCESSES):
            machines = stack.enter_context(open_engine(execution, max(1, processes)))
            made = machines.map(work, repos)
        built = []
        for rows in made:
            task.advance()
            built.append(rows)
        return built


def write_rows(
    workspace: WorkspaceLayout, request: BuildRequest, scratch: Path, repo: str
) -> RepositoryRows:
    """Write the rows of one repository to a file of its own."""
    profile, recipe = request.profile, find_recipe(request.family)
    subjects, reviews = recipe.subjects_of(request), required_reviews(recipe, request.reviews)
    verdicts = current_verdicts(workspace, repo, profile)
    if reviews:
        verdicts = _reviewed(workspace, repo, profile, reviews, verdicts)
    archive = Archive(workspace.raw(repo))
    duplicates = read_table(duplicates_path(workspace, profile.settings["near-duplicates"]))
    raw, dropped, redacted = sources(archive.records), Counter[str](), Counter[str]()
    undecided = Counter[tuple[str, str]]()
    named = _named(verdicts) if qa.REVIEW in reviews else None

    def rows() -> Iterator[dict[str, Any]]:
        with open_repo_view(workspace, repo, profile.settings["bots"], duplicates, 1) as view:
            clusters = view.clusters()
            for subject in subjects:
                view.show("discussion" if subject == "discussion" else "issue")
                context = BuildContext(view, request, subject, raw, dropped, redacted, named)
                context.keep(verdicts, (*recipe.required_by(request), *reviews))
                for row in recipe.rows(context):
                    yield {**row, GROUP: clusters.get(row["issue"])}

    unfinished = scratch / uuid4().hex
    with attribute_to_plugin("dataset", request.family):
        family = recipe.family_of(request)
        batches: Iterable[pa.RecordBatch] = family.batches(rows())
        if request.check is not None:
            batches = request.check.kept(batches, dropped, undecided)
        count = write_spool(unfinished, family.spooled, batches)
    path = scratch / f"{repo.lower().replace('/', '+')}.arrow"
    publish({unfinished: path})
    source = _source(workspace, request, repo, archive)
    return RepositoryRows(path, source, count, dropped, redacted, undecided)


def _source(
    workspace: WorkspaceLayout, request: BuildRequest, repo: str, archive: Archive
) -> MinedSource:
    """Return the mined repository with what judged its subjects, and of pairs the history."""
    profile, recipe = request.profile, find_recipe(request.family)
    source = mined_source(workspace, repo, archive)
    verdicts = {
        "verdicts": workspace.verdicts(repo, profile.name),
        "duplicates": duplicates_path(workspace, profile.settings["near-duplicates"]),
    }
    if request.texts == BEFORE_FIX:
        verdicts["edits"] = workspace.table(repo, "edits")
    if required_reviews(recipe, request.reviews):
        from goldpan.annotation.review.stored import review_path

        verdicts["reviews"] = review_path(workspace, repo, profile.name)
        for path in sorted((workspace.root / "annotations").glob("*/verdicts.parquet")):
            verdicts[f"annotations/{path.parent.name}"] = path
    inputs = {name: seal_of_parquet(path) for name, path in verdicts.items() if path.exists()}
    reads_proofs = request.family == ISSUE_RESOLUTION.name or VERIFIED in request.reviews
    if reads_proofs and (proofs := records_digest(workspace, repo)):
        inputs["verification"] = proofs
    clone = workspace.clone(repo)
    if recipe.subject == "pair" and clone.exists():
        heads = read_heads(clone)
        inputs |= {"git refs": heads.refs, **({"git HEAD": heads.head} if heads.head else {})}
        source = replace(source, history=heads.source)
    return replace(source, inputs={**source.inputs, **inputs})


def draw_rows(rows: Spool, most: int, seed: int, family: str) -> int:
    """Keep at most `most` rows, drawn by the seed and the rows' subjects; return the rest.

    An id names the family first, which does not count: families of fix pairs draw the same pairs,
    as fault localization and code editing of FAUN-Eval are of the same (Table 1).
    """
    prefix = f"{family}:"
    subjects = [str(name).removeprefix(prefix) for name in rows.facts["id"].to_pylist()]
    rows.choose(sample_by_hash(range(len(subjects)), most, seed, subjects.__getitem__))
    return len(subjects) - len(rows.facts)


def _reviewed(
    workspace: WorkspaceLayout,
    repo: str,
    profile: Profile,
    reviews: Mapping[str, Subject],
    filtered: pa.Table,
) -> pa.Table:
    from goldpan.annotation.review.stored import read_reviews, review_path, with_reviews
    from goldpan.annotation.studio.decisions import read_people

    if not pc.any(pc.is_in(filtered["subject"], pa.array(reviews.values()))).as_py():
        return filtered  # a repository without issues leaves nothing to review
    name = str(filtered["repo"][0]) if len(filtered) else repo
    people = read_people(workspace)
    reviewed = [table.filter(pc.equal(table["repo"], name)) for table in people]
    if review_path(workspace, repo, profile.name).exists() or not any(map(len, reviewed)):
        reviewed.append(read_reviews(workspace, repo, profile.name))
    return with_reviews(filtered, reviewed, reviews)


def _named(verdicts: pa.Table) -> dict[int, int | None]:
    """Return the reply that the review names as the answer, by issue; None where it names none."""
    reviewed = verdicts.filter(
        pc.and_(pc.equal(verdicts["criterion"], qa.REVIEW), verdicts["keep"])
    )
    issues, texts = (reviewed[name].to_pylist() for name in ("issue", "evidence"))
    return {issue: named_comment(text) for issue, text in zip(issues, texts, strict=True)}

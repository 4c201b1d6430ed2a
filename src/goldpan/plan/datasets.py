"""Datasets of a plan, built and published: of what, under which tag, and what changed since."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldpan.builders.request import NOT, VERIFIED
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.plugins.loading import find_builder
from goldpan.core.plugins.parts import imported
from goldpan.core.result import count
from goldpan.core.storage.workspace import make_directory
from goldpan.datasets.provenance import PROVENANCE
from goldpan.plan.opened import OpenPlan, files_below
from goldpan.plan.record import digest_of
from goldpan.plan.section import StageSection, reads_of, subject_of
from goldpan.plan.step import Outcome, Results, Step, Unit, headline

LAST = "last"
"""The value of a dataset's `since` for the version that the plan built before."""
DATES = ("year", "month", "day")
"""The words of a tag that stand for the day of the newest mined reply."""
_STAGES = {"filtered": "filter", "mined": "mine", "cloned": "clone", "tasks": ""}
"""The stage whose tables the rows are made of; those of tasks come from none."""
_PROJECTS = ("corrections", "annotations", "required")
"""Parameters that name annotation projects."""


def data_units(plan: OpenPlan, section: StageSection) -> list[str]:
    """Return what names the units of datasets and rows of tasks that a section names."""
    tasks = section.names("task")
    sources = [plan.task(name).source for name in tasks]
    built = {source.builder for source in sources if source.access == "built"}
    units = [f"tasks/{name}" for name in tasks if ("tasks", name) in plan.file.by_stage["tasks"]]
    for dataset in plan.file.sections("dataset"):
        name = dataset.get("name")
        makes_rows = dataset is not section and (name in tasks or dataset.get("family") in built)
        if makes_rows or name in section.names("dataset"):
            units.append(f"dataset/{name}")
    return units


def reviews_of(dataset: StageSection) -> list[str]:
    """Return the reviews that a dataset requires: neither test runs nor findings of audits."""
    required = dataset.names("require")
    return [name for name in required if name != VERIFIED and not name.startswith(NOT)]


def _source(unit: Unit) -> str:
    return _STAGES[reads_of(unit.section)]


def _repositories(unit: Unit) -> list[str]:
    """Return the repositories of the plan that a dataset is of; none for one of tasks."""
    names = {name.lower() for name in unit.section.names("repositories")}
    repos = unit.plan.repos if _source(unit) else ()
    return [repo for repo in repos if not names or repo.lower() in names]


def _audited(unit: Unit) -> list[str]:
    """Return the other datasets that the plan audits."""
    named = [one.get("dataset") for one in unit.plan.file.sections("audit")]
    return [name for name in named if name != unit.subject]


def _sources(unit: Unit) -> list[str]:
    return [f"{_source(unit)}/{repo}" for repo in _repositories(unit)]


def build_needs(unit: Unit) -> Iterator[str]:
    """Yield what names the units that a dataset is made of."""
    file, section = unit.plan.file, unit.section
    if not _source(unit):
        yield from data_units(unit.plan, section)
    if not section.get("leave_out"):
        yield from _sources(unit)
    if reviews_of(section):
        yield from (f"review/{subject_of(one)}" for one in file.sections("review"))
    projects = {name for key in _PROJECTS for name in section.names(key)}
    for one in file.sections("annotate"):
        uses = reviews_of(section) or one.get("project") in projects
        if uses and unit.subject not in one.names("dataset"):
            yield f"annotate/{one.get('project')}"
    if VERIFIED in section.names("require"):
        yield from (f"verify/{one.get('dataset')}" for one in file.sections("verify"))


def build_after(unit: Unit) -> Iterator[str]:
    """Yield what names the units that may add to a dataset."""
    yield from _sources(unit)
    if any(name.startswith(NOT) for name in unit.section.names("require")):
        yield from (f"audit/{name}" for name in _audited(unit))


def build_step(unit: Unit) -> Step:
    """Return of what a dataset is built, and how."""
    plan, section, source, lab = unit.plan, unit.section, _source(unit), unit.plan.lab
    family, since, output = section.get("family"), section.get("since"), lab.layout.dataset
    chosen = _repositories(unit)
    present = [
        repo
        for repo in chosen
        if not section.get("leave_out")
        or ((record := plan.record(f"{source}/{repo}")) and record.state in ("done", "partial"))
    ]
    if source and not present:  # of which all of the workspace would be taken
        raise DatasetError(
            f"No repository of {unit.subject} was {reads_of(section)}",
            "See why with goldpan run PLAN --dry-run",
        )
    repos = tuple(map(plan.kept, present))
    builder = find_builder(family)
    options = {**(builder.fixed if builder else {}), "output": output(unit.subject)}
    settings = {"family": family, "repositories": sorted(map(str.lower, present)), "since": since}
    older = _older(unit)
    if source:
        options["repos"] = repos
    if source == "filter":
        rules = section.given().get("rules") or plan.file.rules[0]
        options |= {"rules": rules, "since": older}
        settings["rules"] = rules
    if source == "clone":
        from goldpan.git.refs import find_commits

        commits = find_commits(lab.layout, repos, None)
        settings["commits"] = {one.repo: [one.id, one.license or ""] for one in commits}
    if builder is not None and builder.settings:
        values = plan.file.resolved(section, section.values())
        settings |= imported(builder.settings)(values)
    left_out = [f"{repo} is left out" for repo in chosen if repo not in present]
    return Step(
        options=[options],
        settings=settings,
        inputs=[*_inputs(unit, repos, options)],
        prepare=lambda: _keep_previous(unit),
        ended=lambda results: _built(unit, results, older, left_out),
    )


def _inputs(unit: Unit, repos: tuple[str, ...], options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield tables, verdicts, reviews, people's decisions and gold sets."""
    plan, section, source, root = unit.plan, unit.section, _source(unit), unit.plan.lab.path
    yield from plan.decisions(name for key in _PROJECTS for name in section.names(key))
    yield from plan.named_files(section, "gold")
    if section.get("since") not in (None, LAST):
        yield Path(plan.file.found(section.get("since"))) / PROVENANCE
    if not source:
        yield from plan.data(section)
    if source == "mine":
        for repo in repos:
            yield from plan.tables("normalize", repo=repo)
    if source == "filter":
        yield from plan.filtered(repos, section, options["rules"])
    if source == "filter" and section.get("require"):
        layout, profile = plan.lab.layout.by_rules(options["rules"]), plan.profile(section)
        for repo in repos:
            yield layout.verdicts(repo, f"{profile}.llm")
            yield from (root / "verification" / repo.lower()).glob("*/record.json")
        yield from (root / "annotations").glob("*/decisions.parquet")
        yield from (root / "audits" / name / "findings.parquet" for name in _audited(unit))


def _previous(unit: Unit) -> Path:
    """Return where the version that the plan built before is kept."""
    return unit.plan.folder / "previous" / unit.subject


def _is_last(unit: Unit) -> bool:
    """Tell whether the dataset is still what the plan's last run built."""
    path = unit.plan.lab.layout.dataset(unit.subject) / PROVENANCE
    record = unit.record
    name = path.relative_to(unit.plan.lab.path).as_posix()
    return record is not None and path.exists() and record.outputs.get(name) == digest_of(path)


def _older(unit: Unit) -> str | Path | None:
    """Return the version to compare with, as it will be there when the dataset is built."""
    since, previous = unit.section.get("since"), _previous(unit)
    if since == LAST:
        return previous if previous.is_dir() or _is_last(unit) else None
    return None if since is None else unit.plan.file.found(since)


def _keep_previous(unit: Unit) -> None:
    """Keep the version that the plan built before, unless a killed run has replaced it."""
    layout = unit.plan.lab.layout
    if unit.section.get("since") == LAST and _is_last(unit):
        with layout.replacing(_previous(unit)) as building:
            shutil.copytree(layout.dataset(unit.subject), building, dirs_exist_ok=True)


def _built(
    unit: Unit, results: Results, older: str | Path | None, left_out: Sequence[str]
) -> Outcome:
    """Return what was built, and write what changed since an older version."""
    from goldpan.workspace.building import diff

    lab = unit.plan.lab
    directory = lab.layout.dataset(unit.subject)
    summary = headline(results[0])
    if older is not None:
        changelog = unit.plan.folder / "changes" / f"{unit.subject}.md"
        make_directory(changelog.parent)
        changes = diff(older, directory, changelog=changelog, workspace=lab.path)
        summary += (
            f", {changes.added:,} added, {changes.gone:,} removed, {changes.changed:,} changed"
            + (f", {changes.moved:,} in another split" if changes.moved else "")
        )
    missing = (*left_out, *(headline(one) for one in results if one.exit_code))
    return Outcome(outputs=files_below(directory), summary=summary, missing=missing)


def publish_step(unit: Unit) -> Step:
    """Return where a dataset goes, under which tag."""
    from goldpan.datasets.hub.publish import endpoint

    directory, tag = unit.plan.lab.layout.dataset(unit.subject), unit.section.get("tag")

    def ended(results: Results) -> Outcome:
        (result,) = results
        sent = f"{count(len(result.changes), 'file')} sent"
        what = sent if result.changes else "the same content"
        named = f", tag {result.tag}" if result.tag else ""
        return Outcome(summary=f"{result.url}: {what}{named}")

    return Step(
        options=[{"dataset": directory, **({"tag": tag_of(directory, tag)} if tag else {})}],
        settings={"hub": endpoint(), "overwrite": None},  # of which the content does not depend
        inputs=unit.plan.tables("build", "audit", dataset=unit.subject),
        ended=ended,
    )


def tag_of(directory: Path, pattern: str) -> str:
    """Return a tag in which {year}, {month} and {day} are those of the newest mined reply.

    {content} is the digest of the rows, which tells versions of one day apart. Raises
    `DatasetError` where the dataset does not tell when it was mined, `UsageError` for another
    word in braces.
    """
    from goldpan.datasets.provenance import content_digest, read_provenance

    if "{" not in pattern:
        return pattern
    provenance = read_provenance(directory)
    moments = [source.get("mined_until") for source in provenance["sources"]]
    newest = max((moment for moment in moments if moment), default=None)
    values = {"content": content_digest(provenance)[:8]}
    if newest is None and any(f"{{{word}}}" in pattern for word in DATES):
        raise DatasetError(
            f"{directory} does not say when it was mined",
            "Write {content} into the plan's tag in place of the date",
        )
    if newest is not None:
        values |= zip(DATES, newest[:10].split("-"), strict=True)
    return filled_tag(pattern, values)


def filled_tag(pattern: str, values: Mapping[str, str]) -> str:
    """Return a tag with its words in braces filled in; raises `UsageError` for another word."""
    try:
        return pattern.format_map(values)
    except (LookupError, ValueError, AttributeError):
        raise UsageError(
            f"The tag {pattern!r} has an unknown word in braces",
            "Use {year}, {month}, {day} or {content}",
        ) from None

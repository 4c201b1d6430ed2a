"""Datasets of a plan, built and published: of what, under which tag, and what changed since."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.builders.request import NOT, VERIFIED
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.plugins.loading import find_builder
from goldpan.core.plugins.parts import imported
from goldpan.core.result import count, json_data
from goldpan.core.storage.workspace import make_directory
from goldpan.datasets.provenance import PROVENANCE
from goldpan.plan.opened import LAST, OpenPlan, files_below, reads_of
from goldpan.plan.record import StepResult
from goldpan.plan.section import DatasetSection, StageSection
from goldpan.plan.step import Results, Stage, Step

if TYPE_CHECKING:
    from goldpan.workspace.dataset import Dataset

DATES = ("year", "month", "day")
"""The words of a tag that stand for the day of the newest mined reply."""
_STAGES = {"filtered": "filter", "mined": "mine", "cloned": "clone", "tasks": ""}
"""The stage whose tables the rows are made of; those of tasks come from none."""
_PROJECTS = ("corrections", "annotations", "required")
"""Parameters that name annotation projects."""


def _source(step: Step) -> str:
    return _STAGES[reads_of(step.section)]


def _chosen(step: Step) -> list[str]:
    """Return the repositories of the plan that a dataset is of; none for one of tasks."""
    names = {name.lower() for name in step.section.names("repositories")}
    repos = step.plan.repos if _source(step) else ()
    return [repo for repo in repos if not names or repo.lower() in names]


def _present(step: Step) -> list[str]:
    """Return the repositories that it is built of."""
    repos, stage = _chosen(step), _source(step)
    if step.section.get("leave_out"):
        repos = [repo for repo in repos if step.plan.is_finished(f"{stage}/{repo}")]
    if not repos and stage:  # of which all of the workspace would be taken
        raise DatasetError(
            f"No repository of {step.subject} was {reads_of(step.section)}",
            "See why with goldpan status --plan",
        )
    return repos


def data_steps(plan: OpenPlan, section: StageSection) -> list[str]:
    """Return the steps that make the datasets and the rows of tasks that a section names."""
    tasks = section.names("task")
    sources = [plan.task(name).source for name in tasks]
    built = {source.builder for source in sources if source.access == "built"}
    imported = plan.file.by_stage["tasks"]
    steps = [f"tasks/{name}" for name in tasks if ("tasks", name) in imported]
    for dataset in plan.file.sections("dataset"):
        name = dataset.get("name")
        makes_rows = dataset is not section and (name in tasks or dataset.get("family") in built)
        if makes_rows or name in section.names("dataset"):
            steps.append(f"dataset/{name}")
    return steps


def reviews_of(dataset: StageSection) -> list[str]:
    """Return the reviews that a dataset requires: neither test runs nor findings of audits."""
    required = dataset.names("require")
    return [name for name in required if name != VERIFIED and not name.startswith(NOT)]


def _needs(step: Step) -> list[str]:
    file, required = step.plan.file, step.section.names("require")
    needs = [] if _source(step) else data_steps(step.plan, step.section)
    if not step.section.get("leave_out"):
        needs += [f"{_source(step)}/{repo}" for repo in _chosen(step)]
    if reviews_of(step.section):
        needs += [f"review/{step.plan.profile(one).name}" for one in file.sections("review")]
    if VERIFIED in required:
        needs += [f"verify/{one.get('dataset')}" for one in file.sections("verify")]
    return needs


def _after(step: Step) -> list[str]:
    after = [f"{_source(step)}/{repo}" for repo in _chosen(step)]
    if any(name.startswith(NOT) for name in step.section.names("require")):
        after += [f"audit/{name}" for name in _audited(step)]
    return after


def _audited(step: Step) -> list[str]:
    """Return the other datasets that the plan audits."""
    named = [one.get("dataset") for one in step.plan.file.sections("audit")]
    return [name for name in named if name != step.subject]


def _rules(step: Step) -> str:
    """Return the pairing rules whose pairs and verdicts it is built of."""
    rules: str = step.section.given().get("rules") or step.plan.file.rules[0]
    return rules


def _settings(step: Step) -> dict[str, Any]:
    """Return how it is built, with its profile and what a plugin adds."""
    from goldpan.core.plugins.loading import digests
    from goldpan.filters.profile import criteria

    family = step.section.get("family")
    described = {
        "family": family,
        "repositories": sorted(map(str.lower, _present(step))),
        "since": step.section.get("since"),
        "plugins": digests(("dataset", family), ("builder", family)),
    }
    if _source(step) == "filter":
        profile = step.plan.profile(step.section)
        described |= {"rules": _rules(step), "profile": json_data(profile)}
        described["criteria"] = {name: profile.digest(name) for name in criteria()}
    if _source(step) == "clone":
        from goldpan.git.refs import find_commits

        repos = [*map(step.plan.kept, _present(step))]
        commits = find_commits(step.plan.lab.layout, repos, None)
        described["commits"] = {one.repo: [one.id, one.license or ""] for one in commits}
    if (builder := find_builder(family)) is not None and builder.settings:
        values = step.section.values()
        if "profile" in values:
            values["profile"] = step.plan.file.profile(values["profile"])
        described |= imported(builder.settings)(values)
    return described


def _inputs(step: Step) -> Iterator[Path]:
    """Yield tables, verdicts, reviews, people's decisions and gold sets."""
    plan, section, source = step.plan, step.section, _source(step)
    repos = [*map(plan.kept, _present(step))]
    yield from plan.decisions(name for key in _PROJECTS for name in section.names(key))
    yield from plan.named_files(section, "gold")
    if section.get("since") not in (None, LAST):
        yield Path(plan.file.found(section.get("since"))) / PROVENANCE
    if not source:
        yield from plan.data(section)
    for repo in repos if source == "mine" else ():
        yield from plan.tables(("normalize",), repo=repo)
    if source != "filter":
        return
    layout = plan.layout(_rules(step))
    yield from plan.filtered(repos, section, _rules(step))
    if section.get("require"):
        profile = plan.profile(section).name
        yield from (layout.verdicts(repo, f"{profile}.llm") for repo in repos)
        for repo in repos:
            yield from (plan.lab.path / "verification" / repo.lower()).glob("*/record.json")
        yield from (plan.lab.path / "annotations").glob("*/decisions.parquet")
        yield from (plan.lab.path / "audits" / name / "findings.parquet" for name in _audited(step))


def _previous(step: Step) -> Path:
    """Return where the version that the plan built before is kept."""
    return step.plan.folder / "previous" / step.subject


def _prepare(step: Step) -> None:
    """Keep the version that the plan built before, unless a killed run has done so."""
    layout = step.plan.lab.layout
    current, is_finished = layout.dataset(step.subject), step.plan.is_finished(step.name)
    if step.section.get("since") != LAST or not is_finished or not current.is_dir():
        return
    with layout.replacing(_previous(step)) as building:
        shutil.copytree(current, building, dirs_exist_ok=True)


def _older(step: Step) -> Dataset | None:
    from goldpan.workspace.dataset import load

    since = step.section.get("since")
    if since == LAST:
        return load(_previous(step)) if _previous(step).is_dir() else None
    return None if since is None else load(step.plan.file.found(since))


def _options(step: Step) -> dict[str, Any]:
    """Return what it is built of, and where it is written."""
    builder = find_builder(step.section.get("family"))
    options = {} if builder is None else dict(builder.fixed)
    options["output"] = step.plan.lab.layout.dataset(step.subject)
    if _source(step):
        options["repos"] = tuple(map(step.plan.kept, _present(step)))
    if _source(step) == "filter":
        older = _older(step)
        options |= {"rules": _rules(step), "since": None if older is None else older.path}
    return options


def _ends(step: Step, _: Results, ended: StepResult) -> StepResult:
    """Return what was built, and write what changed since an older version."""
    from goldpan.workspace.dataset import Dataset
    from goldpan.workspace.functions import diff

    lab, summary = step.plan.lab, ended.summary
    data = Dataset(lab.layout.dataset(step.subject), workspace=lab)
    if (older := _older(step)) is not None:
        changelog = step.plan.folder / "changes" / f"{step.subject}.md"
        make_directory(changelog.parent)
        changes = diff(older, data, changelog=changelog)
        summary += (
            f", {changes.added:,} added, {changes.gone:,} removed, {changes.changed:,} changed"
            + (f", {changes.moved:,} in another split" if changes.moved else "")
        )
    present = _present(step)
    left_out = [f"{repo} is left out" for repo in _chosen(step) if repo not in present]
    return replace(ended, summary=summary, missing=(*left_out, *ended.missing))


DATASET = Stage(
    name="dataset",
    heading="[[dataset]]",
    command="build",
    keys=DatasetSection,
    needs=_needs,
    after=_after,
    after_people=True,
    options=_options,
    settings=_settings,
    files=_inputs,
    prepare=_prepare,
    writes=lambda step, _: files_below(step.plan.lab.layout.dataset(step.subject)),
    ends=_ends,
)


def _published(step: Step) -> dict[str, Any]:
    """Return where it goes, with the tag filled in."""
    directory, tag = step.plan.lab.layout.dataset(step.subject), step.section.get("tag")
    return {"dataset": directory} | ({} if tag is None else {"tag": tag_of(directory, tag)})


def _published_line(_: Step, results: Results) -> str:
    (result,) = results
    what = f"{count(len(result.changes), 'file')} sent" if result.changes else "the same content"
    return f"{result.url}: {what}{f', tag {result.tag}' if result.tag else ''}"


def _hub(step: Step) -> dict[str, Any]:
    from goldpan.datasets.hub.publish import endpoint

    return {"hub": endpoint(), "overwrite": None}  # of which the content does not depend


PUBLISH = Stage(
    name="publish",
    heading="[dataset.publish]",
    command="publish",
    without=("dataset",),
    needs=lambda step: [f"dataset/{step.subject}"],
    after=lambda step: [f"audit/{step.subject}"],
    after_people=True,
    options=_published,
    settings=_hub,
    reads=("build", "audit"),
    summary=_published_line,
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

"""The stages that work on repositories: from mining to what filters and reviews keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from goldpan.core.errors import MiningError
from goldpan.core.result import count, json_data
from goldpan.datasets.licenses import stated_license
from goldpan.plan.opened import OpenPlan
from goldpan.plan.record import StepResult
from goldpan.plan.section import CloneSection, MineSection
from goldpan.plan.step import Results, Stage, Step, Subjects

_DAY = timedelta(days=1)
_WITHHELD = "withheld"


def _each_repository(plan: OpenPlan, stage: Stage) -> Subjects:
    """Yield all repositories, unless `enabled` turns to another stage of the table, or to none."""
    is_other = not stage.heading
    for section in plan.file.sections(stage.name):
        if section.get("enabled") is not is_other:
            yield from ((repo, section) for repo in plan.repos)


def _each_profile(plan: OpenPlan, stage: Stage) -> Subjects:
    """Yield the profile whose verdicts are reviewed."""
    yield from ((plan.profile(one).name, one) for one in plan.file.sections(stage.name))


def _of_repositories(stage: str) -> Callable[[Step], list[str]]:
    return lambda step: [f"{stage}/{repo}" for repo in step.plan.repos]


def _stated(step: Step) -> str | None:
    """Return the repository's license as the plan states it, in SPDX's spelling."""
    return stated_license(step.section.get("licenses").get(step.subject.lower()))


def _license(step: Step) -> dict[str, str]:
    stated = _stated(step)
    return {} if stated is None else {"license": stated}


def _asked(step: Step) -> dict[str, Any]:
    """Return how GitHub is asked, and what license is stated."""
    lab = step.plan.lab.settings
    included = {"include": list(lab.include)} if lab.include else {}
    asked = {"api_url": lab.api_url, "via": lab.via, "since": lab.since}
    return {**asked, **included, "license": _stated(step)}


def _refresh(step: Step, record: StepResult, update: bool) -> str:
    """Return why GitHub has to be asked for what changed."""
    refresh = step.plan.file.head.refresh
    if update:
        return "--update was given"
    if refresh == "always":
        return 'refresh = "always"'
    age = datetime.now(UTC) - datetime.fromisoformat(record.at)
    is_old = refresh == "daily" and age >= _DAY
    return 'refresh = "daily", and a day has passed' if is_old else ""


def _mined(step: Step, results: Results, ended: StepResult) -> StepResult:
    from goldpan.miners.mine_many import summary

    (result,) = results
    coverage = result.coverage
    if coverage is None:
        raise MiningError(f"{step.subject} was not mined", "Run the same command again")
    gaps = [f"{gap.part} {gap.state}" for gap in coverage.gaps]
    missing = tuple(f"{gaps.count(gap):,} {gap}" for gap in sorted(set(gaps)))
    return replace(
        ended,
        summary=summary(result),
        missing=missing if coverage.finished else ("the run did not finish",),
        again=not coverage.finished or any(gap.state != _WITHHELD for gap in coverage.gaps),
        repo=result.repo,
    )


MINE = Stage(
    name="mine",
    heading="[mine]",
    command="mine",
    keys=MineSection,
    subjects=_each_repository,
    is_of_repository=True,
    options=_license,
    settings=_asked,
    writes=lambda step, results: [step.plan.lab.layout.table(results[0].repo, "entries")],
    ends=_mined,
    is_due=_refresh,
    together=True,
    owns=False,
)


def _entries(step: Step, _: object = None) -> list[Path]:
    return [step.plan.lab.layout.table(step.repo, "entries")]


def _normalized_line(_: Step, results: Results) -> str:
    entries = sum(rows["entries"] for counts in results for rows in counts.tables.values())
    return f"{count(entries, 'entry')} from the raw replies"


NORMALIZE = Stage(
    name="mine",
    command="normalize",
    subjects=_each_repository,
    is_of_repository=True,
    options=_license,
    settings=lambda step: {"license": _stated(step)},
    reads=("mine",),
    writes=_entries,
    summary=_normalized_line,
    appends=True,
)
"""The stage of repositories that are not to be mined."""


def _rules_settings(step: Step) -> dict[str, Any]:
    """Return what pairing rules ask for, and the plugins behind them."""
    from goldpan.core.plugins.loading import digests
    from goldpan.miners.pairing import find_rules

    found = [find_rules(name) for name in step.plan.file.rules]
    signals = sorted({name for rules in found for name in rules.signals})
    used = [("rules", rules.name) for rules in found] + [("signal", name) for name in signals]
    plain = {f"rules {rules.name}": json_data(rules) for rules in found}
    names = ", ".join(rules.name for rules in found)
    return {"rules": names, **plain, "plugins": digests(*used)}  # type: ignore[arg-type]


PAIR = Stage(
    name="pair",
    heading="[pair]",
    command="pair",
    several=("rules",),
    subjects=_each_repository,
    is_of_repository=True,
    needs=lambda step: [f"mine/{step.subject}"],
    options=lambda step: {"rules": step.plan.file.rules},
    each=("rules",),
    settings=_rules_settings,
    reads=("normalize",),
    makes=("pair",),
)


def _clone_source(step: Step) -> dict[str, str]:
    """Return where the history of a repository comes from, by name; nothing for GitHub."""
    from goldpan.git.remote import source_of

    source = step.section.get("source")
    return {} if source is None else {"source": step.plan.file.found(source_of(source, step.repo))}


CLONE = Stage(
    name="clone",
    heading="[clone]",
    command="clone",
    keys=CloneSection,
    subjects=_each_repository,
    is_of_repository=True,
    needs=lambda step: [f"pair/{step.subject}"],
    options=_clone_source,
    settings=lambda step: {"source": step.section.get("source")},
    reads=("normalize", "pair"),
    makes=("history",),
)


def _before_filter(step: Step) -> list[str]:
    has_history = step.plan.file.sections("clone")[0].get("enabled")
    return [f"{'clone' if has_history else 'pair'}/{step.subject}"]


def _profile_settings(step: Step) -> dict[str, Any]:
    """Return what verdicts depend on: profiles with their settings and criteria, and rules."""
    from goldpan.filters.profile import criteria

    profiles = step.plan.profiles.values()
    described = {
        f"profile {profile.name}": {
            "decide": list(profile.decide),
            **json_data(profile)["settings"],
            "criteria": {name: profile.digest(name) for name in criteria()},
        }
        for profile in profiles
    }
    names = [profile.name for profile in profiles]
    return {"rules": list(step.plan.file.rules), "profile": names, **described}


def _kept_line(step: Step, results: Results) -> str:
    chosen = product(step.plan.file.profiles, step.plan.file.rules)
    return "; ".join(
        f"{result.profile} keeps {result.issues.kept:,} of {result.issues.rows:,} issues, "
        f"{result.pairs.kept:,} of {result.pairs.rows:,} pairs by {rules}"
        for result, (_, rules) in zip(results, chosen, strict=True)
    )


FILTER = Stage(
    name="filter",
    heading="[filter]",
    command="filter",
    without=("rules", "settings", "list", "rejects"),
    several=("profile",),
    subjects=_each_repository,
    is_of_repository=True,
    needs=_before_filter,
    after=_of_repositories("mine"),  # among whose issues near duplicates are found
    options=lambda step: {"profile": step.plan.file.profiles, "rules": step.plan.file.rules},
    each=("profile", "rules"),
    settings=_profile_settings,
    reads=("normalize", "history", "pair"),
    reads_issues=True,
    makes=("filter",),
    summary=_kept_line,
)


def _reviewed(step: Step) -> dict[str, Any]:
    plan = step.plan
    return {"rules": plan.file.rules[0], "repos": [*map(plan.kept, plan.repos)]}


def _review_files(step: Step) -> Iterator[Path]:
    plan = step.plan
    yield from plan.filtered(plan.repos, step.section, plan.file.rules[0])
    yield from plan.named_files(step.section, "settings_file")


def _review_verdicts(step: Step, _: Results) -> list[Path]:
    layout, repos = step.plan.layout(), map(step.plan.kept, step.plan.repos)
    paths = [layout.verdicts(repo, f"{step.subject}.llm") for repo in repos]
    return [path for path in paths if path.exists()]


def _review_ended(_: Step, results: Results, ended: StepResult) -> StepResult:
    (result,) = results
    kept, dropped, people = (
        sum(counts.values()) for counts in (result.keep, result.drop, result.people)
    )
    line = f"{kept:,} kept, {dropped:,} dropped, {people:,} for people"
    missing = (line,) if result.exit_code else ()
    return replace(ended, summary=line, missing=missing, again=not result.complete)


REVIEW = Stage(
    name="review",
    heading="[review]",
    command="review",
    without=("rules", "dataset", "calibrate"),
    subjects=_each_profile,
    needs=_of_repositories("filter"),
    options=_reviewed,
    files=_review_files,
    reads_issues=True,
    writes=_review_verdicts,
    ends=_review_ended,
)

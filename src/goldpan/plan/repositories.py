"""The stages that work on repositories: from mining to what filters and reviews keep."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from goldpan.core.errors import MiningError
from goldpan.core.result import count, json_data
from goldpan.datasets.licenses import stated_license
from goldpan.plan.step import Outcome, Results, Step, Unit, outcome

_DAY = timedelta(days=1)
_WITHHELD = "withheld"


def _license(unit: Unit) -> dict[str, str]:
    """Return the repository's license as the plan states it, in SPDX's spelling."""
    stated = stated_license(unit.section.get("licenses").get(unit.subject.lower()))
    return {} if stated is None else {"license": stated}


def mine_step(unit: Unit) -> Step:
    """Return how GitHub is asked for a repository, and for what."""
    license, lab = _license(unit), unit.plan.lab.settings
    asked = {name: getattr(lab, name) for name in ("api_url", "via", "since", "include")}
    tables = unit.plan.lab.layout.tables  # whose content later stages change
    return Step(
        options=[license],
        settings={name: value for name, value in {**asked, **license}.items() if value},
        due=_refresh(unit),
        ended=lambda results: _mined(unit, results, tables(results[0].repo)),
    )


def _refresh(unit: Unit) -> str:
    """Return why GitHub has to be asked for what changed."""
    refresh, record = unit.plan.file.head.refresh, unit.record
    if refresh == "always":
        return 'refresh = "always"'
    if refresh == "daily" and record is not None and record.at:
        age = datetime.now(UTC) - datetime.fromisoformat(record.at)
        return 'refresh = "daily", and a day has passed' if age >= _DAY else ""
    return ""


def _mined(unit: Unit, results: Results, tables: Path) -> Outcome:
    from goldpan.miners.mine import summary

    ended = outcome(results, tables)
    (result,) = results
    coverage = result.coverage
    if coverage is None:
        raise MiningError(f"{unit.subject} was not mined", "Run the same command again")
    gaps = [f"{gap.part} {gap.state}" for gap in coverage.gaps]
    missing = tuple(f"{gaps.count(gap):,} {gap}" for gap in sorted(set(gaps)))
    return replace(
        ended,
        summary=summary(result),
        missing=missing if coverage.finished else ("the run did not finish",),
        again=not coverage.finished or any(gap.state != _WITHHELD for gap in coverage.gaps),
        repo=result.repo,
    )


def normalize_step(unit: Unit) -> Step:
    """Return how tables are made of the raw replies that are there."""

    def ended(results: Results) -> Outcome:
        (counts,) = results  # of all repositories
        entries = counts.tables[unit.repo.lower()]["entries"]
        line = f"{count(entries, 'entry')} from the raw replies"
        return outcome(results, unit.plan.lab.layout.table(unit.repo, "entries"), summary=line)

    return Step(
        options=[_license(unit)],
        settings=_license(unit),
        inputs=unit.plan.tables("mine", repo=unit.repo),
        ended=ended,
    )


def pair_step(unit: Unit) -> Step:
    """Return by which rules pull requests are matched."""
    from goldpan.miners.pairing import find_rules

    names, plan, repo = unit.plan.file.rules, unit.plan, unit.repo
    return Step(
        options=[{"rules": name} for name in names],
        settings={
            "rules": ", ".join(names),
            **{f"rules {name}": json_data(find_rules(name)) for name in names},
        },
        inputs=plan.tables("normalize", repo=repo),
        ended=lambda results: outcome(results, *plan.tables("pair", repo=repo)),
    )


def clone_step(unit: Unit) -> Step:
    """Return whence a history comes."""
    from goldpan.git.remote import source_of

    source, plan, repo = unit.section.get("source"), unit.plan, unit.repo
    options = {} if source is None else {"source": plan.file.found(source_of(source, repo))}
    return Step(
        options=[options],
        settings={"source": source},
        inputs=plan.tables("normalize", "pair", repo=repo),
        ended=lambda results: outcome(results, *plan.tables("history", repo=repo)),
    )


def filter_step(unit: Unit) -> Step:
    """Return by which profiles issues and pairs are judged."""
    from goldpan.filters.profile import criteria

    plan, repo = unit.plan, unit.repo
    chosen = [*product(plan.file.profiles, plan.file.rules)]
    profiles = plan.profiles.values()
    described = {
        f"profile {profile.name}": {
            "decide": list(profile.decide),
            **json_data(profile)["settings"],
            "criteria": {name: profile.digest(name) for name in criteria()},
        }
        for profile in profiles
    }

    def ended(results: Results) -> Outcome:
        line = "; ".join(
            f"{result.profile} keeps {result.issues.kept:,} of {result.issues.rows:,} issues, "
            f"{result.pairs.kept:,} of {result.pairs.rows:,} pairs by {rules}"
            for result, (_, rules) in zip(results, chosen, strict=True)
        )
        return outcome(results, *plan.tables("filter", repo=repo), summary=line)

    names = [profile.name for profile in profiles]
    return Step(
        options=[{"profile": profile, "rules": rules} for profile, rules in chosen],
        settings={"rules": list(plan.file.rules), "profile": names, **described, **plan.issues()},
        inputs=plan.tables("normalize", "history", "pair", repo=repo),
        ended=ended,
    )


def review_step(unit: Unit) -> Step:
    """Return what models judge."""
    plan, rules = unit.plan, unit.plan.file.rules[0]
    repos = [*map(plan.kept, plan.repos)]
    profile = plan.profile(unit.section).name

    def ended(results: Results) -> Outcome:
        (result,) = results
        kept, dropped, people = (
            sum(counts.values()) for counts in (result.keep, result.drop, result.people)
        )
        line = f"{kept:,} kept, {dropped:,} dropped, {people:,} for people"
        paths = (plan.layout().verdicts(repo, f"{profile}.llm") for repo in repos)
        ended = outcome(results, *(path for path in paths if path.exists()), summary=line)
        missing = (line,) if result.exit_code else ()
        return replace(ended, missing=missing, again=not result.complete)

    return Step(
        options=[{"rules": rules, "repos": repos}],
        settings=plan.issues(),
        inputs=[
            *plan.filtered(repos, unit.section, rules),
            *plan.named_files(unit.section, "settings_file"),
        ],
        ended=ended,
    )

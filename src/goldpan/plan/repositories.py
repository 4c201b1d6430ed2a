"""The stages that work on repositories: from mining to what filters and reviews keep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from goldpan.core.errors import MiningError
from goldpan.core.result import count, json_data
from goldpan.datasets.licenses import stated_license
from goldpan.lineage.stages import STAGES
from goldpan.plan.step import Outcome, Results, Step, Unit

_DAY = timedelta(days=1)
_WITHHELD = "withheld"


def mine_step(unit: Unit) -> Step:
    """Return how GitHub is asked for a repository, or how tables are made of replies there are."""
    stated = stated_license(unit.section.get("licenses").get(unit.subject.lower()))
    license = {} if stated is None else {"license": stated}
    layout, settings = unit.plan.lab.layout, unit.plan.lab.settings
    if not unit.section.get("enabled"):
        return Step(
            command="normalize",
            options=[license],
            settings=license,
            inputs=unit.plan.tables("mine", repo=unit.repo),
            ended=lambda results: _normalized(unit, results),
        )
    asked = {name: getattr(settings, name) for name in ("api_url", "via", "since", "include")}
    return Step(
        options=[license],
        settings={name: value for name, value in {**asked, **license}.items() if value},
        due=_refresh(unit),
        # Later stages change what is in the folder of tables.
        ended=lambda results: _mined(unit, results, layout.tables(results[0].repo)),
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

    (result,) = results
    coverage = result.coverage
    if coverage is None:
        raise MiningError(f"{unit.subject} was not mined", "Run the same command again")
    gaps = [f"{gap.part} {gap.state}" for gap in coverage.gaps]
    missing = tuple(f"{gaps.count(gap):,} {gap}" for gap in sorted(set(gaps)))
    return Outcome(
        outputs=[tables],
        summary=summary(result),
        missing=missing if coverage.finished else ("the run did not finish",),
        again=not coverage.finished or any(gap.state != _WITHHELD for gap in coverage.gaps),
        repo=result.repo,
    )


def _normalized(unit: Unit, results: Results) -> Outcome:
    (counts,) = results  # of all repositories
    entries = counts.tables[unit.repo.lower()]["entries"]
    return Outcome(
        outputs=[unit.plan.lab.layout.table(unit.repo, "entries")],
        summary=f"{count(entries, 'entry')} from the raw replies",
    )


def pair_step(unit: Unit) -> Step:
    """Return by which rules pull requests are matched."""
    from goldpan.miners.pairing import find_rules

    names, plan, repo = unit.plan.file.rules, unit.plan, unit.repo
    rules = {
        f"rules {rules.name}": {**json_data(rules), "plugins": rules.plugins()}
        for rules in map(find_rules, names)
    }
    return Step(
        options=[{"rules": name} for name in names],
        settings={"rules": ", ".join(names), **rules},
        inputs=plan.tables(*STAGES["pair"].inputs, repo=repo),
        ended=lambda _: Outcome(outputs=plan.tables("pair", repo=repo)),
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
        ended=lambda _: Outcome(outputs=plan.tables("history", repo=repo)),
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
        lines = (
            f"{result.profile} keeps {result.issues.kept:,} of {result.issues.rows:,} issues, "
            f"{result.pairs.kept:,} of {result.pairs.rows:,} pairs by {rules}"
            for result, (_, rules) in zip(results, chosen, strict=True)
        )
        return Outcome(outputs=plan.tables("filter", repo=repo), summary="; ".join(lines))

    asked = {"rules": list(plan.file.rules), "profile": [one.name for one in profiles]}
    return Step(
        options=[{"profile": profile, "rules": rules} for profile, rules in chosen],
        settings={**asked, **described, **plan.issues()},
        inputs=plan.tables(*STAGES["filter"].inputs, repo=repo),
        ended=ended,
    )


def review_step(unit: Unit) -> Step:
    """Return what models judge."""
    plan, rules = unit.plan, unit.plan.file.rules[0]
    repos = [*map(plan.kept, plan.repos)]
    profile = plan.profile(unit.section)

    def ended(results: Results) -> Outcome:
        (result,) = results
        counts = (result.keep, result.drop, result.people)
        kept, dropped, people = (sum(one.values()) for one in counts)
        line = f"{kept:,} kept, {dropped:,} dropped, {people:,} left for people"
        layout = plan.lab.layout.by_rules(rules)
        paths = (layout.verdicts(repo, f"{profile}.llm") for repo in repos)
        return Outcome(
            outputs=filter(Path.exists, paths),
            summary=line,
            missing=(line,) if result.exit_code else (),
            again=not result.complete,
        )

    return Step(
        options=[{"rules": rules, "repos": repos}],
        settings=plan.issues(),
        inputs=[
            *plan.filtered(repos, unit.section, rules),
            *plan.named_files(unit.section, "settings_file"),
        ],
        ended=ended,
    )

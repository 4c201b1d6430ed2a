"""The stages that are an operation and no more: what each reads, writes and depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from goldpan.core.errors import EvaluationError, GoldpanError
from goldpan.core.values import Execution
from goldpan.plan.sections import EvaluationPlan
from goldpan.plan.step import (
    HISTORY,
    Context,
    StageFiles,
    Step,
    audited_files,
    dataset_files,
    files_below,
    profile_settings,
    rules_settings,
)
from goldpan.plan.unit import Cost, Outcome, Stage


def _history(step: Step, *_: object) -> list[Path]:
    layout = step.context.lab.layout
    return [layout.table(step.repo, name) for name in HISTORY]


def _tables_and_pairs(step: Step) -> list[Path]:
    return [*step.context.tables(step.repo), *step.context.pairs(step.repo)]


def _verdicts(step: Step, *_: object) -> Iterator[Path]:
    for rules in step.context.file.rules:
        for profile in step.context.profiles.values():
            yield step.context.layout(rules).verdicts(step.repo, profile.name)


def _kept_line(result: Any, rules: str) -> str:
    issues, pairs = result.issues, result.pairs
    return (
        f"{result.profile} keeps {issues.kept:,} of {issues.rows:,} issues, "
        f"{pairs.kept:,} of {pairs.rows:,} pairs by {rules}"
    )


def _reviewed_line(result: Any) -> str:
    keep, drop, people = (
        sum(counts.values()) for counts in (result.keep, result.drop, result.people)
    )
    return f"{keep:,} kept, {drop:,} dropped, {people:,} for people"


def _asks_github(step: Step) -> bool:
    """Tell whether GitHub is asked for what git does not tell, which takes tokens."""
    from goldpan.git.remote import find_remote

    if (network := step.section.get("network")) is not None:
        return bool(network)
    host = step.context.lab.settings.git_host
    return not find_remote(step.unit.subject, step.fixed.get("source"), None, host).is_local


def clone_source(context: Context, repo: str) -> dict[str, str]:
    """Return where the history of a repository comes from, by name; nothing for GitHub."""
    from goldpan.git.remote import source_of

    source = context.file.plan.clone.source
    if source is None:
        return {}
    return {"source": context.file.source(source_of(source, context.repository(repo)))}


def _named_files(step: Step, *keys: str) -> list[Path]:
    """Return the files that keys of the section name."""
    return [step.context.file.resolve(name) for key in keys for name in step.section.names(key)]


def _review_inputs(step: Step) -> list[Path]:
    context, profile = step.context, step.section.get("profile")
    files = _named_files(step, "settings_file")
    return [*context.filtered(step.repos, profile, context.file.rules[0]), *files]


def _review_verdicts(step: Step) -> list[Path]:
    name = step.context.profile(step.section.get("profile")).name
    repos = map(step.context.repository, step.repos)
    paths = [step.context.layout().verdicts(repo, f"{name}.llm") for repo in repos]
    return [path for path in paths if path.exists()]


def _proofs(step: Step, results: Sequence[Any]) -> Iterator[Path]:
    from goldpan.execution.records import record_directory

    for result in results:
        for record in result.records:
            yield record_directory(step.context.lab.layout, record.instance) / "record.json"


def _evidence(step: Step) -> list[Path]:
    """Return what findings read: the dataset, and the runs of models and of tests on its rows."""
    from goldpan.audit.stored_runs import run_files
    from goldpan.core.storage.parquet import read_table
    from goldpan.datasets.provenance import shard_paths
    from goldpan.execution.records import RECORD

    layout = step.context.lab.layout
    ids, repos = set[str](), set[str]()
    for path in shard_paths(layout.dataset(step.section.get("dataset") or step.unit.subject)):
        rows = read_table(path)
        ids.update(rows["id"].to_pylist())
        repos.update(filter(None, rows["repo"].to_pylist() if "repo" in rows.column_names else ()))
    tests = [layout.root / "verification" / repo.lower() for repo in sorted(repos)]
    records = [record for folder in tests for record in folder.glob(f"*/{RECORD}")]
    return [*dataset_files(step), *run_files(layout, ids), *records]


def _asks_models(step: Step) -> bool:
    """Tell whether a model is behind an endpoint, which takes a key."""
    from goldpan.evaluation.model import find_model
    from goldpan.evaluation.protocol import find_protocol, settings_for

    protocol = find_protocol(step.section.get("protocol"))
    settings = step.section.get("settings")
    return any(
        find_model(name, settings_for(protocol, name, settings)).estimate
        for name in step.section.get("model")
    )


FILES: Mapping[Stage, StageFiles] = {
    "mine": StageFiles(
        "normalize",
        inputs=lambda step: step.context.lab.layout.raw(step.unit.subject).glob("*.zst"),
        outputs=lambda step, _: [step.context.lab.layout.table(step.repo, "entries")],
        settings=lambda step: {
            "license": step.context.file.plan.mine.licenses.get(step.unit.subject.lower())
        },
        line=lambda result, _: "; ".join(
            f"{counts['entries']:,} issues and pull requests from the raw replies"
            for counts in result.tables.values()
        ),
        appends=True,
    ),  # of a repository that is not to be mined
    "pair": StageFiles(
        "pair",
        inputs=lambda step: step.context.tables(step.repo),
        outputs=lambda step, _: step.context.pairs(step.repo),
        settings=lambda step: rules_settings(step.context.file.rules),
        each=("rules",),
        line=lambda result, _: f"{result[0].pairs:,} fix pairs by {result[0].rules}",
    ),
    "clone": StageFiles(
        "clone",
        inputs=_tables_and_pairs,
        outputs=_history,
        kept=lambda step: [step.context.lab.layout.clone(step.repo), *_history(step)],
        settings=lambda step: {"source": step.context.file.plan.clone.source},
        runs_locally=_asks_github,
    ),
    "filter": StageFiles(
        "filter",
        inputs=lambda step: [*_tables_and_pairs(step), *_history(step)],
        all_issues=True,
        outputs=_verdicts,
        settings=lambda step: {
            "rules": list(step.context.file.rules),
            "profile": [profile.name for profile in step.context.profiles.values()],
            **profile_settings(step.context.profiles.values()),
        },
        each=("profile", "rules"),
        line=lambda result, values: _kept_line(result[0], values["rules"]),
    ),
    "review": StageFiles(
        "review",
        inputs=_review_inputs,
        all_issues=True,
        outputs=lambda step, _: _review_verdicts(step),
        runs_locally=lambda _: True,  # the key, and what it costs is counted in one place
        line=lambda result, _: _reviewed_line(result),
    ),
    "tasks": StageFiles(
        "tasks import",
        inputs=lambda step: [
            *_named_files(step, "files"),
            *step.context.decisions(step.section.names("corrections")),
        ],
        outputs=lambda _, results: files_below(*(result.written.directory for result in results)),
    ),
    "verify": StageFiles(
        "verify",
        inputs=lambda step: [*dataset_files(step), *_named_files(step, "recipe")],
        outputs=_proofs,
        settings=lambda step: {"recipe": None},
    ),
    "compare": StageFiles(
        "evaluate compare",
        inputs=lambda step: (step.context.lab.path / "runs").rglob("result.json"),
        outputs=lambda step, _: [
            Path(value)
            for name, value in step.values().items()
            if name in ("output", "markdown", "latex")
        ],
    ),
    "annotate": StageFiles(
        "annotate push",
        inputs=lambda step: [
            *step.context.data(step.section),
            *step.context.decisions([step.unit.subject]),
        ],
        runs_locally=lambda _: True,
        owns=False,
    ),
    "evaluate": StageFiles(
        "evaluate run",
        inputs=lambda step: step.context.data(step.section),
        runs_locally=_asks_models,
    ),
    "audit": StageFiles(
        "audit",
        inputs=_evidence,
        outputs=lambda _, results: files_below(*(Path(result.file).parent for result in results)),
    ),
    "export": StageFiles(
        "export",
        inputs=audited_files,
        outputs=lambda _, results: files_below(*(result.directory for result in results)),
    ),
    "duplicates": StageFiles(
        "near-duplicates",
        all_issues=True,
        settings=lambda step: asdict(
            step.context.profiles[step.fixed["profile"]].settings["near-duplicates"]
        ),
    ),
}


class DuplicatesStep(Step):
    """Finds near duplicates among the issues of all repositories, which filters and builds use."""

    def run(self) -> Outcome:
        """Find them; on a cluster with all its machines, which this task hands its portions."""
        from goldpan.filters.clusters import duplicates_path

        context, name = self.context, self.fixed["profile"]
        settings = context.profiles[name].settings["near-duplicates"]
        found = context.lab.near_duplicates(name, execution=Execution(context.engine))
        paths = (duplicates_path(context.lab.layout, settings),)
        return Outcome(f"{len(found):,} issues have duplicates", paths)


class ReviewStep(Step):
    """Has models judge what is kept of all repositories; nothing is asked twice."""

    def outcome(self, results: Sequence[Any], lines: Sequence[str]) -> Outcome:
        """Return what was decided, and what it cost."""
        (result,) = results
        return replace(
            super().outcome(results, lines),
            spent={"calls": result.sent, "money": result.cost},
            again=not result.complete,
        )

    def price(self) -> Cost:
        """Count what would be sent, where the filters ran."""
        try:
            predicted = self.call({**self.values(), "dry_run": True})
        except GoldpanError:
            return Cost(note="model calls and money, as the filters have not run yet")
        return Cost(money=predicted.cost, calls=predicted.requests)


class PushStep(Step):
    """Brings subjects to annotators, and waits until what they decided is pulled."""

    def run(self) -> Outcome:
        """Push what is new, unless people have decided about all that was there before."""
        outcome = super().run()
        decided = self.context.lab.path / "annotations" / self.unit.subject / "decisions.parquet"
        if decided.exists():
            return outcome
        waiting = f"people annotate; then run goldpan annotate pull --project {self.unit.subject}"
        return replace(outcome, lacks=(waiting,), waits=True)


_REMEDY = "remedy"
"""The fact of a run that failed: what to do about it."""
_RUN = ("dataset", "task", "model", "seed")
"""The parameters of which a run has one value."""


@dataclass(frozen=True, kw_only=True)
class EvaluateStep(Step):
    """Runs models, as goldpan evaluate run does, and goes on where one fails."""

    section: EvaluationPlan

    @property
    def gpus(self) -> float:
        """Return what the plan says that each run needs."""
        return self.section.gpus

    @property
    def parts(self) -> int:
        """Count the runs."""
        return len(self._runs())

    def run(self) -> Outcome:
        """Run them."""
        return self.join([self.run_part(number) for number in range(self.parts)])

    def run_part(self, number: int) -> Outcome:
        """Do one run, or return what it lacks."""
        values = self._runs()[number]
        try:
            (result,) = self.call({**self._common(), **values})
        except EvaluationError as error:
            name = values.get("dataset") or values["task"]
            seed = f", seed {values['seed']}" if "seed" in values else ""
            lack = f"{name} by {values['model']}{seed}: {error}"
            return Outcome("", lacks=(lack,), facts={_REMEDY: error.remedy})
        return Outcome("", (result.directory / "result.json",), results=(result,))

    def join(self, parts: Sequence[Outcome]) -> Outcome:
        """Return the outcome of all runs; raises `EvaluationError` where none finished."""
        outputs = [path for part in parts for path in part.made]
        lacks = [lack for part in parts for lack in part.lacks]
        if lacks and not outputs:
            raise EvaluationError(f"No run finished: {lacks[0]}", parts[0].facts[_REMEDY])
        return Outcome(
            f"{len(outputs):,} runs",
            tuple(outputs),
            lacks=tuple(lacks),
            again=bool(lacks),
            results=tuple(result for part in parts for result in part.results),
        )

    def price(self) -> Cost:
        """Add up what models behind endpoints would cost, where the datasets are built."""
        try:
            planned = self.call({**self.values(), "dry_run": True})
        except GoldpanError:
            return Cost(note="model calls and money, as the datasets are not built yet")
        remote = [run.estimate for run in planned if run.estimate is not None]
        if not remote:
            return Cost()
        costs = [estimate.cost for estimate in remote if estimate.cost is not None]
        money = sum(costs) if len(costs) == len(remote) else None
        return Cost(money=money, calls=sum(estimate.requests for estimate in remote))

    def _common(self) -> dict[str, Any]:
        return {name: value for name, value in self.values().items() if name not in _RUN}

    def _runs(self) -> list[dict[str, Any]]:
        """Return what each run has of its own; without a seed it is the protocol's."""
        section = self.section
        data = [("dataset", name) for name in section.get("dataset")]
        data += [("task", name) for name in section.get("task")]
        seeds = [{"seed": seed} for seed in section.get("seed")] or [{}]
        return [
            {kind: name, "model": model, **seed}
            for (kind, name), model, seed in product(data, section.get("model"), seeds)
        ]

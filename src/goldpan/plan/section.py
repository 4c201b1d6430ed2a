"""Tables of a plan's file: strict about the names of their keys, derived from methods.

What no method has is written here: which repositories, and what things are called.
"""

from __future__ import annotations

import re
import types
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from os.path import expanduser
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from goldpan.core.errors import UsageError
from goldpan.core.plugins.loading import find_builder
from goldpan.core.plugins.parts import Reads
from goldpan.core.settings.config import repository_name
from goldpan.core.settings.file import Location, Source
from goldpan.core.values import several
from goldpan.workspace.options import Option, single_type

MOST_SELECTED = 1_000
"""GitHub's search shows no more."""
EXECUTION = "execution"
"""The group of options that say where work is done; results do not depend on them."""
_NEVER = ("repos", "dry_run")
"""Options that a run of the plan gives, not its file."""
_CREDENTIALS = re.compile(r"(?!ssh:)[a-z]+://[^/]*@|ssh://[^/@]*:[^/]*@", re.I)


def refusal(problem: str, remedy: str = "") -> PydanticCustomError:
    """Return what a validator raises: the cause and the remedy, which stand behind the key."""
    return PydanticCustomError("plan", "{problem}", {"problem": problem, "remedy": remedy})


def _repository(name: str) -> str:
    try:
        return repository_name(name)
    except UsageError as error:
        raise refusal(error.problem, error.remedy) from None


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", text):
        raise refusal(f"{text!r} is no name", "Use letters, digits, dots, dashes and underscores")
    return text


Name = Annotated[str, AfterValidator(_name)]
Repository = Annotated[str, AfterValidator(_repository)]


class PlanSection(BaseModel):
    """A table of the file; a key that it does not know is refused with the nearest one.

    Where several values may stand, one may stand by itself; a date may stand for a text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        read: dict[str, Any] = {}
        for key, value in values.items():
            name = str(key).replace("-", "_")
            if name not in cls.model_fields:
                read[str(key)] = value
                continue
            if name in read:
                raise refusal(f"the key {name} is given twice")
            if get_origin(cls.model_fields[name].annotation) is tuple:
                value = tuple(value) if isinstance(value, (list, tuple)) else (value,)
            read[name] = str(value) if isinstance(value, date) else value
        return read

    def get(self, name: str) -> Any:
        """Return a value by name; None where the section has no such key."""
        return getattr(self, name, None)

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names that a key gives, one or several; none where there is no such key."""
        return several(self.get(name) or ())


class StageSection(PlanSection):
    """A section whose keys are the options of a method, besides those of the plan alone."""

    parameters: ClassVar[Mapping[str, Option]] = MappingProxyType({})
    """The options of the method that the section has, by name."""

    def given(self) -> dict[str, Any]:
        """Return what the file says of the parameters; the others keep their defaults."""
        names = [name for name in self.parameters if name in self.model_fields_set]
        return {name: getattr(self, name) for name in names}

    def values(self) -> dict[str, Any]:
        """Return all parameters on which a result depends, defaults included."""
        options = self.parameters.values()
        return {one.name: getattr(self, one.name) for one in options if one.group != EXECUTION}


class Select(PlanSection):
    """Repositories that GitHub's search finds, the most starred first."""

    language: str | None = Field(default=None, description="The main language, such as Go.")
    min_stars: int = Field(default=0, ge=0, description="At least this many stars.")
    license: str | None = Field(
        default=None, description="Its keyword in GitHub's search, such as mit or apache-2.0."
    )
    limit: int = Field(
        default=10,
        ge=1,
        le=MOST_SELECTED,
        description="At most this many, besides those that are listed or selected before.",
    )
    archived: bool = Field(default=False, description="Also archived repositories.")

    @field_validator("language", "license")
    @classmethod
    def _word(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or any(sign in value for sign in '"\\\n\r')):
            raise refusal(f"{value!r} is not a word that a search can use")
        return value

    @model_validator(mode="after")
    def _says_something(self) -> Select:
        if self.language is None and self.license is None and not self.min_stars:
            remedy = "Give language, min_stars or license"
            raise refusal("it selects among all repositories", remedy)
        return self


class Repositories(PlanSection):
    """The repositories that are worked on."""

    listed: tuple[Repository, ...] = Field(default=(), description="Their names, OWNER/NAME.")
    select: tuple[Select, ...] = ()

    @field_validator("listed")
    @classmethod
    def _once_each(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple({name.lower(): name for name in names}.values())


class Plan(StageSection):
    """The keys of a plan before its sections, and where its stages do their work."""

    workspace: str | None = Field(
        default=None,
        description="A directory, relative to the file, or an address; --workspace overrides it.",
    )
    refresh: Literal["never", "daily", "always"] = Field(
        default="never",
        description="When repositories are mined again for what changed: never, daily or always.",
    )
    repositories: Repositories = Repositories()


class MineSection(StageSection):
    """How GitHub is asked, as by goldpan mine."""

    enabled: bool = Field(
        default=True, description="false: only make tables of the raw replies that are there."
    )
    licenses: dict[Repository, str] = Field(
        default={}, description="Licenses by repository, where GitHub is wrong or silent."
    )

    def values(self) -> dict[str, Any]:
        """Return nothing: what GitHub is asked for counts, not how fast."""
        return {}

    @field_validator("licenses")
    @classmethod
    def _lower(cls, licenses: dict[str, str]) -> dict[str, str]:
        return {name.lower(): license for name, license in licenses.items()}


class CloneSection(StageSection):
    """How histories are fetched, as by goldpan clone."""

    enabled: bool = Field(default=True, description="false: work without the code's history.")
    source: str | None = Field(
        default=None,
        description="A git address, local mirror or bundle, with {owner} and {name} in it, such as "
        "mirrors/{owner}/{name}.git.",
    )

    @field_validator("source")
    @classmethod
    def _without_password(cls, source: str | None) -> str | None:
        if source is not None and _CREDENTIALS.match(source):
            remedy = "Remove them, and put a token into GITHUB_TOKEN"
            raise refusal("the address holds a name or a password", remedy)
        return source


class DatasetSection(StageSection):
    """A dataset, as by goldpan build FAMILY."""

    name: Name = Field(description="The name of its directory in WORKSPACE/datasets.")
    family: str = Field(description="A family of goldpan build, whose options are keys here.")
    repositories: tuple[Repository, ...] = Field(
        default=(), description="Some of the repositories of the plan. (default: all)"
    )
    leave_out: bool = Field(
        default=False, description="Build without repositories that a stage failed for."
    )
    since: str | None = Field(
        default=None,
        description="An older version, such as last for that of the plan, or its directory or name "
        "on the Hub.",
    )


class NamedSection(StageSection):
    """One of several of a stage."""

    name: Name = Field(description="A name for it.")


class EvaluationSection(NamedSection):
    """Models that are run, as by goldpan evaluate run."""

    @model_validator(mode="after")
    def _check_any(self) -> EvaluationSection:
        if not any(self.get(name) for name in ("dataset", "task", "suite")):
            remedy = 'Write dataset = ["NAME"] or task = ["TASK"]'
            raise refusal("it names nothing to evaluate on", remedy)
        return self


class OfDataset(StageSection):
    """A stage that works on one dataset of the plan."""

    dataset: Name = Field(description="A dataset of this plan, by name.")


class ExportSection(OfDataset):
    """A dataset in another form, as by goldpan export."""

    name: Name = Field(description="The name of its directory in WORKSPACE/exports.")


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan and where it lies."""

    path: Path
    source: Source
    head: Plan
    by_stage: Mapping[str, Mapping[Location, StageSection]]
    """The sections of each stage, by their places in the file."""

    @property
    def name(self) -> str:
        """The name of the plan: that of its file."""
        return self.path.stem

    def sections(self, stage: str) -> list[StageSection]:
        """Return the sections of a stage, in their order."""
        return list(self.by_stage[stage].values())

    @property
    def rules(self) -> tuple[str, ...]:
        """The sets of pairing rules, the first for what names none."""
        return self.sections("pair")[0].names("rules")

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles of filters that anything asks for, in their order, once each."""
        takers = [*self.sections("review")]
        takers += [one for one in self.sections("dataset") if reads_of(one) == "filtered"]
        named = self.sections("filter")[0].given().get("profile", ())
        wanted = [*named, *filter(None, (one.get("profile") for one in takers))]
        return tuple(dict.fromkeys(map(self.profile, wanted or ["default"])))

    def profile(self, name: str) -> str:
        """Return a profile's name, or where its file lies."""
        return str(self.resolve(name)) if name.endswith(".toml") else name

    def resolve(self, name: str) -> Path:
        """Return a path of the file, which is relative to the file's folder or to ~."""
        return self.path.parent / expanduser(name)  # noqa: PTH111 - a path's own fails for unknown users

    def found(self, name: str) -> str:
        """Return a path of the file where it is there, else the name of something elsewhere."""
        path = self.resolve(name)
        return str(path) if path.exists() else name

    def given(self, section: StageSection) -> dict[str, Any]:
        """Return what a section gives a method, with the paths of files."""
        return self.resolved(section, section.given())

    def resolved(self, section: StageSection, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values of a section with the paths of files."""
        values = dict(values)
        for name, value in values.items():
            if is_path(section.parameters[name]) and value is not None:
                paths = tuple(map(self.resolve, several(value)))
                values[name] = paths if isinstance(value, tuple) else paths[0]
            elif name == "profile" and isinstance(value, str):
                values[name] = self.profile(value)
        return values


def reads_of(dataset: StageSection) -> Reads:
    """Return what the rows of a dataset are made of, which its family tells."""
    builder = find_builder(dataset.get("family"))
    return builder.reads if builder else "filtered"


def subject_of(section: StageSection) -> str:
    """Return what names a section, such as its dataset or its profile; empty where nothing does."""
    keys = ("name", "project", "dataset", "profile")
    return next((Path(name).name for key in keys for name in section.names(key)), "")


S = TypeVar("S", bound=StageSection)


def derive(
    base: type[S],
    options: Iterable[Option],
    about: str,
    *,
    without: Collection[str] = (),
    several: Collection[str] = (),
) -> type[S]:
    """Return a section with the keys of `base`, and those of a method's options.

    Its docstring is `about`. The plan itself gives those in `without`; of those in `several` the
    file may give more values than the method takes at once.
    """
    named_by_plan = {*_NEVER, *without, *base.model_fields}
    taken = {option.name: option for option in options if option.name not in named_by_plan}
    fields: dict[str, Any] = {
        name: _field(option, is_several=name in several) for name, option in taken.items()
    }
    made = create_model(
        base.__name__, __base__=base, __module__=base.__module__, __doc__=about, **fields
    )
    made.parameters = MappingProxyType(taken)
    return made


def is_path(option: Option) -> bool:
    """Tell whether an option names files."""
    return option.typed is Path or Path in get_args(option.typed)


def _field(option: Option, *, is_several: bool) -> tuple[Any, Any]:
    """Return an option as TOML gives it, where paths are texts: its type and its default."""
    single = single_type(option.hint)
    kind: Any = str if single is Path else single
    kind = kind if option.limits is None else Annotated[kind, option.limits]
    default: Any = str(option.default) if isinstance(option.default, Path) else option.default
    least = None
    if option.is_mapping:
        kind, default = dict[str, Any], dict(default or {})
    elif is_several or get_origin(option.typed) is tuple:
        kind, least = types.GenericAlias(tuple, (kind, ...)), 1 if is_several else None
        if not option.is_required and not isinstance(default, tuple):
            default = () if default is None else (default,)
    elif default is None:
        kind = kind | None
    default = ... if option.is_required else default
    return kind, Field(default=default, description=option.help, min_length=least)

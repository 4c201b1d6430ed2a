"""The tables of a plan's file, each derived from the method of its stage.

Only what no method has is written here: which repositories, what things are called, and how the
stages hang together. `commented_plan` is a plan to begin with, that names every key.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from operator import attrgetter
from types import MappingProxyType, NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import Field, create_model, field_validator, model_validator
from pydantic.fields import FieldInfo

from goldpan.core.errors import UsageError
from goldpan.core.plugins.loading import find_builder
from goldpan.core.plugins.parts import Reads
from goldpan.core.settings.config import repository_name
from goldpan.core.settings.file import toml_value
from goldpan.plan.section import PlanSection, StageSection, derive, refusal
from goldpan.workspace.building import builder_method, families
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.mining import Asking
from goldpan.workspace.options import options_of, options_of_group, summary_of
from goldpan.workspace.workspace import Workspace

MOST_SELECTED = 1_000
"""GitHub's search shows no more."""
Refresh = Literal["never", "daily", "always"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
S = TypeVar("S", bound=StageSection)
_CREDENTIALS = re.compile(r"(?!ssh:)[a-z]+://[^/]*@|ssh://[^/@]*:[^/]*@", re.I)


def _repository(name: str) -> str:
    try:
        return repository_name(name)
    except UsageError as error:
        raise refusal(error.problem, error.remedy) from None


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
            raise refusal(f"{value!r} is no word of a search")
        return value

    @model_validator(mode="after")
    def _says_something(self) -> Select:
        if self.language is None and self.license is None and not self.min_stars:
            remedy = "Give language, min_stars or license"
            raise refusal("it selects among all repositories", remedy)
        return self


class Repositories(PlanSection):
    """The repositories that are worked on."""

    listed: tuple[str, ...] = Field(default=(), description="Their names, OWNER/NAME.")
    select: tuple[Select, ...] = ()

    @field_validator("listed")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple({name.lower(): name for name in map(_repository, names)}.values())

    @model_validator(mode="after")
    def _check_any(self) -> Repositories:
        if not self.listed and not self.select:
            remedy = 'Write listed = ["OWNER/NAME"], or a [[repositories.select]]'
            raise refusal("it names no repository", remedy)
        return self


class MineSection(StageSection):
    """How GitHub is asked, as by goldpan mine."""

    enabled: bool = Field(
        default=True, description="false: only make tables of the raw replies that are there."
    )
    licenses: dict[str, str] = Field(
        default={}, description="Licenses by repository, where GitHub is wrong or silent."
    )

    @field_validator("licenses")
    @classmethod
    def _names(cls, licenses: dict[str, str]) -> dict[str, str]:
        return {_repository(name).lower(): license for name, license in licenses.items()}


class Clone(StageSection):
    """How histories are fetched, as by goldpan clone."""

    enabled: bool = Field(default=True, description="false: work without the code's history.")
    source: str | None = Field(
        default=None,
        description="A git address, local mirror or bundle, with {owner} and {name} in it.",
    )

    @field_validator("source")
    @classmethod
    def _without_password(cls, source: str | None) -> str | None:
        if source is not None and _CREDENTIALS.match(source):
            remedy = "Remove them, and put a token into GITHUB_TOKEN"
            raise refusal("the address holds a name or a password", remedy)
        return source


class AnnotateSection(PlanSection):
    """Annotation by people before datasets are built; the plan waits for it."""

    push: StageSection | None = None


class DatasetPlan(StageSection):
    """A dataset, as by goldpan build FAMILY."""

    name: Name = Field(description="The name of its directory in WORKSPACE/datasets.")
    family: str = Field(description="A family of goldpan build, whose options are keys here.")
    repositories: tuple[str, ...] = Field(
        default=(), description="Some of the repositories of the plan. (default: all)"
    )
    leave_out: bool = Field(
        default=False, description="Build without repositories that a stage failed for."
    )
    since: str | None = Field(
        default=None,
        description="An older version, by directory or name on the Hub, or last: that of the plan.",
    )
    publish: StageSection | None = None

    @field_validator("repositories")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_repository, names))


class NamedStage(StageSection):
    """One of several of a stage."""

    name: Name = Field(description="A name for it.")


class EvaluationPlan(NamedStage):
    """Models that are run, as by goldpan evaluate run."""

    gpus: float = Field(
        default=0.0, ge=0, description="How many GPUs a run asks of one machine of a cluster."
    )

    @model_validator(mode="after")
    def _check_any(self) -> EvaluationPlan:
        if not self.get("dataset") and not self.get("task"):
            remedy = 'Write dataset = ["NAME"] or task = ["TASK"]'
            raise refusal("it names nothing to evaluate on", remedy)
        return self


class OfDataset(StageSection):
    """A stage that works on one dataset of the plan."""

    dataset: Name = Field(description="A dataset of this plan, by name.")


class ExportPlan(OfDataset):
    """A dataset in another form, as by goldpan export."""

    name: Name = Field(description="The name of its directory in WORKSPACE/exports.")


class Plan(PlanSection):
    """The whole file."""

    workspace: str | None = Field(
        default=None,
        description="A directory, relative to the file, or an address; --workspace overrides it.",
    )
    refresh: Refresh = Field(
        default="never",
        description="When repositories are mined again for what changed: never, daily or always.",
    )
    repositories: Repositories
    mine: MineSection
    tasks: Mapping[str, StageSection] = MappingProxyType({})
    pair: StageSection
    clone: Clone
    filter: StageSection
    review: StageSection | None = None
    annotate: AnnotateSection = AnnotateSection()
    dataset: tuple[dict[str, Any], ...] = ()
    """As they stand in the file; `dataset_section` has the keys of each family."""
    verify: tuple[OfDataset, ...] = ()
    audit: tuple[OfDataset, ...] = ()
    evaluation: tuple[EvaluationPlan, ...] = ()
    comparison: tuple[NamedStage, ...] = ()
    export: tuple[ExportPlan, ...] = ()


def method_of(words: str, lab: Workspace | None = None) -> Callable[..., Any]:
    """Return the method of a workspace that a command is."""
    owner, (first, *others) = lab or Workspace.lazily(), words.split()
    if first == "build":
        return builder_method(owner.build, others[0])
    if first in ("export", "publish"):
        return Dataset.export if first == "export" else Dataset.publish
    if first == "mine":
        return owner.mine.__call__
    path = ".".join("import_" if word == "import" else word for word in words.split())
    method: Callable[..., Any] = attrgetter(path.replace("-", "_"))(owner)
    return method


_DERIVED: Mapping[str, tuple[type[StageSection], str, Mapping[str, Collection[str]]]] = {
    "pair": (StageSection, "pair", {"several": ("rules",)}),
    "clone": (Clone, "clone", {}),
    "filter": (
        StageSection,
        "filter",
        {"without": ("rules", "settings", "list", "rejects"), "several": ("profile",)},
    ),
    "review": (StageSection, "review", {"without": ("rules", "dataset", "calibrate")}),
    "tasks": (StageSection, "tasks import", {"without": ("name",)}),
    "verify": (OfDataset, "verify", {}),
    "audit": (OfDataset, "audit", {"without": ("limit",)}),
    "evaluation": (EvaluationPlan, "evaluate run", {}),
    "comparison": (NamedStage, "evaluate compare", {}),
    "export": (ExportPlan, "export", {"without": ("output",)}),
}
"""By keys of a plan: the keys that the plan alone has, the command, and which of its options."""


def reads_of(family: str) -> Reads:
    """Return what the rows of a family are made of."""
    builder = find_builder(family)
    return builder.reads if builder else "filtered"


def _of(base: type[S], words: str, **options: Collection[str]) -> type[S]:
    method = method_of(words)
    return derive(base, options_of(method), summary_of(method), **options)


@cache
def plan_section() -> type[Plan]:
    """Return the whole file with all its keys but those of datasets, which differ by family."""
    mine = derive(MineSection, options_of_group(Asking), str(MineSection.__doc__))
    push: Any = _of(StageSection, "annotate push", without=("rules",)) | None
    annotate: Any = create_model("Annotate", __base__=AnnotateSection, push=(push, None))
    fields: dict[str, Any] = {"mine": (mine, mine()), "annotate": (annotate, annotate())}
    for key, (base, words, options) in _DERIVED.items():
        kind: Any = _of(base, words, **options)
        field = Plan.model_fields[key]
        if field.is_required():
            fields[key] = (kind, kind())
        elif field.default is None:
            fields[key] = (kind | None, None)
        else:
            is_list = field.default == ()
            fields[key] = (tuple[kind, ...], ()) if is_list else (dict[str, kind], {})
    made: type[Plan] = create_model("Plan", __base__=Plan, **fields)
    return made


@cache
def dataset_section(family: str) -> type[DatasetPlan]:
    """Return the keys of a dataset of a family; a plugin's has those of code-edit."""
    builder = find_builder(family)
    made = derive(
        DatasetPlan,
        options_of(method_of(f"build {family if family in families() else 'code-edit'}")),
        str(DatasetPlan.__doc__),
        without=("output", *(builder.fixed if builder else ())),
    )
    publish: Any = _of(StageSection, "publish", without=("dataset",)) | None
    return create_model("DatasetPlan", __base__=made, __doc__=made.__doc__, publish=(publish, None))


_EXAMPLE = "# for example"
"""What a line of a plan ends in that sets no default."""
_HEAD = """\
# A plan for goldpan run. Lines that begin with # and a space are help; remove the # before a line
# without one to set what it says. It sets the default, unless the line ends in # for example.
# Paths are relative to this file (docs/plans.md).
"""
_LISTED = '[repositories]\n# Their names, OWNER/NAME.\nlisted = ["OWNER/NAME"]\n'
_SINGLE = ("mine", "pair", "clone", "filter", "review")
_SEVERAL = ("verify", "evaluation", "comparison", "audit", "export")


def commented_plan() -> str:
    """Return a plan that runs once its repository is named, with all other keys as comments."""
    plan = plan_section()
    parts = [_HEAD + "\n" + _keys(plan, ("workspace", "refresh")), _LISTED]
    parts.append(_table("[[repositories.select]]", Select))
    parts += [_table(f"[{name}]", _held(plan, name)) for name in _SINGLE]
    parts.append(_table("[tasks.NAME]", _held(plan, "tasks")))
    parts += _datasets()
    parts.append(_table("[annotate.push]", _held(_held(plan, "annotate"), "push")))
    parts += [_table(f"[[{name}]]", _held(plan, name)) for name in _SEVERAL]
    return "\n".join(parts)


def _datasets() -> Iterator[str]:
    """Yield a dataset of each family, with the keys that those before it have not."""
    shown: set[str] = {"name", "family"}
    for family in sorted(families(), key=lambda name: name != "qa"):
        section = dataset_section(family)
        keys = [key for key in section.model_fields if key not in shown and key != "publish"]
        shown |= set(keys)
        about = _about(section) if family == "qa" else f"# Of the family {family}:\n"
        head = f'{about}#[[dataset]]\n#name = "{family}"\n#family = "{family}"\n'
        yield head + _keys(section, keys)
        if family == "qa":
            yield _table("[dataset.publish]", _held(section, "publish"))


def _held(section: type[PlanSection], name: str) -> type[PlanSection]:
    """Return the section that a field holds, one or several."""
    found = [section.model_fields[name].annotation]
    while found:
        kind = found.pop()
        if isinstance(kind, type) and issubclass(kind, PlanSection):
            return kind
        found += get_args(kind)
    raise KeyError(name)


def _table(head: str, section: type[PlanSection]) -> str:
    keys = [name for name, field in section.model_fields.items() if field.description is not None]
    return f"{_about(section)}#{head}\n{_keys(section, keys)}"


def _about(section: type[PlanSection]) -> str:
    is_own = section.__doc__ and section.__doc__ != StageSection.__doc__
    return _help(section.__doc__ or "") if is_own else ""


def _keys(section: type[PlanSection], names: Collection[str]) -> str:
    lines = []
    for name in names:
        field = section.model_fields[name]
        lines.append(_help(field.description or ""))
        value, is_default = _value(field, name, section)
        mark = "" if is_default else f"  {_EXAMPLE}"
        lines.append(f"#{name.replace('_', '-')} = {value}{mark}\n")
    return "".join(lines)


def _help(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 96))


def _value(field: FieldInfo, name: str, section: type[PlanSection]) -> tuple[str, bool]:
    """Return the default as TOML writes it, or an example, and whether it is the default."""
    if not field.is_required() and field.default is not None:
        return toml_value(field.default), True
    about = field.description or ""
    members = get_args(field.annotation) if NoneType in get_args(field.annotation) else ()
    kind = _bare(next((kind for kind in members if kind is not NoneType), field.annotation))
    if get_origin(kind) is Literal:
        return toml_value(get_args(kind)[0]), False
    if kind in (int, float):
        if told := re.search(r"\(default: ([\d.]+)", about):
            return told[1], True
        decimal = re.search(r"\d\.\d+", about)
        return toml_value(100 if kind is int else float(decimal[0] if decimal else 5)), False
    if told := re.search(r"\bsuch as ([^\s,;)]+?)[.,;)]?(?:\s|$)", about):
        return toml_value(told[1]), False
    option = issubclass(section, StageSection) and section.parameters.get(name)
    placeholder = (option.placeholder if option else "") or name.upper()
    return toml_value({bool: False, dict: {}}.get(get_origin(kind) or kind, placeholder)), False


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind

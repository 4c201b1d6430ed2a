"""Building datasets, one operation a family."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, get_args

from goldpan.core.errors import UsageError, choices, suggested
from goldpan.core.plugins.loading import names_of
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.values import LOCAL, Execution, Positive, file_paths, several
from goldpan.operations.added import AddedToBuild
from goldpan.operations.repositories import find_dataset, known_repositories
from goldpan.operations.signature import read_operation
from goldpan.operations.table import Group, every_command, owner_of

if TYPE_CHECKING:
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace

Answer = Literal["best", "first", "all", "reviewed"]
Texts = Literal["as-mined", "before-fix"]
F = TypeVar("F", bound=Callable[..., Any])
Source = Literal["issues", "discussions"]


class RowOptions(TypedDict, total=False):
    """Options of every family whose rows are made of what a filter profile keeps.

    The directory holds Parquet files, a card, Croissant metadata and provenance. Building twice
    gives the same bytes.

    Args:
        profile (NAME): default, verified, or the path of your own .toml file.
        rules (NAME): The pairing rules whose pairs and verdicts are taken: default, unconfirmed,
            landed, or a plugin's.
        split: none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME, stratified:0.8,0.2,
            time:2023-01-01[,2024-01-01] or, where the rows have one from their source, given.
        seed: Seed of random splits and of --limit.
        limit: At most this many rows, drawn by --seed. (default: all)
        texts: as-mined, or before-fix: issues as they stood before the fix was begun, or the
            question answered.
        require (NAME): Only rows that this review kept, such as question-answer or fix-pair, or
            that goldpan verify proved: verified, for issue-resolution; or without a finding of
            goldpan audit: not:solution-in-issue.
        gold: A gold set; the card says how well the rows agree with it.
        output: The dataset's directory. (default: WORKSPACE/datasets/...)
        since (DATASET): An older version; the card says what has changed since then, and why.
        execution: Where repositories are worked on, one a processor.
    """

    profile: str | Path
    rules: str
    split: str
    seed: int
    limit: Positive | None
    texts: Texts
    require: str | Sequence[str]
    gold: Path | str | Sequence[Path | str]
    output: Path | str | None
    since: Path | str | Dataset | None
    execution: Execution


_DEFAULTS: RowOptions = {
    "profile": "default",
    "rules": "default",
    "split": "none",
    "seed": 0,
    "limit": None,
    "texts": "as-mined",
    "require": (),
    "gold": (),
    "output": None,
    "since": None,
    "execution": LOCAL,
}


def _spelled_out(build: F) -> F:
    """Return an operation whose signature and help name each of its `RowOptions`, with defaults."""
    own = inspect.signature(build)
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_DEFAULTS[name],  # type: ignore[literal-required]
            annotation=annotation.__forward_arg__,
        )
        for name, annotation in RowOptions.__annotations__.items()
    ]
    signature = own.replace(parameters=[*list(own.parameters.values())[:-1], *options])

    @wraps(build)
    def build_rows(*arguments: Any, **given: Any) -> Any:
        bound = signature.bind(*arguments, **given)
        bound.apply_defaults()
        return build(*bound.args, **bound.kwargs)

    summary, _, of_own = (inspect.getdoc(build) or "").partition("\n\nArgs:")
    _, about, of_options = (inspect.getdoc(RowOptions) or "").split("\n\n")
    build_rows.__doc__ = f"{summary}\n\n{about}\n\nArgs:{of_own}{of_options.removeprefix('Args:')}"
    build_rows.__signature__ = signature  # type: ignore[attr-defined]
    return cast("F", build_rows)


class Build(AddedToBuild, Group):
    """Build a dataset: Parquet files, card, Croissant metadata and provenance."""

    words = "build"

    def __call__(self, family: str, *repos: str, **options: Any) -> Dataset:
        """Build a dataset of a family by its name, such as ``qa``, with the options of its method.

        A plugin's family takes the options of `code_edit`.
        """
        operation = read_operation(family_function(family))
        known = [item.name for item in operation.parameters]
        for name in options:
            if name not in known:
                raise UsageError(
                    f"{family} has no option {name!r}{suggested(name, known)}",
                    f"It has {choices(known)}",
                )
        built: Dataset = operation.function(owner_of(operation, self.lab), *repos, **options)
        return built

    @_spelled_out
    def qa(
        self,
        *repos: str,
        source: Source | Sequence[Source] = "issues",
        answer: Answer | None = None,
        **options: Unpack[RowOptions],
    ) -> Dataset:
        """Build questions and their answers from issues or discussions that a profile keeps.

        Args:
            source: Where the questions were asked. Of a discussion
                the answer is the accepted one.
            answer: The best, the first or all replies, or the reply that the required review
                question-answer names. (default: as the profile says)
        """
        if answer not in (None, *get_args(Answer)):
            raise unknown_name("choice of an answer", answer, get_args(Answer))
        sources = several(source)
        for name in sources:
            if name not in get_args(Source):
                raise unknown_name("source of questions", name, get_args(Source))
        return self._build("qa", repos, options, answer=answer, sources=sources)

    @_spelled_out
    def fault_localization(self, *repos: str, **options: Unpack[RowOptions]) -> Dataset:
        """Build issues with the files and lines that their fixes changed."""
        return self._build("fault-localization", repos, options)

    @_spelled_out
    def code_edit(self, *repos: str, **options: Unpack[RowOptions]) -> Dataset:
        """Build issues with the edits that fixed them, a file each."""
        return self._build("code-edit", repos, options)

    @_spelled_out
    def issue_resolution(self, *repos: str, **options: Unpack[RowOptions]) -> Dataset:
        """Build issues with fixes and the tests that can verify them, as SWE-bench has them."""
        return self._build("issue-resolution", repos, options)

    def _build(
        self, family: str, repos: Sequence[str], options: RowOptions, **of_questions: Any
    ) -> Dataset:
        from goldpan.audit.stored_audit import row_check
        from goldpan.builders.build import DatasetRequest, build
        from goldpan.builders.recipes import NOT, find_recipe
        from goldpan.datasets.gold import read_gold
        from goldpan.datasets.splits import SplitPlan
        from goldpan.filters.stored import find_profile
        from goldpan.report.health import find_audited

        lab, output, since = self.lab, options["output"], options["since"]
        if options["texts"] not in get_args(Texts):
            raise unknown_name("choice of texts", options["texts"], get_args(Texts))
        lab.settings.trust.require("plugins")
        recipe, plan = find_recipe(family), SplitPlan.parse(options["split"], options["seed"])
        names = known_repositories(lab.layout, repos, "tables")
        directory = Path(output) if output else lab.layout.dataset(family)
        layout, execution = lab.layout.by_rules(options["rules"]), options["execution"]
        required = several(options["require"])
        request = DatasetRequest(
            recipe,
            names,
            find_profile(layout, names, str(options["profile"])),
            plan,
            directory,
            reviews=tuple(name for name in required if not name.startswith(NOT)),
            golds=[read_gold(path) for path in file_paths(options["gold"])],
            since=None if since is None else find_dataset(lab, since).path,
            texts=options["texts"],
            limit=options["limit"],
            check=row_check(layout, required, recipe.family),
            audited=partial(find_audited, lab.layout, directory),
            execution=execution.with_workers(lab.settings.processes),
            **of_questions,
        )
        with lab.reporting() as reporter:
            built = build(layout, request, reporter)
        return _dataset(lab, request.directory, built)


def family_function(family: str) -> Callable[..., Dataset]:
    """Return the operation that builds a family; raises `UsageError` that lists those there are."""
    from goldpan.builders.recipes import find_recipe

    if (command := every_command().get(f"build {family}")) is None:
        find_recipe(family, names_of("builder"))
        raise KeyError(family)
    return command.function


def recipe_function(family: str) -> Callable[..., Dataset]:
    """Return the operation that builds a family of a plugin's recipe, made as the own ones are."""
    from goldpan.builders.recipes import find_recipe

    def build_family(self: Build, *repos: str, **options: Unpack[RowOptions]) -> Dataset:
        return self._build(family, repos, options)

    name = family.replace("-", "_")
    build_family.__name__, build_family.__qualname__ = name, f"Build.{name}"
    build_family.__doc__ = f"Build a dataset of a plugin: {find_recipe(family).family.title}."
    return _spelled_out(build_family)


def datasets(self: Workspace) -> list[Dataset]:
    """Return the finished datasets of the workspace, sorted by name."""
    from goldpan.datasets.provenance import finished_datasets

    return [_dataset(self, path) for path in finished_datasets(self.layout)]


def _dataset(lab: Workspace, directory: Path, built: Any = None) -> Dataset:
    from goldpan.operations.dataset import Dataset

    return Dataset(directory, built=built, workspace=lab)

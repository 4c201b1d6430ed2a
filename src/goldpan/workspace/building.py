"""Building datasets, a method a family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Annotated, Any, Literal, get_args

import cyclopts
from cyclopts import Parameter

from goldpan.core.errors import UsageError, choices, suggested
from goldpan.core.plugins.loading import find_builder, names_of
from goldpan.core.plugins.parts import imported
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.values import LOCAL, Execution, Positive, file_paths, several
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.opening import Group, OpenWorkspace
from goldpan.workspace.options import DatasetName, Names, call, flat, options_of
from goldpan.workspace.repositories import find_dataset, known_repositories, paired_layout

Answer = Literal["best", "likely", "first", "all", "reviewed"]
Texts = Literal["as-mined", "before-fix"]
Source = Literal["issues", "discussions"]
_OWN = ("qa", "fault-localization", "code-edit", "issue-resolution")


@Parameter(name="*", group=cyclopts.Group("Options of all families", sort_key=2))
@dataclass(frozen=True, slots=True)
class RowOptions:
    """Options of all families.

    Args:
        profile: default, verified, or the path of your own .toml file.
        rules: The pairing rules whose pairs and verdicts are taken: default, unconfirmed,
            landed, or a plugin's.
        split: none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME, stratified:0.8,0.2,
            time:2023-01-01[,2024-01-01] or, where the rows have one from their source, given.
        seed: Seed of random splits and of --limit.
        limit: At most this many rows, drawn by --seed. (default: all)
        texts: as-mined, or before-fix: issues as they stood before the fix was begun, or the
            question answered.
        require: Only rows that this review kept, such as question-answer or fix-pair, or
            that goldpan verify proved: verified, for issue-resolution; or without a finding of
            goldpan audit: not:solution-in-issue.
        gold: A gold set; the card says how well the rows agree with it.
        output: The dataset's directory. (default: WORKSPACE/datasets/...)
        since: An older version; the card says what has changed since then, and why.
    """

    profile: Annotated[str | Path, Parameter(metavar="NAME")] = "default"
    rules: Annotated[str, Parameter(metavar="NAME")] = "default"
    split: str = "none"
    seed: int = 0
    limit: Positive | None = None
    texts: Texts = "as-mined"
    require: Annotated[Names, Parameter(metavar="NAME")] = ()
    gold: Path | str | Sequence[Path | str] = ()
    output: Path | str | None = None
    since: DatasetName | None = None


_ROWS = RowOptions()


def _family(name: str, about: str, example: str = "") -> Callable[..., Dataset]:
    """Return the method that builds a family whose options all families have."""

    def build_family(
        self: Build, *repos: str, rows: RowOptions = _ROWS, execution: Execution = LOCAL
    ) -> Dataset:
        return self._build(name, repos, rows, execution)

    build_family.__doc__ = about
    if example:
        build_family.__doc__ += (
            "\n\nThe directory holds Parquet files, a card, Croissant metadata and provenance. "
            f"Building twice\ngives the same bytes.\n\nExample: {example}"
        )
    build_family.__name__ = name.replace("-", "_")
    build_family.__qualname__ = f"Build.{build_family.__name__}"
    return flat(build_family)


class Build(Group):
    """Build a dataset: Parquet files, card, Croissant metadata and provenance."""

    def __call__(self, family: str, *repos: str, **options: Any) -> Dataset:
        """Build a dataset of a family by its name, such as ``qa``, with the options of its command.

        A plugin's family takes the options of `code_edit`, unless it has its own.
        """
        method = builder_method(self, family)
        known = [option.name for option in options_of(method) if option.name != "repos"]
        for name in options:
            if name not in {*known, "execution"}:
                raise UsageError(
                    f"{family} has no option {name!r}{suggested(name, known)}",
                    f"It has {choices(known)}",
                )
        built: Dataset = call(self.lab, method, {**options, "repos": repos} if repos else options)
        return built

    @flat
    def qa(
        self,
        *repos: str,
        source: Source | Sequence[Source] = "issues",
        answer: Answer | None = None,
        rows: RowOptions = _ROWS,
        execution: Execution = LOCAL,
    ) -> Dataset:
        """Build questions and their answers from issues or discussions that a profile keeps.

        The directory holds Parquet files, a card, Croissant metadata and provenance. Building twice
        gives the same bytes.

        Example: goldpan build qa --split random:0.8,0.1,0.1

        Args:
            source: Where the questions were asked. Of a discussion
                the answer is the accepted one.
            answer: The best reply, the best where it is likely a whole answer, the first or all
                replies, or the reply that the required review question-answer names.
                (default: as the profile says)
        """
        if answer not in (None, *get_args(Answer)):
            raise unknown_name("choice of an answer", answer, get_args(Answer))
        sources = several(source)
        for name in sources:
            if name not in get_args(Source):
                raise unknown_name("source of questions", name, get_args(Source))
        return self._build("qa", repos, rows, execution, answer=answer, sources=sources)

    fault_localization = _family(
        "fault-localization",
        "Build issues with the files and lines that their fixes changed.",
        "goldpan build fault-localization --profile verified",
    )
    code_edit = _family(
        "code-edit",
        "Build issues with the edits that fixed them, a file each.",
        "goldpan build code-edit --profile verified",
    )
    issue_resolution = _family(
        "issue-resolution",
        "Build issues with fixes and the tests that can verify them, as SWE-bench has them.",
        "goldpan build issue-resolution --profile verified",
    )

    def _build(
        self,
        family: str,
        repos: Sequence[str],
        rows: RowOptions,
        execution: Execution,
        **of_questions: Any,
    ) -> Dataset:
        from goldpan.audit.stored_audit import row_check
        from goldpan.builders.build import build
        from goldpan.builders.recipes import find_recipe
        from goldpan.builders.request import NOT, BuildRequest
        from goldpan.datasets.gold import read_gold
        from goldpan.datasets.splits import SplitPlan
        from goldpan.filters.stored import find_profile
        from goldpan.report.health import find_audited

        lab, output, since = self.lab, rows.output, rows.since
        if rows.texts not in get_args(Texts):
            raise unknown_name("choice of texts", rows.texts, get_args(Texts))
        lab.settings.trust.require("plugins")
        recipe, plan = find_recipe(family), SplitPlan.parse(rows.split, rows.seed)
        names = known_repositories(lab.layout, repos, "tables")
        directory = Path(output) if output else lab.layout.dataset(family)
        layout = paired_layout(lab.layout, names, rows.rules)
        required = several(rows.require)
        request = BuildRequest(
            recipe.family.name,
            names,
            find_profile(layout, names, str(rows.profile)),
            plan,
            directory,
            reviews=tuple(name for name in required if not name.startswith(NOT)),
            golds=[read_gold(path) for path in file_paths(rows.gold)],
            since=None if since is None else find_dataset(lab, since).path,
            texts=rows.texts,
            limit=rows.limit,
            check=row_check(layout, required, recipe.family),
            audited=partial(find_audited, lab.layout, directory),
            execution=execution.with_workers(lab.settings.processes),
            **of_questions,
        )
        built = build(layout, request, lab.reporter)
        return _dataset(lab, request.directory, built)


def families() -> list[str]:
    """Return the names of all families of datasets, those of papers and plugins, too."""
    return [*_OWN, *names_of("dataset"), *names_of("builder")]


def builder_method(build: Build, family: str) -> Callable[..., Dataset]:
    """Return the method that builds a family; raises `UsageError` that lists those there are."""
    from goldpan.builders.recipes import find_recipe

    own: Callable[..., Dataset] | None = getattr(build, family.replace("-", "_"), None)
    if family in _OWN and own is not None:
        return own
    if (builder := find_builder(family)) is not None:
        return MethodType(imported(builder.operation), build.lab)
    find_recipe(family, names_of("builder"))
    return recipe_method(build, family)


def recipe_method(build: Build, family: str) -> Callable[..., Dataset]:
    """Return what builds a family of a plugin's recipe, with the options of the own ones."""
    from goldpan.builders.recipes import find_recipe

    title = find_recipe(family).family.title
    return MethodType(_family(family, f"Build a dataset of a plugin: {title}."), build)


def datasets(self: OpenWorkspace) -> list[Dataset]:
    """Return the finished datasets of the workspace, sorted by name."""
    from goldpan.datasets.provenance import finished_datasets

    return [_dataset(self, path) for path in finished_datasets(self.layout)]


def _dataset(lab: OpenWorkspace, directory: Path, built: Any = None) -> Dataset:
    return Dataset(directory, built=built, workspace=lab)

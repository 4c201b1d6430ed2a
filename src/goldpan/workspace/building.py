"""Datasets: built, a method a family, compared with earlier versions and with other data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import cyclopts
from cyclopts import Parameter

from goldpan.core.errors import DatasetError
from goldpan.core.plugins.loading import find_builder, names_of
from goldpan.core.plugins.parts import imported
from goldpan.core.values import LOCAL, Count, Execution, Positive, file_paths, several
from goldpan.workspace.checking import checked, checked_methods
from goldpan.workspace.dataset import Dataset, find_dataset, table_path
from goldpan.workspace.opening import Group, OpenWorkspace, choose_profile
from goldpan.workspace.options import DatasetName, DatasetNames, Names, call

if TYPE_CHECKING:
    from goldpan.code.edits.files import Applied
    from goldpan.datasets.compare.contamination import ContaminationResult
    from goldpan.datasets.compare.diff import DiffResult

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
            that goldpan verify proved: verified, for issue-resolution and code-edit; or without
            a finding of goldpan audit: not:solution-in-issue.
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
    return build_family


@checked_methods
class Build(Group):
    """Build a dataset: Parquet files, card, Croissant metadata and provenance."""

    def __call__(self, family: str, *repos: str, **options: Any) -> Dataset:
        """Build a dataset of a family by its name, such as ``qa``, with the options of its command.

        A plugin's family takes the options of `code_edit`, unless it has its own.
        """
        method = builder_method(self, family)
        built: Dataset = call(self.lab, method, {**options, "repos": repos} if repos else options)
        return built

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
        return self._build("qa", repos, rows, execution, answer=answer, sources=several(source))

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
        from goldpan.report.health import state_in_dataset

        lab, output, since = self.lab, rows.output, rows.since
        lab.settings.trust.require("plugins")
        recipe, plan = find_recipe(family), SplitPlan.parse(rows.split, rows.seed)
        layout, names, profile = choose_profile(lab, repos, rows.profile, rows.rules)
        directory = Path(output) if output else lab.layout.dataset(family)
        required = several(rows.require)
        request = BuildRequest(
            recipe.family.name,
            names,
            profile,
            plan,
            directory,
            reviews=tuple(name for name in required if not name.startswith(NOT)),
            golds=[read_gold(path) for path in file_paths(rows.gold)],
            since=None if since is None else find_dataset(lab, since).path,
            texts=rows.texts,
            limit=rows.limit,
            check=row_check(layout, required, recipe.family),
            execution=execution.with_workers(lab.settings.processes),
            **of_questions,
        )
        built = build(layout, request, lab.reporter)
        state_in_dataset(lab.layout, directory)
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
        return MethodType(checked(imported(builder.operation)), build.lab)
    find_recipe(family, names_of("builder"))
    return recipe_method(build, family)


def recipe_method(build: Build, family: str) -> Callable[..., Dataset]:
    """Return what builds a family of a plugin's recipe, with the options of the own ones."""
    from goldpan.builders.recipes import find_recipe

    title = find_recipe(family).family.title
    return MethodType(checked(_family(family, f"Build a dataset of a plugin: {title}.")), build)


def datasets(self: OpenWorkspace) -> list[Dataset]:
    """Return the finished datasets of the workspace, sorted by name."""
    from goldpan.datasets.provenance import finished_datasets

    return [_dataset(self, path) for path in finished_datasets(self.layout)]


def _dataset(lab: OpenWorkspace, directory: Path, built: Any = None) -> Dataset:
    return Dataset(directory, built=built, workspace=lab)


@partial(checked, is_bound=False)
def diff(
    old: DatasetName,
    new: DatasetName,
    *,
    limit: Count = 20,
    output: Path | str | None = None,
    changelog: Path | str | None = None,
    workspace: Path | str | None = None,
) -> DiffResult:
    """Compare two versions of a dataset: rows added, removed and changed, and why.

    Rows are compared by id and column. The provenance of both versions shows which settings, rules
    and dates differ; `goldpan why` says which criterion drops an entry.

    Example: goldpan diff published/qa qa

    Args:
        old (DATASET): The older version: a name in the workspace, a directory, or one on the Hub.
        new (DATASET): The newer version.
        limit: How many rows of each kind to name.
        output: Write every row that differs to this .parquet, .jsonl or .csv file.
        changelog: Write to this file the section that build --since adds to the card.
        workspace: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
    """
    from goldpan.datasets.compare.diff import compare_versions

    lab = _opened(workspace, new)
    result = compare_versions(
        find_dataset(lab, old).path,
        find_dataset(lab, new).path,
        most=limit,
        output=None if output is None else Path(output),
    )
    if changelog is not None:
        _write_changelog(Path(changelog), result)
    return result


@partial(checked, is_bound=False)
def contamination(
    dataset: DatasetName,
    *,
    against: DatasetNames,
    column: str | Sequence[str] = (),
    ngram: int = 13,
    common: int = 10,
    limit: Count = 20,
    output: Path | str | None = None,
    workspace: Path | str | None = None,
) -> ContaminationResult:
    """Find the rows of a dataset that also occur in other data, such as a benchmark.

    Example: goldpan contamination code-edit --against swe-bench.parquet

    Args:
        dataset (DATASET): A name in the workspace, a directory, one on the Hub, or a table's file.
        against (DATASET): A table (Parquet, JSON lines, CSV) or a dataset, such as SWE-bench's.
        column (NAME): A text column of the dataset to compare.
            (default: the columns that people wrote)
        ngram: How many words an n-gram has.
        common: Ignore n-grams that occur in more rows or items than this.
        limit: Show the evidence for at most this many rows.
        output: Write the evidence for all rows to this .parquet, .jsonl or .csv file.
        workspace: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
    """
    from goldpan.datasets.compare.contamination import find_contamination

    lab = _opened(workspace, dataset)
    others = [against] if isinstance(against, (str, Path, Dataset)) else against
    return find_contamination(
        table_path(lab, dataset),
        [table_path(lab, other) for other in others],
        columns=several(column),
        ngram=ngram,
        common=common,
        most=limit,
        output=None if output is None else Path(output),
    )


@partial(checked, is_bound=False)
def apply_edit(
    patch: Path | str, *, root: Path | str = Path(), check: bool = False, lenient: bool = False
) -> Applied:
    """Apply SEARCH/REPLACE blocks or a unified diff to files: all changes or none.

    The patch may use other line endings than the file; the file's are kept. The output says for
    each block which differences were ignored.

    Example: goldpan apply-edit answer.md --root checkout

    Args:
        patch (FILE): A file with SEARCH/REPLACE blocks, or a unified diff.
        root: The directory of the files.
        check: Only check; change nothing.
        lenient: Accept different white space at the ends of lines.
    """
    from goldpan.code.edits.files import apply_patch

    return apply_patch(Path(patch), Path(root), write=not check, lenient=lenient)


def _opened(workspace: Path | str | None, dataset: str | Path | Dataset) -> OpenWorkspace:
    """Return the workspace that is named, else the dataset's own."""
    if workspace is None and isinstance(dataset, Dataset):
        return dataset.workspace
    return OpenWorkspace(workspace)


def _write_changelog(path: Path, result: DiffResult) -> None:
    from goldpan.core.storage.workspace import write_whole
    from goldpan.datasets.compare.diff import changelog

    try:
        write_whole(path, f"## Changes\n\n{changelog(result)}\n")
    except OSError as error:
        raise DatasetError(f"{path} cannot be written: {error}", "Choose another file") from None

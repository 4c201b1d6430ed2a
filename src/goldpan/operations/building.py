"""Building datasets, one operation a family."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, get_args

from goldpan.core.config import repository_name
from goldpan.core.errors import UsageError
from goldpan.core.plugins import names_of
from goldpan.core.registry import unknown_name
from goldpan.core.suggest import choices, suggested
from goldpan.operations.group import Group, owner_of
from goldpan.operations.repositories import find_dataset, known_repositories
from goldpan.operations.signature import read_operation
from goldpan.operations.table import every_command
from goldpan.operations.values import LOCAL, Execution, Positive, several

if TYPE_CHECKING:
    from goldpan.builders.build import DatasetRequest
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace

Answer = Literal["best", "first", "all", "reviewed"]
Source = Literal["issues", "discussions"]
P = ParamSpec("P")


def _build_rows(
    self: Build,
    family: str,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    split: str = "none",
    seed: int = 0,
    limit: Positive | None = None,
    require: str | Sequence[str] = (),
    gold: Path | str | Sequence[Path | str] = (),
    output: Path | str | None = None,
    since: Path | str | Dataset | None = None,
    execution: Execution = LOCAL,
) -> Dataset:
    """Build a family from what a filter profile keeps.

    The directory holds Parquet files, a card, Croissant metadata and provenance. Building twice
    gives the same bytes.

    Args:
        profile (NAME): default, faun-eval, precise, verified, or the path of your own .toml
            file.
        rules (NAME): The pairing rules whose pairs and verdicts are taken: default, unconfirmed,
            faun-eval, or a plugin's.
        split: none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME, stratified:0.8,0.2,
            time:2023-01-01[,2024-01-01] or, where the rows have one from their source, given.
        seed: Seed of random splits and of --limit.
        limit: At most this many rows, drawn by --seed. (default: all)
        require (NAME): Only rows that this review kept, such as fix-pair, or that goldpan verify
            proved: verified, for issue-resolution; may be given several times.
        gold: A gold set; the card says how well the rows agree with it.
        output: The dataset's directory. (default: WORKSPACE/datasets/...)
        since (DATASET): An older version; the card says what has changed since then, and why.
        execution: Where repositories are worked on, one a processor.
    """
    layout, request = self._request(family, repos, profile, rules, (split, seed), output, execution)
    return self._write(
        layout,
        replace(request, limit=limit, reviews=several(require), **self._compared(gold, since)),
    )


def _for_family(
    build: Callable[Concatenate[Build, str, P], Dataset], family: str, summary: str
) -> Callable[Concatenate[Build, P], Dataset]:
    """Return the operation that builds one family, which has a summary of its own."""

    @wraps(build)
    def build_family(self: Build, /, *args: P.args, **options: P.kwargs) -> Dataset:
        return build(self, family, *args, **options)

    name, signature = family.replace("-", "_"), inspect.signature(build)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "family"]
    build_family.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    build_family.__doc__ = "\n".join(
        [summary, *inspect.cleandoc(build.__doc__ or "").splitlines()[1:]]
    )
    build_family.__name__, build_family.__qualname__ = name, f"Build.{name}"
    return build_family


class Build(Group):
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

    def qa(
        self,
        *repos: str,
        source: Source | Sequence[Source] = "issues",
        answer: Answer | None = None,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: str | Sequence[str] = (),
        gold: Path | str | Sequence[Path | str] = (),
        output: Path | str | None = None,
        since: Path | str | Dataset | None = None,
        execution: Execution = LOCAL,
    ) -> Dataset:
        """Build questions and their answers from issues or discussions that a profile keeps.

        The directory holds Parquet files, a card, Croissant metadata and provenance. Building
        twice gives the same bytes.

        Args:
            source: Where the questions were asked; may be given several times. Of a discussion
                the answer is the accepted one.
            answer: The best, the first or all replies, or the reply that the required review
                question-answer names. (default: as the profile says)
            profile (NAME): default, faun-eval, precise, verified, or the path of your own
                .toml file.
            rules (NAME): The pairing rules whose pairs and verdicts are taken: default,
                unconfirmed, faun-eval, or a plugin's.
            split: none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME,
                stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the rows have one from
                their source, given.
            seed: Seed of random splits and of --limit.
            limit: At most this many rows, drawn by --seed. (default: all)
            require (NAME): Only rows that this review kept, such as question-answer; may be given
                several times.
            gold: A gold set; the card says how well the rows agree with it.
            output: The dataset's directory. (default: WORKSPACE/datasets/...)
            since (DATASET): An older version; the card says what has changed since then, and why.
            execution: Where repositories are worked on, one a processor.
        """
        if answer not in (None, *get_args(Answer)):
            raise unknown_name("choice of an answer", answer, get_args(Answer))
        layout, request = self._request(
            "qa", repos, profile, rules, (split, seed), output, execution
        )
        compared = self._compared(gold, since)
        required = several(require)
        sources = several(source)
        for name in sources:
            if name not in get_args(Source):
                raise unknown_name("source of questions", name, get_args(Source))
        request = replace(request, answer=answer, sources=sources)
        return self._write(layout, replace(request, limit=limit, reviews=required, **compared))

    fault_localization = _for_family(
        _build_rows,
        "fault-localization",
        "Build issues with the files and lines that their fixes changed.",
    )
    code_edit = _for_family(
        _build_rows, "code-edit", "Build issues with the edits that fixed them, a file each."
    )
    issue_resolution = _for_family(
        _build_rows,
        "issue-resolution",
        "Build issues with their fixes and the tests that can verify them, as SWE-bench has them.",
    )

    def _request(
        self,
        family: str,
        repos: Sequence[str],
        profile: str | Path,
        rules: str,
        split: tuple[str, int],
        output: Path | str | None,
        execution: Execution,
    ) -> tuple[Any, DatasetRequest]:
        """Return the paths by pairing rules, and which dataset is to be built of all its rows."""
        from goldpan.builders.build import DatasetRequest
        from goldpan.builders.recipes import find_recipe
        from goldpan.datasets.splits import SplitPlan
        from goldpan.filters.stored import find_profile

        lab = self.lab
        lab.settings.trust.require("plugins")
        recipe, plan = find_recipe(family), SplitPlan.parse(*split)
        names = known_repositories(lab.layout, repos, "tables")
        layout = lab.layout.by_rules(rules)
        return layout, DatasetRequest(
            recipe,
            names,
            find_profile(layout, names, str(profile)),
            plan,
            Path(output) if output else lab.layout.dataset(family),
            processes=execution.workers or lab.settings.processes,
            engine=execution.engine,
            address=execution.address,
        )

    def _compared(
        self, gold: Path | str | Sequence[Path | str], since: Path | str | Dataset | None
    ) -> Mapping[str, Any]:
        """Return what a dataset is compared with, as a request has it."""
        from goldpan.datasets.gold import read_gold

        paths = [gold] if isinstance(gold, (str, Path)) else gold
        return {
            "golds": [read_gold(Path(path)) for path in paths],
            "since": None if since is None else find_dataset(self.lab, since).path,
        }

    def _write(self, layout: Any, request: DatasetRequest) -> Dataset:
        from goldpan.builders.build import build

        with self.lab.reporting() as reporter:
            built = build(layout, request, reporter)
        return _dataset(self.lab, request.directory, built)


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

    title = find_recipe(family).family.title
    return _for_family(_build_rows, family, f"Build a dataset of a plugin: {title}.")


def datasets(self: Workspace) -> list[Dataset]:
    """Return the finished datasets of the workspace, sorted by name."""
    from goldpan.datasets.provenance import finished_datasets

    return [_dataset(self, path) for path in finished_datasets(self.layout)]


def _dataset(lab: Workspace, directory: Path, built: Any = None) -> Dataset:
    from goldpan.operations.dataset import Dataset

    return Dataset(directory, built=built, workspace=lab)


def _names(repos: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(repository_name, repos)))

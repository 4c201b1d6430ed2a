"""Building datasets, one operation a family."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Literal, ParamSpec, get_args

from annotated_types import Ge

from goldpan.core.config import repository_name
from goldpan.core.errors import UsageError
from goldpan.core.registry import unknown_name
from goldpan.core.suggest import choices, suggested
from goldpan.operations.crosscode import Crosscode
from goldpan.operations.group import Group
from goldpan.operations.repositories import find_dataset, known_repositories
from goldpan.operations.signature import read_operation
from goldpan.operations.values import LOCAL, Execution, Positive, several
from goldpan.papers.nlbse.issues.operation import issue_type

if TYPE_CHECKING:
    from goldpan.builders.build import DatasetRequest
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace

Answer = Literal["best", "first", "all", "reviewed"]
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


def _of_workspace(
    build: Callable[Concatenate[Workspace, P], Dataset],
) -> Callable[Concatenate[Build, P], Dataset]:
    """Return the operation that a function of a workspace is."""

    @wraps(build)
    def build_dataset(self: Build, /, *args: P.args, **options: P.kwargs) -> Dataset:
        return build(self.lab, *args, **options)

    first, *rest = inspect.signature(build).parameters.values()
    kept = [first.replace(name="self", annotation=first.empty), *rest]
    signature = inspect.signature(build).replace(parameters=kept)
    build_dataset.__signature__ = signature  # type: ignore[attr-defined]
    build_dataset.__qualname__ = f"Build.{build.__name__}"
    return build_dataset


class Build(Group):
    """Build a dataset: Parquet files, card, Croissant metadata and provenance."""

    def __call__(self, family: str, *repos: str, **options: Any) -> Dataset:
        """Build a dataset of a family by its name, such as ``qa``, with the options of its method.

        A plugin's family takes the options of `code_edit`.
        """
        function = family_function(family)
        known = [item.name for item in read_operation(function).parameters]
        for name in options:
            if name not in known:
                raise UsageError(
                    f"{family} has no option {name!r}{suggested(name, known)}",
                    f"It has {choices(known)}",
                )
        built: Dataset = function(self, *repos, **options)
        return built

    def qa(
        self,
        *repos: str,
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
        """Build questions and their answers from the issues that a filter profile keeps.

        The directory holds Parquet files, a card, Croissant metadata and provenance. Building
        twice gives the same bytes.

        Args:
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
        return self._write(
            layout, replace(request, answer=answer, limit=limit, reviews=required, **compared)
        )

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

    @cached_property
    def crosscode(self) -> Crosscode:
        """Tasks as text-to-text, and splits that evaluate on unseen tasks."""
        return Crosscode(self.lab)

    issue_type = _of_workspace(issue_type)

    def code_comments(
        self,
        *repos: str,
        revision: str | None = None,
        language: str | Sequence[str] = (),
        kind: Sequence[Literal["class", "module", "function"]] = ("class",),
        lines: Literal["cut", "join"] = "cut",
        annotations: str | Sequence[str] = (),
        require: str | Sequence[str] = (),
        task: str | None = None,
        corrections: str | Sequence[str] = (),
        split: str = "none",
        seed: int = 0,
        timeout: Annotated[float, Ge(0.1)] = 20.0,
        output: Path | str | None = None,
    ) -> Dataset:
        """Build a dataset of the sentences in class comments, from cloned repositories.

        Each row is a sentence with its class, file and position in the file. Files that break
        parsers are skipped and counted. Exits with 3 if the clone lacks files, or a file took too
        long.

        Args:
            revision: A commit, branch or tag. (default: the default branch as cloned)
            language (NAME): Java, Python, Smalltalk and so on; may be given several times.
            kind: Which Python docstrings; may be given several times.
            lines: cut ends a sentence at the end of a line, as in the paper; join does not.
            annotations (PROJECT): An annotation project whose decisions become labels; may be given
                several times.
            require (PROJECT): Like --annotations, but only sentences with a decision are used; may
                be given several times.
            task (NAME): With --require, write the rows of this task, such as comment_type_java.
            corrections (PROJECT): An annotation project whose decisions replace labels; may be
                given several times.
            split: none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME,
                stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the rows have one from
                their source, given; stratified needs --require.
            seed: Seed of random and stratified splits.
            timeout (SECONDS): The limit for one file, in seconds of processor time.
            output: The dataset's directory. (default: WORKSPACE/datasets/...)
        """
        from goldpan.builders.code_comments.build import Annotations, build_code_comments
        from goldpan.builders.code_comments.commit import cloned_repositories, find_commits
        from goldpan.builders.code_comments.family import CODE_COMMENTS
        from goldpan.builders.code_comments.files import find_languages
        from goldpan.builders.code_comments.reading import Access, Reading
        from goldpan.datasets.registry import find_task, tasks_directory
        from goldpan.datasets.splits import SplitPlan

        lab, settings = self.lab, self.lab.settings
        plan = SplitPlan.parse(split, seed)
        settings.trust.require("plugins")
        languages = find_languages(several(language))
        reading = Reading(languages, lines, frozenset(kind), settings.processes, timeout)
        labels = Annotations(several(annotations), several(require), several(corrections))
        named = cloned_repositories(lab.layout, _names(repos))
        commits = find_commits(lab.layout, named, revision)
        chosen = find_task(task, tasks_directory(lab.path)) if task else None
        name = f"{task}-fresh" if task else CODE_COMMENTS.name
        directory = Path(output) if output else lab.layout.dataset(name)
        with lab.reporting() as reporter:
            built = build_code_comments(
                lab.layout,
                commits,
                reading,
                labels,
                plan,
                directory,
                reporter,
                access=Access(settings.tokens[0] if settings.tokens else None, settings.git_host),
                task=chosen,
            )
        return _dataset(lab, directory, built)

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


_OWN: Mapping[str, Callable[..., Dataset]] = {
    "qa": Build.qa,
    "fault-localization": Build.fault_localization,
    "code-edit": Build.code_edit,
    "issue-resolution": Build.issue_resolution,
    "issue-type": Build.issue_type,
    "code-comments": Build.code_comments,
}


def family_function(family: str) -> Callable[..., Dataset]:
    """Return the operation that builds a family; raises `UsageError` that lists those there are."""
    from goldpan.builders.recipes import find_recipe

    if family in _OWN:
        return _OWN[family]
    recipe = find_recipe(family, [name for name in _OWN if name in ("issue-type", "code-comments")])
    return _for_family(_build_rows, family, f"Build a dataset of a plugin: {recipe.family.title}.")


def datasets(self: Workspace) -> list[Dataset]:
    """Return the finished datasets of the workspace, sorted by name."""
    from goldpan.datasets.provenance import finished_datasets

    return [_dataset(self, path) for path in finished_datasets(self.layout)]


def _dataset(lab: Workspace, directory: Path, built: Any = None) -> Dataset:
    from goldpan.operations.dataset import Dataset

    return Dataset(directory, built=built, workspace=lab)


def _names(repos: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(repository_name, repos)))

"""Datasets, built: a method for each family, with the options that the family has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, overload

from annotated_types import Ge

from goldpan.operations.group import Group
from goldpan.operations.repositories import known_repositories
from goldpan.operations.signature import helped_by
from goldpan.operations.values import LOCAL, Execution, Positive

if TYPE_CHECKING:
    from goldpan.builders.code_comments.build import CommentsResult
    from goldpan.builders.issue_type.build import IssueTypeResult
    from goldpan.operations.crosscode import CrossCode
    from goldpan.operations.dataset import Dataset

Answer = Literal["best", "first", "all", "reviewed"]
Kept = Literal["qa", "fault-localization", "code-edit", "issue-resolution"]
"""The families that are built of what a profile keeps."""
Paths = Sequence[Path | str]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which rows a dataset of issues or fix pairs takes, and where it goes."""

    profile: str | Path
    rules: str
    split: str
    seed: int
    limit: int | None
    require: Sequence[str]
    gold: Paths
    output: Path | str | None
    since: Path | str | Dataset | None
    execution: Execution
    answer: Answer | None = None


class Build(Group):
    """Build a dataset: Parquet files, card, Croissant metadata and provenance."""

    @overload
    def __call__(self, family: Kept, *repos: str, **options: Any) -> Dataset: ...

    @overload
    def __call__(self, family: str, *repos: str, **options: Any) -> Any: ...

    def __call__(self, family: str, *repos: str, **options: Any) -> Any:
        """Build a dataset of a family by its name, a plugin's too, with the family's options.

        `lab.build("qa", split="none")` is `lab.build.qa(split="none")`.
        """
        method = getattr(self, family.replace("-", "_"), None)
        if family in _FAMILIES and method is not None:
            return method(*repos, **options)
        return self.of_plugin(family, *repos, **options)

    def qa(
        self,
        *repos: str,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: Sequence[str] = (),
        answer: Answer | None = None,
        gold: Paths = (),
        output: Path | str | None = None,
        since: Path | str | Dataset | None = None,
        execution: Execution = LOCAL,
    ) -> Dataset:
        """Build question-answer rows from the issues that a profile keeps (FAUN-Eval, section 3.3).

        The directory holds Parquet files, a card, Croissant metadata and provenance. Building
        twice gives the same bytes.

        Args:
            profile (NAME): default, faun-eval, another stored profile, or the path of your own
                .toml file.
            rules (NAME): The rules whose pairs to use: default, faun-eval...
            split (KIND): none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME,
                stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the rows have one from
                their source, given.
            seed: Seed of random splits and of --limit.
            limit: At most this many rows, drawn by --seed. (default: all)
            require (NAME): Only rows that this review kept, such as question-answer; may be given
                several times.
            answer: The best, the first or all replies, or the one that a required review names.
                (default: as the profile says)
            gold: A gold set; the card says how well the rows agree with it. May be given several
                times.
            output: The directory of the dataset. (default: WORKSPACE/datasets/...)
            since: An older version; the card says what has changed since then, and why.
            execution: Where repositories are worked on, one a processor.
        """
        options = _Rows(
            profile, rules, split, seed, limit, require, gold, output, since, execution, answer
        )
        return self._build("qa", repos, options)

    @helped_by(qa)
    def fault_localization(
        self,
        *repos: str,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: Sequence[str] = (),
        gold: Paths = (),
        output: Path | str | None = None,
        since: Path | str | Dataset | None = None,
        execution: Execution = LOCAL,
    ) -> Dataset:
        """Build rows of issues with the file that fixes each (FAUN-Eval, section 3.4)."""
        options = _Rows(profile, rules, split, seed, limit, require, gold, output, since, execution)
        return self._build("fault-localization", repos, options)

    @helped_by(qa)
    def code_edit(
        self,
        *repos: str,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: Sequence[str] = (),
        gold: Paths = (),
        output: Path | str | None = None,
        since: Path | str | Dataset | None = None,
        execution: Execution = LOCAL,
    ) -> Dataset:
        """Build rows of issues with the edit that fixes each, as SEARCH/REPLACE blocks."""
        options = _Rows(profile, rules, split, seed, limit, require, gold, output, since, execution)
        return self._build("code-edit", repos, options)

    @helped_by(qa)
    def issue_resolution(
        self,
        *repos: str,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: Sequence[str] = (),
        gold: Paths = (),
        output: Path | str | None = None,
        since: Path | str | Dataset | None = None,
        execution: Execution = LOCAL,
    ) -> Dataset:
        """Build rows with SWE-bench's columns: issue, base commit, fix and tests.

        `--require verified` takes only fixes that `goldpan verify` proved.
        """
        options = _Rows(profile, rules, split, seed, limit, require, gold, output, since, execution)
        return self._build("issue-resolution", repos, options)

    @helped_by(qa)
    def of_plugin(
        self,
        family: str,
        *repos: str,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: Sequence[str] = (),
        gold: Paths = (),
        output: Path | str | None = None,
        since: Path | str | Dataset | None = None,
        execution: Execution = LOCAL,
    ) -> Dataset:
        """Build the rows of a family that a plugin registered.

        Args:
            family (NAME): The name of the family.
        """
        options = _Rows(profile, rules, split, seed, limit, require, gold, output, since, execution)
        return self._build(family, repos, options)

    def issue_type(
        self,
        *repos: str,
        source: Literal["gharchive", "mined"] = "gharchive",
        profile: str | Path = "default",
        split: str | None = None,
        balance: str | None = None,
        seed: int = 0,
        corrections: Sequence[str] = (),
        output: Path | str | None = None,
        execution: Execution = LOCAL,
    ) -> IssueTypeResult:
        """Build a dataset of issues and their types: bug, feature and the like.

        Uses closed issues whose labels mean exactly one type. Both engines give the same bytes.

        Args:
            source: Hours of GH Archive, or mined repositories.
            profile (NAME): default, nlbse22, nlbse23, nlbse24, or the path of your own .toml file.
            split (KIND): leave-one-project-out, none, random:0.8,0.1,0.1, repository:0.8,0.2,
                project:OWNER/NAME, stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the
                rows have one from their source, given. (default: the profile's)
            balance (KIND): none, project:300 or project-label:100. (default: the profile's)
            seed: Seed of the split and the balance.
            corrections (PROJECT): An annotation project whose decisions replace labels; may be
                given several times.
            output: The directory of the dataset. (default: WORKSPACE/datasets/...)
            execution: Where hours or repositories are worked on.
        """
        from goldpan.builders.issue_type.build import build_issue_types, make_request
        from goldpan.builders.issue_type.closings import EventSource
        from goldpan.builders.issue_type.profile import load_profile
        from goldpan.core.config import repository_name
        from goldpan.core.engine import open_engine

        lab = self.lab
        chosen = load_profile(str(profile))
        lab.settings.trust.require("plugins")
        names = (
            known_repositories(lab.layout, repos, "tables")
            if source == "mined"
            else list(dict.fromkeys(map(repository_name, repos)))
        )
        request = make_request(
            EventSource(lab.layout, source, tuple(names)),
            chosen,
            split=split,
            balance=balance,
            seed=seed,
            directory=None if output is None else Path(output),
            projects=corrections,
        )
        workers = execution.workers or lab.settings.processes
        with (
            lab.reporting() as reporter,
            open_engine(execution.engine, workers, execution.address) as engine,
        ):
            return build_issue_types(request, engine, reporter)

    def code_comments(
        self,
        *repos: str,
        revision: str | None = None,
        language: Sequence[str] = (),
        kind: Sequence[Literal["class", "module", "function"]] = ("class",),
        lines: Literal["cut", "join"] = "cut",
        annotations: Sequence[str] = (),
        require: Sequence[str] = (),
        corrections: Sequence[str] = (),
        task: str | None = None,
        split: str = "none",
        seed: int = 0,
        timeout: Annotated[float, Ge(0.1)] = 20.0,
        output: Path | str | None = None,
    ) -> CommentsResult:
        """Build a dataset of the sentences in class comments, from cloned repositories.

        Each row is a sentence with its class, file and position in the file. Files that break
        parsers are skipped and counted. Exits with 3 if the clone lacks files, or a file took too
        long.

        Args:
            revision: A commit, branch or tag. (default: the default branch as cloned)
            language: Java, Python, Smalltalk and so on; may be given several times. (default: all)
            kind: Which Python docstrings; may be given several times.
            lines: cut ends a sentence at the end of a line, as in the paper; join does not.
            annotations (PROJECT): An annotation project whose decisions become labels.
            require (PROJECT): Like --annotations, but only sentences with a decision are used.
            corrections (PROJECT): An annotation project whose decisions replace labels; may be
                given several times.
            task (NAME): With --require, write the rows of this task, such as comment_type_java.
            split (KIND): none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME,
                stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the rows have one from
                their source, given; stratified needs --require.
            seed: Seed of random and stratified splits.
            timeout (SECONDS): The limit for one file, in seconds of processor time.
            output: The directory of the dataset. (default: WORKSPACE/datasets/...)
        """
        from goldpan.builders.code_comments.build import Annotations, build_code_comments
        from goldpan.builders.code_comments.commit import cloned_repositories, find_commits
        from goldpan.builders.code_comments.family import CODE_COMMENTS
        from goldpan.builders.code_comments.files import find_languages
        from goldpan.builders.code_comments.reading import Access, Reading
        from goldpan.core.config import repository_name
        from goldpan.datasets.registry import find_task, tasks_directory
        from goldpan.datasets.splits import SplitPlan

        lab = self.lab
        plan = SplitPlan.parse(split, seed)
        lab.settings.trust.require("plugins")
        names = list(dict.fromkeys(map(repository_name, repos)))
        commits = find_commits(lab.layout, cloned_repositories(lab.layout, names), revision)
        tokens = lab.settings.tokens
        directory = lab.layout.dataset(f"{task}-fresh" if task else CODE_COMMENTS.name)
        with lab.reporting() as reporter:
            return build_code_comments(
                lab.layout,
                commits,
                Reading(
                    find_languages(language),
                    lines,
                    frozenset(kind),
                    lab.settings.processes,
                    timeout,
                ),
                Annotations(tuple(annotations), tuple(require), tuple(corrections)),
                plan,
                directory if output is None else Path(output),
                reporter,
                access=Access(tokens[0] if tokens else None, lab.settings.git_host),
                task=find_task(task, tasks_directory(lab.path)) if task else None,
            )

    @cached_property
    def crosscode(self) -> CrossCode:
        """Prompts of unseen tasks."""
        from goldpan.operations.crosscode import CrossCode

        return CrossCode(self.lab)

    def _build(self, family: str, repos: Sequence[str], options: _Rows) -> Dataset:
        from goldpan.builders.build import DatasetRequest, build
        from goldpan.builders.recipes import find_recipe
        from goldpan.datasets.gold import read_gold
        from goldpan.datasets.splits import SplitPlan
        from goldpan.filters.stored import find_profile
        from goldpan.operations.dataset import Dataset, load

        lab, since = self.lab, options.since
        lab.settings.trust.require("plugins")
        recipe = find_recipe(family, _FAMILIES)
        plan = SplitPlan.parse(options.split, options.seed)
        older = load(since) if isinstance(since, (str, Path)) else since
        names = known_repositories(lab.layout, repos, "tables")
        layout = lab.layout.by_rules(options.rules)
        execution = options.execution
        directory = lab.layout.dataset(family) if options.output is None else Path(options.output)
        request = DatasetRequest(
            recipe,
            names,
            find_profile(layout, names, str(options.profile)),
            plan,
            directory,
            reviews=options.require,
            answer=options.answer,
            golds=[read_gold(Path(path)) for path in options.gold],
            since=older.path if older else None,
            limit=options.limit,
            processes=execution.workers or lab.settings.processes,
            engine=execution.engine,
            address=execution.address,
        )
        with lab.reporting() as reporter:
            built = build(layout, request, reporter)
        return Dataset(directory, built=built, workspace=lab)


_FAMILIES = (
    "qa",
    "fault-localization",
    "code-edit",
    "issue-resolution",
    "issue-type",
    "code-comments",
    "crosscode",
)
"""The families that Goldpan builds itself."""

"""The operations goldpan build issue-type and goldpan build code-comments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.plugins.data import existing, repository_name
from goldpan.plugins.operations import LOCAL, Execution, known_repositories, several

if TYPE_CHECKING:
    from goldpan.plugins.operations import Dataset, Workspace


def issue_type(
    lab: Workspace,
    *repos: str,
    source: Literal["gharchive", "mined"] | None = None,
    profile: str | Path = "default",
    split: str | None = None,
    balance: str | None = None,
    seed: int = 0,
    corrections: str | Sequence[str] = (),
    output: Path | str | None = None,
    execution: Execution = LOCAL,
) -> Dataset:
    """Build a dataset of issues and their types: bug, feature and the like.

    Uses closed issues whose labels mean exactly one type. Both engines give the same bytes.

    Example: goldpan build issue-type --profile nlbse23

    Args:
        source: Hours of GH Archive, or mined repositories. (default: the hours, if there are any)
        profile (NAME): default, nlbse22, nlbse23, nlbse24, or the path of your own .toml file.
        split: none, random:0.8,0.1,0.1, repository:0.8,0.2,
            project:OWNER/NAME, stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the
            rows have one from their source, given. (default: the profile's)
        balance: none, project:300 or project-label:100. (default: the profile's)
        seed: Seed of the split and the balance.
        corrections (PROJECT): An annotation project whose decisions replace labels.
        output: The dataset's directory. (default: WORKSPACE/datasets/...)
    """
    from goldpan.papers.nlbse.issues.build import build_issue_types, make_request
    from goldpan.papers.nlbse.issues.closings import EventSource, present_source
    from goldpan.papers.nlbse.issues.profile import load_profile
    from goldpan.plugins.data import open_engine
    from goldpan.plugins.operations import Dataset

    chosen = load_profile(str(profile))
    lab.settings.trust.require("plugins")
    source = source or present_source(existing(lab.layout))
    names = (
        known_repositories(lab.layout, repos, "tables")
        if source == "mined"
        else sorted({repository_name(repo).lower() for repo in repos})
    )
    layout = replace(lab.layout, root=lab.layout.root.absolute())  # machines share it
    request = make_request(
        EventSource(layout, source, tuple(names)),
        chosen,
        split=split,
        balance=balance,
        seed=seed,
        directory=Path(output) if output else None,
        projects=several(corrections),
    )
    sizes = [unit.path.stat().st_size for unit in request.source.units() if unit.path.exists()]
    few = sum(sizes) < 500_000  # bytes are read sooner than other processes start
    workers = execution.workers or (1 if few else lab.settings.processes)
    engine = open_engine(execution, workers)
    with engine:
        built = build_issue_types(request, engine, lab.reporter)
    return Dataset(built.written.directory, built=built, workspace=lab)


def code_comments(
    lab: Workspace,
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
    timeout: Annotated[float, Parameter(validator=Number(gte=0.1))] = 20.0,
    output: Path | str | None = None,
) -> Dataset:
    """Build a dataset of the sentences in class comments, from cloned repositories.

    Each row is a sentence with its class, file and position. Files that break parsers are skipped
    and counted. Exits with 3 if files are missing from the clone, or a file took too long.

    Example: goldpan build code-comments --repo numpy/numpy --language python

    Args:
        revision: A commit, branch or tag. (default: the default branch as cloned)
        language (NAME): Java, Python, Smalltalk and so on.
        kind: Which Python docstrings.
        lines: cut ends a sentence at the end of a line, as in the paper; join does not.
        annotations (PROJECT): An annotation project whose decisions become labels.
        require (PROJECT): Like --annotations, but only sentences with a decision are used.
        task (NAME): With --require, write the rows of this task, such as comment_type_java.
        corrections (PROJECT): An annotation project whose decisions replace labels.
        split: none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME,
            stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the rows have one from
            their source, given; stratified needs --require.
        seed: Seed of random and stratified splits.
        timeout (SECONDS): The limit for one file, in seconds of processor time.
        output: The dataset's directory. (default: WORKSPACE/datasets/...)
    """
    from goldpan.papers.nlbse import comment_build, comment_extract
    from goldpan.plugins.data import (
        SplitPlan,
        cloned_repositories,
        find_commits,
        find_task,
        tasks_directory,
    )
    from goldpan.plugins.operations import Dataset

    settings = lab.settings
    plan = SplitPlan.parse(split, seed)
    settings.trust.require("plugins")
    how = comment_extract.CommentReading(
        comment_extract.find_languages(several(language)),
        lines,
        frozenset(kind),
        workers=settings.processes,
        timeout=timeout,
        token=next(iter(lab.github.tokens), None),
        host=settings.git_host,
    )
    labels = comment_build.Annotations(several(annotations), several(require), several(corrections))
    named = cloned_repositories(lab.layout, [repository_name(repo) for repo in repos])
    commits = find_commits(lab.layout, named, revision)
    chosen = find_task(task, tasks_directory(lab.path)) if task else None
    name = f"{task}-fresh" if task else comment_build.CODE_COMMENTS.name
    directory = Path(output) if output else lab.layout.dataset(name)
    built = comment_build.build_code_comments(
        lab.layout, commits, how, labels, plan, directory, lab.reporter, task=chosen
    )
    return Dataset(directory, built=built, workspace=lab)

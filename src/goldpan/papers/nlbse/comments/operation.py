"""Building the dataset of sentences of class comments: `goldpan build code-comments`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from goldpan.plugins.data import repository_name
from goldpan.plugins.operations import Limits, several

if TYPE_CHECKING:
    from goldpan.plugins.operations import Dataset, Workspace


def code_comments(  # noqa: D417  # what help says of `repos` is said once
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
    timeout: Annotated[float, Limits(0.1)] = 20.0,
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
    from goldpan.papers.nlbse.comments import build, extract
    from goldpan.papers.nlbse.comments.rows import CODE_COMMENTS
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
    how = extract.Reading(
        extract.find_languages(several(language)),
        lines,
        frozenset(kind),
        workers=settings.processes,
        timeout=timeout,
        token=settings.tokens[0] if settings.tokens else None,
        host=settings.git_host,
    )
    labels = build.Annotations(several(annotations), several(require), several(corrections))
    named = list(dict.fromkeys(map(repository_name, repos)))
    named = cloned_repositories(lab.layout, named)
    commits = find_commits(lab.layout, named, revision)
    chosen = find_task(task, tasks_directory(lab.path)) if task else None
    name = f"{task}-fresh" if task else CODE_COMMENTS.name
    directory = Path(output) if output else lab.layout.dataset(name)
    with lab.reporting() as reporter:
        built = build.build_code_comments(
            lab.layout, commits, how, labels, plan, directory, reporter, task=chosen
        )
    return Dataset(directory, built=built, workspace=lab)

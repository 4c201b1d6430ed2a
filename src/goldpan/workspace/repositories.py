"""Which workspace, and which of its repositories, a stage is to work on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from goldpan.core.errors import UsageError, WorkspaceError, cause_of, question, refuse_empty
from goldpan.core.settings.config import repository_name
from goldpan.core.storage.workspace import WorkspaceLayout, existing
from goldpan.workspace.opening import OpenWorkspace

if TYPE_CHECKING:  # it takes long to import
    from goldpan.core.values import Execution
    from goldpan.workspace.dataset import Dataset

R = TypeVar("R")
_MOST = 3
"""Repositories that a message offers."""


def known_repositories(
    layout: WorkspaceLayout, repos: Iterable[str] | None, below: str
) -> list[str]:
    """Return the named repositories, else all of the workspace; `below` is raw or tables.

    Each comes once, in lower case and in order, however they are named. Raises `UsageError` for
    a name that is none and a workspace that is missing, `WorkspaceError` for a repository that is
    not there.
    """
    held = existing(layout).repositories(below)
    names = sorted({_name_of(repo, held) for repo in repos or ()}) or held
    if not names:
        if below == "tables" and layout.repositories("raw"):
            remedy = "Run goldpan normalize, which makes them of the raw replies"
            raise WorkspaceError(f"{layout.root} holds no tables", remedy)
        raise WorkspaceError(
            f"{layout.root} holds no repository", "Run goldpan mine --repo OWNER/NAME"
        )
    for name in names:
        if name not in held:
            remedy = question(name, held, _MOST) or f"Run goldpan mine --repo {name}"
            raise WorkspaceError(f"{layout.root} does not hold {name}", remedy)
    return names


def paired_layout(layout: WorkspaceLayout, repos: Iterable[str], rules: str) -> WorkspaceLayout:
    """Return where the pairs of repositories by some rules lie; raises `UsageError` for no rules.

    Those of a plugin that is not loaded are known where a repository was paired by them.
    """
    if rules != layout.rules and not any(rules in layout.paired_by(repo) for repo in repos):
        from goldpan.miners.pairing import find_rules

        find_rules(rules)
    return layout.by_rules(rules)


def _name_of(text: str, held: Iterable[str]) -> str:
    """Return the name of a repository; one without its owner is told of those that are there."""
    try:
        return repository_name(text).lower()
    except UsageError as error:
        asked = question(text, held, _MOST, cutoff=0.4)
        raise UsageError(error.problem, asked or error.remedy) from None


def named_repositories(repos: Iterable[str], file: Path | str | None) -> list[str]:
    """Return the repositories that are named here and in the lines of a file, each once."""
    names = [repository_name(repo) for repo in repos]
    if file is not None:
        refuse_empty(Path(file), "Write one OWNER/NAME per line into it")
        try:
            lines = Path(file).read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{file} cannot be read: {cause_of(error)}",
                "Give a text file with one OWNER/NAME per line",
            ) from None
        for number, line in enumerate(lines, 1):
            if text := line.partition("#")[0].strip():
                try:
                    names.append(repository_name(text))
                except UsageError as error:
                    raise UsageError(f"{file}:{number}: {error.problem}", error.remedy) from None
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.lower(), name)
    return list(first.values())


def dataset_directory(layout: WorkspaceLayout, dataset: str | Path | Dataset) -> Path:
    """Return the directory of a dataset, given by its path, its name in the workspace, or open."""
    from goldpan.workspace.dataset import Dataset

    if isinstance(dataset, Dataset):
        return dataset.path
    named = layout.dataset(str(dataset))
    return named if named.is_dir() and not Path(dataset).is_dir() else Path(dataset)


def dataset_directories(
    layout: WorkspaceLayout, datasets: str | Path | Iterable[str | Path]
) -> list[Path]:
    """Return the directories of datasets, each given as `dataset_directory` takes it."""
    given = [datasets] if isinstance(datasets, (str, Path)) else datasets
    return [dataset_directory(layout, dataset) for dataset in given]


def absolute_layout(layout: WorkspaceLayout) -> WorkspaceLayout:
    """Return the layout by its absolute path, which machines that see the same files share."""
    return replace(layout, root=layout.root.absolute())


def map_repositories(
    work: Callable[[str], R], repos: Sequence[str], execution: Execution
) -> list[R]:
    """Return what work gives of each repository: here, one after the other, or on a cluster.

    `work` can be pickled. Raises as `open_engine` does.
    """
    if execution.engine == "local" and not execution.address:
        return [work(repo) for repo in repos]
    if not repos:
        return []
    from goldpan.core.parallel.engine import open_engine

    with open_engine(execution, os.cpu_count() or 1) as machines:
        return list(machines.map(work, repos))


def find_dataset(self: OpenWorkspace, dataset: Path | str | Dataset) -> Dataset:
    """Return a dataset by its name in the workspace, else as `load` does; an open one stays so.

    A directory that is there comes before a name.
    """
    from goldpan.workspace.dataset import Dataset, find_directory

    if isinstance(dataset, Dataset):
        return dataset
    is_name = len(Path(dataset).parts) == 1 and not Path(dataset).is_dir()
    if Path(dataset).is_file() and not self.layout.dataset(str(dataset)).is_dir():
        raise UsageError(
            f"{dataset} is a file, not a dataset", "Give a dataset's name or directory"
        )
    directory = self.layout.dataset(str(dataset)) if is_name else find_directory(dataset)
    return Dataset(directory, workspace=self)


def table_path(self: OpenWorkspace, source: Path | str | Dataset) -> Path:
    """Return the file of a table, or the directory of a dataset as `find_dataset` finds it.

    A path that is there comes before a name.
    """
    from goldpan.datasets.provenance import finished_datasets
    from goldpan.workspace.dataset import Dataset, find_directory

    if isinstance(source, Dataset):
        return source.path
    found = Path(source) if Path(source).exists() else dataset_directory(self.layout, source)
    if not found.exists():
        found = find_directory(source)
    if not found.exists():
        remedy = "Give a dataset's name or directory, or the path of a table's file"
        built = [path.name for path in finished_datasets(self.layout)]
        raise UsageError(
            f"There is no dataset or file {source}", question(str(source), built, _MOST) or remedy
        )
    return found

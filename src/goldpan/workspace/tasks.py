"""The tasks that models are evaluated on, and the imports of their data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.errors import UsageError
from goldpan.core.result import Results
from goldpan.core.values import file_paths, several
from goldpan.workspace.checking import checked_methods
from goldpan.workspace.opening import Group, OpenWorkspace
from goldpan.workspace.options import Files

if TYPE_CHECKING:
    from goldpan.datasets.tasks.checks import CheckedFiles
    from goldpan.datasets.tasks.importing import ImportResult
    from goldpan.datasets.tasks.own_task import AddedTask
    from goldpan.datasets.tasks.registry import TaskFacts, TaskPage
    from goldpan.datasets.tasks.sources import SourceImport


@checked_methods
class Tasks(Group):
    """The tasks of a workspace: those that ship, a plugin's and one's own."""

    def list(self, *, suite: str | None = None, type: str | None = None) -> Results[TaskFacts]:
        """List the tasks, and which have data in the workspace.

        Example: goldpan tasks list --type binary

        Args:
            suite (NAME): Only tasks of a suite, such as a benchmark.
            type (TYPE): Only tasks of a type, such as binary or ner.
        """
        from goldpan.datasets.tasks.registry import list_tasks

        return list_tasks(self.lab.layout, self.lab.own_tasks, suite, type)

    def show(self, name: str) -> TaskPage:
        """Show everything about a task, with its prompt.

        Example: goldpan tasks show issue_type

        Args:
            name (NAME): The task's name, such as issue_type.
        """
        from goldpan.datasets.tasks.registry import show_task

        return show_task(self.lab.layout, self.lab.own_tasks, name)

    def validate(self) -> CheckedFiles:
        """Check every task file: counts, labels, steps, examples, citation and prompt.

        Exits with 1 if something is wrong.

        Example: goldpan tasks validate
        """
        from goldpan.datasets.tasks.checks import check_files

        return check_files(self.lab.own_tasks)

    def add(
        self,
        name: str,
        files: Files = (),
        *,
        text: str | Sequence[str] = (),
        label: str = "",
        repo: str = "",
        document: str = "",
        drop_empty: bool = False,
    ) -> AddedTask:
        """Make a task of your own from a table, and import its rows.

        The type and the labels are read from the label column. Everything that is missing is
        reported at once, and what looks wrong with the rows is listed.

        Example: goldpan tasks add urgent reports.csv --text body --label urgent

        Args:
            name (NAME): The task's name, in snake_case.
            files (FILE): Tables with the rows: CSV, TSV, JSON Lines, XLSX or Parquet.
            text (COLUMN): A column of texts, which are joined by line breaks in this order.
            label (COLUMN): The column of correct answers.
            repo (COLUMN): The column of projects, if there is one.
            document (COLUMN): The column of documents or threads.
            drop_empty: Leave out rows without a label.
        """
        from goldpan.core.storage.workspace import make_directory, write_whole
        from goldpan.datasets.tasks.importing import import_files
        from goldpan.datasets.tasks.own_task import AddedTask, describe_task
        from goldpan.datasets.tasks.registry import load_tasks, parse_task

        paths = file_paths(files)
        toml, labels, doubts = describe_task(
            name, paths, several(text), label, repo=repo, document=document, drop_empty=drop_empty
        )
        path = self.lab.own_tasks / f"{name}.toml"
        if name in load_tasks(self.lab.own_tasks):
            raise UsageError(
                f"The task {name} already exists",
                f"Choose another name, or change or remove {path}",
            )
        task = parse_task(str(path), toml)
        imported = import_files(self.lab.layout, task, paths, self.lab.reporter)
        make_directory(self.lab.own_tasks)
        write_whole(path, toml.encode())
        return AddedTask(imported, path, labels, doubts)

    def import_(
        self,
        name: str,
        files: Files = (),
        *,
        download: bool = False,
        revision: str | None = None,
        steps: str = "default",
        split: str | None = None,
        seed: int = 42,
        output: Path | str | None = None,
        corrections: str | Sequence[str] = (),
    ) -> ImportResult:
        """Import a task's data from the files that its authors publish, and check the counts.

        Nothing is downloaded without --download. Exits with 3 if a count differs.

        Example: goldpan tasks import bug_issue bugs.csv

        Args:
            name (NAME): The task's name, such as issue_type.
            files (FILE): The files as their authors publish them, plain or as .gz or .xz.
            download: Fetch the files from the Hugging Face Hub.
            revision (COMMIT): With --download, the commit to fetch: 40 hex digits.
            steps (NAME): The order in which texts are prepared: default, none, or a plugin's.
            split (SPLIT): none, random:0.8,0.1,0.1, repository:0.8,0.2, project:OWNER/NAME,
                stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the rows have one from
                their source, given. (default: the task's)
            seed: Seed of the split.
            output: The dataset's directory. (default: WORKSPACE/datasets/NAME)
            corrections (PROJECT): An annotation project whose decisions replace labels.
        """
        from goldpan.annotation.studio.gold import read_corrections
        from goldpan.datasets.tasks.importing import import_files
        from goldpan.datasets.tasks.sources import download as fetch

        layout = self.lab.layout
        task = self.lab.find_task(name)
        if download and files:
            raise UsageError("Both files and --download are given", "Give one of them")
        if revision and not download:
            raise UsageError("--revision says what to download", "Use it with --download")
        paths = fetch(task, revision, self.lab.reporter) if download else file_paths(files)
        return import_files(
            layout,
            task,
            paths,
            self.lab.reporter,
            steps=steps,
            split=split or "",
            seed=seed,
            directory=None if output is None else Path(output),
            processes=self.lab.settings.processes,
            corrections=read_corrections(layout, several(corrections), task),
        )


def import_(
    self: OpenWorkspace, source: str, files: Files, *, corrections: str | Sequence[str] = ()
) -> SourceImport:
    """Import all tasks of a source from its files; goldpan tasks import imports one.

    Nothing is downloaded. Exits with 3 if a count differs from the published one, or files of
    some tasks are missing.

    Example: goldpan import our-source posts.csv

    Args:
        source (SOURCE): The source, by the name of its data or of its reader.
        files (FILE): The files as their authors publish them.
        corrections (PROJECT): An annotation project whose decisions replace labels.
    """
    from goldpan.annotation.studio.gold import projects_by_task, read_corrections
    from goldpan.datasets.tasks.importing import import_files
    from goldpan.datasets.tasks.registry import load_tasks
    from goldpan.datasets.tasks.sources import SourceImport, files_by_task, tasks_of_source

    tasks = tasks_of_source(source, load_tasks(self.own_tasks))
    files_of = files_by_task(source, tasks, file_paths(files))
    given = [task for task in tasks if files_of[task.name]]
    projects = projects_by_task(self.layout, several(corrections), given)
    imports = tuple(
        import_files(
            self.layout,
            task,
            files_of[task.name],
            self.reporter,
            corrections=read_corrections(self.layout, projects[task.name], task),
        )
        for task in given
    )
    return SourceImport(imports, tuple(task.name for task in tasks if not files_of[task.name]))

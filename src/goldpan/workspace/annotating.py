"""Annotation in Label Studio, and how far the labels of a dataset or a task are to be believed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from goldpan.core.errors import UsageError
from goldpan.core.result import Results, blocks_of
from goldpan.core.values import Count, Positive, file_paths, several
from goldpan.workspace.checking import checked_methods
from goldpan.workspace.dataset import dataset_directory, find_dataset
from goldpan.workspace.opening import Group
from goldpan.workspace.options import DatasetName, Project, Projects, Rows, StudioUrl

if TYPE_CHECKING:
    from goldpan.annotation.studio.answers import Progress
    from goldpan.annotation.studio.client import Server
    from goldpan.annotation.studio.gold import Agreements, GoldExport
    from goldpan.annotation.studio.pull import CollectedAnswers
    from goldpan.annotation.studio.push import PushResult, SuspectSelection
    from goldpan.annotation.studio.summary import AnnotationReport
    from goldpan.datasets.gold import GoldScore
    from goldpan.datasets.tasks.task import Task
    from goldpan.evaluation.label_errors import LabelErrors


@checked_methods
class Annotate(Group):
    """Send rows to annotators in Label Studio, and collect their answers."""

    def push(
        self,
        *,
        project: Project,
        form: str | None = None,
        dataset: Path | str | None = None,
        task: str | None = None,
        suspects: int | None = None,
        controls: int = 0,
        folds: int = 5,
        seed: Count = 0,
        annotators: int = 2,
        url: StudioUrl = None,
    ) -> PushResult:
        """Send the rows of a dataset to annotators; only new rows are added.

        With --suspects these are the rows whose labels are most likely wrong, in random order, and
        their labels are hidden.

        Example: goldpan annotate push --project pairs --form fix-pair --dataset data

        Args:
            form (NAME): fix-pair, question-answer, changed-file, issue-type, or a plugin's.
                (default: made from --task)
            dataset (DATASET): The dataset to annotate, by its name or directory. (default: the rows
                of --task)
            task (NAME): A classification task, whose labels people choose from.
            suspects: Push only this many rows of --task, the most suspect first (see evaluate
                label-errors).
            controls: With --suspects, add this many other rows, drawn by --seed.
            folds: With --suspects, how many folds the ranking models use.
            seed: With --suspects, the seed of folds, controls and order.
            annotators: How many people annotate each subject.
        """
        from goldpan.annotation.studio.forms import find_form, read_tasks, task_form
        from goldpan.annotation.studio.push import push as push_tasks
        from goldpan.datasets.tasks.data import task_directory

        layout = self.lab.layout
        if task is None and suspects is not None:
            raise UsageError("--suspects needs a task", "Give --task with --suspects")
        known = None if task is None else self.lab.find_task(task)
        if form is None and known is None:
            raise UsageError("Neither a form nor a task is given", "Give --form or --task")
        if dataset is None and known is None:
            raise UsageError("Neither a dataset nor a task is given", "Give --dataset or --task")
        asked_form = task_form(known) if form is None and known else find_form(form or "")
        if dataset is not None:
            rows = dataset_directory(layout, dataset)
        else:
            rows = task_directory(layout, known) if known else Path()
        server, selection = self._server(url), None
        if known is not None and suspects is not None:
            selection = _select(known, rows, suspects, controls, folds, seed)
        tasks = read_tasks(rows, asked_form, selection.ids if selection else None)
        return push_tasks(
            layout,
            server,
            project,
            asked_form,
            selection.mixed(tasks) if selection else tasks,
            self.lab.reporter,
            annotators=annotators,
            selection=selection,
            dataset=rows,
        )

    def pull(
        self, *, project: Project, accept_configuration: bool = False, url: StudioUrl = None
    ) -> CollectedAnswers:
        """Fetch new answers, check them, and decide where people agree.

        A project and its adjudication are fetched together, whichever you name.

        Example: goldpan annotate pull --project pairs

        Args:
            accept_configuration: Accept answers to a form that was changed on the server.
        """
        from goldpan.annotation.studio.pull import collect

        server = self._server(url)
        return collect(
            self.lab.layout,
            server,
            project,
            self.lab.reporter,
            accept_configuration=accept_configuration,
        )

    def status(self, *, project: Project) -> Progress:
        """Show a project's progress, by annotator too.

        Example: goldpan annotate status --project pairs
        """
        from goldpan.annotation.studio.answers import progress

        return progress(self.lab.layout, project)

    def agreement(self, *, project: Project) -> Agreements:
        """Show how well annotators agree: raw agreement, kappa and alpha, and the conflicts.

        If the dataset has labels, they are compared with the decisions.

        Example: goldpan annotate agreement --project pairs
        """
        from goldpan.annotation.studio.gold import measure_agreements

        return measure_agreements(self.lab.layout, project)

    def adjudicate(
        self, *, project: Project, doubts: bool = False, url: StudioUrl = None
    ) -> PushResult:
        """Send conflicts, with both answers, to a third person.

        Example: goldpan annotate adjudicate --project pairs

        Args:
            doubts: Also send subjects that people agreed on while in doubt.
        """
        from goldpan.annotation.studio.decisions import adjudicate

        server = self._server(url)
        return adjudicate(self.lab.layout, server, project, self.lab.reporter, doubts=doubts)

    def report(self, *, project: Projects, output: Path | str) -> AnnotationReport:
        """Write a page on rounds of annotation: progress, agreement, confusion, disagreements.

        It is what a paper reports; the same figures stand as JSON beside it. It needs no server.

        Example: goldpan annotate report --project pairs --output appendix

        Args:
            output: A directory for annotation.html and annotation.json.
        """
        from goldpan.report.annotation_page import write_annotation_report

        return write_annotation_report(self.lab.layout, several(project), Path(output))

    def export(self, *, project: Project, gold: Path | str) -> GoldExport:
        """Write a gold set of the labels that people decided.

        Example: goldpan annotate export --project pairs --gold gold.csv

        Args:
            gold: A CSV file of the decided labels, for goldpan evaluate labels.
        """
        from goldpan.annotation.studio.gold import export_gold

        return export_gold(self.lab.layout, project, Path(gold))

    def serve(self, *, port: int = 8080, host: str = "127.0.0.1", install: bool = False) -> None:
        """Run a Label Studio until Ctrl-C, with a link where annotators sign up.

        It listens on this machine alone. With --host, whoever reaches that address sees its
        sign-in page, and whoever has the link sees all projects; what is sent is not encrypted.

        Example: goldpan annotate serve --install

        Args:
            port: A port on this machine.
            host (ADDRESS): The address of this machine at which colleagues reach it; 0.0.0.0 for
                all.
            install: Install Label Studio first (about 1 GB).
        """
        from goldpan.annotation.studio.project import note_address
        from goldpan.annotation.studio.serve import (
            end_as_by_keys,
            find_installation,
            serve,
            server_directory,
        )
        from goldpan.core.terminal import show

        layout = self.lab.layout
        installation = find_installation(os.environ, self.lab.reporter, install=install)
        end_as_by_keys()
        with serve(installation, server_directory(layout), port, host) as running:
            note_address(layout, running.server)
            show(blocks_of(running))
            running.process.wait()

    def _server(self, url: str | None) -> Server:
        from goldpan.annotation.studio.serve import find_server

        return find_server(url, os.environ, self.lab.layout)


def _select(
    task: Task, rows: Path, suspects: int, controls: int, folds: int, seed: int
) -> SuspectSelection:
    """Return the rows whose labels are most suspect, and controls."""
    from goldpan.annotation.studio.push import choose
    from goldpan.evaluation.label_errors import find_label_errors
    from goldpan.evaluation.task_input import read_task_input

    found = find_label_errors(read_task_input(rows, task).data, folds=folds, seed=seed)
    return choose(
        [(row.id, row.margin) for row in found.ranked],
        suspects,
        controls,
        task=task.name,
        data_hash=found.data_hash,
        folds=folds,
        seed=seed,
    )


def labels(
    self: Group,
    dataset: DatasetName,
    *,
    gold: Path | str | Sequence[Path | str] = (),
    sample: Positive | None = None,
    seed: Count = 0,
    subjects: Literal["random", "best-informed"] = "random",
    reader: str = "first",
    output: Path | str | None = None,
    studio: str | None = None,
    url: StudioUrl = None,
) -> Results[GoldScore]:
    """Score the labels of a dataset by reading a sample of its rows, or by a gold set.

    With --sample, rows drawn by --seed are judged in the terminal, a number each, or in Label
    Studio; the same command goes on with what is left. docs/labels.md has the columns of a gold
    set.

    Example: goldpan evaluate labels qa --gold answers.csv

    Args:
        dataset (DATASET): A dataset, by its name or directory.
        gold: A gold set, a CSV file.
        sample: Read this many rows.
        seed: With --sample, the seed that draws them.
        subjects: With --sample, which rows are drawn: best-informed draws more of those of which
            stored reviews leave more doubt.
        reader (NAME): With --sample, who reads; each reader judges the same rows.
        output: With --sample, the CSV file of the judgments. (default: DATASET.readings.csv)
        studio (PROJECT): With --sample, send the rows to this project in Label Studio, and fetch
            what its annotators said.
    """
    data, golds = find_dataset(self.lab, dataset), file_paths(gold)
    if (sample is None) == (not golds):
        raise UsageError(
            "Labels are scored by a sample or by a gold set", "Give --sample or --gold"
        )
    if sample is None:
        return Results(data.score_labels(path) for path in golds)
    from goldpan.annotation.review.stored import row_votes
    from goldpan.annotation.studio.label_sample import draw_sample, read_in_terminal, readings_path
    from goldpan.datasets.provenance import build_command

    path = readings_path(data.path) if output is None else Path(output)
    vote = row_votes(self.lab.layout, data.path) if subjects == "best-informed" else None
    drawn = draw_sample(data.path, sample, seed, path, vote)
    notes: tuple[str, ...] = ()
    if studio is None:
        read_in_terminal(drawn, reader)
    else:
        from goldpan.annotation.studio.gold import collect_readings
        from goldpan.annotation.studio.serve import find_server

        server = find_server(url, os.environ, self.lab.layout)
        page = collect_readings(self.lab.layout, server, studio, drawn, self.lab.reporter)
        notes = (f"Annotators read at {page}; the same command fetches what they say",)
    if not path.exists():
        return Results((), ("Nothing is judged yet", *notes))
    command = build_command(data.path, self.lab.path, path)
    notes = ("To have this on the card and in provenance.json:", f"  {command}", *notes)
    return Results([data.score_labels(path)], notes)


def label_errors(
    self: Group,
    *,
    task: str,
    dataset: Rows = None,
    folds: int = 5,
    seed: Count = 0,
    limit: Count = 20,
    output: Path | str | None = None,
) -> LabelErrors:
    """Rank the labels of a task by how likely they are wrong (confident learning).

    Each row is judged by a model that was not trained on it. A suspect label may be right: have
    people look at it.

    Example: goldpan evaluate label-errors --task requirement_type

    Args:
        task (NAME): A classification task.
        folds: How many models to train, each leaving out a share of the rows.
        seed: Seed of the folds.
        limit: At most this many rows are listed.
        output: Write all rows, the most suspect first, to this .parquet, .jsonl or .csv file.
    """
    from goldpan.datasets.table_files import check_form
    from goldpan.datasets.tasks.data import task_directory
    from goldpan.evaluation.label_errors import find_label_errors, write_ranked
    from goldpan.evaluation.task_input import read_task_input

    known = self.lab.find_task(task)
    rows = (
        task_directory(self.lab.layout, known)
        if dataset is None
        else dataset_directory(self.lab.layout, dataset)
    )
    if output is not None:
        check_form(Path(output))
    found = find_label_errors(read_task_input(rows, known).data, folds=folds, seed=seed)
    if output is not None:
        write_ranked(found, Path(output))
    return replace(found, ranked=found.ranked[:limit])

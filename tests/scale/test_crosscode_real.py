"""Real tasks come back from text-to-text as they were, and the comments as the leaks they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.importing import import_files
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.papers.crosscodebench.importing import import_task
from goldpan.papers.crosscodebench.instances import read_instances
from goldpan.papers.crosscodebench.meta import list_metas
from goldpan.papers.crosscodebench.task_files import TaskDataset, check_task_files, export_tasks
from tests.places import DATA, needs_data

QUIET = Reporter(quiet=True)
SOURCES = {
    "requirement_type": ("requirements/promise-reclass.csv",),
    "se_entities": tuple(f"ner/stackoverflow_{part}.txt.xz" for part in ("train", "dev", "test")),
    "story_points": tuple(
        f"regression/storypoints_{name}.csv.xz" for name in ("mesos", "moodle", "usergrid")
    ),
    **{
        name: (f"nlbse23-comments/{task.settings['language']}.csv.xz",)
        for name, task in load_tasks().items()
        if task.source.reader == "nlbse23_comments"
    },
}

pytestmark = needs_data(DATA / "requirements")


def test_real_tasks_come_back(tmp_path: Path) -> None:
    own, other = WorkspaceLayout(tmp_path / "here"), WorkspaceLayout(tmp_path / "there")
    datasets = []
    for name, files in SOURCES.items():
        task = find_task(name)
        import_files(own, task, [DATA / file for file in files], QUIET)
        datasets.append(TaskDataset(task, own.dataset(name)))
    exported = export_tasks(own, datasets, tmp_path / "files", QUIET)
    assert len(exported.metas) == len(SOURCES) >= 22
    checked = check_task_files(tmp_path / "files", QUIET)
    assert (checked.problems, checked.instances) == ((), exported.instances)
    for path in list_metas(tmp_path / "files"):
        imported = import_task(other, path)
        for part in sorted((own.dataset(imported.task.name) / "data").iterdir()):
            twin = imported.directory / "data" / part.name
            assert pq.read_table(part) == pq.read_table(twin), part
    instances = [
        instance
        for path in (tmp_path / "files").glob("*_ner_*.data.json")
        for instance in read_instances(path)
    ]
    assert len(instances) > 1000
    assert sum(bool(instance.exact) for instance in instances) < len(instances) / 100

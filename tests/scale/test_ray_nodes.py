"""Ray on a real cluster of two nodes, one of which dies in each test and is replaced."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.progress import TaskID

import goldpan
from goldpan.core.parallel.engine import RayCluster, open_engine
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.execution.proof import Proof
from goldpan.execution.verify import verify_all
from tests.engine_work import take_gpus
from tests.gharchive_hours import write_day
from tests.integration.test_gharchive_mine import TEN, bring
from tests.integration.test_gharchive_mine import files as shards
from tests.mining import Notes
from tests.planning import (
    OTHER_FAMILIES,
    PAN,
    SLUICE,
    local_github,
    made,
    run_json,
    states,
    write_tasks,
)
from tests.ray_cluster import TwoNodes
from tests.servers.test_ray import cluster, running
from tests.shell_lab import QUICK, Lab
from tests.verifying import needs_isolation

__all__ = ["cluster", "running"]


def test_work_waits_for_the_gpus_that_it_asks_for(cluster: TwoNodes, tmp_path: Path) -> None:
    """Nobody has these GPUs: a machine says that it has two, beside processors for three."""
    with (
        cluster.another(num_cpus=3, num_gpus=2),
        open_engine(Execution("ray", cluster.address, 1)) as engine,
    ):
        assert isinstance(engine, RayCluster)
        assert engine.gpus == 2
        work = partial(take_gpus, tmp_path)
        submitted = [engine.submit(work, number, gpus=2) for number in range(3)]
        assert [unit.result() for unit in submitted] == ["0,1"] * 3
    lines = (tmp_path / "gpus").read_text(encoding="utf-8").split()
    assert lines[::2] == ["begin"] * 3
    assert lines[1::2] == ["end"] * 3


class Killer(Notes):
    """Kills a node of a cluster when the third hour is done."""

    def __init__(self, cluster: TwoNodes) -> None:
        super().__init__()
        self.cluster = cluster
        self.killed = 0

    def _update(self, task: TaskID | None, done: int, total: int) -> None:
        if done == 3:
            self.cluster.kill(min(self.cluster.names))
            self.killed += 1


def test_a_node_dies_while_hours_are_read(cluster: TwoNodes, tmp_path: Path) -> None:
    write_day(tmp_path / "hours", TEN, 400)
    assert bring(tmp_path / "here", tmp_path / "hours").complete
    killer = Killer(cluster)
    result = bring(
        tmp_path / "there", tmp_path / "hours", engine="ray", address=cluster.address, notes=killer
    )
    assert (result.complete, result.reused, killer.killed) == (True, 0, 1)
    assert shards(tmp_path / "there") == shards(tmp_path / "here")


WAITING = """
import time
from importlib import import_module
from pathlib import Path
import pyarrow as pa
from goldpan.plugins import Criterion, NoSettings, register

FOLDER = Path(__file__).parent

def judge(repository, settings):
    found = repository.sql("SELECT number AS issue FROM issues")
    if not (FOLDER / "killed").exists():
        node = import_module("ray").get_runtime_context().get_node_id()
        (FOLDER / "attempt.new").write_text(f"{repository.repo} {node}")
        (FOLDER / "attempt.new").rename(FOLDER / "attempt")
        while not (FOLDER / "killed").exists():
            time.sleep(0.02)
    return pa.table({"issue": found["issue"], "keep": [True] * len(found)}).append_column(
        "reason", pa.nulls(len(found), pa.string())
    )

register(Criterion("waiting", "issue", "Keeps all.", "A test", NoSettings, judge))
"""
"""A criterion that waits on a cluster until a node was killed."""
PLAN = f"""
workspace = "lab"
[repositories]
listed = ["{SLUICE}", "{PAN}"]
[clone]
source = "../{{name}}.git"
[[dataset]]
name = "questions"
family = "qa"
split = "random:0.4,0.3,0.3"
{OTHER_FAMILIES}
[[evaluation]]
name = "baselines"
task = ["issue_type"]
model = ["majority"]
seed = [0, 1]
gpus = 1
"""


def test_a_node_dies_while_a_plan_is_run(
    cluster: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_cluster = ("--engine", "ray", "--address", cluster.address)
    local, other = tmp_path / "here", tmp_path / "there"
    monkeypatch.setenv("GOLDPAN_TRUST", f"{local / 'lab'},{other / 'lab'}")
    write_tasks(local / "lab")
    (local / "plan.toml").write_text(PLAN, encoding="utf-8")
    (local / "waiting.py").write_text(WAITING, encoding="utf-8")
    (local / "lab" / "goldpan.toml").write_text('plugins = ["../waiting.py"]', encoding="utf-8")
    with local_github(tmp_path) as twin:
        shutil.copytree(tmp_path / "sluice.git", tmp_path / "pan.git")  # of which little fits
        mined = run_json(twin, local, "--only", "mine")
        assert states(mined) == {f"mine/{SLUICE}": "done", f"mine/{PAN}": "done"}
        shutil.copytree(local, other)
        (local / "killed").touch()
        expected = run_json(twin, local)
        killer = threading.Thread(target=kill_at_work, args=(cluster, other))
        killer.start()
        result = run_json(twin, other, *on_cluster)
        killer.join()
        assert len(cluster.names) == 1
        assert states(result) == states(expected)
        assert made(other / "lab") == made(local / "lab")
        scores = [sorted(lab.glob("lab/runs/**/result.json")) for lab in (local, other)]
        assert len(scores[0]) == 2
        names = {"questions", "types", "comments", "unseen"}
        assert {path.split("/")[1] for path in made(local / "lab") if "datasets/" in path} > names
        work_again(goldpan.Workspace(other / "lab"), cluster.address, tmp_path)
        assert made(other / "lab") == made(local / "lab")
        assert [path.relative_to(local) for path in scores[0]] == [
            path.relative_to(other) for path in scores[1]
        ]
        requests = twin.count
        again = run_json(twin, other)
        assert (again["ran"], again["complete"], twin.count) == (0, True, requests)


def work_again(lab: goldpan.Workspace, address: str, sources: Path) -> None:
    """Take the stages of two repositories one by one; nothing differs from what the plan made."""
    (lab.path / "verdicts" / "duplicates.parquet").unlink()
    source = str(sources / "{name}.git")
    cluster = Execution("ray", address)
    assert set(lab.normalize(execution=cluster).tables) == {SLUICE, PAN}
    paired = lab.pair(execution=cluster)
    assert {result.repo for result in paired} == {SLUICE, PAN}
    histories = lab.clone(source=source)
    assert {fetched.history.repo for fetched in histories} == {SLUICE, PAN}
    judged = lab.filter(execution=cluster)
    assert [result.issues.rows > 0 for result in judged] == [True, True]
    (lab.path / "verdicts" / "duplicates.parquet").unlink()  # which building finds anew
    again = lab.build(
        "qa",
        split="random:0.4,0.3,0.3",
        output=sources / "questions",
        execution=Execution("ray", address),
    )
    assert rows_of(again.path) == rows_of(lab.path / "datasets" / "questions")


def rows_of(dataset: Path) -> dict[str, bytes]:
    """Return the files of a dataset's rows."""
    return {path.name: path.read_bytes() for path in sorted((dataset / "data").iterdir())}


def kill_at_work(cluster: TwoNodes, folder: Path) -> None:
    """Kill the node on which the criterion waits."""
    while not (folder / "attempt").exists():
        time.sleep(0.02)
    _, node = (folder / "attempt").read_text(encoding="utf-8").split()
    cluster.kill(node)
    (folder / "killed").touch()


@needs_isolation
def test_fixes_are_proved_on_two_nodes(cluster: TwoNodes, tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    instances = [
        replace(lab.instance(test), issue=number, id=f"x:o/n#{number}+2")
        for number, test in enumerate(("grep -q 2 value", "grep -q 3 value"), 1)
    ]

    def prove(execution: Execution) -> list[Proof]:
        proved = verify_all(
            lab.workspace,
            instances,
            QUICK,
            Notes(),
            recipes=(lab.recipe,),
            execution=execution,
            again=True,
        )
        return [record.proof for record in proved.records]

    expected = prove(ONE_PROCESS)
    assert expected[0].verdict == "verified"
    assert prove(Execution("ray", cluster.address, 1)) == expected

"""`goldpan annotate` from a built dataset through two people to a rebuilt one."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.annotation.studio.project import open_project
from goldpan.config import Settings
from goldpan.demo import run_demo
from goldpan.progress import Reporter
from goldpan.workspace import Workspace
from tests.studio import Annotators, installed, prepared, studio, task_numbers
from tests.test_cli import Done, run

__all__ = ["installed", "prepared", "studio"]

# The first test installs a server of about 1 GB and prepares its database.
pytestmark = pytest.mark.timeout(1200)


def test_people_decide_what_is_rebuilt(tmp_path: Path, studio: Annotators) -> None:
    place = Workspace(tmp_path / "place")
    run_demo(Settings(workspace=place.root), Reporter(quiet=True))

    def goldpan(*arguments: str | Path) -> Done:
        done = run(
            *arguments,
            "--workspace",
            place.root,
            folder=tmp_path,
            PATH=os.environ["PATH"],
            LABEL_STUDIO_URL=studio.server.url,
            LABEL_STUDIO_API_KEY=studio.server.token,
        )
        assert done.code == 0, done.err
        return done

    project = ("--project", "rebuild")
    form = ("--form", "fix-pair", "--dataset", place.dataset("code-edit"))
    assert "11 subjects added, 0 were there" in goldpan("annotate", "push", *project, *form).out
    assert "0 subjects added, 11 were there" in goldpan("annotate", "push", *project, *form).out
    for number, task in task_numbers(place, "rebuild").items():
        studio.answer(1, task, "fixes")
        studio.answer(2, task, "unrelated" if number == 22 else "fixes")
    pulled = goldpan("annotate", "pull", *project).out
    assert "agreed: 10" in pulled
    assert "conflict: 1" in pulled
    assert "11 of 11 subjects finished" in goldpan("annotate", "status", *project).out
    agreement = goldpan("annotate", "agreement", *project).out
    assert "raw agreement 0.909" in agreement
    assert "differ on" in agreement
    assert "1 subjects added" in goldpan("annotate", "adjudicate", *project).out
    built = goldpan("build", "code-edit", "--require", "fix-pair").out
    assert "10 examples" in built
    assert "1 gave no example: fix-pair" in built
    rows = pq.read_table(place.dataset("code-edit") / "data")
    assert len(rows) == 10
    assert open_project(place, "rebuild").facts.form == "fix-pair"
    assert studio.server.token not in "".join(
        path.read_bytes().decode("latin-1")
        for path in (place.root / "annotations").rglob("*")
        if path.is_file()
    )

"""The code under test is the checkout's, however a repository lays it out and installs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.execution.isolation import IsolationName
from tests.layouts import LAYOUTS, Projects
from tests.verifying import in_each_isolation


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Projects:
    root: Path = tmp_path_factory.mktemp("layouts")
    return Projects(root, LAYOUTS)


@pytest.mark.timeout(900)
@in_each_isolation
def test_each_layout_is_tested_with_its_fix(projects: Projects, isolation: IsolationName) -> None:
    records = projects.verify(isolation)
    verdicts = {name: record.proof.verdict for name, record in records.items()}
    assert verdicts == {name: layout.verdict for name, layout in LAYOUTS.items()}

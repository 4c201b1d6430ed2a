"""Rows that measure nothing, by the runs that are stored of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.audit.finding import Verdict
from goldpan.audit.stored_runs import Outcomes, find_measure
from goldpan.core.errors import EvaluationError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.model import Costs, find_model
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.training import training_context
from tests.auditing import row_of
from tests.evaluating import rows


def _outcomes(*answers: str) -> Outcomes:
    """Make models of texts with a 1 for each row that is solved, the first of which counts."""
    rows = {f"m{at}": {f"r{n}": s == "1" for n, s in enumerate(t)} for at, t in enumerate(answers)}
    return Outcomes(rows, {}, "Run goldpan evaluate run --task t --model MODEL")


@pytest.mark.parametrize(
    ("answers", "verdict", "case"),
    [
        (("110", "101", "111", "100"), "found", "all"),
        (("010", "001", "011", "000"), "found", "none"),
        (("110", "101", "111"), "cannot-tell", "all"),
        (("010", "101", "111", "100"), "not-found", ""),
        (("0111",) * 9 + ("1000",) * 9, "found", "reversed"),
        (("1111",) * 9 + ("0000",) * 9, "not-found", ""),
        ((), "cannot-tell", ""),
    ],
    ids=["all", "none", "few", "differ", "reversed", "tells", "no-runs"],
)
def test_rows_that_measure_nothing(
    answers: tuple[str, ...], verdict: Verdict, case: str, tmp_path: Path
) -> None:
    row = row_of({"id": "r0", "text": "x"}, tmp_path)
    found = find_measure(row, _outcomes(*answers))
    assert (found.verdict, found.case) == (verdict, case)
    assert bool(found.remedy) == (verdict == "cannot-tell")
    if found.low is not None:
        assert found.value is not None and found.high is not None
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("answers", "value", "tells", "ending"),
    [
        (("1111", "0111", "0000", "0100"), 0.5, False, "[-0.27, +0.91]"),
        (("1111", "0111") * 3 + ("0000", "0100") * 3, 0.5, True, "[+0.00, +0.81]"),
        (("1111", "0111", "1000", "0100"), 0, False, "[-0.57, +0.57]"),
    ],
    ids=["few", "many", "alike"],
)
def test_how_many_models_would_tell(
    answers: tuple[str, ...], value: float, tells: bool, ending: str, tmp_path: Path
) -> None:
    found = find_measure(row_of({"id": "r0", "text": "x"}, tmp_path), _outcomes(*answers))
    assert found.low is not None
    assert (found.value, found.low > 0) == (value, tells)
    assert found.why.endswith(ending)


def test_what_a_blind_run_solves_measures_nothing(tmp_path: Path) -> None:
    row = row_of({"id": "r0", "text": "x"}, tmp_path)
    several = _outcomes("110", "010", "111", "000")
    blind = {"most-changed-file": {"r0": True}, "m without title": {"r0": False}}
    found = find_measure(row, replace(several, blind=blind))
    assert (found.verdict, found.case) == ("found", "solved-without")
    assert found.why == "solved by most-changed-file, which reads neither the text nor the code"
    found = find_measure(row, replace(several, blind={"m without title": {"r0": False}}))
    assert found.verdict == "not-found"


def test_the_most_changed_file_is_that_of_the_project(tmp_path: Path) -> None:
    paths = ["a.py", "b.py", "a.py", "c.py"] * 8 + ["x.py", "y.py"]
    task = find_task("fault_localization")
    made = rows(task, [(f"It fails {at}", path) for at, path in enumerate(paths)])
    data = task_data(task, {"train": made.slice(0, 32), "test": made.slice(32)})
    model = find_model("most-changed-file", {})
    context, test = training_context(
        WorkspaceLayout(tmp_path),
        data,
        find_protocol("default"),
        0,
        tmp_path,
        Reporter(quiet=True),
        Costs(),
    )
    assert list(model.fit(context).answer(test).values) == ["a.py", "b.py"]
    assert model.check is not None
    with pytest.raises(EvaluationError, match="no files"):
        model.check(find_task("qa"))

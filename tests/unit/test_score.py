"""Scoring as a whole: every type of task, JSON, tables that are none, ablations and thirds."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.examples import CODE_EDIT, QA
from goldpan.datasets.tasks.task import TaskType
from goldpan.evaluation.metrics.estimate import Scores, Totals
from goldpan.evaluation.metrics.patches import PatchPair, apply_answer, patch_evidence, patch_path
from goldpan.evaluation.score import score
from goldpan.evaluation.task_input import MODULES, relative_change, thirds_by_length, without
from tests.scoring import make_predictions, make_task


class Case(NamedTuple):
    type: TaskType
    labels: tuple[str, ...]
    truths: list[Any]
    answers: list[Any]
    main: str


CASES = [
    Case("binary", ("yes", "no"), ["yes", "no"], ["yes", None], "f1"),
    Case("multi-class", ("a", "b", "c"), ["a", "b"], ["a", "c"], "macro_f1"),
    Case("multi-label", ("a", "b"), [["a"], []], [["a", "b"], None], "macro_f1"),
    Case("regression", (), [1.0, 2.0], [1.5, None], "smape"),
    Case("ner", ("O", "B-x"), [["O", "B-x"], ["O"]], [["O", "B-x"], None], "seqeval_f1"),
    Case("mlm", (), [["send"], ["log"]], [["send"], None], "mlm_accuracy"),
    Case("text-generation", (), ["a b c d", "e f"], ["a b c", None], "rouge_l"),
]
every_type = pytest.mark.parametrize("case", CASES, ids=[case.type for case in CASES])


@every_type
def test_every_type_has_its_main_metric_and_goes_through_json(case: Case) -> None:
    task = make_task(case.type, case.labels, metric=case.main)
    predictions = make_predictions(case.type, case.truths, case.answers)
    scores = score(task, predictions, resamples=20, seed=3)
    assert scores.value(scores.main) is not None
    assert (scores.examples, scores.seed, scores.resamples) == (2, 3, 20)
    assert scores.invalid == (None in case.answers)
    with pytest.raises(KeyError, match="no_such_metric"):
        scores.value("no_such_metric")
    names = [(metric.name, metric.label) for metric in scores.metrics]
    assert len(set(names)) == len(names)
    assert all(metric.reason for metric in scores.metrics if metric.value is None)
    assert TypeAdapter(Scores).validate_json(orjson.dumps(scores)) == scores


@every_type
def test_right_answers_score_best(case: Case) -> None:
    others: dict[str, list[Any]] = {"multi-class": ["c"], "multi-label": [["b"]]}
    truths = [*case.truths, *others.get(case.type, [])]
    task = make_task(case.type, case.labels, metric=case.main)
    scores = score(task, make_predictions(case.type, truths, truths), resamples=0)
    best = scores.metric(case.main)
    assert best.value == pytest.approx(1 if best.higher_is_better else 0)


@every_type
def test_without_examples_everything_is_undefined_with_a_reason(case: Case) -> None:
    builders = ("", "fault-localization", "code-edit") if case.type == "text-generation" else ("",)
    for builder in builders:
        task = make_task(case.type, case.labels, builder=builder)
        scores = score(task, make_predictions(case.type, [], []))
        assert scores.examples == scores.units == 0
        assert all(metric.value is None and metric.reason for metric in scores.metrics)


def test_tables_that_are_no_predictions_are_refused() -> None:
    task = make_task("binary", ("yes", "no"))
    table = make_predictions("binary", ["yes", "no"], ["yes", "no"])
    cases = {
        "lack the columns answer, raw": table.drop_columns(["answer", "raw"]),
        "do not have the columns of a binary": make_predictions("ner", [["O"]], [["O"]]),
        "hold 'made_up:000000' twice": pa.concat_tables([table, table]),
        "'maybe' is a right answer": make_predictions("binary", ["maybe"], ["yes"]),
    }
    for problem, wrong in cases.items():
        with pytest.raises(EvaluationError, match=problem):
            score(task, wrong)
    with pytest.raises(EvaluationError, match="not a finite number"):
        score(make_task("regression"), make_predictions("regression", [float("nan")], [1.0]))


def test_ablations_are_those_of_table_5() -> None:
    names = [without(CODE_EDIT, left_out).name for left_out in ([], *([name] for name in MODULES))]
    assert names == ["IT+IB+PT+PB", "IB+PT+PB", "IT+PT+PB", "IT+IB+PB", "IT+IB+PT"]


def test_the_code_can_be_left_out_too() -> None:
    assert without(CODE_EDIT, ["file_before", "title"]).removed == ("title", "file_before")
    with pytest.raises(UsageError, match="no part 'tree'"):
        without(QA, ["tree"])


def test_the_changes_of_table_5() -> None:
    """Seed 003, Table 5: the score in full, without a module, and the printed change."""
    rows = [
        (0.0943, 0.0843, -0.1060),
        (0.1078, 0.0912, -0.1540),
        (0.1307, 0.1350, 0.0329),
        (0.6500, 0.4533, -0.3026),
        (0.3073, 0.2890, -0.0596),
    ]
    for full, part, printed in rows:
        assert relative_change(full, part) == pytest.approx(printed, abs=0.001)
    # Section 5.2 says 0.85% of code editing without the body; that is without its title.
    assert relative_change(0.3073, 0.3047) == pytest.approx(-0.0085, abs=1e-4)
    assert relative_change(0.3073, 0.2923) == pytest.approx(-0.0488, abs=1e-4)
    assert relative_change(0, 0) is None


def test_thirds_by_length() -> None:
    """Of equal lengths ids decide; where thirds cannot be even, the shorter ones have one more."""
    texts = ["a", "bbb", "cc", "dddd", "eeeee", "ff", "g"]
    rows = pa.table({"id": list("7654321"), "text": texts})
    thirds = thirds_by_length(rows, make_task("text-generation"))
    short, medium, long = "short (1 to 2)", "medium (2 to 3)", "long (4 to 5)"
    assert thirds == [short, medium, medium, long, long, short, short]
    words = pa.table({"id": ["1", "2"], "tokens": [["a", "b"], ["a"]]})
    assert thirds_by_length(words, make_task("ner", ("O",))) == [
        "medium (3 to 3)",
        "short (1 to 1)",
    ]


TASK = make_task("text-generation", metric="codebleu", builder="code-edit")
BEFORE = "def size(items):\n    n = 0\n    for item in items:\n        n += 2\n    return n\n"


def patch(search: str, replace: str, path: str = "lib/size.py") -> str:
    return f"{path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


RIGHT = patch("        n += 2", "        n += 1")
ANSWERS = {
    "right": RIGHT,
    "in prose": f"Here is the fix:\n\n```\n{RIGHT}```\n",
    "another comment": patch("        n += 2", "        n += 1  # one more"),
    "wrong": patch("        n += 2", "        n += 3"),
    "white space off": patch("        n += 2  ", "        n += 1"),
    "stays as it is": patch("        n += 2", "        n += 2"),
    "stands nowhere": patch("        n += 7", "        n += 1"),
    "another file": patch("        n += 2", "        n += 1", path="lib/other.py"),
    "malformed": "lib/size.py\n<<<<<<< SEARCH\n        n += 2\n=======\n",
    "no patch": "Add one instead of two.",
}


def scored(answers: list[str | None], *, files: bool = True) -> Scores:
    table = make_predictions("text-generation", [RIGHT] * len(answers), answers)
    files_before = dict.fromkeys(table["id"].to_pylist(), BEFORE) if files else None
    return score(TASK, table, resamples=0, files=files_before)


OUTCOMES = {
    "right": [1, 1, 1],
    "in prose": [1, 1, 1],
    "another comment": [1, 1, 0],
    "wrong": [1, 1, 0],
    "white space off": [0, 1, 0],
}
"""Of each answer: applies, applies leniently, gives the same file."""


def test_what_patches_do_to_the_file() -> None:
    pairs = [PatchPair(RIGHT, answer, BEFORE) for answer in ANSWERS.values()]
    _, formed, applied = patch_evidence(pairs)
    assert isinstance(formed, Totals)
    assert isinstance(applied, Totals)
    whole = dict(zip(ANSWERS, formed.columns[:, 0].tolist(), strict=True))
    assert [name for name, value in whole.items() if not value] == ["malformed", "no patch"]
    names = ["patch_applied", "patch_applied_lenient", "file_exact"]
    assert [measure.name for measure in applied.measures] == names
    for name, row in zip(ANSWERS, applied.columns[:, :3].tolist(), strict=True):
        assert row == OUTCOMES.get(name, [0, 0, 0]), name


def test_a_patch_that_does_nothing_right_may_look_alike() -> None:
    scores = scored([ANSWERS["stands nowhere"], None])
    assert scores.value("patch_applied") == 0
    codebleu = scores.value("codebleu")
    assert codebleu is not None and 0.3 < codebleu <= 0.5  # the null answer has none


def test_without_the_files_nothing_is_applied_and_it_says_so() -> None:
    scores = scored([RIGHT], files=False)
    assert scores.value("patch_applied") is None
    assert scores.metric("patch_applied").reason == "the files before the edit are not given"
    assert scores.value("codebleu") == pytest.approx(1)


def test_the_path_is_that_of_the_first_block() -> None:
    assert patch_path(RIGHT) == "lib/size.py"
    assert patch_path("nothing") == patch_path(ANSWERS["malformed"]) == ""
    no_name = "\n".join(RIGHT.splitlines()[1:]) + "\n"
    assert apply_answer(no_name, "lib/size.py", BEFORE) == (BEFORE.replace("+= 2", "+= 1"),)

"""Metrics of patches: what they say, whether they apply, and what the file is after."""

from __future__ import annotations

import pytest

from goldpan.evaluation.metrics.estimate import Scores, Totals
from goldpan.evaluation.metrics.patches import PatchPair, apply_answer, patch_evidence, patch_path
from goldpan.evaluation.score import score
from tests.scoring import make_predictions, make_task

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
    "right": [1, 1, 1, 1],
    "in prose": [1, 1, 1, 1],
    "another comment": [1, 1, 1, 0],
    "wrong": [1, 1, 0, 0],
    "white space off": [0, 1, 0, 0],
}
"""Of each answer: applies, applies leniently, gives the same tree, gives the same file."""


def test_what_patches_do_to_the_file() -> None:
    pairs = [PatchPair(RIGHT, answer, BEFORE) for answer in ANSWERS.values()]
    _, formed, applied = patch_evidence(pairs)
    assert isinstance(formed, Totals)
    assert isinstance(applied, Totals)
    whole = dict(zip(ANSWERS, formed.columns[:, 0].tolist(), strict=True))
    assert [name for name, value in whole.items() if not value] == ["malformed", "no patch"]
    names = ["patch_applied", "patch_applied_lenient", "file_ast_equal", "file_exact"]
    assert [measure.name for measure in applied.measures] == names
    for name, row in zip(ANSWERS, applied.columns[:, :4].tolist(), strict=True):
        assert row == OUTCOMES.get(name, [0, 0, 0, 0]), name


def test_a_patch_that_does_nothing_right_may_look_alike() -> None:
    scores = scored([ANSWERS["stands nowhere"], None])
    assert scores.value("patch_applied") == 0
    codebleu = scores.value("codebleu")
    assert codebleu is not None and 0.3 < codebleu <= 0.5  # the null answer has none
    assert scores.value("codebleu_package") is not None


def test_only_the_replace_part_counts_where_search_is_copied() -> None:
    copied = patch("        n += 2", "        pass")
    scores = scored([copied])
    replaced = scores.value("codebleu_replace")
    assert replaced is not None and replaced < 0.1
    assert (scores.value("codebleu") or 0) > replaced
    assert scored([RIGHT]).value("codebleu_replace") == pytest.approx(1)
    assert scored(["no patch"]).value("codebleu_replace") == 0


def test_without_the_files_nothing_is_applied_and_it_says_so() -> None:
    scores = scored([RIGHT], files=False)
    assert scores.value("patch_applied") is None
    assert scores.metric("patch_applied").reason == "the files before the edit are not given"
    assert scores.value("codebleu") == pytest.approx(1)


def test_the_path_is_that_of_the_first_block() -> None:
    assert patch_path(RIGHT) == "lib/size.py"
    assert patch_path("nothing") == patch_path(ANSWERS["malformed"]) == ""
    no_name = "\n".join(RIGHT.splitlines()[1:]) + "\n"
    assert apply_answer(no_name, "lib/size.py", BEFORE) == BEFORE.replace("+= 2", "+= 1")

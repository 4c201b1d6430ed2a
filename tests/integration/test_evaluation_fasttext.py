"""fastText runs in an environment of its own, a process a training, and is run again on NaN."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.data import TaskData
from goldpan.evaluation.model import find_model
from goldpan.evaluation.models import fasttext
from goldpan.evaluation.models.fasttext import TRAINER, Trainer, in_quotes, one_line
from goldpan.evaluation.record import RunRecord
from tests.evaluating import learns_every_type, ran, requirements, rows_of
from tests.installing import installed_once

pytest.importorskip("sklearn")


@pytest.fixture(scope="session")
def environment(request: pytest.FixtureRequest) -> Path:
    """Return where fastText is installed."""
    return installed_once("fasttext", request.config.cache)


def _run(root: Path, data: TaskData, protocol: str = "default") -> RunRecord:
    return ran(root, data, "fasttext", protocol, dim=20)


def test_learns_every_type_it_answers(
    tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRAINER.variable, str(environment))
    monkeypatch.setitem(fasttext._GRIDS, "small", ((0.1, 1.0), (20,)))
    learns_every_type(tmp_path, "fasttext", dim=20)


def test_quotation_marks_are_those_of_a_table_of_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    texts = ["The system shall log.", "Logs", 'It says "no" twice', '"No"']
    path = tmp_path / "train.txt"
    pandas.DataFrame({"label": ["__label__0"] * 4, "text": texts}).to_csv(
        path, sep=" ", index=False, header=None
    )
    assert path.read_text(encoding="utf-8").splitlines() == [
        f"__label__0 {in_quotes(text)}" for text in texts
    ]


def test_hostile_texts_are_read(
    tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRAINER.variable, str(environment))
    monkeypatch.setitem(fasttext._GRIDS, "small", ((1.0,), (5, 20)))
    texts = ["", "\0\n\r", "__label__1 __label__0", "x" * 200_000, "a\u2028b 🪙", "shall"]
    names = requirements().task.label_names
    pairs = [(f"{texts[index % 6]} {index}", names[index % 2]) for index in range(80)]
    assert _run(tmp_path, rows_of("requirement_type", pairs, 60)).scores.invalid == 0


def test_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRAINER.variable, str(tmp_path / "nowhere"))
    with pytest.raises(EvaluationError, match="--set install=yes"):
        _run(tmp_path, requirements())
    assert not (tmp_path / "nowhere").exists()
    assert not list(tmp_path.rglob("result.json"))
    asked, plain = (find_model("fasttext", given).settings for given in ({"install": "yes"}, {}))
    assert asked == plain, "whether it was to be installed is no other run"


def test_says_what_it_cannot_do(
    tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRAINER.variable, str(environment))
    tags = rows_of("se_entities", [(["a", str(n)], ["O", "O"]) for n in range(40)], 30)
    with pytest.raises(EvaluationError, match="not answer se_entities, which is ner"):
        _run(tmp_path, tags)
    with pytest.raises(EvaluationError, match="this protocol has none"):
        _run(tmp_path, requirements(), protocol="faun-eval")


def _failing(folder: Path, script: str) -> Trainer:
    """Make a trainer whose program is a script of ours."""
    program = folder / "environment" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho x >> {folder}/tries\n{script}\n")
    program.chmod(0o755)
    return Trainer(folder / "environment", folder)


def test_a_training_that_ends_in_nan_is_run_again(tmp_path: Path) -> None:
    trainer = _failing(tmp_path, f'[ "$(wc -l < {tmp_path}/tries)" -lt 3 ] && exit 3; exit 0')
    trainer.train("supervised", tmp_path / "t.txt", {}, tmp_path / "m.bin")
    assert (tmp_path / "tries").read_text().count("x") == 3
    assert (tmp_path / "m.bin").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "ended in NaN 5 times"),
        ("echo it is broken >&2; exit 1", "fastText failed: it is broken"),
    ],
)
def test_a_training_that_fails_is_told(tmp_path: Path, script: str, said: str) -> None:
    trainer = _failing(tmp_path, script)
    with pytest.raises(EvaluationError, match=said):
        trainer.train("supervised", tmp_path / "t.txt", {"lr": 9.0}, tmp_path / "m.bin")
    assert not (tmp_path / "m.bin").exists()


@given(st.text())
def test_a_text_is_one_line_without_labels(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(word.startswith("__label__") for word in line.split())
    assert one_line(line) == line

"""Few rows still give enough steps to learn, and a run with too few says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from goldpan.evaluation.finetune.job import TrainingSettings, with_enough_steps
from goldpan.renderers.evaluation import cautions_of_steps


@pytest.mark.parametrize(
    ("rows", "chosen", "batch", "epochs"),
    [
        (33, (), 8, 40),
        (5, (), 8, 100),
        (320, (), 16, 10),
        (10_000, (), 64, 10),
        (33, ("epochs",), 8, 10),
        (33, ("batch",), 64, 100),
        (33, ("batch", "epochs"), 64, 10),
    ],
)
def test_few_rows_have_smaller_batches_and_more_epochs(
    rows: int, chosen: tuple[str, ...], batch: int, epochs: int
) -> None:
    enough = with_enough_steps(TrainingSettings(), rows, words=False, chosen=chosen)
    assert (enough.batch, enough.epochs) == (batch, epochs)


def test_a_paper_keeps_its_recipe() -> None:
    settings = TrainingSettings(recipe="selu-paper", epochs=3, least_steps=0)
    assert with_enough_steps(settings, 33, words=False, chosen=()) == settings


def test_tasks_about_words_count_epochs_of_their_own() -> None:
    enough = with_enough_steps(TrainingSettings(), 12, words=True, chosen=())
    assert (enough.batch, enough.epochs, enough.word_epochs) == (8, 10, 100)


@pytest.mark.parametrize(
    ("facts", "warned"),
    [
        ({"planned_steps": 12}, True),
        ({"planned_steps": 100}, False),
        ({}, False),
        ({"parts": {"a": {"planned_steps": 500}, "b": {"planned_steps": 9}}}, True),
    ],
)
def test_too_few_steps_are_told(facts: dict[str, Any], warned: bool) -> None:
    assert bool(cautions_of_steps(cast("Any", SimpleNamespace(facts=facts)))) == warned

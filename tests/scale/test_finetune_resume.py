"""A training is the same however often it is killed, whatever fits on a device, and each time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task
from tests.evaluating import rows
from tests.finetuning import example_rows, fit, lesson, unchosen
from tests.places import ROOT
from tests.tiny_models import tiny, torch, transformers

SETTINGS: dict[str, Any] = {"epochs": 5, "evaluations": 5}
_KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from tests.finetuning import example_rows, fit, lesson
from tests.scale.test_finetune_resume import SETTINGS

left = [int(sys.argv[2])]

def count(optimizer, args, kwargs):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

torch.optim.Optimizer.__init__ = (lambda init: lambda self, *args, **kwargs: (
    init(self, *args, **kwargs), self.register_step_post_hook(count), None)[2]
)(torch.optim.Optimizer.__init__)
fit("bert", lesson(*example_rows("requirement_type"), Path(sys.argv[1])), **SETTINGS)
"""


def _kill_after(steps: int, directory: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _KILLED, str(directory), str(steps)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]


def _train(directory: Path, **changed: Any) -> dict[str, Any]:
    context = lesson(*example_rows("requirement_type"), directory)
    return dict(fit("bert", context, **{**SETTINGS, **changed}).facts)


def test_goes_on_after_kill_9_with_the_same_losses_and_falls_back(tmp_path: Path) -> None:
    whole = _train(tmp_path / "whole")
    assert len(whole["losses"]) == 20
    killed = tmp_path / "killed"
    _kill_after(14, killed)
    names = sorted(path.name for path in (killed / "checkpoints").iterdir())
    assert names == ["checkpoint-12", "checkpoint-8"]
    copies = {name: tmp_path / name for name in ("cut", "lost", "zeros")}
    for copy in copies.values():
        shutil.copytree(killed, copy)

    def same(resumed: dict[str, Any]) -> bool:
        return all(resumed[name] == whole[name] for name in ("losses", "scores", "best_step"))

    assert same(_train(killed))
    state = copies["lost"] / "checkpoints/checkpoint-12/trainer_state.json"
    state.write_bytes(state.read_bytes()[:-100])
    assert same(_train(copies["lost"]))
    cut = copies["cut"] / "checkpoints/checkpoint-12/optimizer.pt"
    cut.write_bytes(cut.read_bytes()[:-100])
    newest = copies["zeros"] / "checkpoints/checkpoint-12/model.safetensors"
    newest.write_bytes(b"\0" * newest.stat().st_size)
    for name in ("cut", "zeros"):
        with pytest.raises(EvaluationError, match=r"checkpoint-12 cannot be loaded .* Delete it"):
            _train(copies[name])
        shutil.rmtree(copies[name] / "checkpoints/checkpoint-12")
        assert same(_train(copies[name]))


def test_checkpoints_of_other_versions_are_not_gone_on_from(tmp_path: Path) -> None:
    whole = _train(tmp_path / "whole")
    _kill_after(14, tmp_path / "other")
    (tmp_path / "other/versions.json").write_text("{}")
    state = tmp_path / "other/checkpoints/checkpoint-12/trainer_state.json"
    state.write_text(state.read_text().replace("_EarlyStopping", "Other"))
    assert _train(tmp_path / "other")["losses"] == whole["losses"]


def test_what_is_half_written_is_never_taken_for_a_checkpoint(tmp_path: Path) -> None:
    whole = _train(tmp_path / "whole")
    unfinished = tmp_path / "other/checkpoints/checkpoint-99"
    unfinished.mkdir(parents=True)
    shutil.copy(tmp_path / "whole/versions.json", tmp_path / "other")
    (unfinished / "trainer_state.json").write_text("{")
    assert _train(tmp_path / "other")["losses"] == whole["losses"]


def test_a_finished_training_is_not_repeated(tmp_path: Path) -> None:
    before = _train(tmp_path)
    (tmp_path / "checkpoints/checkpoint-20/trainer_state.json").unlink()
    assert _train(tmp_path) == before


def test_a_training_that_was_killed_at_its_end_takes_no_step_more(tmp_path: Path) -> None:
    before = _train(tmp_path, patience=1, epochs=20, evaluations=20)
    assert before["stopped_early"]
    (tmp_path / "trained.json").unlink()
    after = _train(tmp_path, patience=1, epochs=20, evaluations=20)
    assert after["losses"] == before["losses"]


@pytest.mark.parametrize("kind", ["gpt2", "t5"])
def test_two_trainings_with_one_seed_are_alike(kind: str, tmp_path: Path) -> None:
    task, table = example_rows("issue_type")
    tiny(kind)
    state = torch.get_rng_state()
    first, second = (fit(kind, lesson(task, table, tmp_path / name)) for name in "ab")
    other = fit(kind, lesson(task, table, tmp_path / "c", seed=1))
    assert first.answer(table) == second.answer(table)
    assert first.facts["losses"] == second.facts["losses"] != other.facts["losses"]
    assert torch.equal(state, torch.get_rng_state())


def test_rows_that_do_not_fit_are_halved_and_nothing_else_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _train(tmp_path / "whole", lora=False)
    forward = torch.nn.Embedding.forward
    sizes = []

    def crowded(self: Any, ids: Any) -> Any:
        if ids.shape[0] > 2 and ids.requires_grad is False and ids.ndim == 2:
            sizes.append(ids.shape[0])
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, ids)

    monkeypatch.setattr(torch.nn.Embedding, "forward", crowded)
    halved = _train(tmp_path / "halved")
    assert (whole["device_batch"], whole["accumulation"]) == (8, 1)
    assert (halved["device_batch"], halved["accumulation"]) == (2, 4)
    assert sizes[:2] == [8, 4]
    # Dropout is drawn in another order, so the numbers are near, not equal.
    assert len(halved["losses"]) == len(whole["losses"])
    assert halved["losses"][0] == pytest.approx(whole["losses"][0], abs=0.2)


def test_a_processor_takes_few_long_rows_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that runs out there is no exception: the system kills the process."""
    task, _ = example_rows("requirement_type", 1)
    names = task.label_names
    table = rows(task, [("gravel " * (1 + 7 * at), names[at % 2]) for at in range(16)])

    def train(name: str) -> Any:
        context = lesson(task, table, tmp_path / name)
        made = fit("llama", context, batch=8, learning_rate=0.01)
        return made.facts["losses"], made.answer(table)

    whole = train("whole")
    forward = torch.nn.Embedding.forward
    sizes = []

    def watched(self: Any, ids: Any) -> Any:
        sizes.append(tuple(ids.shape))
        return forward(self, ids)

    monkeypatch.setattr(torch.nn.Embedding, "forward", watched)
    monkeypatch.setattr("goldpan.evaluation.finetune.heads._CPU_TOKENS", 128)
    few = train("few")
    assert all(count == 1 or count * length <= 128 for count, length in sizes)
    assert max(count for count, _ in sizes) > 1
    assert few[0] == pytest.approx(whole[0], rel=1e-3)
    assert few[1].values == whole[1].values


def test_accumulation_gives_the_same_gradients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers have unlike lengths; Llama has no dropout here; AdamW would hide a factor."""
    arguments = transformers.TrainingArguments
    monkeypatch.setattr(transformers, "TrainingArguments", partial(arguments, optim="sgd"))
    task, _ = example_rows("qa", 1)
    table = rows(task, [("gravel " * (1 + at % 3), "wash the pan"[: 4 + at]) for at in range(8)])
    settings = {"batch": 4, "clip": 0.0, "learning_rate": 0.1}
    lessons = {size: lesson(task, table, tmp_path / str(size)) for size in (4, 2, 1)}
    runs = [
        fit("llama", context, device_batch=size, **settings).facts["losses"]
        for size, context in lessons.items()
    ]
    assert runs[0][-1] < runs[0][0]
    for other in runs[1:]:
        assert other == pytest.approx(runs[0], rel=1e-4)


def test_a_row_that_does_not_fit_alone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Any, ids: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(torch.nn.Embedding, "forward", full)
    with pytest.raises(EvaluationError, match="Not even one row of requirement_type fits"):
        _train(tmp_path)


def test_stops_early_and_keeps_the_best(tmp_path: Path) -> None:
    context = lesson(*example_rows("requirement_type"), tmp_path)
    made = fit("bert", context, epochs=40, evaluations=20, patience=2, learning_rate=1e-2)
    facts = made.facts
    assert facts["stopped_early"]
    assert len(facts["losses"]) < facts["planned_steps"]
    values = [score for _, score in facts["scores"]]
    assert max(values) == facts["best"]
    # Of equal scores the later step is kept, which learned more; waiting begins at the first.
    last = max(number for number, value in enumerate(values) if value == max(values))
    assert facts["best_step"] == facts["scores"][last][0]
    assert len(values) - 1 - values.index(max(values)) == 2


def test_waiting_begins_once_answers_differ(tmp_path: Path) -> None:
    """Of several rare labels none reaches 0.5 at first; of two the same is always given."""
    settings: dict[str, Any] = {"epochs": 10, "evaluations": 10, "patience": 1}
    several, one_of_two = find_task("comment_type_java"), find_task("requirement_type")
    labels = [several.label_names[0]]
    cases: list[tuple[Task, Any, Any, float]] = [
        (several, labels, [], 3e-3),
        (one_of_two, one_of_two.label_names[0], one_of_two.label_names[1], 1e-7),
    ]
    for task, right, other, rate in cases:
        pairs = [("fast", right), *[("gravel", other)] * 3] * 8
        taught = lesson(task, rows(task, pairs), tmp_path / task.name)
        facts = fit("bert", taught, learning_rate=rate, **settings).facts
        assert len({score for _, score in facts["scores"]}) == 1
        assert not facts["stopped_early"]
        assert facts["best_step"] == facts["planned_steps"]


def test_without_validation_the_last_weights_are_kept(tmp_path: Path) -> None:
    made = fit("bert", unchosen(lesson(*example_rows("requirement_type"), tmp_path)))
    assert made.facts["scores"] == []
    assert made.facts["best_step"] == 8
    assert made.facts["learned"] == "checkpoints/checkpoint-8"


def test_numbers_are_chosen_by_the_smallest_error(tmp_path: Path) -> None:
    made = fit("gpt2", lesson(*example_rows("story_points"), tmp_path), epochs=6)
    errors = [score for _, score in made.facts["scores"]]
    assert made.facts["best"] == min(errors)
    assert errors[-1] < 0.5


def test_losses_that_are_no_numbers_end_the_training(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="is not a number"):
        _train(tmp_path, learning_rate=1e30, clip=0.0)


def test_the_state_is_plain_json(tmp_path: Path) -> None:
    _train(tmp_path)
    state = orjson.loads((tmp_path / "trained.json").read_bytes())
    assert state["device"] == "cpu"
    assert state["tokens"] > 0
    assert state["seconds"] > 0
    assert tiny("bert").name not in (tmp_path / "trained.json").read_text()

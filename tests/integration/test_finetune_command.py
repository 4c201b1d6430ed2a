"""`goldpan evaluate finetune`, from rows on disk to a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation.models.finetuned import finetuned
from goldpan.evaluation.record import read_runs
from tests.comparing import two_labels, write_rows
from tests.evaluating import ran, requirements
from tests.finetuning import QUICK
from tests.invoking import invoke
from tests.tiny_models import tiny


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with the rows of a task as a dataset that commands read."""
    write_rows(WorkspaceLayout(tmp_path), two_labels(train=24, test=12))
    return tmp_path


def _say(root: Path, *arguments: str) -> Any:
    settings = [f"--set={name}={value}" for name, value in QUICK.items() if name != "word_epochs"]
    task = ("--task", "requirement_type")
    return invoke("evaluate", "finetune", *task, "--workspace", root, *settings, *arguments)


def test_fine_tunes_two_models_and_repeats_neither(root: Path) -> None:
    both = ("--weights", str(tiny("bert")), "--weights", str(tiny("gpt2")), "--json")
    done = _say(root, *both, "--lora")
    results = orjson.loads(done.stdout)
    assert [result["model"] for result in results] == [
        "finetuned-tiny-bert-lora",
        "finetuned-tiny-gpt2-lora",
    ]
    for result in results:
        assert result["scores"]["examples"] == 12
        assert result["costs"]["input_tokens"] > 0
        assert result["learning"]["chosen_on"] == "a part of train"
        assert result["validation_scores"]["examples"] == result["learned_from"]["validation"]
        assert str(tiny("bert").parent) not in str(result)
    again = orjson.loads(_say(root, *both, "--lora").stdout)
    assert again == results
    assert len(read_runs(WorkspaceLayout(root))) == 2
    assert not list(root.rglob("*.work"))


def test_the_protocol_of_the_paper_brings_its_recipe(root: Path) -> None:
    done = _say(
        root,
        *("--weights", str(tiny("bert")), "--protocol", "selu-paper", "--seed", "3"),
        *("--epochs", "1", "--deepspeed", "none", "--json"),
    )
    (result,) = orjson.loads(done.stdout)
    assert result["settings"]["recipe"] == "selu-paper"
    assert result["settings"]["decay"] is False
    assert result["settings"]["weight_decay"] == 0.01
    assert result["learned_from"] == {"train": 24, "validation": 12}
    assert result["seed"] == 3
    for gap in ("deepspeed is none, not zero2-offload", "precision is fp32, not bf16"):
        assert gap in result["in_part"]


def test_people_see_the_run_and_a_cutoff_as_of_any_model(root: Path) -> None:
    command = ("--weights", str(tiny("bert")), "--epochs", "1")
    done = _say(root, *command, "--set", "cutoff=2023-09-15")
    assert ["finetuned-tiny-bert", "0"] in [line.split()[:2] for line in done.stdout.splitlines()]
    assert "macro_f1" in done.stdout
    assert "to compare with the model's cut-off 2023-09-15" in " ".join(done.stdout.split())
    (made,) = read_runs(WorkspaceLayout(root))
    assert made.dates.cutoff == "2023-09-15"
    refused = _say(root, *command, "--set", "cutoff=last year")
    assert (refused.exit_code, "'last year' is not a date" in refused.stderr) == (2, True)


@pytest.mark.nightly
def test_two_runs_on_a_processor_store_the_same_bytes(tmp_path: Path) -> None:
    made = finetuned({**QUICK, "weights": str(tiny("gpt2"))})
    places = [ran(tmp_path / name, requirements(24, 12), made, seed=1).directory for name in "ab"]
    for name in ("predictions.parquet", "train.parquet"):
        assert (places[0] / name).read_bytes() == (places[1] / name).read_bytes()

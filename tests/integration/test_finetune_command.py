"""`goldpan evaluate finetune`, from rows on disk to a stored run; where its weights come from."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.finetune_gpu import Measured, Size, model_flops, table
from goldpan.core.errors import EvaluationError, GoldpanError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation.finetune import launch
from goldpan.evaluation.finetune.job import TrainingSettings, device_share, with_enough_steps
from goldpan.evaluation.finetune.text_heads import scale_of
from goldpan.evaluation.finetune.trainer import StepSampler
from goldpan.evaluation.finetune.weights import find_weights
from goldpan.evaluation.models.finetuned import finetuned
from goldpan.evaluation.record import read_runs
from tests.comparing import two_labels, write_rows
from tests.evaluating import ran, requirements
from tests.finetuning import QUICK, example_rows, fit, lesson
from tests.invoking import invoke
from tests.local_server import Answer, Asked, Server
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


LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=300)


def _taken(sampler: StepSampler) -> list[int]:
    return [row for part in sampler for row in part]


@given(LENGTHS, st.integers(1, 64), st.integers(0, 5), st.booleans())
def test_an_epoch_has_every_row_once(
    lengths: list[int], batch: int, epoch: int, grouped: bool
) -> None:
    sampler = StepSampler(lengths, batch, batch, 3, grouped, epoch=epoch)
    rows = _taken(sampler)
    assert sorted(row for row in rows if row >= 0) == list(range(len(lengths)))
    assert len(rows) == batch * math.ceil(len(lengths) / batch)
    assert rows == _taken(sampler)
    if grouped:
        assert lengths[rows[0]] == max(lengths)


def test_grouped_rows_are_of_like_length_and_their_order_differs_by_epoch_and_seed() -> None:
    lengths = [1 + (at * 7919) % 500 for at in range(4_000)]

    def padding(grouped: bool) -> float:
        steps = StepSampler(lengths, 32, 32, 0, grouped, epoch=1)
        return sum(len(step) * max(lengths[row] for row in step) for step in steps) / sum(lengths)

    assert padding(True) < 1.1 < 1.5 < padding(False)
    orders = [
        StepSampler(lengths, 32, 32, seed, True, epoch=epoch) for seed in (0, 1) for epoch in (1, 2)
    ]
    assert len({str(_taken(order)) for order in orders}) == 4


@given(LENGTHS, st.integers(1, 5), st.integers(1, 8), st.integers(1, 40))
def test_a_step_has_the_same_rows_however_many_share_it(
    lengths: list[int], world: int, share: int, most: int
) -> None:
    batch = world * share
    size = device_share(batch, world, most)
    assert share % size == 0 and size <= max(1, most)
    parts = [list(StepSampler(lengths, batch, size, 0, True, rank, world)) for rank in range(world)]
    alone = list(StepSampler(lengths, batch, batch, 0, True))
    count = batch // (world * size)
    assert {len(own) for own in parts} == {len(alone) * count}
    for number, step in enumerate(alone):
        shared = [own[number * count : (number + 1) * count] for own in parts]
        assert sorted(row for own in shared for part in own for row in part) == sorted(step)


@given(st.lists(st.floats(-0.9, 1e6), min_size=1, max_size=20))
def test_numbers_come_back_from_their_scale(values: list[float]) -> None:
    scale = scale_of(values, logarithm=True)
    for value in values:
        assert scale.outer(scale.inner(value)) == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert (
        min(values) - 1e-6 <= scale.outer(-1e9) <= scale.outer(1e9) <= max(values) * 1.000001 + 1e-6
    )


def test_numbers_below_a_logarithm_stay_as_they_are() -> None:
    assert scale_of([-3.0, 5.0], logarithm=True).outer(7.5) == 7.5
    assert scale_of([1.0, 5.0], logarithm=False).inner(4.0) == 4.0


def test_the_cause_is_told_and_not_the_launchers_own_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("IndexError: the real cause\ntorch.ChildFailedError: \nRoot Cause\n")
    assert launch._last_line(log) == "IndexError: the real cause"


def test_a_batch_is_shared_evenly() -> None:
    settings = TrainingSettings(processes=3, batch=66)
    assert with_enough_steps(settings, 50, words=False, chosen=()).batch % 3 == 0


def test_utilization_counts_real_tokens() -> None:
    size = Size("small", True, 200, 2, 2, 1, 1)
    assert model_flops(size, 32_000 * 200 + 1_000, [10]) == 6 * 1_000 * 10 + 12 * 2 * 200 * 100
    measured = [
        Measured("m", "plain PyTorch", 10**9, 2.0, 1_000, 50e12, 2**30, 8),
        Measured("m", "Goldpan", 10**9, 1.0, 1_000, 50e12, 2**31, 8),
    ]
    plain, ours = table(measured, 100e12).splitlines()[2:]
    assert "| 500 | 1.00 | 1.0 GiB | 25.000 T | 25.0% |" in plain
    assert "| 1,000 | 2.00 | 2.0 GiB | 50.000 T | 50.0% |" in ours


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _answer(directory: Path, asked: Asked) -> Answer:
    """Answer as a Hub with one model, octo/tiny, read from a directory."""
    names = sorted(path.name for path in directory.iterdir())
    if match := re.fullmatch(rf"/octo/tiny/resolve/{COMMIT}/(.+)", asked.path):
        content = (directory / match[1]).read_bytes()
    elif asked.path == f"/api/models/octo/tiny/tree/{COMMIT}":
        sizes = {name: (directory / name).stat().st_size for name in names}
        file = {"type": "file", "oid": "1" * 40}
        content = orjson.dumps([{**file, "path": name, "size": sizes[name]} for name in names])
    elif asked.path == f"/api/models/octo/tiny/revision/{COMMIT}":
        siblings = [{"rfilename": name} for name in names]
        content = orjson.dumps({"id": "octo/tiny", "sha": COMMIT, "siblings": siblings})
    else:
        return Answer(404)
    tag = f'"{hashlib.sha256(content).hexdigest()}"'
    return Answer(body=content, headers={"ETag": tag, "X-Repo-Commit": COMMIT})


def test_weights_of_the_hub_are_fetched_only_when_asked_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    remote = tmp_path / "remote"
    shutil.copytree(tiny("bert"), remote)
    for name in ("pytorch_model.bin", "model.onnx", "tf_model.h5", "run.py"):
        (remote / name).write_text("not wanted")
    name = f"octo/tiny@{COMMIT}"
    with Server(partial(_answer, remote)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(UsageError, match="is not on this machine"):
            find_weights(name)
        assert hub.got == []
        fetched = find_weights(name, download=True)
        paths = [asked.path for asked in hub.got]
        assert "model.safetensors" in "".join(paths)
        assert not [path for path in paths if "resolve" in path and path.endswith((".bin", ".py"))]
        assert find_weights(name) == fetched
        assert len(hub.got) == len(paths)
    assert (fetched.name, fetched.short) == (name, "tiny")
    assert fetched.digest == find_weights(str(tiny("bert"))).digest


def test_a_hub_that_does_not_have_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with Server(partial(_answer, tmp_path)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(EvaluationError, match=r"octo/other@.* cannot be fetched"):
            find_weights(f"octo/other@{COMMIT}", download=True)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("octo/tiny", "is not pinned to a commit"),
        ("octo/tiny@main", "'main' is not a commit"),
        ("octo/tiny@0123456", "'0123456' is not a commit"),
        (f"octo/tiny@{COMMIT}\n", "There is no folder"),
        ("/nowhere/at/all", "There is no folder"),
        ("./tiny", "There is no folder"),
        ("~nobody-of-that-name/tiny", "There is no folder"),
        ("../../etc/passwd@x", "There is no folder"),
        ("a/b/c", "There is no folder"),
        ("", "has no weights"),
    ],
)
def test_names_that_may_mean_other_weights_tomorrow_are_refused(weights: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        finetuned({"weights": weights})
    assert "COMMIT" in caught.value.remedy


def test_the_identity_follows_the_weights_and_names_no_path(tmp_path: Path) -> None:
    copy = tmp_path / "tiny-bert"
    shutil.copytree(tiny("bert"), copy)
    original = finetuned({"weights": str(tiny("bert"))})
    copied = finetuned({"weights": str(copy), "download": True})
    assert original.name == copied.name == "finetuned-tiny-bert"
    assert original.settings == copied.settings
    assert str(tmp_path) not in str(copied.settings)
    (copy / "README.md").write_text("not read by anyone")
    assert finetuned({"weights": str(copy)}).settings == original.settings
    with (copy / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    assert finetuned({"weights": str(copy)}).settings != original.settings


def test_folders_without_weights_or_of_unknown_kinds_are_told(tmp_path: Path) -> None:
    for name, content, said in (
        ("README.md", "no weights", r"holds no config\.json"),
        ("config.json", "{", "holds no weights"),
        ("model.safetensors", "x", "cannot be read"),
        ("config.json", "[1]", "cannot be read"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(EvaluationError, match=said):
            find_weights(str(tmp_path))
    config = '{"model_type": "sluice", "auto_map": {"AutoConfig": "x.y"}}'
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "x.py").write_text("raise SystemExit('ran code of strangers')")
    context = lesson(*example_rows("requirement_type"), tmp_path / "work")
    with pytest.raises(EvaluationError, match="cannot be loaded for requirement_type"):
        finetuned({"weights": str(tmp_path)}).fit(context)


def test_recipes_and_settings(tmp_path: Path) -> None:
    paper = finetuned({"weights": str(tiny("bert")), "recipe": "selu-paper"}).settings
    names = ("learning_rate", "weight_decay", "batch", "epochs", "word_epochs", "patience")
    assert [paper[name] for name in names] == [1e-5, 0.01, 64, 3, 50, 3]
    assert (paper["evaluations"], paper["decay"], paper["warmup"]) == (10, False, 0.0)
    for kind, length in (("t5", 512), ("llama", 1_024), ("starcoder2", 1_024)):
        chosen = finetuned({"weights": str(tiny(kind)), "recipe": "selu-paper"}).settings
        assert chosen["max_length"] == length < paper["max_length"]
    for kind, rate in (("bert", 5e-5), ("t5", 1e-4)):
        assert finetuned({"weights": str(tiny(kind))}).settings["learning_rate"] == rate
    lora = finetuned({"weights": str(tiny("bert")), "lora": "yes", "epochs": "4"})
    assert lora.name == "finetuned-tiny-bert-lora"
    assert (lora.settings["learning_rate"], lora.settings["epochs"]) == (2e-4, 4)
    mistakes: list[tuple[dict[str, object], str]] = [
        ({"recipe": "mine"}, "There is no recipe 'mine'"),
        ({"depth": 3}, "the key depth is unknown"),
        ({"epochs": 0}, "epochs of the model finetuned cannot be 0"),
        ({"epochs": "many"}, "epochs of the model finetuned cannot be 'many'"),
        ({"deepspeed": "zero9"}, "deepspeed of the model finetuned cannot be 'zero9'"),
        ({"warmup": 2}, "warmup cannot be 2"),
        ({"learning_rate": "nan"}, "learning_rate of the model finetuned cannot be 'nan'"),
        ({"processes": 100}, "100 processes cannot share a batch of 64 rows"),
    ]
    for wrong, message in mistakes:
        with pytest.raises(UsageError, match=message):
            finetuned({"weights": str(tiny("bert")), **wrong})


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = lesson(*example_rows("requirement_type"), tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(GoldpanError, match=r'pip install .*\[training\]"'):
        fit("bert", context)


def test_a_tool_to_report_to_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Who is told is no part of what a run is."""
    told = finetuned({"weights": str(tiny("bert")), "report_to": "wandb"})
    assert told.settings == finetuned({"weights": str(tiny("bert"))}).settings
    for tool in ("wandb", "no-such-tool"):
        context = lesson(*example_rows("requirement_type"), tmp_path / tool)
        with pytest.raises(EvaluationError, match=f"cannot report to {tool}"):
            fit("bert", context, report_to=tool)

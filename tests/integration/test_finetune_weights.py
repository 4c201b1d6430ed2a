"""Where weights come from: a folder or one commit of the Hub, and never by surprise."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import orjson
import pytest

from goldpan.core.errors import EvaluationError, GoldpanError, UsageError
from goldpan.evaluation.finetune.weights import find_weights
from goldpan.evaluation.models.finetuned import finetuned
from tests.finetuning import example_rows, fit, lesson
from tests.local_server import Answer, Asked, Server
from tests.tiny_models import tiny

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

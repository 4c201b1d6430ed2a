"""What a repository on the Hub holds, and how that differs from a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Literal

from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile

from goldpan.datasets.hub_errors import HubCall, explained
from goldpan.datasets.provenance import digest

KIND = "dataset"
_NOT_OURS = {".gitattributes"}


@dataclass(frozen=True, slots=True)
class Change:
    """What publishing does to one file of the repository."""

    path: str
    size: int
    """Bytes to send; 0 for a file that goes."""
    action: Literal["add", "replace", "delete"]


@dataclass(frozen=True, slots=True)
class HubState:
    """A repository on the Hub as it is now."""

    head: str | None
    files: dict[str, str]
    """Path to the SHA-256 of a large file or to git's SHA-1 of a small one."""
    tags: dict[str, str]
    private: bool


def read_hub_state(api: HfApi, call: HubCall) -> HubState | None:
    """Return the repository as it is, or None where there is none."""
    with explained(call, "asking what is there"):
        try:
            info = api.dataset_info(call.repo_id)
        except RepositoryNotFoundError:
            return None
        refs = api.list_repo_refs(call.repo_id, repo_type=KIND)
        listing = api.list_repo_tree(
            call.repo_id, recursive=True, revision=info.sha, repo_type=KIND
        )
        files = {
            file.path: file.lfs.sha256 if file.lfs else file.blob_id
            for file in listing
            if isinstance(file, RepoFile) and file.path not in _NOT_OURS
        }
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    return HubState(info.sha, files, tags, bool(info.private))


def compare(directory: Path, local: list[str], remote: dict[str, str]) -> tuple[Change, ...]:
    """Return what has to happen for the repository to hold exactly the local files."""
    changes = []
    for name in local:
        path = directory / name
        remote_digest = remote.get(name)
        if remote_digest not in (digest(path), _blob_id(path)):
            action: Literal["add", "replace"] = "add" if remote_digest is None else "replace"
            changes.append(Change(name, path.stat().st_size, action))
    deleted = sorted(remote.keys() - set(local))
    return (*changes, *(Change(name, 0, "delete") for name in deleted))


def _blob_id(path: Path) -> str:
    blob = sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            blob.update(chunk)
    return blob.hexdigest()

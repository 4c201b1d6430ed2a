"""Publishes a dataset on the Hugging Face Hub: one commit, or nothing.

Before anything is sent, token and dataset are checked. Files go first, one by one, and a commit
names them all at the end: a cut upload leaves the repository as it was, and files that arrived are
not sent again.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx2
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    constants,
    get_token,
    set_client_factory,
)
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]
from huggingface_hub.utils._http import default_client_factory
from huggingface_hub.utils.sha import git_hash
from huggingface_hub.utils.tqdm import (
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)

from goldpan._version import __version__
from goldpan.core.errors import PublishError, TagTakenError, UsageError
from goldpan.core.result import Result
from goldpan.core.secrets import mask, register
from goldpan.core.storage.sealed import file_digest
from goldpan.core.terminal import Reporter
from goldpan.datasets.card import CARD, FINDINGS_PAGE, published
from goldpan.datasets.hub.check import check_dataset
from goldpan.datasets.hub.errors import HubCall, explained
from goldpan.datasets.provenance import PROVENANCE, read_provenance

# Opens the Hugging Face Hub with a client whose token goes to the Hub alone.


def endpoint() -> str:
    """Return the Hub's address: `HF_ENDPOINT`, or the public one."""
    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


def open_hub(token: str | None) -> HfApi:
    """Return the Hub that `HF_ENDPOINT` names, which alone is sent the token.

    Its listings, uploads and redirects name addresses that are asked next: those elsewhere get no
    secret.
    """
    register(token)
    origin = httpx2.URL(endpoint()).origin

    def keep_home(request: httpx2.Request) -> None:
        if request.url.origin != origin:
            for name, value in request.headers.items():
                if mask(value) != value:
                    del request.headers[name]

    def factory() -> httpx2.Client:
        client: httpx2.Client = default_client_factory()
        client.event_hooks["request"].append(keep_home)
        return client

    set_client_factory(factory)
    return HfApi(endpoint=endpoint(), token=token or False)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the Hub's client silent: its bars disturb ours, its logs have signed addresses."""
    loggers = map(logging.getLogger, ("huggingface_hub", "httpx2", "httpcore2"))
    levels = {logger: logger.level for logger in loggers}
    bars = not are_progress_bars_disabled() and constants.HF_HUB_DISABLE_PROGRESS_BARS is None
    with ExitStack() as after:
        for logger, level in levels.items():
            after.callback(logger.setLevel, level)
            logger.setLevel(logging.ERROR)
        if bars:
            after.callback(enable_progress_bars)
            disable_progress_bars()
        yield


# The content of a repository on the Hub, and its differences from a dataset.

KIND = "dataset"
_NOT_OURS = {".gitattributes"}
_GIT_DIGITS = 40


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file of the repository."""

    path: str
    size: int
    """Bytes to send; 0 for a file that goes."""
    action: Literal["add", "replace", "delete"]


@dataclass(frozen=True, slots=True)
class HubState:
    """The present state of a repository on the Hub."""

    head: str | None
    files: dict[str, str]
    """Path to the SHA-256 of a large file or to git's SHA-1 of a small one."""
    tags: dict[str, str]
    private: bool


def read_hub_state(api: HfApi, call: HubCall) -> HubState | None:
    """Return the state of the repository, or None where there is none."""
    with explained(call, "asking what is there"):
        try:
            info = api.dataset_info(call.repo_id)
        except RepositoryNotFoundError:
            return None
        refs = api.list_repo_refs(call.repo_id, repo_type=KIND)
        files = _files_at(api, call, info.sha)
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    return HubState(info.sha, files, tags, bool(info.private))


def _files_at(api: HfApi, call: HubCall, revision: str | None) -> dict[str, str]:
    listing = api.list_repo_tree(call.repo_id, recursive=True, revision=revision, repo_type=KIND)
    return {
        file.path: file.lfs.sha256 if file.lfs else file.blob_id
        for file in listing
        if isinstance(file, RepoFile) and file.path not in _NOT_OURS
    }


def compare(local: Mapping[str, Path], remote: dict[str, str]) -> tuple[FileChange, ...]:
    """Return the changes after which the repository holds exactly the local files."""
    changes = []
    for name, path in local.items():
        remote_digest = remote.get(name)
        if remote_digest is None or remote_digest != _digest_like(remote_digest, path):
            action: Literal["add", "replace"] = "add" if remote_digest is None else "replace"
            changes.append(FileChange(name, path.stat().st_size, action))
    deleted = sorted(remote.keys() - local.keys())
    return (*changes, *(FileChange(name, 0, "delete") for name in deleted))


def _digest_like(remote: str, path: Path) -> str:
    """Return a file's digest of the Hub's kind: git's SHA-1 of small files, else SHA-256."""
    return git_hash(path.read_bytes()) if len(remote) == _GIT_DIGITS else file_digest(path)


_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_TOKEN = re.compile(r"[\x21-\x7e]+")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PublishResult(Result):
    """A published dataset, or with a dry run what would be published."""

    repo_id: str
    url: str
    created: bool
    """A new repository, as far as is known."""
    changes: tuple[FileChange, ...]
    """Empty where the repository held the same content already."""
    commit: str | None
    """The commit that holds the dataset; None with a dry run."""
    tag: str | None
    dry_run: bool
    compared: bool
    """False where the Hub was not asked for its content: a dry run without a token."""


def publish(
    directory: Path,
    repo_id: str,
    *,
    private: bool = False,
    tag: str | None = None,
    dry_run: bool = False,
    overwrite: bool = False,
    token: str | None = None,
    reporter: Reporter | None = None,
    allowed_licenses: Collection[str] | None = None,
) -> PublishResult:
    """Bring a dataset to the Hub that `HF_ENDPOINT` names, as `repo_id` (owner/name).

    A repository with other content is only changed with `overwrite`, and then holds exactly the
    dataset. Equal content makes no commit. A tag that is there is never moved, and refused where it
    marks other rows. `token` is taken from HF_TOKEN or the login where None. See `check_dataset`
    for the last.

    Raises `UsageError` for an impossible name, `DatasetError` for a directory that holds no dataset
    and `PublishError` for whatever else keeps the dataset from the Hub; then the repository is as
    it was, or new and empty.
    """
    _check_names(repo_id, tag)
    local = {name: directory / name for name in sorted(read_provenance(directory)["files"])}
    with explained(HubCall("the login", constants.ENDPOINT, None), "asking for a token"):
        call = HubCall(repo_id, endpoint(), (token or get_token() or "").strip() or None)
    _check_token(call, required=not dry_run)
    if problems := check_dataset(directory, allowed_licenses=allowed_licenses):
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise PublishError(
            f"{directory} cannot be published, and nothing was sent:\n{listed}\n{len(problems)} in "
            "all",
            "Fix what is listed and publish again",
        )
    api = open_hub(call.token)
    shown = reporter or Reporter(quiet=True)
    with quiet(), tempfile.TemporaryDirectory(prefix="goldpan-") as scratch:
        for name, data in published(directory, repo_id).items():
            local[name] = Path(scratch, name)
            local[name].write_bytes(data)
        state = read_hub_state(api, call) if call.token else None
        if state and private and not state.private:
            raise PublishError(
                f"{repo_id} is public, and the dataset is to be private",
                f"Make it private at {call.endpoint}/datasets/{repo_id}/settings, choose "
                "another name, or publish without --private",
            )
        changes = compare(local, state.files if state else {})
        if state:
            _refuse_overwriting(call, state, changes, overwrite=overwrite)
            if tag in state.tags and (changes or state.tags[tag] != state.head):
                _refuse_other_rows(api, call, state.tags[str(tag)], local, str(tag))
                shown.note(f"The tag {tag} stays at the version with these rows and another card")
                tag = None
        commit = None
        if not dry_run:
            head = state.head if state else _create(api, call, private=private)
            commit = head
            if changes:
                commit = _send(api, call, local, changes, head, shown)
            if tag and commit and (state is None or state.tags.get(tag) != commit):
                with explained(call, f"setting the tag {tag}"):
                    api.create_tag(repo_id, tag=tag, revision=commit, repo_type=KIND)
    url = f"{call.endpoint}/datasets/{repo_id}"
    compared = call.token is not None
    created = compared and state is None
    return PublishResult(repo_id, url, created, changes, commit, tag, dry_run, compared)


def _check_names(repo_id: str, tag: str | None) -> None:
    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise UsageError(
            f"{repo_id!r} is not a valid dataset name: {str(error).rstrip('.')}",
            "Write OWNER/NAME with letters, digits, -, _ and .",
        ) from None
    if "/" not in repo_id:
        raise UsageError(f"{repo_id!r} names no owner", "Write OWNER/NAME")
    if tag and (not _TAG.fullmatch(tag) or ".." in tag or tag.endswith((".", ".lock"))):
        raise UsageError(f"{tag!r} is not a valid tag", "Write a tag such as v1.0")


def _check_token(call: HubCall, *, required: bool) -> None:
    remedy = (
        f"Make one with write access at {call.endpoint}/settings/tokens and set HF_TOKEN, "
        "or run hf auth login"
    )
    if call.token is None:
        if required:
            raise PublishError(f"There is no token for {call.host}", remedy)
    elif not _TOKEN.fullmatch(call.token):
        raise PublishError(f"The token for {call.host} has characters that no token has", remedy)


def _refuse_overwriting(
    call: HubCall, state: HubState, changes: tuple[FileChange, ...], *, overwrite: bool
) -> None:
    if changes and state.files and not overwrite:
        losses_first = sorted(
            changes, key=lambda change: ("delete", "replace", "add").index(change.action)
        )
        names = ", ".join(f"{change.action} {change.path}" for change in losses_first[:_SHOWN])
        more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        raise PublishError(
            f"{call.repo_id} holds other content; publishing would {names}{more}",
            "Choose another name, or publish with --overwrite (overwrite = true in a plan)",
        )


def _refuse_other_rows(
    api: HfApi, call: HubCall, commit: str, local: Mapping[str, Path], tag: str
) -> None:
    with explained(call, f"asking what {tag} marks"):
        marked = _files_at(api, call, commit)
    # An audit after publishing changes these alone.
    if {change.path for change in compare(local, marked)} - {CARD, FINDINGS_PAGE, PROVENANCE}:
        raise TagTakenError(
            f"The tag {tag} of {call.repo_id} marks another version",
            "Choose another tag, because a version that people cite must not change",
        )


def _create(api: HfApi, call: HubCall, *, private: bool) -> str | None:
    with explained(call, "creating the repository"):
        api.create_repo(call.repo_id, repo_type=KIND, private=private)
        return api.dataset_info(call.repo_id).sha


def _send(
    api: HfApi,
    call: HubCall,
    local: Mapping[str, Path],
    changes: tuple[FileChange, ...],
    head: str | None,
    reporter: Reporter,
) -> str:
    additions = [
        CommitOperationAdd(change.path, local[change.path])
        for change in changes
        if change.action != "delete"
    ]
    deleted = [change.path for change in changes if change.action == "delete"]
    deletions = [CommitOperationDelete(path, is_folder=False) for path in deleted]
    total = sum(change.size for change in changes)
    with reporter.task(f"Sending bytes to {call.host}", total) as task:
        for addition in additions:
            with explained(call, f"sending {addition.path_in_repo}"):
                # Our own list of ignored files keeps one in the repository from holding back data.
                api.preupload_lfs_files(
                    call.repo_id,
                    [addition],
                    repo_type=KIND,
                    free_memory=False,
                    gitignore_content="# nothing\n",
                )
            task.advance(addition.upload_info.size)
    with explained(call, "committing"), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        commit = api.create_commit(
            call.repo_id,
            [*additions, *deletions],
            commit_message=f"Publish with Goldpan {__version__}",
            repo_type=KIND,
            parent_commit=head,
        )
    for warning in warned:
        reporter.note(call.plain(warning.message))
    return commit.oid

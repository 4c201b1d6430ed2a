"""A workspace of a store as a folder of this machine, and how both come to hold the same."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from goldpan.core.errors import GoldpanError, WorkspaceError
from goldpan.core.log import LOG
from goldpan.core.remote.manifest import (
    KEY,
    Manifest,
    MissingPieceError,
    Stamp,
    StoredFile,
    decode,
    download,
    encode,
    piece_key,
    read_stored,
    remove,
    stamp_of,
    stamps,
    upload,
)
from goldpan.core.remote.places import FILES, STATE
from goldpan.core.remote.store import Lease, ObjectStore, UnchangedError
from goldpan.core.result import Result
from goldpan.core.storage.workspace import make_directory, publish, write_whole
from goldpan.core.terminal import Terminal


class MirrorState(msgspec.Struct, frozen=True, kw_only=True):
    """The generation that a mirror holds, and how its files lay when they were the store's."""

    address: str = ""
    etag: str | None = None
    manifest: Manifest = Manifest()
    stamps: dict[str, Stamp] = {}


def mirror_directory(address: str) -> Path:
    """Return the folder of this machine for the mirror of an address.

    It holds what is not pushed yet, and so lies where no cleaner of caches looks.
    """
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    mirrors = os.environ.get("GOLDPAN_MIRRORS") or f"{data}/goldpan/mirrors"
    name = re.sub(r"\W+", "-", address)[:60].strip("-")
    digest = hashlib.sha256(address.encode()).hexdigest()[:12]
    return Path(mirrors).expanduser().absolute() / f"{name}-{digest}"


def read_state(home: Path) -> MirrorState:
    """Return what a mirror knows; raises `WorkspaceError` where it is damaged."""
    try:
        return msgspec.json.decode((home / STATE).read_bytes(), type=MirrorState)
    except (OSError, msgspec.DecodeError):
        raise WorkspaceError(
            f"{home / STATE} is damaged",
            f"Move {home} away, and run the command again: it is fetched again",
        ) from None


_SECONDS_BETWEEN = 300.0
"""While a lock is held, what was done since is pushed so often."""
_SECONDS_BETWEEN_TRIES = 2.0
_ATTEMPTS = 20
"""How often others may push in between before it is an error."""
_LARGE = 64 << 20
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Pruned(Result):
    """Number and size of the pieces that were deleted from a store."""

    pieces: int
    bytes: int


class Mirror:
    """A folder that holds what a store holds, and what is not pushed yet."""

    def __init__(self, address: str, home: Path) -> None:
        self.address = address
        self.root = home / FILES
        self._home = home
        self._store = ObjectStore(address)
        self._within = threading.Lock()
        self._leases: list[Lease] = []

    def pull(self) -> None:
        """Bring what changed in the store; raises `WorkspaceError` where that cannot be had.

        A file that changed both here and there is set aside, and the store's takes its place.
        """
        with self._alone():
            self._pull()

    def push(self) -> int:
        """Store what changed here as one new generation; return the number of files.

        Raises `WorkspaceError` where the store fails or a lock was lost: what is not pushed
        stays here, and the next command pushes it.
        """
        with self._alone():
            if stamps(self.root) == self._state().stamps:
                return 0
            self._store.prove_conditions()
            for _ in range(_ATTEMPTS):
                state = self._pull()
                lying = stamps(self.root)
                changed = {
                    path: stamp for path, stamp in lying.items() if stamp != state.stamps.get(path)
                }
                deleted = state.stamps.keys() - lying.keys()
                self._tell("Storing", [stamp.size for stamp in changed.values()])
                sent = upload(self._store, self.root, changed, state.manifest.pieces)
                # The files of a folder that is being replaced are away for a moment.
                deleted = {
                    path for path in deleted if path[-1] == "/" or not (self.root / path).is_file()
                }
                if not sent and not deleted:
                    return 0
                files = {**state.manifest.files, **sent}
                same = {**state.stamps, **{path: changed[path] for path in sent}}
                for path in deleted:
                    del files[path], same[path]
                if self._commit(state, files, same):
                    LOG.info(f"Pushed {len(sent) + len(deleted)} files to {self.address}")
                    return len(sent) + len(deleted)
        raise WorkspaceError(
            f"Others push to {self.address} without a pause",
            "Run the command again: what it did is kept here",
        )

    @contextmanager
    def leased(self, name: str, busy: GoldpanError | None) -> Iterator[None]:
        """Hold a lock on all machines, with the newest of the store, and push at the end."""
        lease = Lease(self._store, name)
        while owner := lease.acquire():
            if busy is not None:
                raise type(busy)(f"{busy.problem}: {owner}", busy.remedy)
            time.sleep(_SECONDS_BETWEEN_TRIES)
        self._leases.append(lease)
        lease.keep()
        is_over = threading.Event()
        pushing = threading.Thread(target=self._push_now_and_then, args=(is_over,), daemon=True)
        try:
            self.pull()
            pushing.start()
            yield
        except BaseException:  # whatever stopped the work, what it did is pushed
            try:
                self.push()  # so that whoever is next goes on from here
            except GoldpanError as error:
                LOG.warning(str(error))
            raise
        else:
            self.push()
        finally:
            is_over.set()
            self._leases.remove(lease)
            lease.release()

    def prune(self, older: timedelta) -> Pruned:
        """Delete the pieces of which no file is made any more.

        Younger ones stay: they may be about to be pushed, or read for an earlier generation.
        """
        self._store.prove_conditions()
        before = self._store.now() - older
        with self._alone():
            needed = set(map(piece_key, self._pull().manifest.pieces))
        unneeded = {
            key: size
            for key, size, modified in self._store.sizes("content/")
            if key not in needed and modified < before
        }
        keys = list(unneeded)
        for start in range(0, len(keys), _BATCH):
            self._store.delete(keys[start : start + _BATCH])
        return Pruned(len(unneeded), sum(unneeded.values()))

    def _push_now_and_then(self, is_over: threading.Event) -> None:
        while not is_over.wait(_SECONDS_BETWEEN):
            try:
                self.push()
            except GoldpanError as error:  # the last push of all tells people
                LOG.warning(str(error))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep the other threads and processes of this machine from the mirror's state."""
        from filelock import FileLock

        try:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise WorkspaceError(
                f"{self._home} cannot be created: {error.strerror}",
                "Name a folder for mirrors in GOLDPAN_MIRRORS",
            ) from None
        with self._within, FileLock(self._home / "mirror.lock", fallback_to_soft=False):
            yield

    def _pull(self) -> MirrorState:
        for _ in range(_ATTEMPTS):
            state = self._state()
            try:
                reply = self._store.read(KEY, unless=state.etag)
            except UnchangedError:
                return state
            remote = Manifest() if reply is None else decode(reply.body, self.address)
            if state.manifest.generation and (
                remote.workspace != state.manifest.workspace
                or remote.generation < state.manifest.generation
            ):
                raise WorkspaceError(
                    f"{self.address} holds another workspace, or an older one, than {self._home}, "
                    "which mirrored it",
                    "Move that folder away, and run the command again",
                )
            try:
                return self._adopt(state, remote, None if reply is None else reply.etag)
            except MissingPieceError as error:  # pruned meanwhile: there is a newer generation
                missing = error
            except OSError as error:
                raise WorkspaceError(
                    f"{self._home} cannot mirror {self.address}: {error.strerror}",
                    "Free some space, or name another folder for mirrors in GOLDPAN_MIRRORS",
                ) from None
        raise WorkspaceError(
            f"{missing} is missing in {self.address}",
            "Restore it in the store, or push the file again from a machine that has it",
        )

    def _adopt(self, state: MirrorState, remote: Manifest, etag: str | None) -> MirrorState:
        """Make the folder hold a generation, but for what changed here alone."""
        self.root.mkdir(parents=True, exist_ok=True)
        lying, before = stamps(self.root), state.manifest.files
        same: dict[str, Stamp] = {}
        incoming: dict[str, StoredFile] = {}
        removed, aside = [], []
        for path in sorted({*before, *remote.files}):
            file = remote.files.get(path)
            if file == before.get(path):
                same[path] = state.stamps[path]
                continue
            if lying.get(path) != state.stamps.get(path):
                here = read_stored(self.root / path, lying[path].size) if path in lying else None
                if here == file:
                    if file is not None:
                        same[path] = lying[path]
                    continue
                if path in lying:
                    aside.append(path)
            if file is None:
                removed.append(path)
            else:
                incoming[path] = file
        self._tell("Fetching", [file.size for file in incoming.values()])
        drafts = self._home / "incoming"
        shutil.rmtree(drafts, ignore_errors=True)
        download(self._store, incoming, drafts)
        self._set_aside(aside)
        for path in removed:
            remove(self.root, path)
        for path in incoming:
            if path.endswith("/"):
                make_directory(self.root / path)
                same[path] = Stamp()
            else:
                publish({drafts / path: self.root / path})
                same[path] = stamp_of(self.root / path)
        return self._save(etag, remote, same)

    def _tell(self, what: str, sizes: list[int]) -> None:
        """Tell people at a terminal why nothing happens for a while."""
        if sum(sizes) > _LARGE and sys.stderr.isatty():
            text = f"{what} {len(sizes):,} files, {sum(sizes) / 1e6:,.0f} MB: {self.address}"
            Terminal(stderr=True).print(text)

    def _set_aside(self, paths: list[str]) -> None:
        if not paths:
            return
        folder = self._home / "aside" / f"{datetime.now(UTC):%Y-%m-%dT%H%M%S}"
        publish({self.root / path: folder / path for path in paths})
        text = (
            f"{len(paths)} files changed both here and in {self.address}, such as {paths[0]}: "
            f"yours are kept in {folder}"
        )
        LOG.warning(text)
        Terminal(stderr=True).print(text)

    def _state(self) -> MirrorState:
        """Return what it knows; nothing where it is new, or its files were deleted."""
        is_new = not self.root.is_dir() or not (self._home / STATE).exists()
        return MirrorState() if is_new else read_state(self._home)

    def _save(self, etag: str | None, manifest: Manifest, same: dict[str, Stamp]) -> MirrorState:
        state = MirrorState(address=self.address, etag=etag, manifest=manifest, stamps=same)
        write_whole(self._home / STATE, msgspec.json.encode(state))
        return state

    def _commit(
        self, state: MirrorState, files: dict[str, StoredFile], same: dict[str, Stamp]
    ) -> bool:
        """Write the next manifest, unless another is there since; tell whether it is written."""
        for lease in self._leases:
            if lease.lost:
                raise WorkspaceError(
                    f"The lock on {lease.name} in {self.address} was lost: this machine did not "
                    "renew it in time",
                    "Run the command again: what it did is kept here",
                )
        workspace = state.manifest.workspace or uuid.uuid4().hex
        generation = state.manifest.generation + 1
        manifest = Manifest(workspace=workspace, generation=generation, files=files)
        body = encode(manifest)
        etag = (
            self._store.create(KEY, body)
            if state.etag is None
            else self._store.replace(KEY, body, state.etag)
        )
        if etag is not None:
            self._save(etag, manifest, same)
        return etag is not None

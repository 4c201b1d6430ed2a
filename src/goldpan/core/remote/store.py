"""An object store behind an address: reads, writes under a condition, and locks for all machines.

Credentials come from the environment alone, as the store's own programs read them: AWS_*,
GOOGLE_APPLICATION_CREDENTIALS, AZURE_*, or the identity of the machine.

A lock is an object that says who holds it, renewed while that works. Its time is that of the
store's own clock. Who stops renewing (a machine that was switched off) loses the lock after
`SECONDS`; who comes back later sees that, and pushes nothing.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from goldpan.core.errors import WorkspaceError
from goldpan.core.imports import load
from goldpan.core.log import LOG

_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_UNKNOWN_BUCKET = ("NoSuchBucket", "NoSuchContainer", "ContainerNotFound")
_REFUSED = ("PermissionDeniedError", "UnauthenticatedError")
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """The object under a key."""

    body: bytes
    etag: str
    modified: datetime
    """By the clock of the store."""


class UnchangedError(Exception):
    """An object is still the one that was read before."""


class ObjectStore:
    """The objects below an address; every failure is a `WorkspaceError`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._api = load("obstore", f"The workspace {address}", WorkspaceError)
        plain = any("http://" in os.environ.get(name, "") for name in _ENDPOINTS)
        try:
            self._store = load("obstore.store", address).from_url(
                address,
                client_options={"allow_http": plain, "connect_timeout": "5s", "timeout": "120s"},
                retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=60)},
            )
        except (self._api.exceptions.BaseError, ValueError) as error:
            problem = f"{address} cannot be used ({type(error).__name__})"
            raise WorkspaceError(problem, f"Set {_CREDENTIALS[_scheme(address)]}") from None
        self._proved = False

    def read(self, key: str, unless: str | None = None) -> RemoteObject | None:
        """Return an object, None where there is none; raises `UnchangedError` for `unless`."""
        options = {} if unless is None else {"options": {"if_none_match": unless}}
        try:
            reply = self._api.get(self._store, key, **options)
            meta = reply.meta
            return RemoteObject(bytes(reply.bytes()), meta["e_tag"], meta["last_modified"])
        except self._api.exceptions.NotModifiedError:
            raise UnchangedError from None
        except FileNotFoundError as error:
            if _code(error) in _UNKNOWN_BUCKET:
                raise self._failure(error) from None
            return None
        except (self._api.exceptions.BaseError, OSError, ValueError) as error:
            raise self._failure(error) from None

    def create(self, key: str, body: bytes) -> str | None:
        """Write an object where there is none and return its ETag; None where there is one."""
        return self._put_if(key, body, "create") or self._sent_before(key, body)

    def replace(self, key: str, body: bytes, etag: str) -> str | None:
        """Write an object in the place of the one that was read; None where it is another now."""
        return self._put_if(key, body, {"e_tag": etag}) or self._sent_before(key, body)

    def _put_if(self, key: str, body: bytes, mode: object) -> str | None:
        failures = self._api.exceptions
        with self._telling():
            try:
                return str(self._api.put(self._store, key, body, mode=mode)["e_tag"])
            except (failures.AlreadyExistsError, failures.PreconditionError):
                return None
            except FileNotFoundError as error:
                if _code(error) in _UNKNOWN_BUCKET:
                    raise
                return None

    def _sent_before(self, key: str, body: bytes) -> str | None:
        """Tell a failure by our own success: where an answer is lost, the request is repeated."""
        stored = self.read(key)
        return stored.etag if stored is not None and stored.body == body else None

    def write(self, key: str, body: bytes) -> None:
        """Write an object, whatever is there."""
        with self._telling():
            self._api.put(self._store, key, body, use_multipart=False)

    def sizes(self, prefix: str) -> Iterator[tuple[str, int, datetime]]:
        """Yield the key, the bytes and the time of every object below a prefix."""
        with self._telling():
            for batch in self._api.list(self._store, prefix):
                for meta in batch:
                    yield meta["path"], meta["size"], meta["last_modified"]

    def delete(self, keys: list[str]) -> None:
        """Delete objects."""
        with self._telling():
            self._api.delete(self._store, keys)

    def now(self) -> datetime:
        """Return the time by the clock of the store, whatever the clocks of its users say."""
        key = f"clocks/{uuid.uuid4().hex}"
        with self._telling():
            self._api.put(self._store, key, b"")
            modified: datetime = self._api.head(self._store, key)["last_modified"]
            self._api.delete(self._store, key)
        return modified

    def prove_conditions(self) -> None:
        """Raise `WorkspaceError` where the store writes whatever the condition; asked once."""
        if self._proved:
            return
        self._put_if("proof", b"", "create")
        if self._put_if("proof", b"", "create") or self._put_if("proof", b"", {"e_tag": '"0"'}):
            raise WorkspaceError(
                f"The store of {self.address} overwrites objects that it was told to keep "
                "(If-None-Match, If-Match), so two machines could destroy each other's work",
                "Use a store that honors these conditions: Amazon S3, Google Cloud Storage, "
                "Azure, Cloudflare R2, MinIO",
            )
        self._proved = True

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (self._api.exceptions.BaseError, OSError, ValueError) as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> WorkspaceError:
        """Say what failed; of the server's answer only its code, as it may echo what was sent."""
        scheme, bucket = _scheme(self.address), self.address.split("/")[2]
        kind, code = type(error).__name__, _code(error)
        access = f"Check {_CREDENTIALS[scheme]}, and what they may do"
        if code in _UNKNOWN_BUCKET:
            problem = f"There is no bucket {bucket} for {self.address}"
            return WorkspaceError(problem, "Create it, or correct the name")
        if kind in _REFUSED or "169.254.169.254" in str(error):
            reason = code or ("no credentials" if "169.254" in str(error) else "denied")
            return WorkspaceError(f"{self.address} refuses access ({reason})", access)
        if isinstance(error, ValueError) or code:
            return WorkspaceError(f"{self.address} cannot be used ({code or kind})", access)
        return WorkspaceError(
            f"{self.address} does not answer",
            "Check the network and, if it is not the usual one, the address of the store "
            "(AWS_ENDPOINT_URL), and run the command again: no work is lost",
        )


_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")


def _scheme(address: str) -> str:
    return address.partition(":")[0]


def _code(error: Exception) -> str:
    match = _CODE.search(str(error))
    return match[1] if match else ""


SECONDS = 120.0
"""How long a lock outlives the last sign of its holder."""


class Lease:
    """A lock in a store."""

    def __init__(self, store: ObjectStore, name: str) -> None:
        self.name = name
        self.lost = False
        self._store = store
        self._key = f"locks/{name}.json"
        self._etag: str | None = None
        self._released = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> str | None:
        """Take the lock; return who has it, and until when at least, where it is not free."""
        self._store.prove_conditions()
        lock = self._store.read(self._key)
        if lock is None:
            self._etag = self._store.create(self._key, self._content())
        else:
            held = _read(lock)
            ends = lock.modified + timedelta(seconds=SECONDS)
            if held.owner and self._store.now() <= ends:
                return f"{held.owner}, until {ends:%H:%M:%S} UTC unless it goes on"
            self._etag = self._store.replace(self._key, self._content(), lock.etag)
        return None if self._etag else "another machine"

    def keep(self) -> None:
        """Renew the lock until `release`."""
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Give the lock back."""
        self._released.set()
        if self._thread is not None:
            self._thread.join()
        if self._etag and not self.lost:
            self._store.replace(self._key, _FREE, self._etag)

    def _renew(self) -> None:
        last = time.monotonic()
        while not self._released.wait(SECONDS / 4):
            try:
                etag = self._store.replace(self._key, self._content(), self._etag or "")
                self.lost = etag is None
                self._etag, last = etag, time.monotonic()
            except WorkspaceError as error:  # the network may come back
                LOG.warning(str(error))
                self.lost = time.monotonic() - last > SECONDS
            if self.lost:
                return

    def _content(self) -> bytes:
        owner = f"{_user()} on {socket.gethostname()} (process {os.getpid()})"
        return msgspec.json.encode(_Held(owner, uuid.uuid4().hex))


_FREE = b'{"owner":null}'


class _Held(msgspec.Struct, frozen=True):
    """The holder of a lock, as the lock describes it."""

    owner: str | None
    renewal: str = ""
    """Drawn anew each time, so that no two have the same ETag."""


def _read(lock: RemoteObject) -> _Held:
    try:
        return msgspec.json.decode(lock.body, type=_Held)
    except msgspec.DecodeError:
        return _Held("somebody")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a name for its user
        return "somebody"

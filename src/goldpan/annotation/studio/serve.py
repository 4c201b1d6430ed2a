"""Finds the Label Studio server that is named, or runs one on this machine.

``label-studio/running.json`` exists while it runs, and only its owner can read it. The server
listens on 127.0.0.1 alone unless told otherwise, sends nothing home, lets people sign up with its
link alone, and keeps its data in one directory. Label Studio itself would listen everywhere, and
where a port is in use it would silently take the next one.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

import httpx
import msgspec
import orjson

from goldpan.annotation.studio.client import Server, Studio, StudioError
from goldpan.annotation.studio.project import read_stored
from goldpan.core.errors import UsageError
from goldpan.core.http import shared_context
from goldpan.core.isolated_env import LOCKS, IsolatedEnv
from goldpan.core.result import Result
from goldpan.core.secrets import register, without_secrets
from goldpan.core.settings.file import check_address
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, write_whole
from goldpan.core.terminal import Reporter

_FOLDER, _FILE = "label-studio", "running.json"
_BEHIND = re.compile(r"/(?:projects|user|organization|api)(?:/.*)?$")
"""What stands behind the server's address where a page of it was copied."""


def server_directory(workspace: WorkspaceLayout) -> Path:
    """Return where the workspace's own server keeps its data."""
    return workspace.root / _FOLDER


def find_server(
    url: str | None, environment: Mapping[str, str], workspace: WorkspaceLayout | None = None
) -> Server:
    """Return the server of a flag or of `LABEL_STUDIO_URL`, with `LABEL_STUDIO_API_KEY`.

    Without either it is the one that `serve` runs for the workspace. Raises `UsageError` where
    there is none, or it is wrong.
    """
    address = _BEHIND.sub("", url or environment.get("LABEL_STUDIO_URL") or "")
    if not address and workspace is not None:
        with suppress(OSError, msgspec.DecodeError):  # none runs, or it was killed
            stored = (server_directory(workspace) / _FILE).read_bytes()
            server = msgspec.json.decode(stored, type=Server)
            register(server.token)
            return server
    if not address:
        raise UsageError(
            "No Label Studio server is named, and none is running for the workspace",
            "Start one with goldpan annotate serve, give --url or set LABEL_STUDIO_URL",
        )
    remedy = "Give --url http://127.0.0.1:8080 or set LABEL_STUDIO_URL"
    check_address(address, "--url", remedy, "LABEL_STUDIO_API_KEY")
    token = environment.get("LABEL_STUDIO_API_KEY", "").strip()
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise UsageError(
            "There is no access token for Label Studio",
            "Copy one from Account & Settings there into the variable LABEL_STUDIO_API_KEY",
        )
    return Server(address.rstrip("/"), token)


SERVER = IsolatedEnv(
    name="Label Studio",
    lock=LOCKS / "label-studio.txt",
    variable="GOLDPAN_LABEL_STUDIO_VENV",
    folder="label-studio-1.23",
    proof="bin/label-studio",
    newest_python=(3, 13),
)
"""The server whose API this package is tested with; about 1 GB with its dependencies."""
OWNER = "owner@example.org"
LOCAL = "127.0.0.1"
_START = 900.0
_STOP = 15.0
_OURS = ("LABEL_STUDIO_", "DJANGO_", "PYTHON", "VIRTUAL_ENV", "DATABASE_", "POSTGRE_", "REDIS_")


@dataclass(frozen=True, slots=True)
class Account:
    """A user who can log in."""

    address: str
    password: str = field(repr=False)
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Running(Result):
    """A server that runs."""

    server: Server
    address: str
    """Where people find it."""
    owner: Account
    invitation: str = field(repr=False)
    """The link by which annotators sign up."""
    exposed: bool
    """True where other machines reach it."""
    process: subprocess.Popen[bytes] = field(repr=False)


def find_installation(
    environment: Mapping[str, str], reporter: Reporter, *, install: bool = False
) -> Path:
    """Return where Label Studio is installed; `install` installs a missing one first.

    Raises `StudioError` where it is missing.
    """
    installation = SERVER.default_place(environment)
    if install:
        SERVER.install(installation, reporter)
    if not SERVER.is_installed(installation):
        raise StudioError(
            f"Label Studio is not installed in {installation}",
            "Run goldpan annotate serve --install",
        )
    return installation


def end_as_by_keys() -> None:
    """Let a service manager, or a terminal that is closed, end the program as Ctrl-C does."""
    with suppress(ValueError):  # another thread than the first
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)


def check_port(port: int, host: str = LOCAL) -> None:
    """Raise `UsageError` for an address at which this machine cannot listen."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((str(IPv4Address(host)), port))
        except (OSError, OverflowError, ValueError) as error:
            raise UsageError(
                f"Label Studio cannot listen at port {port} of {host!r} "
                f"({getattr(error, 'strerror', None) or error})",
                "Give a free --port, and with --host an IPv4 address of this machine, or 0.0.0.0 "
                "for all its addresses",
            ) from None


@contextmanager
def serve(installation: Path, directory: Path, port: int, host: str = LOCAL) -> Iterator[Running]:
    """Run a server while the block runs; its output goes to `server.log` in its directory.

    The first start takes a minute. `host` is the address of this machine at which it listens.
    Raises `UsageError` for a port in use and `StudioError` where the server does not start.
    """
    check_port(port, host)
    make_directory(directory)
    directory.chmod(0o700)  # the database holds passwords' hashes and tokens
    owner = _owner(directory / "accounts.json")
    everywhere = IPv4Address(host).is_unspecified
    url = f"http://{LOCAL if everywhere else host}:{port}"
    program = [str(installation / "bin" / "label-studio"), "start", "--no-browser"]
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - the server in its own environment
            [*program, "--internal-host", host, "--port", str(port)],
            env=studio_environment(directory, owner),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, url, directory)
        server = Server(url, owner.token)
        address = f"http://{socket.gethostname()}:{port}" if everywhere else url
        with Studio(server) as studio:
            invitation = f"{address}{studio.invitation()}"
        write_whole(directory / _FILE, orjson.dumps(server), private=True)
        exposed = not IPv4Address(host).is_loopback
        yield Running(server, address, owner, invitation, exposed, process)
    finally:
        (directory / _FILE).unlink(missing_ok=True)
        _stop(process)


def _owner(path: Path) -> Account:
    """Return the owner's account, made before the server first starts and creates it there."""
    remedy = "Restore it, or begin in another directory"
    stored = read_stored(path, dict[str, list[Account]], remedy)
    if stored is None:
        owner = Account(OWNER, secrets.token_urlsafe(9), secrets.token_hex(20))
        stored = {"accounts": [owner]}
        write_whole(path, orjson.dumps(stored, option=orjson.OPT_INDENT_2), private=True)
    return stored["accounts"][0]


def studio_environment(directory: Path, account: Account) -> dict[str, str]:
    """Return the environment of a server whose data lies in a directory, with an account to make.

    The password stands here, not among the arguments that all users of the machine can read.
    """
    variables = without_secrets(os.environ)
    inherited = {key: value for key, value in variables.items() if not key.startswith(_OURS)}
    return {
        **inherited,
        "LABEL_STUDIO_BASE_DATA_DIR": str(directory.resolve()),
        "LABEL_STUDIO_USERNAME": account.address,
        "LABEL_STUDIO_PASSWORD": account.password,
        "LABEL_STUDIO_USER_TOKEN": account.token,
        # Counts only when the organization is made, which is with the first account.
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }


def _wait(process: subprocess.Popen[bytes], url: str, directory: Path) -> None:
    until = time.monotonic() + _START
    with httpx.Client(trust_env=False, timeout=5, verify=shared_context()) as client:
        while time.monotonic() < until:
            if process.poll() is not None:
                break
            try:
                if client.get(f"{url}/health").is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.2)
    raise StudioError(
        f"Label Studio did not start on {url}", f"Read {directory / 'server.log'} for the reason"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and its children, which are a process group of their own."""
    for number, patience in ((signal.SIGTERM, _STOP), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        return

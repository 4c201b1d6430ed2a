"""Finds the Label Studio server that is named, or runs one on this machine.

``label-studio/running.json`` exists while it runs, and only its owner can read it. The server
listens on 127.0.0.1 alone, sends nothing home, lets nobody sign up, and keeps its data in one
directory. Label Studio itself would listen everywhere, and where a port is in use it would silently
take the next one.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec
import orjson

from goldpan.annotation.studio.client import Server, StudioError, is_web_address
from goldpan.annotation.studio.project import read_stored
from goldpan.core.errors import UsageError
from goldpan.core.http import shared_context
from goldpan.core.isolated_env import LOCKS, IsolatedEnv
from goldpan.core.result import Block, Line, Title
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register, without_secrets
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, write_whole
from goldpan.core.terminal import Reporter

_FOLDER, _FILE = "label-studio", "running.json"


def server_directory(workspace: WorkspaceLayout) -> Path:
    """Return where the workspace's own server keeps its data."""
    return workspace.root / _FOLDER


@contextmanager
def announced(directory: Path, server: Server) -> Iterator[None]:
    """Let other commands on the workspace find a server while the block runs."""
    path = directory / _FILE
    write_whole(path, orjson.dumps(server), private=True)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def choose_server(
    workspace: WorkspaceLayout, url: str | None, environment: Mapping[str, str]
) -> Server:
    """Return the server of a flag or the environment, else the one that `serve` runs here.

    Raises `UsageError` where there is neither, or one is wrong.
    """
    if url is None and not environment.get("LABEL_STUDIO_URL"):
        with suppress(OSError, msgspec.DecodeError):  # none runs, or it was killed
            stored = (server_directory(workspace) / _FILE).read_bytes()
            server = msgspec.json.decode(stored, type=Server)
            register(server.token)
            return server
    return find_server(url, environment)


def find_server(url: str | None, environment: Mapping[str, str]) -> Server:
    """Return the server that a flag or `LABEL_STUDIO_URL` names, with `LABEL_STUDIO_API_KEY`.

    Raises `UsageError` where one is missing or wrong.
    """
    address = url or environment.get("LABEL_STUDIO_URL")
    if not address:
        raise UsageError(
            "No Label Studio server is named, and none is running for the workspace",
            "Start one with goldpan annotate serve, give --url or set LABEL_STUDIO_URL",
        )
    if not is_web_address(address):
        raise UsageError(
            f"{address!r} is not the address of a Label Studio server",
            "Give --url http://127.0.0.1:8080 or set LABEL_STUDIO_URL; "
            "goldpan annotate serve starts a server",
        )
    parts = urlsplit(address)
    if parts.username or parts.password or parts.query:
        raise UsageError(
            "The server's address holds credentials or a query",
            "Give the token only through LABEL_STUDIO_API_KEY",
        )
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
_START = 900.0
_STOP = 15.0
_END_WITH_PARENT = """\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
os.execv(sys.argv[1], sys.argv[1:])
"""
_ADDRESS = re.compile(r"[A-Za-z0-9._%+'-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_LONGEST = 254  # of an e-mail address (RFC 5321)
_OURS = ("LABEL_STUDIO_", "DJANGO_", "PYTHON", "VIRTUAL_ENV", "DATABASE_", "POSTGRE_", "REDIS_")


@dataclass(frozen=True, slots=True)
class Account:
    """A user who can log in."""

    address: str
    password: str = field(repr=False)
    token: str = field(repr=False)


@dataclass(slots=True)
class _Accounts:
    """The content of `accounts.json`."""

    accounts: list[Account] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)
    """The addresses of those that exist on the server, sorted."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs."""

    server: Server
    accounts: tuple[Account, ...]
    """The owner first."""
    seconds: float
    """From the start of the process to its first answer."""
    process: subprocess.Popen[bytes] = field(repr=False)

    def blocks(self) -> Iterator[Block]:
        """Yield where it runs and who may log in."""
        yield Title("Label Studio", f" runs at {self.server.url} until Ctrl-C")
        for account in self.accounts:
            yield Line(f"  {account.address}  password {account.password}")
        yield Line(
            "goldpan annotate push and pull find it automatically, with the same --workspace"
        )


def _program(installation: Path) -> Path:
    return installation / "bin" / "label-studio"


def check_port(port: int) -> None:
    """Raise `UsageError` where a port of this machine is in use."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            raise UsageError(
                f"Port {port} of this machine is in use or not allowed",
                "Give another one with --port",
            ) from None


def prepare(
    installation: Path, directory: Path, annotators: Sequence[str], reporter: Reporter
) -> tuple[Account, ...]:
    """Create the server's database and missing accounts; return all accounts, the owner first.

    The first time takes half a minute. Passwords are kept in `accounts.json`; only its owner can
    read the directory. Raises `UsageError` for what is no e-mail address.
    """
    for address in annotators:
        if not _ADDRESS.fullmatch(address) or len(address) > _LONGEST:
            raise UsageError(
                f"{address!r} is not an e-mail address", "Give --annotator name@example.org"
            )
    if not SERVER.is_installed(installation):
        raise StudioError(
            f"Label Studio is not installed in {installation}",
            "Run goldpan annotate serve --install",
        )
    make_directory(directory)
    directory.chmod(0o700)  # the database holds passwords' hashes and tokens
    path = directory / "accounts.json"
    remedy = "Restore it, or begin in another directory"
    stored = read_stored(path, _Accounts, remedy) or _Accounts()
    known = {account.address: account for account in stored.accounts}
    addresses = list(dict.fromkeys([OWNER, *known, *annotators]))

    def save() -> None:
        write_whole(path, orjson.dumps(stored, option=orjson.OPT_INDENT_2), private=True)

    with reporter.task("accounts", len(addresses)) as progress:
        for address in addresses:
            if address not in stored.ready:
                # Stored before it is created: a kill in between must not lose the password.
                if address not in known:
                    new = Account(address, secrets.token_urlsafe(9), secrets.token_hex(20))
                    known[address] = new
                    stored.accounts.append(new)
                    save()
                _create(installation, directory, known[address])
                stored.ready = sorted([*stored.ready, address])
                save()
            progress.advance()
    return tuple(known[address] for address in addresses)


@contextmanager
def serve(
    directory: Path,
    port: int,
    annotators: Sequence[str],
    reporter: Reporter,
    *,
    install: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """Run a server with accounts for annotators while the block runs.

    `directory` keeps the server's data. `install` installs a missing server first. Raises
    `UsageError` for a port in use, and `StudioError` where the server is not installed or does not
    start.
    """
    check_port(port)
    installation = SERVER.default_place(os.environ if environment is None else environment)
    if install:
        SERVER.install(installation, reporter)
    accounts = prepare(installation, directory, annotators, reporter)
    with running(installation, directory, port, accounts) as run:
        yield run


@contextmanager
def running(
    installation: Path, directory: Path, port: int, accounts: Sequence[Account]
) -> Iterator[Running]:
    """Run a prepared server while the block runs; its output goes to `server.log`.

    Raises `UsageError` for a port in use and `StudioError` where the server does not start.
    """
    check_port(port)
    started = time.monotonic()
    url = f"http://127.0.0.1:{port}"
    command = [str(_program(installation)), "start", "--no-browser", "--internal-host", "127.0.0.1"]
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - the server in its own environment
            [*_ending_with_parent(), *command, "--port", str(port)],
            env=_environment(directory, accounts[0]),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, url, directory)
        server = Server(url, accounts[0].token)
        yield Running(server, tuple(accounts), time.monotonic() - started, process)
    finally:
        _stop(process)


def _create(installation: Path, directory: Path, account: Account) -> None:
    # The password stands in the environment, not among the arguments that all users can read.
    try:
        process = subprocess.run(  # noqa: S603 - the server in its own environment
            [str(_program(installation)), "init", "--quiet"],
            env=_environment(directory, account),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_START,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise StudioError(
            f"Label Studio makes the account {account.address} for more than {_START:.0f} seconds",
            "Run the same command again when this machine is less busy",
        ) from None
    if process.returncode:
        last = (process.stderr.decode(errors="replace").strip().splitlines() or ["no reason"])[-1]
        raise StudioError(
            f"Label Studio cannot make the account {account.address}: {line(mask(last), 300)}",
            f"See that {directory} can be written, or use another directory",
        )


def _environment(directory: Path, account: Account) -> dict[str, str]:
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


def _ending_with_parent() -> list[str]:
    """Return the beginning of a command that the kernel ends when Goldpan is killed.

    Otherwise the server would keep the port. A separate program asks for it, because no Python code
    is safe between fork and exec in a process with threads.
    """
    if sys.platform != "linux":
        return []
    return [sys.executable, "-I", "-S", "-c", _END_WITH_PARENT]


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

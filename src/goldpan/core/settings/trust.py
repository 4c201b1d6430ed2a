"""Whom the user trusts: which servers get access tokens, and whose settings files count.

What stands on the command line or in the environment is the user's own word. What lies in a folder
may be anybody's: it counts once `goldpan trust` has recorded the folder, as it was then.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from goldpan.core.errors import UsageError
from goldpan.core.secrets import register
from goldpan.core.storage.workspace import write_whole

_OURS = ("GITHUB_TOKEN", "GH_TOKEN")


_ENTERPRISE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")


def tokens_for(
    environment: Mapping[str, str], api_url: str, command: str
) -> tuple[tuple[str, ...], str]:
    """Return the tokens for a server, and why those that are there are not for it.

    They go where gh sends them: those of GitHub to GitHub, those of a server of one's own to that,
    and none over a connection that others can read. This machine gets whichever there are.
    """
    address = urlsplit(api_url)
    host = (address.hostname or "").removeprefix("api.")
    public = host == "github.com" or host.endswith(".ghe.com")
    local = is_loopback(host)
    names = (*_ENTERPRISE, *_OURS) if local else _OURS if public else _ENTERPRISE
    name = next((name for name in names if environment.get(name)), "")
    if address.scheme == "http" and not local:
        return (), f"Tokens are not sent to {host} over http: write https"
    if name:
        return _split_tokens(environment[name], name), ""
    if command:
        return tokens_of_command(command), ""
    if tokens := _split_tokens(_gh_token(host), "the output of gh"):
        return tokens, ""
    other = next((name for name in (*_OURS, *_ENTERPRISE) if environment.get(name)), "")
    return (), f"{other} is not for {host}: set {names[0]}" if other else ""


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _split_tokens(text: str, origin: str) -> tuple[str, ...]:
    tokens = tuple(dict.fromkeys(token.strip() for token in text.split(",") if token.strip()))
    register(*tokens)
    for token in tokens:
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            raise UsageError(
                f"A token in {origin} holds a space or a control character",
                "Separate several tokens only by commas",
            )
    return tokens


def tokens_of_command(command: str) -> tuple[str, ...]:
    """Return the tokens that a command of the user's prints: one, or several with commas.

    Raises `UsageError` where it fails; what it printed is never shown.
    """
    import subprocess  # which takes long to import

    try:
        words = shlex.split(command)
        process = subprocess.run(  # noqa: S603 - the command is the user's own, and no shell reads it
            words, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"GOLDPAN_TOKEN_COMMAND cannot be run ({type(error).__name__})",
            "Give a command that prints a token, without pipes or variables",
        ) from None
    tokens = _split_tokens(process.stdout.strip(), "the output of GOLDPAN_TOKEN_COMMAND")
    if process.returncode or not tokens:
        raise UsageError(
            f"GOLDPAN_TOKEN_COMMAND gave no token (it ended with {process.returncode})",
            "Run it by hand: it should print a token and exit with 0",
        )
    return tokens


def _gh_token(host: str) -> str:
    """Ask GitHub's own command line for its token, if it is installed and logged in."""
    import shutil
    import subprocess

    gh = shutil.which("gh")
    if gh is None:
        return ""
    try:
        process = subprocess.run(  # noqa: S603 - the arguments are a program on PATH and a host name
            [gh, "auth", "token", "--hostname", host],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""


VARIABLE = "GOLDPAN_TRUST"
"""The environment variable that names trusted workspaces, separated by commas, for jobs."""

HOME = "GOLDPAN_CONFIG_HOME"
"""The environment variable that names the folder of what Goldpan remembers of its user."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Settings of a workspace that take the user's consent, and whether it was given."""

    workspace: Path
    asks: tuple[str, ...]
    """In words, such as ``plugins = label_words.py``; empty where nothing takes consent."""
    given: bool
    changed: bool = False
    """True where the workspace was trusted, and its files changed since."""

    def require(self, *names: str) -> None:
        """Raise `UsageError` where one of these settings counts for nothing, as yet."""
        if self.given:
            return
        refused = [text for text in self.asks if text.partition(" ")[0] in names]
        if refused:
            raise UsageError(self.problem(refused), self.remedy)

    def problem(self, asks: Iterable[str] = ()) -> str:
        """Return what is not trusted, in words."""
        state = "changed since you trusted it" if self.changed else "is not trusted"
        return f"{self.workspace} {state}, and its goldpan.toml says {', '.join(asks or self.asks)}"

    @property
    def remedy(self) -> str:
        """Advice that names the command by which these settings take effect."""
        return f"Read the file, then run goldpan trust {self.workspace}"


def trust_of(
    root: Path,
    named: str,
    asks: Sequence[str],
    files: Sequence[Path],
    environment: Mapping[str, str],
) -> Trust:
    """Return whether what a settings file asks for counts.

    `named` is the workspace as the user wrote it; `files` are those that decide about it.
    """
    by_job = [name.strip() for name in environment.get(VARIABLE, "").split(",") if name.strip()]
    if not asks or named in by_job or root.resolve() in (Path(name).resolve() for name in by_job):
        return Trust(root, tuple(asks), given=True)
    recorded = _recorded(environment).get(str(root.resolve()))
    given = recorded == digest_of(root, files)
    return Trust(root, tuple(asks), given, changed=recorded is not None and not given)


def record_trust(root: Path, files: Sequence[Path], environment: Mapping[str, str]) -> Path:
    """Trust a workspace as it is now; return the file that says so."""
    path = _path(environment)
    known = {**_recorded(environment), str(root.resolve()): digest_of(root, files)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(
            path, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode(), private=True
        )
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", f"Set {VARIABLE} to the workspace"
        ) from None
    return path


def digest_of(root: Path, files: Sequence[Path]) -> str:
    """Return the SHA-256 of a workspace's settings file and of the plugins that lie with it."""
    from hashlib import sha256  # which help does without

    digest = sha256()
    for file in files:
        if file.resolve().is_relative_to(root.resolve()) and file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _path(environment: Mapping[str, str]) -> Path:
    if own := environment.get(HOME):
        return Path(own) / "trusted.json"
    base = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "goldpan" / "trusted.json"


def _recorded(environment: Mapping[str, str]) -> dict[str, str]:
    try:
        known = json.loads(_path(environment).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # nothing is trusted where nothing can be read
        return {}
    return known if isinstance(known, dict) else {}

"""Access tokens, and to which servers they go."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from goldpan.core.errors import UsageError
from goldpan.core.secrets import register

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

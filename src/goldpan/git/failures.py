"""What git complains of, told for people: the cause, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from goldpan.core.errors import GitError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask

_LONGEST = 200
_AGAIN = "Run the same command again: what is finished stays"
_BLAME = re.compile(r"(?:fatal|error|ERROR): *")


@dataclass(frozen=True, slots=True)
class _Cause:
    """A cause, the texts that give it away, and the remedy."""

    marks: tuple[str, ...]
    problem: str
    remedy: str


# The first that fits counts: a server that hangs up often says why before that.
_CAUSES = (
    _Cause(
        ("No space left on device", "Disk quota exceeded"),
        "could not be stored: the disk is full",
        "Free some space and run the same command again",
    ),
    _Cause(
        ("Permission denied (publickey", "Host key verification failed"),
        "does not let us in over ssh",
        "Check your ssh key and that the host is known, or give an https address",
    ),
    _Cause(
        (
            "could not read Username",
            "could not read Password",
            "Authentication failed",
            "error: 401",
            "error: 403",
        ),
        "does not exist, or needs a token that may read it",
        "Check the spelling, and put a token with access into GITHUB_TOKEN",
    ),
    _Cause(
        ("dubious ownership",),
        "belongs to another user, and git refuses such folders",
        "Make a bundle of it with git bundle create FILE --all, and give that",
    ),
    _Cause(
        ("does not look like a v2 or v3 bundle", "unrecognized header", "bad bundle header"),
        "is not a git bundle",
        "Make one with git bundle create FILE --all",
    ),
    _Cause(
        ("lacks these prerequisite commits",),
        "is a bundle of newer commits only",
        "Clone from a whole repository first, or make a bundle of everything with --all",
    ),
    _Cause(
        ("mismatched algorithms", "unknown hash algorithm", "unknown object format"),
        "names its objects by SHA-256",
        "Goldpan reads SHA-1 repositories, as GitHub's are",
    ),
    _Cause(
        (
            "not found",
            "does not exist",
            "does not appear to be a git repository",
            "not a git repository",
        ),
        "is not a git repository that can be found",
        "Check the spelling",
    ),
    _Cause(
        (
            "Could not resolve host",
            "Couldn't connect",
            "Failed to connect",
            "Connection refused",
            "Connection reset",
            "Connection timed out",
            "Operation timed out",
            "Operation too slow",
            "early EOF",
            "hung up unexpectedly",
            "unexpected disconnect",
            "RPC failed",
            "unable to access",
            "invalid index-pack output",
            "expected flush",
            "transfer closed",
            "Empty reply",
        ),
        "could not be fetched: the connection failed or was cut",
        _AGAIN,
    ),
    _Cause(
        ("transport '", "not allowed"),
        "leads to an address that Goldpan does not follow",
        "Give an https or ssh address, a folder or a bundle",
    ),
)


def failure(subject: str, complaint: bytes, code: int) -> GitError:
    """Return the error that tells what git complained of."""
    text = complaint.decode("utf-8", "replace")
    reason = _reason(text, code)
    for cause in _CAUSES:
        if any(mark in text for mark in cause.marks):
            return GitError(f"{subject} {cause.problem} ({reason})", cause.remedy)
    return GitError(f"{subject} cannot be read by git ({reason})", _AGAIN)


def _reason(text: str, code: int) -> str:
    """Return git's first complaint in one line; what a server says may hold anything."""
    rows = text.splitlines()
    blamed = [row for row in rows if _BLAME.match(row)] or rows[-1:] or [""]
    message = line(mask(_BLAME.sub("", blamed[0])), _LONGEST)
    return message.rstrip(".") or f"exit code {code}"

"""Unified diffs of many pull requests out of one git, at no cost in API calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, cast

from goldpan.git.comparison import RENAMES
from goldpan.git.process import results_in_order, stream

_OPTIONS = (
    "--stdin",
    "--always",
    "-r",
    "--patch",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
# No line of a patch looks like this: those of files bear a mark, headers have words.
_COMMIT = re.compile(rb"[0-9a-f]{40}\n")


class PullChange(NamedTuple):
    """A pull request and the commits that it is read between: `merge_base` and `after_sha`."""

    number: int
    before: str
    after: str


class Patch(NamedTuple):
    """A pull request's unified diff; None where git cannot make it.

    Bytes that are no UTF-8 are shown as U+FFFD: the blobs hold what is exact.
    """

    number: int
    text: str | None


def patches(clone: Path, changes: Iterable[tuple[int, str, str]]) -> Iterator[Patch]:
    """Yield the patch of each change, in order; the commits must be in the clone.

    With `before_sha` of a `base` state a patch would also undo what the base branch gained since
    the head left it, so give `merge_base`.
    """
    pending = [PullChange(*change) for change in changes]
    for change, text in zip(
        pending, results_in_order(pending, lambda some: _patches(clone, some)), strict=True
    ):
        yield Patch(change.number, text)


def _patches(clone: Path, changes: Sequence[PullChange]) -> Iterator[str]:
    lines = (f"{change.after} {change.before}\n".encode() for change in changes)
    with stream("diff-tree", *_OPTIONS, *RENAMES, clone=clone, stdin=lines) as process:
        patch: list[bytes] | None = None
        yielded = 0
        for line in cast(IO[bytes], process.stdout):
            if _COMMIT.fullmatch(line):
                if patch is not None:
                    yield _text(patch)
                if line.decode().strip() != changes[yielded].after:
                    return
                patch = []
                yielded += 1
            elif patch is not None and (patch or line.strip()):  # after a blank line
                patch.append(line)
        if patch is not None and process.wait() == 0:
            yield _text(patch)


def _text(patch: list[bytes]) -> str:
    return b"".join(patch).decode("utf-8", "replace")

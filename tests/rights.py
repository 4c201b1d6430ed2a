"""Rights of files as users have them: root may do everything unless it gives that up."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522  # of Linux's capabilities: three sets of two words
_DROP_FROM_BOUNDING_SET = 24
_OVERRIDES = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def bound_by_modes() -> Iterator[None]:
    """Have this thread obey the modes of files."""
    before = _effective(None)
    _effective(before & ~sum(1 << number for number in _OVERRIDES))
    try:
        yield
    finally:
        _effective(before)


def obey_modes() -> None:
    """Have this process, and all that it starts, obey the modes of files from now on."""
    for number in _OVERRIDES if os.geteuid() == 0 else ():
        _check(ctypes.CDLL(None, use_errno=True).prctl(_DROP_FROM_BOUNDING_SET, number, 0, 0, 0))
    _effective(_effective(None) & ~sum(1 << number for number in _OVERRIDES))


def _effective(wanted: int | None) -> int:
    """Return the capabilities in effect, or those that now are."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    _check(libc.capget(header, sets))
    if wanted is not None:
        sets[0] = wanted
        _check(libc.capset(header, sets))
    return sets[0]


def _check(result: int) -> None:
    assert result == 0, os.strerror(ctypes.get_errno())

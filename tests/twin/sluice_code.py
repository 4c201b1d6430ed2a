"""The first version of the made-up library `sluice`, bugs included."""

from __future__ import annotations

from collections.abc import Mapping

from .changes import files
from .sluice_repairs import BROKEN

SPECIAL = 'src/sluice/a b\t"c".py'
PARTS = [f"src/sluice/part_{index:03}.py" for index in range(120)]

_FILES = r'''
@ LICENSE
MIT License

Copyright (c) 2022 wheelwright
@ README.md
# sluice

Sieve streams of records with little memory.
@ pyproject.toml
[project]
name = "sluice"
version = "0.3"

[dependency-groups]
dev = ["pytest>=7", "ruff==0.13"]
@ setup.py
"""Only for pip before 21.3: everything stands in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    name="sluice",
    version="0.2",
    description="Sieve streams of records with little memory",
    url="https://github.com/prospector/sluice",
    author="wheelwright",
    license="MIT",
    python_requires=">=3.9",
    package_dir={"": "src"},
    packages=find_packages("src"),
    install_requires=[],
    extras_require={
        "test": ["pytest>=7"],
        "lint": ["ruff==0.13"],
    },
)
@ doc/guide.md
# Guide

Install sluice with pip.

Then import it.

That is all.
@ docs/tutorial.md
# Tutorial

First read [this](https://example.org/old/one), and
then [that](https://example.org/old/two).
@ src/sluice/__init__.py
"""Sieves streams of records."""

__version__ = "0.2"
@ src/sluice/reader.py
"""Reads records from text, one a line."""

import gzip

BLOCK = 1 << 16


def opened(path):
    """Open a file to read its text, unpacked where it is compressed."""
    with open(path, "rb") as file:
        packed = file.read().startswith(b"\x1f\x8b")
    return gzip.open(path, "rt") if packed else open(path)


def lines(stream):
    """Yield the lines of a stream without their ends."""
    rest = ""
    while block := stream.read(BLOCK):
        *whole, rest = (rest + block).split("\n")
        yield from whole


def table(stream):
    """Yield records as dictionaries, named by the first line."""
    found = lines(stream)
    names = next(found).split(",")
    for line in found:
        yield dict(zip(names, line.split(",")))
@ src/sluice/header.py
"""Reads the first line of a table."""


def names(line):
    """Return the names of the columns."""
    return [name.strip() for name in line.split(",")]
@ src/sluice/sieve.py
"""Keeps the rows that predicates want."""


def sieve(rows, *predicates):
    """Yield the rows that all predicates want."""
    for row in rows:
        for wants in predicates:
            if wants(row):
                yield row  # as it came
            break
@ src/sluice/progress.py
"""Shows how far one is."""


class Progress:
    """Counts records."""

    def __init__(self):
        self.done = 0

    def saw(self, record):
        """Count one record."""
        self.done += len(record)
@ src/sluice/scratch.py
"""Temporary files."""

import tempfile
import os
from contextlib import contextmanager
import sys


@contextmanager
def scratch(suffix=""):
    """Give the path of a file that vanishes afterwards."""
    handle, path = tempfile.mkstemp(suffix)
    os.close(handle)
    try:
        yield path
    except Exception:
        os.remove(path)
        raise
    else:
        os.remove(path)


def note(text):
    """Tell the user where things are."""
    print(text, file=sys.stderr)
@ src/sluice/order.py
"""Puts streams of rows in order."""

import heapq


def merged(streams, key):
    """Yield the rows of several streams in order of a key."""
    heap = []
    for stream in streams:
        for row in stream:
            heapq.heappush(heap, (key(row), row))
    while heap:
        yield heapq.heappop(heap)[-1]
@ src/sluice/parquet.py
"""Prepares values for Parquet."""

from datetime import datetime, timezone


def prepared(value):
    """Return a value as Parquet takes it: times are UTC."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc)
    return value
@ src/sluice/errors.py
"""What can go wrong."""


class RecordError(ValueError):
    """A record is broken."""

    def __init__(self, record):
        super().__init__(f"recieved a broken record: {record!r}")
@ src/sluice/columns.py
"""Looks at columns."""


def widths(rows):
    """Return the longest text of each column."""
    columns = list(zip(*rows))
    return [max(len(text) for text in column) for column in columns]
@ src/sluice/corner.py
"""Where dust gathers."""


def swept(rows):
    """Return rows without blanks."""
    return [row for row in rows if row is not None]
@ src/sluice/legacy.py
"""Nobody uses this."""

OLD = True
@ src/sluice/util.py
"""Helps with texts."""


def squeezed(text):
    """Return a text without runs of spaces."""
    return " ".join(text.split())
'''


def first_version() -> Mapping[str, bytes]:
    """Return the files of the first commit by path."""
    return {
        **files(_FILES),
        **BROKEN,
        **{path: f"PART = {index}\n".encode() for index, path in enumerate(PARTS)},
        SPECIAL: b'"""A file whose name is hard to quote."""\n',
        "docs/changes.txt": b"0.3 Sieves\n0.2 Readers\n0.1 Nothing",
        "scripts/sieve.bat": b"@echo off\r\npython -m sluice %1\r\nexit /b\r\n",
    }

"""Modules of the made-up library `sluice` with a flaw each, and how each is repaired."""

from __future__ import annotations

from collections.abc import Mapping

from .changes import Work, diff, edit, files, move, together

_CONSOLE = """\
\"\"\"Draws tables on consoles.\"\"\"


def line(cells, widths):
    \"\"\"Return a row whose cells are as wide as their columns.\"\"\"
    return " | ".join(cell.ljust(width) for cell, width in zip(cells, widths))


def rule(widths):
    \"\"\"Return what stands below the header.\"\"\"
    return "-" * sum(widths)


def table(names, rows, widths):
    \"\"\"Yield the lines of a table.\"\"\"
    yield line(names, widths)
    yield rule(widths)
    for row in rows:
        yield line(row, widths)
"""

_UNITS = """\
\"\"\"Reads sizes such as 64k.\"\"\"

_BITS = {"k": 10, "M": 20, "G": 30}


def size_of(text):
    \"\"\"Return a size in bytes.\"\"\"
    number, unit = text[:-1], text[-1]
    return int(number) << _BITS[unit]"""

BROKEN: Mapping[str, bytes] = {
    **files(r'''
@ src/sluice/window.py
"""Looks at several rows at a time."""

from collections import deque


def windows(rows, size):
    """Yield the last rows, `size` of them, with each new row."""
    held = deque(maxlen=size)
    for row in rows:
        held.append(row)
        if len(held) > size:
            yield tuple(held)


def moving(rows, size, key):
    """Yield the mean of a column over the last rows."""
    for held in windows(rows, size):
        yield sum(key(row) for row in held) / size


def blocks(rows, size):
    """Yield the rows by the block; the last one may be short."""
    block = []
    for row in rows:
        block.append(row)
        if len(block) == size:
            yield tuple(block)
            block = []
@ src/sluice/limits.py
from dataclasses import dataclass


@dataclass
class Limits:
    """How much is read at most; None is no limit."""

    rows: int | None = None
    bytes: int | None = None

    def reached(self, rows, size):
        """Say whether so many rows of so many bytes are enough."""
        enough = self.rows is not None and rows >= self.rows
        return enough or (self.bytes is not None and size >= self.bytes)
@ src/sluice/nuget.py
"""Finds the largest rows."""

import heapq


def biggest(rows, count, key):
    """Return so many of the largest rows, the largest first."""
    heap = []
    for row in rows:
        heapq.heappush(heap, (key(row), row))
        if len(heap) > count:
            heapq.heappop(heap)
    return [row for _, row in sorted(heap, reverse=True)]
@ src/sluice/sample.py
"""Draws rows."""

import random


def sample(rows, count, seed=None):
    """Return so many rows, each with the same chance (algorithm R)."""
    dice = random.Random(seed)
    kept = []
    for index, row in enumerate(rows):
        if index < count:
            kept.append(row)
            continue
        place = dice.randrange(index)
        if place < count:
            kept[place] = row
    return kept
@ src/sluice/__main__.py
"""Sieves lines of standard input: python -m sluice PATTERN."""

import re
import sys

from sluice.reader import lines


def main():
    """Print the lines that match a regular expression."""
    wanted = re.compile(sys.argv[1])
    for line in lines(sys.stdin):
        if wanted.search(line):
            print(line)


if __name__ == "__main__":
    main()
@ tests/test_sample.py
from collections import Counter

from sluice.sample import sample


def test_chances():
    drawn = Counter(sample("abcdefghij", 5)[0] for _ in range(1_000))
    most = max(drawn.values())
    assert most < 530
@ native/Makefile
CFLAGS = -O2

libriffle.so: riffle.c riffle.h
	$(CC) $(CFLAGS) -fPIC -shared -o $@ riffle.c
@ native/riffle.h
#ifndef RIFFLE_H
#define RIFFLE_H

#include <stddef.h>

/* Finds the line ends of a block; `ends` may be NULL to only count them. */
size_t riffle_ends(const char *block, size_t size, size_t *ends, size_t room);

#endif
@ native/riffle.c
#include "riffle.h"

#include <string.h>

/* Writes where the line ends of a block are, and returns how many. */
size_t riffle_ends(const char *block, size_t size, size_t *ends, size_t room)
{
    const char *at = block;
    size_t found = 0;

    (void)room;
    while ((at = memchr(at, '\n', size)) != NULL) {
        ends[found++] = (size_t)(at - block);
        at++;
    }
    return found;
}
'''),
    "src/sluice/console.py": _CONSOLE.replace("\n", "\r\n").encode(),
    "src/sluice/units.py": _UNITS.encode(),
}
"""The first version of each, by path; one has Windows line ends, one no newline at its end."""

REPAIRS: Mapping[str, Work] = {
    "Yield every window and the last block": Work(
        (
            diff("""
@ src/sluice/window.py
         held.append(row)
-        if len(held) > size:
+        if len(held) == size:
             yield tuple(held)
@ src/sluice/window.py
             yield tuple(block)
             block = []
+    if block:
+        yield tuple(block)
"""),
        )
    ),
    "Read annotations late": Work(
        (
            diff("""
@ src/sluice/limits.py
+from __future__ import annotations
+
 from dataclasses import dataclass
"""),
        ),
        squash=True,
    ),
    "Draw the rule as wide as the table": Work(
        (
            edit(
                "src/sluice/console.py",
                'return "-" * sum(widths)\r\n',
                'return "-+-".join("-" * width for width in widths)\r\n',
            ),
        )
    ),
    "Read sizes without a unit": Work(
        (
            edit(
                "src/sluice/units.py",
                "    number, unit = text[:-1], text[-1]\n    return int(number) << _BITS[unit]",
                "    if text[-1:].isdigit():\n        return int(text)\n"
                "    return int(text[:-1]) << _BITS[text[-1]]",
            ),
        )
    ),
    "Stay inside of the block and of the room for ends": Work(
        (
            diff(r"""
@ native/riffle.c
     const char *at = block;
+    const char *end = block + size;
     size_t found = 0;

-    (void)room;
-    while ((at = memchr(at, '\n', size)) != NULL) {
+    while (found < room && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
"""),
        )
    ),
    "Rename nuget to nugget and keep the earliest of equals": Work(
        (
            together(
                move("src/sluice/nuget.py", "src/sluice/nugget.py"),
                diff("""
@ src/sluice/nugget.py
-    for row in rows:
-        heapq.heappush(heap, (key(row), row))
+    for index, row in enumerate(rows):
+        heapq.heappush(heap, (key(row), -index, row))
@ src/sluice/nugget.py
-    return [row for _, row in sorted(heap, reverse=True)]
+    return [row for _, _, row in sorted(heap, reverse=True)]
"""),
            ),
        )
    ),
    "Give all rows the same chance": Work(
        (edit("src/sluice/sample.py", "randrange(index)", "randrange(index + 1)"),), squash=True
    ),
    "End quietly when nobody reads on": Work(
        (
            diff("""
@ src/sluice/__main__.py
+import os
 import re
 import sys
@ src/sluice/__main__.py
 if __name__ == "__main__":
-    main()
+    try:
+        main()
+        sys.stdout.flush()
+    except BrokenPipeError:
+        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
+        sys.exit(141)
"""),
        )
    ),
    "Add a reader of JSON Lines": Work(
        (
            diff('''
@ src/sluice/jsonl.py
+"""Reads records from JSON, one a line."""
+
+import json
+
+from sluice.reader import lines
+
+
+def records(stream):
+    """Yield the objects of a stream; raise ValueError that names the line of what is none."""
+    for number, line in enumerate(lines(stream), 1):
+        if not line.strip():
+            continue
+        try:
+            yield json.loads(line)
+        except ValueError as error:
+            raise ValueError(f"line {number} is no JSON: {error}") from error
'''),
        ),
        squash=True,
    ),
    "Evaluate predicates that are texts": Work(
        (
            diff('''
@ src/sluice/sieve.py
 """Keeps the rows that predicates want."""
+
+
+def written(text):
+    """Return the predicate that a text tells."""
+    code = compile(text, "predicate", "eval")
+    return lambda row: eval(code, {}, row)
'''),
        )
    ),
    "Say that riffle_ends needs room": Work(
        (
            edit(
                "native/riffle.h",
                "; `ends` may be NULL to only count them. */",
                "; `ends` has room for `room` of them. */",
            ),
        )
    ),
    "Draw with a seed in the test of sample": Work(
        (
            diff("""
@ tests/test_sample.py
-    drawn = Counter(sample("abcdefghij", 5)[0] for _ in range(1_000))
+    drawn = Counter(sample("abcdefghij", 5, seed)[0] for seed in range(1_000))
"""),
        )
    ),
    "DOC: name the files that can be read": Work(
        (
            diff("""
@ README.md
 Sieve streams of records with little memory.
+Files may be plain text or packed with gzip.
"""),
        )
    ),
    "Tell which Python is needed": Work(
        (
            diff("""
@ pyproject.toml
 version = "0.3"
+requires-python = ">=3.9"
"""),
        ),
        squash=True,
    ),
    "Leave no-break spaces alone": Work(
        (
            diff(r'''
@ src/sluice/util.py
 """Helps with texts."""
+
+import re
@ src/sluice/util.py
-    return " ".join(text.split())
+    return re.sub(r"[ \t\r\n]+", " ", text).strip(" ")
'''),
        )
    ),
}
"""What is done under each title."""

"""What the pull requests of the made-up library `sluice` change in its code."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from .changes import Work, diff, edit, move, remove, together, write
from .sluice_code import PARTS, SPECIAL
from .sluice_repairs import REPAIRS


def work_on(title: str, number: int, commits: int) -> Work:
    """Return what is done under a title; where nothing is told, a note with each commit."""
    for works in (WORKS, REPAIRS):
        if title in works:
            return works[title]
    names = (f"docs/notes/{number}-{index}.md" for index in range(commits))
    return Work(tuple(write(name, f"# {title}\n".encode()) for name in names))


def _fix(text: str, *, squash: bool = False, behind: int = 0) -> Work:
    """Return work of two commits: the files under `src/`, then those under `tests/`."""
    sections = ["@ " + part for part in text.lstrip().removeprefix("@ ").split("\n@ ")]
    groups = groupby(sections, key=lambda section: section.startswith("@ tests/"))
    return Work(tuple(diff("\n".join(parts)) for _, parts in groups), squash, behind)


_LICENCE = "# Copyright the sluice authors\n# SPDX-License-Identifier: MIT\n"

SECOND = diff("""
@ README.md
 Sieve streams of records with little memory.
+
+See docs/tutorial.md.
""")
"""The second commit, so that there is history to branch off from."""

RELEASE = edit("docs/changes.txt", "0.3 Sieves", "0.3 Sieves, for good")
"""What a release branch begins with."""

WORKS: Mapping[str, Work] = {
    "Keep a last line without newline": _fix(r"""
@ src/sluice/reader.py
         yield from whole
+    if rest:
+        yield rest
@ tests/test_reader_1.py
+import io
+
+from sluice import reader
+
+
+def test_last_line():
+    assert list(reader.lines(io.StringIO("a\nb"))) == ["a", "b"]
"""),
    "Strip the byte-order mark from headers": _fix(r"""
@ src/sluice/header.py
-    return [name.strip() for name in line.split(",")]
+    return [name.strip() for name in line.removeprefix("\ufeff").split(",")]
@ tests/test_header_3.py
+from sluice import header
+
+
+def test_mark():
+    assert header.names("\ufeffa,b\n") == ["a", "b"]
"""),
    "Apply all predicates": _fix("""
@ src/sluice/sieve.py
-        for wants in predicates:
-            if wants(row):
-                yield row  # as it came
-            break
+        if all(wants(row) for wants in predicates):
+            yield row  # as it came
@ tests/test_sieve_5.py
+from sluice.sieve import sieve
+
+
+def test_two_predicates():
+    assert list(sieve(range(9), lambda n: n > 3, lambda n: n < 6)) == [4, 5]
"""),
    "Count records, not bytes": _fix(
        '''
@ src/sluice/progress.py
-        self.done += len(record)
+        self.saw_many([record])
+
+    def saw_many(self, records):
+        """Count several records."""
+        self.done += len(records)
@ tests/test_progress_7.py
+from sluice.progress import Progress
+
+
+def test_counts_records():
+    progress = Progress()
+    progress.saw("abc")
+    assert progress.done == 1
+    progress.saw_many(["d", "ef"])
+    assert progress.done == 3
''',
        squash=True,
    ),
    "Return nothing for empty streams": _fix("""
@ src/sluice/reader.py
-    names = next(found).split(",")
+    first = next(found, None)
+    if first is None:
+        return
+    names = first.split(",")
@ tests/test_reader_9.py
+import io
+
+from sluice import reader
+
+
+def test_empty():
+    assert list(reader.table(io.StringIO())) == []
"""),
    "Remove temporary files on interrupt": _fix(
        """
@ src/sluice/scratch.py
-    except Exception:
-        os.remove(path)
-        raise
-    else:
+    finally:
         os.remove(path)
@ tests/test_scratch_11.py
+import os
+
+from sluice.scratch import scratch
+
+
+def test_interrupt():
+    try:
+        with scratch() as path:
+            raise KeyboardInterrupt
+    except KeyboardInterrupt:
+        assert not os.path.exists(path)
""",
        behind=1,
    ),
    "Sort stably": _fix(
        """
@ src/sluice/order.py
     heap = []
     for stream in streams:
         for row in stream:
-            heapq.heappush(heap, (key(row), row))
+            heapq.heappush(heap, (key(row), len(heap), row))
@ tests/test_order_13.py
+from sluice.order import merged
+
+
+def test_equal_keys():
+    rows = merged([["b1"], ["a1"]], key=lambda row: row[1])
+    assert list(rows) == ["b1", "a1"]
""",
        behind=2,
    ),
    "Read gzip streams once": _fix(r"""
@ src/sluice/reader.py
 import gzip
+import io
@ src/sluice/reader.py
-    with open(path, "rb") as file:
-        packed = file.read().startswith(b"\x1f\x8b")
-    return gzip.open(path, "rt") if packed else open(path)
+    file = open(path, "rb")
+    if file.peek(2).startswith(b"\x1f\x8b"):
+        file = gzip.GzipFile(fileobj=file)
+    return io.TextIOWrapper(file)
@ tests/test_reader_15.py
+import gzip
+
+from sluice import reader
+
+
+def test_reads_once(monkeypatch, tmp_path):
+    monkeypatch.delattr(gzip, "open")
+    path = tmp_path / "a.gz"
+    path.write_bytes(gzip.compress(b"a\n"))
+    with reader.opened(path) as file:
+        assert list(reader.lines(file)) == ["a"]
"""),
    "Keep time zones": _fix("""
@ src/sluice/parquet.py
-        return value.replace(tzinfo=timezone.utc)
+        return value.astimezone(timezone.utc)
@ tests/test_parquet_17.py
+from datetime import datetime
+
+from sluice.parquet import prepared
+
+
+def test_keeps_the_moment():
+    noon = datetime.fromisoformat("2023-01-01T12:00:00+02:00")
+    assert prepared(noon) == noon
"""),
    "Mend tutorial links": Work(
        (edit("docs/tutorial.md", "example.org/old/one", "example.org/one"),), squash=True
    ),
    "Use less memory": _fix("""
@ src/sluice/columns.py
-    columns = list(zip(*rows))
-    return [max(len(text) for text in column) for column in columns]
+    found = []
+    for row in rows:
+        longest = found or [0] * len(row)
+        found = [max(old, len(text)) for old, text in zip(longest, row)]
+    return found
"""),
    "Mention a keyword in a code span": Work((edit("README.md", "See", "Do see"),)),
    "Mention a keyword in a fence": Work((edit("docs/tutorial.md", "# Tut", "# A tut"),)),
    "Mention a keyword in an HTML comment": Work(
        (edit("src/sluice/sieve.py", "  # as it came", "  # unchanged"),)
    ),
    "Mention a keyword in a quotation": _fix("""
@ src/sluice/order.py
+    # This holds everything at once.
     heap = []
"""),
    "Tidy imports": _fix("""
@ src/sluice/scratch.py
-import tempfile
 import os
+import sys
+import tempfile
 from contextlib import contextmanager
-import sys
"""),
    "Backport: globs": _fix('''
@ src/sluice/sieve.py
 """Keeps the rows that predicates want."""
+
+from fnmatch import fnmatch
@ src/sluice/sieve.py
             break
+
+
+def matching(pattern):
+    """Return a predicate for texts that match a glob."""
+    return lambda text: fnmatch(text, pattern)
'''),
    "Read from FTP": _fix('''
@ src/sluice/ftp.py
+"""Reads from FTP, some day."""
+
+import ftplib
'''),
    "Read from HTTP": Work(
        (
            diff('''
@ src/sluice/web.py
+"""Reads from the web."""
+
+from urllib.request import urlopen
+
+
+def fetched(url):
+    """Yield the lines behind an address."""
+    with urlopen(url) as reply:
+        for line in reply:
+            yield line.decode()
'''),
        ),
        squash=True,
    ),
    "Update ruff to 0.14": Work((edit("pyproject.toml", "ruff==0.13", "ruff==0.14"),)),
    "Last words": Work((edit("README.md", "# sluice\n", "# sluice\n\nFarewell.\n"),)),
    "Rearrange the files": Work(
        (
            together(
                move("doc/guide.md", "docs/guide.md"),
                edit("docs/guide.md", "with pip", "with pip or uv"),
                remove("setup.py"),
                write("docs/logo.png", b"\x89PNG\r\n\x1a\n" + bytes(range(64))),
                edit(SPECIAL, "hard", "very hard"),
            ),
        )
    ),
    "Spelling": Work((edit("src/sluice/errors.py", "recieved", "received"),)),
    "Rewrite in another language": Work(
        (
            together(
                write("Cargo.toml", b'[package]\nname = "sluice"\nversion = "0.3.0"\n'),
                write("src/lib.rs", b"pub fn sieve() {\n    todo!()\n}\n"),
                edit("src/sluice/reader.py", "one a line.", "one a line. Slowly."),
            ),
        )
    ),
    "Version is stale": Work((edit("src/sluice/__init__.py", '"0.2"', '"0.3"'),)),
    "Still open": Work((edit("src/sluice/progress.py", "far one is", "far along one is"),)),
    "Add licence headers": Work(
        tuple(
            together(*(edit(path, "PART", _LICENCE + "PART") for path in PARTS[start : start + 40]))
            for start in (0, 40, 80)
        )
    ),
    "Spring cleaning": Work(
        (
            together(
                edit("docs/changes.txt", "Nothing", "Almost nothing"),
                edit("scripts/sieve.bat", "sluice %1\r\n", "sluice %*\r\n"),
                edit("src/sluice/corner.py", "if row is not None", "if row"),
                remove("src/sluice/legacy.py"),
                move("src/sluice/util.py", "src/sluice/text.py"),
                write("tests/data/dust.gz", b"\x1f\x8b\x08" + bytes(7) + b"\x03" + bytes(9)),
            ),
        ),
        behind=1,
    ),
}
"""What is done under each title; a stale version is mended without a pull request."""

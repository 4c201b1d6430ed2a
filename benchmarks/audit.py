"""What `goldpan audit` takes for many rows, of the findings that run no test.

The rows are of one repository of files of Python's own library. Each has a commit of its own before
the fix, which adds a function with a message to a file, and a test that calls it and expects the
message. One row in ten has the fix in its issue, one in three names the file, and one in two the
function. Eight models solve each row by chance::

    python -m benchmarks.audit [--rows 10000]

It fails where that takes more than the limit, five minutes for 10,000 rows. Some minutes.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from goldpan.audit.audit import audit_dataset
from goldpan.audit.finding import FindingName
from goldpan.audit.rows import read_rows
from goldpan.audit.stored_runs import Outcomes, find_measure
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.git.clone import clone

_REPO = "o/n"
_FILES, _MODELS = 400, 8
_FINDINGS: tuple[FindingName, ...] = ("solution-in-issue", "place-in-issue", "demanding-tests")
_LIMIT = 300 / 10_000
"""Seconds a row."""


def write_rows(path: Path, repository: Path, count: int) -> None:
    """Write rows shaped as SWE-bench's, and the history that they are of."""
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("[a-z]*.py"))[:_FILES]
    files = {f"lib/{file.name}": file.read_text("utf-8", "replace") for file in library}
    subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
    marks = repository / "marks"
    with (repository / "stream").open("wb") as stream:
        for number, row in enumerate(_rows(files, count), 1):
            stream.write(
                f"commit refs/heads/main\nmark :{number}\ncommitter a <a@b> {number} +0000\n"
                f"data 0\n".encode()
            )
            for name in files if number == 1 else [row["last"]]:
                content = files[name].encode() if number == 1 else row["content"].encode()
                stream.write(f"M 644 inline {name}\ndata {len(content)}\n".encode() + content)
                stream.write(b"\n")
            stored = {key: row[key] for key in ("issue", "patch", "test_patch")}
            with path.open("ab") as rows:
                rows.write(orjson.dumps({"base": number, **stored}) + b"\n")
    with (repository / "stream").open("rb") as stream:
        command = ["git", f"--git-dir={repository}", "fast-import", "--quiet"]
        subprocess.run([*command, f"--export-marks={marks}"], stdin=stream, check=True)
    commits = dict(line.split() for line in marks.read_text().splitlines())
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(
        b"".join(
            orjson.dumps(
                {
                    "repo": _REPO,
                    "instance_id": f"o__n-{number}",
                    "base_commit": commits[f":{row['base']}"],
                    "problem_statement": row["issue"],
                    "patch": row["patch"],
                    "test_patch": row["test_patch"],
                    "FAIL_TO_PASS": "[]",
                }
            )
            + b"\n"
            for number, row in enumerate(lines, 1)
        )
    )


def _rows(files: dict[str, str], count: int) -> Iterator[dict[str, str]]:
    """Yield rows; each fix is applied to `files` after its row was yielded."""
    draw = random.Random(0)
    words = sorted({word for text in files.values() for word in text.split() if word.isalpha()})
    names, last = sorted(files), ""
    for number in range(count):
        name = names[number % len(names)]
        function, message = f"{draw.choice(words).lower()}_of_{number}", draw.sample(words, 5)
        fix = [
            "",
            f"def {function}(value, limit):",
            "    if value > limit:",
            f"        raise ValueError('{' '.join(message)}')",
            f"    return value * limit + {1000 + number}",
        ]
        lines = files[name].rstrip("\n").split("\n")
        head = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n"
        at = len(lines) - 2
        hunk = f"@@ -{at},3 +{at},{3 + len(fix)} @@\n"
        added = "".join(f"+{line}\n" for line in fix)
        patch = head + hunk + "".join(f" {line}\n" for line in lines[-3:]) + added
        test = f"tests/test_{number}.py"
        body = [
            f"from lib.{Path(name).stem} import {function}",
            "def test_it():",
            f"    assert {function}(1, 2) == {1002 + number}",
            f"    with raises(ValueError, match='{' '.join(message)}'):",
            f"        {function}(3, 2)",
        ]
        tests = f"diff --git a/{test} b/{test}\nnew file mode 100644\n--- /dev/null\n+++ b/{test}\n"
        tests += f"@@ -0,0 +1,{len(body)} @@\n" + "".join(f"+{line}\n" for line in body)
        issue = [" ".join(draw.choices(words, k=150))]
        issue += [f"It is in {name}."] * (number % 3 == 0) + [f"`{function}()`"] * (number % 2)
        issue += ["```python", *fix, "```"] * (number % 10 == 0)
        yield {
            "issue": "\n".join(issue),
            "patch": patch,
            "test_patch": tests,
            "last": last,
            "content": files.get(last, ""),
        }
        files[name], last = "\n".join([*lines, *fix, ""]), name


def main() -> None:
    """Print what the rows take, by finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    count = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        rows, workspace = Path(folder) / "rows.jsonl", WorkspaceLayout(Path(folder) / "workspace")
        write_rows(rows, Path(folder) / "source.git", count)
        clone(workspace, _REPO, Reporter(quiet=True), source=Path(folder) / "source.git")
        took, spent = 0.0, 0.0
        for name in _FINDINGS:
            clock, processor = time.monotonic(), time.process_time()
            result = audit_dataset(workspace, rows, Reporter(quiet=True), findings=(name,))
            took, spent = time.monotonic() - clock, spent + time.process_time() - processor
            verdicts = dict(result.findings[0].verdicts)
            print(f"{name}: {took:,.0f} s by the clock for {count:,} rows; {verdicts}", flush=True)
        draw = random.Random(0)
        keys = [row.key for row in read_rows(rows)]
        solved = {f"m{n}": {key: draw.random() < 0.5 for key in keys} for n in range(_MODELS)}
        processor = time.process_time()
        outcomes = Outcomes(solved, {}, "")
        found = sum(find_measure(row, outcomes).verdict == "found" for row in read_rows(rows))
        print(f"measures-nothing: {time.process_time() - processor:,.0f} s, {found:,} found")
        spent += time.process_time() - processor
        limit = _LIMIT * count
        print(f"all: {spent:,.0f} s of one processor; the limit is {limit:,.0f} s")
        sys.exit(spent > limit)


if __name__ == "__main__":
    main()

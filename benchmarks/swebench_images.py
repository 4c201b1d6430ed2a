r"""Images and the columns beyond the twelve that SWE-bench's own harness needs for an export.

For a pure Python project whose packages lie in `src`, and a base image with Python, git, pytest
and what the project imports: an image has the files of the base commit alone, as one commit. After
that, with the package `swebench` and `DOCKER_HOST` of a daemon or of `podman system service`,

    python -m swebench.harness.run_evaluation -d FOLDER/rows.jsonl -s test -p gold -id gold
    python -m swebench.harness.run_evaluation -d FOLDER/rows.jsonl -s test \
        -p FOLDER/unrelated.jsonl -id unrelated

shows that the merged fixes resolve their instances, and that a patch which adds a file does not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from goldpan.code.patch import split_patch
from goldpan.execution.checkout import check_out
from goldpan.git.process import environment

_IMAGE = (
    "FROM {base}\nCOPY testbed /testbed\nRUN git config --system --add safe.directory /testbed\n"
)
_END = "END_OF_THE_TEST_PATCH"
_EVALUATE = f"""#!/bin/bash
set -x
cd /testbed
git apply --whitespace=nowarn - <<'{_END}'
{{patch}}{_END}
: '>>>>> Start Test Output'
PYTHONPATH=src python3 -m pytest -rA -p no:cacheprovider {{files}}
: '>>>>> End Test Output'
"""
_UNRELATED = (
    "diff --git a/unrelated.txt b/unrelated.txt\nnew file mode 100644\n--- /dev/null\n"
    "+++ b/unrelated.txt\n@@ -0,0 +1 @@\n+nothing\n"
)


def build_image(row: dict[str, Any], clone: Path, base: str, engine: str, folder: Path) -> str:
    """Make the image of an instance, and return its name."""
    testbed = folder / "testbed"
    testbed.mkdir(parents=True)
    check_out(clone, row["base_commit"], testbed, folder / "index")
    author = ("-c", "user.name=base", "-c", "user.email=base@localhost")
    for arguments in (("init", "-q"), ("add", "--all"), (*author, "commit", "-qm", "base")):
        _run("git", "-C", str(testbed), *arguments)
    (folder / "Dockerfile").write_text(_IMAGE.format(base=base), encoding="utf-8")
    name = f"localhost/goldpan-{row['instance_id'].lower()}:latest"
    _run(engine, "build", "--tag", name, str(folder))
    return name


def evaluation(test_patch: str) -> str:
    """Return the script that brings the tests and runs them between the harness's marks."""
    files = [part.path for part in split_patch(test_patch) if part.path.endswith(".py")]
    return _EVALUATE.format(patch=test_patch, files=" ".join(files))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env=environment())


def main() -> None:
    """Write rows.jsonl and unrelated.jsonl for an export, and build an image a row."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("export", type=Path, help="test.jsonl of goldpan export --to swe-bench")
    parser.add_argument("clone", type=Path)
    parser.add_argument("base", help="the base image")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", default="docker", choices=("docker", "podman"))
    options = parser.parse_args()
    rows = list(map(json.loads, options.export.read_text(encoding="utf-8").splitlines()))
    patches = []
    for row in rows:
        folder = options.folder / row["instance_id"]
        row["image"] = build_image(row, options.clone, options.base, options.engine, folder)
        row["eval_script"] = evaluation(row["test_patch"])
        row |= {"log_parser": "parse_log_pytest", "eval_type": "pass_and_fail"}
        answer = {"model_name_or_path": "unrelated", "model_patch": _UNRELATED}
        patches.append({"instance_id": row["instance_id"], **answer})
    for name, lines in (("rows", rows), ("unrelated", patches)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (options.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

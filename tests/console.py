"""The command line as people meet it, where no token, no `gh` and no network is to be had."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.program import MAIN, Done, goldpan

PAN = "prospector/pan"
TOKEN = "ghp_SecretOfTheMountain0042"
NOWHERE = "http://127.0.0.1:9"
HIDDEN = {"GITHUB_TOKEN", "GH_TOKEN", "GITHUB_API_URL", "GOLDPAN_WORKSPACE", "FORCE_COLOR"}
ENTRY = {
    "number": 1,
    "title": "\x1b[31mred \x9b1m [bold]loud[/bold] [/nope] \x07",
    "state": "open",
    "created_at": "2024-03-01T10:00:00Z",
    "updated_at": "2024-03-01T10:00:00Z",
}


def run(*arguments: str | Path, folder: Path, program: str = MAIN, **variables: str) -> Done:
    """Run a console script where no token, no `gh` and no network is to be had."""
    inherited = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    (folder / "tmp").mkdir(exist_ok=True)
    own = {"PATH": str(folder), "TMPDIR": str(folder / "tmp"), "GOLDPAN_API_URL": NOWHERE}
    done = goldpan(
        *arguments, folder=folder, environment={**inherited, **own, **variables}, program=program
    )
    assert "Traceback" not in done.out + done.err
    for trace in (folder / "tmp").glob("goldpan-error-*"):  # which a defect leaves behind
        trace.unlink()
        assert done.code == 1
    return done


def sentence(done: Done, code: int, *words: str) -> None:
    """Check that a run ended with one line on stderr: what is wrong, and what to do."""
    assert done.code == code, done.err
    (line,) = done.err.splitlines()
    assert re.fullmatch(r"Error: .+\. .+\.", line)
    assert "Goldpan itself failed" not in line
    assert [word for word in words if word not in line] == []

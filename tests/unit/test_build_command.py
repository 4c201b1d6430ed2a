"""The command that builds a dataset as it was."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from goldpan.datasets.provenance import build_command


@pytest.mark.parametrize(("texts", "said"), [("before-fix", True), ("as-mined", False)])
def test_it_names_the_workspace_and_the_texts(tmp_path: Path, texts: str, said: bool) -> None:
    content = {
        "goldpan": {"format": 1},
        "files": {},
        "family": "code-edit",
        "profile": {"name": "default"},
        "sources": [{"repo": "prospector/sluice", "rules": "default"}],
        "settings": {"family": "code-edit", "seed": 0, "split": "none", "texts": texts},
    }
    (tmp_path / "provenance.json").write_bytes(orjson.dumps(content))
    command = build_command(tmp_path, Path("the lab"), Path("gold.csv"))
    assert command.endswith("--gold gold.csv --workspace 'the lab'")
    assert ("--texts before-fix" in command) == said

"""What lies in a folder counts where the user trusts it: no program runs and no token leaves."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest

from goldpan import load
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.settings.config import CONFIG_FILE
from goldpan.core.storage.sealed import sealed_json
from goldpan.core.values import ExportName
from goldpan.datasets.examples import ISSUE_RESOLUTION
from goldpan.datasets.provenance import read_provenance
from tests.console import run
from tests.demo_workspace import attempt, goldpan, make_demo
from tests.examples import write
from tests.integration.test_export import fix
from tests.mining import SLUICE
from tests.planning import local_github

PLUGIN = """\
from pathlib import Path
Path(__file__).with_name("ran").touch()
from goldpan.plugins import Rules, register
register(Rules("mine", ("keyword",)))
"""
READERS = (
    ("status",),
    ("check",),
    ("funnel",),
    ("why", f"{SLUICE}#1"),
    ("trace", f"qa:{SLUICE}#56"),
    ("report",),
    ("config", "show"),
    ("evaluate", "models"),
    ("filter", "--list"),
    ("tasks", "list"),
)
"""Commands that need no plugin to show what is there."""


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """Return a workspace as it came from somebody else: its settings file names a program."""
    root = make_demo(tmp_path / "lab")
    (root / "helper.py").write_text(PLUGIN, encoding="utf-8")
    (root / CONFIG_FILE).write_text('plugins = ["helper.py"]\n', encoding="utf-8")
    return root


def ran(root: Path) -> bool:
    """Return whether the plugin ran since this was last asked."""
    marks = list(root.rglob("ran"))
    for mark in marks:
        mark.unlink()
    return bool(marks)


def test_no_program_runs_before_the_workspace_is_trusted(stranger: Path) -> None:
    common = ("--workspace", str(stranger))
    for command in READERS:
        goldpan(*command, *common, cwd=stranger)
        assert not ran(stranger), command
    for refused in (("pair",), ("filter",), ("build", "qa"), ("review", "--model", "m")):
        done = attempt(*refused, *common)
        assert done.code == 2
        assert "is not trusted, and its goldpan.toml says plugins = helper.py" in done.err
        assert f"goldpan trust {stranger}" in done.err
        assert not ran(stranger), refused
    assert "is not trusted" in attempt("doctor", *common).out


def test_a_trusted_workspace_runs_its_plugins_until_they_change(stranger: Path) -> None:
    common = ("--workspace", str(stranger))
    assert "trusted: plugins = helper.py" in goldpan("trust", str(stranger))
    assert not ran(stranger)
    goldpan("pair", "--rules", "mine", *common)
    assert ran(stranger)
    (stranger / "helper.py").write_text(PLUGIN + "# changed\n", encoding="utf-8")
    done = attempt("pair", *common)
    assert (done.code, ran(stranger)) == (2, False)
    assert "changed since you trusted it" in done.err
    for names in (str(stranger), f"elsewhere, {stranger}"):
        goldpan("pair", "--rules", "mine", *common, GOLDPAN_TRUST=names)
        assert ran(stranger)
    copy = shutil.copytree(stranger, stranger.with_name("copy"))
    assert attempt("pair", "--workspace", str(copy)).code == 2


def test_a_name_that_a_plugin_would_bring_says_so(stranger: Path) -> None:
    done = attempt("tasks", "show", "severity", "--workspace", str(stranger))
    assert done.code == 2
    assert "so that its plugins were left out. Read the file, then run" in done.err
    assert f"goldpan trust {stranger}" in done.err
    assert not ran(stranger)


def test_a_workspace_that_init_makes_is_trusted_as_it_is(tmp_path: Path) -> None:
    goldpan("init", "lab", cwd=tmp_path)
    file = tmp_path / "lab" / CONFIG_FILE
    file.write_text('api_url = "http://127.0.0.1:9"\n', encoding="utf-8")
    done = run("mine", "--repo", SLUICE, "--workspace", "lab", folder=tmp_path, GOLDPAN_API_URL="")
    assert done.code == 2
    assert "lab changed since you trusted it, and its goldpan.toml says api_url = " in done.err


def test_no_server_of_a_stranger_is_asked(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    root.mkdir()
    with local_github(tmp_path) as twin:
        (root / CONFIG_FILE).write_text(f'api_url = "{twin.url}"\n', encoding="utf-8")
        words = ("mine", "--repo", SLUICE, "--workspace", str(root), "--json")
        environment = {"GOLDPAN_API_URL": "", "GITHUB_TOKEN": "token-of-a-test"}
        done = run(*words, folder=tmp_path, **environment)
        assert done.code == 2
        assert json.loads(done.err)["error"]["remedy"].endswith(f"goldpan trust {root}")
        assert not twin.requests
        cloned = run("clone", "--repo", SLUICE, "--workspace", str(root), folder=tmp_path)
        assert cloned.code != 0
        assert not twin.requests
        run("trust", str(root), folder=tmp_path)
        assert run(*words, folder=tmp_path, **environment).code == 0
        assert twin.requests


FILE = "data/test-00000-of-00001.parquet"
TAMPERED: list[dict[str, Any]] = [
    {},
    {"family": "../../evil"},
    {"files": ["data/../../evil-00000-of-00001.parquet", FILE]},
    {"files": [FILE.replace("test", "..%2f..%2fevil")]},
]


@pytest.mark.parametrize("tampered", TAMPERED)
@pytest.mark.parametrize("form", get_args(ExportName))
def test_a_hostile_dataset_writes_nothing_elsewhere_and_runs_nothing(
    tmp_path: Path, form: ExportName, tampered: dict[str, Any]
) -> None:
    rows = [fix(1), fix(2, instance_id="../../evil"), fix(3, repo="../..", owner="..", name="..")]
    data = write(tmp_path / "lab", ISSUE_RESOLUTION, rows).directory
    facts = read_provenance(data)
    if "files" in tampered:
        tampered = {"files": dict.fromkeys(tampered["files"], facts["files"][FILE])}
    (data / "provenance.json").write_bytes(sealed_json({**facts, **tampered}))
    before = sorted(tmp_path.rglob("*"))
    with suppress(DatasetError, UsageError):
        load(data).export(to=form, output=tmp_path / "out")
    after = [path for path in sorted(tmp_path.rglob("*")) if tmp_path / "out" not in path.parents]
    assert [path for path in after if path != tmp_path / "out"] == before
    assert not list(tmp_path.parent.glob("*evil*"))

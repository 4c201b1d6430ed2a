"""Plugins are found, do what Goldpan's own parts do, and are recorded with what they made."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.demo_workspace import attempt, goldpan, goldpan_json, make_sluice, offline
from tests.places import ROOT, files_below
from tests.program import MAIN

PLUGINS = ROOT / "examples" / "plugins"
REPO = "prospector/sluice"
CODE = str(PLUGINS / "code_blocks.py")
WITH_CODE = 'decide = ["has-code"]\n[has-code]\nlines = 2\n'


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sluice(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def root(demo: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    return shutil.copytree(demo, tmp_path / "lab")


def digest(path: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}


def facts(root: Path, dataset: str) -> Any:
    """Return what a dataset says of how it was made."""
    return json.loads((root / "datasets" / dataset / "provenance.json").read_text())


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_criterion_decides_and_a_changed_one_judges_anew(root: Path, tmp_path: Path) -> None:
    plugin = Path(shutil.copy(PLUGINS / "code_blocks.py", tmp_path))
    profile = write(tmp_path / "with_code.toml", WITH_CODE)
    common = ("--profile", profile, "--workspace", str(root))
    command = ("--plugin", str(plugin), "filter", *common)
    output = goldpan_json(*command)[0]
    (step,) = (step for step in output["issues"]["steps"] if step["decides"])
    assert step["criterion"] == "has-code"
    assert 0 < output["issues"]["kept"] < output["issues"]["rows"] == 68
    assert step["reasons"] == {"no-code": output["issues"]["rows"] - output["issues"]["kept"]}
    assert "has-code" in goldpan_json(*command)[0]["reused"]
    plugin.write_text(plugin.read_text() + "\n# changed\n")
    assert "has-code" in goldpan_json(*command)[0]["judged"]
    goldpan("--plugin", str(plugin), "build", "qa", *common)
    assert facts(root, "qa")["plugins"] == digest(plugin)


def test_verdicts_of_a_plugin_are_read_without_it(root: Path, tmp_path: Path) -> None:
    common = ("--workspace", str(root))
    goldpan("--plugin", CODE, "filter", *common)
    made = []
    for words in (("--plugin", CODE), ()):
        goldpan(*words, "build", "qa", *common)
        made.append(files_below(root / "datasets" / "qa" / "data"))
        assert facts(root, "qa")["plugins"] == digest(Path(CODE))
    assert made[0] == made[1]
    goldpan("report", "--output", str(tmp_path / "report.html"), *common)
    goldpan("review", "--model", "any", "--dry-run", *common)
    assert "has-code" in goldpan("funnel", *common)
    assert "has-code" not in goldpan("filter", *common)


def test_where_a_plugin_is_needed_the_whole_command_is_told(root: Path, tmp_path: Path) -> None:
    profile = write(tmp_path / "with_code.toml", WITH_CODE)
    common = ("--workspace", str(root))
    goldpan("--plugin", CODE, "filter", "--profile", profile, *common)
    for command in (("filter",), ("build", "qa"), ("funnel",), ("report",)):
        line = (*command, "--profile", profile, *common)
        done = attempt(*line)
        assert done.code == 2
        assert "there is no criterion 'has-code'" in done.err
        assert f"If a plugin brings it, run goldpan --plugin FILE.py {' '.join(line)}." in done.err
    goldpan("--plugin", CODE, "build", "qa", "--profile", "with_code", *common)
    for words in (
        "pair --rules with-branches",
        "evaluate run --task issue_titles --model majority",
        "evaluate run --task nlbse23_issue_type --model label-words",
    ):
        done = attempt(*words.split(), *common)
        assert f"If a plugin brings it, run goldpan --plugin FILE.py {words}" in done.err


def test_a_chain_that_needs_a_plugin_is_verified_with_the_command_that_is_told(
    root: Path, tmp_path: Path
) -> None:
    common = ("--workspace", str(root))
    row = "qa:prospector/sluice#56"
    rules = str(PLUGINS / "branch_names.py")
    goldpan("filter", *common)
    goldpan("build", "qa", *common)
    goldpan("--plugin", rules, "pair", "--rules", "with-branches", *common)
    other_pairs = attempt("trace", row, "--verify", *common)
    assert "The whole chain holds." in other_pairs.out, other_pairs.out

    def needs(plugin: str, unknown: int) -> None:
        without = attempt("trace", row, "--verify", *common)
        name = Path(plugin).name
        again = f"Run goldpan --plugin {name} trace '{row}' --verify."
        assert without.code == 3, without.out
        assert " ".join(without.out.split()).count(again) == unknown
        assert "does not hold" not in without.out
        whole = goldpan("--plugin", plugin, "trace", row, "--verify", *common)
        assert "The whole chain holds." in whole

    goldpan("--plugin", CODE, "filter", *common)
    goldpan("build", "qa", *common)
    needs(CODE, 2)
    goldpan("filter", "--rules", "with-branches", *common)
    goldpan("build", "qa", "--rules", "with-branches", *common)
    needs(rules, 4)


def test_a_model_is_run_and_another_version_is_another_run(root: Path, tmp_path: Path) -> None:
    plugin = Path(shutil.copy(PLUGINS / "label_words.py", tmp_path))
    assert "label-words" in goldpan("--plugin", str(plugin), "evaluate", "models")
    command = (
        *("--plugin", str(plugin), "evaluate", "run", "--task", "nlbse23_issue_type"),
        *("--model", "label-words", "--workspace", str(root)),
    )
    assert [each["plugins"] for each in goldpan_json(*command)] == [digest(plugin)]
    plugin.write_text(plugin.read_text() + "\n# changed\n")
    assert [each["plugins"] for each in goldpan_json(*command)] == [digest(plugin)]
    assert len(list((root / "runs/nlbse23_issue_type/label-words").glob("*/result.json"))) == 2
    done = attempt(*command, "--set", "depth=3")
    assert "The model label-words: the key depth is unknown" in done.err


def test_a_dataset_and_its_task(root: Path) -> None:
    plugin = PLUGINS / "issue_titles.py"
    common, brought = ("--workspace", str(root)), ("--plugin", str(plugin))
    assert "issue-titles" in goldpan(*brought, "build", "--help")
    help_ = goldpan(*brought, "build", "issue-titles", "--help")
    assert "goldpan build issue-titles [OPTIONS]" in help_
    build = ("build", "issue-titles", "--split", "random:0.5,0.5", *common)
    assert goldpan_json(*brought, *build)["examples"] == 18
    assert facts(root, "issue-titles")["plugins"] == digest(plugin)
    assert "write its title" in (root / "datasets" / "issue-titles" / "README.md").read_text()
    (made,) = goldpan_json(*brought, "evaluate", "run", "--task", "issue_titles", *common)
    assert made["plugins"] == digest(plugin)
    assert "There is no dataset 'issue-titles'" in attempt(*build).err


def test_a_pairing_signal(root: Path) -> None:
    plugin = PLUGINS / "branch_names.py"
    common = ("--rules", "with-branches", "--workspace", str(root))
    (output,) = goldpan_json("--plugin", str(plugin), "pair", *common)
    assert output["by_signal"]["branch_name"] == 9
    assert output["pairs"] == 32
    lineage = json.loads((root / "tables" / REPO / "pair.with-branches.json").read_text())
    assert lineage["plugins"] == digest(plugin)
    assert "branch_name" in goldpan("why", f"{REPO}#1", *common)
    goldpan("filter", *common)
    goldpan("build", "code-edit", *common)
    assert facts(root, "code-edit")["plugins"] == digest(plugin)
    assert "branch_name" in facts(root, "code-edit")["pairing"]["with-branches"]["signals"]
    goldpan("build", "code-edit", "--workspace", str(root))
    assert [source["rules"] for source in facts(root, "code-edit")["sources"]] == ["default"]
    assert "There is no set of pairing rules 'with-branches'" in attempt("pair", *common).err


WORKERS = """
import pyarrow as pa
from goldpan.core.parallel.workers import map_in_sandbox
from goldpan.plugins import Criterion, NoSettings, register

def is_long(text):
    return len(text) > 100

def judge(repository, settings):
    found = repository.sql("SELECT number AS issue, coalesce(body, '') AS body FROM issues")
    bodies = found["body"].to_pylist()
    keep = list(map_in_sandbox(is_long, bodies, 2, 60, lambda item: None))
    reason = [None if kept else "short" for kept in keep]
    return pa.table({"issue": found["issue"], "keep": keep, "reason": reason})

register(Criterion("long", "issue", "Keeps long ones.", "A test", NoSettings, judge))
"""


def test_processes_that_a_criterion_starts_know_the_plugin(root: Path, tmp_path: Path) -> None:
    plugin = write(tmp_path / "workers.py", WORKERS)
    words = ("--plugin", plugin, "filter", "--workspace", str(root))
    (output,) = goldpan_json(*words, cwd=tmp_path)
    (step,) = (step for step in output["issues"]["steps"] if step["criterion"] == "long")
    assert 0 < step["out"] < 68
    assert step["undecided"] == 0


def test_an_installed_package_that_breaks_is_named(root: Path, tmp_path: Path) -> None:
    about = tmp_path / "nuggets-1.0.dist-info"
    about.mkdir()
    write(about / "METADATA", "Metadata-Version: 2.1\nName: nuggets\nVersion: 1.0\n")
    write(about / "entry_points.txt", "[goldpan.plugins]\nrules = nuggets\n")
    write(tmp_path / "nuggets.py", "1 / 0\n")
    done = subprocess.run(  # a new interpreter, which looks for packages
        [sys.executable, "-c", MAIN, "pair", "--rules", "mine", "--workspace", str(root)],
        env=offline(PYTHONPATH=f"{ROOT / 'src'}:{tmp_path}"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        "The plugin rules of nuggets cannot be imported at line 1: ZeroDivisionError: division by "
        "zero. Fix or uninstall nuggets."
    ) in done.stderr


def test_the_settings_file_names_plugins_for_every_command(root: Path) -> None:
    write(root / "goldpan.toml", 'plugins = ["plugins/label_words.py", "plugins/issue_titles.py"]')
    shutil.copytree(PLUGINS, root / "plugins")
    shutil.copy(PLUGINS / "code_blocks.py", root)
    common = ("--workspace", str(root))
    goldpan("trust", str(root))
    assert "label-words" in goldpan("evaluate", "models", *common)
    assert "issue-titles" in goldpan("build", "--help", GOLDPAN_WORKSPACE=str(root))
    assert "issue-titles" not in goldpan("build", "--help")
    goldpan("filter", *common)
    assert goldpan_json("build", "issue-titles", *common)["examples"] == 18
    assert facts(root, "issue-titles")["plugins"] == digest(PLUGINS / "issue_titles.py")
    shown = goldpan_json("config", "show", *common)
    (plugins,) = (setting for setting in shown if setting["name"] == "plugins")
    assert plugins["source"] == str(root / "goldpan.toml")
    write(root / "goldpan.toml", 'plugins = ["code_blocks.py"]')
    goldpan("trust", str(root))
    assert "has-code" in goldpan("filter", "--list", *common)

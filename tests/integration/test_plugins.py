"""Plugins are found, do what Goldpan's own parts do, and are recorded with what they made."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo_workspace import attempt, goldpan, make_demo, offline
from tests.places import ROOT
from tests.program import MAIN

PLUGINS = ROOT / "examples" / "plugins"
REPO = "prospector/sluice"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def root(demo: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    return shutil.copytree(demo, tmp_path / "lab")


def digest(path: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_criterion_decides_and_a_changed_one_judges_anew(root: Path, tmp_path: Path) -> None:
    plugin = Path(shutil.copy(PLUGINS / "code_blocks.py", tmp_path))
    profile = write(tmp_path / "with_code.toml", 'decide = ["has-code"]\n[has-code]\nlines = 2\n')
    command = ("--plugin", str(plugin), "filter", "--profile", profile, "--json")
    output = json.loads(goldpan(*command, "--workspace", str(root)))[0]
    (step,) = (step for step in output["issues"]["steps"] if step["decides"])
    assert step["criterion"] == "has-code"
    assert 0 < output["issues"]["kept"] < output["issues"]["rows"] == 68
    assert step["reasons"] == {"no-code": output["issues"]["rows"] - output["issues"]["kept"]}
    again = json.loads(goldpan(*command, "--workspace", str(root)))[0]
    assert "has-code" in again["reused"]
    plugin.write_text(plugin.read_text() + "\n# changed\n")
    again = json.loads(goldpan(*command, "--workspace", str(root)))[0]
    assert "has-code" in again["judged"]
    build = ("build", "qa", "--profile", profile, "--workspace", str(root))
    goldpan("--plugin", str(plugin), *build)
    provenance = json.loads((root / "datasets" / "qa" / "provenance.json").read_text())
    assert provenance["plugins"] == digest(plugin)


def test_verdicts_of_a_plugin_are_read_without_it(root: Path, tmp_path: Path) -> None:
    plugin = str(PLUGINS / "code_blocks.py")
    profile = write(tmp_path / "with_code.toml", 'decide = ["has-code"]\n[has-code]\nlines = 2\n')
    common = ("--workspace", str(root))
    qa = root / "datasets" / "qa"
    for choice in ((), ("--profile", profile)):
        goldpan("--plugin", plugin, "filter", *choice, *common)
        made = {}
        for words in (("--plugin", plugin), ()):
            goldpan(*words, "build", "qa", *choice, *common)
            made[words] = {
                path.relative_to(qa): path.read_bytes() for path in qa.rglob("*") if path.is_file()
            }
        assert made["--plugin", plugin] == made[()]
        provenance = json.loads((qa / "provenance.json").read_text())
        assert provenance["plugins"] == digest(PLUGINS / "code_blocks.py")
        page = tmp_path / "report.html"
        goldpan("report", "--output", str(page), *choice, *common)
        goldpan("review", "--model", "any", "--dry-run", *choice, *common)
        for command in (("funnel",), ("filter",)):
            assert "has-code" in goldpan(*command, *choice, *common)
        assert "Keeps issues whose first text shows a block of code." in page.read_text()
    assert goldpan("build", "qa", "--profile", "with_code", *common)
    again = json.loads(goldpan("filter", "--profile", "with_code", "--json", *common))[0]
    assert "has-code" in again["reused"]


def test_where_a_plugin_is_needed_the_whole_command_is_told(root: Path, tmp_path: Path) -> None:
    plugin = PLUGINS / "code_blocks.py"
    path = tmp_path / "with_code.toml"
    profile = write(path, 'decide = ["has-code"]\n[has-code]\nlines = 2\n')
    common = ("--workspace", str(root))
    filtered = ("filter", "--profile", profile, *common)
    done = attempt(*filtered)
    assert done.code == 2
    assert "there is no criterion 'has-code'" in done.err
    assert f"If a plugin brings it, run goldpan --plugin FILE.py {' '.join(filtered)}." in done.err
    goldpan("--plugin", str(plugin), *filtered)
    write(path, 'decide = ["has-code"]\n[has-code]\nlines = 3\n')
    for command in (("filter",), ("build", "qa"), ("funnel",), ("report",)):
        done = attempt(*command, "--profile", profile, *common)
        assert "Profile with_code changed the settings of has-code, which a plugin" in done.err
        assert f"Run goldpan --plugin code_blocks.py filter --profile {profile}." in done.err
    write(path, 'decide = ["has-code"]\n[has-code]\nlines = 2\n')
    license = ("normalize", "--license", "MIT", *common)
    goldpan(*license)  # which changes the tables
    goldpan("pair", *common)
    for command in (("filter",), ("build", "qa")):
        done = attempt(*command, "--profile", profile, *common)
        assert f"Run goldpan --plugin code_blocks.py filter --repo {REPO} --profile" in done.err
    goldpan("--plugin", str(plugin), *filtered)
    goldpan("build", "qa", "--profile", profile, *common)
    unknown: tuple[tuple[tuple[str, ...], str], ...] = (
        (("pair", "--rules", "with-branches"), "pair --rules with-branches"),
        (("evaluate", "run", "--task", "issue_titles", "--model", "majority"), "evaluate run --"),
        (("evaluate", "run", "--task", "nlbse23_issue_type", "--model", "label-words"), "evaluate"),
    )
    for words, part in unknown:
        done = attempt(*words, *common)
        assert f"If a plugin brings it, run goldpan --plugin FILE.py {part}" in done.err


def test_a_chain_that_needs_a_plugin_is_verified_with_the_command_that_is_told(
    root: Path, tmp_path: Path
) -> None:
    common = ("--workspace", str(root))
    row = "qa:prospector/sluice#56"
    rules, criteria = str(PLUGINS / "branch_names.py"), str(PLUGINS / "code_blocks.py")
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
        assert "The whole chain holds." in goldpan(
            "--plugin", plugin, "trace", row, "--verify", *common
        )

    goldpan("--plugin", criteria, "filter", *common)
    goldpan("build", "qa", *common)
    needs(criteria, 2)
    goldpan("filter", "--rules", "with-branches", *common)
    goldpan("build", "qa", "--rules", "with-branches", *common)
    needs(rules, 4)


def test_the_page_can_be_followed_in_its_order(root: Path) -> None:
    shutil.copytree(PLUGINS, root, dirs_exist_ok=True)
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    (profile,) = re.findall(r"^```toml\n(decide.*?)^```", page, re.M | re.S)
    write(root / "with_code.toml", profile)
    commands = re.findall(r"(?:^\$ |`)(goldpan [^`\n]+)", page, re.M)
    plain: tuple[tuple[str, ...], ...] = (
        ("build", "qa"),
        ("build", "code-edit"),
        ("funnel",),
        ("report",),
        ("why", f"{REPO}#1"),
        ("check",),
    )
    ran = 0
    for command in commands:
        typed = command.replace("TASK", "nlbse23_issue_type").split()[1:]
        if typed[-1] in ("init", "evaluate") or typed[0] == "trust":
            continue
        goldpan(*typed, cwd=root, GOLDPAN_WORKSPACE=str(root))
        goldpan(*plain[ran % len(plain)], cwd=root, GOLDPAN_WORKSPACE=str(root))
        ran += 1
    assert ran >= 7
    for words in plain:
        goldpan(*words, cwd=root, GOLDPAN_WORKSPACE=str(root))


def test_a_model_is_run_and_another_version_is_another_run(root: Path, tmp_path: Path) -> None:
    plugin = Path(shutil.copy(PLUGINS / "label_words.py", tmp_path))
    assert "label-words" in goldpan("--plugin", str(plugin), "evaluate", "models")
    command = (
        *("--plugin", str(plugin), "evaluate", "run", "--task", "nlbse23_issue_type"),
        *("--model", "label-words", "--json", "--workspace", str(root)),
    )
    (result,) = json.loads(goldpan(*command))
    assert result["plugins"] == digest(plugin)
    plugin.write_text(plugin.read_text() + "\n# changed\n")
    (result,) = json.loads(goldpan(*command))
    assert result["plugins"] == digest(plugin)
    assert len(list((root / "runs/nlbse23_issue_type/label-words").glob("*/result.json"))) == 2
    done = attempt(*command, "--set", "depth=3")
    assert "The model label-words: the key depth is unknown" in done.err


def test_a_dataset_and_its_task(root: Path) -> None:
    plugin = PLUGINS / "issue_titles.py"
    common = ("--workspace", str(root), "--json")
    assert "issue-titles" in goldpan("--plugin", str(plugin), "build", "--help")
    assert "goldpan build issue-titles [OPTIONS]" in goldpan(
        "--plugin", str(plugin), "build", "issue-titles", "--help"
    )
    build = ("build", "issue-titles", "--split", "random:0.5,0.5", *common)
    built = json.loads(goldpan("--plugin", str(plugin), *build))
    assert built["examples"] == 18
    directory = root / "datasets" / "issue-titles"
    provenance = json.loads((directory / "provenance.json").read_text())
    assert provenance["plugins"] == digest(plugin)
    assert "write its title" in (directory / "README.md").read_text()
    run = ("evaluate", "run", "--task", "issue_titles", *common)
    (result,) = json.loads(goldpan("--plugin", str(plugin), *run))
    assert result["plugins"] == digest(plugin)
    assert "There is no dataset 'issue-titles'" in attempt(*build).err


def test_a_pairing_signal(root: Path) -> None:
    plugin = PLUGINS / "branch_names.py"
    command = ("pair", "--rules", "with-branches", "--workspace", str(root), "--json")
    (output,) = json.loads(goldpan("--plugin", str(plugin), *command))
    assert output["by_signal"]["branch_name"] == 9
    assert output["pairs"] == 32
    lineage = json.loads((root / "tables" / REPO / "pair.with-branches.json").read_text())
    assert lineage["plugins"] == digest(plugin)
    common = ("--rules", "with-branches", "--workspace", str(root))
    assert "branch_name" in goldpan("why", f"{REPO}#1", *common)
    goldpan("filter", *common)
    goldpan("build", "code-edit", *common)
    provenance = json.loads((root / "datasets" / "code-edit" / "provenance.json").read_text())
    assert provenance["plugins"] == digest(plugin)
    assert "branch_name" in provenance["pairing"]["with-branches"]["signals"]
    goldpan("build", "code-edit", "--workspace", str(root))
    provenance = json.loads((root / "datasets" / "code-edit" / "provenance.json").read_text())
    assert [source["rules"] for source in provenance["sources"]] == ["default"]
    assert "There is no set of pairing rules 'with-branches'" in attempt(*command).err


WORKERS = """
import pyarrow as pa
from goldpan.core.workers import map_in_sandbox
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
    output = json.loads(
        goldpan("--plugin", plugin, "filter", "--json", "--workspace", str(root), cwd=tmp_path)
    )
    (step,) = (step for step in output[0]["issues"]["steps"] if step["criterion"] == "long")
    assert 0 < step["out"] < 68
    assert step["undecided"] == 0


def test_an_installed_package_brings_plugins(root: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    about = site / "nuggets-1.0.dist-info"
    about.mkdir(parents=True)
    write(about / "METADATA", "Metadata-Version: 2.1\nName: nuggets\nVersion: 1.0\n")
    write(about / "entry_points.txt", "[goldpan.plugins]\nrules = nuggets.rules\n")
    (site / "nuggets").mkdir()
    write(site / "nuggets" / "__init__.py", "")
    rules = "from goldpan import register\nfrom goldpan.plugins import Rules\n"
    rules += "register(Rules('only-keywords', ('keyword',)))\n"
    write(site / "nuggets" / "rules.py", rules)
    command = ("pair", "--rules", "only-keywords", "--json", "--workspace", str(root))
    path = f"{ROOT / 'src'}:{site}"
    (output,) = json.loads(anew(*command, path=path).stdout)
    assert list(output["by_signal"]) == ["keyword"]
    lineage = json.loads((root / "tables" / REPO / "pair.only-keywords.json").read_text())
    assert list(lineage["plugins"]) == ["nuggets.rules 1.0"]
    write(site / "nuggets" / "rules.py", "1 / 0\n")
    people = [word for word in command if word != "--json"]
    assert (
        "The plugin rules of nuggets cannot be imported at line 1: ZeroDivisionError: division by "
        "zero. Fix or uninstall nuggets."
    ) in anew(*people, path=path).stderr


def anew(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a new interpreter, which looks for packages."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        env=offline(PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )


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
    built = json.loads(goldpan("build", "issue-titles", "--json", *common))
    assert built["examples"] == 18
    provenance = json.loads((root / "datasets/issue-titles/provenance.json").read_text())
    assert provenance["plugins"] == digest(PLUGINS / "issue_titles.py")
    shown = json.loads(goldpan("config", "show", "--json", *common))
    assert shown["plugins"]["source"] == str(root / "goldpan.toml")
    write(root / "goldpan.toml", 'plugins = ["code_blocks.py"]')
    goldpan("trust", str(root))
    assert "has-code" in goldpan("filter", "--list", *common)


def test_a_settings_file_that_names_no_plugin_is_told(root: Path) -> None:
    for text, message in (
        ('plugins = ["gone.py"]', "goldpan.toml: There is no plugin"),
        ('plugins = "gone.py"', "is not a list of files. Write plugins ="),
    ):
        write(root / "goldpan.toml", text)
        done = attempt("pair", "--workspace", str(root), GOLDPAN_TRUST=str(root))
        assert done.code == 2
        assert message in done.err


CLASH = "from goldpan.plugins import Rules, register\nregister(Rules({!r}, ('keyword',)))\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gone.txt", None, "There is no plugin"),
        ("gone.py", None, "There is no plugin"),
        ("a-b.py", "", "Use letters, digits and underscores"),
        ("json.py", "", "has the name of another module, json"),
        ("broken.py", "import nowhere", "ModuleNotFoundError: No module named 'nowhere'. Fix"),
        ("typo.py", "x = 1\ny = = 2", "cannot be imported at line 2: SyntaxError"),
        ("empty.py", "x = 1", "registers nothing. Call goldpan.register"),
        ("notes.txt", "x = 1", "is not a Python file"),
        (
            "other.py",
            "import goldpan\ngoldpan.register(7)",
            "registers an object of type int, which",
        ),
        ("clash.py", CLASH.format("default"), "'default', which is one of Goldpan's own"),
        (
            "unknown.py",
            CLASH.format("mine").replace("keyword", "keywords"),
            "The rules mine: there is no signal 'keywords' (did you mean keyword?)",
        ),
        (
            "wrong.py",
            "from goldpan.plugins import Rules, Signal, register\n"
            "register(Signal('s', 'SELECT 1 AS pull'), Rules('mine', ('s',)))",
            "The signal s of the plugin wrong.py failed: ConstraintException",
        ),
    ],
)
def test_mistakes_in_plugins_are_told(
    root: Path, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        write(tmp_path / name, text)
    done = attempt(
        "--plugin", str(tmp_path / name), "pair", "--rules", "mine", "--workspace", str(root)
    )
    assert done.code in (1, 2)
    assert message in done.err
    assert "Traceback" not in done.err


CRITERION = """
import pyarrow as pa
from goldpan.plugins import Criterion, NoSettings, register

def judge(repository, settings):
    {body}

register(Criterion("mine", {subject!r}, "Keeps all.", "Own", NoSettings, judge))
"""
ALL = 'return repository.sql("SELECT number AS issue, {} FROM {}")'


@pytest.mark.parametrize(
    ("body", "subject", "message"),
    [
        ("pass", "issues", "the subject is 'issues', not issue, discussion or pair"),
        ("return [1]", "issue", "it returned a list, not an Arrow table"),
        (ALL.format("true AS kept, '' AS reason", "issues"), "issue", "lacks the column keep; it"),
        (ALL.format("true AS keep, '' AS reason", "issues WHERE number > 20"), "issue",
         "each of the 68 needs exactly one"),
        (ALL.format("true AS keep, '' AS reason", "isues"), "issue", 'Did you mean "issues"? Fix'),
    ],
)  # fmt: skip
def test_mistakes_in_criteria_are_told(
    root: Path, tmp_path: Path, body: str, subject: str, message: str
) -> None:
    plugin = write(tmp_path / "mine.py", CRITERION.format(body=body, subject=subject))
    done = attempt("--plugin", plugin, "filter", "--workspace", str(root))
    assert done.code == 1
    assert message in done.err, done.err


def test_mistakes_in_datasets_and_models_are_told(root: Path, tmp_path: Path) -> None:
    text = (PLUGINS / "issue_titles.py").read_text()
    shutil.copy(PLUGINS / "issue_titles.toml", tmp_path)
    common = ("--workspace", str(root))
    titles = write(tmp_path / "titles.py", text)
    done = attempt("--plugin", titles, "build", "issue-titels", *common)
    assert "did you mean issue-titles?" in done.err
    unlicensed = "".join(line for line in text.splitlines(True) if '"license"' not in line)
    done = attempt(
        "--plugin", write(tmp_path / "bare.py", unlicensed), "build", "issue-titles", *common
    )
    assert "issue-titles lacks the column license" in done.err
    unsorted = text.replace('order=("repo", "issue")', 'order=("repo", "number")')
    done = attempt(
        "--plugin", write(tmp_path / "order.py", unsorted), "build", "issue-titles", *common
    )
    assert "issue-titles has no column number" in done.err
    timeless = text.replace('target="title"', 'target="title", moment=""')
    done = attempt(
        "--plugin", write(tmp_path / "timeless.py", timeless), "build", "issue-titles", *common
    )
    assert "issue-titles names no column as its moment" in done.err
    words = (PLUGINS / "label_words.py").read_text().replace("Answers([", "list([")
    done = attempt(
        *("--plugin", write(tmp_path / "words.py", words), "evaluate", "run", *common),
        *("--task", "nlbse23_issue_type", "--model", "label-words"),
    )
    assert "answer returned a list, not Answers" in done.err


def test_a_profile_names_what_it_probably_means(root: Path, tmp_path: Path) -> None:
    for text, message in (
        ('decid = ["bots"]', "'decid' (did you mean decide?)"),
        ('decide = ["botts"]', "'botts' (did you mean bots?)"),
        (
            "[comment-scale]\nminimum = 'x'",
            "mine.toml, line 2: comment-scale.minimum: Input should be a",
        ),
        (
            'decide = ["has-code"]',
            "If a plugin brings it, run goldpan --plugin FILE.py filter --profile",
        ),
    ):
        profile = write(tmp_path / "mine.toml", text)
        assert message in attempt("filter", "--profile", profile, "--workspace", str(root)).err
    done = attempt("filter", "--profile", "nowhere.toml", "--workspace", str(root))
    assert "nowhere.toml cannot be read: No such file or directory. Check the file" in done.err


def test_two_plugins_with_one_name_are_told(root: Path, tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.py", CLASH.format("mine")) for name in ("one", "two")]
    done = attempt("--plugin", files[0], "--plugin", files[1], "pair", "--workspace", str(root))
    assert "Both one.py and two.py register the rules 'mine'" in done.err

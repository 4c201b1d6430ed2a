"""One example a kind of part does what the page on plugins says, and its failures are told."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.demo_workspace import attempt, goldpan, make_demo
from tests.openai_server import OpenAIServer, Said
from tests.pages import script
from tests.places import ROOT
from tests.planning import REPOSITORIES

PLUGINS = ROOT / "examples" / "plugins"
COUNTS, THREADS = str(PLUGINS / "label_counts.py"), str(PLUGINS / "long_threads.py")
QUESTIONS = str(PLUGINS / "plain_questions")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo(tmp_path_factory.mktemp("demo"))


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def result(root: Path, *words: str) -> Any:
    return json.loads(goldpan(*words, "--json", GOLDPAN_WORKSPACE=str(root)))


def words_of(text: str) -> str:
    return " ".join(text.split())


def test_a_builder_has_a_command_a_method_and_a_place_in_plans(root: Path, tmp_path: Path) -> None:
    built = result(root, "--plugin", COUNTS, "build", "label-counts", "--fewest", "3")
    assert built["splits"] == {"test": 4}
    provenance = json.loads((root / "datasets/label-counts/provenance.json").read_text())
    assert list(provenance["plugins"]) == ["label_counts.py"]
    help_ = goldpan("--plugin", COUNTS, "build", "label-counts", "--help")
    assert "Leave out labels of fewer issues. [default: 2]" in help_
    assert "label-counts" in goldpan("--plugin", COUNTS, "build", "--help")
    for words, message in ((("--fewest", "0"), "Invalid value"), (("--fewst", "3"), "--fewest")):
        assert message in attempt("--plugin", COUNTS, "build", "label-counts", *words).err
    done = attempt("--plugin", COUNTS, "build", "label-count", "--workspace", str(root))
    assert "did you mean label-counts?" in done.err
    method = "from goldpan import Workspace\nimport label_counts\n"
    method += f"lab = Workspace({str(root)!r})\n"
    method += f"print(len(lab.build.label_counts(fewest=4, output={str(tmp_path / 'four')!r})))"
    assert int(script(method, tmp_path, PYTHONPATH=str(PLUGINS)).split()[-1]) < 4
    plan = REPOSITORIES + '[[dataset]]\nname = "labels"\nfamily = "label-counts"\nfewest = 3\n'
    file = write(tmp_path / "plan.toml", plan)
    done = attempt("--plugin", COUNTS, "run", file, "--dry-run", "--json")
    assert "dataset/labels" in done.out, done.err
    done = attempt("--plugin", COUNTS, "run", write(Path(file), f"{plan}fewst = 3\n"), "--dry-run")
    assert "did you mean fewest?" in done.err.lower()


def test_a_group_of_commands(root: Path, tmp_path: Path) -> None:
    (first,) = result(root, "--plugin", THREADS, "threads", "longest", "--most", "1")["threads"]
    assert first == ["prospector/sluice", 104, 120]
    assert "threads" in goldpan("--plugin", THREADS, "-h")
    assert "List the issues with the most comments." in goldpan("--plugin", THREADS, "threads")
    done = attempt("--plugin", THREADS, "threads", "longst")
    assert "did you mean longest?" in done.err
    assert "Did you mean threads?" in attempt("--plugin", THREADS, "thread").err
    method = f"from goldpan import Workspace\nimport long_threads\nlab = Workspace({str(root)!r})\n"
    method += "print(lab.threads.longest(most=2).threads[1][1])"
    assert script(method, tmp_path, PYTHONPATH=str(PLUGINS)).split() == ["100"]


def test_help_shows_what_the_workspace_brings(root: Path, tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    lab.mkdir()
    write(lab / "goldpan.toml", f"plugins = [{THREADS!r}]")
    assert "Look at long discussions." in goldpan(
        "-h", GOLDPAN_WORKSPACE=str(lab), GOLDPAN_TRUST=str(lab)
    )
    assert "Look at long discussions." not in goldpan("-h")
    bare = Path(THREADS).read_text().replace(', panel="Look and verify"', "")
    shown = goldpan("--plugin", write(tmp_path / "long_threads.py", bare), "-h")
    assert "From plugins\n  threads" in shown


def test_a_folder_brings_a_profile_a_prompt_and_a_form(root: Path, tmp_path: Path) -> None:
    lab = shutil.copytree(root, tmp_path / "lab")
    profile = ("--profile", "plain-questions")
    (filtered,) = result(lab, "--plugin", QUESTIONS, "filter", *profile)
    assert 0 < filtered["issues"]["kept"] < filtered["issues"]["rows"]
    help_ = words_of(goldpan("--plugin", QUESTIONS, "filter", "--help"))
    assert re.search(r"Also here: [^.]*plain-", help_)
    review = 'models = ["any"]\nsubjects = ["issue"]\nprompts.issue = "{}"\n'
    settings = write(tmp_path / "review.toml", review.format("plain-question"))
    words = ("--plugin", QUESTIONS, "review", *profile, "--settings-file", settings, "--dry-run")
    shown = goldpan(*words, GOLDPAN_WORKSPACE=str(lab))
    assert f"plain-question: {filtered['issues']['kept']} subjects" in shown
    write(tmp_path / "review.toml", review.format("plain-questoin"))
    assert "did you mean plain-question?" in attempt(*words, GOLDPAN_WORKSPACE=str(lab)).err
    push = ("annotate", "push", "--project", "p", "--dataset", "qa", "--form")
    done = attempt("--plugin", QUESTIONS, *push, "plain-questoin", GOLDPAN_WORKSPACE=str(lab))
    assert "did you mean plain-question?" in done.err
    help_ = words_of(goldpan("--plugin", QUESTIONS, *push[:2], "--help"))
    assert re.search(r"Also here: [^.]*plain-", help_)
    form = (
        "import plain_questions\nfrom pathlib import Path\n"
        "from goldpan.annotation.studio.forms import find_form, read_tasks\n"
        "form = find_form('plain-question')\n"
        f"tasks = list(read_tasks(Path({str(lab / 'datasets' / 'qa')!r}), form))\n"
        "print(len(tasks), *form.configuration.field('verdict').choices)\n"
    )
    printed = script(form, tmp_path, PYTHONPATH=str(PLUGINS)).split()
    assert printed == ["5", "plain", "several", "none-asked"]


@pytest.mark.parametrize("ruled", [True, False])
def test_a_rule_stands_in_the_prompts_of_its_dataset(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ruled: bool
) -> None:
    lab = shutil.copytree(root, tmp_path / "lab")
    for name in ("issue_titles.toml", "issue_titles.txt"):
        shutil.copy(PLUGINS / name, tmp_path)
    text = (PLUGINS / "issue_titles.py").read_text()
    if not ruled:
        text = "".join(line for line in text.splitlines(True) if "prompt rule" not in line)
    plugin = ("--plugin", write(tmp_path / "issue_titles.py", text))
    goldpan(
        *(*plugin, "build", "issue-titles", "--split", "random:0.5,0.5"), GOLDPAN_WORKSPACE=str(lab)
    )
    with OpenAIServer(lambda body: Said('{"answer": "A title"}')) as server:
        model = ("--model", "prompted", "--set", "model=any", "--set", f"base_url={server.url}")
        run = ("evaluate", "run", "--task", "issue_titles", *model)
        monkeypatch.setenv("OPENAI_API_KEY", server.key or "")
        (record,) = result(lab, *plugin, *run)
        system = json.dumps(server.chats[0]["messages"])
    assert ("in at most twelve words" in system) == ruled
    assert list(record["plugins"]) == ["issue_titles.py"]


FAILING = """
from goldpan.plugins import Command, Part, ReportSection, Task, register

def fail(*given):
    raise ZeroDivisionError("it is mine")

def read(task, files):
    yield 1 / 0

def look(lab: "Workspace") -> None:
    \"\"\"Look.\"\"\"
    fail()

register(
    Part("importer", "mine", read),
    Command("look", "failing:look"),
    ReportSection("mine", fail),
)
"""
TASK = """
type = "binary"
labels = [{ name = "yes" }, { name = "no" }]
source = { reader = "mine" }
"""


def test_failures_name_plugin_file_and_line(root: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "failing.py", FAILING)
    (tmp_path / "tasks").mkdir()
    write(tmp_path / "tasks" / "mine_task.toml", TASK)
    plugin, lab = ("--plugin", file), ("--workspace", str(root))
    tasks, page = ("--tasks", str(tmp_path / "tasks")), str(tmp_path / "page.html")
    for words, message in (
        (("tasks", "import", "mine_task", file, *tasks), "The importer mine of the plugin failing"),
        (("look",), "The plugin failing.py failed at line 5: ZeroDivisionError: it is mine"),
        (("evaluate", "compare", "--output", page), "The plugin failing.py failed at line 5"),
    ):
        done = attempt(*plugin, *words, *lab)
        assert done.code == 1, done.err
        assert message in done.err
        assert f"Fix {file}." in done.err
        assert "report it" not in done.err


def test_a_failure_in_a_folder_names_the_file_in_it(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many_files"
    folder.mkdir()
    register = 'from goldpan.plugins import Command, register\nregister(Command("look", {!r}))\n'
    write(folder / "__init__.py", register.format("many_files.looking:look"))
    write(folder / "looking.py", FAILING.partition("register(\n")[0])
    done = attempt("--plugin", str(folder), "look", "--workspace", str(root))
    assert f"failed at line 5: ZeroDivisionError: it is mine. Fix {folder}/looking.py." in done.err
    write(folder / "__init__.py", "from many_files import looking\n")
    write(folder / "looking.py", "\n\n1 / 0\n")
    done = attempt("--plugin", str(folder), "look", "--workspace", str(root))
    assert f"cannot be imported at line 3 of {folder}/looking.py: ZeroDivisionError" in done.err


PART = "from goldpan.plugins import *\nfrom pathlib import Path\nregister({})\n"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ('Part("modell", "x", 7)', "There is no kind of part 'modell' (did you mean model?)"),
        ('Part("model", 7, 7)', "registers a model whose name is 7, not a text. Give"),
        ('Rules("faun-eval", ("keyword",))', "'faun-eval', which is one of Goldpan's own. Give"),
        ('Rules("x", ("keyword",)), Rules("x", ())', "mine.py registers the rules 'x' twice"),
        ('Rules("x", ()))\nregister(Rules("x", ())', "mine.py registers the rules 'x' twice"),
        ('Files("task", Path("gone"))', "There is no folder gone of files of the kind task"),
        (
            'Command("threads longest", "mine:x")',
            "the command 'threads longest', and there is no command",
        ),
        ('Part("rules", "x", "mine:gone")', "The rules x of the plugin mine.py failed: Attribute"),
    ],
)
def test_mistakes_in_what_is_registered_are_told(
    root: Path, tmp_path: Path, parts: str, message: str
) -> None:
    file = write(tmp_path / "mine.py", PART.format(parts))
    words = ("threads",) if "longest" in parts else ("pair", "--rules", "x")
    done = attempt("--plugin", file, *words, "--workspace", str(root))
    assert done.code in (1, 2)
    assert message in done.err
    assert "report it" not in done.err


def test_names_of_papers_are_taken_in_python_too(tmp_path: Path) -> None:
    text = "from goldpan.plugins import Rules, register\n"
    text += "try:\n    register(Rules('faun-eval', ('keyword',)))\n"
    text += "except Exception as error:\n    print(error)\n"
    assert "which is one of Goldpan's own" in script(text, tmp_path)


def test_a_command_names_the_folders_that_it_needs() -> None:
    from goldpan.core.plugins import plugin_command

    named = plugin_command(["plain_questions", "ours 1.0", "titles.py"], "filter")
    assert named == (
        "goldpan --plugin plain_questions --plugin titles.py filter, where ours 1.0 is installed"
    )

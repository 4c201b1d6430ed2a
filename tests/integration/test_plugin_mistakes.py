"""Mistakes in plugins are told with the plugin, the place and what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.demo_workspace import attempt, make_sluice
from tests.integration.test_plugins import PLUGINS, write
from tests.pages import script


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sluice(tmp_path_factory.mktemp("demo"))


def test_a_settings_file_that_names_no_plugin_is_told(tmp_path: Path) -> None:
    root = make_sluice(tmp_path)
    for text, message in (
        ('plugins = ["gone.py"]', "goldpan.toml: There is no plugin"),
        ('plugins = "gone.py"', 'plugins: it is not a list. Write ["gone.py"]'),
    ):
        write(root / "goldpan.toml", text)
        done = attempt("pair", "--workspace", str(root), GOLDPAN_TRUST=str(root))
        assert done.code == 2
        assert message in done.err


def registering(parts: str) -> str:
    return f"from goldpan.plugins import *\nfrom pathlib import Path\nregister({parts})\n"


OURS = "'{}', which is one of Goldpan's own. Give"
TWICE = "mine.py registers the rules 'x' twice"
MISTAKES = [
    ("gone.txt", None, "There is no plugin"),
    ("gone.py", None, "There is no plugin"),
    ("a-b.py", "", "cannot be imported by that name"),
    ("json.py", "", "has the name of another module, json"),
    ("broken.py", "import nowhere", "ModuleNotFoundError: No module named 'nowhere'. Fix"),
    ("typo.py", "x = 1\ny = = 2", "cannot be imported at line 2: SyntaxError"),
    ("empty.py", "x = 1", "registers nothing. Call goldpan.register"),
    ("notes.txt", "x = 1", "is not a Python file"),
    *(
        ("mine.py", registering(parts), message)
        for parts, message in (
            ("7", "registers an object of type int, which"),
            ('Rules("default", ("keyword",))', OURS.format("default")),
            ('Rules("faun-eval", ("keyword",))', OURS.format("faun-eval")),
            ('Rules("x", ("keywords",))', "The rules x: there is no signal 'keywords' (did you"),
            (
                'Signal("s", "SELECT 1 AS pull"), Rules("x", ("s",))',
                "The signal s of the plugin mine.py failed: ConstraintException",
            ),
            ('Part("modell", "x", 7)', "no kind of part 'modell' (did you mean model?)"),
            ('Part("model", 7, 7)', "registers a model whose name is 7, not a text. Give"),
            ('Rules("x", ("keyword",)), Rules("x", ())', TWICE),
            ('Rules("x", ()))\nregister(Rules("x", ())', TWICE),
            ('Files("task", Path("gone"))', "There is no folder gone of files of the kind task"),
            ('Part("rules", "x", "mine:gone")', "The rules x of the plugin mine.py failed: Attr"),
        )
    ),
]


@pytest.mark.parametrize(("name", "text", "message"), MISTAKES)
def test_mistakes_in_plugins_are_told(
    root: Path, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        write(tmp_path / name, text)
    words = ("pair", "--rules", "x", "--workspace", str(root))
    done = attempt("--plugin", str(tmp_path / name), *words)
    assert done.code in (1, 2)
    assert message in done.err
    assert "Traceback" not in done.err
    assert "report it" not in done.err


CRITERION = """
import pyarrow as pa
from goldpan.plugins import Criterion, NoSettings, register

def judge(repository, settings):
    {body}

register(Criterion("mine", {subject!r}, "Keeps all.", "Own", NoSettings, judge))
"""


def judging(keep: str = "keep", number: str = "number", table: str = "issues") -> str:
    columns = f"{number} AS issue, true AS {keep}, '' AS reason"
    return f'return repository.sql("SELECT {columns} FROM {table}")'


NEEDED = "each of the 68 needs exactly one"


@pytest.mark.parametrize(
    ("body", "subject", "message"),
    [
        ("pass", "issues", "the subject is 'issues', not issue, discussion or pair"),
        ("return [1]", "issue", "it returned a list, not an Arrow table"),
        (judging("kept"), "issue", "has no column keep; it"),
        (judging(table="issues WHERE number > 20"), "issue", NEEDED),
        (judging(number="min(number) OVER ()"), "issue", f"about 1 issue; {NEEDED}"),
        (judging(table="isues"), "issue", 'Did you mean "issues"? Fix'),
    ],
)
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
    unsorted = text.replace('order=("repo", "issue")', 'order=("repo", "number")')
    timeless = text.replace('target="title"', 'target="title", moment=""')
    for name, changed, message in (
        ("bare", unlicensed, "issue-titles has no column license"),
        ("order", unsorted, "issue-titles has no column number"),
        ("timeless", timeless, "issue-titles names no column as its moment"),
    ):
        file = write(tmp_path / f"{name}.py", changed)
        assert message in attempt("--plugin", file, "build", "issue-titles", *common).err
    words = (PLUGINS / "label_words.py").read_text()
    tired = "calls.append(1)\n        assert len(calls) < 2, 'tired'\n        return Answers(["
    for name, changed, message in (
        ("words", words.replace("Answers([", "list(["), "answer returned a list, not Answers"),
        (
            "tired",
            words.replace("return Answers([", tired) + "calls: list[int] = []\n",
            "The model label-words of the plugin tired.py failed",
        ),
    ):
        done = attempt(
            *("--plugin", write(tmp_path / f"{name}.py", changed), "evaluate", "run", *common),
            *("--task", "nlbse23_issue_type", "--model", "label-words"),
        )
        assert message in done.err


def test_a_profile_names_what_it_probably_means(root: Path, tmp_path: Path) -> None:
    for text, message in (
        ('decid = ["bots"]', "'decid' (did you mean decide?)"),
        ('decide = ["botts"]', "'botts' (did you mean bots?)"),
        (
            "[comment-scale]\nminimum = 'x'",
            'mine.toml, line 2: comment-scale.minimum: "x" should be a',
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
    rules = registering('Rules("mine", ("keyword",))')
    files = [write(tmp_path / f"{name}.py", rules) for name in ("one", "two")]
    done = attempt("--plugin", files[0], "--plugin", files[1], "pair", "--workspace", str(root))
    assert "Both one.py and two.py register the rules 'mine'" in done.err


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


def test_names_of_papers_are_taken_in_python_too(tmp_path: Path) -> None:
    text = "from goldpan.plugins import Rules, register\n"
    text += "try:\n    register(Rules('faun-eval', ('keyword',)))\n"
    text += "except Exception as error:\n    print(error)\n"
    assert "which is one of Goldpan's own" in script(text, tmp_path)

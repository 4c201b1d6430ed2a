"""One example a kind of part, and a paper as a package, do what the page on plugins says."""

from __future__ import annotations

import json
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.demo_workspace import attempt, goldpan, goldpan_json, make_sluice, offline
from tests.integration.test_plugins import PLUGINS, write
from tests.openai_server import OpenAIServer, Said
from tests.pages import script
from tests.places import ROOT
from tests.planning import REPOSITORIES
from tests.program import MAIN
from tests.program import goldpan as start
from tests.tiny_models import tiny

COUNTS, THREADS = str(PLUGINS / "label_counts.py"), str(PLUGINS / "long_threads.py")
QUESTIONS = str(PLUGINS / "plain_questions")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sluice(tmp_path_factory.mktemp("demo"))


def result(root: Path, *words: str) -> Any:
    return goldpan_json(*words, GOLDPAN_WORKSPACE=str(root))


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
    method += f"print(len(lab.build('label-counts', fewest=4, output={str(tmp_path / 'four')!r})))"
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
    method += "print(long_threads.longest(lab, most=2).threads[1][1])"
    assert script(method, tmp_path, PYTHONPATH=str(PLUGINS)).split() == ["100"]


def test_help_shows_what_the_workspace_brings(root: Path, tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    lab.mkdir()
    write(lab / "goldpan.toml", f"plugins = [{THREADS!r}]")
    trusted = goldpan("-h", GOLDPAN_WORKSPACE=str(lab), GOLDPAN_TRUST=str(lab))
    assert "Look at long discussions." in trusted
    assert "Look at long discussions." not in goldpan("-h")
    bare = Path(THREADS).read_text().replace(', panel="Look and verify"', "")
    shown = goldpan("--plugin", write(tmp_path / "long_threads.py", bare), "-h")
    assert "From plugins\n  threads" in shown


def test_a_folder_brings_a_profile_a_prompt_and_a_form(root: Path, tmp_path: Path) -> None:
    lab = shutil.copytree(root, tmp_path / "lab")
    profile = ("--profile", "plain-questions")
    (filtered,) = result(lab, "--plugin", QUESTIONS, "filter", *profile)
    assert 0 < filtered["issues"]["kept"] < filtered["issues"]["rows"]
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
    form = (
        "import plain_questions\nfrom pathlib import Path\n"
        "from goldpan.annotation.studio.forms import find_form, read_tasks\n"
        "form = find_form('plain-question')\n"
        f"tasks = list(read_tasks(Path({str(lab / 'datasets' / 'qa')!r}), form))\n"
        "print(len(tasks), *form.configuration.question('verdict').labels)\n"
    )
    printed = script(form, tmp_path, PYTHONPATH=str(PLUGINS)).split()
    assert printed == ["78", "plain", "several", "none-asked"]


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
    result(lab, *plugin, "build", "issue-titles", "--split", "random:0.5,0.5")
    with OpenAIServer(lambda body: Said('{"answer": "A title"}')) as server:
        model = ("--model", "prompted", "--set", "model=any", "--set", f"base_url={server.url}")
        run = ("evaluate", "run", "--task", "issue_titles", *model)
        monkeypatch.setenv("OPENAI_API_KEY", server.key or "")
        (record,) = result(lab, *plugin, *run)
        system = json.dumps(server.chats[0]["messages"])
    assert ("in at most twelve words" in system) == ruled
    assert list(record["plugins"]) == ["issue_titles.py"]


PACKAGE = ROOT / "examples" / "plugins" / "commit_messages"
LOGS = ("kettle.log", "lantern.log", "orchard.log")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment that has the package, and what tests have."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (library,) = folder.glob("lib/python*/site-packages")
    lines = [f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages()]
    (library / "tests.pth").write_text("".join(lines))
    python = folder / "bin" / "python"
    source = shutil.copytree(PACKAGE, tmp_path_factory.mktemp("source") / "package")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python))
    offline_only = ("--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir")
    run(*pip, "install", "--quiet", *offline_only, str(source))
    return python


@pytest.fixture(scope="module")
def program(python: Path) -> str:
    """Return the program with what the environment has, for a process that need not start anew."""
    (library,) = python.parent.parent.glob("lib/python*/site-packages")
    return f"import sys; sys.path.append({str(library)!r}); {MAIN}"


def run(*words: str, **environment: str) -> str:
    done = subprocess.run(
        words, env=offline(**environment), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_paper_of_300_lines_is_installed_and_reproduced(
    python: Path, program: str, tmp_path: Path
) -> None:
    def goldpan(*words: str) -> str:
        done = start(*words, environment=offline(GOLDPAN_WORKSPACE=str(tmp_path)), program=program)
        assert done.code == 0, done.out + done.err
        return done.out

    def result(*words: str) -> Any:
        return json.loads(goldpan(*words, "--json"))

    reproduced = result("reproduce", "commit-messages", "--data", str(PACKAGE / "data"))
    assert reproduced["complete"]
    cells = [cell for table in reproduced["tables"] for cell in table["cells"]]
    assert {cell["state"] for cell in cells} == {"run"}
    assert [cell["verdict"] for cell in cells] == ["equal"] * 14
    listed = ("-c", MAIN, "tasks", "list", "--json")
    tasks = json.loads(run(str(python), *listed, GOLDPAN_WORKSPACE=str(tmp_path)))
    assert "commit_purpose" in {task["name"] for task in tasks}
    logs = [str(PACKAGE / "data" / log) for log in LOGS]
    assert result("tasks", "import", "commit_purpose", *logs)["written"]["rows"] == 64
    provenance = json.loads((tmp_path / "datasets/commit_purpose/provenance.json").read_text())
    ((name, digest),) = provenance["plugins"].items()
    assert name == "commit_messages 1.0"
    assert len(digest) == 64
    models = ("--model", "first-word", "--model", "majority", "--protocol", "commit-messages")
    for record in result("evaluate", "run", "--task", "commit_purpose", *models):
        assert record["plugins"] == {name: digest}
    stored = json.loads(next(tmp_path.glob("runs/*/first-word/*/result.json")).read_text())
    assert stored["plugins"] == {name: digest}
    assert stored["protocol"]["name"] == "commit-messages"
    assert "version_accuracy" in {metric["name"] for metric in stored["scores"]["metrics"]}
    page = tmp_path / "compared.html"
    goldpan("evaluate", "compare", "--task", "commit_purpose", "--output", str(page))
    assert "Versions" in page.read_text(encoding="utf-8")
    lines = [
        line
        for path in PACKAGE.rglob("*.*")
        if path.suffix in (".py", ".toml")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) <= 300


def test_it_brings_an_order_of_steps_and_a_recipe_of_fine_tuning(
    python: Path, program: str, tmp_path: Path
) -> None:
    environment = offline(GOLDPAN_WORKSPACE=str(tmp_path))

    def goldpan(*words: str) -> str:
        done = start(*words, environment=environment, program=program)
        assert done.code == 0, done.out + done.err
        return done.out

    def refused(*words: str) -> str:
        done = start(*words, environment=environment, program=program)
        assert done.code == 2
        return " ".join(done.err.split())

    imported = ("tasks", "import", "commit_purpose", *(str(PACKAGE / "data" / log) for log in LOGS))
    goldpan(*imported, "--steps", "addresses-first")
    provenance = json.loads((tmp_path / "datasets/commit_purpose/provenance.json").read_text())
    assert provenance["settings"]["steps"] == ["mask_urls", "white_space"]
    assert "did you mean addresses-first?" in refused(*imported, "--steps", "addresses")
    settings = (
        "from goldpan.evaluation.models.finetuned import finetuned\n"
        f"model = finetuned({{'weights': {str(tiny('bert'))!r}, 'recipe': 'short-messages'}})\n"
        "print(*(model.settings[name] for name in ('epochs', 'max_length', 'patience')))"
    )
    assert run(str(python), "-c", settings).split() == ["20", "64", "3"]
    evaluated = ("evaluate", "run", "--task", "commit_purpose", "--model", "finetuned")
    asked = ("--set", "weights=here", "--set", "recipe=short-message")
    assert "did you mean short-messages?" in refused(*evaluated, *asked)

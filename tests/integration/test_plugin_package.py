"""A paper from outside: a package that is installed, and whose tables `goldpan reproduce` gives."""

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

from tests.demo_workspace import offline
from tests.places import ROOT
from tests.program import MAIN
from tests.program import goldpan as start
from tests.tiny_models import tiny

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

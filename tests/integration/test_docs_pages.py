"""Pages of the documentation, followed from their first block to their last.

Every command of a console block runs as it is printed, or is checked against the program's options
where it needs what a test has not (`NEEDS`); every TOML block is read by what it is written for.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import Template

import pytest

from goldpan import Workspace, load
from goldpan.annotation.review.request import load_review_settings
from goldpan.commands.program import commands, launch
from goldpan.core.errors import UsageError
from goldpan.datasets.tasks.checks import check_task
from goldpan.datasets.tasks.registry import parse_task
from goldpan.execution.recipe import load_recipes
from goldpan.filters.profile import load_profile
from goldpan.llm.settings import load_prices
from goldpan.papers.crosscodebench.kinds import kind_of_task, task_settings
from goldpan.papers.nlbse.issues.profile import load_profile as load_issue_profile
from goldpan.plan.file import load_plan
from goldpan.workspace.options import options_of, read_options
from tests.demo_workspace import make_demo
from tests.invoking import typed
from tests.openai_server import OpenAIServer
from tests.page_walks import HERE, LAB, LACKING, NEEDS, WALKS, is_left_out
from tests.pages import PAGES, blocks, run_command, run_python, toml, write
from tests.places import ROOT
from tests.planning import REPOSITORIES, states
from tests.prompting import keep
from tests.publishing import local_place
from tests.twin import Copy, Twin, World, copied_world
from tests.twin.history import history_world
from tests.twin.synthetic import demo_world
from tests.verifying import needs_isolation

TOKEN = "token-of-a-test"
OFFLINE = {"GITHUB_TOKEN": TOKEN, "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HUB_OFFLINE": "1"}
ELSEWHERE = {
    "docs/annotation.md": "Label Studio: tests/servers/test_studio_pages.py",
    "docs/filtering.md": "a model: tests/servers/test_review_llama.py",
    "docs/plans.md": "test_the_plan_that_is_printed_runs",
    "docs/tutorial.md": "tests/integration/test_docs.py",
}
"""Where a page is followed that is not walked here, and what it needs."""
EXCERPTS = {"docs/plugins.md"}
"""Pages whose Python stands in files that their commands run, which tests/integration/test_docs.py
checks."""
NEED_PROOFS = {"docs/exports.md", "docs/verification.md"}
"""Pages whose rows the demo proved, which it does in bubblewrap only."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=needs_isolation if name in NEED_PROOFS else ()) for name in WALKS],
)
def test_a_page_runs_from_its_first_block_to_its_last(name: str, tmp_path: Path) -> None:
    walk = WALKS[name]
    make_demo(tmp_path / LAB)
    walk.prepare(tmp_path)
    written = iter(walk.files)
    with Twin(demo_world()) as twin, walk.served(tmp_path) as beside:
        variables = {
            **OFFLINE,
            **beside,
            "GOLDPAN_API_URL": twin.url,
            "HF_HOME": str(tmp_path / "home"),
        }
        here = {said: Template(here).substitute(beside) for said, here in walk.here.items()}
        followed = blocks(name, {**HERE, **here})
        for block in followed:
            if block.language == "toml":
                write(tmp_path, next(written), block.text)
            for command in block.commands:
                if not is_left_out(command):
                    codes = (0, 3) if re.match(LACKING, command) else (0,)
                    run_command(command, tmp_path, codes, **variables)
        if name not in EXCERPTS and any(block.language == "python" for block in followed):
            run_python(followed, tmp_path, **variables)
    assert not list(written)


def test_every_page_with_commands_or_python_is_followed_somewhere() -> None:
    with_commands = {name for name in PAGES if any(block.commands for block in blocks(name))}
    with_python = {
        name for name in PAGES if any(block.language == "python" for block in blocks(name))
    }
    assert with_commands | with_python == set(WALKS) | set(ELSEWHERE)
    assert not set(WALKS) & set(ELSEWHERE)
    in_test_docs = {name for name in ELSEWHERE if "test_docs.py" in ELSEWHERE[name]}
    assert with_python - set(WALKS) == in_test_docs
    for place in re.findall(r"tests/\S+\.py", " ".join((*ELSEWHERE.values(), *NEEDS.values()))):
        assert (ROOT / place).is_file(), place


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_is_one_that_goldpan_takes(name: str, tmp_path: Path) -> None:
    """Its options and arguments are known; what lies behind them is not looked for."""
    for block in blocks(name):
        assert block.language != "console" or block.commands, f"{name}: no line begins with $"
        for command in block.commands:
            words = shlex.split(command)
            if "--plugin" in words:
                assert name in WALKS, "a plugin's parts are known where it is loaded"
            elif words[0] == "goldpan":
                typed(*words[1:])
            elif words[:2] == ["python", "-m"]:
                assert find_spec(words[2]), command
            elif words[0].startswith("examples/"):
                assert (ROOT / words[0]).is_file(), command
            else:
                assert re.match(next(iter(NEEDS)), command) or is_left_out(command), command


METHODS = {
    name: command.method for name, command in commands(Workspace()).items() if command.method
}


@cache
def _options(command: str) -> set[str]:
    """Return the options of a command, as they are typed."""
    taken = [*options_of(METHODS[command]), *read_options(launch)]
    named = {f"--{item.word}" for item in taken} | {f"--no-{item.word}" for item in taken}
    return named | {"--help"}


FOREIGN = {
    "--documents": "benchmarks.intervals",
    "--exclude-newer": "uv",
    "--fewest": "benchmarks.calibration",
    "--most": "benchmarks.calibration",
    "--part": "benchmarks.calibration",
    "--seeds": "benchmarks.label_errors",
    "--smoke": "benchmarks.finetune_gpu",
}
"""Options that pages name by themselves and that are not Goldpan's, with their program."""


@pytest.mark.parametrize("name", PAGES)
def test_every_option_in_the_text_of_a_page_is_one(name: str) -> None:
    """One that stands behind a command is the command's, one by itself that of any."""
    known = set(FOREIGN).union(*map(_options, METHODS))
    prose = re.sub(r"^```.*?^```", "", PAGES[name].read_text(encoding="utf-8"), flags=re.M | re.S)
    for said in re.findall(r"`([^`]+)`", prose):
        words = said.split()
        typed = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", said))
        if words[0].startswith("-"):
            assert typed <= known, said
        elif words[0] == "goldpan":
            begun = (" ".join(words[1:end]) for end in range(len(words), 1, -1))
            command = next((command for command in begun if command in METHODS), None)
            assert typed <= (known if command is None else _options(command)), said


def test_a_wrong_option_on_a_page_would_be_found() -> None:
    for wrong in ("export qa --tow chat", "evaluate runn", "build qa --split"):
        with pytest.raises(UsageError):
            typed(*wrong.split())


def _plan_part(folder: Path, text: str) -> None:
    questions = '[[dataset]]\nname = "questions"\nfamily = "qa"\n'
    load_plan(write(folder, "plan.toml", REPOSITORIES + questions + text))  # weights are not here


def _crosscode_settings(folder: Path, text: str) -> None:
    task = parse_task("urgent_report.toml", toml("docs/tasks.md")[0] + text)
    assert task_settings(task).input_language
    assert kind_of_task(task).names == ["Generation", "Code-to-Text"]


def _task(folder: Path, text: str) -> None:
    assert not check_task(parse_task("urgent_report.toml", text))


def _prompt(folder: Path, text: str) -> None:
    task = parse_task("urgent_report.toml", toml("docs/tasks.md")[0] + text)
    assert not check_task(task)
    assert len(task.prompt.examples) == 2


def _recipe(folder: Path, text: str) -> None:
    load_recipes([write(folder, "lab.toml", text)])


def _entry_points(folder: Path, text: str) -> None:
    assert tomllib.loads(text)["project"]["entry-points"]["goldpan.plugins"]


READERS: Mapping[str, tuple[Callable[[Path, str], object], ...]] = {
    "docs/crosscode.md": (_crosscode_settings,),
    "docs/filtering.md": (
        lambda folder, text: load_profile(str(write(folder, "mine.toml", text))),
        lambda folder, text: load_profile(str(write(folder, "mine.toml", text))),
        lambda folder, text: load_review_settings(write(folder, "review.toml", text), {}),
    ),
    "docs/issue-types.md": (
        lambda folder, text: load_issue_profile(str(write(folder, "mine.toml", text))),
    ),
    "docs/plans.md": (),  # test_the_plan_that_is_printed_runs
    "docs/plugins.md": (_entry_points,),  # with_code.toml is used by the page's own commands
    "docs/prompting.md": (lambda folder, text: load_prices(write(folder, "prices.toml", text)),),
    "docs/reference/task-files.md": (_prompt,),
    "docs/tasks.md": (_task,),
    "docs/verification.md": (_recipe, _recipe),
    "docs/workspaces.md": (_plan_part,),
}
"""What reads each TOML block of a page, in its order."""


@pytest.mark.parametrize("name", READERS)
def test_what_a_file_on_a_page_is_for_reads_it(name: str, tmp_path: Path) -> None:
    for read, text in zip(READERS[name], toml(name), strict=False):
        read(tmp_path, text)


def test_every_file_on_a_page_is_read_or_used() -> None:
    assert {name for name in PAGES if toml(name)} == set(READERS)
    used = {"docs/plans.md": 3, "docs/plugins.md": 1}
    for name, readers in READERS.items():
        assert len(toml(name)) == len(readers) + used.get(name, 0), name


def _repositories(folder: Path) -> World:
    """Return the repositories of the printed plan; their histories lie where it says."""
    world = copied_world(
        history_world(folder / "sluice.git"),
        [
            Copy("numpy/numpy", "Python", 30_000),
            Copy("scipy/scipy", "Python", 13_000),
            Copy("kind-people/tool", "Go", 9_000),
        ],
    )
    for repository in world.repositories:
        mirror = folder / "mirrors" / f"{repository.full_name}.git"
        mirror.parent.mkdir(parents=True, exist_ok=True)
        mirror.symlink_to(folder / "sluice.git")
    licensed = [
        replace(repository, license="Apache-2.0") if repository.language == "Go" else repository
        for repository in world.repositories
    ]
    return World(*licensed)


def test_the_plan_that_is_printed_runs(tmp_path: Path) -> None:
    """As printed, on the local GitHub and Hub; the model's address alone is added to the review."""
    plan, review, types = toml("docs/plans.md")
    commands = [command for block in blocks("docs/plans.md") for command in block.commands]
    world = _repositories(tmp_path)
    with local_place(tmp_path, world) as place, OpenAIServer(keep) as server:
        write(tmp_path, "plan.toml", plan)
        write(tmp_path, "review.toml", f'base_url = "{server.url}"\n{review}')
        printed = []
        for command in commands:
            done = place.run(*shlex.split(command)[1:], OPENAI_API_KEY=server.key or "")
            assert done.code == 0, f"{command}\n{done.out}{done.err}"
            printed.append(done.out)
        assert "1 of 10" in done.err or "kind-people/tool" in printed[0]
        dataset = load(tmp_path / "lab" / "datasets" / "questions")
        assert len(dataset) > 0
        assert place.hub.repo("your-name/questions") is not None
        write(tmp_path, "plan.toml", f"{plan}\n{types}")
        more = place.run("run", "plan.toml", "--json", OPENAI_API_KEY=server.key or "")
        assert more.code == 0, more.out + more.err
        new = {unit for unit, state in states(json.loads(more.out)).items() if state == "done"}
        assert new == {"dataset/types"}

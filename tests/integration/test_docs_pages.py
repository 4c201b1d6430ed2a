"""Pages of the documentation, followed from their first block to their last.

Every command of a console block runs as it is printed, or is checked against the program's options
where it needs what a test has not (`NEEDS`); every TOML block is read by what it is written for.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan import load
from goldpan.annotation.review.settings import load_review_settings
from goldpan.builders.crosscode.kinds import kind_of_task
from goldpan.builders.crosscode.splits import load_splits
from goldpan.builders.crosscode.task_settings import task_settings
from goldpan.builders.issue_type.profile import load_profile as load_issue_profile
from goldpan.core.errors import UsageError
from goldpan.datasets.task_checks import check_task
from goldpan.datasets.task_file import read_task
from goldpan.execution.recipe import load_recipes
from goldpan.filters.profile import load_profile
from goldpan.llm.settings import load_prices
from goldpan.plan.file import load_plan
from goldpan.reproduce.catalogue import read_recipe
from tests.demo_workspace import make_demo, offline
from tests.invoking import check_typed
from tests.openai_server import Body, OpenAIServer, Said, answer
from tests.pages import PAGES, blocks, toml, write
from tests.places import ROOT
from tests.planning import REPOSITORIES, states, write_tasks
from tests.program import goldpan
from tests.prompting import question_of
from tests.publishing import local_place
from tests.twin import Copy, Twin, World, copied_world
from tests.twin.history import history_world
from tests.twin.synthetic import demo_world
from tests.verifying import needs_isolation

LAB = "goldpan-workspace"
TOKEN = "token-of-a-test"
NEEDS = {
    r"(make|export|cd|pip|sbatch|python -m|examples/|\./)": "the shell, pip, Slurm",
    r"(harbor|inspect|lm_eval) ": "harnesses: tests/scale/test_export_harnesses.py",
    r"goldpan (verify|export .* --to harbor)": "an index: tests/servers/test_verify_python.py",
    r"goldpan tasks import requirement_type": "its data: tests/integration/test_task_import.py",
    r"goldpan mine": "GitHub: tests/integration/test_repair.py",
    r"goldpan publish": "the Hub: tests/servers/test_publish.py",
    r"goldpan evaluate run .* --model prompted": "a model: tests/integration/test_prompting_run.py",
}
"""What no walk runs, by patterns of commands, and what it needs or where it runs."""
ELSEWHERE = {
    "README.md": "tests/integration/test_docs.py",
    "docs/annotation.md": "Label Studio: tests/servers/test_studio_labels.py",
    "docs/baselines.md": "weights, and the data of NLBSE'23",
    "docs/clusters.md": "a Ray cluster: tests/servers/test_ray.py",
    "docs/code-comments.md": "Label Studio: tests/integration/test_code_comments_build.py",
    "docs/evaluation.md": "weights: tests/integration/test_evaluation_command.py",
    "docs/finetuning.md": "weights: tests/integration/test_finetune_command.py",
    "docs/gharchive.md": "GH Archive: tests/integration/test_gharchive_command.py",
    "docs/guide.md": "tests/integration/test_docs.py",
    "docs/issue-types.md": "GH Archive: tests/integration/test_issue_type_command.py",
    "docs/labels.md": "Label Studio: tests/servers/test_studio_gold.py",
    "docs/mining.md": "tests/integration/test_mine_resume.py",
    "docs/papers.md": "the papers' data: tests/integration/test_reproduce.py",
    "docs/performance.md": "benchmarks",
    "docs/plans.md": "test_the_plan_that_is_printed_runs",
    "docs/scale.md": "benchmarks",
    "docs/security.md": "tests/integration/test_trust.py",
    "docs/tutorial.md": "tests/integration/test_docs.py",
    "docs/verification.md": "a package index: tests/servers/test_verify_python.py",
    "docs/workspaces.md": "a store: tests/integration/test_remote_workspace.py",
}
"""Where the commands of a page run that is not walked here, and what they need."""


def _plugins(folder: Path) -> None:
    for file in (ROOT / "examples" / "plugins").iterdir():
        shutil.copy(file, folder)


def _datasets(folder: Path) -> None:
    shutil.copytree(folder / LAB / "datasets" / "qa", folder / "published" / "qa")
    rows = folder / LAB / "datasets" / "issue-resolution" / "data"
    shutil.copy(next(rows.glob("*.parquet")), folder / "swe-bench.parquet")


def _crosscode(folder: Path) -> None:
    """Import tasks, and build the split that the page takes as built."""
    write_tasks(folder / LAB)
    _run("goldpan build crosscode export --all", folder)
    _run("goldpan build crosscode split Type-QA --method 2-shot", folder)


def _reports(folder: Path) -> None:
    """Run models on the tasks that the page compares, and have scores of others."""
    write_tasks(folder / LAB, ("requirement_type", "story_points"))
    named = "--task requirement_type --task story_points"
    _run(f"goldpan evaluate run {named} --model majority --model tfidf-svm", folder)
    models = "--model majority --model tfidf-svm --protocol selu-paper"
    _run(f"goldpan evaluate run --task requirement_type {models}", folder)
    rows = [f"{m},t{n},0,0.{n}{s}" for s, m in enumerate(("ours", "theirs")) for n in range(1, 6)]
    (folder / "ours-and-theirs.csv").write_text("\n".join(["model,task,seed,score", *rows]))


def _tasks(folder: Path) -> None:
    rows = [f"{('crash', 'typo')[n % 2]} {n},It happens.,{(n + 1) % 2}" for n in range(60)]
    (folder / "reports.csv").write_text("\n".join(["title,body,urgent", *rows]))


def _nothing(folder: Path) -> None:
    """Have a workspace in which the demo ran, and nothing else."""


WALKS: Mapping[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "docs/cli.md": (_nothing, ()),
    "docs/crosscode.md": (_crosscode, ("settings.toml", "splits.toml")),
    "docs/datasets.md": (_datasets, ()),
    "docs/exports.md": (_nothing, ()),
    "docs/plugins.md": (_plugins, ("pyproject.toml", "with_code.toml")),
    "docs/reliability.md": (_nothing, ()),
    "docs/reports.md": (_reports, ()),
    "docs/tasks.md": (_tasks, (f"{LAB}/tasks/urgent_report.toml", "duplicate_report.toml")),
}
"""Pages by what their readers have, and the files that are made of their TOML."""


def _run(command: str, folder: Path, **variables: str) -> None:
    done = goldpan(*shlex.split(command)[1:], folder=folder, environment=offline(**variables))
    assert done.code == 0, f"{command}\n{done.out}{done.err}"
    assert done.out.strip(), command


def _is_left_out(command: str) -> bool:
    return any(re.match(pattern, command) for pattern in NEEDS)


NEED_PROOFS = {"docs/exports.md"}
"""Pages whose rows the demo proved, which it does in bubblewrap only."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=needs_isolation if name in NEED_PROOFS else ()) for name in WALKS],
)
def test_a_page_runs_from_its_first_block_to_its_last(name: str, tmp_path: Path) -> None:
    prepare, files = WALKS[name]
    make_demo(tmp_path / LAB)
    prepare(tmp_path)
    written = iter(files)
    with Twin(demo_world()) as twin:
        for block in blocks(name):
            if block.language == "toml":
                write(tmp_path, next(written), block.text)
            for command in block.commands:
                if not _is_left_out(command):
                    _run(command, tmp_path, GOLDPAN_API_URL=twin.url, GITHUB_TOKEN=TOKEN)
    assert not list(written)


def test_every_page_with_commands_is_followed_somewhere() -> None:
    with_commands = {name for name in PAGES if any(block.commands for block in blocks(name))}
    assert with_commands == set(WALKS) | set(ELSEWHERE)
    assert not set(WALKS) & set(ELSEWHERE)
    for place in re.findall(r"tests/\S+\.py", " ".join((*ELSEWHERE.values(), *NEEDS.values()))):
        assert (ROOT / place).is_file(), place


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_is_one_that_goldpan_takes(name: str, tmp_path: Path) -> None:
    """Its options and arguments are known; what lies behind them is not looked for."""
    for block in blocks(name):
        assert block.language != "console" or block.commands, f"{name}: no line begins with $"
        for command in block.commands:
            words = shlex.split(command, comments=True)
            if words[0] == "goldpan":
                check_typed(*words[1:])
            else:
                assert re.match(next(iter(NEEDS)), command) or _is_left_out(command), command


def test_a_wrong_option_on_a_page_would_be_found() -> None:
    for wrong in ("export qa --tow chat", "evaluate runn", "build qa --split"):
        with pytest.raises(UsageError):
            check_typed(*wrong.split())


def _plan_part(folder: Path, text: str) -> None:
    questions = '[[dataset]]\nname = "questions"\nfamily = "qa"\n'
    load_plan(write(folder, "plan.toml", REPOSITORIES + questions + text))  # weights are not here


def _splits(folder: Path, text: str) -> None:
    assert load_splits(write(folder, "splits.toml", text))


def _crosscode_settings(folder: Path, text: str) -> None:
    task = read_task("duplicate_report.toml", toml("docs/tasks.md")[1] + text)
    assert task_settings(task).input_language
    assert kind_of_task(task).names == ["Generation", "Code-to-Text"]


def _task(folder: Path, text: str) -> None:
    assert not check_task(read_task("some_report.toml", text))


def _recipe(folder: Path, text: str) -> None:
    load_recipes([write(folder, "lab.toml", text)])


def _entry_points(folder: Path, text: str) -> None:
    assert tomllib.loads(text)["project"]["entry-points"]["goldpan.plugins"]


READERS: Mapping[str, tuple[Callable[[Path, str], object], ...]] = {
    "docs/clusters.md": (_plan_part,),
    "docs/crosscode.md": (_crosscode_settings, _splits),
    "docs/filtering.md": (
        lambda folder, text: load_profile(str(write(folder, "mine.toml", text))),
        lambda folder, text: load_profile(str(write(folder, "mine.toml", text))),
    ),
    "docs/issue-types.md": (
        lambda folder, text: load_issue_profile(str(write(folder, "mine.toml", text))),
    ),
    "docs/papers.md": (lambda folder, text: read_recipe(write(folder, "toys.toml", text)),),
    "docs/plans.md": (),  # test_the_plan_that_is_printed_runs
    "docs/plugins.md": (_entry_points,),  # with_code.toml is used by the page's own commands
    "docs/prompting.md": (lambda folder, text: load_prices(write(folder, "prices.toml", text)),),
    "docs/review.md": (
        lambda folder, text: load_review_settings(write(folder, "review.toml", text), {}),
    ),
    "docs/tasks.md": (_task, _task),
    "docs/verification.md": (_recipe, _recipe),
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


def _keep(body: Body) -> Said:
    """Say that a reply answers, or that a fix fixes, with the first line as its proof."""
    replies = re.findall(r"^=== \w+ begin reply (\d+) of[^\n]*\n+([^\n]+)", question_of(body), re.M)
    if replies:
        number, quote = replies[-1]
        return answer("keep", quote.strip()[:100], reply=int(number))
    (quote, *_) = re.findall(r"^=== \w+ begin [^\n]*\n+([^\n]+)", question_of(body), re.M)
    return answer("keep", quote.strip()[:100])


def test_the_plan_that_is_printed_runs(tmp_path: Path) -> None:
    """As printed, on the local GitHub and Hub; the model's address alone is added to the review."""
    plan, review, types = toml("docs/plans.md")
    commands = [command for block in blocks("docs/plans.md") for command in block.commands]
    world = _repositories(tmp_path)
    with local_place(tmp_path, world) as place, OpenAIServer(_keep) as server:
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

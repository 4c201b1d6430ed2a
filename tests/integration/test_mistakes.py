"""Mistakes at the command line, each told by input, cause and remedy."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan import Workspace
from goldpan.core.errors import DatasetError
from goldpan.plan.initial import commented_plan
from tests.console import NOWHERE, run, sentence
from tests.demo_workspace import make_demo
from tests.page_walks import HISTORIES
from tests.places import ROOT
from tests.screens import run_on_screen
from tests.twin import Twin, World
from tests.twin.synthetic import demo_world

EMPTY = (
    ("run {file}.toml", "goldpan init"),
    ("filter --workspace demo --profile {file}.toml", 'extends = "default"'),
    ("review --workspace demo --model m --settings-file {file}.toml", "Leave it out"),
    ("build qa --workspace demo --gold {file}.csv", "repo, issue, label"),
    ("evaluate labels demo/datasets/qa --gold {file}.csv", "repo, issue, label"),
    ("contamination demo/datasets/qa --against {file}.csv", "holds rows"),
    ("contamination demo/datasets/qa --against {file}.parquet", "holds rows"),
    ("contamination demo/datasets/qa --against {file}.jsonl", "holds rows"),
    ("tasks add urgent {file}.csv --text body --label urgent", "holds rows"),
    ("tasks import bug_issue {file}.csv", "holds rows"),
    ("evaluate compare --scores {file}.csv", "holds rows"),
    ("apply-edit {file}.patch", "SEARCH/REPLACE"),
    ("mine --repo-file {file}.txt", "OWNER/NAME per line"),
    (
        "verify issue-resolution --workspace demo --isolation none --recipe {file}.toml",
        "docs/verification.md",
    ),
)
MISTAKES = (ROOT / "tests" / "mistakes.txt").read_text(encoding="utf-8").splitlines()
"""What a newcomer types in the demo's workspace, and what the answer has to say."""
LAB = {"GOLDPAN_WORKSPACE": "demo", "GOLDPAN_TOKEN_COMMAND": "false", "PATH": os.environ["PATH"]}
NO_TEXT = (
    "run {file}.toml",
    "filter --workspace demo --profile {file}.toml",
    "build qa --workspace demo --gold {file}.csv",
    "mine --repo-file {file}.txt",
    "evaluate compare --scores {file}.csv",
    "apply-edit {file}.patch",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the demo's workspace, an empty file and one of bytes for each ending."""
    folder = tmp_path_factory.mktemp("mistakes")
    make_demo(folder / "demo")
    for ending in ("toml", "csv", "jsonl", "parquet", "patch", "txt"):
        (folder / f"void.{ending}").touch()
        (folder / f"bytes.{ending}").write_bytes(b"\xff\x00name = \x81\n" * 9)
    (folder / "file").write_text("x")
    shutil.copytree(folder / "demo" / "raw", folder / "replies" / "raw")
    (folder / "demo" / "plan.toml").write_text(commented_plan())
    listed = '[repositories]\nlisted = ["prospector/sluice"]\n'
    (folder / "plan.toml").write_text(listed)
    dataset = '[[dataset]]\nfamily = "qa"\nname = "q"\n'
    (folder / "wrong.toml").write_text(f"\n{listed}[filters]\n{dataset}require = 3\n")
    (folder / "broken.py").write_text("import nonsuch\n")
    (folder / "unnamed.toml").write_text(f'{listed}[[dataset]]\nname = "a b"\n')
    for name in ("good.csv", "rows.csv"):
        (folder / name).write_text("a,b\n1,2\n")
    unpaired = Workspace(shutil.copytree(folder / "replies", folder / "unpaired"))
    unpaired.normalize()
    unpaired.filter()
    return folder


@pytest.mark.parametrize(("line", "remedy"), EMPTY)
def test_an_empty_file_is_called_empty(folder: Path, line: str, remedy: str) -> None:
    done = run(*line.format(file="void").split(), folder=folder)
    assert done.code == 2
    assert " is empty" in done.err
    assert remedy.lower() in done.err.lower()


@pytest.mark.parametrize("line", NO_TEXT)
def test_bytes_are_called_no_text(folder: Path, line: str) -> None:
    done = run(*line.format(file="bytes").split(), folder=folder)
    assert done.code in (1, 2)
    assert "UTF-8" in done.err
    assert "codec" not in done.err


@pytest.mark.parametrize(
    "line",
    (
        "status",
        "mine --repo a/b",
        "build qa",
        "init",
        "doctor",
        "config show",
        "why a/b#1",
        "check",
    ),
)
def test_a_workspace_that_is_a_file_is_called_one(folder: Path, line: str) -> None:
    done = run(*line.split(), "--workspace", "file", folder=folder)
    sentence(done, 2, "file is a file, not a workspace", "Give a directory")


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("numpy/numpy", "Write --repo numpy/numpy"),
        ("https://github.com/numpy/numpy", "Write --repo numpy/numpy"),
        ("git@github.com:numpy/numpy.git", "Write --repo numpy/numpy"),
        ("numpy", "-h for help"),
    ],
)
@pytest.mark.parametrize("command", ("mine", "status", "build qa", "filter", "report"))
def test_a_repository_without_its_option_is_offered_with_it(
    folder: Path, command: str, word: str, remedy: str
) -> None:
    done = run(*command.split(), word, folder=folder)
    sentence(done, 2, f"{word!r} is one word too many", remedy)


@pytest.mark.parametrize(
    ("dataset", "model", "cause"),
    [
        ("code-edit", "tfidf-svm", "A linear model does not answer code_edit"),
        ("nlbse23_issue_type", "longest-comment", "The model longest-comment does not answer"),
        ("qa", "most-changed-file", "whose answers are no files"),
    ],
)
def test_a_model_that_cannot_is_told_before_the_split(
    folder: Path, dataset: str, model: str, cause: str
) -> None:
    line = f"evaluate run --dataset {dataset} --workspace demo --model {model}"
    done = run(*line.split(), folder=folder)
    assert done.code == 1
    assert cause in done.err + done.out
    assert "split" not in done.err


def test_a_split_that_comes_out_empty_names_one_that_can(tmp_path: Path) -> None:
    def tasks(words: str) -> str:
        return run("tasks", *words.split(), folder=tmp_path).out

    rows = [f"text number {n} of house {n * n},{'yes' if n % 2 else 'no'}" for n in range(12)]
    (tmp_path / "few.csv").write_text("\n".join(["body,urgent", *rows]))
    tasks("add few few.csv --text body --label urgent")
    empty = tasks("import few few.csv --split random:0.98,0.01,0.01")
    assert "Of 12 rows none is in validation and test: --split stratified:" in empty
    assert "none is in" not in tasks("import few few.csv --split stratified:0.8,0.2")
    table = "\n".join(["body,urgent", *["the same,yes", "the same,no"] * 20])
    (tmp_path / "equal.csv").write_text(table)
    added = tasks("add equal equal.csv --text body --label urgent")
    assert "rows with other texts are needed" in added
    assert "Next:" not in added


def test_an_empty_dataset_names_the_choices_that_are_not(folder: Path, tmp_path: Path) -> None:
    lab = Workspace(shutil.copytree(folder / "demo", tmp_path / "lab"))
    (strict, _) = lab.filter(settings={"answer.least": 40})
    first = lab.build("qa", answer="first", profile=strict.profile, output=tmp_path / "first")
    with pytest.raises(DatasetError) as error:
        lab.build("qa", profile=strict.profile, output=tmp_path / "none")
    assert error.value.remedy.startswith(
        f"Give --answer first ({len(first)} rows) or run goldpan filter --set answer.least=9 ("
    )


@pytest.mark.parametrize("family", ("qa", "code-edit"))
def test_what_a_license_emptied_names_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    """Also for pairs, whose issue it is that has no license."""
    world = World(*(replace(one, license=None) for one in demo_world().repositories))
    monkeypatch.setenv("GITHUB_TOKEN", "token-of-a-test")
    with Twin(world) as twin:
        lab = Workspace(tmp_path / "lab", api_url=twin.url)
        with pytest.warns(UserWarning, match="prospector/none does not exist"):
            lab.mine("prospector/sluice", "prospector/none")

    def remedy() -> str:
        with pytest.raises(DatasetError) as error:
            lab.build(family)
        return error.value.remedy

    def stages() -> None:
        lab.pair()
        lab.clone(source=str(HISTORIES))
        lab.filter()

    stages()
    assert "goldpan normalize --repo OWNER/NAME --license SPDX" in remedy()
    lab.normalize("prospector/sluice", license="GPL-3.0")
    stages()
    assert "--set 'license.allowed=[\"GPL-3.0\"]', and build" in remedy()
    (allowed,) = lab.filter(settings={"license.allowed": ["GPL-3.0"]})
    assert allowed.issues.kept


@pytest.mark.parametrize(
    ("place", "host"),
    [
        ("GOLDPAN_API_URL", NOWHERE),
        ("GITHUB_API_URL", "http://no-such-host.invalid"),
        ("--api-url", NOWHERE),
        ("api_url in there/goldpan.toml, line 2", NOWHERE),
    ],
)
def test_a_host_that_is_not_there_is_told_with_what_names_it(
    tmp_path: Path, place: str, host: str
) -> None:
    (tmp_path / "there").mkdir()
    given = {"GOLDPAN_API_URL": "", "GOLDPAN_TRUST": "there"}
    words = ["mine", "--repo", "a/b", "--workspace", "there"]
    if place.startswith("api_url"):
        (tmp_path / "there" / "goldpan.toml").write_text(f"\napi_url = '{host}'\n")
    elif place.startswith("--"):
        words += [place, host]
    else:
        given[place] = host
    done = run(*words, folder=tmp_path, **given)
    sentence(done, 1, "cannot be reached", f"Check {place}, its host and port")


def test_what_needs_no_token_asks_for_none(folder: Path) -> None:
    """A command that fails to give one stops what asks GitHub, and nothing else."""
    for line in ("check", "funnel", "build qa --limit 3 --output few", "evaluate models", "help"):
        done = run(*line.split(), folder=folder, **LAB)
        assert done.code == 0, done.err
    done = run("mine", "--repo", "a/b", folder=folder, **LAB)
    sentence(done, 2, "GOLDPAN_TOKEN_COMMAND gave no token")
    for line in ("doctor", "config show"):
        done = run(*line.split(), folder=folder, **LAB)
        assert done.code == (line == "doctor")
        assert "GOLDPAN_TOKEN_COMMAND gave no token" in done.out
        assert "workspace" in done.out.lower()


def test_issue_types_are_built_of_what_there_is(folder: Path) -> None:
    line = "build issue-type --workspace demo --profile nlbse23 --split none --output types"
    done = run(*line.split(), folder=folder)
    assert done.code == 0, done.err
    assert "repositories" in done.out + done.err


@pytest.mark.parametrize(
    ("line", "problem", "remedy"),
    [
        ("build qa --limit ten", "'ten' is not a whole number", "goldpan build qa -h"),
        ("prune --older-than soon", "'soon' is not a number", "goldpan prune -h"),
        ("build qa --limit 0", "Must be >= 1", "goldpan build qa -h"),
        ("mine --repo a/b --via soap", 'Choose from: "auto"', "goldpan mine -h"),
        ("--nonsense", "Unknown option: --nonsense", "after it"),
        ("diff file demo/datasets/qa", "file is a file, not a dataset", "name or directory"),
        ("filter --concurrency 3", "Unknown option", "goldpan.toml"),
        ("evaluate run --set C", "--set 'C' has no value", "name=value"),
    ],
)
def test_a_wrong_word_is_told_with_what_may_stand(
    folder: Path, line: str, problem: str, remedy: str
) -> None:
    sentence(run(*line.split(), folder=folder), 2, problem, remedy)


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_of_a_newcomer_is_told_with_its_remedy(folder: Path, line: str) -> None:
    words, *expected = (part.strip() for part in line.split(" | "))
    done = run(*words.split(), folder=folder, GOLDPAN_WORKSPACE="demo", COLUMNS="400")
    assert done.code in (1, 2)
    (told,) = done.err.splitlines()
    assert told.startswith("Error: ")
    assert [part for part in expected if part not in told] == []


@pytest.mark.parametrize("columns", (110, 60))
def test_a_terminal_cuts_no_word_of_a_message(folder: Path, columns: int) -> None:
    lines = MISTAKES[::9]
    words = [line.partition(" | ")[0] for line in lines]
    script = "; ".join(f"{sys.executable} -m goldpan {one}" for one in words)
    environment = {**os.environ, "GOLDPAN_WORKSPACE": "demo"}
    shown = run_on_screen(["sh", "-c", f"{script}; true"], columns, environment, folder)
    told = " ".join(" ".join(shown).split())
    assert "Traceback" not in told
    assert max(map(len, shown)) <= columns
    for word, line in zip(words, lines, strict=True):
        whole = run(*word.split(), folder=folder, GOLDPAN_WORKSPACE="demo").err
        assert " ".join(whole.split()) in told, line

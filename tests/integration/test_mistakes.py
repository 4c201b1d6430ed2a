"""Mistakes at the command line, each told by input, cause and remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldpan import Dataset, Workspace
from goldpan.core.errors import DatasetError
from tests.console import NOWHERE, run, sentence
from tests.demo_workspace import make_demo, make_tables
from tests.mining import mine_twin
from tests.places import ROOT
from tests.twin import Twin, World, synthetic_world

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
        (folder / f"bytes.{ending}").write_bytes(b"\xff\xfe\x00name = \x81\n" * 9)
    (folder / "file").write_text("x")
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


def test_help_asks_for_no_token(folder: Path) -> None:
    done = run("help", "build", "qa", folder=folder, GOLDPAN_TOKEN_COMMAND="false")
    assert done.code == 0
    assert "--answer" in done.out


@pytest.mark.parametrize(
    ("dataset", "model", "cause"),
    [
        ("code-edit", "longest-comment", "The model longest-comment does not answer code_edit"),
        ("nlbse23_issue_type", "longest-comment", "nlbse23_issue_type, which is multi-class"),
        ("code-edit", "tfidf-svm", "A linear model does not answer code_edit"),
        ("qa", "token-svm", "gives tags, and qa is text-generation"),
        ("qa", "dates", "The model dates does not answer qa"),
        ("qa", "most-changed-file", "whose answers are no files"),
    ],
)
def test_a_model_that_cannot_is_told_before_the_split(
    folder: Path, dataset: str, model: str, cause: str
) -> None:
    named = "--task" if dataset.startswith("nlbse") else "--dataset"
    line = f"evaluate run {named} {dataset} --workspace demo --model {model}"
    done = run(*line.split(), folder=folder)
    assert done.code == 1
    assert cause in done.err + done.out
    assert "split" not in done.err


def test_a_reader_that_closes_the_pipe_ends_quietly(folder: Path) -> None:
    words = "why prospector/sluice#63 --workspace demo"
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m goldpan {words} | head -1"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "prospector/sluice#63"
    assert done.stderr == ""


def test_the_local_github_tells_what_to_mine(tmp_path: Path) -> None:
    served = subprocess.Popen(
        [sys.executable, "-u", "-m", "tests.twin", "--synthetic"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with served:
        assert served.stdout is not None
        url, told, command = (served.stdout.readline().strip() for _ in range(3))
        served.terminate()
    assert told.startswith("Serves prospector/sluice")
    assert command == f"GITHUB_TOKEN=any goldpan mine --repo prospector/sluice --api-url {url}"


def test_a_split_that_comes_out_empty_names_one_that_can(tmp_path: Path) -> None:
    rows = [f"text number {n} of house {n * n},{'yes' if n % 2 else 'no'}" for n in range(12)]
    (tmp_path / "few.csv").write_text("\n".join(["body,urgent", *rows]))
    done = run(
        *["tasks", "add", "few", "few.csv", "--text", "body", "--label", "urgent"], folder=tmp_path
    )
    assert done.code == 0, done.err
    done = run(
        *["tasks", "import", "few", "few.csv", "--split", "random:0.98,0.01,0.01"], folder=tmp_path
    )
    assert "Of 12 rows none is in validation and test: --split stratified:" in done.out
    done = run(
        *["tasks", "import", "few", "few.csv", "--split", "stratified:0.8,0.2"], folder=tmp_path
    )
    assert "none is in" not in done.out
    table = "\n".join(["body,urgent", *["the same,yes", "the same,no"] * 20])
    (tmp_path / "equal.csv").write_text(table)
    done = run(
        *["tasks", "add", "equal", "equal.csv", "--text", "body", "--label", "urgent"],
        folder=tmp_path,
    )
    assert "rows with other texts are needed" in done.out
    assert "Next:" not in done.out


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
        ("--nonsense", "Unknown option: --nonsense", "behind it"),
        ("diff file demo/datasets/qa", "file is a file, not a dataset", "name or directory"),
        ("filter --concurrency 3", "Unknown option", "goldpan.toml"),
        ("evaluate run --set C", "--set 'C' has no value", "name=value"),
    ],
)
def test_a_wrong_word_is_told_with_what_may_stand(
    folder: Path, line: str, problem: str, remedy: str
) -> None:
    sentence(run(*line.split(), folder=folder), 2, problem, remedy)


@pytest.mark.parametrize(
    ("line", "problem", "remedy"),
    [
        ("--alpha 2", "alpha 2 cannot", "between 0 and 1"),
        ("--alpha nan", "alpha nan cannot", "between 0 and 1"),
        ("--rope -1", "rope -1 cannot", "at least 0"),
        ("--rope -1 --approach bayesian", "rope -1 cannot", "at least 0"),
    ],
)
def test_only_the_setting_that_is_wrong_is_named(
    folder: Path, line: str, problem: str, remedy: str
) -> None:
    words = f"evaluate compare --workspace demo --task nlbse23_issue_type {line}".split()
    done = run(*words, folder=folder)
    sentence(done, 1, problem, remedy)
    assert "samples" not in done.err
    assert ("rope" in done.err) == ("rope" in problem)


@pytest.mark.parametrize(
    "line",
    (
        "check",
        "build qa --output qa",
        "evaluate score",
        "why prospector/sluice#63",
        "open -h",
        "report",
        "filter",
    ),
)
def test_a_token_that_nobody_needs_is_not_asked_for(folder: Path, line: str) -> None:
    words = line.split()
    given = {"GOLDPAN_TOKEN_COMMAND": "false", "PATH": os.environ["PATH"]}
    done = run(*words, "--workspace", "demo", folder=folder, **given)
    assert done.code == 0, done.err
    assert "GOLDPAN_TOKEN_COMMAND" not in done.err


def test_a_token_that_is_needed_is_asked_for(folder: Path) -> None:
    done = run("mine", "--repo", "a/b", folder=folder, GOLDPAN_TOKEN_COMMAND="false")
    sentence(done, 2, "GOLDPAN_TOKEN_COMMAND gave no token", "Run it by hand")
    done = run("doctor", "--workspace", "demo", folder=folder, GOLDPAN_TOKEN_COMMAND="false")
    assert "GOLDPAN_TOKEN_COMMAND gave no token" in done.out
    assert "ok    Extra" in done.out


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


def _empty(lab: Workspace, family: str, **options: Any) -> DatasetError:
    with pytest.raises(DatasetError, match="would be empty") as raised:
        lab.build(family, output=lab.path / "empty", **options)
    return raised.value


def test_an_empty_dataset_names_the_answers_that_fill_it(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "lab"))
    (filtered,) = {result.profile for result in lab.filter(settings={"answer.least": 90})}
    for path in lab.path.glob("verdicts/*/*/*/*.parquet"):
        if path.stem in ("default", "verified"):
            path.unlink()
    error = _empty(lab, "qa", profile=filtered)
    first, lower = error.remedy.split(", or ")
    assert first.startswith(f"Run goldpan build qa --profile {filtered} --answer first (")
    made = lab.build("qa", profile=filtered, answer="first", output=tmp_path / "first")
    assert f"({len(made):,} rows)" in first
    refilter, rebuild = lower.split(", then ")
    assert refilter == f"goldpan filter --profile {filtered} --set answer.least=9"
    done = run(*refilter.split()[1:], "--workspace", "lab", folder=tmp_path)
    assert done.code == 0, done.err
    words = rebuild.split(" (")[0].split()
    done = run(*words[1:], "--output", "lower", "--workspace", "lab", folder=tmp_path)
    assert done.code == 0, done.err
    assert f"({len(Dataset(tmp_path / 'lower')):,} rows)" in lower


def test_an_empty_dataset_names_no_answers_where_there_are_none(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path))
    (filtered,) = {result.profile for result in lab.filter(settings={"comment-scale.minimum": 99})}
    for path in lab.path.glob("verdicts/*/*/*/*.parquet"):
        if path.stem in ("default", "verified"):
            path.unlink()
    error = _empty(lab, "qa", profile=filtered)
    assert "comment-scale" in error.problem
    assert error.remedy.startswith("Run goldpan funnel")


@pytest.mark.parametrize("family", ("fault-localization", "code-edit", "issue-resolution"))
def test_an_empty_dataset_without_a_history_names_clone(tmp_path: Path, family: str) -> None:
    lab = make_tables(tmp_path)
    lab.pair()
    lab.filter()
    assert _empty(lab, family).remedy.startswith("Run goldpan clone, then goldpan filter")


def test_an_empty_dataset_without_a_license_says_how_to_state_one(tmp_path: Path) -> None:
    world = synthetic_world()
    unlicensed = World(replace(world.main, license=None))
    own = tmp_path / "own.toml"
    own.write_text('extends = "default"\n[answer]\nleast = 1\n')
    with Twin(unlicensed) as twin:
        mine_twin(twin, tmp_path)
    lab = Workspace(tmp_path)
    lab.pair()
    lab.filter(profile=own)
    error = _empty(lab, "qa", profile="own")
    assert "no license of prospector/sluice is known" in error.problem
    assert "goldpan normalize --repo prospector/sluice --license SPDX" in error.remedy
    lab.normalize(license="MIT")
    lab.pair()
    lab.filter(profile=own)
    assert len(lab.build("qa", profile="own"))

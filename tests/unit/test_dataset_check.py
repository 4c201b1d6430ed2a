from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.result import blocks_of
from goldpan.core.storage.sealed import file_digest, read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import show
from goldpan.datasets.examples import CODE_EDIT, FAMILIES, QA
from goldpan.datasets.files import write_dataset
from goldpan.datasets.hub.check import check_dataset
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import task_family
from goldpan.lineage.trace import trace
from tests.evaluating import rows
from tests.examples import CARD, PROVENANCE, example, examples, write

SECRET = "ghp_" + "".join(chr(97 + 7 * at % 26) for at in range(36))
EMAIL = "ada.lovelace@analytical-engine.org"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [*examples(QA, 20), example(QA, 1, "p/q", license="Apache-2.0")]
    return write(tmp_path_factory.mktemp("sound"), QA, rows, "time:2020-01-11").directory


@pytest.fixture
def dataset(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "dataset"))


def vouch(directory: Path, *names: str) -> None:
    path = directory / "provenance.json"
    provenance = read_json(path)
    for name in names:
        provenance["files"][name] = {"sha256": file_digest(directory / name), "bytes": 0}
    path.write_bytes(sealed_json(provenance))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_a_fresh_dataset_has_no_problem(tmp_path: Path, family: Any) -> None:
    written = write(tmp_path, family, examples(family, 40), "random:0.5,0.5", shard_bytes=1)
    assert check_dataset(written.directory) == []


def test_what_is_no_dataset_is_one_problem(dataset: Path, tmp_path: Path) -> None:
    (problem,) = check_dataset(tmp_path)
    assert problem.file == "provenance.json"
    assert "holds no provenance.json" in problem.cause
    provenance = read_json(dataset / "provenance.json")
    songs = {**provenance, "family": "songs", "columns": [{"name": "tune", "type": "string"}]}
    (dataset / "provenance.json").write_bytes(sealed_json(songs))
    (problem,) = check_dataset(dataset)
    assert "does not know the family 'songs'" in problem.cause
    older = {**provenance, "goldpan": {"format": 0, "version": "0.0.1"}}
    (dataset / "provenance.json").write_bytes(sealed_json(older))
    (problem,) = check_dataset(dataset)
    assert "by Goldpan 0.0.1 in another format" in problem.cause


DATA = "data/test-00000-of-00001.parquet"


def _flip(directory: Path) -> None:
    data = bytearray((directory / DATA).read_bytes())
    data[100] ^= 1
    (directory / DATA).write_bytes(data)


def _spoil(directory: Path) -> None:
    path = directory / "README.md"
    path.write_text(path.read_text() + "!")


def _link(directory: Path) -> None:
    (directory / DATA).rename(directory.parent / "elsewhere")
    (directory / DATA).symlink_to(directory.parent / "elsewhere")


@pytest.mark.parametrize(
    ("break_it", "file", "cause"),
    [
        (_flip, DATA, "was changed since provenance.json was written"),
        (_link, DATA, "a link or not a regular file"),
        (lambda d: (d / DATA).unlink(), DATA, "is missing"),
        (lambda d: (d / "README.md").unlink(), "README.md", "is missing"),
        (_spoil, "README.md", "was changed"),
        (lambda d: (d / "croissant.json").write_text("{}"), "croissant.json", "was changed"),
        (lambda d: (d / ".env").write_text("TOKEN=x"), ".env", "does not name it"),
        (lambda d: (d / "data" / "more.parquet").touch(), "data/more.parquet", "does not name"),
    ],
)
def test_files_have_to_be_those_of_the_provenance(
    dataset: Path, break_it: Callable[[Path], object], file: str, cause: str
) -> None:
    break_it(dataset)
    (problem,) = check_dataset(dataset)
    assert problem.file == file
    assert cause in problem.cause
    assert problem.remedy


def test_a_dataset_without_data_or_card_is_told(dataset: Path) -> None:
    for path in dataset.iterdir():
        if path.name != "provenance.json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    provenance = read_json(dataset / "provenance.json")
    (dataset / "provenance.json").write_bytes(sealed_json({**provenance, "files": {}}))
    causes = [problem.cause for problem in check_dataset(dataset)]
    assert causes == ["it names no README.md", "it names no data"]


def test_data_of_another_family_or_no_data_at_all_is_told(dataset: Path, tmp_path: Path) -> None:
    other = write(tmp_path, CODE_EDIT, examples(CODE_EDIT, 11)).directory
    shutil.copy(other / DATA, dataset / DATA)
    vouch(dataset, DATA)
    assert any("columns are not those of qa" in problem.cause for problem in check_dataset(dataset))
    (dataset / DATA).write_bytes(b"PAR1 nonsense")
    vouch(dataset, DATA)
    assert any("cannot be read" in problem.cause for problem in check_dataset(dataset))


def test_licenses_have_to_be_known_and_allowed(tmp_path: Path) -> None:
    rows = [
        example(QA, 1, license="MIT"),
        example(QA, 2, "p/q", license="GPL-3.0"),
        example(QA, 3, "r/s", license=None),
        example(QA, 4, "t/u", license="NOASSERTION"),
        example(QA, 5, "t/u", license="NOASSERTION"),
    ]
    directory = write(tmp_path, QA, rows).directory
    assert [problem.cause for problem in check_dataset(directory)] == [
        "1 examples are of r/s, whose license is not known",
        "2 examples are of t/u, whose license is NOASSERTION",
    ]
    named = check_dataset(directory, allowed_licenses=["mit", "unknown"])
    assert [problem.cause for problem in named] == [
        "1 examples are of p/q, whose license is GPL-3.0 and not in the allow-list"
    ]
    assert "allow GPL-3.0" in named[0].remedy
    assert check_dataset(directory, allowed_licenses=["MIT", "GPL-3.0-only", "Unknown"]) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("title", f"my {SECRET}"),
        ("body", SECRET),
        ("labels", ["bug", SECRET]),
        ("answer", f"a {SECRET}"),
        ("dialogue", [{"role": "none", "content": SECRET, "created_at": None, "comment_id": 1}]),
    ],
)
def test_secrets_are_found_in_all_texts_and_not_repeated(
    tmp_path: Path, column: str, value: Any
) -> None:
    rows = [*examples(QA, 100), example(QA, 101, **{column: value})]
    (problem,) = check_dataset(write(tmp_path, QA, rows).directory)
    assert problem.file == DATA
    assert problem.cause == f"qa:o/n#101 has secret:github-token in its {column}"
    assert SECRET not in str(problem)


def test_many_secrets_are_counted(tmp_path: Path) -> None:
    problems = check_dataset(write(tmp_path, QA, examples(QA, 50, body=SECRET)).directory)
    assert len(problems) == 21
    assert problems[-1].cause == "30 more texts hold what should not be public"


@pytest.mark.parametrize(
    "column", ["file_before", "patch", "diff", "pull_title", "pull_body", "edits"]
)
def test_secrets_are_found_in_code(tmp_path: Path, column: str) -> None:
    text = f"key = {SECRET}"
    value = [{"search": "a", "replace": text}] if column == "edits" else text
    rows = examples(CODE_EDIT, 1, **{column: value})
    (problem,) = check_dataset(write(tmp_path, CODE_EDIT, rows).directory)
    assert problem.cause == f"code-edit:o/n#1+10001 has secret:github-token in its {column}"


def test_a_secret_in_code_is_no_e_mail_address(tmp_path: Path) -> None:
    rows = examples(CODE_EDIT, 1, patch=f"git clone {SECRET}@github.com:o/n")
    (problem,) = check_dataset(write(tmp_path, CODE_EDIT, rows).directory)
    assert "secret:github-token in its patch" in problem.cause


def test_personal_data_is_found_in_prose_and_stays_in_code(tmp_path: Path) -> None:
    rows = examples(CODE_EDIT, 1, file_before=EMAIL, edits=[{"search": EMAIL, "replace": ""}])
    assert check_dataset(write(tmp_path, CODE_EDIT, rows).directory) == []
    rows = examples(CODE_EDIT, 1, body=EMAIL, labels=[EMAIL])
    problems = check_dataset(write(tmp_path, CODE_EDIT, rows).directory)
    about = "code-edit:o/n#1+10001 has email in its"
    assert [problem.cause for problem in problems] == [f"{about} body", f"{about} labels"]


def test_paths_of_this_machine_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    for path in (f"{tmp_path}/datasets/made/x", "/home/somebody/work", f"{tmp_path}/raw/x"):
        settings = replace(PROVENANCE, settings={"source": path})
        directory = write(tmp_path, QA, examples(QA, 1), provenance=settings).directory
        problems = check_dataset(directory)
        assert {problem.file for problem in problems} == {"provenance.json"}
        assert "of this machine" in problems[0].cause
    noted = replace(CARD, changes=f"See {tmp_path}/notes")
    (problem,) = check_dataset(write(tmp_path, QA, examples(QA, 1), card=noted).directory)
    assert problem.file == "README.md"


def _write(workspace: WorkspaceLayout, name: str, pairs: list[tuple[object, object]]) -> Path:
    task = find_task(name)
    directory = workspace.dataset(name)
    plan = SplitPlan.parse("none")
    table = rows(task, pairs)
    write_dataset(workspace, directory, task_family(task), table, plan, Provenance(), CardInputs())
    return directory


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("comment_type_python", ("returns the sieve", ["Usage"])),
        ("se_entities", (["use", "numpy"], ["O", "B-Library"])),
        ("requirement_completion", ("shall sift", [{"start": 6, "end": 10}])),
        ("story_points", ("mend the sieve", 3.0)),
    ],
)
def test_columns_that_hold_lists_are_known(
    name: str, pair: tuple[object, object], tmp_path: Path
) -> None:
    directory = _write(WorkspaceLayout(tmp_path), name, [pair])
    (only,) = check_dataset(directory)
    assert "license is not known" in str(only)


def test_an_example_that_is_of_no_issue_is_traced_to_its_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = WorkspaceLayout(tmp_path)
    _write(workspace, "story_points", [("mend the sieve", 3.0)])
    traced = trace(workspace, "story_points:00000")
    assert traced.place == {"source": "made#0"}
    assert traced.complete
    show(blocks_of(traced))
    output = capsys.readouterr().out
    assert "source: made#0" in output
    assert "Raw replies" not in output

"""Fixes are proved by running tests, in isolation, whatever the repository's code does.

The repositories here are of shell scripts, so that no environment has to be installed.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldpan import load
from goldpan.code.patch import split_patch
from goldpan.core.errors import WorkspaceError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.checkout import check_out
from goldpan.execution.records import RECORD, TrialSettings, hold_verification, package_cache
from goldpan.execution.verify import Verification, verify_all
from goldpan.git.apply import DiffError, apply_in
from goldpan.git.clone import clone
from goldpan.lineage.check import check_workspace
from tests.demo_workspace import attempt, goldpan, make_demo
from tests.git_repositories import REPO, Odd, Repository
from tests.git_server import GitServer
from tests.mining import Notes
from tests.places import ROOT
from tests.shell_lab import QUICK, RECIPE, RUNNER, Lab
from tests.verifying import needs_isolation, probes, probing, runs_foreign_code

pytestmark = runs_foreign_code

TOKEN = "ghp_" + "v3r1fy" * 6


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_fix_is_verified_and_its_logs_are_kept(lab: Lab) -> None:
    record = lab.verify(lab.instance("echo checked; grep -q 2 value"))
    assert record.proof.verdict == "verified"
    assert record.proof.fail_to_pass == ("tests/check.sh",)
    names = {path.name for path in lab.record_folder.iterdir()}
    assert {RECORD, "after-1.log", "before-2.log", "after-2.report"} <= names
    assert "checked" in (lab.record_folder / "after-1.log").read_text()


def test_the_same_run_gives_the_same_record_and_is_not_repeated(lab: Lab) -> None:
    instance = lab.instance("grep -q 2 value")
    first = lab.verify(instance)
    stamp = (lab.record_folder / "after-1.log").stat().st_mtime_ns
    assert lab.verify(instance).digest == first.digest
    assert (lab.record_folder / "after-1.log").stat().st_mtime_ns == stamp
    assert lab.verify(instance, again=True).digest == first.digest
    assert (lab.record_folder / "after-1.log").stat().st_mtime_ns != stamp


def test_a_record_without_a_test_is_the_same_whatever_the_log_says(lab: Lab) -> None:
    lab.files[b"run.sh"] = b"#!/bin/sh\ndate +%N\n"
    instance = lab.instance("true")
    first = lab.verify(instance)
    assert (first.proof.verdict, first.detail) == ("no-tests-run", "see after-1.log")
    assert lab.verify(instance, again=True).digest == first.digest


def test_other_settings_or_a_damaged_record_are_run_again(lab: Lab) -> None:
    instance = lab.instance("grep -q 2 value")
    lab.verify(instance)
    (lab.record_folder / RECORD).write_bytes((lab.record_folder / RECORD).read_bytes()[:-9] + b"\n")
    assert lab.verify(instance).proof.verdict == "verified"
    lab.verify(instance, replace(QUICK, repeats=3))
    assert (lab.record_folder / "after-3.log").exists()


def test_a_log_or_report_that_was_changed_is_told_and_made_anew(lab: Lab) -> None:
    instance = lab.instance("echo checked; grep -q 2 value")
    digest = lab.verify(instance).digest
    for name in ("after-1.log", "before-2.report"):
        path = lab.record_folder / name
        path.write_bytes(path.read_bytes()[:-1])
        (damage,) = check_workspace(lab.workspace, Notes()).damaged
        assert (damage.file, damage.reason) == (str(path), "record.json records another digest")
        assert "goldpan verify" in damage.remedy
        assert lab.verify(instance).digest == digest
        assert check_workspace(lab.workspace, Notes()).damaged == ()
    (lab.record_folder / "after-2.log").unlink()
    (damage,) = check_workspace(lab.workspace, Notes()).damaged
    assert damage.reason == "record.json names it, and it is gone"


@pytest.mark.parametrize(
    ("test", "value", "verdict"),
    [
        ("true", b"2\n", "no-test-fails-before"),
        ("grep -q 3 value", b"2\n", "no-test-passes-after"),
        ("grep -q 2 value && n=$(cat $HOME/n); echo x$n > $HOME/n; "
         "grep -q 2 value && [ ${#n} -lt 1 ]", b"2\n", "flaky"),
    ],
)  # fmt: skip
def test_what_proves_nothing_is_said_so(lab: Lab, test: str, value: bytes, verdict: str) -> None:
    assert lab.verify(lab.instance(test, value)).proof.verdict == verdict


def test_tests_that_are_skipped_even_with_the_fix_are_told(lab: Lab) -> None:
    skips = RUNNER.replace(b"<failure/>", b"<skipped/>")
    lab.files |= {b"run.sh": skips, b"tests/old.sh": b"true\n"}
    lab.tests[b"tests/old.sh"] = b"true # as before\n"
    record = lab.verify(lab.instance("which no-such-program"))
    assert record.proof.verdict == "no-test-fails-before"
    assert record.environment["skipped"] == ["tests/check.sh"]
    told = "1 row not proved, with tests skipped even with the fix"
    assert told in str(Verification((record,), "bubblewrap"))


def test_a_test_that_reads_a_changed_file_runs_though_it_did_not_change(lab: Lab) -> None:
    all_of_them = b'#!/bin/sh\n[ $# -gt 1 ] || set -- "$1" tests/*.sh\n'
    lab.files[b"run.sh"] = all_of_them + RUNNER.partition(b"\n")[2]
    lab.files[b"tests/reads.sh"] = b'test "$(cat value)" = "$(cat tests/expected 2> /dev/null)"\n'
    lab.tests[b"tests/expected"] = b"2\n"
    instance = lab.instance("true")
    assert instance.test_files == ("tests/check.sh", "tests/expected")
    record = lab.verify(instance)
    assert record.takes_all
    assert record.proof.fail_to_pass == ("tests/reads.sh",)
    assert record.proof.pass_to_pass == ("tests/check.sh",)
    assert lab.resolve(instance, instance.patch).outcome == "resolved"


def test_what_cannot_be_run_is_told_with_the_cause(lab: Lab) -> None:
    instance = lab.instance("grep -q 2 value")
    record = lab.verify(replace(instance, patch=instance.patch.replace("-1\n", "-7\n")))
    assert (record.proof.verdict, record.detail) == ("does-not-apply", "the fix")
    compiled = lab.instance("grep -q 2 value", **{"core.c": b"int x;\n"})
    assert lab.verify(compiled).proof.verdict == "needs-rebuild"
    del lab.files[b"run.sh"]
    unknown = lab.instance("true")
    assert lab.verify(unknown).proof.verdict == "no-recipe"
    assert lab.verify(replace(unknown, base_commit="f" * 40)).proof.verdict == "lost-base"


def test_a_lost_base_of_a_private_partial_clone_stops_no_other_row(lab: Lab) -> None:
    instance = lab.instance("grep -q 2 value")
    shutil.rmtree(lab.workspace.clone(REPO))
    lost = replace(instance, id="x:o/n#3+4", issue=3, pull=4, base_commit="f" * 40)
    with GitServer(lab.repository.path.parent, token=TOKEN) as server:
        given: dict[str, Any] = {"token": TOKEN, "host": server.host}
        address = server.address("source.git")
        assert clone(lab.workspace, REPO, Notes(), source=address, **given).partial
        rows = [lost, instance]
        records = verify_all(
            lab.workspace, rows, QUICK, Notes(), recipes=[lab.recipe], **given
        ).records
    assert [record.proof.verdict for record in records] == ["lost-base", "verified"]


@needs_isolation
@pytest.mark.parametrize("stage", ["tests", "building"])
def test_foreign_code_reaches_neither_secrets_nor_files_nor_network(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    with probes(tmp_path, monkeypatch) as tried:
        if stage == "tests":
            test, log = f"{probing(tried)}grep -q 2 value", "after-1.log"
        else:  # which reaches the network
            tried[:1] = [f"ls {lab.workspace.clone(REPO)}", f"ls {lab.record_folder}"]
            build = json.dumps(["/bin/sh", "-c", probing(tried)])
            lab.recipe.write_text(f"build = [{build}]\n{RECIPE}", encoding="utf-8")
            test, log = "grep -q 2 value", "build.log"
        assert lab.verify(lab.instance(test)).proof.verdict == "verified"
    printed = (lab.record_folder / log).read_text().splitlines()
    assert "begins" in printed
    assert "reached" not in printed


@pytest.mark.parametrize(
    ("test", "settings", "exceeded"),
    [
        ("sleep 600", replace(QUICK, seconds=2), "time, after-1"),
        ("for i in $(seq 60); do sleep 30 & done; wait", TrialSettings(processes=20),
         "processes, after-1"),
        ("for i in 1 2 3; do head -c 90m /dev/zero | tail -c 60m | sleep 30 & done; wait",
         TrialSettings(memory=100 << 20), "memory, after-1"),
        ("for i in 1 2 3 4; do head -c 4m /dev/urandom > file$i; done; sleep 60",
         TrialSettings(disk=8 << 20), "disk, after-1"),
        ("", TrialSettings(seconds=1), "time, build"),
    ],
)  # fmt: skip
def test_tests_and_building_are_bounded(
    lab: Lab, test: str, settings: TrialSettings, exceeded: str
) -> None:
    if not test:
        lab.recipe.write_text('build = [["/bin/sleep", "60"]]\n' + RECIPE, encoding="utf-8")
    record = lab.verify(lab.instance(test or "true"), settings)
    assert (record.proof.verdict, record.detail) == ("limit-exceeded", exceeded)


def test_packages_of_any_date_are_taken_where_those_of_the_date_fail_and_this_is_told(
    lab: Lab,
) -> None:
    instance = lab.instance("test -f made && grep -q 2 value")
    dated = '["/bin/sh", "-c", "echo no packages before {date}; exit 1"]'
    for build, fallback, limited in (
        (dated, '["/bin/touch", "made"]', ""),
        ('["/bin/sh", "-c", "echo {date} > made"]', '["/bin/false"]', "2"),
    ):
        lab.recipe.write_text(f"build = [{build}]\nfallback = [{fallback}]\n{RECIPE}")
        record = lab.verify(instance)
        assert record.proof.verdict == "verified", record.detail
        assert record.environment["newest_packages"][:1] == limited
        assert record.environment.get("fallback", False) == (not limited)
        log = (lab.record_folder / "build.log").read_text()
        assert ("goldpan: this failed, so packages are not limited to 2" in log) == (not limited)
    lab.recipe.write_text(f"build = [{dated}]\nfallback = [{dated}]\n{RECIPE}")
    assert lab.verify(instance).proof.verdict == "does-not-build"


def test_a_fix_applies_where_building_writes_files_of_the_commit(lab: Lab) -> None:
    """Some projects generate their README from the code, and commit it."""
    build = 'build = [["/bin/sh", "-c", "echo 9 > value; echo made > made"]]\n'
    lab.recipe.write_text(build + RECIPE, encoding="utf-8")
    record = lab.verify(lab.instance("test -s made && grep -q 2 value"))
    assert record.proof.verdict == "verified", record.detail


def test_what_a_fix_declares_to_need_is_installed_if_it_can_be(lab: Lab) -> None:
    lab.files[b"needs"] = b"one\n"
    instance = lab.instance("grep -q . installed && grep -q 2 value", needs=b"two\n", lock=b"two\n")
    for wanted, declared in (("two", ["needs"]), ("one", None)):
        build = f'build = [["/bin/sh", "-c", "test ! -f lock && grep {wanted} needs > installed"]]'
        lab.recipe.write_text(f'{build}\ndeclaring = ["needs", "lock"]\n{RECIPE}', encoding="utf-8")
        record = lab.verify(instance)
        assert record.proof.verdict == "verified", record.detail
        assert record.environment.get("declared_by_fix") == declared
        log = (lab.record_folder / "build.log").read_text()
        assert ("so what the base declares is built" in log) == (not declared)


def test_submodules_come_from_clones_in_the_workspace(lab: Lab, tmp_path: Path) -> None:
    other = Repository.create(tmp_path / "other.git")
    data = other.commit({b"answer": b"42\n"}, ref="refs/heads/main")
    declared = '[submodule "d"]\n\tpath = data\n\turl = ../data.git\n'
    lab.files[b".gitmodules"] = declared.encode()
    lab.files[b"data"] = Odd("160000", data)
    lab.files[b"lost"] = Odd("160000", "f" * 40)
    instance = lab.instance("grep -q 42 data/answer && grep -q 2 value")
    assert lab.verify(instance).detail == "without submodule data, lost"
    clone(lab.workspace, "o/data", Notes(), source=other.path)
    record = lab.verify(instance)
    assert record.proof.verdict == "verified"
    assert record.environment["lacking_submodules"] == ["lost"]
    failing = lab.instance("test -d lost/x")
    verified = verify_all(lab.workspace, [failing], QUICK, Notes(), recipes=[lab.recipe])
    (failed,) = verified.records
    assert failed.proof.verdict == "no-test-passes-after"
    assert failed.detail == "without submodule lost"
    assert "1 row failed because a submodule is not cloned" in str(verified)


def test_no_two_processes_run_tests_in_one_workspace(lab: Lab) -> None:
    with (
        hold_verification(lab.workspace),
        pytest.raises(WorkspaceError, match="Another goldpan is running tests"),
    ):
        lab.verify(lab.instance("true"))


@needs_isolation
def test_the_demos_proved_fixes_are_built_and_resolve_what_they_say(tmp_path: Path) -> None:
    lab = make_demo(tmp_path / "lab")
    candidates = lab / "datasets" / "issue-resolution"
    recipe = str(ROOT / "src" / "goldpan" / "demo" / "recipe.toml")
    verified = json.loads(
        goldpan("verify", str(candidates), "--workspace", str(lab), "--recipe", recipe,
                "--timeout", "60", "--memory", "1", "--json")
    )  # fmt: skip
    assert verified["counts"] == {"verified": 21}
    output = tmp_path / "proved"
    built = goldpan("build", "issue-resolution", "--profile", "verified", "--require", "verified",
                    "--workspace", str(lab), "--output", str(output))  # fmt: skip
    assert "issue-resolution: 21 examples" in built
    rows = load(output).to_arrow().to_pylist()
    assert {row["verification"] for row in rows} == {"verified"}
    assert all(row["FAIL_TO_PASS"] and row["environment_setup_commit"] for row in rows)
    wrong = attempt("build", "qa", "--require", "verified", "--workspace", str(lab))
    assert wrong.code == 2
    assert "qa has no review 'verified'" in wrong.err
    other = attempt("verify", str(lab / "datasets" / "qa"), "--workspace", str(lab))
    assert other.code == 2
    assert "of the family qa" in other.err


def test_an_instance_has_both_patches_and_what_was_said_before_the_fix(tmp_path: Path) -> None:
    lab = make_demo(tmp_path / "lab")
    rows = load(lab / "datasets" / "issue-resolution").to_arrow().to_pylist()
    row = next(row for row in rows if row["issue"] == 3)
    assert row["instance_id"] == "prospector__sluice-4"
    assert row["problem_statement"].startswith("Header names keep a byte-order mark\nSeen with")
    assert row["hints_text"] == "Thanks, I can reproduce this."
    assert [part.path for part in split_patch(row["patch"])] == ["src/sluice/header.py"]
    assert row["test_files"] == ["tests/test_header_3.py"]
    tree = tmp_path / "tree"
    tree.mkdir()
    repository = lab / "git" / "prospector" / "sluice.git"
    check_out(repository, row["base_commit"], tree, tmp_path / "index")
    apply_in(tree, row["test_patch"].encode())
    apply_in(tree, row["patch"].encode())
    assert "ufeff" in (tree / "src" / "sluice" / "header.py").read_text()
    with pytest.raises(DiffError, match="patch does not apply"):
        apply_in(tree, row["patch"].encode())


def test_packages_last_as_long_as_tests_run(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    cache = package_cache(workspace, "Prospector/Sluice")
    for _ in range(2):
        with hold_verification(workspace):
            assert not cache.exists()
            (cache / "wheels").mkdir(parents=True)
            (cache / "wheels" / "one.py").write_text("import this")
            (cache / "wheels").chmod(0)
        assert not cache.exists()

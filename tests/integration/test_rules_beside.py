"""Pairs by several rules in one workspace: each with its own verdicts, and each named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from goldpan import Workspace
from goldpan.core.errors import DatasetError, UsageError, WorkspaceError
from goldpan.core.storage.parquet import read_table
from goldpan.datasets.provenance import read_provenance
from goldpan.filters.profile import criteria
from tests.demo_workspace import make_tables
from tests.invoking import invoke

REPO = "prospector/sluice"


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tables(tmp_path_factory.mktemp("mined")).path


@pytest.fixture
def lab(mined: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(mined, tmp_path / "lab")
    return Workspace(tmp_path / "lab")


def program(lab: Workspace, *arguments: str) -> str:
    done = invoke(*arguments, "--workspace", lab.path)
    assert done.exit_code == 0, done.output
    return done.stdout


def paired(lab: Workspace, order: Sequence[str] = ("default", "faun-eval")) -> dict[str, int]:
    return {rules: lab.pair(rules=rules)[0].pairs for rules in order}


def test_a_second_set_of_rules_lies_beside_the_first(lab: Workspace) -> None:
    counts = paired(lab)
    assert counts["faun-eval"] < counts["default"]
    for rules, count in counts.items():
        (result,) = lab.filter(rules=rules)
        assert (result.pairs.rows, result.basis.rules) == (count, rules)
    for rules, count in counts.items():  # neither took the other's place
        assert lab.funnel(rules=rules).pairs.rows == count
    assert len(lab.why(f"{REPO}#1", rules="default").pairs) == 1


def test_the_default_stays_default_whatever_was_paired_last(lab: Workspace) -> None:
    for order in (("faun-eval", "default"), ("default", "faun-eval")):
        counts = paired(lab, order)
        (result,) = lab.filter()
        assert (result.basis.rules, result.pairs.rows) == ("default", counts["default"])
        (basis,) = lab.funnel().basis
        assert (basis.rules, basis.other_rules) == ("default", ("faun-eval",))
        assert lab.funnel().pairs.rows == counts["default"]
        assert lab.why(f"{REPO}#1").basis.rules == "default"


@pytest.mark.nightly
def test_every_command_says_what_stands_behind_it(lab: Workspace, tmp_path: Path) -> None:
    assert "32 fix pairs by rules default\n" in program(lab, "pair")
    only = "Pairs by rules default; profile default\n"
    assert only in program(lab, "filter")
    output = program(lab, "pair", "--rules", "faun-eval")
    assert "Also stored: --rules default\n" in output
    assert "Later commands use these pairs with --rules faun-eval\n" in output
    program(lab, "filter", "--rules", "faun-eval")
    page = tmp_path / "report.html"
    commands: list[tuple[str, ...]] = [("filter",), ("funnel",), ("build", "qa")]
    commands += [("report", "--output", str(page)), ("review", "--model", "any", "--dry-run")]
    for rules, other in (("default", "faun-eval"), ("faun-eval", "default")):
        behind = f"Pairs by rules {rules} (also stored: --rules {other}); profile default\n"
        for command in commands:
            assert behind in program(lab, *command, "--rules", rules), command
            assert rules == "faun-eval" or behind in program(lab, *command), command
        assert f"paired by the rules <b>{rules}</b>" in page.read_text()
        why = program(lab, "why", f"{REPO}#1", "--rules", rules)
        assert f"Pairs by rules {rules} (also stored: --rules {other})\n" in why
    program(lab, "filter", "--profile", "faun-eval")
    behind = "Pairs by rules default (also stored: --rules faun-eval); profile default"
    assert f"{behind} (also stored: --profile faun-eval)\n" in program(lab, "funnel")
    for command in (("funnel",), ("filter",), ("report", "--output", str(page))):
        output = json.loads(program(lab, *command, "--json"))
        first = output[0] if isinstance(output, list) else output
        basis = first["basis"][0] if isinstance(first["basis"], list) else first["basis"]
        assert (basis["rules"], basis["other_profiles"]) == ("default", ["faun-eval"])
    assert (
        "Paired by the rules default, filtered by the profiles default, faun-eval.\n"
        "Paired by the rules faun-eval, filtered by the profile default.\n"
    ) in program(lab, "status")
    (coverage,) = json.loads(program(lab, "status", "--json"))
    assert coverage["stored"]["faun-eval"] == ["default"]


def test_a_profile_of_ones_own_is_chosen_by_its_name_once_it_was_used(
    lab: Workspace, tmp_path: Path
) -> None:
    lab.pair()
    lab.filter()
    path = tmp_path / "short.toml"
    path.write_text('extends = "default"\n[comment-scale]\nminimum = 5\n')
    (filtered,) = lab.filter(profile=path)
    printed = program(lab, "funnel")
    assert "profile default (also stored: --profile short)" in printed
    path.unlink()
    funnels = lab.funnel(profile="short")
    assert (funnels.issues, funnels.pairs) == (filtered.issues, filtered.pairs)
    again = lab.filter(profile="short", rejects=tmp_path / "rejects.csv")
    assert again[0].issues == filtered.issues
    built = lab.build("qa", profile="short")
    profile = read_provenance(built.path)["profile"]
    assert (profile["name"], profile["extends"]) == ("short", ["default"])
    assert profile["settings"]["comment-scale"]["minimum"] == 5
    assert (tmp_path / "rejects.csv").exists()
    with pytest.raises(UsageError, match=r"no profile 'shirt' \(did you mean short\?\)") as error:
        lab.build("qa", profile="shirt")
    assert error.value.remedy.startswith("Choose default, faun-eval, verified or short,")


def test_other_settings_of_criteria_have_verdicts_of_their_own(lab: Workspace) -> None:
    lab.pair()
    (default,) = lab.filter()
    settings = ("--set", "comment-scale.minimum=5")
    with pytest.raises(WorkspaceError, match=r"filtered by the profile default\+") as error:
        lab.funnel(settings={"comment-scale.minimum": 5})
    command = f"goldpan filter --repo {REPO} --profile default --set comment-scale.minimum=5"
    assert error.value.remedy == f"Add --profile default, or run {command}"
    (again,) = json.loads(program(lab, "filter", *settings, "--json"))
    assert again["profile"].startswith("default+")
    assert again["changed"] == ["comment-scale.minimum=5"]
    always = {name for name, criterion in criteria().items() if not criterion.reusable}
    assert set(again["judged"]) == always | {"comment-scale"}
    assert again["issues"]["kept"] > default.issues.kept
    assert f"--profile {again['profile']}" in program(lab, "filter", *settings)
    counted = json.loads(program(lab, "funnel", *settings, "--json"))
    assert counted["issues"]["kept"] == again["issues"]["kept"]
    assert lab.funnel().issues == default.issues
    digests = {
        row["profile"]: row["settings"]
        for name in ("default", again["profile"])
        for row in read_table(lab.layout.verdicts(REPO, name)).to_pylist()
        if row["criterion"] == "comment-scale"
    }
    assert digests["default"] != digests[again["profile"]]
    built = lab.build("qa", profile=again["profile"])
    profile = read_provenance(built.path)["profile"]
    assert (profile["name"], profile["extends"]) == (again["profile"], ["default"])
    assert profile["settings"]["comment-scale"]["minimum"] == 5
    assert profile["description"] == "default with comment-scale.minimum=5"
    lab.filter(profile=again["profile"])
    assert lab.trace(f"qa:{REPO}#56", dataset=built.path, verify=True).exit_code == 0


def test_an_own_profile_that_did_not_filter_is_named_by_its_path(
    lab: Workspace, tmp_path: Path
) -> None:
    lab.pair()
    path = tmp_path / "short.toml"
    path.write_text('extends = "default"\n')
    for count in (0, 1):
        with pytest.raises(WorkspaceError) as error:
            lab.build("qa", profile=path)
        run = f"un goldpan filter --repo {REPO} --profile {path}"
        assert error.value.remedy == ("R" + run, "Add --profile default, or r" + run)[count]
        lab.filter()


def test_an_empty_dataset_names_what_emptied_it(lab: Workspace, tmp_path: Path) -> None:
    lab.pair()
    lab.filter()
    path = tmp_path / "none.toml"
    path.write_text('decide = ["bots", "comment-scale"]\n[comment-scale]\nminimum = 99999\n')
    lab.filter(profile=path)
    with pytest.raises(DatasetError) as error:
        lab.build("qa", profile="none")
    assert error.value.problem == (
        "The dataset qa would be empty: of 68 issues the profile none keeps none; "
        "the criterion comment-scale leaves none: 68 too-short"
    )
    assert error.value.remedy == ("Run goldpan funnel --profile none to see what is dropped")
    lab.filter(profile="verified")
    with pytest.raises(DatasetError) as error:  # there is no clone, so no profile gives a row
        lab.build("issue-resolution", profile="verified")
    assert "32 fix pairs" in error.value.problem
    assert error.value.remedy == (
        "Run goldpan clone, then goldpan filter --profile verified, and build again"
    )


def test_a_build_replaces_one_by_other_rules(lab: Workspace) -> None:
    paired(lab)
    for rules in ("default", "faun-eval"):
        lab.filter(rules=rules)
    program(lab, "build", "qa", "--rules", "default")
    directory = lab.layout.dataset("qa")
    assert [source["rules"] for source in read_provenance(directory)["sources"]] == ["default"]
    program(lab, "build", "qa", "--rules", "faun-eval")
    assert [source["rules"] for source in read_provenance(directory)["sources"]] == ["faun-eval"]


def test_rules_or_a_profile_that_are_not_there(lab: Workspace) -> None:
    with pytest.raises(WorkspaceError, match="was not paired by the rules faun-eval") as error:
        lab.filter(rules="faun-eval")
    assert error.value.remedy == f"Run goldpan pair --repo {REPO} --rules faun-eval"
    lab.pair(rules="faun-eval")
    for stage in (lab.filter, lab.funnel, lambda: lab.build("qa"), lambda: lab.why(f"{REPO}#1")):
        with pytest.raises(WorkspaceError, match="rules default, only by faun-eval") as error:
            stage()
        assert error.value.remedy == (
            f"Add --rules faun-eval, or run goldpan pair --repo {REPO} --rules default"
        )
    lab.filter(profile="faun-eval", rules="faun-eval")
    with pytest.raises(WorkspaceError, match="by the profile default, only by faun-eval") as error:
        lab.build("qa", rules="faun-eval")
    assert error.value.remedy == (
        "Add --profile faun-eval, or run "
        f"goldpan filter --repo {REPO} --profile default --rules faun-eval"
    )


def test_an_unpaired_repository_is_filtered_all_the_same(lab: Workspace) -> None:
    (result,) = lab.filter()
    assert (result.basis.rules, result.pairs.rows) == (None, 0)
    assert "Not paired; profile default\n" in program(lab, "funnel")
    lab.pair()
    with pytest.raises(WorkspaceError, match="was not filtered by the profile default"):
        lab.build("qa")

"""Pairs by several rules in one workspace: each with its own verdicts, and each named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goldpan import Workspace
from goldpan.check import check_workspace
from goldpan.cli import app
from goldpan.core.errors import WorkspaceError
from goldpan.core.progress import Reporter
from goldpan.datasets.provenance import read_provenance

REPO = "prospector/sluice"


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mined")
    shipped = files("goldpan.demo") / "replies" / "run-0001.zst"
    raw = root / "raw" / REPO
    raw.mkdir(parents=True)
    (raw / "run-0001.zst").write_bytes(shipped.read_bytes())
    Workspace(root).normalize()
    return root


@pytest.fixture
def lab(mined: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(mined, tmp_path / "lab")
    return Workspace(tmp_path / "lab")


def program(lab: Workspace, *arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--workspace", str(lab.path)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def paired(lab: Workspace, order: Sequence[str] = ("default", "faun-eval")) -> dict[str, int]:
    return {rules: lab.pair(rules=rules)[0].pairs for rules in order}


def test_a_second_set_of_rules_lies_beside_the_first(lab: Workspace) -> None:
    counts = paired(lab)
    assert counts["faun-eval"] < counts["default"]
    for rules, count in counts.items():
        (result,) = lab.filter(rules=rules)
        assert (result.pairs.rows, result.basis.rules) == (count, rules)
    for rules, count in counts.items():  # neither took the other's place
        assert lab.funnel(rules=rules)[1].rows == count
    assert len(lab.why(f"{REPO}#1", rules="default").pairs) == 1


def test_the_newest_rules_are_taken_where_none_are_named(lab: Workspace) -> None:
    for newest, other in (("faun-eval", "default"), ("default", "faun-eval")):
        counts = paired(lab, (other, newest))
        (result,) = lab.filter()
        assert result.pairs.rows == counts[newest]
        (basis,) = lab.basis(profile="default")
        assert (basis.rules, basis.newest, basis.other_rules) == (newest, True, (other,))
        (named,) = lab.basis(rules=newest)
        assert (named.rules, named.newest) == (newest, False)


@pytest.mark.nightly
def test_every_command_says_what_stands_behind_it(lab: Workspace, tmp_path: Path) -> None:
    assert "Pairs by rules default\n" in program(lab, "pair")
    only = "Pairs by rules default; profile default\n"
    assert only in program(lab, "filter")
    output = program(lab, "pair", "--rules", "faun-eval")
    assert "Pairs by rules faun-eval, the newest (also stored: --rules default)\n" in output
    page = tmp_path / "report.html"
    beside = "Pairs by rules default (also stored: --rules faun-eval); profile default\n"
    commands = (
        ("filter",),
        ("funnel",),
        ("build", "qa"),
        ("report", "--output", str(page)),
    )
    for command in commands:
        assert beside in program(lab, *command, "--rules", "default"), command
    assert "paired by the rules <b>default</b>" in page.read_text()
    newest = "Pairs by rules faun-eval, the newest (also stored: --rules default); profile default"
    assert newest in program(lab, "filter")
    program(lab, "filter", "--profile", "faun-eval")
    assert f"{newest} (also stored: --profile faun-eval)\n" in program(lab, "funnel")
    for command in (("funnel",), ("filter",), ("report", "--output", str(page))):
        output = json.loads(program(lab, *command, "--json"))
        first = output[0] if isinstance(output, list) else output
        basis = first["basis"][0] if isinstance(first["basis"], list) else first["basis"]
        assert (basis["rules"], basis["other_profiles"]) == ("faun-eval", ["faun-eval"])


def test_a_build_says_what_it_replaces(lab: Workspace) -> None:
    paired(lab)
    for rules in ("default", "faun-eval"):
        lab.filter(rules=rules)
    assert "replaces" not in program(lab, "build", "qa", "--rules", "default")
    assert "replaces" not in program(lab, "build", "qa", "--rules", "default")
    directory = lab.layout.dataset("qa")
    assert [source["rules"] for source in read_provenance(directory)["sources"]] == ["default"]
    rows = read_provenance(directory)["examples"]
    output = program(lab, "build", "qa", "--rules", "faun-eval")
    assert f"It replaces {rows} examples by rules default, profile default\n" in output
    assert [source["rules"] for source in read_provenance(directory)["sources"]] == ["faun-eval"]


def test_rules_or_a_profile_that_are_not_there(lab: Workspace) -> None:
    with pytest.raises(WorkspaceError, match="was not paired by the rules default") as error:
        lab.filter(rules="default")
    assert error.value.remedy == f"Run goldpan pair --repo {REPO} --rules default"
    lab.pair(rules="faun-eval")
    with pytest.raises(WorkspaceError, match="rules default, only by faun-eval"):
        lab.filter(rules="default")
    lab.filter(profile="faun-eval")
    with pytest.raises(WorkspaceError, match="by the profile default, only by faun-eval") as error:
        lab.build("qa")
    assert error.value.remedy == (
        f"Run goldpan filter --repo {REPO} --profile default --rules faun-eval"
    )


def test_an_unpaired_repository_is_filtered_all_the_same(lab: Workspace) -> None:
    (result,) = lab.filter()
    assert (result.basis.rules, result.pairs.rows) == (None, 0)
    assert "Not paired; profile default\n" in program(lab, "funnel")
    lab.pair()
    with pytest.raises(WorkspaceError, match="was not filtered by the profile default"):
        lab.build("qa")


def test_pairs_of_an_earlier_version_ask_to_be_made_again(lab: Workspace) -> None:
    lab.pair()
    earlier = lab.layout.tables(REPO) / "pairs.parquet"
    lab.layout.pairs(REPO, "default").rename(earlier)
    for stage in (lab.pair, lab.filter, lambda: lab.why(f"{REPO}#1")):
        with pytest.raises(WorkspaceError, match="kept the pairs of one set of rules") as error:
            stage()
        assert error.value.remedy.startswith("Delete it, then run goldpan pair")
    (damage,) = check_workspace(lab.layout, Reporter(quiet=True)).damaged
    assert "of an earlier Goldpan" in damage.reason
    earlier.unlink()
    assert lab.pair()[0].pairs


def test_what_names_the_newest_rules_is_checked(lab: Workspace) -> None:
    paired(lab)
    path = lab.layout.tables(REPO) / "pair.newest.json"
    path.write_bytes(path.read_bytes().replace(b"faun", b"fawn"))
    with pytest.raises(WorkspaceError, match="which of default, faun-eval is the newest"):
        lab.filter()
    assert lab.filter(rules="default")
    (damage,) = check_workspace(lab.layout, Reporter(quiet=True)).damaged
    assert damage.file == str(path)
    lab.pair()
    assert lab.basis()[0].rules == "default"

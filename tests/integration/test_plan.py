"""A plan does only what changed, says why, and goes on where a unit fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import goldpan as api
from goldpan.core.locks import hold_lock
from tests.places import files_below
from tests.planning import (
    PAN,
    REPOSITORIES,
    SLUICE,
    SMALL,
    environment,
    local_github,
    made,
    rows,
    run,
    run_json,
    states,
    write_plan,
)
from tests.program import goldpan, start
from tests.twin import Editor, Twin, synthetic_world


def _has(path: Path) -> bool:
    return path.exists()


UNITS = {
    f"mine/{SLUICE}": "done",
    f"pair/{SLUICE}": "done",
    f"clone/{SLUICE}": "done",
    f"filter/{SLUICE}": "done",
    "dataset/questions": "done",
}
FRESH = dict.fromkeys(UNITS, "fresh")


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Twin, Path]]:
    """Give the local GitHub, and a folder with its history in which the small plan ran."""
    folder = tmp_path_factory.mktemp("done")
    with local_github(folder) as twin:
        write_plan(folder)
        result = run_json(twin, folder)
        assert states(result) == UNITS
        assert result["complete"]
        yield twin, folder


@pytest.fixture(scope="module")
def twin(github: tuple[Twin, Path]) -> Twin:
    return github[0]


@pytest.fixture
def folder(github: tuple[Twin, Path], tmp_path: Path) -> Path:
    """Return a copy of the folder that a test may change."""
    return shutil.copytree(github[1], tmp_path / "copy", symlinks=True)


def test_the_tables_are_those_of_the_commands(folder: Path, twin: Twin) -> None:
    options = ("--workspace", "other")
    shutil.copytree(folder / "lab" / "raw", folder / "other" / "raw")
    for words in (
        ("normalize",),
        ("pair",),
        ("clone", "--source", "sluice.git"),
        ("filter",),
        ("build", "qa", "--split", "random:0.5,0.5"),
    ):
        done = goldpan(*words, *options, folder=folder, environment=environment(twin))
        assert done.code == 0, done.err
    datasets = folder / "other" / "datasets"
    (datasets / "qa").rename(datasets / "questions")
    assert made(folder / "lab") == made(folder / "other")


def test_raw_replies_that_are_there_are_worked_on_without_github(folder: Path, twin: Twin) -> None:
    shutil.copytree(folder / "lab" / "raw", folder / "other" / "raw")
    write_plan(folder, f"[mine]\nenabled = false\n{SMALL}", workspace="other")
    requests = twin.count
    assert states(run_json(twin, folder)) == UNITS
    assert twin.count == requests
    assert made(folder / "other") == made(folder / "lab")
    assert run(twin, folder).out == "Nothing to do: all 5 units are up to date.\n"


@pytest.mark.parametrize(
    "text",
    [
        SMALL,
        f'[mine]\nenabled = false\nlicenses = {{ "{SLUICE}" = "bsd-3-clause" }}\n{SMALL}',
        f'[mine]\nlicenses = {{ "{SLUICE}" = "MIT" }}\n{SMALL}',
        SMALL + '[[export]]\nname = "chat"\ndataset = "questions"\nto = "chat"\n',
        SMALL + '[[audit]]\ndataset = "questions"\n',
    ],
    ids=["small", "stored", "license", "export", "audit"],
)
def test_a_second_run_of_any_plan_changes_no_byte(folder: Path, twin: Twin, text: str) -> None:
    write_plan(folder, text)
    assert run(twin, folder).code == 0
    before, requests = files_below(folder / "lab"), twin.count
    assert "Nothing to do" in run(twin, folder, "--dry-run").out
    again = run(twin, folder)
    assert (again.code, again.err, "Nothing to do" in again.out) == (0, "", True), again.out
    assert twin.count == requests
    after = files_below(folder / "lab")
    assert [name for name in {**before, **after} if before.get(name) != after.get(name)] == []


def test_a_relative_workspace_with_an_audit_is_checked(folder: Path, twin: Twin) -> None:
    write_plan(folder, SMALL + '[[audit]]\ndataset = "questions"\n')
    assert run(twin, folder).code == 0
    done = goldpan("check", ".", folder=folder / "lab", environment=environment(twin))
    assert (done.code, done.err) == (0, ""), done.out
    traced = rows(folder / "lab", "questions")[0][0]["id"]
    words = ("trace", traced, "--json", "--workspace", "lab")
    told = goldpan(*words, folder=folder, environment=environment(twin))
    assert json.loads(told.out)["holds"] is None, "nothing was verified"


def test_unrelated_and_killed_runs_make_no_audit_due(folder: Path, twin: Twin) -> None:
    write_plan(folder, SMALL + '[[audit]]\ndataset = "questions"\n')
    assert run(twin, folder).code == 0
    killed = folder / "lab" / "runs" / "task" / "model" / "seed-1.work" / "checkpoint"
    killed.mkdir(parents=True)
    (killed / "trainer_state.json").write_text("{}", encoding="utf-8")
    other = folder / "lab" / "verification" / "other" / "repo" / "1-2"
    other.mkdir(parents=True)
    (other / "record.json").write_text("{}", encoding="utf-8")
    assert "Nothing to do" in run(twin, folder).out


def test_a_setting_that_changed_is_told_and_costs_its_own_units(folder: Path, twin: Twin) -> None:
    write_plan(folder, SMALL.replace("[clone]", '[pair]\nrules = "unconfirmed"\n[clone]'))
    requests = twin.count
    units = json.loads(run(twin, folder, "--dry-run", "--json").out)
    judged = {unit["unit"]: unit for unit in units}
    assert judged[f"mine/{SLUICE}"]["state"] == "fresh"
    assert "setting rules: default → unconfirmed" in judged[f"pair/{SLUICE}"]["why"]
    assert judged["dataset/questions"]["why"] == ["perhaps, after filter"]
    shown = run(twin, folder, "--dry-run").out
    assert "setting rules: default → unconfirmed" in shown
    unchanged = {f"mine/{SLUICE}": "fresh"}
    assert states(run_json(twin, folder)) == {**UNITS, **unchanged}
    assert twin.count == requests


def test_a_changed_signal_of_a_plugin_is_told_and_pairs_anew(folder: Path, twin: Twin) -> None:
    plugin = folder / "nuggets.py"
    plugin.write_text(
        "from goldpan.plugins import Rules, Signal, register\n"
        'QUERY = "SELECT repo AS pull_repo, number AS pull, 1 AS issue FROM refs LIMIT 0"\n'
        'register(Signal("nugget", QUERY), Rules("nuggets", ("keyword", "nugget")))\n',
        encoding="utf-8",
    )
    write_plan(folder, f'[pair]\nrules = ["default", "nuggets"]\n{SMALL}')
    used = {"GOLDPAN_PLUGINS": str(plugin)}
    assert run(twin, folder, **used).code == 0
    assert "Nothing to do" in run(twin, folder, **used).out
    plugin.write_text(plugin.read_text(encoding="utf-8").replace("1 AS", "2 AS"), encoding="utf-8")
    judged = {
        unit["unit"]: unit
        for unit in json.loads(run(twin, folder, "--dry-run", "--json", **used).out)
    }
    (why,) = judged[f"pair/{SLUICE}"]["why"]
    assert why.startswith("setting rules nuggets.plugins.nuggets.py: ")


def test_a_dry_run_of_a_new_workspace_shows_the_whole_plan(tmp_path: Path, twin: Twin) -> None:
    more = """
[[dataset]]
name = "comments"
family = "code-comments"
[[evaluation]]
name = "baselines"
dataset = ["questions"]
model = ["majority"]
"""
    write_plan(tmp_path, SMALL + more)
    judged = json.loads(run(twin, tmp_path, "--dry-run", "--json").out)
    assert [unit["stage"] for unit in judged] == [
        *("mine", "pair", "clone", "filter", "dataset", "dataset", "evaluate")
    ]
    for unit in judged:
        assert unit["why"] == ["this plan has not run it yet"]
        assert unit["state"] == "due"
    requests = twin.count
    assert "7 units of 7 would run" in run(twin, tmp_path, "--dry-run").out
    assert twin.count == requests
    assert not (tmp_path / "lab" / "tables").exists()


def test_an_output_that_is_gone_is_made_again_and_leads_to_nothing(
    folder: Path, twin: Twin
) -> None:
    before = made(folder / "lab")
    (folder / "lab" / "tables" / SLUICE / "pairs.default.parquet").unlink()
    result = run_json(twin, folder)
    assert states(result) == {**FRESH, f"pair/{SLUICE}": "done"}
    assert result["units"][1]["why"][0].startswith(f"output tables/{SLUICE}/pairs.default.parquet")
    assert made(folder / "lab") == before


def test_another_version_of_goldpan_runs_all_again(folder: Path, twin: Twin) -> None:
    for path in (folder / "lab" / "plans" / "plan" / "units").rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if "goldpan.sha256" not in line]
        path.write_text("\n".join(lines).replace('version": "0.1.0"', 'version": "0.0.9"'))
    units = json.loads(run(twin, folder, "--dry-run", "--json").out)
    assert {unit["why"][0] for unit in units} == {"Goldpan's version: 0.0.9 → 0.1.0"}


def test_a_repository_that_fails_stops_no_other(tmp_path: Path, twin: Twin) -> None:
    listed = REPOSITORIES.replace('"]', f'", "prospector/none", "{PAN}"]')
    text = SMALL.replace(REPOSITORIES, listed).replace("[clone]", "[clone]\nenabled = false")
    second = '[[dataset]]\nname = "there"\nfamily = "qa"\nleave_out = true\n'
    write_plan(tmp_path, text + second)
    result = run_json(twin, tmp_path, code=3)
    outcomes = states(result)
    assert outcomes["mine/prospector/none"] == "failed"
    assert outcomes["pair/prospector/none"] == outcomes["filter/prospector/none"] == "skipped"
    assert outcomes[f"filter/{PAN}"] == outcomes[f"filter/{SLUICE}"] == "done"
    assert outcomes["dataset/questions"] == "skipped"
    assert outcomes["dataset/there"] == "partial"
    units = {unit["unit"]: unit for unit in result["units"]}
    assert units["dataset/questions"]["because"] == "mine/prospector/none"
    assert units["dataset/there"]["missing"] == ["prospector/none is left out"]
    again = run(twin, tmp_path)
    assert again.code == 3
    assert "mine/prospector/none failed: prospector/none does not exist" in again.out
    assert "Skipped for it: 3 units." in again.out
    assert f"mine/{SLUICE}" not in again.err
    assert "pair/prospector/none skipped: needs mine/prospector/none, which failed" in again.err
    due = run(twin, tmp_path, "--dry-run").out
    assert "the last run failed (prospector/none does not exist" in due


def test_only_some_units(folder: Path, twin: Twin) -> None:
    write_plan(folder, SMALL.replace("[clone]", '[pair]\nrules = "unconfirmed"\n[clone]'))
    result = run_json(twin, folder, "--only", f"filter/{SLUICE}", code=3)
    (unit,) = result["units"]
    assert unit["state"] == "skipped"
    assert unit["because"] == f"pair/{SLUICE}"
    assert states(run_json(twin, folder, "--only", "pair")) == {f"pair/{SLUICE}": "done"}
    forced = run_json(twin, folder, "--only", "pair", "--force")
    assert forced["units"][0]["why"] == ["--force was given"]
    wrong = run(twin, folder, "--only", "filtr")
    assert wrong.code == 2
    assert "--only filtr names no unit of the plan plan" in wrong.err


def test_refresh_and_update_ask_for_what_changed(folder: Path, twin: Twin) -> None:
    requests = twin.count
    result = run_json(twin, folder, "--update")
    assert states(result) == {**FRESH, f"mine/{SLUICE}": "done"}
    assert 0 < twin.count - requests < 10
    record = folder / "lab" / "plans" / "plan" / "units" / "mine" / f"{SLUICE}.json"
    lines = record.read_text(encoding="utf-8").splitlines()
    old = [line for line in lines if "goldpan.sha256" not in line]
    old = ['  "at": "2020-01-01T00:00:00+00:00",' if '"at": ' in line else line for line in old]
    record.write_text("\n".join(old), encoding="utf-8")
    assert states(run_json(twin, folder)) == FRESH
    write_plan(folder, f'refresh = "daily"\n{SMALL}')
    assert run_json(twin, folder)["units"][0]["why"] == ['refresh = "daily", and a day has passed']
    assert states(run_json(twin, folder)) == FRESH
    write_plan(folder, f'refresh = "always"\n{SMALL}')
    assert states(run_json(twin, folder)) == {**FRESH, f"mine/{SLUICE}": "done"}


def test_what_is_told_is_json_where_that_is_asked_for(folder: Path, twin: Twin) -> None:
    shutil.rmtree(folder / "lab" / "plans")
    (folder / "lab" / "datasets" / "questions" / "provenance.json").write_text("{")
    done = run(twin, folder, "--log-format", "json")
    told = [json.loads(line)["said"] for line in done.err.splitlines()]
    assert f"[1/5] mine/{SLUICE}: this plan has not run it yet" in told
    assert any(line.startswith(f"[1/5] mine/{SLUICE} done in ") for line in told)
    assert any(line.startswith("[5/5] dataset/questions failed: ") for line in told)


def test_a_plan_is_run_by_one_at_a_time(folder: Path, twin: Twin) -> None:
    with hold_lock(folder / "lab" / "plans" / "plan" / "lock"):
        busy = run(twin, folder)
    assert busy.code == 1
    assert "Another goldpan is running the plan plan" in busy.err


def test_a_rebuilt_dataset_tells_what_changed_since_the_last(folder: Path, twin: Twin) -> None:
    card = folder / "lab" / "datasets" / "questions" / "README.md"
    assert "## Changes" not in card.read_text(encoding="utf-8")
    write_plan(folder, SMALL.replace("0.5,0.5", "0.8,0.2"))
    result = run_json(twin, folder)
    assert "0 added, 0 removed" in result["units"][-1]["summary"]
    assert "## Changes" in card.read_text(encoding="utf-8")
    changes = folder / "lab" / "plans" / "plan" / "changes" / "questions.md"
    assert "0 added, 0 removed" in changes.read_text(encoding="utf-8")


@pytest.mark.nightly
def test_killed_again_and_again_it_goes_on_and_repeats_nothing(
    github: tuple[Twin, Path], tmp_path: Path
) -> None:
    twin, whole = github
    shutil.copytree(whole / "sluice.git", tmp_path / "sluice.git")
    write_plan(tmp_path)
    lab, units = tmp_path / "lab", tmp_path / "lab" / "plans" / "plan" / "units"
    requests = twin.count
    moments: list[Callable[[], bool]] = [lambda: twin.count >= requests + 6]
    for unit in (f"mine/{SLUICE}", f"pair/{SLUICE}", f"filter/{SLUICE}", "dataset/questions"):
        moments.append(partial(_has, units / f"{unit}.json"))
    moments.append(partial(_has, lab / "datasets" / "questions" / "provenance.json"))
    for moment in moments:
        words = ("run", "plan.toml", "--log-format", "json")
        with start(*words, folder=tmp_path, environment=environment(twin)) as running:
            running.until(moment)
            running.kill()
            assert running.wait().code in (0, -9)
    result = run_json(twin, tmp_path)
    assert result["complete"]
    assert states(result)[f"filter/{SLUICE}"] == "fresh"
    assert twin.count - requests < 40  # 16 undisturbed, and a few at each new start of mining
    resumed, expected = made(lab), made(whole / "lab")
    assert {name: resumed[name] for name in resumed if not name.startswith("datasets")} == {
        name: expected[name] for name in expected if not name.startswith("datasets")
    }
    assert rows(lab, "questions") == rows(whole / "lab", "questions")
    again = run(twin, tmp_path)
    assert again.out.startswith("Nothing to do")


def test_a_renamed_repository_is_worked_on_under_its_new_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = synthetic_world()
    Editor(world).rename("prospector/flume")
    text = REPOSITORIES + "[clone]\nenabled = false\n"
    nothing = '[[dataset]]\nname = "none"\nfamily = "qa"\nleave_out = true\n'
    with Twin(world) as twin:
        monkeypatch.setenv("GITHUB_TOKEN", "token-of-a-test")
        monkeypatch.setenv("GOLDPAN_API_URL", twin.url)
        path = write_plan(tmp_path, text.replace('"]', '", "x/y"]') + nothing)
        result = api.run(path, only=["filter", "pair", "mine"])
        assert isinstance(result, api.PlanResult)
        assert (result.complete, result.ran) == (False, 4)
        again = api.run(path, only=[SLUICE])
        assert isinstance(again, api.PlanResult)
        assert [unit.state for unit in again.units] == ["fresh"] * 3
        write_plan(tmp_path, text.replace(SLUICE, "x/y") + nothing)
        ran = api.run(path, only=["dataset"])
        assert isinstance(ran, api.PlanResult)
        (data,) = ran.units
        assert data.problem == "No repository of none was filtered"
    assert api.Workspace(tmp_path / "lab").repositories() == ["prospector/flume"]

"""Plans go from nothing to the Hub, the examples and each family: on the local GitHub and Hub."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml  # type: ignore[import-untyped]

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from goldpan.plan.datasets import tag_of
from goldpan.plan.file import load_plan
from tests.crosscode_tasks import sample_rows, write_rows
from tests.mining import keys_kept_twice
from tests.openai_server import OpenAIServer
from tests.places import ROOT, files_below
from tests.planning import SLUICE, TASKS, states, write_plan, write_tasks
from tests.program import Done
from tests.publishing import EXAMPLES, Place, local_place
from tests.twin import Copy, Editor, copied_world
from tests.twin.history import history_world
from tests.twin.reviewer import judge
from tests.twin.synthetic import demo_world

LIVE = "your-name/live-questions"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Place]:
    with local_place(tmp_path, history_world(tmp_path / "sluice.git")) as made:
        yield made


@pytest.mark.parametrize(
    "name", ["answers.toml", "faun-eval.toml", "monthly.toml", "small-model.toml"]
)
def test_examples_are_plans(name: str) -> None:
    plan = load_plan(EXAMPLES / name).head
    selected = sum(select.limit for select in plan.repositories.select)
    expected = {"answers.toml": 3, "faun-eval.toml": 30, "monthly.toml": 5}.get(name, 0)
    assert len(plan.repositories.listed) + selected == expected


def test_answers_are_the_replies_that_the_review_names_for_sure(project: Place) -> None:
    project.plan("answers.toml")
    plan = project.folder / "answers.toml"
    with OpenAIServer(judge) as server:
        model = f'model = "judge"\nbase_url = "{server.url}"'
        text = plan.read_text(encoding="utf-8").replace('model = "gpt-4o"', model)
        plan.write_text(text.replace('"gpt-4o"', '"judge"'), encoding="utf-8")
        done = project.run("run", "answers.toml", "--json", OPENAI_API_KEY=server.key or "")
    assert done.code == 0, done.out + done.err
    table = pq.read_table(project.folder / "answers-workspace" / "datasets" / "answers" / "data")
    rows = table.to_pylist()
    assert len(rows) == 17
    (answer,) = (row["answer"] for row in rows if row["title"].startswith("UnicodeDecodeError"))
    assert "Run Python with `-X utf8`" in answer
    assert not any("our mirror" in row["title"] for row in rows), "the model was not sure of it"


def test_faun_eval_from_nothing_to_the_hub(project: Place) -> None:
    project.plan("faun-eval.toml")
    first = project.run("run", "faun-eval.toml", "--json")
    assert first.code == 0, first.out + first.err
    output = json.loads(first.out)
    assert output["repositories"] == [SLUICE]
    assert set(states(output).values()) == {"done"}
    for name in ("qa", "fault-localization", "code-edit"):
        state = project.hub.repo(f"your-name/faun-eval-{name}")
        assert state is not None
        assert state["private"]
        (tag,) = state["tags"]
        assert re.fullmatch(r"v\d{4}\.\d\d\.\d\d", tag)
    requests, sent = project.twin.count, len(project.hub.requests)
    again = project.run("run", "faun-eval.toml")
    assert again.out.startswith("Nothing to do: all "), again.out
    assert (project.twin.count, len(project.hub.requests)) == (requests, sent)
    shown = project.run("status", "--workspace", "faun-eval-workspace")
    assert (shown.code, SLUICE in shown.out) == (0, True), shown.out + shown.err


def test_the_workflow_keeps_a_live_dataset_up_to_date(project: Place) -> None:
    project.plan("monthly.toml")
    plan = project.folder / "monthly.toml"  # whose months are of one day here
    plan.write_text(plan.read_text("utf-8").replace("{day}", "{day}-{content}"), "utf-8")
    workflow = yaml.safe_load((EXAMPLES / "monthly-update.yml").read_text(encoding="utf-8"))
    steps = [step.get("run", "") for step in workflow["jobs"]["update"]["steps"]]
    commands = [step.removesuffix(" || true") for step in steps if step.startswith("goldpan ")]
    assert len(commands) == 3

    def run(*commands: str) -> None:
        for command in commands:
            done = project.run(*shlex.split(command)[1:])
            assert done.code == 0, command + done.out + done.err

    run(*commands)
    (update,) = (command for command in commands if "--update" in command)
    assert update in (ROOT / "docs" / "plans.md").read_text("utf-8")  # the line for cron
    first = project.hub.repo(LIVE)
    assert first is not None
    assert len(first["tags"]) == 1
    run(update)
    assert project.hub.repo(LIVE) == first
    Editor(project.twin.world).edit_entry(56, title="Which encodings does `reader.opened()` take?")
    run(update)
    lab = project.folder / "monthly-workspace"
    changes = (lab / "plans" / "monthly" / "changes" / "live-questions.md").read_text("utf-8")
    assert "0 added, 0 removed, 1 changed" in changes
    second = project.hub.repo(LIVE)
    assert second is not None
    assert set(second["tags"]) > set(first["tags"])
    card = project.hub.content(project.hub.files(LIVE)["README.md"]).decode()
    assert changes.removeprefix("## Changes").strip() in card
    compared = project.run(
        "diff",
        str(lab / "plans" / "monthly" / "previous" / "live-questions"),
        str(lab / "datasets" / "live-questions"),
        "--workspace",
        str(lab),
    )
    assert "1 changed" in compared.out, compared.err


def test_three_repositories_killed_and_resumed(tmp_path: Path) -> None:
    """The thirty of tests/scale, in small: what was fetched before the end is not asked again."""
    names = [f"prospector/{name}" for name in ("cradle", "dredge", "rocker")]
    world = copied_world(demo_world(), [Copy(name, "Python", 400) for name in names])
    with local_place(tmp_path, world) as project:
        project.plan("monthly.toml")
        project.killed("run", "monthly.toml", after=25)
        done = project.run("run", "monthly.toml", "--json")
        assert done.code == 0, done.out + done.err
        assert set(states(json.loads(done.out)).values()) <= {"done", "fresh"}
        assert json.loads(done.out)["repositories"] == names
        lab = tmp_path / "monthly-workspace"
        assert not any(keys_kept_twice(lab, name) for name in names)
        published = project.hub.repo(LIVE)
        assert published is not None
        assert len(published["tags"]) == 1
        requests, sent = project.twin.count, len(project.hub.requests)
        plan = tmp_path / "monthly.toml"
        plan.write_text(plan.read_text("utf-8").replace('"always"', '"never"'), "utf-8")
        again = project.run("run", "monthly.toml")
        assert again.out.startswith("Nothing to do: all "), again.out
        assert (project.twin.count, len(project.hub.requests)) == (requests, sent)


@pytest.mark.parametrize("name", ["ray/submit.sh", "slurm/plan.sbatch"])
def test_a_script_for_clusters_can_be_read(name: str) -> None:
    script = EXAMPLES / name
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert 'goldpan run "$plan" --engine ray --address' in script.read_text(encoding="utf-8")


def test_the_job_for_kuberay_can_be_read() -> None:
    job = yaml.safe_load((EXAMPLES / "kuberay" / "plan.yaml").read_text(encoding="utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"]["entrypoint"].startswith("goldpan run /shared/")
    cluster = job["spec"]["rayClusterSpec"]
    pods = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    mounts = [pod["template"]["spec"]["containers"][0]["volumeMounts"] for pod in pods]
    assert all({"name": "shared", "mountPath": "/shared"} in mounted for mounted in mounts)
    assert ["token" in str(mounted) for mounted in mounts] == [True, False, False]


FAMILIES = ("qa", "fault-localization", "code-edit", "issue-type", "code-comments", "crosscode")
AUDIT = '[[audit]]\ndataset = "qa"\n'
_MORE = {
    "code-comments": 'kind = ["class", "module", "function"]\n',
    "crosscode": f'task = {list(TASKS)}\nsplit = "Type-QA"\n',
}


def dataset(name: str, family: str) -> str:
    """Return the part of a plan that builds and publishes a dataset."""
    publish = f'[dataset.publish]\nrepo-id = "your-name/{name}"\ntag = "v1"\n'
    head = f'[[dataset]]\nname = "{name}"\nfamily = "{family}"\n'
    return head + _MORE.get(family, "") + publish


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Done]]:
    folder = tmp_path_factory.mktemp("published")
    repositories = f'[repositories]\nlisted = ["{SLUICE}"]\n[clone]\nsource = "{{name}}.git"\n'
    with local_place(folder, history_world(folder / "sluice.git")) as project:
        write_tasks(folder / "lab")
        write_plan(folder, repositories + AUDIT + "".join(dataset(name, name) for name in FAMILIES))
        yield project, project.run("run", "plan.toml", "--json")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_goes_from_plan_to_hub(ran: tuple[Place, Done], family: str) -> None:
    project, done = ran
    assert done.code == 0, done.out + done.err
    assert states(json.loads(done.out))[f"publish/{family}"] == "done"
    repo_id = f"your-name/{family}"
    published = {
        name: project.hub.content(file) for name, file in project.hub.files(repo_id).items()
    }
    published.pop(".gitattributes")
    directory = project.folder / "lab" / "datasets" / family
    local = files_below(directory)
    card = published["README.md"].decode()
    named = {"README.md", "provenance.json"}  # they bear the name that it has on the Hub
    assert {name for name in published if published[name] != local.get(name)} == named
    assert published.keys() == local.keys()
    assert f'load_dataset("{repo_id}")' in card
    assert f"howpublished = {{{repo_id} on the Hugging Face Hub}}" in card
    digest = json.loads(published["provenance.json"])["files"]["README.md"]["sha256"]
    assert digest == hashlib.sha256(published["README.md"]).hexdigest()
    assert "load_dataset" in local["README.md"].decode()
    assert "howpublished" not in local["README.md"].decode()
    assert (family == "qa") == ("are free of all findings (solution-in-issue)" in card)
    (info,) = yaml.safe_load_all(card.split("\n---\n")[0])
    assert info["license"] == "mit"
    rows = sum(pq.read_metadata(path).num_rows for path in directory.glob("data/*.parquet"))
    assert sum(split["num_examples"] for split in info["dataset_info"]["splits"]) == rows > 0
    for words in ("One example; longer texts are cut:", "## Licenses", "| MIT |", "```bibtex"):
        assert words in card
    sources: list[Any] = json.loads(published["provenance.json"])["repositories"]
    assert {source["license"] for source in sources} == {"MIT"}


def test_a_license_that_is_not_known_keeps_prompts_from_the_hub(ran: tuple[Place, Done]) -> None:
    """The rows of one task say nothing of a license, neither do they in its registry."""
    project, _ = ran
    task = find_task("story_points")
    lab = WorkspaceLayout(project.folder / "lab")
    before = project.hub.repo("your-name/crosscode")
    rows = [{**row, "license": None} for row in sample_rows(task, 30)]
    write_rows(lab, task, {"train": rows[:20], "test": rows[20:]})
    done = project.run("run", "plan.toml", "--json")
    assert done.code == 3, done.out + done.err
    units = {unit["unit"]: unit for unit in json.loads(done.out)["units"]}
    assert units["dataset/crosscode"]["state"] == "done"
    assert units["publish/crosscode"]["state"] == "failed"
    for name in ("Story points of 16 projects (Choetkiertikul et al.)", "o/n"):
        cause = f"15 examples are of {name}, whose license is unknown. Leave {name} out, or allow"
        assert cause in units["publish/crosscode"]["problem"]
    assert project.hub.repo("your-name/crosscode") == before
    plan = project.folder / "plan.toml"
    allowed = 'overwrite = true\nallow-license = ["MIT", "unknown"]\n'
    plan.write_text(plan.read_text("utf-8") + allowed, "utf-8")
    done = project.run("run", "plan.toml", "--json")
    units = {unit["unit"]: unit for unit in json.loads(done.out)["units"]}
    assert "The tag v1 of your-name/crosscode" in units["publish/crosscode"]["problem"]
    assert "Write {content} into the plan's tag" in units["publish/crosscode"]["remedy"]
    *others, last = plan.read_text("utf-8").split('tag = "v1"')
    plan.write_text('tag = "v1"'.join(others) + 'tag = "v{content}"' + last, "utf-8")
    done = project.run("run", "plan.toml", "--json")
    assert states(json.loads(done.out))["publish/crosscode"] == "done", done.out + done.err


def test_a_tag_without_a_date_to_take_is_refused(ran: tuple[Place, Done]) -> None:
    directory = ran[0].folder / "lab" / "datasets" / "crosscode"
    assert re.fullmatch("v[0-9a-f]{8}", tag_of(directory, "v{content}"))
    with pytest.raises(DatasetError, match="does not say when it was mined") as caught:
        tag_of(directory, "v{year}.{content}")
    assert "Write {content} into the plan's tag" in caught.value.remedy
    for pattern in ("v{hour}", "v{0}", "v{content.x}", "v{"):
        with pytest.raises(UsageError, match="unknown word in braces"):
            tag_of(directory, pattern)

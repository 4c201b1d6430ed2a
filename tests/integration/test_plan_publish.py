"""Each family that a plan builds goes from the plan to the Hub, or is told why it may not."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml  # type: ignore[import-untyped]

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from goldpan.plan.datasets import tag_of
from tests.crosscode_tasks import sample_rows, write_rows
from tests.places import files_below
from tests.planning import SLUICE, TASKS, states, write_plan, write_tasks
from tests.program import Done
from tests.publishing import Place, local_place
from tests.twin.history import history_world

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

"""The plans in examples/ run from nothing to the Hub, in small: on the local GitHub and Hub."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml  # type: ignore[import-untyped]

from goldpan.plan.file import load_plan
from tests.hub import Hub
from tests.places import ROOT
from tests.planning import SLUICE, environment, local_github, states
from tests.program import MAIN, Done, goldpan
from tests.twin import Editor, Twin

EXAMPLES = ROOT / "examples"
TOKEN = "hf_" + "T" * 30
LIVE = "your-name/live-questions"
_WITHOUT_XET = """
import warnings
from huggingface_hub import constants
# The Hub's client uploads in a way that its own HTTP client advises against.
warnings.filterwarnings("ignore", "Use 'content=", DeprecationWarning)
constants.HF_HUB_DISABLE_XET = True
"""


class Place(NamedTuple):
    """Where an example is run."""

    folder: Path
    twin: Twin
    hub: Hub

    def run(self, *words: str) -> Done:
        """Run the program there."""
        more = {
            "HF_ENDPOINT": self.hub.url,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(self.folder / "home"),
        }
        return goldpan(
            *words,
            folder=self.folder,
            environment=environment(self.twin, **more),
            program=_WITHOUT_XET + MAIN,
        )

    def plan(self, name: str) -> None:
        """Copy an example, whose repositories are now those of the local GitHub."""
        text = (EXAMPLES / name).read_text(encoding="utf-8")
        text = re.sub(r"listed = \[[^]]*\]", "listed = []", text)
        text = re.sub(r"min-stars = \d+", "min-stars = 300", text)
        if "[clone]" not in text:
            text = text.replace("[pair]", '[clone]\nsource = "{name}.git"\n\n[pair]')
        (self.folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with local_github(tmp_path) as twin, Hub(tmp_path / "hub", {TOKEN: {"your-name"}}) as hub:
        yield Place(tmp_path, twin, hub)


@pytest.mark.parametrize("name", ["faun-eval.toml", "monthly.toml"])
def test_examples_are_plans(name: str) -> None:
    plan = load_plan(EXAMPLES / name).plan
    selected = sum(select.limit for select in plan.repositories.select)
    wanted = {"faun-eval.toml": 30, "monthly.toml": 5}[name]
    assert len(plan.repositories.listed) + selected == wanted


def test_faun_eval_from_nothing_to_the_hub(place: Place) -> None:
    place.plan("faun-eval.toml")
    first = place.run("run", "faun-eval.toml", "--json")
    assert first.code == 0, first.out + first.err
    told = json.loads(first.out)
    assert told["repositories"] == [SLUICE]
    assert set(states(told).values()) == {"done"}
    for name in ("qa", "fault-localization", "code-edit"):
        state = place.hub.repo(f"your-name/faun-eval-{name}")
        assert state is not None
        assert state["private"]
        (tag,) = state["tags"]
        assert re.fullmatch(r"v\d{4}\.\d\d\.\d\d", tag)
    asked, sent = place.twin.count, len(place.hub.requests)
    again = place.run("run", "faun-eval.toml")
    assert again.out.startswith("Nothing to do: all "), again.out
    assert (place.twin.count, len(place.hub.requests)) == (asked, sent)
    shown = place.run("status", "--plan", "faun-eval.toml", "--html", "overview.html")
    assert shown.code == 0, shown.out + shown.err
    page = (place.folder / "overview.html").read_text(encoding="utf-8")
    assert SLUICE in page
    assert "faun-eval-qa" in page


def test_the_workflow_keeps_a_live_dataset_up_to_date(place: Place) -> None:
    place.plan("monthly.toml")
    plan = place.folder / "monthly.toml"  # whose months are of one day here
    plan.write_text(plan.read_text("utf-8").replace("{day}", "{day}-{content}"), "utf-8")
    workflow = yaml.safe_load((EXAMPLES / "monthly-update.yml").read_text(encoding="utf-8"))
    steps = [step.get("run", "") for step in workflow["jobs"]["update"]["steps"]]
    commands = [step.removesuffix(" || true") for step in steps if step.startswith("goldpan ")]
    assert len(commands) == 3

    def run(*wanted: str) -> None:
        for command in wanted:
            done = place.run(*shlex.split(command)[1:])
            assert done.code == 0, command + done.out + done.err

    run(*commands)
    (update,) = (command for command in commands if "--update" in command)
    first = place.hub.repo(LIVE)
    assert first is not None
    assert len(first["tags"]) == 1
    run(update)
    assert place.hub.repo(LIVE) == first
    Editor(place.twin.world).edit_entry(5, title="How is a sieve run twice over one stream?")
    run(update)
    lab = place.folder / "monthly-workspace"
    changes = (lab / "plans" / "monthly" / "changes" / "live-questions.md").read_text("utf-8")
    assert "0 added, 0 gone, 1 changed" in changes
    second = place.hub.repo(LIVE)
    assert second is not None
    assert set(second["tags"]) > set(first["tags"])
    card = place.hub.content(place.hub.files(LIVE)["README.md"]).decode()
    assert changes.removeprefix("## Changes").strip() in card
    compared = place.run(
        "diff",
        str(lab / "plans" / "monthly" / "previous" / "live-questions"),
        str(lab / "datasets" / "live-questions"),
        "--workspace",
        str(lab),
    )
    assert "1 changed" in compared.out, compared.err

"""What pages say of people in Label Studio, followed block by block on a server."""

from __future__ import annotations

import os
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from goldpan.annotation.studio.decisions import adjudication_name
from goldpan.annotation.studio.project import open_project
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.demo_workspace import make_demo
from tests.pages import blocks, run_command, write_requirements
from tests.studio import Annotators, part

LAB = "goldpan-workspace"


def _sentences(folder: Path) -> None:
    """Have a dataset of comments, which the page builds before."""
    run_command("goldpan build code-comments --language python", folder)


def _requirements(folder: Path) -> None:
    """Have rows of the task whose labels are checked."""
    path = write_requirements(folder, 24)
    run_command(f"goldpan tasks import requirement_type {path.name}", folder, (3,))


PAGES: Mapping[str, tuple[Callable[[Path], None], Mapping[str, str]]] = {
    "docs/annotation.md": (_requirements, {}),
    "docs/code-comments.md": (
        _sentences,
        {
            "google/guava": "prospector/sluice",
            "code-comment-java": "code-comment-python",
            "comment_type_java": "comment_type_python",
            "--language java": "--language python",
        },
    ),
}
"""Pages with annotators, what their readers have, and what stands here for what they name."""


@pytest.mark.parametrize("name", PAGES)
def test_people_are_asked_as_a_page_says(name: str, tmp_path: Path, studio: Annotators) -> None:
    """Two people answer what is pushed, not always alike, and a third what is adjudicated."""
    prepare, here = PAGES[name]
    lab = WorkspaceLayout(make_demo(tmp_path / LAB))
    prepare(tmp_path)
    variables = {
        "LABEL_STUDIO_URL": studio.server.url,
        "LABEL_STUDIO_API_KEY": studio.server.token,
        "PATH": os.environ["PATH"],
    }
    with_people = [
        block.commands
        for block in blocks(name, here)
        if any(command.startswith("goldpan annotate") for command in block.commands)
    ]
    assert with_people
    for command in [command for commands in with_people for command in commands]:
        if not command.startswith("goldpan annotate serve"):  # the fixture does that
            codes = (0, 3) if "import" in command else (0,)  # with 3: rows of the source lack
            run_command(command, tmp_path, codes, **variables)
            _, group, verb, *options = shlex.split(command)
            if group == "annotate" and verb in ("push", "adjudicate"):
                project = options[options.index("--project") + 1]
                _answer(studio, lab, project, (1, 2) if verb == "push" else (3,))


def _answer(studio: Annotators, lab: WorkspaceLayout, name: str, people: tuple[int, ...]) -> None:
    """Answer every task with its first choice; the last of two people takes the second once."""
    number = open_project(lab, name if len(people) > 1 else adjudication_name(name)).number
    project = studio.call(0, "GET", f"/api/projects/{number}")
    asked = ET.fromstring(project["label_config"]).find(".//Choices[@required='true']")
    assert asked is not None
    choices = [choice.get("alias") or choice.attrib["value"] for choice in asked.iter("Choice")]
    tasks = studio.call(0, "GET", f"/api/tasks?project={number}&page_size=100")["tasks"]
    assert tasks
    for place, task in enumerate(tasks):
        for person in people:
            chosen = choices[int(not place and person == 2)]
            answer = part(asked.attrib["name"], "choices", [chosen], asked.attrib["toName"])
            studio.send(person, task["id"], answer)

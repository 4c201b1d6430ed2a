"""The plan of FAUN-Eval's thirty repositories, from nothing to three published datasets."""

from __future__ import annotations

import json
import re
import sys
import time
import tomllib
from pathlib import Path

from tests.mining import keys_kept_twice
from tests.planning import states
from tests.publishing import EXAMPLES, local_place
from tests.twin import Copy, World, copied_world
from tests.twin.history import history_world

LANGUAGES = {"Python": 6, "Java": 6, "JavaScript": 6, "TypeScript": 6, "Go": 6}
LISTED = {
    "scipy/scipy": "Python",
    "numpy/numpy": "Python",
    "huggingface/transformers": "Python",
    "google/guava": "Java",
    "facebook/react": "JavaScript",
    "typeorm/typeorm": "TypeScript",
    "kubernetes/kubernetes": "Go",
}
KILLED_AFTER = (100, 250)
"""Requests, all told, at which the run is killed."""


def thirty(folder: Path) -> World:
    """Return thirty repositories of one history, as many of each language as the paper has."""
    copies = [Copy(name, language, 90_000) for name, language in LISTED.items()]
    for language, count in LANGUAGES.items():
        listed = sum(copy.language == language for copy in copies)
        copies += [
            Copy(f"{language.lower()}-people/tool-{number}", language, 9_000 - number)
            for number in range(count - listed)
        ]
    return copied_world(history_world(folder / "sluice.git"), copies)


def test_killed_resumed_and_run_again(tmp_path: Path) -> None:
    text = (EXAMPLES / "faun-eval.toml").read_text(encoding="utf-8")
    assert set(tomllib.loads(text)["repositories"]["listed"]) == LISTED.keys()
    text = text.replace("[pair]", '[clone]\nsource = "sluice.git"\n\n[pair]')
    (tmp_path / "faun-eval.toml").write_text(text, encoding="utf-8")
    with local_place(tmp_path, thirty(tmp_path)) as project:
        begun = time.monotonic()
        for count in KILLED_AFTER:
            project.killed("run", "faun-eval.toml", after=count)
        done = project.run("run", "faun-eval.toml", "--json")
        assert done.code == 0, done.out + done.err
        result = json.loads(done.out)
        lab, repositories = tmp_path / "faun-eval-workspace", result["repositories"]
        assert len(repositories) == 30
        assert set(states(result).values()) <= {"done", "fresh"}
        assert not any(keys_kept_twice(lab, repo) for repo in repositories)
        for name in ("qa", "fault-localization", "code-edit"):
            state = project.hub.repo(f"your-name/faun-eval-{name}")
            assert state is not None
            assert all(re.fullmatch(r"v\d{4}\.\d\d\.\d\d", tag) for tag in state["tags"])
        end, requests, sent = time.monotonic(), project.twin.count, len(project.hub.requests)
        again = project.run("run", "faun-eval.toml")
        assert again.out.startswith(f"Nothing to do: all {len(result['units'])} units"), again.out
        assert (project.twin.count, len(project.hub.requests)) == (requests, sent)
        sys.stdout.write(
            f"{requests:,} requests to GitHub, {sent:,} to the Hub, {end - begun:.0f} s, killed "
            f"{len(KILLED_AFTER)} times; again {time.monotonic() - end:.1f} s\n"
        )
        for unit in result["units"]:
            if unit["stage"] in ("dataset", "evaluate", "publish"):
                sys.stdout.write(f"{unit['unit']}: {unit['said']}, {unit['seconds']:.1f} s\n")

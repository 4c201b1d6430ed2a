"""FAUN-Eval on thirty repositories: from nothing to three published datasets and its tables.

The plan is killed while it mines and while models review, an evaluation while models answer; what
was asked before is not asked again.
"""

from __future__ import annotations

import json
import re
import sys
import time
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from tests.mining import keys_kept_twice
from tests.openai_server import KEY, Body, OpenAIServer, Said
from tests.planning import states
from tests.prompting import keep, question_of
from tests.publishing import EXAMPLES, Place, local_place
from tests.twin import Copy, World, copied_world
from tests.twin.history import history_world

pytest.importorskip("scipy")

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
"""Requests to GitHub, all told, at which the run is killed."""
KILLED_IN_REVIEW = 300
"""Requests to the reviewing model at which the run is killed."""
IN_FLIGHT = 32
"""More requests than are under way at once, which a kill may lose."""
TARGETS = {"qa": "answer", "fault-localization": "changed_path", "code-edit": "patch"}
MODELS = ("gpt-4o", "deepseek-coder-v2", "codeqwen-1.5-chat")
"""Those of Table 5."""
MODELS_ALONE = "reviewed by models alone"
"""All that cells lack here: the paper has people review what models keep."""


def thirty(folder: Path) -> World:
    """Return thirty repositories of one history, as many of each language as the plan selects."""
    copies = [Copy(name, language, 90_000) for name, language in LISTED.items()]
    for language, count in LANGUAGES.items():
        listed = sum(copy.language == language for copy in copies)
        copies += [
            Copy(f"{language.lower()}-people/tool-{number}", language, 9_000 - number)
            for number in range(count - listed)
        ]
    return copied_world(history_world(folder / "sluice.git"), copies)


@dataclass
class Models:
    """Keep all that they review, and know seven answers in ten of the dataset at hand."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    dataset: str = "qa"

    def __call__(self, body: Body) -> Said:
        if "response_format" in body:
            return keep(body)
        text = question_of(body)
        for row in self.rows[self.dataset]:
            if (row["body"] or row["title"]) in text:
                known = zlib.crc32(f"{body['model']} {row['id']}".encode()) % 10 < 7
                return Said(row[TARGETS[self.dataset]] if known else "I cannot tell.")
        return Said("I cannot tell.")


class Finished(NamedTuple):
    """The plan's workspace, and what making it took."""

    project: Place
    server: OpenAIServer
    models: Models
    result: dict[str, Any]
    seconds: float

    @property
    def lab(self) -> Path:
        return self.project.folder / "faun-eval-workspace"

    def evaluate(self, model: str, dataset: str, *words: str) -> tuple[str, ...]:
        """Return the command that lets a model answer a dataset."""
        self.models.dataset = dataset
        task, settings = (
            dataset.replace("-", "_"),
            (f"model={model}", f"base_url={self.server.url}"),
        )
        options = ("--set", settings[0], "--set", settings[1], "--protocol", "faun-eval")
        command = ("evaluate", "run", "--task", task, "--model", "prompted", *options, *words)
        return (*command, "--workspace", str(self.lab))


def write_plan(path: Path, server: OpenAIServer) -> None:
    """Write the example with the paper's review, and with the history that is at hand."""
    text = (EXAMPLES / "faun-eval.toml").read_text(encoding="utf-8")
    assert set(tomllib.loads(text)["repositories"]["listed"]) == LISTED.keys()
    review = f'[review]\nprofile = "faun-eval"\nmodel = "gpt-4o"\nbase_url = "{server.url}"\n'
    text = text.replace("[pair]", f'[clone]\nsource = "sluice.git"\n\n{review}\n[pair]')
    required = {"qa": "question-answer", "fault-localization": "problem-solution"}
    for family in TARGETS:
        line = f'family = "{family}"\n'
        more = 'answer = "reviewed"\n' if family == "qa" else ""
        name = required.get(family, "problem-solution")
        text = text.replace(line, f'{line}require = ["{name}"]\n{more}')
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """Run the plan, three times killed, to its end."""
    folder, models = tmp_path_factory.mktemp("thirty"), Models()
    with OpenAIServer(models) as server, local_place(folder, thirty(folder)) as project:
        write_plan(folder / "faun-eval.toml", server)
        begun = time.monotonic()
        for count in KILLED_AFTER:
            project.killed("run", "faun-eval.toml", after=count)
        with project.start("run", "faun-eval.toml", OPENAI_API_KEY=KEY) as running:
            running.until(lambda: len(server.chats) >= KILLED_IN_REVIEW)
            running.kill()
            running.wait()
        done = project.run("run", "faun-eval.toml", "--json", OPENAI_API_KEY=KEY)
        assert done.code == 0, done.out + done.err
        result = Finished(project, server, models, json.loads(done.out), time.monotonic() - begun)
        for name in TARGETS:
            data = result.lab / "datasets" / f"faun-eval-{name}" / "data"
            models.rows[name] = pq.read_table(data).to_pylist()
        yield result


def test_killed_resumed_and_run_again(finished: Finished) -> None:
    project, result = finished.project, finished.result
    repositories = result["repositories"]
    assert sorted(repositories) == sorted(
        {*LISTED, *(copy for copy in repositories if "-people/tool-" in copy)}
    )
    assert len(repositories) == 30
    assert set(states(result).values()) <= {"done", "fresh"}
    assert not any(keys_kept_twice(finished.lab, repo) for repo in repositories)
    (review,) = (unit for unit in result["units"] if unit["stage"] == "review")
    reviewed = int(review["summary"].split()[0])
    assert reviewed <= len(finished.server.chats) <= reviewed + IN_FLIGHT
    for name in TARGETS:
        state = project.hub.repo(f"your-name/faun-eval-{name}")
        assert state is not None
        assert all(re.fullmatch(r"v\d{4}\.\d\d\.\d\d", tag) for tag in state["tags"])
    counts = (project.twin.count, len(project.hub.requests), len(finished.server.chats))
    begun = time.monotonic()
    again = project.run("run", "faun-eval.toml", OPENAI_API_KEY=KEY)
    assert again.out.startswith(f"Nothing to do: all {len(result['units'])} units"), again.out
    assert counts == (project.twin.count, len(project.hub.requests), len(finished.server.chats))
    sys.stdout.write(
        f"{counts[0]:,} requests to GitHub, {counts[1]:,} to the Hub, {counts[2]:,} reviews, "
        f"{finished.seconds:.0f} s, killed 3 times; again {time.monotonic() - begun:.1f} s\n"
    )
    for unit in result["units"]:
        if unit["stage"] in ("dataset", "evaluate", "publish"):
            sys.stdout.write(f"{unit['unit']}: {unit['summary']}, {unit['seconds']:.1f} s\n")


def test_the_datasets_are_of_the_papers_size(finished: Finished) -> None:
    rows = finished.models.rows
    assert {name: len(table) for name, table in rows.items()} == dict.fromkeys(TARGETS, 300)
    assert {row["language"] for row in rows["qa"]} == LANGUAGES.keys()
    assert len({row["repo"] for row in rows["qa"]}) == 30
    faults, edits = (
        {row["id"].partition(":")[2] for row in rows[name]}
        for name in ("fault-localization", "code-edit")
    )
    assert len(faults & edits) > 250, "but for pairs that only one of the two can use"


def test_its_tables_from_runs(finished: Finished) -> None:
    project, chats = finished.project, finished.server.chats
    before = len(chats)
    command = finished.evaluate(MODELS[0], "qa")
    with project.start(*command, OPENAI_API_KEY=KEY) as running:
        running.until(lambda: len(chats) >= before + 100)
        running.kill()
        running.wait()
    wanted = [(model, name) for model in MODELS for name in ("qa", "fault-localization")]
    runs = [(*pair, part) for pair in wanted for part in ("", "title", "body")]
    for model, dataset, part in (*runs, (MODELS[0], "code-edit", "")):
        command = finished.evaluate(model, dataset, *(("--ablate", part) if part else ()))
        done = project.run(*command, OPENAI_API_KEY=KEY)
        assert done.code == 0, done.out + done.err
        if (model, dataset, part) == (MODELS[0], "qa", ""):
            assert len(chats) - before <= 300 + IN_FLIGHT, "answers before the kill are kept"
    done = project.run("reproduce", "faun-eval", "--workspace", str(finished.lab), "--json")
    assert done.code == 0, done.out + done.err
    tables = {table["table"]: table for table in json.loads(done.out)["tables"]}
    for table in tables.values():
        for cell in table["cells"]:
            assert cell["state"] in ("run", "in part", "recomputed", "untested")
            if isinstance(cell["here"], float) and isinstance(cell["paper"], float):
                assert cell["distance"] == pytest.approx(cell["here"] - cell["paper"])

    def run_cells(key: str, note: str = MODELS_ALONE) -> set[tuple[str, str]]:
        cells = [cell for cell in tables[key]["cells"] if cell["note"] == note]
        assert {cell["state"] for cell in cells} == {"in part" if note else "run"}
        return {(cell["row"], cell["column"]) for cell in cells}

    titles = ("GPT-4o", "DSC-236B", "CQ-7B")
    metrics = [f"QA: {name}" for name in ("BLEU", "ROUGE-L", "ROUGE-1", "ES", "average")]
    four = {(row, title) for row in (*metrics, "FL: EM") for title in titles}
    assert run_cells("4") == four | {("CE: CodeBLEU", "GPT-4o")}
    parts = [f"{row}, {part}" for row in (*metrics, "FL: EM") for part in ("IT+IB", "IT", "IB")]
    five = {(row, title) for row in parts for title in (*titles, "Average")}
    assert run_cells("5") == five | {("CE: CodeBLEU, IT+IB+PT+PB", "GPT-4o")}
    changed = {(row, title) for row, title in five if not row.endswith("IT+IB")} - {
        (f"FL: EM, {part}", "CQ-7B") for part in ("IT", "IB")
    }
    assert run_cells("5-changes") == changed, "the paper prints no change from a score of zero"
    thirds = {(title, "QA: worst") for title in titles} | {("GPT-4o", "CE: long against medium")}
    thirds |= {(title, "FL: medium against short") for title in ("GPT-4o", "DSC-236B")}
    assert run_cells("F3") == thirds
    assert run_cells("1") == {
        ("FAUN-Eval-QA", "languages"),
        ("FAUN-Eval-QA", "repositories"),
        ("FAUN-Eval-QA", "samples"),
        ("FAUN-Eval-fix", "samples"),
    }
    assert run_cells("data", "") == {("repositories", "count")}

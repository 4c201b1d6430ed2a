"""Each export is loaded by the package that it is for, and run to its end with a local server.

The packages are installed once, in environments of their own; `GOLDPAN_HARNESSES` and
`GOLDPAN_HARBOR` name environments that have them already. Harbor needs Python 3.12.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from goldpan import load
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, ISSUE_RESOLUTION, QA
from goldpan.datasets.family import Family
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import task_family
from goldpan.execution.python_env import find_uv
from tests.examples import example, write
from tests.integration.test_export import fix
from tests.local_server import Answer, Asked, Server
from tests.places import ROOT
from tests.program import goldpan

ISSUE_TYPE, COMMENTS = (
    task_family(find_task(name)) for name in ("issue_type", "comment_type_java")
)
FAMILIES = {
    family.name: family for family in (QA, FAULT_LOCALIZATION, CODE_EDIT, ISSUE_TYPE, COMMENTS)
}
METRICS = {
    "qa": "f1",
    "fault-localization": "exact_path",
    "code-edit": "exact_file",
    "issue_type": "accuracy",
    "comment_type_java": "exact_match",
}
pytestmark = pytest.mark.timeout(900)


def installed(request: pytest.FixtureRequest, variable: str, python: str, *packages: str) -> Path:
    """Return the folder of programs of an environment with packages from the registry."""
    if prepared := os.environ.get(variable):
        return Path(prepared) / "bin"
    assert request.config.cache is not None
    folder = Path(request.config.cache.mkdir(variable.lower())) / "environment"
    with folder.with_name("lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            uv = find_uv()
            made = subprocess.run([uv, "venv", "--clear", "--python", python, folder], check=False)
            if made.returncode:
                pytest.skip(f"Python {python} is not installed")
            subprocess.run(
                [uv, "pip", "install", "--quiet", "--python", folder / "bin/python", *packages],
                check=True,
            )
            (folder / "whole").touch()
    return folder / "bin"


@pytest.fixture(scope="module")
def harnesses(request: pytest.FixtureRequest) -> Path:
    packages = ("swebench", "inspect_ai", "openai", "lm_eval[api]")
    return installed(request, "GOLDPAN_HARNESSES", "3.11", *packages)


@pytest.fixture(scope="module")
def harbor(request: pytest.FixtureRequest) -> Path:
    return installed(request, "GOLDPAN_HARBOR", "3.12", "harbor")


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    """Run a program of a harness, with the network only on this machine."""
    own = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**own, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


@contextmanager
def serving(answers: Mapping[str, str]) -> Iterator[str]:
    """Serve completions: each prompt's own answer, nonsense to all others."""

    def complete(asked: Asked) -> Answer:
        body = json.loads(asked.body)
        if "messages" in body:
            answer = answers.get(_text(body["messages"][-1]["content"]).strip(), "nonsense")
            choice: dict[str, Any] = {"message": {"role": "assistant", "content": answer}}
        else:
            (prompt,) = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
            choice = {"text": answers.get(prompt.strip(), "nonsense"), "logprobs": None}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "1", "object": "completion", "created": 0, "model": body["model"]}
        reply |= {"usage": usage, "choices": [{"index": 0, "finish_reason": "stop", **choice}]}
        return Answer(body=reply)

    with Server(complete) as server:
        yield f"{server.url}/v1"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def exported(tmp_path: Path, family: Family, to: Any) -> tuple[Path, dict[str, str]]:
    """Return an export of two rows that was moved, and the reference answer to each prompt."""
    if family in (ISSUE_TYPE, COMMENTS):
        rows = [labeled(family, number) for number in (1, 2)]
    else:
        rows = [example(family, number) for number in (1, 2)]
    dataset = write(tmp_path / "lab", family, rows, name=family.name).directory
    load(dataset).export(to=to, output=tmp_path / "out")
    moved = (tmp_path / "out").rename(tmp_path / "moved here")
    written = [json.loads(line) for line in (moved / "test.jsonl").read_text().splitlines()]
    name = "input" if to == "inspect" else "prompt"
    return moved, {row[name].strip(): row["target"] for row in written}


def labeled(family: Family, number: int) -> dict[str, Any]:
    """Return a row of a classification task."""
    right = "bug" if family is ISSUE_TYPE else ["summary", "usage"]
    facts = {"id": f"{family.name}:{number}", "source": "a.csv", "text": f"It fails, {number}."}
    row = dict.fromkeys(column.name for column in family.columns)
    return {**row, **facts, str(family.target): right}


@pytest.mark.parametrize("family", list(FAMILIES))
def test_inspect_scores_references_one_and_nonsense_zero(
    tmp_path: Path, harnesses: Path, family: str
) -> None:
    folder, answers = exported(tmp_path, FAMILIES[family], "inspect")
    # From two directories, neither of which it was written to.
    for known_answers, expected, cwd in ((answers, 1.0, folder), ({}, 0.0, tmp_path)):
        logs = tmp_path / f"logs-{expected}"
        task = (folder / "task.py").relative_to(cwd)
        with serving(known_answers) as url:
            run(
                harnesses / "inspect", "eval", task, "--model", "openai-api/local/tiny",
                "--log-dir", logs, "--log-format", "json", "--display", "none",
                folder=cwd, LOCAL_BASE_URL=url, LOCAL_API_KEY="none",
            )  # fmt: skip
        (log,) = logs.glob("*.json")
        record = json.loads(log.read_text())
        assert record["status"] == "success"
        assert record["eval"]["task"] == f"goldpan_{family.replace('-', '_')}"
        scores = {score["name"]: score["metrics"] for score in record["results"]["scores"]}
        assert scores[METRICS[family]]["mean"]["value"] == expected


@pytest.mark.parametrize("family", list(FAMILIES))
def test_lm_eval_scores_references_one_and_nonsense_zero(
    tmp_path: Path, harnesses: Path, family: str
) -> None:
    folder, answers = exported(tmp_path, FAMILIES[family], "lm-eval")
    task = f"goldpan_{family.replace('-', '_')}"
    for known_answers, expected, cwd in ((answers, 1.0, folder), ({}, 0.0, tmp_path)):
        results = tmp_path / f"results-{expected}"
        with serving(known_answers) as url:
            run(
                harnesses / "lm_eval", "run", "--include_path", folder, "--tasks", task,
                "--model", "local-completions", "--model_args",
                f"model=tiny,base_url={url}/completions,tokenizer_backend=none,"
                "tokenized_requests=False,num_concurrent=1",
                "--output_path", results,
                folder=cwd, OPENAI_API_KEY="none",
            )  # fmt: skip
        (file,) = results.rglob("results*.json")
        scores = json.loads(file.read_text())["results"][task]
        assert scores[f"{METRICS[family]},none"] == expected


def test_swebench_loads_its_rows(tmp_path: Path, harnesses: Path) -> None:
    dataset = write(tmp_path / "lab", ISSUE_RESOLUTION, [fix(1), fix(2)]).directory
    load(dataset).export(to="swe-bench", output=tmp_path / "out")
    code = (
        "import sys\n"
        "from swebench.harness.utils import load_swebench_dataset as load\n"
        "rows = load(sys.argv[1])\n"
        "print(sorted(row['instance_id'] for row in rows))"
    )
    for folder, path in ((tmp_path / "out", "test.jsonl"), (tmp_path, "out/test.jsonl")):
        output = run(harnesses / "python", "-c", code, path, folder=folder)
        assert output.strip().splitlines()[-1] == "['o__n-101', 'o__n-102']"


def test_harbor_takes_its_tasks(tmp_path: Path, harbor: Path) -> None:
    dataset = write(tmp_path / "lab", ISSUE_RESOLUTION, [fix(1), fix(2)]).directory
    load(dataset).export(to="harbor", output=tmp_path / "out")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from harbor.models.task.task import Task\n"
        "for path in sorted(Path(sys.argv[1]).iterdir()):\n"
        "    assert Task.is_valid_dir(path)\n"
        "    task = Task(path)\n"
        "    print(task.name, task.config.environment.memory_mb, '/testbed' in task.instruction)"
    )
    for folder, path in ((tmp_path / "out", "test"), (tmp_path, "out/test")):
        output = run(harbor / "python", "-c", code, path, folder=folder)
        names = ["goldpan/o__n-101 8192 True", "goldpan/o__n-102 8192 True"]
        assert output.splitlines()[-2:] == names


def test_from_the_demo_to_harbor_as_the_page_has_it(tmp_path: Path, harbor: Path) -> None:
    page = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    lines = page.partition("### Harbor\n")[2].partition("```console\n")[2]
    *commands, last = lines.partition("```")[0].strip().splitlines()
    assert last == "$ harbor run --path tasks/test --agent oracle"
    for command in commands:
        program, *words = command.removeprefix("$ ").split()
        assert program == "goldpan"
        if words[0] == "verify" and shutil.which("bwrap") is None:
            words += ["--isolation", "none"]
        done = goldpan(*words, folder=tmp_path)
        assert done.code == 0, f"{command}\n{done.out}{done.err}"
    code = (
        "from pathlib import Path\n"
        "from harbor.models.task.task import Task\n"
        "print(sum(Task.is_valid_dir(path) for path in Path('tasks/test').iterdir()))"
    )
    assert run(harbor / "python", "-c", code, folder=tmp_path).split()[-1] == "9"

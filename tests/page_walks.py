"""How readers follow pages of the documentation: what they have, and what stands here for it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from goldpan import load
from tests.demo_workspace import make_demo
from tests.gharchive_hours import utc, write_day
from tests.issue_hours import made_up_hours, write_hours
from tests.object_store import LocalS3
from tests.openai_server import Model, OpenAIServer, Said
from tests.pages import run_command, write, write_requirements
from tests.papers.nlbse.nlbse_comments import import_comments
from tests.papers.nlbse.test_code_comments_import import CATEGORIES, official
from tests.places import ROOT
from tests.planning import REPOSITORIES, write_tasks
from tests.prompting import keep
from tests.verifying import ISOLATIONS

LAB = "goldpan-workspace"
HISTORIES = files("goldpan") / "demo" / "{name}.bundle"
"""The histories of the demo's repositories."""
HERE = {"numpy/numpy": "prospector/sluice"}
"""What stands here for what pages name: the repository of the demo."""
NEEDS = {
    r"(make|export|cd|pip|sbatch|python -m|examples/|\./)": "the shell, pip, Slurm",
    r"(llama-server|vllm|OLLAMA_CONTEXT_LENGTH=)|goldpan (doctor|review) .*--base-url": "a model: "
    "tests/servers/test_review_llama.py, tests/integration/test_endpoint_check.py",
    r"goldpan demo$": "what each walk begins with: tests/integration/test_demo.py",
    r"(harbor|inspect|lm_eval) ": "harnesses: tests/scale/test_export_harnesses.py",
    r"goldpan (verify|evaluate resolved|export .* --to harbor)": "an index: "
    "tests/servers/test_verify_python.py",
    r"goldpan build crosscode .*authors": "the benchmark: tests/scale/test_task_real.py",
    r"goldpan publish": "the Hub: tests/servers/test_publish.py",
    r"goldpan .* --engine ray": "a Ray cluster: tests/servers/test_ray.py",
    r"goldpan evaluate finetune": "weights: tests/integration/test_finetune_command.py",
    r"goldpan evaluate run .*weights=|.* --model (ensemble|finetuned)": "weights: "
    "tests/scale/test_evaluation_embedded.py",
    r"goldpan evaluate run .* install=yes": "PyPI: tests/integration/test_evaluation_fasttext.py",
    r"goldpan reproduce .*(--limit|--download|--no-run)": "the papers' data: "
    "tests/integration/test_reproduce.py",
    r"goldpan (run|evaluate run) .*/faun-eval/": "thirty repositories: "
    "tests/integration/test_plan_examples.py",
    r"goldpan mine gharchive (?!.*--source hours)": "months of GH Archive: "
    "tests/integration/test_gharchive_command.py",
    r"goldpan .*(--sample \d|readings\.csv)": "a terminal: tests/integration/test_label_reading.py",
    r"goldpan (annotate|.*(annotations|require) java-comments)": "Label Studio: "
    "tests/servers/test_studio_pages.py",
}
"""What no walk runs, by patterns of commands, and what it needs or where it runs."""
LACKING = r"goldpan (reproduce|import|tasks import requirement_type)"
"""What may end with 3: its data are invented, or are not here."""


def _plugins(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "plugins", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples" / "own_paper", folder / "examples" / "own_paper")


def _datasets(folder: Path) -> None:
    shutil.copytree(folder / LAB / "datasets" / "qa", folder / "published" / "qa")
    rows = folder / LAB / "datasets" / "issue-resolution" / "data"
    shutil.copy(next(rows.glob("*.parquet")), folder / "swe-bench.parquet")


def _audit(folder: Path) -> None:
    """Have a single row whose tests are run again and again, if anything runs them."""
    _datasets(folder)
    if "bubblewrap" not in ISOLATIONS:
        return
    one = "--profile verified --require verified --limit 1"
    run_command(f"goldpan build issue-resolution {one}", folder)


def _exports(folder: Path) -> None:
    """Have the workspace of a demo by both names that the page uses."""
    _datasets(folder)
    make_demo(folder / "demo-workspace")


def _crosscode(folder: Path) -> None:
    """Import tasks, and build the split that the page takes as built."""
    write_tasks(folder / LAB)
    run_command("goldpan build crosscode export --all", folder)
    run_command("goldpan build crosscode split Type-QA --method 2-shot", folder)


def _reports(folder: Path) -> None:
    """Run models on the tasks that the page compares, and have scores of others."""
    write_tasks(folder / LAB, ("requirement_type", "story_points"))
    named = "--task requirement_type --task story_points"
    run_command(f"goldpan evaluate run {named} --model majority --model tfidf-svm", folder)
    models = "--model majority --model tfidf-svm --protocol selu-paper"
    run_command(f"goldpan evaluate run --task requirement_type {models}", folder)
    rows = [f"{m},t{n},0,0.{n}{s}" for s, m in enumerate(("ours", "theirs")) for n in range(1, 6)]
    (folder / "ours-and-theirs.csv").write_text("\n".join(["model,task,seed,score", *rows]))


def _tasks(folder: Path) -> None:
    write_requirements(folder, 60)
    rows = [f"{('crash', 'typo')[n % 2]} {n},It happens.,{(n + 1) % 2}" for n in range(60)]
    (folder / "reports.csv").write_text("\n".join(["title,body,urgent", *rows]))


def _comments(folder: Path) -> None:
    """Have sentences of comments in the form of NLBSE'23, and no other rows of it."""
    shutil.rmtree(folder / LAB / "datasets" / "nlbse23_issue_type")
    shutil.copytree(import_comments(folder, classes=10).root, folder / LAB, dirs_exist_ok=True)


def _official(folder: Path) -> None:
    """Have the files of NLBSE'23, with some sentences: their import says that others lack."""
    for language in CATEGORIES:
        official(folder, language)


def _requirements(folder: Path) -> None:
    write_requirements(folder, 60)


def _archive(folder: Path) -> None:
    """Have files of GH Archive, and hours of it that are read already."""
    write_day(folder / "hours", [utc(2022, 1, 1, hour) for hour in range(5, 9)], 20)
    write_hours(folder / LAB, made_up_hours(1, 40))


def _gold(folder: Path) -> None:
    """Have gold sets about an issue of the demo."""
    rows = load(folder / LAB / "datasets" / "qa").to_arrow().slice(0, 4).to_pylist()
    lines = [f"{row['repo']},{row['issue']},{row['answer_comment_id']},answers" for row in rows]
    text = "\n".join(["repo,issue,comment_id,label", *lines])
    write(folder, "gold.csv", text)
    write(folder, "tests/gold/answers.csv", text)


def _papers(folder: Path) -> None:
    """Have a folder for the papers' files, and none of these."""
    (folder / "papers").mkdir()


def _plan(folder: Path) -> None:
    """Have a plan that does without the history."""
    dataset = '[clone]\nenabled = false\n[[dataset]]\nname = "questions"\nfamily = "qa"\n'
    write(folder, "plan.toml", f"{REPOSITORIES}{dataset}")


def _nothing(folder: Path) -> None:
    """Have a workspace in which the demo ran, and nothing else."""


@contextmanager
def _alone(_: Path) -> Iterator[Mapping[str, str]]:
    """Serve nothing beside GitHub."""
    yield {}


@contextmanager
def _model(answers: Model, _: Path) -> Iterator[Mapping[str, str]]:
    """Serve a model."""
    with OpenAIServer(answers) as server:
        yield {"OPENAI_API_KEY": server.key or "", "MODEL_URL": server.url}


@contextmanager
def _store(folder: Path) -> Iterator[Mapping[str, str]]:
    """Serve S3."""
    with LocalS3() as server:
        yield {**server.environment, "GOLDPAN_MIRRORS": str(folder / "mirrors")}


class Walk(NamedTuple):
    """What the reader of a page has."""

    prepare: Callable[[Path], None] = _nothing
    files: tuple[str, ...] = ()
    """The files that are made of its TOML."""
    here: Mapping[str, str] = MappingProxyType({})
    """What stands here for what it names, beside `HERE`; it may name variables of `served`."""
    served: Callable[[Path], AbstractContextManager[Mapping[str, str]]] = _alone
    """Serves what it needs beside GitHub, and gives the variables that lead there."""


_CLONED = {
    "goldpan clone": f"goldpan clone --source {HISTORIES}",
    "lab.clone()": f"lab.clone(source={str(HISTORIES)!r})",
}
_SHOWN = {"demo-workspace": LAB, "goldpan open": "goldpan open --no-browser"}
WALKS: Mapping[str, Walk] = {
    "README.md": Walk(here={**_SHOWN, **_CLONED}),
    "docs/audit.md": Walk(_audit, here={"--variants 20": "--variants 2"}),
    "docs/code-comments.md": Walk(
        _official,
        here={
            "goldpan clone": f"goldpan clone --source {HISTORIES}",
            "google/guava": "prospector/sluice",
            "pallets/flask --revision 3.0.0": "prospector/sluice --revision main",
            "pillar-markup/pillar": "prospector/sluice",
            "--language java": "--language python",
            "--language pharo": "--language python",
        },
    ),
    "docs/crosscode.md": Walk(
        _crosscode,
        ("settings.toml",),
        here={"--set model=MODEL": "--set model=MODEL --set base_url=$MODEL_URL"},
        served=partial(_model, lambda _: Said("bug")),
    ),
    "docs/datasets.md": Walk(),
    "docs/evaluation.md": Walk(_requirements, here={" --model embeddings": ""}),
    "docs/exports.md": Walk(_exports),
    "docs/guide.md": Walk(here=_CLONED),
    "docs/index.md": Walk(here=_SHOWN),
    "docs/issue-types.md": Walk(_archive, ("mine.toml",), here={"/data/hours": "hours"}),
    "docs/labels.md": Walk(
        _gold,
        here={
            "lab/datasets": f"{LAB}/datasets",
            "--model NAME": "--model NAME --base-url $MODEL_URL",
        },
        served=partial(_model, keep),
    ),
    "docs/mining.md": Walk(),
    "docs/models.md": Walk(_comments),
    "docs/papers.md": Walk(_papers),
    "docs/plugins.md": Walk(_plugins, ("pyproject.toml", "with_code.toml")),
    "docs/python.md": Walk(here=_SHOWN),
    "docs/reliability.md": Walk(),
    "docs/reports.md": Walk(_reports),
    "docs/security.md": Walk(here={"trust lab": f"trust {LAB}"}),
    "docs/tasks.md": Walk(_tasks, (f"{LAB}/tasks/urgent_report.toml",)),
    "docs/verification.md": Walk(
        files=("recipe.toml", "another.toml"),
        here={"--set model=NAME": "--set model=NAME --set base_url=$MODEL_URL"},
        served=partial(_model, lambda _: Said("nothing")),
    ),
    "docs/workspaces.md": Walk(_plan, ("gpus.toml",), here={"lab-bucket": "lab"}, served=_store),
}
"""The pages that are followed here."""


def is_left_out(command: str) -> bool:
    """Tell whether no walk runs a command."""
    return any(re.match(pattern, command) for pattern in NEEDS)

"""What the program says where something is missing or mistyped: the true cause and one law."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from goldpan import Workspace
from goldpan.commands.program import commands
from goldpan.core.errors import UsageError
from goldpan.datasets.splits import SPLIT_FORMS, SplitPlan
from goldpan.workspace.options import options_of
from tests.console import run, sentence
from tests.demo_workspace import attempt, make_demo
from tests.places import ROOT

MISSING = (
    "report --workspace demo --dataset none",
    "report --workspace demo --output none/report.html",
    "funnel --workspace demo --output none/funnel.svg",
    "funnel --workspace demo --output none/funnel.html",
    "evaluate resolved none --predictions none.jsonl --workspace demo",
    "evaluate score --task none.toml --workspace demo",
    "evaluate labels none --gold none.csv",
    "evaluate labels demo/datasets/qa --gold none.csv",
    "publish none --repo-id a/b",
    "publish none --repo-id a/b --dry-run",
    "diff none demo/datasets/qa --workspace demo",
    "diff demo/datasets/qa none --workspace demo",
    "audit none.csv --workspace demo",
    "contamination none --against demo/datasets/qa",
    "contamination demo/datasets/qa --against none",
    "contamination none.csv --against demo/datasets/qa",
    "evaluate run --task nlbse23_issue_type --model majority --workspace demo --dataset none",
    "import nlbse23-comments none/java.csv",
    "tasks import bug_issue none.csv",
    "tasks add urgent none.csv --text body --label urgent",
    "review --workspace demo --settings-file none.toml",
    "build qa --workspace demo --gold none.csv",
    "build issue-type --source mined --workspace demo --profile none.toml",
    "build crosscode import none --workspace demo",
    "annotate push --project p --form fix-pair --dataset none --workspace demo",
    *(
        f"{command} --workspace none"
        for command in (
            *("check", "normalize", "clone", "pair", "status", "filter", "funnel", "report"),
            *("why a/b#1", "trace qa:a/b#1", "build qa", "build code-comments", "verify x"),
            *("review --model m --dry-run", "build issue-type --source mined"),
            *("open --no-browser", "annotate status --project p"),
        )
    ),
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the workspace of a demo, as `demo`."""
    folder = tmp_path_factory.mktemp("messages")
    make_demo(folder / "demo")
    return folder


@pytest.mark.parametrize("line", MISSING)
def test_a_path_that_is_missing_is_wrong_usage_everywhere(demo: Path, line: str) -> None:
    done = run(*line.split(), folder=demo)
    sentence(done, 2, "none")
    assert "Errno" not in done.err
    assert not (demo / "none").exists()


def test_the_true_cause_is_told_where_a_dataset_cannot_be_written(demo: Path) -> None:
    done = run("build", "qa", "--workspace", "demo", "--output", "/proc/foo", folder=demo)
    sentence(done, 1, "/proc/foo cannot be written: files cannot be created in /proc")
    assert "space" not in done.err


def test_trace_offers_the_whole_id(demo: Path) -> None:
    done = attempt("trace", "prospector/sluice#63+64", "--workspace", str(demo / "demo"))
    assert done.code == 2
    ids = [f"{family}:prospector/sluice#63+64" for family in ("code-edit", "fault-localization")]
    assert done.err.endswith(f"Did you mean {' or '.join(ids)}?\n")
    done = attempt("trace", "QA:prospector/Sluice#56", "--workspace", str(demo / "demo"))
    assert done.err.endswith("Did you mean qa:prospector/sluice#56?\n")
    done = attempt("trace", "prospector/sluice#4567", "--workspace", str(demo / "demo"))
    assert "--dataset DIR" in done.err


def test_a_question_ends_as_one(tmp_path: Path) -> None:
    asking = [
        path.name
        for path in (ROOT / "src" / "goldpan").rglob("*.py")
        if re.search(r'"Did you mean', path.read_text(encoding="utf-8"))
    ]
    assert asking == ["errors.py"]
    (tmp_path / "plan.toml").write_text('[repositorys]\nlisted = ["a/b"]\n')
    done = run("run", "plan.toml", folder=tmp_path)
    assert done.err.endswith(
        "plan.toml, line 1: the key repositorys is unknown. Did you mean repositories?\n"
    )


def test_help_and_errors_name_the_same_splits() -> None:
    takes = ("build qa", "build code-comments", "build issue-type", "tasks import")
    for words in takes:
        method = commands(Workspace())[words].method
        assert method is not None
        (option,) = (option for option in options_of(method) if option.name == "split")
        assert SPLIT_FORMS in option.help
    with pytest.raises(UsageError) as caught:
        SplitPlan.parse("sideways")
    assert SPLIT_FORMS in caught.value.remedy

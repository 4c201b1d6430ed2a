"""What `import goldpan` offers does what the commands do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import goldpan
from goldpan.core.result import json_data
from tests.demo_workspace import make_demo, make_sluice
from tests.hub import Hub
from tests.program import goldpan as run

REPO = "prospector/sluice"
TASK = "nlbse23_issue_type"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sluice(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def lab(root: Path, tmp_path: Path) -> goldpan.Workspace:
    """Return a copy that a test may change."""
    return goldpan.Workspace(shutil.copytree(root, tmp_path / "lab"))


def test_importing_goldpan_imports_no_stage() -> None:
    script = "import sys, goldpan; goldpan.UsageError; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"pyarrow", "duckdb", "numpy", "httpx", "goldpan.miners"} & set(done)


def test_all_names_are_there() -> None:
    assert dir(goldpan) == sorted(goldpan.__all__)
    assert None not in [getattr(goldpan, name) for name in goldpan.__all__]
    with pytest.raises(AttributeError, match="no attribute 'gold'"):
        getattr(goldpan, "gold")  # noqa: B009


def test_nothing_is_printed_unless_progress_is_asked_for(
    lab: goldpan.Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    lab.normalize()
    assert capfd.readouterr() == ("", "")


def test_a_dataset_is_built_and_read(lab: goldpan.Workspace) -> None:
    data = lab.build("qa", REPO, split="random:0.5,0.5", seed=1)
    assert isinstance(data.built, goldpan.BuildResult)
    assert data.built.kept == 18
    assert len(data) == sum(data.splits.values()) == 16
    assert list(data.splits) == ["train", "test"]
    assert data.columns[:2] == ["id", "repo"]
    assert data.card.startswith("---")
    assert data.provenance["settings"]["seed"] == 1
    assert repr(data).endswith(f"qa, train: {data.splits['train']}, test: {data.splits['test']})")
    assert data.to_arrow().num_rows == 16
    assert len(data.to_pandas("train")) == data.splits["train"]
    assert dict(data.to_datasets().num_rows) == dict(data.splits)
    counted = data.sql("SELECT split, count(*) AS n FROM data GROUP BY split ORDER BY split")
    assert counted["n"].to_pylist() == [data.splits["test"], data.splits["train"]]
    assert data.sql("FROM train WHERE issue = $issue", issue=-1).num_rows == 0
    assert {dataset.path.name for dataset in lab.datasets()} >= {"qa", "code-edit", TASK}
    assert goldpan.load(data.path).family == lab.dataset("qa").family == "qa"


def test_a_family_is_a_method_and_a_dataset_a_result(
    lab: goldpan.Workspace, tmp_path: Path
) -> None:
    built = lab.build("code-edit", limit=3, output=tmp_path / "edits")
    assert json_data(built)["examples"] == len(built) == 3
    assert "code-edit: 3 examples" in str(built)
    loaded = goldpan.load(built.path)
    assert json_data(loaded)["splits"] == {"test": 3}
    assert "code-edit" in loaded._repr_html_()
    whole = goldpan.diff(built, "code-edit", workspace=lab.path)
    assert (whole.same, whole.gone) == (3, 0)
    assert whole.added > 0
    assert goldpan.contamination(built, against=lab.dataset("code-edit")).contaminated == 3


def test_mistakes_are_told(lab: goldpan.Workspace) -> None:
    data, gold = lab.dataset("qa"), lab.path / "reports.csv"
    gold.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(goldpan.UsageError, match=r"no split 'train'. It has test\."):
        data.to_pandas("train")
    with pytest.raises(goldpan.UsageError, match="columns id, repo"):
        data.sql("SELECT nothing FROM data")
    with pytest.raises(goldpan.UsageError, match=r"Build\.code_edit: the key answer is unknown"):
        lab.build("code-edit", answer="first")
    with pytest.raises(goldpan.UsageError, match=r"reports.csv is not a gold set"):
        lab.evaluate.labels("qa", gold=str(gold))
    with pytest.raises(goldpan.UsageError, match="there is no table '99'"):
        lab.reproduce("selu", table="99")
    damaged = next((data.path / "data").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-9] + b"garbage!!")
    with pytest.raises(goldpan.DatasetError, match="is damaged"):
        data.to_arrow()


def test_models_are_evaluated(lab: goldpan.Workspace) -> None:
    pytest.importorskip("sklearn")
    shutil.rmtree(lab.path / "runs")
    done = evaluated(lab, dataset=lab.dataset(TASK), model=["majority", "tfidf-svm"], seed=[0, 1])
    assert [(score.model, score.seed) for score in done.scores] == [
        *(("majority", 0), ("majority", 1)),
        *(("tfidf-svm", 0), ("tfidf-svm", 1)),
    ]
    lines = [line.split()[:2] for line in repr(done).splitlines()]
    assert [line for line in lines if line[0] == "tfidf-svm"] == [
        ["tfidf-svm", count] for count in ("0", "1", "2")
    ], "a line a run, then one of both seeds"
    assert done._repr_html_().split("</table>")[0].count("<tr>") == 5
    assert [run.again for run in done.runs] == [False] * 4
    again = evaluated(lab, task=TASK)
    assert again.runs[0].again
    assert again.scores[0] == done.scores[0]
    frame = done.to_pandas()
    assert list(frame["metric"].unique()) == ["micro_f1"]
    assert frame["directory"][0].is_dir()
    questions = lab.build("qa", answer="first", split="random:0.5,0.5")
    assert evaluated(lab, dataset=questions).scores[0].task == "qa"


def evaluated(lab: goldpan.Workspace, **options: Any) -> goldpan.Evaluation:
    done = lab.evaluate.run(**options)
    assert isinstance(done, goldpan.Evaluation)
    return done


def test_a_dataset_on_the_hub_is_loaded(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = goldpan.Workspace(root).dataset("qa")
    with Hub(tmp_path / "hub", {}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
        hub.create("lab/questions")
        for path in built.path.rglob("*"):
            if path.is_file():
                hub.add("lab/questions", str(path.relative_to(built.path)), path.read_bytes())
        hub.create("lab/other")
        script = (
            "import goldpan, sys; data = goldpan.load(sys.argv[1]); print(len(data), data.family)"
        )
        load = partial(run, program=script)
        done = load("lab/questions")
        assert done.out.split() == ["78", "qa"], done.err
        assert "holds no provenance.json" in load("lab/other").err
        assert "PublishError" in load("lab/nothing").err
    gone = load("lab/questions").err
    assert "while fetching the dataset lab/questions" in gone
    assert "or give the directory of a dataset on this machine" in gone


WRONG: Mapping[str, tuple[Callable[[Any], object], str]] = {
    "an option's name": (lambda lab: lab.filter(limt=3), "Workspace.filter: the key limt is unk"),
    "two names": (
        lambda lab: lab.filter(profle=1, lst=1),
        "the key profle is unknown (did you mean",
    ),
    "a limit": (lambda lab: lab.build.qa(limit=0), "Build.qa: limit: 0 should be greater than"),
    "a number": (lambda lab: lab.build.qa(limit="x"), 'Build.qa: limit: "x" should be a valid'),
    "a choice": (
        lambda lab: lab.evaluate.compare(approach="bayes"),
        "approach: \"bayes\" should be 'calibrated', 'bayesian', 'frequentist'",
    ),
    "a list": (lambda lab: lab.funnel(["a/b"]), "Workspace.funnel: repos[0]: it should be"),
    "nothing": (lambda lab: lab.filter(profile=None), "Workspace.filter: profile: None should"),
    "a subject": (lambda lab: lab.why(12), "Workspace.why: subject: 12 should be a valid str"),
    "settings": (lambda lab: lab.filter(settings="a=1"), "settings: it is not a table"),
    "a group": (lambda lab: lab.filter(execution="ray"), "Workspace.filter: execution is no Exec"),
    "workers": (lambda lab: lab.filter(workers=-2), "workers: -2 should be greater than or eq"),
    "a call": (lambda lab: lab.mine("a/b", include="wiki"), 'Mine: include: "wiki" should be'),
    "too many": (lambda lab: lab.why("a/b", 12), "Workspace.why: too many positional arguments"),
    "no text": (lambda lab: lab.trace(None), "example_id: None should be a valid string"),
    "a path": (lambda lab: lab.report(output=3), "Workspace.report: output: 3 should be a path"),
    "of diff": (lambda _: goldpan.diff("a", "b", limit="x"), 'diff: limit: "x" should be'),
    "of run": (lambda _: goldpan.run("plan.toml", onl="x"), "run: the key onl is unknown"),
    "of a set": (lambda _: goldpan.contamination("a", against=3), "against: 3 should be"),
    "of an edit": (lambda _: goldpan.apply_edit("a", chek=True), "Did you mean check?"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_values_that_a_method_cannot_take_are_told(kind: str, tmp_path: Path) -> None:
    call, said = WRONG[kind]
    lab: Any = goldpan.Workspace(tmp_path)
    with pytest.raises(goldpan.UsageError) as raised:
        call(lab)
    assert said in str(raised.value)


def test_values_of_numpy_and_texts_of_numbers_are_taken(lab: goldpan.Workspace) -> None:
    build: Any = lab.build.qa
    for limit in (np.int64(3), "3"):
        assert len(build(limit=limit, output=lab.path / "few")) == 3
    names: Any = np.array([TASK])
    assert {run.task for run in lab.evaluate.score(task=names)} == {TASK}


def test_a_split_without_rows_names_the_one_that_has_some(tmp_path: Path) -> None:
    lab, shares = goldpan.Workspace(make_demo(tmp_path / "lab")), "0.8,0.1,0.1"
    data = lab.build("qa", limit=9, split=f"random:{shares}")
    said = f"--split stratified:{shares} deals few rows evenly"
    assert said in str(data)
    with pytest.raises(goldpan.UsageError, match=f"no split 'test'.*{said}"):
        data.to_pandas("test")
    dealt = lab.build("qa", limit=9, split=f"stratified:{shares}")
    assert set(dealt.splits) == {"train", "validation", "test"}

"""A whole round of annotation by the commands that people type and the keys that they press."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from goldpan.core.storage.workspace import WorkspaceLayout
from tests.browser import needs_chromium
from tests.console import run
from tests.desk import Desk, seated
from tests.keyboard import terminal
from tests.studio import free_port

pytestmark = needs_chromium

FIXES, PARTLY, NOT, DOUBT = "1235"
"""The keys of the form for fix pairs."""


@contextmanager
def served(lab: WorkspaceLayout, installed: Path) -> Iterator[str]:
    """Give the link by which annotators sign up; the server ends with Ctrl-C."""
    variables = {**os.environ, "GOLDPAN_LABEL_STUDIO_VENV": str(installed), "COLUMNS": "200"}
    port = str(free_port())
    words = ("annotate", "serve", "--port", port, "--workspace", lab.root)
    with terminal(*words, folder=lab.root.parent, environment=variables) as screen:
        screen.until("annotators sign up, once, at ")
        yield screen.until("\n").strip()
        screen.press("\x03")
        _, told = screen.ended()
        assert "Traceback" not in told


def typed(lab: WorkspaceLayout, command: str, *words: str | Path) -> str:
    """Run a command on the workspace, which finds its own server, and return what it prints."""
    place = ("--workspace", lab.root)
    path = os.environ["PATH"]
    done = run(*command.split(), *words, *place, folder=lab.root.parent, PATH=path)
    assert done.code == 0, done.err
    return done.out


def page_told(output: str) -> str:
    """Return the address where annotators begin, as a command tells it."""
    return output.partition("Annotators start at ")[2].strip()


def answer_all(annotator: Desk, page: str, answers: dict[int, str]) -> None:
    """Answer all tasks as they come: by issue the key, or else that it is fixed."""
    annotator.label(page)
    for _ in range(9):
        annotator.until("!!document.querySelector('.gp-note')")
        note = annotator.ask("document.querySelector('.gp-note').innerText")
        found = re.search(r"#(\d+),", note)
        assert found is not None
        key = answers.get(int(found[1]), FIXES)
        if key == PARTLY:
            annotator.answer(key, doubt=DOUBT, reason="Empty input still fails")
        else:
            annotator.answer(key)


def test_a_round_from_push_to_build(lab: WorkspaceLayout, installed: Path, prepared: Path) -> None:
    shutil.copytree(prepared, lab.root / "label-studio")
    folder, project = lab.root.parent, ("--project", "round1")
    issues = sorted(pq.read_table(lab.dataset("code-edit") / "data")["issue"].to_pylist())
    disputed, wrong = issues[2], issues[5]

    def sits(name: str, link: str) -> AbstractContextManager[Desk]:
        return seated(folder / name, link, f"{name}@example.org", f"password of {name}")

    with served(lab, installed) as link:
        form = ("--form", "fix-pair", "--dataset", "code-edit")
        pushed = typed(lab, "annotate push", *project, *form)
        assert "9 subjects added, 0 already there" in pushed
        with sits("dora", link) as dora:
            answer_all(dora, page_told(pushed), {wrong: NOT})
        typed(lab, "annotate pull", *project)
    with served(lab, installed) as link:  # at another port, as after a night
        status = typed(lab, "annotate status", *project)
        assert page_told(status).startswith(link.partition("/user/")[0])
        pulled = typed(lab, "annotate pull", *project)
        assert "9 answers count, 0 of 9 subjects finished" in pulled
        status = typed(lab, "annotate status", *project)
        assert "0 of 9 subjects finished, 9 begun, 9 of 18 answers" in status
        with sits("egon", link) as egon:
            answer_all(egon, page_told(status), {wrong: NOT, disputed: PARTLY})
        pulled = typed(lab, "annotate pull", *project)
        assert "9 of 9 subjects finished" in pulled
        assert "agreed: 8" in pulled
        assert "conflict: 1" in pulled
        agreement = typed(lab, "annotate agreement", *project)
        assert "raw agreement 0.889" in agreement
        assert "Cohen's kappa" in agreement
        assert "Krippendorff's alpha" in agreement
        assert f"#{disputed}+" in agreement.partition("differ on ")[2].partition("\n")[0]
        sent = typed(lab, "annotate adjudicate", *project)
        assert "1 subject added" in sent
        with sits("fay", link) as fay:
            fay.label(page_told(sent))
            given = fay.ask("document.querySelector('.gp-answers').innerText")
            assert "Fixes the issue" in given
            assert "In doubt." in given
            assert "Empty input still fails" in given
            assert not re.search("dora|egon", given)
            fay.shoot(folder / "adjudication.png")
            fay.answer(PARTLY)
        assert "adjudicated: 1" in typed(lab, "annotate pull", *project)

    status = typed(lab, "annotate status", *project)
    assert "9 of 9 subjects finished" in status
    exported = typed(lab, "annotate export", *project, "--gold", folder / "gold.csv")
    assert "9 items (fixes 7, not 1, partly 1)" in exported
    rows = csv.DictReader((folder / "gold.csv").read_text().splitlines())
    gold = {int(row["issue"]): row for row in rows}
    assert {gold[disputed]["first"], gold[disputed]["second"]} == {"fixes", "partly"}
    labels = [gold[issue]["label"] for issue in (disputed, wrong, issues[0])]
    assert labels == ["partly", "not", "fixes"]
    score = typed(lab, "evaluate labels code-edit --gold", folder / "gold.csv")
    assert "fixes 7, partly 1, not 1" in score

    built = folder / "checked"
    typed(lab, "build code-edit --require fix-pair --output", built)
    kept = pq.read_table(built / "data")["issue"].to_pylist()
    assert sorted(kept) == sorted({*issues} - {disputed, wrong})
    typed(lab, "annotate report", *project, "--output", folder / "appendix")
    (round_,) = json.loads((folder / "appendix" / "annotation.json").read_bytes())["rounds"]
    (item,) = round_["disputed"]
    assert (item["decided"], sorted(item["answers"].values())) == (
        ["partly"],
        [["fixes"], ["partly"]],
    )
    assert not re.search("dora|egon|fay", (folder / "appendix" / "annotation.html").read_text())

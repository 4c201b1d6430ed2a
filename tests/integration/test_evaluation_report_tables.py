"""LaTeX says the same as the page, and takes hostile names as names."""

from __future__ import annotations

import re

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation.compare.question import ComparisonResult
from goldpan.report.compared import latex_tables, latex_text, paper_tables
from tests.comparing import add_run, compared, six_tasks, two_labels

pytest.importorskip("scipy")
EVIL = r"a_b|c & d% $x$ #1 {y} ~z ^w \input{/etc/passwd} <script> [l](javascript:x) `c` @you"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    lab = WorkspaceLayout(tmp_path_factory.mktemp("tables"))
    six_tasks(lab, 3)
    for depth in ("1", EVIL):
        add_run(lab, two_labels("bug_issue"), "tree", 0.8, depth=depth)
    return lab


@pytest.fixture(scope="module")
def result(workspace: WorkspaceLayout) -> ComparisonResult:
    return compared(workspace)


def test_latex_has_whole_tables(result: ComparisonResult) -> None:
    text = latex_tables(paper_tables(result))
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") >= 4
    assert r"\bottomrule" in text
    assert len(set(re.findall(r"\\label\{([^}]*)\}", text))) == text.count(r"\label")
    for head, body in re.findall(
        r"\\begin\{longtable\}\{(\w+)\}.*?\\endlastfoot(.*?)\\end\{longtable\}", text, re.S
    ):
        for row in body.split(r"\\")[:-1]:
            assert len(re.findall(r"(?<!\\)&", row)) == len(head) - 1
    assert r"1--2 & " in text
    assert re.search(r"\\textbf\{0\.\d{3}", text)


def test_latex_prints_hostile_names_as_they_are() -> None:
    escaped = latex_text(EVIL)
    assert r"a\_b\textbar{}c \& d\% \$x\$ \#1 \{y\}" in escaped
    assert r"\textbackslash{}input\{/etc" in escaped
    assert latex_text("[x]") == "{[}x]"
    assert latex_text("\u202e") == "$\\langle$U+202E$\\rangle$"


def test_latex_of_real_names_closes_what_it_opens(result: ComparisonResult) -> None:
    text = re.sub(r"\\[\\{}]", "", latex_tables(paper_tables(result)))
    assert text.count("{") == text.count("}")
    assert r"\input" not in text

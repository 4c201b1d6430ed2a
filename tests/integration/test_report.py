"""The HTML report: what it says, that it is the same each time, and that texts cannot harm it."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lxml import etree, html

from goldpan.core.errors import DatasetError, UsageError, WorkspaceError
from goldpan.core.sanitize import visible
from goldpan.core.schemas.mined import COMMENTS, ENTRIES
from goldpan.core.schemas.stages import VERDICTS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.examples import CODE_EDIT, QA
from goldpan.filters.profile import criteria, load_profile, shipped_profiles
from goldpan.report.page import write_report
from tests.demo_workspace import goldpan, make_demo
from tests.drawing import daily
from tests.reporting import (
    HOSTILE,
    OTHER,
    PROFILE,
    REPO,
    example,
    make_dataset,
    make_datasets,
    make_workspace,
    verdict,
)
from tests.table_rows import put_rows, put_table

INLINE = {"a", "b", "code", "mark", "span"}


class Reader:
    """A page as a browser reads it, as far as that matters here."""

    def __init__(self, page: str) -> None:
        elements = list(html.document_fromstring(page).iter(etree.Element))
        self.tags = [element.tag for element in elements]
        self.attributes = [pair for element in elements for pair in element.items()]
        self.links = [value for name, value in self.attributes if name == "href"]
        for element in elements:
            if element.tag not in INLINE:
                element.text = f" {element.text or ''}" if element.tag != "style" else ""
        self.text = " ".join(elements[0].text_content().split())


def report(
    workspace: WorkspaceLayout,
    datasets: list[Path] | None = None,
    repos: tuple[str, ...] = (REPO,),
    seed: int = 0,
) -> str:
    output = workspace.root / "report.html"
    facts = write_report(workspace, repos, PROFILE, datasets or [], output, seed=seed)
    page = output.read_text(encoding="utf-8")
    assert facts.size == len(page.encode())
    return page


def read(workspace: WorkspaceLayout, datasets: list[Path] | None = None) -> str:
    return Reader(report(workspace, datasets)).text


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of a workspace as `make_workspace` makes it."""
    return report(make_workspace(tmp_path_factory.mktemp("usual")))


def test_the_funnel_is_told_in_numbers(usual: str) -> None:
    text = Reader(usual).text
    assert "12 issues in, 4 kept (33.3%)." in text
    assert "4 fix pairs in, 2 kept (50.0%)." in text
    assert "mined 12 length leaves 8 drops −4 people leaves 4 drops −4" in text
    # Drops, share, only this one, undecided, left, reasons.
    assert "length 4 33.3% 2 0 8 too-short 4" in text
    assert "people 5 41.7% 4 1 4 alone 6" in text
    assert "tone 1 8.3% – 0 – rude 1" in text


def test_distributions_are_counted_beside_what_is_kept(usual: str) -> None:
    text = Reader(usual).text
    assert "Python 12 4" in text
    assert "2019: 3 issues, 2 kept issues" in text
    assert "20 to 49: 3 issues, 1 kept issues" in text
    assert "bug 12 4 Pan leaks 6 0" in text
    assert "keyword 4 2 closed_by 2 1" in text
    assert "5 to 9: 5 pull requests, 0 in fix pairs" in text
    assert "base 1 1 merge_parent 1 1" in text
    assert "none 9 4 member 3 0" in text
    assert "Languages of the prose" not in text


def test_prose_languages_come_from_the_verdicts(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    evidence = ["en, 60 letters"] * 10 + ["short, 9 letters", "de, 70 letters"]
    path = workspace.verdicts(REPO, PROFILE.name)
    rows = pq.read_table(path).to_pylist()
    for n, told in enumerate(evidence, 1):
        rows.append(verdict(n, "language", keep=True, evidence=told))
    put_rows(path, VERDICTS.schema, rows)
    assert "en 10 3 de 1 0 too short 1 1" in read(workspace)


def test_dropped_subjects_are_shown_with_what_else_drops_them(tmp_path: Path) -> None:
    text = read(make_workspace(tmp_path, issues=6))
    dropped = text.partition("What the filters drop")[2]
    assert f"too-short 60 {REPO}#6 Pan leaks 6" in dropped
    assert "Also dropped by people" in dropped
    assert f"too-short 30 {REPO}#3 Pan leaks 3" in dropped
    assert "Dropped only by this criterion" in dropped
    assert f"not-merged {REPO}#3 Pan leaks 3 {REPO}#103 Mend Pan leaks 3" in dropped
    assert "The criterion does not decide" in dropped


def test_verdicts_against_a_row_say_why_it_is_there(tmp_path: Path) -> None:
    text = read(make_workspace(tmp_path), make_datasets(tmp_path, rows=5))
    assert "criteria keep the issue (against, without deciding: people)" in text
    assert "2 of 3 criteria keep the issue (against, without deciding: tone)" in text


def test_numbers_that_mean_the_same_are_equal_on_every_screen(tmp_path: Path) -> None:
    demo = make_demo(tmp_path / "demo")

    def ask(*words: str) -> Any:
        return json.loads(goldpan(*words, "--workspace", str(demo), "--json"))

    stored = Counter[str]()
    for status in ask("status"):
        stored.update({count["kind"]: count["stored"] for count in status["counts"]})
    funnels = ask("funnel")
    issues, pairs = funnels["issues"], funnels["pairs"]
    assert (issues["subject"], pairs["subject"]) == ("issue", "pair")
    ask("report", "--output", str(tmp_path / "own.html"))
    for path in (tmp_path / "own.html", demo / "report.html"):
        text = Reader(path.read_text(encoding="utf-8")).text
        tiles = text.partition("Dataset report")[2].partition("The funnel")[0]
        for kind in ("issues", "pulls", "comments", "review comments"):
            name = "pull requests" if kind == "pulls" else kind
            assert f" {stored[kind]:,} {name} " in tiles, kind
        assert f" {issues['kept']} issues kept " in tiles
        assert f" {pairs['kept']} fix pairs kept " in tiles
        assert f"{stored['issues']} issues in, {issues['kept']} kept" in text
        names = [folder.name for folder in (demo / "datasets").iterdir()]
        assert {"issue-resolution", "nlbse23_issue_type"} < set(names)
        for name in names:
            card = (demo / "datasets" / name / "README.md").read_text(encoding="utf-8")
            rows = re.search(r"^([\d,]+) examples", card, re.MULTILINE)
            assert rows, name
            assert f" {rows[1]} rows in {name} " in tiles
        dropped = text.partition("What the filters drop")[2]
        for funnel, noun in ((issues, "issues"), (pairs, "fix pairs")):
            for step in funnel["steps"]:
                decides = "" if step["decides"] else ", does not decide"
                undecided = f", {step['undecided']} undecided" if step["undecided"] else ""
                alone = f"{step['out']} dropped{undecided}"
                assert f" {step['criterion']} {noun}{decides} {alone} " in dropped
        assert "the paper" not in text


def test_secrets_in_dropped_texts_are_made_unreadable(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"[:36]
    body = f"Mail me@river.org {token} "
    page = report(make_workspace(tmp_path, title=f"Leak {token}", body=body))
    dropped = page.partition('id="dropped"')[2]
    assert "Leak" in dropped
    assert token not in dropped
    assert "me@river.org" not in dropped


def test_examples_show_their_evidence(tmp_path: Path) -> None:
    datasets = make_datasets(tmp_path, text="The pan leaks.", rows=1)
    page = report(make_workspace(tmp_path), datasets)
    text = Reader(page).text
    assert "Reference answer member 2021-02-01 The pan leaks." in text
    assert "The whole dialogue: 1 reply" in text
    assert "File to change src/pan.py One of 4 files." in text
    assert "Line Before Line After" in text
    assert "5 deleted: return sieve.shake(gravel, times=3)" in text
    assert "no line end" in text
    assert "Verdicts: 3 of 3 criteria keep the issue" in text
    assert "Verdicts: 1 of 1 criterion keeps the fix pair; 3 of 3 criteria keep the issue" in text
    assert f'href="https://github.com/{REPO}/issues/1"' in page
    assert f'href="https://github.com/{REPO}/pull/101"' in page


def test_an_edit_without_a_diff_is_shown_by_its_blocks(tmp_path: Path) -> None:
    edits = [{"search": "import sieve\n", "replace": "import riffle\n"}]
    rows = [example(CODE_EDIT, 1, "Text.", diff=None, edits=edits)]
    text = read(make_workspace(tmp_path), [make_dataset(tmp_path / "b", CODE_EDIT, rows)])
    assert "<<<<<<< SEARCH old ======= new >>>>>>> REPLACE" in text


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    rows = [example(QA, n, f"Text {n}.") for n in range(1, 40)]
    workspace = make_workspace(tmp_path)
    first = report(workspace, [make_dataset(tmp_path / "a", QA, rows)])
    random.Random(1).shuffle(rows)
    again = make_dataset(tmp_path / "b", QA, rows)
    assert report(workspace, [again]) == first
    assert report(workspace, [again], seed=1) != first


def test_hostile_texts_are_text_and_nothing_else(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, title=HOSTILE, body=HOSTILE)
    page = report(workspace, make_datasets(tmp_path, HOSTILE, answer_role=HOSTILE))
    plain = Reader(report(make_workspace(tmp_path / "p"), make_datasets(tmp_path / "p")))
    reader = Reader(page)
    assert set(reader.tags) == set(plain.tags)
    assert {name for name, _ in reader.attributes} == {name for name, _ in plain.attributes}
    assert reader.tags.count("style") == 1
    assert not {"script", "img", "iframe", "object", "link", "base"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name == "style"]
    repo = f"https://github.com/{REPO}"
    assert all(link.startswith(("#", f"{repo}/issues/", f"{repo}/pull/")) for link in reader.links)
    assert " ".join(visible(HOSTILE).split()) in reader.text
    assert not set("\u202e\u200b\x1b\x07\U000e0041") & set(page)


def test_a_name_that_is_no_repository_gets_no_link(tmp_path: Path) -> None:
    evil = 'evil/..%2f.."><b>'
    rows = [{**example(QA, 1, "Text."), "repo": evil, "id": "qa:evil#1"}]
    page = report(make_workspace(tmp_path), [make_dataset(tmp_path, QA, rows)])
    assert "evil/..%2f..&#34;&gt;&lt;b&gt;#1" in page
    assert "github.com/evil" not in page


def test_the_policy_allows_the_style_sheet_and_images_within_alone(usual: str) -> None:
    policy = next(value for name, value in Reader(usual).attributes if name == "content")
    (style,) = re.findall(r"<style>(.*?)</style>", usual, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;" in policy
    assert policy.endswith(" base-uri 'none'; form-action 'none'")
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.nightly
def test_large_texts_make_no_large_page(tmp_path: Path) -> None:
    long = "\u202e&<" * 300_000
    diff = "@@ -1,900 +1,900 @@\n" + f"-{long[:3000]}\n" * 900 + f"+{long[:3000]}\n" * 9
    rows = [{**example(CODE_EDIT, n, long), "diff": diff} for n in range(1, 3)]
    edits = make_dataset(tmp_path, CODE_EDIT, rows)
    datasets = [edits, *make_datasets(tmp_path / "o", long, 2)[:2]]
    page = report(make_workspace(tmp_path, issues=3, title=long, body=long[:3000]), datasets)
    assert 100_000 < len(page.encode()) < 3_000_000
    assert "more characters are left out here" in page
    assert "more deleted and inserted lines are left out here" in page


def test_several_repositories_are_told_together_and_apart(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    make_workspace(tmp_path, repo=OTHER, issues=5)
    text = Reader(report(workspace, repos=(REPO, OTHER))).text
    assert "17 issues in, 6 kept" in text
    assert f"{REPO} 4 of 12 issues, 2 of 4 fix pairs" in text
    assert f"{OTHER} 2 of 5 issues, 2 of 4 fix pairs" in text
    assert f"{OTHER} Python MIT 5 2 5 4 2 2018-01-01 2024-01-01" in text


def test_what_was_not_mined_leaves_no_hole(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for name in ("pairs", "revisions"):
        workspace.table(REPO, name).unlink()
    for table in (ENTRIES, COMMENTS):
        put_table(workspace, REPO, table, [])
    put_rows(workspace.verdicts(REPO, PROFILE.name), VERDICTS.schema, [])
    text = read(workspace)
    assert "0 issues in, 0 kept (–)." in text
    assert "Pairing signals" not in text


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    with pytest.raises(WorkspaceError, match=rf"{OTHER} was not filtered by the profile plain"):
        report(workspace, repos=(OTHER,))
    with pytest.raises(WorkspaceError, match="cannot be written"):
        write_report(workspace, [REPO], PROFILE, [], tmp_path)
    with pytest.raises(UsageError, match=r"There is no directory .*nothing"):
        report(workspace, [tmp_path / "nothing"])
    data = tmp_path / "strange" / "data"
    data.mkdir(parents=True)
    file = data / "train.parquet"
    with pytest.raises(DatasetError, match=r"strange holds no data/\*\.parquet"):
        report(workspace, [data.parent])
    pq.write_table(pa.table({"id": ["x"]}), file)
    with pytest.raises(DatasetError, match="holds no known kind of dataset"):
        report(workspace, [data.parent])
    file.write_bytes(b"PAR1 no")
    with pytest.raises(DatasetError, match="strange cannot be read"):
        report(workspace, [data.parent])
    workspace.table(REPO, "comments").write_bytes(b"PAR1 no")
    with pytest.raises(WorkspaceError, match=r"comments\.parquet"):
        report(workspace)


@pytest.mark.parametrize("name", daily(shipped_profiles()[:2], shipped_profiles()[2:]))
def test_criteria_are_explained_with_their_settings(tmp_path: Path, name: str) -> None:
    profile = replace(load_profile(name), name=PROFILE.name)
    workspace = make_workspace(tmp_path)
    rows = []
    for criterion in criteria().values():
        decides = criterion.name in profile.decide
        row = verdict(1, criterion.name, keep=True, decides=decides)
        rows.append({**row, "subject": criterion.subject})
    put_rows(workspace.verdicts(REPO, PROFILE.name), VERDICTS.schema, rows)
    output = tmp_path / "report.html"
    write_report(workspace, [REPO], profile, [], output)
    text = Reader(output.read_text(encoding="utf-8")).text
    for criterion in criteria().values():
        assert criterion.definition in text
    assert f"minimum = {profile.settings['comment-scale'].minimum}" in text


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colors_have_enough_contrast(usual: str) -> None:
    """WCAG AA: 4.5 to 1 for text, in both schemes."""
    light, dark = re.findall(r":root \{(.*?)\}", usual, re.DOTALL)[:2]
    for scheme in (light, dark):
        colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", scheme))
        grounds = {
            "ink": ("paper", "card", "code", "shade", "del", "ins", "del-mark", "ins-mark"),
            "soft": ("paper", "card", "shade", "blank"),
            "gold-ink": ("paper", "card"),
            "bad": ("paper", "card"),
            "link": ("paper", "card", "shade"),
            "yes": ("card",),
        }
        for text, places in grounds.items():
            for background in places:
                bright = sorted((luminance(colors[text]), luminance(colors[background])))
                assert (bright[1] + 0.05) / (bright[0] + 0.05) >= 4.5, (text, background)

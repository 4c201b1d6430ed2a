"""Pairs: on the made-up repository as GitHub would tell it, and joins on tables built by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.schemas.mined import COMMITS, ENTRIES, REFERENCES, REPOSITORIES
from goldpan.core.schemas.stages import PAIRS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.github.announced import candidate_names
from goldpan.miners.pairing import RULES, PairResult, find_rules, pair
from tests.drawing import examples
from tests.mining import SLUICE, Row, copy_mined, mine_twin, rows
from tests.table_rows import put_table
from tests.twin import Editor, Twin, synthetic_world
from tests.twin.world import Ref

PAN = "prospector/pan"
GEM = "Octo/Gem"
SHA = "c0ffee" * 6 + "c0ff"

STORIES = [
    (1, 2, "close", "close #1"),
    (3, 4, "closes", "Closes GH-3"),
    (5, 6, "closed", "This closed prospector/sluice#5 for me."),
    (7, 8, "fix", "fix https://github.com/prospector/sluice/issues/7"),
    (9, 10, "fixes", "Fixes #9."),
    (11, 12, "fixed", "Fixed GH-11"),
    (13, 14, "resolve", "This should resolve prospector/sluice#13"),
    (15, 16, "resolves", "Resolves https://github.com/prospector/sluice/issues/15"),
    (17, 18, "resolved", "RESOLVED: #17"),
    (59, 58, "fixes", "fixes #59"),
    (60, 58, "fixes", "fixes #60"),
]
OTHERS = {(19, SLUICE, 21), (22, SLUICE, 23), (24, SLUICE, 30)}
NO_KEYWORD = {(31, SLUICE, 33), (31, PAN, 2), (49, SLUICE, 50)}

Key = tuple[int, str, int]


class Paired(NamedTuple):
    result: PairResult
    pairs: dict[Key, Row]
    data: bytes


def find(workspace: WorkspaceLayout, repo: str, rules: str = "default") -> Paired:
    result = pair(workspace, repo, find_rules(rules))
    found = rows(workspace.root, "pairs", repo, rules)
    pairs = {(row["issue"], row["pull_repo"], row["pull"]): row for row in found}
    return Paired(result, pairs, workspace.pairs(repo, rules).read_bytes())


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    root = tmp_path_factory.mktemp("pairing")
    copy_mined(root)
    return WorkspaceLayout(root)


@pytest.fixture(scope="module")
def results(workspace: WorkspaceLayout) -> dict[str, Paired]:
    return {rules: find(workspace, SLUICE, rules) for rules in RULES.names()}


@pytest.mark.parametrize(("issue", "pull", "keyword", "excerpt"), STORIES)
def test_each_keyword_and_pattern_pairs(
    results: dict[str, Paired], issue: int, pull: int, keyword: str, excerpt: str
) -> None:
    row = results["default"].pairs[issue, SLUICE, pull]
    assert row["repo"] == SLUICE
    assert row["keyword"] == keyword
    assert row["signals"] == ["closed_by_pull", "closing_reference", "keyword", "will_close"]
    evidence: Row = {"signal": "keyword", "where": "body", "stance": "stated"}
    evidence |= {"source_id": None, "excerpt": excerpt}
    assert evidence in row["evidence"]
    assert sorted(piece["signal"] for piece in row["evidence"]) == row["signals"]
    assert row["confirmed"] and row["base_is_default"] and row["merged"]
    assert row["stance"] == "stated"
    paper = results["faun-eval"].pairs[issue, SLUICE, pull]
    assert (paper["signals"], paper["evidence"]) == (["keyword"], [evidence])


def test_nothing_else_pairs(results: dict[str, Paired]) -> None:
    """So code spans, fences, comments, quotes, `#xxxx`, `, #20` and undone links do not."""
    by_keyword = {(issue, SLUICE, pull) for issue, pull, _, _ in STORIES}
    assert set(results["default"].pairs) == by_keyword | OTHERS | NO_KEYWORD
    assert set(results["unconfirmed"].pairs) == by_keyword | OTHERS | NO_KEYWORD
    assert set(results["faun-eval"].pairs) == by_keyword | OTHERS - {(24, SLUICE, 30)}
    for rules, result in results.items():
        assert {row["rules"] for row in result.pairs.values()} == {rules}
        for signal, count in result.result.by_signal.items():
            assert count == sum(signal in row["signals"] for row in result.pairs.values())


def test_what_else_a_pair_tells(results: dict[str, Paired]) -> None:
    """#22 has a negated keyword, #30 another base; #32 was connected and disconnected."""
    for rules in RULES.names():
        negated = [key for key, row in results[rules].pairs.items() if row["stance"] == "negated"]
        assert negated == [(22, SLUICE, 23)]
    pairs = results["default"].pairs
    backport, outside = pairs[24, SLUICE, 30], pairs[31, PAN, 2]
    assert (backport["base_is_default"], backport["signals"]) == (False, ["keyword"])
    assert outside["signals"] == ["closing_reference", "will_close"]
    assert [outside[name] for name in ("merged", "base_is_default", "keyword")] == [None] * 3
    assert "connected" in pairs[31, SLUICE, 33]["signals"]


def test_commit_of_a_pull_closes(workspace: WorkspaceLayout, results: dict[str, Paired]) -> None:
    (sha,) = (row["sha"] for row in rows(workspace.root, "commits") if row["number"] == 50)
    row = results["default"].pairs[49, SLUICE, 50]
    evidence: Row = {"signal": "closed_by_commit", "where": "commit", "source_id": sha}
    evidence |= {"stance": None, "excerpt": None}
    assert (row["evidence"], row["keyword"]) == ([evidence], None)
    assert results["default"].result.unconfirmed == 1
    taken = results["unconfirmed"].pairs[49, SLUICE, 50]
    assert (taken["signals"], taken["confirmed"]) == (["closed_by_commit", "keyword"], False)
    keyword = {"signal": "keyword", "stance": "stated", "excerpt": "Fixes #49"}
    assert {**evidence, **keyword} in taken["evidence"]


def test_a_closing_keyword_with_a_former_name_pairs(tmp_path: Path) -> None:
    """Texts keep the address of before a transfer: it is the same repository."""
    world = synthetic_world()
    editor = Editor(world)
    issue = editor.issue("Gold is lost at the rim", "")
    text = f"Fixes https://github.com/Mozilla/Sluice/issues/{issue}, not other/sluice#{issue}."
    pull = editor.pull("Raise the rim", text)
    editor.refer(issue, Ref(SLUICE, pull))
    editor.merge(pull)
    world.add_former_name("Mozilla/Sluice", SLUICE)
    with Twin(world) as twin:
        mine_twin(twin, tmp_path)
    (about,) = rows(tmp_path, "repositories")
    assert about["former_names"] == ["Mozilla/Sluice"]
    names = {"other/sluice": 1, "Mozilla/Sluice": 2, "Prospector/Sluice": 9, "a/b": 3, "sluice": 1}
    assert candidate_names(names, SLUICE) == ["Mozilla/Sluice", "other/sluice"]
    workspace = WorkspaceLayout(tmp_path)
    pairs = find(workspace, SLUICE, "faun-eval").pairs
    assert pairs[issue, SLUICE, pull]["keyword"] == "fixes"
    targets = {row["target_repo"] for row in rows(tmp_path, "references")}
    assert "Mozilla/Sluice" not in targets


def test_table_is_as_promised_and_stays(
    workspace: WorkspaceLayout, results: dict[str, Paired]
) -> None:
    for rules in (*RULES.names(), "default"):
        again = find(workspace, SLUICE, rules)
        assert again.data == results[rules].data
        assert list(again.pairs) == sorted(again.pairs)
        assert pq.read_table(workspace.pairs(SLUICE, rules)).schema.equals(PAIRS.schema)


def build(
    root: Path,
    references: Iterable[Row],
    *,
    pulls: Iterable[Row] = ({"number": 2},),
    commits: Iterable[Row] = (),
    branch: str | None = "main",
) -> WorkspaceLayout:
    """Write tables with issues #1 and #9 and pull requests into `main` that were merged."""
    workspace = WorkspaceLayout(root / "it's")
    common = {"kind": "pull", "base_ref": "main", "merged": True}
    issues = [{"number": number, "kind": "issue"} for number in (1, 9)]
    put_table(workspace, GEM, REPOSITORIES, [{"default_branch": branch}])
    put_table(workspace, GEM, ENTRIES, [*issues, *(common | pull for pull in pulls)])
    put_table(workspace, GEM, COMMITS, commits)
    put_table(workspace, GEM, REFERENCES, references)
    return workspace


def link(signal: str, source: int | None = 2, target: int = 1, **fields: object) -> Row:
    ends = {"number": source, "target_repo": GEM, "target_number": target}
    return {"signal": signal, "observed_on": target, **ends, **fields}


def keyword(
    word: str = "fixes", where: str = "body", source: int = 2, target: int = 1, **fields: object
) -> Row:
    evidence = {"where": where, "excerpt": word}
    told = {"stance": "stated", "evidence": evidence, **fields}
    return link("keyword", source, target, keyword=word, **told)


CROSSED = link("cross_referenced")


def test_pulls_that_share_a_commit_both_count_if_merged(tmp_path: Path) -> None:
    pulls = [{"number": n, "merged": n != 4} for n in (2, 3, 4)]
    commits = [{"number": n, "sha": SHA} for n in (2, 3, 4)]
    closed = [link("closed_by", None, commit_sha=SHA)]
    workspace = build(tmp_path, closed, pulls=pulls, commits=commits)
    assert set(find(workspace, GEM).pairs) == {(1, GEM, 2), (1, GEM, 3)}


def test_merge_commit_closes_and_a_foreign_one_does_not(tmp_path: Path) -> None:
    """Nor does the trial merge that GitHub names for a pull request that is not merged."""
    trial: Row = {"number": 3, "merge_sha": "beef" * 10, "merged": False}
    shas = (SHA, trial["merge_sha"], "dead" * 10)
    closed = [link("closed_by", None, (1, 9)[sha != SHA], commit_sha=sha) for sha in shas]
    workspace = build(tmp_path, closed, pulls=[{"number": 2, "merge_sha": SHA}, trial])
    assert set(find(workspace, GEM).pairs) == {(1, GEM, 2)}


@pytest.mark.parametrize(("day", "pairs"), [(1, 0), (3, 1), (11, 1), (13, 0)])
def test_what_closed_an_issue_before_the_pull_or_long_after_is_something_else(
    tmp_path: Path, day: int, pairs: int
) -> None:
    opened, merged = (datetime(2024, 1, noon, tzinfo=UTC) for noon in (2, 5))
    pull = {"number": 2, "merge_sha": SHA, "created_at": opened, "merged_at": merged}
    closed = link("closed_by", None, commit_sha=SHA, at=datetime(2024, 1, day, tzinfo=UTC))
    assert len(find(build(tmp_path, [closed], pulls=[pull]), GEM).pairs) == pairs


@pytest.mark.parametrize(("history", "pairs"), [("c", 1), ("cd", 0), ("dc", 1), ("cdcd", 0)])
def test_newest_connection_counts(tmp_path: Path, history: str, pairs: int) -> None:
    signals = {"c": "connected", "d": "disconnected"}
    seen = [  # on both ends
        link(signals[kind], at=datetime(2024, 1, day, tzinfo=UTC), observed_on=end)
        for day, kind in enumerate(history, 1)
        for end in (1, 2)
    ]
    for order in (seen, seen[::-1]):
        matches = find(build(tmp_path, order), GEM).pairs
        assert [len(row["evidence"]) for row in matches.values()] == [1] * pairs


def test_case_of_the_name_does_not_matter(tmp_path: Path) -> None:
    workspace = build(tmp_path, [CROSSED, keyword()])
    for name in (GEM, "octo/gem", "OCTO/GEM"):
        assert find(workspace, name, "faun-eval").result.repo == GEM
        assert [row["repo"] for row in rows(workspace.root, "pairs", name, "faun-eval")] == [GEM]


@pytest.mark.parametrize(
    "places", ["body comment", "body title comment commit", "title commit review", "commit review"]
)
def test_first_place_of_a_keyword_outranks_the_others(tmp_path: Path, places: str) -> None:
    words = dict(zip(places.split(), ("resolve", "closes", "fix", "fixed"), strict=False))
    stances = {"fix": "negated"}
    keywords = [
        keyword(word, where, stance=stances.get(word, "stated")) for where, word in words.items()
    ]
    for order in (keywords, keywords[::-1]):
        (row,) = find(build(tmp_path, [CROSSED, *order]), GEM).pairs.values()
        assert (row["keyword"], row["stance"]) == ("resolve", "stated")
        assert {piece["where"] for piece in row["evidence"]} == set(words)


def test_two_keywords_in_one_text_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    links = [CROSSED, keyword("fixes"), keyword("closes")]
    assert len({find(build(tmp_path, order), GEM).data for order in (links, links[::-1])}) == 1


def test_issue_as_source_or_pull_as_target_is_no_pair(tmp_path: Path) -> None:
    links = []
    for ends in ((2, 3), (9, 1), (2, 77)):
        links += [link(name, *ends) for name in ("closing_reference", "closed_by", "connected")]
        links += [keyword("fix", "body", *ends), link("cross_referenced", *ends)]
        links.append(link("will_close", *ends))
    links += [link("closed_by", None, 3, commit_sha=SHA)]
    workspace = build(tmp_path, links, pulls=[{"number": 2, "merge_sha": SHA}, {"number": 3}])
    assert find(workspace, GEM, "unconfirmed").pairs == {}
    assert pq.read_table(workspace.pairs(GEM, "unconfirmed")).schema.equals(PAIRS.schema)
    assert workspace.paired_by(GEM) == ("unconfirmed",)


def test_rules_differ_as_they_say(tmp_path: Path) -> None:
    # #3 is unconfirmed (its cross reference leads elsewhere), #4 for a branch; #7 is foreign.
    foreign: Row = {"repo": "octo/ore"}
    links = [CROSSED, keyword(), keyword(source=3), link("cross_referenced", 3, 9)]
    links += [link("cross_referenced", 4), keyword(source=4)]
    links += [link("cross_referenced", 7, **foreign), keyword(source=7, **foreign)]
    links += [keyword(target=5, target_repo="octo/ore"), link("mention")]
    pulls: list[Row] = [{"number": 2}, {"number": 3}, {"number": 4, "base_ref": "v1"}]
    workspace = build(tmp_path, links, pulls=pulls)
    paper, usual, lax = (
        find(workspace, GEM, name) for name in ("faun-eval", "default", "unconfirmed")
    )
    assert set(paper.pairs) == {(1, GEM, 2)}
    assert set(usual.pairs) == {(1, GEM, 2), (1, GEM, 4), (1, "octo/ore", 7)}
    assert pair(workspace, GEM, replace(find_rules("default"), same_repository=True)).pairs == 2
    assert set(lax.pairs) - set(usual.pairs) == {(1, GEM, 3)}
    for paired in (paper, usual, lax):
        assert (paired.result.unconfirmed, paired.result.elsewhere) == (1, 1)
    build(tmp_path, [CROSSED, keyword()], branch=None)
    assert find(workspace, GEM).pairs[1, GEM, 2]["base_is_default"] is None
    assert find(workspace, GEM, "faun-eval").pairs == {}


ENDS = (st.sampled_from((2, 3, 9)), st.sampled_from((1, 3)))
SIGNALS = ("cross_referenced", "will_close", "closing_reference", "closed_by", "connected")
KEYWORDS = st.builds(keyword, st.just("fix"), st.just("body"), *ENDS)
LINKS = st.lists(st.builds(link, st.sampled_from(SIGNALS), *ENDS) | KEYWORDS, max_size=8)


@given(links=LINKS.flatmap(lambda links: st.tuples(st.just(links), st.permutations(links))))
@examples(8)
def test_rules_nest_and_order_of_rows_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, links: tuple[list[Row], list[Row]]
) -> None:
    root, pulls = tmp_path_factory.mktemp("law"), [{"number": 2}, {"number": 3}]
    results = {name: find(build(root, links[0], pulls=pulls), GEM, name) for name in RULES.names()}
    assert set(results["faun-eval"].pairs) <= set(results["default"].pairs)
    assert set(results["default"].pairs) <= set(results["unconfirmed"].pairs)
    assert find(build(root, links[1], pulls=pulls), GEM).data == results["default"].data


def test_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no set of pairing rules 'x'\. Choose default, unconf"):
        find_rules("x")
    with pytest.raises(WorkspaceError, match=r"no tables of octo/gem\. Run goldpan mine"):
        pair(WorkspaceLayout(tmp_path), "octo/gem", find_rules("default"))

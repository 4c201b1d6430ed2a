"""Merge bases in bulk are those of git, whatever the history's shape."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import GitError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.ancestry import Ancestry, read_ancestry
from goldpan.git.clone import clone
from goldpan.git.refs import find_commit
from tests.drawing import examples
from tests.git_repositories import Repository
from tests.mining import Notes

Parents = tuple[int, ...]


@st.composite
def histories(draw: st.DrawFn) -> list[Parents]:
    """Draw commits by their parents, older ones first; some have none, some have three."""
    made: list[Parents] = [()]
    for index in range(1, draw(st.integers(2, 14))):
        earlier = st.integers(0, index - 1)
        made.append(tuple(draw(st.lists(earlier, max_size=3, unique=True))))
    return made


def ancestors(history: list[Parents], commit: int) -> set[int]:
    seen, waiting = set(), [commit]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting.extend(history[current])
    return seen


def load(history: list[Parents], trunk: int | None) -> Ancestry:
    newest_first = range(len(history) - 1, -1, -1)
    rows = [(commit, str(commit), tuple(map(str, history[commit]))) for commit in newest_first]
    return Ancestry(rows, None if trunk is None else str(trunk))


@pytest.mark.parametrize("time", [-5, 2**63, 10**30])
def test_a_commit_may_bear_any_date(tmp_path: Path, time: int) -> None:
    source = Repository.create(tmp_path / "source.git")
    first = source.commit({b"a": b"1"})
    odd = source.commit({b"a": b"2"}, first, ref="refs/heads/main", time=time)
    assert read_ancestry(source.path, (), odd).fork(odd, first) == (first, 0)
    workspace = WorkspaceLayout(tmp_path / "workspace")
    clone(workspace, "o/n", Notes(), source=source.path)
    assert find_commit(workspace, "o/n", first).id == first
    with pytest.raises(UsageError, match="an invalid date"):
        find_commit(workspace, "o/n", None)


@given(histories())
def test_before_is_the_last_commit_of_the_trunk_without_it(history: list[Parents]) -> None:
    tip = len(history) - 1
    ancestry = load(history, tip)
    trunk = [tip]
    while history[trunk[-1]]:
        trunk.append(history[trunk[-1]][0])
    for commit in range(len(history)):
        without = [candidate for candidate in trunk if commit not in ancestors(history, candidate)]
        expected = str(without[0]) if without and commit in ancestors(history, tip) else None
        assert ancestry.before(str(commit)) == expected


@examples(12)
@given(histories())
def test_forks_are_those_of_git(
    tmp_path_factory: pytest.TempPathFactory, history: list[Parents]
) -> None:
    repository = Repository.create(tmp_path_factory.mktemp("history") / "r.git")
    ids: list[str] = []
    for parents in history:
        ids.append(repository.commit({}, *(ids[parent] for parent in parents)))
    repository.point("refs/heads/main", ids[-1])
    ancestry = read_ancestry(repository.path, [*ids[1::2], *ids], ids[-1])
    for base in ids[-3:]:
        for head in ids:
            fork = ancestry.fork(base, head)
            bases = merge_bases(repository, base, head)
            assert (fork and fork[0]) == (bases[0] if bases else None)
            if fork:
                ahead = repository.git("rev-list", "--count", f"{base}..{head}")
                assert fork[1] == int(ahead)


def merge_bases(repository: Repository, base: str, head: str) -> list[str]:
    try:
        return repository.git("merge-base", "--all", base, head).split()
    except Exception:  # noqa: BLE001 - git says with its exit code that there is none
        return []


def test_walking_back_and_unknown_commits(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r.git")
    first = repository.commit({})
    second = repository.commit({}, first)
    third = repository.commit({}, second, first, ref="refs/heads/main")
    ancestry = read_ancestry(repository.path, [], third)
    assert ancestry.parents(third) == (second, first)
    assert [ancestry.back(third, steps) for steps in range(4)] == [third, second, first, None]
    assert ancestry.is_ancestor(first, third)
    assert not ancestry.is_ancestor(third, first)
    assert ancestry.find(third) == third
    assert ancestry.find("f" * 40) is ancestry.find(None) is None


def test_a_history_with_a_hole_is_told(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r.git")
    first = repository.commit({})
    repository.commit({}, first, ref="refs/heads/main")
    (repository.path / "objects" / first[:2] / first[2:]).unlink()
    with pytest.raises(GitError, match="damaged or cut off"):
        read_ancestry(repository.path, [], None)


@pytest.mark.timeout(600)  # one process for each merge base would take longer
def test_a_hundred_thousand_commits() -> None:
    dice = Random(5)
    history: list[Parents] = [()]
    trunk = [0]
    expected: dict[tuple[int, int], tuple[int, int]] = {}
    while len(history) < 100_000:
        start = head = trunk[-1 - min(len(trunk) - 1, int(dice.expovariate(1 / 200)))]
        ahead = dice.choice((1, 2, 5))
        for _ in range(ahead):
            history.append((head,))
            head = len(history) - 1
        expected[trunk[-1], head] = (start, ahead)
        history.append((trunk[-1], head))
        trunk.append(len(history) - 1)
    ancestry = load(history, trunk[-1])
    assert len(expected) > 25_000
    for (base, head), (start, ahead) in expected.items():
        assert ancestry.fork(str(base), str(head)) == (str(start), ahead)


@given(histories(), st.data())
def test_forks_are_what_the_definition_says(history: list[Parents], data: st.DataObject) -> None:
    places = st.integers(0, len(history) - 1)
    base, head = data.draw(places), data.draw(places)
    ours, theirs = ancestors(history, base), ancestors(history, head)
    common = ours & theirs
    best = {
        candidate
        for candidate in common
        if not any(candidate in ancestors(history, x) - {x} for x in common)
    }
    for trunk in (None, base, len(history) - 1):
        fork = load(history, trunk).fork(str(base), str(head))
        if fork is None:
            assert not common
        else:
            assert fork == (str(max(best)), len(theirs - ours))

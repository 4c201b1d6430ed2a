"""What people and programs see of a result: at most 40 lines by `print`, JSON by one function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from goldpan.core.log import WORDS
from goldpan.core.result import (
    NOT_IN_JSON,
    Block,
    Hint,
    Line,
    Result,
    Results,
    Table,
    Title,
    json_data,
    renders,
)
from goldpan.core.secrets import register
from goldpan.core.terminal import show


@dataclass(frozen=True, slots=True)
class Many(Result):
    shown_in_json = ("twice",)

    rows_shown: int
    text: str = "a\nb"
    secret: object = field(default=None, metadata=NOT_IN_JSON)

    @property
    def twice(self) -> int:
        return 2 * self.rows_shown


@renders(Many)
def many(result: Many) -> Iterator[Block]:
    yield Title("many", f": {result.rows_shown:,} rows")
    yield Table(("number", "text"), [(n, result.text) for n in range(result.rows_shown)])
    yield Line("the end")


@dataclass(frozen=True, slots=True)
class Plain(Result):
    path: Path
    at: datetime
    names: frozenset[str] = frozenset({"b", "a"})
    parts: tuple[Many, ...] = ()
    by_name: Mapping[str, Many | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run(Result):
    name: str


@renders(list[Run])
def runs(results: Sequence[Run]) -> Iterator[Block]:
    yield Table(("run",), [(run.name,) for run in results])


def test_a_small_result_is_shown_whole() -> None:
    assert str(Many(1)) == "\nmany: 1 rows\nnumber  text\n0       a b\nthe end"


def test_a_large_one_is_cut_to_forty_lines_of_a_width_that_people_read() -> None:
    for result in (Many(100_000, "x" * 10_000), Results(Many(2) for _ in range(500))):
        lines = str(result).splitlines()
        assert len(lines) == 40
        assert lines[-1] == "... and more: goldpan.json_data() returns all of it"
        assert max(map(len, lines)) <= 160


def test_what_is_shown_holds_no_secret_and_commands_no_terminal() -> None:
    register("glpat-hidden-for-sure")
    shown = str(Many(1, "glpat-hidden-for-sure \x1b[2J"))
    assert "hidden-for-sure" not in shown
    assert "\x1b" not in shown


def test_json_has_the_fields_by_their_names_and_the_properties_that_are_named() -> None:
    """Paths and times are texts, sets sorted, results within objects."""
    one = {"rows_shown": 1, "text": "x", "twice": 2}
    many = Many(1, "x", Path("hidden"))
    plain = Plain(
        Path("a/b"),
        datetime(2024, 2, 3, tzinfo=UTC),
        parts=(many,),
        by_name={"one": many, "none": None},
    )
    assert json_data(Results([plain])) == [
        {
            "path": "a/b",
            "at": "2024-02-03T00:00:00+00:00",
            "names": ["a", "b"],
            "parts": [one],
            "by_name": {"one": one, "none": None},
        }
    ]
    orjson.dumps(json_data(plain))


def test_a_result_that_nobody_renders_shows_its_fields() -> None:
    assert str(Plain(Path("a"), datetime(2024, 2, 3, tzinfo=UTC))).splitlines()[0] == "path: a"


def test_several_results_may_be_shown_in_one_table_with_notes_below() -> None:
    several = Results([Run("first"), Run("second")], notes=["Both are done"])
    assert str(several) == "run\nfirst\nsecond\nBoth are done"
    assert several._repr_html_().count("<tr>") == 3


def test_only_lines_of_our_own_commands_come_to_name_the_workspace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = WORDS.set(("status", "--workspace", "my lab"))
    show([Line("They say: run goldpan mine"), Hint("Run goldpan mine, then goldpan pair")])
    WORDS.reset(words)
    assert capsys.readouterr().out.splitlines() == [
        "They say: run goldpan mine",
        "Run goldpan --workspace 'my lab' mine, then goldpan --workspace 'my lab' pair",
    ]

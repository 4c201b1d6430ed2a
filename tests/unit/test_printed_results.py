"""What `print` shows of a result: at most 40 lines, without secrets and hidden characters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from goldpan.core.result import Block, Line, Result, Results, Table, Title
from goldpan.core.secrets import register


@dataclass(frozen=True)
class Many(Result):
    rows_shown: int
    text: str = "a\nb"

    def blocks(self) -> Iterator[Block]:
        yield Title("many", f": {self.rows_shown:,} rows")
        yield Table(("number", "text"), [(n, self.text) for n in range(self.rows_shown)])
        yield Line("the end")


def test_a_small_result_is_shown_whole() -> None:
    assert str(Many(1)) == "\nmany: 1 rows\nnumber  text\n0       a b\nthe end"


def test_a_large_one_is_cut_to_forty_lines_of_a_width_that_people_read() -> None:
    for result in (Many(100_000, "x" * 10_000), Results(Many(2) for _ in range(500))):
        lines = str(result).splitlines()
        assert len(lines) == 40
        assert lines[-1] == "... and more: plain() returns all of it"
        assert max(map(len, lines)) <= 160


def test_what_is_shown_holds_no_secret_and_commands_no_terminal() -> None:
    register("glpat-hidden-for-sure")
    shown = str(Many(1, "glpat-hidden-for-sure \x1b[2J"))
    assert "hidden-for-sure" not in shown
    assert "\x1b" not in shown

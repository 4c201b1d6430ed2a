"""Parts that a token may not see are named, and asked for again when that may have changed."""

from __future__ import annotations

from pathlib import Path

from goldpan.miners.mine import MineResult
from tests.fault_matrix import LONG, SMALL, matrix_world
from tests.mining import assert_current, coverage_of, gaps_of, mine_twin, table_bytes
from tests.twin import Fault, Faults, Twin

RIFFLE = "prospector/riffle"
NO_ACCESS = Faults(
    chosen=[Fault("FORBIDDEN by SAML", "Entries", number, "timelineItems") for number in (1, 6)]
)


def withheld(mined: MineResult) -> list[tuple[int | None, str, str]]:
    assert mined.failure is None
    return gaps_of(mined)


BOTH_WITHHELD = [(LONG, "timeline", "withheld"), (SMALL, "timeline", "withheld")]


def test_a_hidden_part_is_named_and_asked_for_on_each_run(tmp_path: Path) -> None:
    with Twin(matrix_world(), NO_ACCESS) as twin:
        first = mine_twin(twin, tmp_path)
        assert withheld(first) == BOTH_WITHHELD
        assert all("SAML" in gap.reason for gap in coverage_of(first).gaps)
        again = mine_twin(twin, tmp_path)
        assert withheld(again) == BOTH_WITHHELD
        assert again.requests == again.predicted.requests
        twin.faults = Faults()  # the token is authorized
        assert withheld(mine_twin(twin, tmp_path)) == []
        mine_twin(twin, tmp_path / "fresh")
    assert_current(table_bytes(tmp_path, RIFFLE), table_bytes(tmp_path / "fresh", RIFFLE))

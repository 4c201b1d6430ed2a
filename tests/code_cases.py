"""Changes in every language with a grammar, and a small program in each.

No statement of the programs spans lines but by its blocks.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tests.twin.code import files

Case = tuple[str, str, str, bool]
"""A name, a text before and after, and whether the change has substance."""

_HERE = Path(__file__).parent
_TABLES: dict[str, dict[str, Any]] = tomllib.loads((_HERE / "code_cases.toml").read_text("utf-8"))


def _cases(name: str) -> list[Case]:
    table = dict(_TABLES[name])
    like, without = table.pop("like", ()), table.pop("without", ())
    others = [case for other in like for case in _cases(other) if case[0] not in without]
    own = [(f"{old}\n", f"{new}\n", keep) for old, new, keep in table.values()]
    return [*others, *((title, *case) for title, case in zip(table, own, strict=True))]


CASES = {name: _cases(name) for name in _TABLES if "." in name}
_PROGRAMS = files((_HERE / "code_samples.txt").read_text("utf-8"))
SAMPLES = {path: program.decode() for path, program in _PROGRAMS.items()}

"""A small paper of nobody's, with its files, for tests of `goldpan reproduce`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.invoking import invoke

SCORES = """model,task,f1,error
A,toys,0.8004,
A,points,,0.25
B,toys,0.61,
"""
ROWS = [
    ("It broke %d" if number % 2 else "Make it blue %d") % (number % 20) for number in range(40)
]


PRINTED = """table,row,column,printed,tolerance
1,toys,A,0.80,
1,toys,B,0.62,
1,points,A,0.75,
1,other,A,0.10,
1,other,B,0.20,
2,requirement_type,A,0.500,
2,requirement_type,Big,0.900,
2,incivility,A,0.500,
2,incivility,Big,0.900,
"""


def write_recipe(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the recipe and its printed figures into a folder and return its path."""
    text = Path(__file__).with_name("paper_of_nobody.py").read_text(encoding="utf-8")
    text = text.replace("DIGEST", hashlib.sha256(SCORES.encode()).hexdigest())
    printed = PRINTED
    for old, new in changes:
        assert old in text + printed
        text, printed = text.replace(old, new), printed.replace(old, new)
    (folder / "printed.csv").write_text(printed, encoding="utf-8")
    path = folder / "nobody.py"
    path.write_text(text, encoding="utf-8")
    return path


def write_data(folder: Path, *, rows: int = 40) -> Path:
    """Write the scores and the rows of a task, as their authors would; return the folder."""
    (folder / "clone" / "kit").mkdir(parents=True)
    (folder / "clone" / "kit" / "scores.csv").write_text(SCORES, encoding="utf-8")
    lines = ["ProjectID,RequirementText,Class,IsFunctional,IsQuality"]
    lines += [
        f"1,'{text}',{'F' if number % 2 else 'PE'},1,0" for number, text in enumerate(ROWS[:rows])
    ]
    (folder / "toys.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def reproduce(*words: object) -> tuple[int, Any]:
    """Run `goldpan reproduce`; return how it ended, and what it found."""
    done = invoke("reproduce", *map(str, words), "--json")
    return done.exit_code, json.loads(done.stdout)


def reproduce_tables(*words: object) -> tuple[int, dict[str, Any]]:
    """Run `goldpan reproduce`; return how it ended, and its tables by their keys."""
    code, result = reproduce(*words)
    return code, {table["table"]: table for table in result["tables"]}


def cells(table: Any) -> dict[tuple[str, str], Any]:
    """Return a table's cells by row and column."""
    return {(cell["row"], cell["column"]): cell for cell in table["cells"]}

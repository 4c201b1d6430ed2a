"""No two files of the package import each other, in whatever block the import stands."""

from __future__ import annotations

from pathlib import Path

from tests.file_circles import find_circle


def test_no_file_imports_one_that_imports_it() -> None:
    assert find_circle() == []


def test_imports_in_functions_and_for_type_checkers_count(tmp_path: Path) -> None:
    files = {
        "a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from thing.b import B\n",
        "b.py": "def f():\n    from thing import c\n",
        "c.py": "import thing.a\n",
    }
    (tmp_path / "thing").mkdir()
    for name, text in files.items():
        (tmp_path / "thing" / name).write_text(text, encoding="utf-8")
    circle = find_circle(tmp_path / "thing")
    assert circle[0] == circle[-1]
    assert set(circle) == {"thing.a", "thing.b", "thing.c"}

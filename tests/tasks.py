"""Tasks of one's own for tests: small files, written to a directory; `tasks.toml` is one."""

from __future__ import annotations

from pathlib import Path

ISSUES = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
CSV = "title,body,kind\nA  falls,apart,B\nMake it,red,W\nB falls,apart,B\nMake it,blue,W\n"


def own_task(directory: Path, *changes: tuple[str, str], name: str = "toy_issues") -> Path:
    """Write a task's file, with texts in it changed from the first of a pair to the second."""
    text = ISSUES
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def own_files(directory: Path) -> list[Path]:
    """Write the files of that task."""
    path = directory / "toy.csv"
    path.write_text(CSV, encoding="utf-8")
    return [path]

"""Tasks of one's own for tests: small files, written to a directory."""

from __future__ import annotations

from pathlib import Path

ISSUES = '''\
title = "Toy issues"
type = "multi-class"
description = "Classify the issue."
definition = "The input is an issue. The output is its type: 'bug' or 'wish'."
category = "Classification -> Issue Classification"
activity = "maintenance"
suites = ["toy"]
steps = ["white_space"]
split = "stratified:0.5,0.5"

[counts]
total = 4
"label:bug" = 2
"label:wish" = 2

[columns]
text = ["title", "body"]
target = ["kind"]

[settings]
labels = { "B" = "bug", "W" = "wish" }

[source]
title = "Toy issues of nobody"
url = "https://example.org/toy"
license = "MIT"
access = "public"
dataset = "toy-issues"
reader = "table"
files = ["toy.csv"]
citation = """
@misc{nobody2024toy,
  title = {Toy issues},
  author = {Nobody, Ann},
  year = {2024}
}
"""

[prompt]
context = "toys"
instruction = "classify the next issue as 'bug' or 'wish'"
answer = "Answer with the class"
entity = "ISSUE"
examples = [
  ["It fell apart", "bug", "Something broke."],
  ["Make it red", "wish", "It asks for something."],
]
negative_examples = [
  ["It fell apart", "wish", "Something broke."],
  ["Make it red", "color", "That is no class."],
]

[[labels]]
name = "bug"
description = "Something broke."

[[labels]]
name = "wish"
description = "It asks for something."
'''
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

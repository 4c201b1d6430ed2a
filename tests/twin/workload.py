"""The workload that costs are measured with: many entries, all of the same modest size."""

from __future__ import annotations

from .editing import Editor
from .mentions import link
from .store import World
from .world import File, Repository

_START = "2020-01-01T00:00:00Z"


def workload_world(
    issues: int = 1000, pulls: int = 1000, comments: int = 4, *, edited: int = 0
) -> World:
    """Return a repository whose i-th pull request closes its i-th issue.

    Each pull request has one cross reference (from its issue's last comment), one commit, two
    files, and a review with three comments. Of each `edited` texts one was edited.
    """
    world = World(_repository("mill", 77_000_001))
    editor = Editor(world, start=_START, step=60)
    _fill(editor, issues, pulls, comments)
    if edited:
        _edit(editor, edited)
    link(world)
    return world


def _edit(editor: Editor, every: int) -> None:
    for entry in list(editor.repository.entries.values()):
        texts = (*entry.comments, *entry.reviews, *entry.review_comments())
        if entry.number % every == 0:
            editor.edit_entry(entry.number, body=f"{entry.body} Louder now.")
        for place, text in enumerate(texts, 1):
            if (entry.number + place) % every == 0:
                editor.edit_comment(text.id, f"{text.body} More.")


def mills_world(count: int, issues: int = 20, pulls: int = 20) -> World:
    """Return so many repositories of that kind, `workload/mill-0` and on."""
    mills = [_repository(f"mill-{index}", 77_000_001 + index) for index in range(count)]
    world = World(*mills)
    for mill in mills:
        _fill(Editor(world, mill.full_name, start=_START, step=60), issues, pulls)
    link(world)
    return world


def _repository(name: str, identity: int) -> Repository:
    return Repository(
        owner="workload",
        name=name,
        id=identity,
        created_at=_START,
        pushed_at=_START,
        description="Entries of one size",
        language="Python",
        license="MIT",
    )


def _fill(editor: Editor, issues: int, pulls: int, comments: int = 4) -> None:
    for index in range(issues):
        number = editor.issue(f"Wheel {index} squeaks", "Heard it turn.")
        for turn in range(comments - 1 if index < pulls else comments):
            editor.comment(number, f"Turn {turn}: still squeaks.")
    for index in range(pulls):
        fixes = f"Fixes #{index + 1}." if index < issues else "Nothing to close."
        number = editor.pull(
            f"Oil wheel {index}",
            f"A drop of oil.\n\n{fixes}",
            files=[File(f"src/wheel_{index}_{part}.py", "modified", 3, 1) for part in range(2)],
        )
        for turn in range(comments):
            editor.comment(number, f"Drop {turn} applied.")
        if index < issues and comments:
            editor.comment(index + 1, f"#{number} oils it.")
        lines = [(f"src/wheel_{index}_0.py", f"Line {line} drips.") for line in range(3)]
        editor.review(number, "APPROVED", "Runs smoothly.", lines)
        editor.merge(number, closes=[index + 1] if index < issues else [])

"""What goes on in an ordinary tracker, written down in the Markdown files of `tracker_texts/`.

``=== issue [KEY] TITLE`` or ``=== pull TITLE`` opens an entry. What follows happens to it in turn::

    --- @LOGIN            the body first, then comments
    --- approved @LOGIN   a review; also `changes` and `commented`
    --- merged KEY        of a pull request, closes that issue
    --- duplicate KEY     of that issue
    --- edited KEY        its author adds a text to that issue's body
    --- closed REASON

In texts ``#<KEY>`` is the number of an issue, and ``{{WORD}}`` one of `SECRETS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from .editing import MAINTAINER, VISITOR, Editor
from .stories import RENOVATOR, SANA, TESTER
from .world import Account

_HERE = Path(__file__).parent / "tracker_texts"
_FILES = ("questions.md", "repairs.md", "rejects.md")
_NEW = (
    "ines-rocha",
    "oda-lind",
    "kofi-a",
    "jun-w",
    "pebble-hunter",
    "abbott-h",
    "lotte-m",
    "creek-walker",
    "rio-dorado",
    "mina-t",
    "piet-h",
    "dolores-v",
    "yuki-n",
    "samir-b",
    "greta-o",
    "tomas-r",
)
_PEOPLE = {
    **{account.rest_login: account for account in (MAINTAINER, VISITOR, SANA, RENOVATOR, TESTER)},
    **{login: Account(login, 4_100_020 + index) for index, login in enumerate(_NEW)},
    "sweeper[bot]": Account("sweeper", 4_100_014, "Bot"),
}
_ROLES = {
    "wheelwright": "OWNER",
    "ines-rocha": "MEMBER",
    "oda-lind": "COLLABORATOR",
    "kofi-a": "CONTRIBUTOR",
}
_REVIEWS = {"approved": "APPROVED", "changes": "CHANGES_REQUESTED", "commented": "COMMENTED"}

SECRETS = {
    "token": "gh" + "p_" + "k7Qw2ZbN9xTf4RmV" + "1sYc8LdHa5JpUe3GoX6i",
    "login": "panner" + ":" + "Gr4velB4r" + "-77",
}
"""Made up, and in parts, so that no scanner takes these files for a leak."""

_ENTRY = re.compile(r"=== (issue|pull) (?:\[([a-z0-9-]+)\] )?(.+)")
_STEP = re.compile(r"--- (?:([a-z]+)(?: |$))?@?(\S*)")


@dataclass(slots=True)
class _Step:
    action: str
    target: str
    """A login, a key or a reason."""
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Entry:
    kind: str
    key: str | None
    title: str
    labels: list[str] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)


def tracker(editor: Editor) -> None:
    """Let everything happen that the files tell."""
    play(editor, "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _FILES))


def play(editor: Editor, text: str) -> None:
    """Let everything happen that a text tells."""
    numbers: dict[str, int] = {}
    for entry in _read(text):
        _play(editor, entry, numbers)


def _read(text: str) -> list[_Entry]:
    entries: list[_Entry] = []
    for line in text.splitlines():
        if match := _ENTRY.fullmatch(line):
            kind, key, title = match.groups()
            entries.append(_Entry(kind, key, title))
        elif match := _STEP.fullmatch(line):
            entries[-1].steps.append(_Step(match[1] or "said", match[2]))
        elif entries[-1].steps:
            entries[-1].steps[-1].lines.append(line)
        else:
            entries[-1].labels.append(line.removeprefix("label: "))
    return entries


def _play(editor: Editor, entry: _Entry, numbers: dict[str, int]) -> None:
    opening, *steps = entry.steps
    number = _open(editor, entry, opening, numbers)
    if entry.key:
        numbers[entry.key] = number
    for step in steps:
        text, role = _text(step, numbers), _ROLES.get(step.target, "NONE")
        match step.action:
            case "said":
                editor.comment(number, text, author=_PEOPLE[step.target], association=role)
            case "approved" | "changes" | "commented":
                state, author = _REVIEWS[step.action], _PEOPLE[step.target]
                editor.review(number, state, text, author=author, association=role)
            case "merged":
                editor.merge(number, closes=[numbers[step.target]])
            case "duplicate":
                editor.mark_duplicate(number, numbers[step.target])
            case "edited":  # at the moment of the step before, so that no later time moves
                issue = editor.entry(numbers[step.target])
                body, now = f"{issue.body}\n\n{text}", editor.entry(number).updated_at
                editor.edit_entry(issue.number, body=body, by=issue.author, at=now)
            case "closed":
                editor.close(number, reason=step.target or "completed")
            case _:
                raise ValueError(f"{entry.title}: nobody can do {step.action!r}")


def _open(editor: Editor, entry: _Entry, step: _Step, numbers: dict[str, int]) -> int:
    text, author = _text(step, numbers), _PEOPLE[step.target]
    if entry.kind == "issue":
        role = _ROLES.get(step.target, "NONE")
        return editor.issue(entry.title, text, author=author, association=role, labels=entry.labels)
    return editor.pull(
        entry.title,
        text,
        author=author,
        association=_ROLES.get(step.target, "CONTRIBUTOR"),
        head="-".join(re.findall("[a-z]+", entry.title.lower())[:3]),
        head_repo=f"{author.login}/{editor.repository.name}",
    )


def _text(step: _Step, numbers: dict[str, int]) -> str:
    text = "\n".join(step.lines).strip()
    text = re.sub("#<([^>]+)>", lambda key: f"#{numbers[key[1]]}", text)
    return re.sub("{{([^}]+)}}", lambda word: SECRETS[word[1]], text)

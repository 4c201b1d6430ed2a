"""An ordinary project, `prospector/assay`: a tracker of 230 issues, and the code that fixes change.

`assay_texts/` holds its code (see `code.py`) and fixed bugs (`repairs.md`, see `tracker.py`). The
other files hold an issue after each ``=== TITLE``: its body, and behind ``---`` the reply. Who
writes, in which order, what people add and how an issue ends is drawn, the same each time.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from .code import Code, files, read_works
from .editing import Editor
from .mentions import link
from .store import World
from .tracker import play
from .world import made_up_repository

_START = "2022-12-05T08:00:00Z"
_TEXTS = Path(__file__).parent / "assay_texts"
_LABELS = {"bugs": "bug", "wishes": "enhancement", "questions": "question", "docs": "documentation"}
_ASKERS = (
    "mina-t",
    "piet-h",
    "dolores-v",
    "yuki-n",
    "samir-b",
    "greta-o",
    "tomas-r",
    "jun-w",
    "lotte-m",
    "abbott-h",
    "creek-walker",
    "rio-dorado",
    "pebble-hunter",
    "marlow-k",
    "sana-q",
)
_MAINTAINERS = ("wheelwright", "ines-rocha", "oda-lind", "kofi-a")
_SURROUNDINGS = {
    "bugs": (
        "Python {python} on {system}, assay 0.6 from PyPI.",
        "I see it with assay 0.6 and Python {python} on {system}. It did not happen before "
        "the last upgrade, as far as I can tell.",
        "Happens every time, on {system} as well as on the machine of a colleague.",
        "Expected: a result, or at least an error that names the row. Python {python}.",
        "A file with which it happens has {rows} rows; I can send it by mail.",
        "",
    ),
    "wishes": (
        "I could prepare a pull request if this is wanted.",
        "Alternatives that I have considered: a wrapper of our own, which four scripts share.",
        "We have about {rows} rows a month, so doing it by hand is out of the question.",
        "This would be an addition; nothing that exists has to change.",
        "",
    ),
    "questions": (
        "I have searched the guide and the closed issues and found nothing about it.",
        "Thank you in advance, I am new to this library.",
        "For context, there are {rows} rows, one every ten minutes.",
        "My first attempt was a loop over all rows, which works but looks clumsy.",
        "",
    ),
    "docs": ("Seen on the site, version 0.6.", "I can send a correction.", "", ""),
}
_THANKS = (
    "That works, thank you!",
    "Thanks, exactly what I needed. It works now.",
    "Great, thank you, this solved it for me.",
    "Perfect, thanks for the quick answer.",
)
_OTHERS = (
    "Same here, on {system}.",
    "We ran into this last week, too, with {rows} rows.",
    "+1 from our station.",
    "I have the same need.",
)
_ASIDES = (
    "I came here with the same question. Our files look like this, in case that somebody wants to "
    "try it, and the answer above holds for them as well:",
    "For the record, and for those who find this later: the first rows of such a file at our "
    "station, on {system}. There are {rows} of them.",
    "Does that hold for ten minutes, too? I mean tables such as this one, where the clock was set "
    "by hand:",
    "We did it in a spreadsheet until now, which took half a day for {rows} rows. This is an "
    "excerpt of what comes in:",
)
_STALE = (
    "This issue has been automatically marked as stale because it has not had recent activity. "
    "It will be closed if no further activity occurs."
)
_SYSTEMS = ("Debian 12", "Windows 11", "macOS 14", "Fedora 39", "Ubuntu 22.04")


def assay_code() -> Code:
    """Return its files, and what its pull requests change."""
    return Code(files(_text("first_version.txt")), read_works(_text("changes.txt")))


def assay_world() -> World:
    """Return the world of this repository alone, always the same."""
    repository = made_up_repository(
        "assay",
        61_000_003,
        created_at=_START,
        description="Read, check and summarize tables of measurements",
        stars=1_208,
        forks=97,
    )
    world = World(repository)
    dice = random.Random(8)
    told = [_ordinary(kind, part, dice) for kind in _LABELS for part in _parts(f"{kind}.md")]
    told += re.split(r"\n(?==== issue)", _text("repairs.md"))
    dice.shuffle(told)
    play(Editor(world, start=_START, step=9 * 3600), "\n\n".join([*told, _text("sequel.md")]))
    link(world)
    return world


def evidence() -> dict[str, str | dict[str, object]]:
    """Return by title what a review of issues and fixes tells; longer titles come first."""
    told: dict[str, str | dict[str, object]] = {}
    for kind in _LABELS:
        for part in _parts(f"{kind}.md"):
            quote = part.partition("\n---\n")[2].split("\n")[0][:70]
            wish: dict[str, object] = {"quote": quote, "verdict": "drop", "reasons": ["no-answer"]}
            told[part.partition("\n")[0]] = wish if kind == "wishes" else quote
    issue = r"=== issue (?:\[.+\] )?(.+)\n(?:.*\n)*?--- .+\n(?:.*\n)*?--- .+\n(.+)"
    for title, reply in re.findall(issue, _text("repairs.md")):
        told[title] = reply[:70]
    for title, reply in re.findall(issue, _text("sequel.md")):
        told[title] = {"quote": reply[:70], "verdict": "drop", "reasons": ["no-answer"]}
    for part in _parts("changes.txt"):
        lines = [line for line in part.split("\n") if line.startswith("+")]
        told[part.partition("\n")[0]] = max(lines, key=len)
    fixes = {part.partition("\n")[0] for part in _parts("changes.txt")}
    return {title: told[title] for title in sorted(told, key=lambda t: (t not in fixes, -len(t)))}


def _text(name: str) -> str:
    return (_TEXTS / name).read_text(encoding="utf-8")


def _parts(name: str) -> list[str]:
    return _text(name).removeprefix("=== ").split("\n=== ")


def _ordinary(kind: str, part: str, dice: random.Random) -> str:
    """Return an issue as `tracker.py` reads it."""
    title, _, texts = part.partition("\n")
    body, _, reply = texts.partition("\n---\n")
    asker, other = dice.sample(_ASKERS, 2)
    maintainer = dice.choice(_MAINTAINERS)
    lines = [f"=== issue {title}", f"label: {_LABELS[kind]}", f"--- @{asker}", body]
    lines += ["", _filled(dice.choice(_SURROUNDINGS[kind]), dice)]
    if kind != "questions" and dice.random() < 0.25:
        lines += [f"--- @{other}", _filled(dice.choice(_OTHERS), dice)]
    lines += [f"--- @{maintainer}", reply]
    if kind == "questions" and dice.random() < 0.9:
        lines += [f"--- @{asker}", dice.choice(_THANKS)]
    if kind == "questions" and dice.random() < 0.6:
        lines += [f"--- @{other}", _filled(dice.choice(_ASIDES), dice), "", _sample(dice)]
    if dice.random() < 0.07:
        return "\n".join(lines)  # still open
    if dice.random() < 0.06:
        lines += ["--- @sweeper[bot]", _STALE]
    declined = kind == "wishes" and re.search("no:|Declined|Out of scope|not ", reply)
    return "\n".join([*lines, f"--- closed {'not_planned' if declined else 'completed'}"])


def _sample(dice: random.Random) -> str:
    """Return the first rows of a table of measurements."""
    well, day, rows = dice.randint(1, 60), dice.randint(1, 28), ["time,well,depth,temperature"]
    for row in range(dice.randint(12, 18)):
        depth, warmth = dice.uniform(0.4, 9), dice.uniform(2, 19)
        rows.append(f"2023-05-{day:02}T{row:02}:00,N-{well},{depth:.3f},{warmth:.2f}")
    return "\n".join(["```", *rows, "```"])


def _filled(text: str, dice: random.Random) -> str:
    return text.format(
        python=f"3.{dice.randint(11, 13)}",
        system=dice.choice(_SYSTEMS),
        rows=f"{dice.randint(3, 900) * 100:,}",
    )

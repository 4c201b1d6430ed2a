"""Reading a sample of a dataset's rows, in a terminal or in Label Studio; judgements are kept.

Rows come in the order in which the seed draws them, so that those read first are a sample, too.
Readers do not see the judgements of others. Texts stand behind a bar, so that nothing in them can
pass for output of the program.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import Any

from rich.text import Text

from goldpan.annotation.studio.client import Server
from goldpan.core.errors import UsageError
from goldpan.core.sanitize import printable
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter, Terminal, clean
from goldpan.datasets.gold import (
    CANNOT_TELL,
    KINDS,
    GoldKind,
    Item,
    RowJudgement,
    checked_reader,
    keep_judgement,
    read_judgements,
)
from goldpan.datasets.provenance import content_digest, read_provenance, stored_rows
from goldpan.datasets.splits import draw_number, sample_by_hash

Row = Mapping[str, Any]
Part = tuple[str, str | None]
"""A heading, and the text below it."""
_SHOWN = 2_500
_MOST = 100_000
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?")
_READINGS = ".readings.csv"
_COMMIT = re.compile(r"[0-9a-f]{40}")
"""The name of a folder in the Hub's cache."""


@dataclass(frozen=True, slots=True)
class ReadingQuestion:
    """The question that readers answer about each row of a family."""

    kind: GoldKind
    text: str
    answers: Mapping[str, str]
    """The labels in words, in the order of their keys."""
    parts: Callable[[Row], Iterator[Part]]
    """Yields the parts of a row that are shown, the label in question last."""


def _answer(row: Row) -> Iterator[Part]:
    for turn in row["dialogue"]:
        chosen = turn["comment_id"] == row["answer_comment_id"]
        if turn["comment_id"] is None:
            yield "Question", turn["content"]
        elif not chosen:
            yield f"Another reply, by {turn['role'] or 'somebody else'}", turn["content"]
    accepted = row.get("answer_accepted_by")
    by = f", accepted by {accepted}" if accepted else ""
    yield f"THE ANSWER, by {row['answer_role'] or 'somebody else'}{by}", row["answer"]


def _issue(row: Row) -> Iterator[Part]:
    if "problem_statement" in row:
        yield "Issue", row["problem_statement"]
    else:
        yield "Issue", f"{row['title']}\n\n{row['body'] or ''}"
    closed = f"closed {row['closed_at']:%Y-%m-%d %H:%M}" if row["closed_at"] else "not closed"
    merged = f"merged {row['merged_at']:%Y-%m-%d %H:%M}" if row["merged_at"] else "not merged"
    signals = ", ".join(row["signals"]) or "none"
    yield "Evidence", f"issue {closed}, pull request #{row['pull']} {merged}; signals: {signals}"


def _fix(row: Row) -> Iterator[Part]:
    yield from _issue(row)
    if "pull_title" in row:
        yield f"Pull request #{row['pull']}", f"{row['pull_title']}\n\n{row['pull_body'] or ''}"
    yield "THE CHANGE", row["diff"] if "diff" in row else row["patch"]


def _place(row: Row) -> Iterator[Part]:
    yield from _issue(row)
    yield "THE FILE that has to change", row["changed_path"]


_ANSWERS, _PAIRS, _FILES = KINDS
_FIXES = ReadingQuestion(
    _PAIRS,
    "Does the change settle what the issue asks for?",
    {"fixes": "fixes it", "partly": "a part of it", "not": "does not fix it"},
    _fix,
)
QUESTIONS: Mapping[str, ReadingQuestion] = {
    "qa": ReadingQuestion(
        _ANSWERS,
        "Would somebody with the same question have the answer from this reply alone?",
        {"answers": "whole", "partly": "a part", "not": "wrong, or no answer"},
        _answer,
    ),
    "fault-localization": ReadingQuestion(
        _FILES,
        "Is this the file that has to change for the issue?",
        {"right": "right", "wrong": "wrong"},
        _place,
    ),
    "code-edit": _FIXES,
    "issue-resolution": _FIXES,
}
"""By the dataset's family."""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A row of a sample, in the order in which the seed draws it."""

    item: Item
    row: Row


@dataclass(frozen=True, slots=True)
class LabelSample:
    """Rows drawn from a dataset, and the file of the judgements of them."""

    question: ReadingQuestion
    rows: tuple[DrawnRow, ...]
    path: Path
    dataset: str
    """The digest of all its rows."""
    seed: int
    size: int

    def keep(self, item: Item, reader: str, label: str, note: str = "") -> None:
        """Keep a reader's judgement of a row in place of an earlier one."""
        judgement = RowJudgement(item, reader, label, note, self.dataset, self.seed, self.size)
        keep_judgement(self.path, self.question.kind, judgement)

    def labels_by(self, reader: str) -> dict[Item, str]:
        """Return the labels that a reader has given to rows so far."""
        kept = read_judgements(self.path, self.question.kind)
        labels = {each.item: each.label for each in kept if each.reader == reader}
        return {drawn.item: labels[drawn.item] for drawn in self.rows if drawn.item in labels}


def readings_path(directory: Path) -> Path:
    """Return the default file of judgements, which lies beside the dataset.

    The file for a dataset in the Hub's cache lies in the current folder.
    """
    absolute = directory.absolute()
    if _COMMIT.fullmatch(absolute.name):
        return Path(f"{read_provenance(directory)['family']}{_READINGS}")
    return absolute.with_name(f"{absolute.name}{_READINGS}")


def draw_sample(directory: Path, size: int, seed: int, path: Path) -> LabelSample:
    """Return rows of a dataset, drawn by `seed`, to be judged in the file `path`.

    Raises `UsageError` for a family without a question, and for a file of another dataset or seed.
    """
    provenance = read_provenance(directory)
    family = str(provenance["family"])
    if family not in QUESTIONS:
        raise UsageError(
            f"{directory} holds {family}, which has no question for readers",
            f"Give a dataset of {', '.join(QUESTIONS)}; the labels of others are judged by "
            "goldpan annotate",
        )
    question = QUESTIONS[family]
    kept = read_judgements(path, question.kind)
    if kept and kept[0].seed != seed:
        raise UsageError(
            f"{path} holds a sample drawn by the seed {kept[0].seed}",
            f"Give --seed {kept[0].seed}, or another file with --output",
        )
    drawn = sample_by_hash(stored_rows(directory), size, seed, lambda row: str(row["id"]))
    drawn.sort(key=lambda row: draw_number(seed, str(row["id"])))
    rows = tuple(
        DrawnRow((row["repo"].lower(), row["issue"], row[question.kind.column]), row)
        for row in drawn
    )
    repos = {str(origin["repo"]).lower() for origin in provenance["repositories"]}
    if kept and not repos & {each.item[0] for each in kept}:
        raise UsageError(
            f"{path} holds judgements of another dataset, of {kept[0].item[0]}",
            "Give another file with --output",
        )
    return LabelSample(question, rows, path, content_digest(provenance), seed, size)


def read_in_terminal(sample: LabelSample, reader: str) -> None:
    """Show a reader each row that is left, until all are judged or the reader stops.

    Raises `UsageError` where rows are left and there is no terminal.
    """
    labels = sample.labels_by(checked_reader(reader))
    left = len(sample.rows) - len(labels)
    if not left:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"There is no terminal in which {reader} could read {left} rows",
            "Run the command in a terminal, or have the rows read with --studio PROJECT",
        )
    with _terminal_keys() as keys:
        _Session(sample, reader, labels, keys).run()


class _Session:
    def __init__(
        self, sample: LabelSample, reader: str, judged: dict[Item, str], keys: _Keys
    ) -> None:
        self._sample, self._reader, self._judged, self._keys = sample, reader, judged, keys
        self._terminal = Terminal(stderr=True, soft_wrap=False)
        self._words = {**sample.question.answers, CANNOT_TELL: "cannot tell"}
        self._labels = {str(key): label for key, label in enumerate(sample.question.answers, 1)}
        self._labels["0"] = CANNOT_TELL

    def run(self) -> None:
        place = self._next(0)
        while place is not None:
            drawn = self._sample.rows[place]
            self._show(place, drawn, _SHOWN)
            note = ""
            key = self._ask()
            while key not in (*self._labels, "b", "q"):
                if key == "m":
                    self._show(place, drawn, _MOST)
                elif key == "n":
                    note = self._keys.line("Note: ")
                key = self._ask()
            if key == "q":
                return
            if key == "b":
                place = max(0, place - 1)
                continue
            label = self._labels[key]
            self._sample.keep(drawn.item, self._reader, label, note)
            self._judged[drawn.item] = label
            self._terminal.print(clean(f"Kept: {self._words[label]}", "bold"))
            place = self._next(place + 1)

    def _next(self, start: int) -> int | None:
        """Return the place of the next row that this reader has not judged; None after the last."""
        rows = self._sample.rows
        places = [*range(start, len(rows)), *range(start)]
        return next((place for place in places if rows[place].item not in self._judged), None)

    def _ask(self) -> str:
        choices = [f"{key} {self._words[label]}" for key, label in self._labels.items()]
        more = ["n note", "m more", "b back", "q stop"]
        self._terminal.print(clean(self._sample.question.text, "bold"))
        self._keys.forget()
        self._terminal.print(clean("  ".join([*choices, *more]), "dim"))
        return self._keys.next()

    def _show(self, place: int, drawn: DrawnRow, most: int) -> None:
        rows = self._sample.rows
        judged = len(self._judged)
        self._terminal.print()
        title = f"Row {place + 1:,} of {len(rows):,} · {drawn.row['id']}"
        self._terminal.rule(clean(title, "bold"))
        state = f"{self._reader} has judged {judged:,}, {len(rows) - judged:,} left"
        self._terminal.print(clean(state, "dim"))
        if label := self._judged.get(drawn.item):
            self._terminal.print(clean(f"Judged before: {self._words[label]}"))
        for heading, text in self._sample.question.parts(drawn.row):
            self._terminal.print(clean(heading, "bold"))
            for line in self._lines(text or "", most):
                self._terminal.print(Text.assemble(("│ ", "dim"), line))

    def _lines(self, text: str, most: int) -> Iterator[Text]:
        width = max(20, self._terminal.width - 2)
        for line in printable(text[:most].replace("\r\n", "\n")).expandtabs(4).split("\n"):
            yield from Text(line).wrap(self._terminal, width) or [Text()]
        if (left := len(text) - most) > 0:
            yield Text(f"… {left:,} more characters", "dim")


_LOOK_SECONDS = 0.5


class _Keys:
    def __init__(self, descriptor: int, ordinary: list[Any]) -> None:
        self._descriptor, self._ordinary = descriptor, ordinary
        self._waiting = ""

    def forget(self) -> None:
        """Drop the keys that were typed before the question."""
        import termios

        termios.tcflush(self._descriptor, termios.TCIFLUSH)
        self._waiting = ""

    def next(self) -> str:
        """Return the next key that types a character; q at the end of the input."""
        while not self._waiting:
            # Ctrl-C just before a read would otherwise count at the next key only.
            if not select([self._descriptor], [], [], _LOOK_SECONDS)[0]:
                continue
            typed = os.read(self._descriptor, 32)
            if not typed or typed == b"\x04":
                return "q"
            # Arrows and the like are sent as several characters: a digit in them is no answer.
            self._waiting = _SEQUENCE.sub("", typed.decode("ascii", "replace")).lower()
        key, self._waiting = self._waiting[0], self._waiting[1:]
        return key

    def line(self, prompt: str) -> str:
        """Return a line, typed and corrected as usual."""
        import termios
        import tty

        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._ordinary)
        try:
            sys.stderr.write(prompt)
            sys.stderr.flush()
            return " ".join(printable(sys.stdin.readline()).split())
        finally:
            tty.setcbreak(self._descriptor)


@contextmanager
def _terminal_keys() -> Iterator[_Keys]:
    """Give single keys of the terminal, whose settings are restored at the end."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    ordinary = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield _Keys(descriptor, ordinary)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, ordinary)


_FORMS = {"answers": "question-answer", "fix pairs": "fix-pair", "changed files": "changed-file"}
"""The form for each kind of judgement."""


def read_in_studio(
    workspace: WorkspaceLayout, server: Server, name: str, sample: LabelSample, reporter: Reporter
) -> str:
    """Push the rows that a project lacks, and keep the answers of its annotators.

    Returns the address where they begin. An answer on another reply than the row has now is of a
    row that changed, and not kept.
    """
    from goldpan.annotation.studio.annotations import stored_annotations
    from goldpan.annotation.studio.forms import find_form, make_task
    from goldpan.annotation.studio.project import open_project
    from goldpan.annotation.studio.pull import collect
    from goldpan.annotation.studio.push import push

    form = find_form(_FORMS[sample.question.kind.name])
    tasks = [make_task(form, drawn.row) for drawn in sample.rows]
    pushed = push(workspace, server, name, form, tasks, reporter)
    collect(workspace, server, name, reporter)
    items = {
        (task.key.subject_id, task.key.comment): drawn.item
        for task, drawn in zip(tasks, sample.rows, strict=True)
    }
    for answer in stored_annotations(open_project(workspace, name)):
        item = items.get((answer.key.subject_id, answer.key.comment))
        if item is not None and answer.problem is None:
            (value,) = answer.chosen(form.decides)
            label = form.gold.get(value, value)
            sample.keep(item, answer.annotator, label, answer.reason)
    return pushed.page

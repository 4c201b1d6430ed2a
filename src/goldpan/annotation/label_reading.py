"""Reading a sample of a dataset's rows, in a terminal or in Label Studio; judgements are kept.

Rows come in the order in which the seed draws them, so that those read first are a sample, too.
Readers do not see the judgements of others. Texts stand behind a bar, so that nothing in them can
pass for output of the program.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
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
_SHOWN = 20_000
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
    judged = sample.labels_by(checked_reader(reader))
    left = [row for row in enumerate(sample.rows, 1) if row[1].item not in judged]
    if left and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"There is no terminal in which {reader} could read {len(left)} rows",
            "Run the command in a terminal, or have the rows read with --studio PROJECT",
        )
    terminal = Terminal(stderr=True, soft_wrap=False)
    answers = {**sample.question.answers, CANNOT_TELL: "cannot tell"}
    keys = dict(zip([*"123"[: len(answers) - 1], "0"], answers, strict=True))
    choices = "  ".join([*(f"{key} {answers[keys[key]]}" for key in keys), "q stop"])
    for done, (place, drawn) in enumerate(left, len(judged)):
        terminal.print()
        terminal.rule(clean(f"Row {place:,} of {len(sample.rows):,} · {drawn.row['id']}", "bold"))
        state = f"{reader} has judged {done:,}, {len(sample.rows) - done:,} left"
        terminal.print(clean(state, "dim"))
        for heading, text in sample.question.parts(drawn.row):
            terminal.print(clean(heading, "bold"))
            for line in _lines(text or "", terminal):
                terminal.print(Text.assemble(("│ ", "dim"), line))
        key = ""
        while key not in keys:
            terminal.print(clean(sample.question.text, "bold"))
            terminal.print(clean(f"{choices}, then Enter", "dim"))
            key = (sys.stdin.readline() or "q").strip()
            if key == "q":
                return
        sample.keep(drawn.item, reader, keys[key])
        terminal.print(clean(f"Kept: {answers[keys[key]]}", "bold"))


def _lines(text: str, terminal: Terminal) -> Iterator[Text]:
    width = max(20, terminal.width - 2)
    for line in printable(text[:_SHOWN].replace("\r\n", "\n")).expandtabs(4).split("\n"):
        yield from Text(line).wrap(terminal, width) or [Text()]
    if (left := len(text) - _SHOWN) > 0:
        yield Text(f"… {left:,} more characters", "dim")


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

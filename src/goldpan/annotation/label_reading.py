"""Reading a sample of a dataset's rows, in a terminal or in Label Studio; judgements are kept.

Rows come in the order in which the seed draws them, so that those read first are a sample, too.
Readers do not see the judgements of others. They are asked what the form for Label Studio asks, and
texts stand behind a bar, so that nothing in them can pass for output of the program.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from goldpan.annotation.review.stored import read_reviews
from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.forms import Form, StudioTask, find_form, make_task
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.core.errors import UsageError
from goldpan.core.proportions import allocate
from goldpan.core.result import count
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
from goldpan.datasets.provenance import (
    content_digest,
    read_provenance,
    rules_and_profile,
    stored_rows,
)
from goldpan.datasets.splits import draw_number, sample_by_hash
from goldpan.filters.answers import named_comment

_READINGS = ".readings.csv"
_COMMIT = re.compile(r"[0-9a-f]{40}")
"""The name of a folder in the Hub's cache."""
_ANSWERS, _PAIRS, _FILES = KINDS
_ASKED: Mapping[str, tuple[GoldKind, str]] = {
    "qa": (_ANSWERS, "question-answer"),
    "fault-localization": (_FILES, "changed-file"),
    "code-edit": (_PAIRS, "fix-pair"),
    "issue-resolution": (_PAIRS, "fix-pair"),
}
"""The kind of judgement and the form, by the dataset's family."""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A row of a sample, as annotators see it."""

    item: Item
    task: StudioTask
    stratum: str = ""
    """A model's vote on the row, where the sample is stratified."""


@dataclass(frozen=True, slots=True)
class LabelSample:
    """Rows drawn from a dataset, and the file of the judgements of them."""

    kind: GoldKind
    form: Form
    rows: tuple[DrawnRow, ...]
    """In the order in which the seed draws them."""
    path: Path
    dataset: str
    """The digest of all its rows."""
    seed: int
    size: int
    stratum_rows: Mapping[str, int]
    """Rows of the dataset by a model's vote, where the sample is stratified."""

    def keep(self, item: Item, reader: str, label: str, note: str = "") -> None:
        """Keep a reader's judgement of a row in place of an earlier one."""
        stratum = next(row.stratum for row in self.rows if row.item == item)
        rows = self.stratum_rows.get(stratum, 0)
        told = (item, reader, label, note, self.dataset, self.seed, self.size)
        judgement = RowJudgement(*told, stratum, rows)
        keep_judgement(self.path, self.kind, judgement)

    def judged_by(self, reader: str) -> set[Item]:
        """Return the rows that a reader has judged so far."""
        kept = read_judgements(self.path, self.kind)
        return {each.item for each in kept if each.reader == reader}


DOUBTS = {"keep": 0.3, "drop": 0.45, "undecided": 0.5, "another reply": 0.45, "none": 0.5}
"""Votes, with the standard deviation of a right label that is expected where a model votes so."""


class ModelVotes:
    """The votes of stored reviews on the rows of a dataset.

    Raises `WorkspaceError` where a repository was not reviewed.
    """

    def __init__(self, workspace: WorkspaceLayout, directory: Path) -> None:
        provenance = read_provenance(directory)
        rules, profile = rules_and_profile(provenance)
        layout = workspace.by_rules(rules[0]) if rules else workspace
        subject = "issue" if provenance["family"] == "qa" else "pair"
        self._found: dict[tuple[object, ...], tuple[str, int | None]] = {}
        for origin in provenance["repositories"]:
            verdicts = read_reviews(layout, str(origin["repo"]), profile or "default")
            for row in verdicts.to_pylist():
                if row["subject"] == subject:
                    name = {True: "keep", False: "drop", None: "undecided"}[row["keep"]]
                    key = (row["repo"].lower(), row["issue"], row["pull"])
                    self._found[key] = name, named_comment(row["evidence"])

    def on(self, row: Mapping[str, Any]) -> str:
        """Return the vote on a row; on an answer it counts where it names this one."""
        key = (row["repo"].lower(), row["issue"], row.get("pull"))
        name, reply = self._found.get(key, ("none", None))
        other = reply is not None and reply != row.get("answer_comment_id")
        return "another reply" if other else name


def readings_path(directory: Path) -> Path:
    """Return the default file of judgements, which lies beside the dataset.

    The file for a dataset in the Hub's cache lies in the current folder.
    """
    absolute = directory.absolute()
    if _COMMIT.fullmatch(absolute.name):
        return Path(f"{read_provenance(directory)['family']}{_READINGS}")
    return absolute.with_name(f"{absolute.name}{_READINGS}")


def draw_sample(
    directory: Path, size: int, seed: int, path: Path, votes: ModelVotes | None = None
) -> LabelSample:
    """Return rows of a dataset, drawn by `seed`, to be judged in the file `path`.

    With `votes`, so many are drawn of the rows with each vote that the share of right labels is
    known best. Raises `UsageError` for a family without a question, and for a file of another
    dataset, seed or way of drawing.
    """
    provenance = read_provenance(directory)
    family = str(provenance["family"])
    if family not in _ASKED:
        raise UsageError(
            f"{directory} holds {family}, which has no question for readers",
            f"Give a dataset of {', '.join(_ASKED)}; the labels of others are judged by "
            "goldpan annotate",
        )
    kind, name = _ASKED[family]
    form = find_form(name)
    kept = read_judgements(path, kind)
    if kept and kept[0].seed != seed:
        raise UsageError(
            f"{path} holds a sample drawn by the seed {kept[0].seed}",
            f"Give --seed {kept[0].seed}, or another file with --output",
        )
    if kept and bool(kept[0].stratum) != (votes is not None):
        way = "without" if votes else "with"
        raise UsageError(
            f"{path} holds a sample that was drawn {way} --subjects best-informed",
            "Draw it the same way, or give another file with --output",
        )
    vote: Callable[[Mapping[str, Any]], str] = votes.on if votes else lambda _: ""
    sizes = Counter(map(vote, stored_rows(directory)))
    chosen = allocate(sizes, {name: DOUBTS.get(name, 0.5) for name in sizes}, size)
    drawn = []
    for stratum, most in chosen.items():
        rows = (row for row in stored_rows(directory) if vote(row) == stratum)
        drawn += sample_by_hash(rows, most, seed, lambda row: str(row["id"]))
    drawn.sort(key=lambda row: draw_number(seed, str(row["id"])))
    found = tuple(
        DrawnRow(
            (row["repo"].lower(), row["issue"], row[kind.column]), make_task(form, row), vote(row)
        )
        for row in drawn
    )
    repos = {str(origin["repo"]).lower() for origin in provenance["repositories"]}
    if kept and not repos & {each.item[0] for each in kept}:
        raise UsageError(
            f"{path} holds judgements of another dataset, of {kept[0].item[0]}",
            "Give another file with --output",
        )
    digest = content_digest(provenance)
    return LabelSample(kind, form, found, path, digest, seed, size, sizes if votes else {})


def read_in_terminal(sample: LabelSample, reader: str) -> None:
    """Show a reader each row that is left, until all are judged or the reader stops.

    Raises `UsageError` where rows are left and there is no terminal.
    """
    judged = sample.judged_by(checked_reader(reader))
    left = [row for row in enumerate(sample.rows, 1) if row[1].item not in judged]
    if left and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"There is no terminal in which {reader} could read {count(len(left), 'row')}",
            "Run the command in a terminal, or have the rows read with --studio PROJECT",
        )
    terminal = Terminal(stderr=True, soft_wrap=False)
    question = sample.form.configuration.question(sample.form.decides)
    keys = {str(key): label for key, label in enumerate(sample.kind.labels, 1)} | {"0": CANNOT_TELL}
    choices = [f"{key} {question.labels[label]}" for key, label in keys.items()]
    for done, (place, drawn) in enumerate(left, len(sample.rows) - len(left)):
        terminal.print()
        title = f"Row {place:,} of {len(sample.rows):,} · {drawn.task.key.subject_id}"
        terminal.rule(clean(title, "bold"))
        state = f"{reader} has judged {done:,}, {len(sample.rows) - done:,} left"
        terminal.print(clean(state, "dim"))
        for panel in sample.form.configuration.panels:
            for line in _lines(text_of_panel(drawn.task.panels[panel]), terminal):
                terminal.print(Text.assemble(("│ ", "dim"), line))
        key = ""
        while key not in keys:
            terminal.print(clean(question.words or "", "bold"))
            terminal.print(clean("  ".join([*choices, "q stop, then Enter"]), "dim"))
            key = (sys.stdin.readline() or "q").strip()
            if key == "q":
                return
        sample.keep(drawn.item, reader, keys[key])
        terminal.print(clean(f"Kept: {question.labels[keys[key]]}", "bold"))


def _lines(text: str, terminal: Terminal) -> Iterator[Text]:
    width = max(20, terminal.width - 2)
    for line in printable(text).expandtabs(4).split("\n"):
        yield from Text(line).wrap(terminal, width) or [Text()]


def read_in_studio(
    workspace: WorkspaceLayout, server: Server, name: str, sample: LabelSample, reporter: Reporter
) -> str:
    """Push the rows that a project lacks, and keep the answers of its annotators.

    Returns the address where they begin. An answer on another reply than the row has now is of a
    row that changed, and not kept.
    """
    from goldpan.annotation.studio.annotations import stored_annotations
    from goldpan.annotation.studio.project import open_project
    from goldpan.annotation.studio.pull import collect
    from goldpan.annotation.studio.push import push

    form = sample.form
    pushed = push(workspace, server, name, form, [drawn.task for drawn in sample.rows], reporter)
    collect(workspace, server, name, reporter)
    items = {
        (drawn.task.key.subject_id, drawn.task.key.comment): drawn.item for drawn in sample.rows
    }
    for answer in stored_annotations(open_project(workspace, name)):
        item = items.get((answer.key.subject_id, answer.key.comment))
        if item is not None and answer.problem is None:
            (value,) = answer.chosen(form.decides)
            label = form.gold.get(value, value)
            sample.keep(item, answer.annotator, label, answer.reason)
    return pushed.page

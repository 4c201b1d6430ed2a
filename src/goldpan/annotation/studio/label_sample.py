"""A sample of a dataset's rows, drawn for people to judge, in the terminal or in Label Studio.

Rows come in the order in which the seed draws them, so that those read first are a sample, too.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from goldpan.annotation.studio.forms import Form, StudioTask, find_form, make_task
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.core.errors import UsageError
from goldpan.core.proportions import allocate
from goldpan.core.result import count
from goldpan.core.sanitize import printable
from goldpan.core.terminal import Terminal, clean
from goldpan.datasets.gold import (
    CANNOT_TELL,
    KINDS,
    GoldKind,
    Item,
    RowJudgment,
    checked_reader,
    keep_judgment,
    read_judgments,
)
from goldpan.datasets.provenance import content_digest, read_provenance, stored_rows
from goldpan.datasets.splits import draw_number, sample_by_hash

_HUB_FOLDER = re.compile(r"[0-9a-f]{40}")
_ANSWERS, _PAIRS, _FILES = KINDS
_ASKED: Mapping[str, tuple[GoldKind, str]] = {
    "qa": (_ANSWERS, "question-answer"),
    "fault-localization": (_FILES, "changed-file"),
    "code-edit": (_PAIRS, "fix-pair"),
    "issue-resolution": (_PAIRS, "fix-pair"),
}
"""The kind of judgment and the form, by the dataset's family."""
_MOST_DOUBT = 0.5
DOUBTS = {"keep": 0.3, "drop": 0.45, "undecided": 0.5, "another reply": 0.45, "none": 0.5}
"""Votes, with the standard deviation of a right label that is expected where a model votes so."""
Vote = Callable[[Mapping[str, Any]], str]
"""Gives the vote of a model on a row."""


@dataclass(frozen=True, slots=True)
class LabelSample:
    """Rows drawn from a dataset, and the file of the judgments of them."""

    kind: GoldKind
    form: Form
    rows: Sequence[tuple[Item, StudioTask]]
    """As annotators see them, in the order in which the seed draws them."""
    path: Path
    dataset: str
    """The digest of all its rows."""
    seed: int
    size: int
    strata: Mapping[Item, str] = field(default_factory=dict)
    """The vote of a model on each row, where the sample is stratified by it."""
    stratum_rows: Mapping[str, int] = field(default_factory=dict)
    """Rows of the dataset with each vote."""

    def keep(self, item: Item, reader: str, label: str, note: str = "") -> None:
        """Keep a reader's judgment of a row in place of an earlier one."""
        stratum = self.strata.get(item, "")
        told = (item, reader, label, note, self.dataset, self.seed, self.size)
        judgment = RowJudgment(*told, stratum, self.stratum_rows.get(stratum, 0))
        keep_judgment(self.path, self.kind, judgment)


def readings_path(directory: Path) -> Path:
    """Return the default file of judgments, which lies beside the dataset.

    The file for a dataset in the Hub's cache lies in the current folder.
    """
    absolute = directory.absolute()
    if _HUB_FOLDER.fullmatch(absolute.name):
        return Path(f"{read_provenance(directory)['family']}.readings.csv")
    return absolute.with_name(f"{absolute.name}.readings.csv")


def draw_sample(
    directory: Path, size: int, seed: int, path: Path, vote: Vote | None = None
) -> LabelSample:
    """Return rows of a dataset, drawn by `seed`, to be judged in the file `path`.

    With `vote`, so many are drawn of the rows with each vote that the share of right labels is
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
    repos = {str(origin["repo"]).lower() for origin in provenance["repositories"]}
    for kept in read_judgments(path, kind)[:1]:
        of_other = kept.item[0] not in repos or bool(kept.stratum) != (vote is not None)
        if of_other or kept.seed != seed:
            raise UsageError(
                f"{path} holds judgments of another sample, of {kept.item[0]} by the seed "
                f"{kept.seed}{', best-informed' if kept.stratum else ''}",
                "Ask for the same sample, or give another file with --output",
            )
    stratum_of: Vote = vote or (lambda _: "")
    sizes = Counter(map(stratum_of, stored_rows(directory)))
    chosen = allocate(sizes, {name: DOUBTS.get(name, _MOST_DOUBT) for name in sizes}, size)
    drawn = []
    for stratum, most in chosen.items():
        rows_of_it = (row for row in stored_rows(directory) if stratum_of(row) == stratum)
        drawn += sample_by_hash(rows_of_it, most, seed, lambda row: str(row["id"]))
    drawn.sort(key=lambda row: draw_number(seed, str(row["id"])))
    items = [(row["repo"].lower(), row["issue"], row[kind.column]) for row in drawn]
    form = find_form(name)
    rows = [(item, make_task(form, row)) for item, row in zip(items, drawn, strict=True)]
    sample = LabelSample(kind, form, rows, path, content_digest(provenance), seed, size)
    if vote is None:
        return sample
    strata = {item: vote(row) for item, row in zip(items, drawn, strict=True)}
    return replace(sample, strata=strata, stratum_rows=sizes)


def read_in_terminal(sample: LabelSample, reader: str) -> None:
    """Show a reader each row that is left, until all are judged or the reader stops.

    Nobody sees the judgments of others. Texts stand behind a bar, so that nothing in them can pass
    for output of the program. Raises `UsageError` where rows are left and there is no terminal.
    """
    reader = checked_reader(reader)
    kept = read_judgments(sample.path, sample.kind)
    judged = {each.item for each in kept if each.reader == reader}
    left = [row for row in enumerate(sample.rows, 1) if row[1][0] not in judged]
    if left and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"There is no terminal in which {reader} could read {count(len(left), 'row')}",
            "Run the command in a terminal, or have the rows read with --studio PROJECT",
        )
    terminal = Terminal(stderr=True, soft_wrap=False)
    question = sample.form.configuration.question(sample.form.decides)
    keys = {str(key): label for key, label in enumerate(sample.kind.labels, 1)} | {"0": CANNOT_TELL}
    choices = [f"{key} {question.labels[label]}" for key, label in keys.items()]
    total = len(sample.rows)
    for done, (place, (item, task)) in enumerate(left, total - len(left)):
        terminal.print()
        terminal.rule(clean(f"Row {place:,} of {total:,} · {task.key.subject_id}", "bold"))
        terminal.print(clean(f"{reader} has judged {done:,}, {total - done:,} left", "dim"))
        for panel in sample.form.configuration.panels:
            text = printable(text_of_panel(task.panels[panel])).expandtabs(4)
            for line in text.split("\n"):
                for row in Text(line).wrap(terminal, max(20, terminal.width - 2)) or [Text()]:
                    terminal.print(Text.assemble(("│ ", "dim"), row))
        key = ""
        while key not in keys:
            terminal.print(clean(question.words or "", "bold"))
            terminal.print(clean("  ".join([*choices, "q stop, then Enter"]), "dim"))
            key = (sys.stdin.readline() or "q").strip()
            if key == "q":
                return
        sample.keep(item, reader, keys[key])
        terminal.print(clean(f"Kept: {question.labels[keys[key]]}", "bold"))

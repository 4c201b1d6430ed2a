"""Reading a sample of a dataset's rows in a terminal; judgements are kept.

Rows come in the order in which the seed draws them, so that those read first are a sample, too.
Readers do not see the judgements of others. They are asked what the form for Label Studio asks, and
texts stand behind a bar, so that nothing in them can pass for output of the program.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from goldpan.annotation.studio.forms import Form, StudioTask, find_form, make_task
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.core.errors import UsageError
from goldpan.core.result import count
from goldpan.core.sanitize import printable
from goldpan.core.terminal import Terminal, clean
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

_HUB_FOLDER = re.compile(r"[0-9a-f]{40}")
_ANSWERS, _PAIRS, _FILES = KINDS
_ASKED: Mapping[str, tuple[GoldKind, str]] = {
    "qa": (_ANSWERS, "question-answer"),
    "fault-localization": (_FILES, "changed-file"),
    "code-edit": (_PAIRS, "fix-pair"),
    "issue-resolution": (_PAIRS, "fix-pair"),
}
"""The kind of judgement and the form, by the dataset's family."""


@dataclass(frozen=True, slots=True)
class LabelSample:
    """Rows drawn from a dataset, and the file of the judgements of them."""

    kind: GoldKind
    form: Form
    rows: Sequence[tuple[Item, StudioTask]]
    """As annotators see them, in the order in which the seed draws them."""
    path: Path
    dataset: str
    """The digest of all its rows."""
    seed: int
    size: int

    def keep(self, item: Item, reader: str, label: str, note: str = "") -> None:
        """Keep a reader's judgement of a row in place of an earlier one."""
        judgement = RowJudgement(item, reader, label, note, self.dataset, self.seed, self.size)
        keep_judgement(self.path, self.kind, judgement)


def readings_path(directory: Path) -> Path:
    """Return the default file of judgements, which lies beside the dataset.

    The file for a dataset in the Hub's cache lies in the current folder.
    """
    absolute = directory.absolute()
    if _HUB_FOLDER.fullmatch(absolute.name):
        return Path(f"{read_provenance(directory)['family']}.readings.csv")
    return absolute.with_name(f"{absolute.name}.readings.csv")


def draw_sample(directory: Path, size: int, seed: int, path: Path) -> LabelSample:
    """Return rows of a dataset, drawn by `seed`, to be judged in the file `path`.

    Raises `UsageError` for a family without a question, and for a file of another dataset or seed.
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
    form, kept = find_form(name), read_judgements(path, kind)
    repos = {str(origin["repo"]).lower() for origin in provenance["repositories"]}
    if kept and kept[0].seed != seed:
        raise UsageError(
            f"{path} holds a sample drawn by the seed {kept[0].seed}",
            f"Give --seed {kept[0].seed}, or another file with --output",
        )
    if kept and not repos & {each.item[0] for each in kept}:
        raise UsageError(
            f"{path} holds judgements of another dataset, of {kept[0].item[0]}",
            "Give another file with --output",
        )
    drawn = sample_by_hash(stored_rows(directory), size, seed, lambda row: str(row["id"]))
    drawn.sort(key=lambda row: draw_number(seed, str(row["id"])))
    rows = [
        ((row["repo"].lower(), row["issue"], row[kind.column]), make_task(form, row))
        for row in drawn
    ]
    return LabelSample(kind, form, rows, path, content_digest(provenance), seed, size)


def read_in_terminal(sample: LabelSample, reader: str) -> None:
    """Show a reader each row that is left, until all are judged or the reader stops.

    Raises `UsageError` where rows are left and there is no terminal.
    """
    reader = checked_reader(reader)
    kept = read_judgements(sample.path, sample.kind)
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

"""Reading a sample of a dataset's rows in a terminal.

Readers do not see the judgments of others. They are asked what the form for Label Studio asks, and
texts stand behind a bar, so that nothing in them can pass for output of the program.
"""

from __future__ import annotations

import sys

from rich.text import Text

from goldpan.annotation.studio.label_sample import LabelSample
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.core.errors import UsageError
from goldpan.core.result import count
from goldpan.core.sanitize import printable
from goldpan.core.terminal import Terminal, clean
from goldpan.datasets.gold import CANNOT_TELL, checked_reader, read_judgments


def read_in_terminal(sample: LabelSample, reader: str) -> None:
    """Show a reader each row that is left, until all are judged or the reader stops.

    Raises `UsageError` where rows are left and there is no terminal.
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

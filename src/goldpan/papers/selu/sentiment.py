"""Reads labelled sentiment as three groups of authors publish it.

sent, ManualLabel   sentences on APIs (Uddin and Khomh): n, o, p
Text, Polarity      comments on GitHub (Novielli et al.): negative, neutral, positive
text, oracle        posts of Stack Overflow (Lin et al.) and others: -1, 0, 1
text, label         any of these, in one's own table
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.datasets.import_files import stem_of, table_rows
from goldpan.datasets.task import Task

_FORMS = (("sent", "ManualLabel"), ("Text", "Polarity"), ("text", "oracle"), ("text", "label"))
_MEANING: Mapping[str, str] = {
    **dict.fromkeys(("n", "negative", "-1", "-1.0"), "negative"),
    **dict.fromkeys(("o", "neutral", "0", "0.0"), "neutral"),
    **dict.fromkeys(("p", "positive", "1", "1.0"), "positive"),
}


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the files, in order; raises `DatasetError` for another form."""
    for path in files:
        form: tuple[str, str] | None = None
        for number, row in enumerate(table_rows(path), 1):
            form = form or _form_of(path, row)
            text, target = form
            written = str("" if row[target] is None else row[target]).strip()
            if written not in _MEANING:
                raise DatasetError(
                    f"{path}, row {number}: {written[:80]!r} is not a sentiment",
                    f"{target} holds {', '.join(_MEANING)}",
                )
            yield {
                "id": f"{task.name}:{stem_of(path)}:{number}",
                "source": f"{path.name}:{number}",
                "text": str(row[text] or ""),
                "label": _MEANING[written],
            }


def _form_of(path: Path, row: Mapping[str, Any]) -> tuple[str, str]:
    for form in _FORMS:
        if all(name in row for name in form):
            return form
    forms = "; ".join(" and ".join(form) for form in _FORMS)
    raise DatasetError(
        f"{path} has no known layout; it has {', '.join(map(str, row))}",
        f"Give a table with the columns {forms}",
    )

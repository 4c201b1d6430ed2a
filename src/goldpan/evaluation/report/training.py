"""S1 to S5: how data were split, and how models were made and tested."""

from __future__ import annotations

import re
from collections.abc import Sequence

from goldpan.evaluation.comparing import ComparisonResult
from goldpan.evaluation.comparison_units import System, setting
from goldpan.evaluation.ecser import chosen_by
from goldpan.evaluation.report.formatted import count
from goldpan.evaluation.report.shapes import Content, Table, folded, listed, table
from goldpan.evaluation.statistics.step_shapes import Cell, Text
from goldpan.evaluation.statistics.step_shapes import Table as StepTable
from goldpan.evaluation.statistics.step_training import (
    retraining_step,
    split_step,
    training_step,
    tuning_step,
)
from goldpan.evaluation.statistics.study import Study

_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_WEIGHTS = "weights"


def splits(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say how the data were split, and how often each test was opened (S1)."""
    content = _shaped(split_step(study))
    total = sum(split.test_opened or 0 for split in study.splits)
    opened = Text(
        f"A test set is opened once a run, {count(total, 'time')} in all: by every run of the same"
        " split in this workspace, compared here or not. Who opens it often and reports the best"
        " has chosen by the test."
    )
    elsewhere = sorted({run.task for run in compared.elsewhere})
    if not elsewhere:
        return (*content, opened)
    other = f"Runs on other data or another split are not compared: {listed(elsewhere)}."
    return (*content, opened, Text(other))


def training(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say what each model learned from (S2)."""
    training_step(study)
    rows = tuple(
        (
            one.name,
            len(one.runs),
            listed([str(seed) for seed in sorted({run.seed for run in one.every()})]),
            _span([each.trained_on for each in study.trainings if each.model == one.name]),
            _settings(one),
        )
        for one in compared.ranked
    )
    columns = ("model", "tasks", "seeds", "examples learned from", "settings")
    return (Table("Models and what they learned from", columns, rows),)


def tuning(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say what settings were chosen on (S3)."""
    found = tuning_step(study)
    rows = []
    for one in compared.ranked:
        by = sorted({chosen_by(run) for run in one.every()})
        among = [each.candidates for each in study.trainings if each.model == one.name]
        told = ", ".join(filter(None, by)) or "nothing: fixed"
        rows.append((one.name, told, _span([each for each in among if each])))
    columns = ("model", "chosen on", "candidates")
    warnings = [one for one in found if isinstance(one, Text) and one.text.startswith("The test")]
    return (Table("What settings were chosen on", columns, tuple(rows)), *warnings)


def retraining(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say what was trained anew with the chosen settings (S4)."""
    retraining_step(study)
    again = [one for one in study.trainings if one.retrained]
    names = {one.model for one in again}
    rows = tuple(
        (one.name, _span([each.trained_on for each in again if each.model == one.name]))
        for one in compared.ranked
        if one.name in names
    )
    return (
        Text("With the settings found in S3, on all rows of train and validation together:"),
        Table("Trained again", ("model", "examples"), rows),
    )


def testing(compared: ComparisonResult) -> tuple[Content, ...]:
    """Say what was tested, and what got no valid answer (S5)."""
    rows: list[tuple[Cell, ...]] = []
    for one in compared.ranked:
        runs = one.every()
        examples = sum(run.scores.examples for run in runs)
        invalid = sum(run.scores.invalid for run in runs)
        share = f"{100 * invalid / examples:.2g} %" if examples else ""
        told = f"{invalid:,} ({share})" if invalid else "0"
        rows.append((one.name, len(one.runs), len(runs), examples, told))
    columns = ("model", "tasks", "runs", "answers", "of them not valid")
    note = "An answer that is not valid counts as wrong."
    return (Table("Tested", columns, tuple(rows), note),)


def _shaped(found: Sequence[object]) -> tuple[Content, ...]:
    content: list[Content] = []
    for one in found:
        if isinstance(one, StepTable):
            content.append(folded(table(one)))
        elif isinstance(one, Text):
            content.append(one)
    return tuple(content)


def _settings(one: System) -> str:
    """Return the settings of a system, those that differ between its tasks as such."""
    values: dict[str, set[str]] = {}
    for run in one.every():
        for name, value in run.record.settings.items():
            values.setdefault(name, set()).add(_HASH.sub(r"\1", setting(value)))
    if not values:
        return "none"
    told = (
        f"{name}={next(iter(found))}" if len(found) == 1 else f"{name}: differs by task"
        # Which weights were trained matters more than how: long lists lose their end.
        for name, found in sorted(
            values.items(), key=lambda one: (not one[0].startswith(_WEIGHTS), one[0])
        )
    )
    return ", ".join(told)


def _span(values: Sequence[int]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"

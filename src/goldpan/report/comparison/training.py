"""S1 to S5: how data were split, and how models were made and tested."""

from __future__ import annotations

import re
from collections.abc import Sequence

from goldpan.evaluation.comparison.facts import Skipped, Study, StudyTraining, chosen_by
from goldpan.evaluation.comparison.question import ComparisonResult, System, setting
from goldpan.report.document import Cell, Content, Table, Text, folded, listed
from goldpan.report.number_format import count

_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_WEIGHTS = "weights"


def splits(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say how the data were split, and how often each test was opened (S1)."""
    content = folded(_split_table(study))
    total = sum(split.test_opened or 0 for split in study.splits)
    opened = Text(
        f"A test set is opened once a run, {count(total, 'time')} in all: by every run of the same"
        " split in this workspace, compared here or not. Who opens it often and reports the best"
        " has chosen by the test."
    )
    elsewhere = sorted({run.task for run in compared.elsewhere})
    if not elsewhere:
        return (content, opened)
    other = f"Runs on other data or another split are not compared: {listed(elsewhere)}."
    return (content, opened, Text(other))


def training(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say what each model learned from (S2)."""
    if not any(training.trained_on for training in study.trainings):
        raise Skipped("No model was trained: all are prompted or follow fixed rules")
    rows = tuple(
        (
            system.name,
            len(system.runs),
            listed([str(seed) for seed in sorted({run.seed for run in system.every()})]),
            _span([made.trained_on for made in study.trainings if made.model == system.name]),
            _settings(system),
        )
        for system in compared.ranked
    )
    columns = ("model", "tasks", "seeds", "examples learned from", "settings")
    return (Table("Models and what they learned from", columns, rows),)


def tuning(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say what settings were chosen on (S3)."""
    tuned = [training for training in study.trainings if training.tuned_on]
    if not tuned:
        raise Skipped("Settings were fixed beforehand; none was chosen by a validation set")
    rows = []
    for system in compared.ranked:
        by = sorted({chosen_by(run) for run in system.every()})
        among = [made.candidates for made in study.trainings if made.model == system.name]
        text = ", ".join(filter(None, by)) or "nothing: fixed"
        rows.append((system.name, text, _span([number for number in among if number])))
    columns = ("model", "chosen on", "candidates")
    content: tuple[Content, ...] = (Table("What settings were chosen on", columns, tuple(rows)),)
    cheated = _chosen_on_the_test(tuned)
    if cheated:
        names = ", ".join(cheated)
        warning = Text(f"The test set chose the settings of {names}: their scores are too high")
        content = (*content, warning)
    return content


def retraining(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Say what was trained anew with the chosen settings (S4)."""
    if not any(training.tuned_on for training in study.trainings):
        raise Skipped("There were no chosen settings to train again with")
    again = [training for training in study.trainings if training.retrained]
    if not again:
        raise Skipped("The models that were validated are the ones that were tested")
    names = {training.model for training in again}
    rows = tuple(
        (system.name, _span([made.trained_on for made in again if made.model == system.name]))
        for system in compared.ranked
        if system.name in names
    )
    return (
        Text("With the settings found in S3, on all rows of train and validation together:"),
        Table("Trained again", ("model", "examples"), rows),
    )


def testing(compared: ComparisonResult) -> tuple[Content, ...]:
    """Say what was tested, and what got no valid answer (S5)."""
    rows: list[tuple[Cell, ...]] = []
    for system in compared.ranked:
        runs = system.every()
        examples = sum(run.scores.examples for run in runs)
        invalid = sum(run.scores.invalid for run in runs)
        share = f"{100 * invalid / examples:.2g} %" if examples else ""
        text = f"{invalid:,} ({share})" if invalid else "0"
        rows.append((system.name, len(system.runs), len(runs), examples, text))
    columns = ("model", "tasks", "runs", "answers", "of them not valid")
    note = "An answer that is not valid counts as wrong."
    return (Table("Tested", columns, tuple(rows), note),)


def _split_table(study: Study) -> Table:
    rows = tuple(
        (
            split.task,
            split.method,
            split.sizes.get("train"),
            split.sizes.get("validation"),
            split.sizes.get("test"),
            split.seed,
            split.test_opened,
            split.digest or None,
        )
        for split in sorted(study.splits, key=lambda split: split.task)
    )
    columns = ("task", "method", "train", "validation", "test", "seed", "test opened", "split hash")
    return Table("How the data were split", columns, rows)


def _chosen_on_the_test(tuned: Sequence[StudyTraining]) -> list[str]:
    """Return the models whose settings the test set chose."""
    return sorted({made.model for made in tuned if "test" in made.tuned_on.casefold().split()})


def _settings(system: System) -> str:
    """Return the settings of a system, those that differ between its tasks as such."""
    values: dict[str, set[str]] = {}
    for run in system.every():
        for name, value in run.record.settings.items():
            values.setdefault(name, set()).add(_HASH.sub(r"\1", setting(value)))
    if not values:
        return "none"
    parts = (
        f"{name}={next(iter(values_))}" if len(values_) == 1 else f"{name}: differs by task"
        # Which weights were trained matters more than how: long lists lose their end.
        for name, values_ in sorted(
            values.items(), key=lambda item: (not item[0].startswith(_WEIGHTS), item[0])
        )
    )
    return ", ".join(parts)


def _span(values: Sequence[int]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"

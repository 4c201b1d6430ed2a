"""Steps 1 to 5 of ECSER, and the conditions under which scores were obtained."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import orjson

from goldpan.core.sanitize import line
from goldpan.evaluation.comparison.facts import Skipped, Study, StudyTraining, chosen_by
from goldpan.evaluation.comparison.question import ComparisonResult, System, setting, split_of
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.runs import Run
from goldpan.report.document import (
    Cell,
    Content,
    Remark,
    ReportTable,
    Section,
    count,
    folded,
    listed,
)
from goldpan.text.redaction import redact

_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_WEIGHTS = "weights"


def splits(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Return how the data were split, and how often each test was opened (S1)."""
    content = folded(_split_table(study))
    total = sum(split.test_opened or 0 for split in study.splits)
    opened = Remark(
        f"A test set is opened once a run, {count(total, 'time')} in all: by every run of the same"
        " split in this workspace, compared here or not. Who opens it often and reports the best"
        " has chosen by the test."
    )
    elsewhere = sorted({run.task for run in compared.elsewhere})
    if not elsewhere:
        return (content, opened)
    other = f"Runs on other data or another split are not compared: {listed(elsewhere)}."
    return (content, opened, Remark(other))


def training(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Return the data that each model learned from (S2)."""
    if not any(training.trained_on for training in study.trainings):
        raise Skipped("No model was trained: all are prompted or follow fixed rules")
    rows = tuple(
        (
            system.name,
            len(system.runs),
            listed([str(seed) for seed in sorted({run.seed for run in system.every()})]),
            _span([run.trained_on for run in study.trainings if run.model == system.name]),
            _settings(system),
        )
        for system in compared.ranked
    )
    columns = ("model", "tasks", "seeds", "examples learned from", "settings")
    return (ReportTable("Models and what they learned from", columns, rows),)


def tuning(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Return the data on which settings were chosen (S3)."""
    tuned = [training for training in study.trainings if training.tuned_on]
    if not tuned:
        raise Skipped("Settings were fixed beforehand; none was chosen by a validation set")
    rows = []
    for system in compared.ranked:
        by = sorted({chosen_by(run) for run in system.every()})
        among = [run.candidates for run in study.trainings if run.model == system.name]
        text = ", ".join(filter(None, by)) or "nothing: fixed"
        rows.append((system.name, text, _span([number for number in among if number])))
    columns = ("model", "chosen on", "candidates")
    content: tuple[Content, ...] = (
        ReportTable("What settings were chosen on", columns, tuple(rows)),
    )
    cheated = _chosen_on_the_test(tuned)
    if cheated:
        names = ", ".join(cheated)
        warning = Remark(f"The test set chose the settings of {names}: their scores are too high")
        content = (*content, warning)
    return content


def retraining(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Return the models trained again with the chosen settings (S4)."""
    if not any(training.tuned_on for training in study.trainings):
        raise Skipped("There were no chosen settings to train again with")
    again = [training for training in study.trainings if training.retrained]
    if not again:
        raise Skipped("The models that were validated are the ones that were tested")
    names = {training.model for training in again}
    rows = tuple(
        (system.name, _span([run.trained_on for run in again if run.model == system.name]))
        for system in compared.ranked
        if system.name in names
    )
    return (
        Remark("With the settings found in S3, on all rows of train and validation together:"),
        ReportTable("Trained again", ("model", "examples"), rows),
    )


def testing(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return the tests of each model, with the answers that are not valid (S5)."""
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
    return (ReportTable("Tested", columns, tuple(rows), note),)


def _split_table(study: Study) -> ReportTable:
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
    return ReportTable("How the data were split", columns, rows)


def _chosen_on_the_test(tuned: Sequence[StudyTraining]) -> list[str]:
    """Return the models whose settings the test set chose."""
    return sorted({run.model for run in tuned if "test" in run.tuned_on.casefold().split()})


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


_CHOOSES = {
    "train": "rows of train choose settings; the test chooses nothing",
    "test": "THE TEST ITSELF chooses settings",
    "none": "nothing is chosen",
}
_MOST_INVALID = 20
_PER_RUN = 3
_MOST_GAPS = 5


def conditions_section(compared: ComparisonResult) -> Section:
    """Return all that is needed to run the same again, and to doubt it."""
    runs = [(system.name, run) for system in compared.ranked for run in system.every()]
    content: list[Content] = [*_protocols([run for _, run in runs]), *_invalid(runs)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            run.task,
            run.seed,
            *(digest[:12] for digest in split_of(run)),
            run.record.test_opened,
            run.directory.name,
        )
        for name, run in runs
    )
    columns = ("model", "task", "seed", "data hash", "split hash", "test opened", "run")
    content.append(folded(ReportTable("Runs", columns, rows), 8))
    content += _environments([run for _, run in runs])
    return Section(
        "conditions",
        "Protocol, seeds, hashes and machines",
        tuple(content),
        "Equal hashes mean the same rows in the same splits.",
    )


def in_part_sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return which systems follow their protocol in part, and in what they are less."""
    conditions: dict[str, list[str]] = {}
    for system in compared.ranked:
        for run in system.every():
            if run.record.in_part:
                gaps = "; ".join(run.record.in_part)
                text = f"{run.record.protocol.name} in part ({gaps})"
                conditions.setdefault(text, []).append(system.name)
    return tuple(
        f"{listed(list(dict.fromkeys(names)))} ran under {text}."
        for text, names in conditions.items()
    )[:_MOST_GAPS]


def _protocols(runs: list[Run]) -> list[Content]:
    protocols: dict[bytes, Protocol] = {}
    used: Counter[bytes] = Counter()
    for run in runs:
        protocol = run.record.protocol
        key = orjson.dumps(protocol, option=orjson.OPT_SORT_KEYS)
        protocols[key] = protocol
        used[key] += 1
    content: list[Content] = []
    for key in sorted(protocols, key=lambda digest: (protocols[digest].name, digest)):
        protocol = protocols[key]
        content.append(
            Remark(
                f"Protocol {protocol.name}: {protocol.title} ({protocol.source});"
                f" {_CHOOSES.get(protocol.validation, protocol.validation)}."
                f" {count(used[key], 'run')}."
            )
        )
        content += [Remark(f"Known defect: {defect}") for defect in protocol.defects]
        if not protocol.defects:
            content.append(Remark("No defect of the protocol is known."))
    return content


def _invalid(runs: list[tuple[str, Run]]) -> list[Content]:
    """Show answers that are not valid as the models gave them."""
    bad = [(name, run) for name, run in runs if run.scores.invalid]
    if not bad:
        return [Remark("Every answer was valid.")]
    total = sum(run.scores.invalid for _, run in bad)
    rows: list[tuple[Cell, ...]] = []
    for name, run in bad:
        shown = run.record.answers.invalid[:_PER_RUN]
        text = "; ".join(
            f"{line(redact(answer.raw).text, 120) or '(nothing)'!r} ({answer.count} times)"
            for answer in shown
        )
        notes = ", ".join(f"{what} {count:,}" for what, count in _notes(run))
        rows.append((name, run.task, run.seed, run.scores.invalid, notes, text))
    rows.sort(key=lambda row: (-int(row[3] or 0), str(row[0]), str(row[1])))
    columns = ("model", "task", "seed", "not valid", "of all answers", "what was said")
    note = f"{total:,} answers in all. They count as wrong."
    left = max(0, len(rows) - _MOST_INVALID)
    return [
        ReportTable(
            "Answers that are not valid", columns, tuple(rows[:_MOST_INVALID]), note, left_out=left
        )
    ]


def _notes(run: Run) -> list[tuple[str, int]]:
    """Return how many answers were refused, cut off or the like."""
    return sorted(run.record.answers.notes.items())


def _environments(runs: list[Run]) -> list[Content]:
    groups: dict[bytes, list[Run]] = defaultdict(list)
    for run in runs:
        facts = {key: getattr(run.record.environment, key) for key in _HARDWARE + _SOFTWARE}
        groups[orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)].append(run)
    rows: list[tuple[Cell, ...]] = []
    for key in sorted(groups, key=lambda group: (-len(groups[group]), group)):
        data = orjson.loads(key)
        machine = (
            f"{data['cpu']}, {data['cores']} cores, {data['memory_gb']} GB"
            f"{'; ' + listed(data['gpus']) if data['gpus'] else '; no GPU'}"
        )
        packages = ", ".join(
            f"{name} {version}" for name, version in sorted(data["packages"].items())
        )
        revision = (
            f" ({data['revision'][:12]}{'+' if data['revision'].endswith('+') else ''})"
            if (data["revision"])
            else ""
        )
        rows.append(
            (
                len(groups[key]),
                f"{data['goldpan']}{revision}",
                f"Python {data['python']}, {data['system']}",
                machine,
                packages,
            )
        )
    columns = ("runs", "Goldpan", "runtime", "machine", "packages")
    note = "A revision with + had changes that were not committed."
    return [folded(ReportTable("Environments", columns, tuple(rows), note), 8)]


_HARDWARE = ["cpu", "cores", "memory_gb", "gpus"]
_SOFTWARE = ["goldpan", "revision", "python", "system", "packages"]

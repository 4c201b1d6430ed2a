"""Under which conditions scores were obtained: protocols, seeds, hashes, machines."""

from __future__ import annotations

from collections import Counter, defaultdict

import orjson

from goldpan.core.sanitize import line
from goldpan.evaluation.comparison.question import ComparisonResult, split_of
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.runs import Run
from goldpan.report.document import Cell, Content, Section, Table, Text, folded, listed
from goldpan.report.number_format import count
from goldpan.text.redaction import redact

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
    content.append(folded(Table("Runs", columns, rows), 8))
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
            Text(
                f"Protocol {protocol.name}: {protocol.title} ({protocol.source});"
                f" {_CHOOSES.get(protocol.validation, protocol.validation)}."
                f" {count(used[key], 'run')}."
            )
        )
        content += [Text(f"Known defect: {defect}") for defect in protocol.defects]
        if not protocol.defects:
            content.append(Text("No defect of the protocol is known."))
    return content


def _invalid(runs: list[tuple[str, Run]]) -> list[Content]:
    """Show answers that are not valid as the models gave them."""
    bad = [(name, run) for name, run in runs if run.scores.invalid]
    if not bad:
        return [Text("Every answer was valid.")]
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
        Table(
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
    return [folded(Table("Environments", columns, tuple(rows), note), 8)]


_HARDWARE = ["cpu", "cores", "memory_gb", "gpus"]
_SOFTWARE = ["goldpan", "revision", "python", "system", "packages"]

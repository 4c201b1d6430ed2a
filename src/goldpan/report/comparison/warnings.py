"""What must be known before a score is quoted, leaks between the splits first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from goldpan.core.result import count
from goldpan.evaluation.compare.question import ComparisonResult
from goldpan.evaluation.slices import headline
from goldpan.evaluation.training import TEST
from goldpan.evaluation.units import MANY_PROJECTS
from goldpan.report.document import listed

_MOST = 3
"""Things of one kind that are named."""
_FEW_INVALID = 0.01


def warnings(compared: ComparisonResult) -> Iterator[str]:
    """Yield what a reader must know before quoting a score."""
    invalid = "are not valid"
    if compared.origin:
        invalid = "are none of the truths, or empty, and count as wrong"
        yield (
            f"Goldpan ran none of the models of these {compared.origin}, and knows nothing of leaks"
            " between training and test."
        )
    else:
        yield from _of_runs(compared)
    for system in compared.systems:
        scores = [own for results in system.results.values() for own in results]
        share = sum(own.invalid for own in scores) / (sum(own.examples for own in scores) or 1)
        if share > _FEW_INVALID:
            yield f"{100 * share:.1f} % of the answers of {system.name} {invalid}."
    yield from _some("Outside the ranking", compared.block.left_out)
    yield from _some("Without a score", compared.without_value)
    elsewhere = sorted({f"{run.model} on {run.task}" for run in compared.elsewhere})
    yield from _some("Not compared, as these runs are on other data or another split", elsewhere)


def _of_runs(compared: ComparisonResult) -> Iterator[str]:
    """Yield what is known of stored runs alone."""
    yield from _repeated_texts(compared)
    yield from _telling_dates(compared)
    yield from _protocols(compared)
    opened = {task: compared.times_opened(task) for task in compared.tasks}
    most = max(opened.values(), default=0)
    if most > 1:
        task = max(sorted(opened), key=lambda name: opened[name])
        yield (
            f"Test sets were scored {sum(opened.values()):,} times in this workspace, {task} alone"
            f" {most:,} times; picking the best of many scores overstates it."
        )
    single = sorted(
        system.name
        for system in compared.systems
        if any(len(runs) == 1 and runs[0].settings for runs in system.runs.values())
    )
    if single:
        yield (
            f"Scores of {listed(single)} come from a single seed, so how much they vary"
            " from training to training is unknown."
        )
    projects = {name: compared.first_run(name).scores.projects for name in compared.tasks}
    few = [f"{name} ({many})" for name, many in projects.items() if 1 < many < MANY_PROJECTS]
    if few:
        yield (
            f"Tests have fewer than {MANY_PROJECTS} projects: {listed(few, _MOST)};"
            " answers hold on new rows of these projects, and others may differ."
        )


def _some(start: str, left_out: Sequence[str]) -> Iterator[str]:
    """Yield the first of what is left out, if any, as a sentence."""
    more = len(left_out) - _MOST
    ending = f"; and {more} more" if more > 0 else ""
    if left_out:
        yield f"{start}: {'; '.join(left_out[:_MOST])}{ending}."


def _repeated_texts(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose test repeats texts of train, the worst first."""
    leaking = []
    for name in compared.tasks:
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        leaking += [run for run in runs if run.leaks.level in ("warning", "alarm")][:1]
    leaking.sort(key=lambda run: -run.leaks.share)
    for run in leaking[:_MOST]:
        text = headline(run.leaks, f"{run.scores.main} of {run.model}", run.value)
        yield text.replace("test rows", f"test rows of {run.task}", 1)
    if len(leaking) > _MOST:
        yield f"The same is true of {count(len(leaking) - _MOST, 'more task')}."


def _telling_dates(compared: ComparisonResult) -> Iterator[str]:
    """Yield a sentence for each task whose labels the date alone tells."""
    for name in compared.tasks:
        runs = (system.runs[name][0] for system in compared.ranked_on(name))
        signal = next((run.date_signal for run in runs if run.date_signal), None)
        if signal is not None and (sentence := signal.sentence()):
            yield f"{sentence.replace('train rows', f'train rows of {name}', 1)}."


def _protocols(compared: ComparisonResult) -> Iterator[str]:
    runs = [(system.name, run) for system in compared.systems for run in system.every()]
    if tests := [name for name, run in runs if run.learning.chosen_on == TEST]:
        yield (
            f"Settings or the best epoch of {_each(tests)} were chosen on the test set, so"
            " these scores are too high."
        )
    defects: dict[str, list[str]] = defaultdict(list)
    partly: dict[str, list[str]] = defaultdict(list)
    for name, run in runs:
        for defect in run.protocol.defects:
            defects[defect].append(run.protocol.name)
        if run.in_part:
            partly[f"{run.protocol.name} in part ({'; '.join(run.in_part)})"].append(name)
    for defect, names in defects.items():
        yield f"Protocol {_each(names)}: {defect}"
    for gaps, names in list(partly.items())[:_MOST]:
        yield f"{_each(names)} ran under {gaps}."
    if len({run.protocol.name for _, run in runs}) > 1:
        yield "The models ran under different protocols: compare them with care."


def _each(names: Iterable[str]) -> str:
    return listed(sorted(set(names)))

"""ECSER's steps S1 to S5: how the data were split, and how models were made and tested."""

from __future__ import annotations

from collections import defaultdict

from goldpan.evaluation.statistics.step_shapes import Cell, Content, Skipped, Table, Text
from goldpan.evaluation.statistics.study import Result, Study, Training


def split_step(study: Study) -> tuple[Content, ...]:
    """Say how the data of each task were divided (S1)."""
    if not study.splits:
        raise Skipped("No run says how its data were split")
    splits = sorted(study.splits, key=lambda split: split.task)
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
        for split in splits
    )
    columns = ("task", "method", "train", "validation", "test", "seed", "test opened", "split hash")
    caveats = tuple(Text(f"{split.task}: {split.caveat}") for split in splits if split.caveat)
    return (Table("How the data were split", columns, rows), *caveats)


def training_step(study: Study) -> tuple[Content, ...]:
    """Say what each model was trained on, with which settings (S2)."""
    if not study.trainings:
        raise Skipped("No run says how its model was made")
    if not any(one.trained_on for one in study.trainings):
        raise Skipped("No model was trained: all are prompted or follow fixed rules")
    rows = tuple(
        (one.model, one.task, one.seed, one.trained_on, _settings(one)) for one in _ordered(study)
    )
    return (Table("Training", ("model", "task", "seed", "examples", "settings"), rows),)


def tuning_step(study: Study) -> tuple[Content, ...]:
    """Say what chose the settings (S3)."""
    tuned = [one for one in _ordered(study) if one.tuned_on]
    if not tuned:
        raise Skipped("Settings were fixed beforehand; none was chosen by a validation set")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.model, one.task, one.seed, one.tuned_on, one.candidates, _settings(one))
        for one in tuned
    )
    columns = ("model", "task", "seed", "chosen on", "candidates", "chosen")
    found: tuple[Content, ...] = (Table("Chosen settings", columns, rows),)
    fixed = sorted({one.model for one in study.trainings} - {one.model for one in tuned})
    if fixed:
        found = (*found, Text(f"With settings fixed beforehand: {', '.join(fixed)}"))
    wrong = sorted({one.model for one in tuned if "test" in one.tuned_on.casefold().split()})
    if wrong:
        told = f"The test set chose the settings of {', '.join(wrong)}: their scores are too high"
        found = (*found, Text(told))
    return found


def retraining_step(study: Study) -> tuple[Content, ...]:
    """Say which models were trained anew with the chosen settings (S4)."""
    again = [one for one in _ordered(study) if one.retrained]
    if not any(one.tuned_on for one in study.trainings):
        raise Skipped("There were no chosen settings to train again with")
    if not again:
        raise Skipped("The models that were validated are the ones that were tested")
    rows = tuple((one.model, one.task, one.seed, one.trained_on) for one in again)
    return (Table("Trained again", ("model", "task", "seed", "examples"), rows),)


def testing_step(study: Study) -> tuple[Content, ...]:
    """Say which models answered which test sets (S5)."""
    tests: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in study.results:
        if result.part == "test":
            tests[result.model, result.task].append(result)
    if not tests:
        raise Skipped("No model was run on a test set")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            model,
            task,
            len({one.seed for one in found}),
            len({one.dataset for one in found}),
            sum(one.invalid for one in found),
        )
        for (model, task), found in sorted(tests.items())
    )
    columns = ("model", "task", "seeds", "data sets", "invalid answers")
    content: tuple[Content, ...] = (Table("Tested", columns, rows),)
    untested = sorted({f"{one.model} on {one.task}" for one in study.trainings if not one.tested})
    return (*content, Text(f"Not tested: {', '.join(untested)}")) if untested else content


def _ordered(study: Study) -> list[Training]:
    return sorted(study.trainings, key=lambda one: (one.task, one.model, one.seed))


def _settings(one: Training) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(one.settings.items()))

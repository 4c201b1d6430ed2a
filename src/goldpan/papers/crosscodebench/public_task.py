"""Makes a task of the registry out of a file that Goldpan did not write.

Its rows keep their places in the file as names, and `settings.crosscode` keeps what the registry
has no field for, so that writing it again gives the same type, categories and number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from goldpan.datasets.task import Label, Task, TaskColumns, TaskPrompt, TaskSource, TaskType
from goldpan.papers.crosscodebench.instance import Instance
from goldpan.papers.crosscodebench.meta import DATA, Example, Meta, slug

_MOST_LABELS = 1_000
_UNKNOWN = "unknown"
_BRACES = re.compile(r"[{}]")
_NEGATIVE = ("no", "correct", "false", "0", "negative")
"""Outputs that say that what is looked for is not there: not the positive class."""


def public_task(meta: Meta, instances: Iterable[Instance]) -> Task:
    """Return the task of a file, whose labels are the outputs that occur.

    A classification has two labels, or more; with over 1,000 outputs, and for all other types,
    the task is one of free text. `instances` are gone through once.
    """
    outputs: set[str] = set()
    total = 0
    for instance in instances:
        total += 1
        if len(outputs) <= _MOST_LABELS:
            outputs.add(instance.output)
    labels = _labels(outputs) if meta.kind.type == "Classification" else []
    kind: TaskType = "text-generation"
    if labels:
        kind = "binary" if len(labels) == 2 else "multi-class"
    return Task(
        name=slug(meta.stem),
        title=f"{meta.description} ({meta.source})",
        type=kind,
        description=meta.description,
        definition=meta.definition,
        category=meta.category or _UNKNOWN,
        activity="development",
        source=_source(meta),
        prompt=TaskPrompt(
            context="software engineering",
            instruction=_BRACES.sub("", meta.description),
            answer="Answer only with the output",
            entity="INPUT",
            examples=_plain(meta.positive),
            negative_examples=_plain(meta.negative),
        ),
        labels=tuple(Label(text, "", text) for text in labels),
        metric="macro_f1" if labels else "rouge_l",
        split="given",
        counts={"total": total},
        columns=TaskColumns(("input",), ("output",)),
        settings={
            "crosscode": {
                "number": meta.number,
                "type": meta.kind.names,
                "categories": list(meta.categories),
                "input_language": meta.input_language,
                "output_language": meta.output_language,
                "definition_is_whole": True,
            }
        },
    )


def _source(meta: Meta) -> TaskSource:
    return TaskSource(
        title=meta.source,
        url=meta.url,
        license=_UNKNOWN,
        citation=meta.bibtex,
        access="built",
        dataset=slug(meta.source).replace("_", "-"),
        builder="crosscode",
        note="It came as a file of CrossCodeBench.",
    )


def named_instances(meta: Meta, task: Task, instances: Iterable[Instance]) -> Iterator[Instance]:
    """Yield the instances under names that are unique in the task, with their place of origin."""
    for index, instance in enumerate(instances):
        source = f"{meta.stem}{DATA}#{instance.split}/{instance.idx}"
        facts = {"license": _UNKNOWN, "source": source}
        yield replace(instance, idx=f"{task.name}:{index:08}", facts=facts, exact={})


def _labels(outputs: set[str]) -> list[str]:
    if not 2 <= len(outputs) <= _MOST_LABELS:
        return []
    return sorted(outputs, key=lambda text: (text.casefold() in _NEGATIVE, text))


def _plain(examples: Iterable[Example]) -> tuple[tuple[str, str, str], ...]:
    return tuple((example.input, example.output, example.reason) for example in examples)

"""Task files for evaluation harnesses: Inspect and the LM Evaluation Harness.

No text of a row is ever part of a file that a harness runs or renders: those name columns alone.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson

from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.export.samples import Sample

HARNESSED = (QA.name, FAULT_LOCALIZATION.name, CODE_EDIT.name)
"""The families that are scored without running tests."""
METRICS = {
    QA.name: ("f1",),
    FAULT_LOCALIZATION.name: ("exact_path",),
    CODE_EDIT.name: ("exact_file", "applies"),
}
"""What `scoring.py` returns for each."""
_TOKENS = {QA.name: 1024, FAULT_LOCALIZATION.name: 256, CODE_EDIT.name: 4096}
_FOLDER = files("goldpan.datasets.export")


def scoring_module() -> str:
    """Return the module that scores answers, which stands beside the task files."""
    return (_FOLDER / "scoring.py").read_text(encoding="utf-8")


def inspect_sample(sample: Sample) -> dict[str, Any]:
    """Return a sample in the fields of Inspect's `Sample`."""
    return {
        "id": sample.id,
        "input": sample.prompt,
        "target": sample.target,
        "metadata": sample.facts,
    }


def inspect_task(family: str, split: str) -> str:
    """Return the Python file with the task that `inspect eval` runs."""
    template = (_FOLDER / "inspect_task.py.txt").read_text(encoding="utf-8")
    names = orjson.dumps(METRICS[family]).decode()
    return (
        template.replace("@FAMILY@", family)
        .replace("@SPLIT@", split)
        .replace("@TOKENS@", str(_TOKENS[family]))
        .replace("@METRICS@", names)
    )


def lm_eval_doc(sample: Sample) -> dict[str, Any]:
    """Return a sample as a document of the LM Evaluation Harness."""
    return {"id": sample.id, "prompt": sample.prompt, "target": sample.target, **sample.facts}


def lm_eval_name(family: str) -> str:
    """Return the name of a family's task."""
    return f"goldpan_{family.replace('-', '_')}"


def lm_eval_task(family: str, splits: list[str], split: str) -> str:
    """Return the task in YAML; `splits` are those with a file, `split` the one to score."""
    lines = [
        f"task: {lm_eval_name(family)}",
        "dataset_path: json",
        "dataset_kwargs:",
        "  data_files:  # relative: run lm_eval in this directory",
        *(f"    {name}: {name}.jsonl" for name in splits),
        *(["training_split: train"] if "train" in splits and split != "train" else []),
        f"test_split: {split}",
        "output_type: generate_until",
        "doc_to_text: prompt  # columns, not templates: no text is rendered",
        "doc_to_target: target",
        'target_delimiter: "\\n\\n"',
        "process_results: !function lm_eval_scoring.process_results",
        "generation_kwargs:",
        "  until: []",
        "  do_sample: false",
        f"  max_gen_toks: {_TOKENS[family]}",
        "metric_list:",
    ]
    for name in METRICS[family]:
        lines += [f"  - metric: {name}", "    aggregation: mean", "    higher_is_better: true"]
    return "\n".join([*lines, "metadata:", "  version: 1.0", ""])


def lm_eval_scoring(family: str) -> str:
    """Return the module that the YAML names; it is the scoring module with one more function."""
    return f'''{scoring_module()}

def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, float]:
    """Return the metrics of a document's answer."""
    return score("{family}", results[0], doc["target"], doc)
'''

"""Task files for evaluation harnesses: Inspect and the LM Evaluation Harness.

No text of a row is ever part of a file that a harness runs or renders: those name columns alone.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import orjson

from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.export.labels import LABEL, LABELS
from goldpan.datasets.export.samples import ExportSample

HARNESSED = (QA.name, FAULT_LOCALIZATION.name, CODE_EDIT.name)
"""The families that are scored without running tests."""
METRICS = {
    QA.name: ("f1",),
    FAULT_LOCALIZATION.name: ("exact_path",),
    CODE_EDIT.name: ("exact_file", "applies"),
    LABEL: ("accuracy",),
    LABELS: ("exact_match", "f1"),
}
"""What `scoring.py` returns for each kind of answer: of a family, or of a classification task."""
_TOKENS = {
    QA.name: 1024,
    FAULT_LOCALIZATION.name: 256,
    CODE_EDIT.name: 4096,
    LABEL: 64,
    LABELS: 256,
}
_FOLDER = files("goldpan.datasets.export")


def scoring_module() -> str:
    """Return the module that scores answers, which stands beside the task files."""
    return (_FOLDER / "scoring.py").read_text(encoding="utf-8")


def inspect_sample(sample: ExportSample) -> dict[str, Any]:
    """Return a sample in the fields of Inspect's `ExportSample`."""
    return {
        "id": sample.id,
        "input": sample.prompt,
        "target": sample.target,
        "metadata": sample.facts,
    }


def task_name(dataset: str) -> str:
    """Return what harnesses call the task of a dataset: an identifier, whatever its folder is."""
    return f"goldpan_{re.sub('[^a-z0-9]+', '_', dataset.lower()).strip('_')[:64] or 'dataset'}"


def inspect_task(name: str, kind: str, split: str) -> str:
    """Return the Python file with the task that `inspect eval` runs."""
    template = (_FOLDER / "inspect_task.py.txt").read_text(encoding="utf-8")
    names = orjson.dumps(METRICS[kind]).decode()
    return (
        template.replace("@NAME@", name)
        .replace("@KIND@", kind)
        .replace("@SPLIT@", split)
        .replace("@TOKENS@", str(_TOKENS[kind]))
        .replace("@METRICS@", names)
    )


def lm_eval_doc(sample: ExportSample) -> dict[str, Any]:
    """Return a sample as a document of the LM Evaluation Harness."""
    return {"id": sample.id, "prompt": sample.prompt, "target": sample.target, **sample.facts}


def lm_eval_task(name: str, kind: str, splits: list[str], split: str) -> str:
    """Return the task in YAML; `splits` are those with a file, `split` the one to score."""
    lines = [
        f"task: {name}",
        "custom_dataset: !function lm_eval_scoring.load_rows  # the files beside this one",
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
        f"  max_gen_toks: {_TOKENS[kind]}",
        "metric_list:",
    ]
    for name in METRICS[kind]:
        lines += [f"  - metric: {name}", "    aggregation: mean", "    higher_is_better: true"]
    return "\n".join([*lines, "metadata:", "  version: 1.0", ""])


def lm_eval_scoring(kind: str, splits: list[str]) -> str:
    """Return the module that the YAML names: the scoring module, and what finds the rows."""
    return f'''{scoring_module()}

def load_rows(**_: Any) -> Any:
    """Return the rows by split, from the files beside this one."""
    from pathlib import Path

    import datasets

    folder = Path(__file__).resolve().parent
    files = {{name: str(folder / f"{{name}}.jsonl") for name in {splits!r}}}
    return datasets.load_dataset("json", data_files=files)


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, float]:
    """Return the metrics of a document's answer."""
    return score("{kind}", results[0], doc["target"], doc)
'''

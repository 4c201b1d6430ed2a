"""The published table of the prompts of a split: every column, described."""

from __future__ import annotations

import pyarrow as pa

from goldpan.datasets.family import GROUP, Column, Family

_TEXT = pa.string()
_COUNT = pa.int32()
_NIU = """\
@inproceedings{niu2023crosscodebench,
  title     = {{CrossCodeBench}: Benchmarking Cross-Task Generalization of Source Code Models},
  author    = {Niu, Changan and Li, Chuanyi and Ng, Vincent and Luo, Bin},
  booktitle = {45th International Conference on Software Engineering},
  year      = {2023},
  doi       = {10.1109/ICSE48619.2023.00055}
}"""

CROSSCODE = Family(
    name="crosscode",
    title="Prompts of unseen tasks",
    task=(
        "Given a description of a task, perhaps with examples of it, and an input, write the "
        "output. The tasks of the test split are unlike those of the train split."
    ),
    source="CrossCodeBench, sections III-C and IV-A",
    citation=_NIU,
    columns=(
        Column("id", _TEXT, "The task's file, the split of the instance there, and its own name."),
        Column("task", _TEXT, "The task."),
        Column("type", _TEXT, "The type of the task."),
        Column("subtype", _TEXT, "Its sub-type, where the type has some."),
        Column("category", _TEXT, "The intent that tasks share."),
        Column("source", _TEXT, "The dataset that the task is from, which no other split has."),
        Column("work", _TEXT, "The published work behind that dataset, by its title."),
        Column("repo", _TEXT, "The repository of the instance, where its task tells."),
        Column("license", _TEXT, "The license of the instance, as its task tells."),
        Column(
            "created_at",
            pa.timestamp("us", tz="UTC"),
            "When the instance was written, where its task tells.",
        ),
        Column("prompt", _TEXT, "What the model is given.", holds="prose"),
        Column("input", _TEXT, "The whole input, whatever the prompt lost of it.", holds="prose"),
        Column("output", _TEXT, "The right output.", holds="prose"),
        Column("positive", _COUNT, "How many positive examples the prompt shows."),
        Column("negative", _COUNT, "How many negative examples it shows."),
        Column("examples_cut", _COUNT, "How many examples it lacks for its length."),
        Column("input_cut", pa.int64(), "How many characters of the input's end it lacks."),
    ),
    order=("id",),
    subject=("id",),
    inputs=("prompt",),
    target="output",
    task_categories=("text-generation",),
    tags=("cross-task-generalization", "instruction-tuning"),
    limits=(
        "The train and test splits are for the question whether a model solves tasks of a kind "
        "that it has not seen; a model that saw such tasks elsewhere does not answer it.",
        "Outputs are those of the tasks' datasets, with their errors.",
        "Nothing keeps a model from following what a text within a prompt says.",
    ),
    known_right="How right the outputs are is told by the datasets of the tasks.",
    partition=GROUP,
    works="work",
)
"""The prompts of a split of CrossCodeBench; the group of a row is its split."""

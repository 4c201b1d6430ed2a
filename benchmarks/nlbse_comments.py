"""The code-comment competition of NLBSE'23: what each baseline scores, and what it takes.

Everything is run by the commands that people type, on the official partition, with settings and
thresholds chosen inside train. Beside it stand the honest distances: the sentence alone, whole
classes held out, and the share of test sentences that stand word for word in train::

    python -m benchmarks.nlbse_comments [--data ../shared/data/nlbse23-comments] [--quick]

The whole takes about 30 minutes on two cores, --quick three.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
import pyarrow.compute as pc
from pydantic import TypeAdapter

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import read_task_data
from goldpan.datasets.tasks.registry import load_tasks
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.metrics.classification import label_metric
from goldpan.evaluation.metrics.estimate import Confusion, Scores
from goldpan.papers.nlbse.nlbse23_tables import BASELINE, CommentScore, baseline_f1, comment_score

DATA = Path(__file__).parents[2] / "shared" / "data" / "nlbse23-comments"
FIFTHS = ("document", "document:1", "document:2", "document:3", "document:4")
NEAR = ("--set", "context=neighbors")


@dataclass(frozen=True, slots=True)
class Entry:
    """A system, as it is asked for."""

    about: str
    options: tuple[str, ...]
    quick: bool = False
    shown: bool = False
    """Whether its categories are printed one by one."""
    held_out: bool = False
    """Whether whole classes are held out, each fifth of them once."""


ENTRIES = (
    Entry("tfidf-svm, sentence alone", ("--model", "tfidf-svm"), quick=True),
    Entry("tfidf-svm, neighbors", ("--model", "tfidf-svm", *NEAR), quick=True),
    Entry("embeddings, neighbors", ("--model", "embeddings", *NEAR)),
    Entry("ensemble, neighbors", ("--model", "ensemble", *NEAR), shown=True),
    Entry("classes held out: tfidf-svm alone", ("--model", "tfidf-svm"), True, held_out=True),
    Entry(
        "classes held out: tfidf-svm, neighbors",
        ("--model", "tfidf-svm", *NEAR),
        quick=True,
        held_out=True,
    ),
    Entry("classes held out: ensemble, neighbors", ("--model", "ensemble", *NEAR), held_out=True),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a system answered by category, over all its runs, and what they took."""

    answered: dict[str, Confusion]
    wall: float
    processor: float

    def value(self, task: str, metric: str) -> float:
        """Return a metric of a category, 0 where it is undefined."""
        return label_metric(self.answered[task], metric) or 0.0

    def mean(self, metric: str) -> float:
        """Return the mean over the categories."""
        return sum(self.value(task, metric) for task in BASELINE) / len(BASELINE)

    @property
    def ranked(self) -> CommentScore:
        """The score of the competition."""
        return comment_score({task: self.value(task, "f1") for task in BASELINE})


parsed = TypeAdapter(Scores).validate_python


def goldpan(workspace: Path, *arguments: str) -> bytes:
    """Run a command, and return what it prints."""
    program = Path(sys.executable).with_name("goldpan")
    command = [str(program), *arguments, "--workspace", str(workspace)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def tasks() -> list[Task]:
    """Return the categories' tasks."""
    return [task for name, task in load_tasks().items() if name in BASELINE]


def measure(workspace: Path, entry: Entry) -> Measured:
    """Run a system on all categories; what was run before costs what it cost then."""
    results = []
    for kind in FIFTHS if entry.held_out else (None,):
        held = () if kind is None else ("--hold-out", kind)
        command = ("evaluate", "run", "--suite", "nlbse23", "--protocol", "nlbse23", "--json")
        printed = orjson.loads(goldpan(workspace, *command, *entry.options, *held))
        results += printed
    positive = {task.name: task.label_names[0] for task in tasks()}
    counts = {task: [0, 0, 0, 0] for task in BASELINE}
    for result in results:
        confusions = {
            counted.label: counted for counted in parsed(result["scores"]).label_confusions
        }
        confusion = confusions[positive[result["task"]]]
        for index, count in enumerate(confusion.counts):
            counts[result["task"]][index] += count
    costs = [result["costs"] for result in results]
    return Measured(
        {task: Confusion(*sums) for task, sums in counts.items()},
        sum(cost["wall_seconds"] for cost in costs),
        sum(cost["cpu_seconds"] for cost in costs),
    )


def copied(workspace: Path) -> Iterator[tuple[str, float]]:
    """Yield for each language what share of its test sentences stands word for word in train."""
    shares: dict[str, list[float]] = {}
    for task in tasks():
        splits = read_task_data(WorkspaceLayout(workspace).dataset(task.name), task).splits
        train = pc.unique(splits["train"]["text"])
        share = pc.mean(pc.is_in(splits["test"]["text"], value_set=train)).as_py()
        shares.setdefault(str(task.settings["language"]), []).append(share)
    for language, values in sorted(shares.items()):
        yield language, sum(values) / len(values)


def line(cells: Sequence[str]) -> None:
    """Print a line of a Markdown table."""
    print("| " + " | ".join(cells) + " |")


def categories(measured: Measured) -> None:
    """Print a system category by category."""
    line(("category", "precision", "recall", "F1", "organizers' F1", "won"))
    line(("---", *["---:"] * 4, "---"))
    before, won = baseline_f1(), measured.ranked.won
    for name in BASELINE:
        values = (measured.value(name, metric) for metric in ("precision", "recall", "f1"))
        cells = [f"{value:.3f}" for value in (*values, before[name])]
        line((name.removeprefix("nlbse23_"), *cells, "yes" if name in won else "no"))


def main() -> None:
    """Import the data, run the systems, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        workspace = options.workspace or Path(scratch)
        for task in tasks():
            if not (workspace / "datasets" / task.name).exists():
                file = options.data / f"{task.settings['language']}.csv.xz"
                goldpan(workspace, "tasks", "import", task.name, str(file))
        begun, shown = time.monotonic(), {}
        print(f"{os.cpu_count()} cores; test sentences that stand word for word in train:")
        print(", ".join(f"{name} {share:.0%}" for name, share in copied(workspace)))
        print()
        line(("system", "precision", "recall", "F1", "won", "score", "CPU s", "wall s"))
        line(("---", *["---:"] * 7))
        for entry in ENTRIES:
            if options.quick and not entry.quick:
                continue
            measured = measure(workspace, entry)
            ranked = measured.ranked
            cells = [f"{measured.mean(metric):.3f}" for metric in ("precision", "recall", "f1")]
            cells += [str(len(ranked.won)), f"{ranked.score:.4f}"]
            line((entry.about, *cells, f"{measured.processor:.0f}", f"{measured.wall:.0f}"))
            sys.stdout.flush()
            if entry.shown:
                shown[entry.about] = measured
        for about, measured in shown.items():
            print(f"\n{about}:\n")
            categories(measured)
        print(f"\n{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()

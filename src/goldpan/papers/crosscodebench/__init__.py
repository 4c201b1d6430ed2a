"""CrossCodeBench: tasks as text to text, and splits that evaluate on unseen tasks."""

from pathlib import Path

from goldpan.plugins import Builder, Command, Files, Part, register

_HERE = Path(__file__).parent
_TABLES = "goldpan.papers.crosscodebench.tables"
_OPERATIONS = "goldpan.papers.crosscodebench.operations"
_COMMANDS = ("export", "import", "check", "splits", "split", "shortcut")
_COMPUTATIONS = ("categories", "runs", "scaling", "tasks")

register(
    Files("protocol", _HERE / "protocols"),
    Files("recipe", _HERE / "recipes"),
    *(Part("computation", f"crosscode-{name}", f"{_TABLES}:{name}") for name in _COMPUTATIONS),
    Part("report section", "shortcuts", "goldpan.papers.crosscodebench.shortcuts:SECTION"),
    Builder(
        "crosscode",
        f"{_OPERATIONS}:crosscode",
        reads="tasks",
        finders={
            "split": "goldpan.papers.crosscodebench.splits:find_split",
            "method": "goldpan.datasets.tasks.wording:find_method",
        },
        unscored="Import prompts with goldpan build crosscode import, and name their task in task",
    ),
    *(Command(f"build crosscode {name}", f"{_OPERATIONS}:{name}_") for name in _COMMANDS),
)

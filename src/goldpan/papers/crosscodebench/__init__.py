"""CrossCodeBench: tasks as text to text, and splits that evaluate on unseen tasks."""

from pathlib import Path

from goldpan.plugins import Builder, Command, Files, Part, register

_HERE = Path(__file__).parent
_OPERATIONS = "goldpan.papers.crosscodebench.operations"
_COMMANDS = ("export", "import", "split")

register(
    Files("protocol", _HERE / "protocols"),
    Part("recipe", "crosscodebench", "goldpan.papers.crosscodebench.tables:PAPER"),
    Builder(
        "crosscode",
        f"{_OPERATIONS}:crosscode",
        reads="tasks",
        finders={
            "split": "goldpan.papers.crosscodebench.splits:find_split",
            "method": "goldpan.datasets.tasks.wording:find_method",
        },
    ),
    *(Command(f"build crosscode {name}", f"{_OPERATIONS}:{name}_") for name in _COMMANDS),
)

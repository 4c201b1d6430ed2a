"""A task of one's own needs a file, its texts and its label; what lacks is said at once."""

from __future__ import annotations

from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import tasks_directory
from goldpan.datasets.tasks.checks import check_files
from goldpan.datasets.tasks.registry import load_tasks, parse_task
from tests.invoking import Invoked, invoke


def say(root: Path, *arguments: str) -> Invoked:
    return invoke(*arguments, "--workspace", root)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "reports.csv"
    kinds = ["1,alpha", "0,beta", "0,alpha"]
    rows = [
        f'"Crash ""{at}""",body of {at},{kinds[at % 3]},{at * 1.5},kind {at % 12}'
        for at in range(60)
    ]
    path.write_text("\n".join(["title,body,urgent,team,hours,kind", *rows]), encoding="utf-8")
    return path


def test_text_label_and_file_make_a_task_that_runs(tmp_path: Path, table: Path) -> None:
    root = tmp_path / "lab"
    columns = ("--text", "title", "--text", "body", "--label", "urgent", "--repo", "team")
    done = say(root, "tasks", "add", "urgent", str(table), *columns)
    assert done.exit_code == 0, done.output
    assert "binary, the positive class is 1, the other 0" in done.stdout
    assert not check_files(tasks_directory(root)).problems
    ran = say(root, "evaluate", "run", "--task", "urgent", "--model", "majority", "--json")
    (result,) = orjson.loads(ran.stdout)
    assert result["scores"]["examples"] == 12
    assert set(result["scores_by"]) == {"repo"}


@pytest.mark.parametrize(
    ("label", "kind", "labels"),
    [("team", "binary", 2), ("hours", "regression", 0), ("kind", "multi-class", 12)],
)
def test_the_column_says_what_kind_of_task_it_is(
    tmp_path: Path, table: Path, label: str, kind: str, labels: int
) -> None:
    root = tmp_path / "lab"
    made = say(root, "tasks", "add", "mine", str(table), "--text", "title", "--label", label)
    assert made.exit_code == 0, made.output
    task = load_tasks(tasks_directory(root))["mine"]
    assert (task.type, len(task.labels)) == (kind, labels)


def test_labels_are_whole_numbers_where_tables_hold_floats(tmp_path: Path) -> None:
    table = tmp_path / "reports.parquet"
    rows = [{"title": f"Crash {at}", "urgent": float(at % 2)} for at in range(20)]
    pq.write_table(pa.Table.from_pylist(rows), table)
    columns = ("--text", "title", "--label", "urgent")
    made = say(tmp_path / "lab", "tasks", "add", "mine", str(table), *columns)
    assert made.exit_code == 0, made.output
    assert "the positive class is 1, the other 0" in made.stdout


def test_lists_and_missing_numbers_are_no_labels(tmp_path: Path) -> None:
    tags = [["ui", "db"], ["db", "ui"], ["ui"]]
    rows = [
        {"title": f"Crash {at}", "tags": tags[at % 3], "y": (1.0, 0.0, float("nan"))[at % 3]}
        for at in range(30)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "reports.parquet")
    columns = (str(tmp_path / "reports.parquet"), "--text", "title", "--label")
    several = say(tmp_path / "lab", "tasks", "add", "mine", *columns, "tags")
    assert "tags holds lists or objects, such as \"['ui', 'db']\"" in several.stderr
    assert "multi-label" in several.stderr
    texts = (columns[0], "--text", "tags", "--label", "y")
    nested = say(tmp_path / "lab", "tasks", "add", "mine", *texts)
    assert "row 1: 'tags' holds a list or an object, no text" in nested.stderr
    missing = say(tmp_path / "lab", "tasks", "add", "mine", *columns, "y")
    assert "rows without y: 10 (rows 3, 6, 9, 12, 15 and 5 more)" in missing.stderr
    dropped = say(tmp_path / "lab", "tasks", "add", "mine", *columns, "y", "--drop-empty")
    assert "20 rows" in dropped.stdout
    assert "10 left out: no label" in dropped.stdout
    again = say(tmp_path / "lab", "tasks", "import", "mine", columns[0], "--json")
    assert orjson.loads(again.stdout)["unlabeled"] == 10


@pytest.mark.parametrize(
    ("kinds", "doubt"),
    [
        # A minus is part of a number, and a zero behind the point is not.
        (("-1", "1", "1.0"), "'1.0' may be the same label as '1'"),
        (("gr\u00fcn", "rot", "gru\u0308n"), "'gru\u0308n' may be the same label as 'gr\u00fcn'"),
        (("bug", "other", "bug\u200b"), "'bug⟨U+200B⟩' may be the same label as 'bug'"),
    ],
)
def test_labels_that_are_written_in_two_ways_are_told(
    tmp_path: Path, kinds: tuple[str, str, str], doubt: str
) -> None:
    table = tmp_path / "reports.csv"
    rows = [f"text {at},{kinds[at % 3]}" for at in range(30)]
    table.write_text("\n".join(["body,kind", *rows]), encoding="utf-8")
    columns = (str(table), "--text", "body", "--label", "kind", "--json")
    made = orjson.loads(say(tmp_path / "lab", "tasks", "add", "mine", *columns).stdout)
    told = [doubt["about"] for doubt in made["doubts"]]
    assert told == [doubt]


@pytest.mark.parametrize("written", ["{},5", "1,2{:02}"])
def test_numbers_with_a_comma_are_told(tmp_path: Path, written: str) -> None:
    table = tmp_path / "points.csv"
    rows = [f"text {at};{written.format(at % 15)}" for at in range(60)]
    table.write_text("\n".join(["body;points", *rows]), encoding="utf-8")
    columns = (str(table), "--text", "body", "--label", "points")
    made = say(tmp_path / "lab", "tasks", "add", "mine", *columns)
    assert "points holds numbers with commas, such as " in made.stderr
    assert "decimals have a point" in made.stderr


def test_a_label_may_hold_a_comma(tmp_path: Path, table: Path) -> None:
    table.write_text(table.read_text(encoding="utf-8").replace("alpha", '"a, b"'), encoding="utf-8")
    columns = (str(table), "--text", "title", "--label", "team")
    made = say(tmp_path / "lab", "tasks", "add", "mine", *columns)
    assert made.stdout.count("the other") == 1
    assert "the positive class is beta, the other a, b" in made.stdout


def test_all_that_lacks_is_said_at_once(tmp_path: Path, table: Path) -> None:
    nothing = say(tmp_path / "lab", "tasks", "add", "Mine")
    assert nothing.exit_code == UsageError.exit_code
    for part in ("4 things", "cannot name a task", "no file", "--text", "--label"):
        assert part in nothing.stderr
    wrong = say(
        tmp_path / "lab",
        *("tasks", "add", "mine", "--text", "subject", "--label", "kinds"),
        *(str(table), str(tmp_path / "none.csv")),
    )
    for part in (
        "'subject', 'kinds' (did you mean kind?)",
        "'title', 'body', 'urgent'",
        "none.csv does not exist (give the path of a file)",
    ):
        assert part in wrong.stderr
    free = say(
        tmp_path / "lab",
        *("tasks", "add", "mine", "--text", "title", "--label", "body", str(table)),
    )
    assert "body has 60 different values in 60 rows" in free.stderr
    assert free.stderr.endswith("Correct this, and run the command again.\n")
    assert not (tmp_path / "lab" / "tasks").exists()


def test_a_task_file_says_all_that_is_wrong_with_it() -> None:
    with pytest.raises(UsageError) as error:
        parse_task("mine.toml", 'type = "binry"\nmetrik = "f1"\nmax_length = "long"\n')
    for part in ("3 things", "metrik", "did you mean metric", "type", "max_length"):
        assert part in str(error.value).lower()
    short = 'type = "binary"\nlabels = [{name = "a"}, {name = "b"}]\n'
    task = parse_task("mine.toml", f'{short}columns = {{text = ["t"], target = ["l"]}}\n')
    assert (task.title, task.source.reader, task.labels[0].description) == ("mine", "table", "a")


def test_rows_that_do_not_fit_are_all_named(tmp_path: Path, table: Path) -> None:
    root = tmp_path / "lab"
    say(root, "tasks", "add", "mine", str(table), "--text", "title", "--label", "team")
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace(",alpha", ",gamma").replace(",beta", ",delta"), encoding="utf-8")
    failed = say(root, "tasks", "import", "mine", str(table))
    assert failed.exit_code == DatasetError.exit_code
    for part in ("2 things", "'gamma', in 40 rows, first in row 1", "'delta', in 20 rows"):
        assert part in failed.stderr


def test_every_command_takes_tasks_from_a_directory(tmp_path: Path, table: Path) -> None:
    root, own = tmp_path / "lab", tmp_path / "tasks"
    own.mkdir()
    options = ("--tasks", str(own))
    columns = (str(table), "--text", "title", "--label", "urgent")
    assert say(root, "tasks", "add", "mine", *columns, *options).exit_code == 0
    assert (own / "mine.toml").exists()
    runs = [
        ("evaluate", "run", "--task", "mine", "--model", "majority"),
        ("evaluate", "score", "--task", "mine"),
        ("evaluate", "compare", "--task", "mine"),
        ("evaluate", "label-errors", "--task", "mine"),
        ("report", "--runs", "--output", str(tmp_path / "report.html")),
        ("build", "crosscode", "export", "--task", "mine"),
        ("tasks", "show", "mine"),
        ("tasks", "import", "mine", str(table)),
    ]
    for arguments in runs:
        done = say(root, *arguments, *options)
        assert done.exit_code == 0, (arguments, done.output)
    typo = say(root, "evaluate", "score", "--task", "mind", *options)
    assert "'mind' (did you mean mine?)" in typo.stderr
    unknown = say(root, "evaluate", "run", "--task", "mine", "--model", "majority")
    assert "no task 'mine'" in unknown.stderr
    missing = say(root, "evaluate", "score", "--tasks", str(tmp_path / "nowhere"))
    assert "is not a directory" in missing.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The registry does not know" not in page


def test_what_looks_wrong_with_a_table_is_listed_with_its_rows(tmp_path: Path) -> None:
    kinds = ("Crash", "feature", "question")
    rows = [f"{at},text {at} on {kinds[at % 3]},{kinds[at % 3]}" for at in range(60)]
    odd = ["60,it crashes on save,crash", "61,,feature", "62,text 0 on Crash,Crash"]
    odd += ["63,text 0 on Crash,question", "64,dark mode,featrue", "65,all else,N/A"]
    odd += ["66,a hole,security", "67,C is old,C", "68,C++ is not,C++"]
    table = tmp_path / "kinds.csv"
    table.write_text("\n".join(["id,body,kind", *rows, *odd]), encoding="utf-8")
    root = tmp_path / "lab"
    columns = (str(table), "--text", "body", "--label")
    made = say(root, "tasks", "add", "kinds", *columns, "kind", "--json")
    result = orjson.loads(made.stdout)
    assert result["labels"]["Crash"] == 21
    told = {doubt["about"]: (doubt["rows"], doubt["examples"]) for doubt in result["doubts"]}
    assert told == {
        "'crash' may be the same label as 'Crash'": (1, ["61"]),
        "'featrue' has one row, too few to train and test": (1, ["65"]),
        "'N/A' has one row, too few to train and test": (1, ["66"]),
        "'security' has one row, too few to train and test": (1, ["67"]),
        "'C' has one row, too few to train and test": (1, ["68"]),
        "'C++' has one row, too few to train and test": (1, ["69"]),
        "Empty texts": (1, ["62"]),
        "Equal texts with the same answer": (1, ["63 = 1"]),
        "Equal texts with different answers": (1, ["64 = 1"]),
    }
    numbers = say(root, "tasks", "add", "numbers", *columns, "id")
    assert "id numbers the rows, 0 to 68" in numbers.stderr

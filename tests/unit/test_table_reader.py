"""Tables of every form give the same rows, and say exactly what does not fit."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.table_files import stem_of, table_rows
from goldpan.datasets.tasks import table_reader as table
from goldpan.datasets.tasks.checks import check_task
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task
from tests.tasks import CSV, own_task

ROWS = list(csv.DictReader(io.StringIO(CSV)))


def write_xlsx(path: Path) -> None:
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book = Workbook()
    for line in csv.reader(io.StringIO(CSV)):
        book.active.append(line)
    book.save(path)


def write_tar(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        folder = tarfile.TarInfo("data")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        member = tarfile.TarInfo("data/toy.csv")
        member.size = len(CSV)
        archive.addfile(member, io.BytesIO(CSV.encode()))


def write_packed_parquet(path: Path) -> None:
    with gzip.open(path, "wb") as file:
        pq.write_table(pa.Table.from_pylist(ROWS), file)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "toy.csv": lambda path: path.write_text("\ufeff" + CSV, encoding="utf-8"),
    "toy.tsv": lambda path: path.write_text(CSV.replace(",", "\t"), encoding="utf-8"),
    "toy.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "toy.tar.gz": write_tar,
    "toy.csv.xz": lambda path: path.write_bytes(lzma.compress(CSV.encode())),
    "toy.csv.bz2": lambda path: path.write_bytes(bz2.compress(CSV.encode())),
    "toy.csv.zst": lambda path: path.write_bytes(zstandard.compress(CSV.encode())),
    "toy.TAR.GZ": write_tar,
    "toy.tar.csv": lambda path: path.write_text(CSV, encoding="utf-8"),
    "toy.jsonl": lambda path: path.write_text(
        "\ufeff" + "\n".join(map(json.dumps, ROWS)), encoding="utf-8"
    ),
    "toy.json": lambda path: path.write_text(json.dumps(ROWS, indent=1), encoding="utf-8"),
    "toy.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "toy.parquet.gz": write_packed_parquet,
    "toy.xlsx": write_xlsx,
}


def toy(directory: Path, *changes: tuple[str, str]) -> Task:
    own_task(directory / "tasks", *changes)
    return find_task("toy_issues", directory / "tasks")


def rows_of(
    directory: Path, content: str, *changes: tuple[str, str], name: str = "toy.csv"
) -> list[dict[str, Any]]:
    """Return what is read of a file, by the task with texts in its own file changed."""
    path = directory / name
    path.write_text(content, encoding="utf-8", newline="")
    return list(table.read(toy(directory, *changes), [path]))


@pytest.mark.parametrize("name", WRITERS)
def test_every_form_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    rows = list(table.read(toy(tmp_path), [tmp_path / name]))
    assert [row["text"] for row in rows] == [
        "A  falls\napart",
        "Make it\nred",
        "B falls\napart",
        "Make it\nblue",
    ]
    assert [row["label"] for row in rows] == ["bug", "wish", "bug", "wish"]
    assert [row["id"] for row in rows] == [f"toy_issues:{name}:{at}" for at in range(1, 5)]


@pytest.mark.parametrize(
    "content",
    [
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        CSV.replace("\n", "\r\n"),
        CSV.replace("title,body,kind", " title ,body ,kind"),
        "".join(f"{at or ''},{at or ''},{line}\n" for at, line in enumerate(CSV.splitlines())),
    ],
    ids=["semicolons", "tabs", "line-ends", "blanks", "two-columns-without-name"],
)
def test_other_hands_leave_rows_as_they_are(tmp_path: Path, content: str) -> None:
    rows = rows_of(tmp_path, content)
    assert [row["label"] for row in rows] == ["bug", "wish", "bug", "wish"]
    assert rows[0]["text"] == "A  falls\napart"


def test_columns_that_a_task_does_not_name_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="toy_issues: columns: text or target is missing"):
        rows_of(tmp_path, CSV, ('target = ["kind"]', ""))


def test_a_name_of_two_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"toy\.csv has two columns called 'kind'"):
        rows_of(tmp_path, "title,body,kind,kind\nx,y,B,W\n")


def test_numbers_of_pandas_are_labels(tmp_path: Path) -> None:
    changes = (('"B" = ', "1 = "), ('"W" = ', "0 = "))
    rows = rows_of(tmp_path, "title,body,kind\nx,y,1.0\nz,y,0\n", *changes)
    assert [row["label"] for row in rows] == ["bug", "wish"]


def test_cells_that_are_no_number_are_missing(tmp_path: Path) -> None:
    """Tables of polars and R hold NaN where a number is missing, and pandas writes it as null."""
    nothing = {"title": "x", "body": float("nan"), "kind": "B", "doc": float("nan")}
    pq.write_table(pa.Table.from_pylist([nothing]), tmp_path / "toy.parquet")
    task = toy(tmp_path, ("[settings]", '[settings]\ndocument = "doc"'))
    (row,) = table.read(task, [tmp_path / "toy.parquet"])
    assert (row["text"], row["document"]) == ("x\n", None)


@pytest.mark.parametrize("written", ["nan", "-inf", "1e999", "1,5", ""])
def test_a_target_that_is_no_finite_number_is_told(tmp_path: Path, written: str) -> None:
    content = f'title,body,kind\nx,y,3\nx,y,"{written}"\n'
    with pytest.raises(DatasetError, match=rf"row 2: '{written}' is not a finite number\. Fix"):
        rows_of(tmp_path, content, ("multi-class", "regression"))


def test_a_missing_column_that_chooses_rows_is_told(tmp_path: Path) -> None:
    only = ("[settings]", '[settings]\nonly = { language = "en" }')
    with pytest.raises(DatasetError, match="has no column 'language'"):
        rows_of(tmp_path, "title,body,kind\nx,y,B\n", only)


def test_settings_tell_of_more_columns(tmp_path: Path) -> None:
    settings = (
        'id = "n"\nrepo = "where"\ncreated_at = "at"\ndocument = "doc"\n'
        'partitions = { test = "_test" }\nonly = { lang = "en" }\nlabels = {'
    )
    content = (
        "n,where,at,doc,lang,title,body,kind\n"
        "7,https://github.com/o/n,2020-01-02T03:04:05Z,d,en,a,b,B\n"
        "8,https://api.github.com/repos/o/n,08/31/2012 00:00:01,,en,a,b,wish\n"
        "9,x,,d,fr,a,b,B\n"
    )
    first, second = rows_of(tmp_path, content, ("labels = {", settings), name="toy_test.csv")
    assert (first["repo"], second["repo"]) == ("o/n", "o/n")
    assert (first["document"], second["document"]) == ("d", None)
    assert first["created_at"].isoformat() == "2020-01-02T03:04:05+00:00"
    assert second["created_at"].isoformat() == "2012-08-31T00:00:01+00:00"
    assert (first["source"], first["partition"]) == ("toy_test.csv:1 (7)", "test")
    assert second["label"] == "wish"


def test_several_labels_stand_in_columns_or_in_one(tmp_path: Path) -> None:
    several, columns = ("multi-class", "multi-label"), ('["kind"]', '["b", "w"]')
    marked = rows_of(
        tmp_path, "title,body,b,w\nx,y,1,0\nx,y,True,1.0\nx,y,,false\n", several, columns
    )
    assert [row["labels"] for row in marked] == [["bug"], ["bug", "wish"], []]
    with pytest.raises(DatasetError, match=r"toy\.csv, row 1: b holds '2', which is neither"):
        rows_of(tmp_path, "title,body,b,w\nx,y,2,0\n", several, columns)
    separator = ("labels = {", 'separator = "|"\nlabels = {')
    joined = rows_of(tmp_path, "title,body,kind\nx,y,B|W\nx,y,\n", several, separator)
    assert [row["labels"] for row in joined] == [["bug", "wish"], []]


def test_a_file_is_read_by_the_first_layout_that_fits(tmp_path: Path) -> None:
    forms = (
        'file = "(?P<repo>[a-z]+)-(?P<label>B|W)"\nids = "{repo}/{stem}:{number:02}"\n'
        'layouts = [{ text = ["words"], file = "plain", repo = "the {who}", strip = " \'" }]\n'
        'id = ["n", "m"]\nlabels = {'
    )
    task = toy(tmp_path, ("labels = {", forms))
    named = tmp_path / "acme-B.csv"
    named.write_text("m,title,body\n5,x,y\n", encoding="utf-8")
    plain = tmp_path / "plain.csv"
    plain.write_text("who,words,kind\nteam,' z ',W\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"settings: file, ids or repo cannot be used \('repo'\)"):
        list(table.read(task, [named]))
    task = toy(tmp_path, ("labels = {", forms.replace("the {who}", 'the {who}", ids = "{stem}')))
    first, second = table.read(task, [named, plain])
    assert (first["id"], first["label"]) == ("toy_issues:acme/acme-B:01", "bug")
    assert (first["repo"], first["source"]) == ("acme", "acme-B.csv:1 (5)")
    assert (second["id"], second["repo"], second["text"]) == ("toy_issues:plain", "the team", "z")
    named.write_text("title,body,kind\nx,y,W\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="row 1, is W, and the file's name says B"):
        list(table.read(task, [named]))
    with pytest.raises(
        UsageError, match=r"does not have the name of a file of Toy issues.*toy\.csv"
    ):
        list(table.read(task, [tmp_path / "toy.csv"]))
    with pytest.raises(UsageError, match="second file with rows such as toy_issues:plain"):
        list(table.read(task, [plain, plain]))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('layouts = "x"', "settings.layouts is not an array of tables"),
        ("layouts = [{ texts = [] }]", r"the key texts is unknown\. Did you mean text"),
        ('file = "("', "file, ids or repo cannot be used"),
        ('ids = "{numb}"', r"file, ids or repo cannot be used \('numb'\)"),
        ('ids = "{stem.x}"', "file, ids or repo cannot be used"),
        ('repo = "{body"', "file, ids or repo cannot be used"),
        ("empty = 1", "empty: "),
    ],
)
def test_settings_that_cannot_be_used_are_told(tmp_path: Path, setting: str, message: str) -> None:
    task = toy(tmp_path, ("labels = {", f"{setting}\nlabels = {{"))
    with pytest.raises(UsageError, match=rf"toy_issues: .*{message}"):
        list(table.read(task, []))
    assert [problem.key for problem in check_task(task)] == ["settings"]


def test_commas_without_quotes_belong_to_one_column(tmp_path: Path) -> None:
    unquoted = ("labels = {", 'unquoted = "body"\nlabels = {')
    rows = rows_of(tmp_path, "title,body,kind\nx,y, and z,B\nx,y,W\n", unquoted)
    assert [row["text"] for row in rows] == ["x\ny, and z", "x\ny"]
    with pytest.raises(DatasetError, match="line 2: the row does not have the 3 fields"):
        rows_of(tmp_path, "title,body,kind\nx,B\n", unquoted)


def test_a_list_in_brackets_is_several_labels(tmp_path: Path) -> None:
    def labels(written: str) -> object:
        content = f"title\tbody\tkind\nx\ty\t{written}\n"
        (row,) = rows_of(tmp_path, content, ("multi-class", "multi-label"), name="toy.tsv")
        return row["labels"]

    assert labels("['B', u'W']") == ["bug", "wish"]
    assert labels('[" B "]') == ["bug"]
    assert labels("[]") == []
    with pytest.raises(DatasetError, match=r"row 1: .* is not a label of toy_issues"):
        labels("['B', W]")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("title,body\nx,y\n", r"has no column 'kind'; it has title, body\. Give the right file"),
        ("title,body,kind\nx,y,Q\n", r"row 1: 'Q' is not a label of toy_issues\. It has B, W"),
        ("title,body,kind\nx,y\n", r"line 2: the row does not have the 3 fields"),
        ("title,body,kind\nx,y,B,z\n", r"line 2: the row does not have the 3 fields"),
        ("title,body,kind\nx,\udcff,B\n", r"is not a text in UTF-8\. Save it as UTF-8"),
    ],
)
def test_what_does_not_fit_is_told_by_place(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "toy.csv"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(DatasetError, match=rf"toy\.csv.*{problem}"):
        list(table.read(toy(tmp_path), [path]))


@pytest.mark.parametrize(
    "name",
    [
        "toy.csv.gz",
        "toy.csv.xz",
        "toy.csv.bz2",
        "toy.csv.zst",
        "toy.tar.gz",
        "toy.parquet",
        "toy.parquet.gz",
        "toy.xlsx",
    ],
)
def test_a_cut_file_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match="cannot be read"):
        list(table_rows(path))


def test_a_workbook_with_a_broken_sheet_is_told(tmp_path: Path) -> None:
    write_xlsx(tmp_path / "whole.xlsx")
    path = tmp_path / "toy.xlsx"
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole, zipfile.ZipFile(path, "w") as broken:
        for name in whole.namelist():
            content = whole.read(name)
            broken.writestr(name, content[:-40] if "sheet1" in name else content)
    with pytest.raises(DatasetError, match=r"toy\.xlsx cannot be read \(unclosed token"):
        list(table_rows(path))


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a.csv", "a"),
        ("a.v2.JSONL.GZ", "a.v2"),
        ("a.csv.tar.gz", "a"),
        ("a.csv.zst", "a"),
        ("a.arff", "a"),
    ],
)
def test_the_name_of_a_file_loses_its_endings(name: str, stem: str) -> None:
    assert stem_of(Path(name)) == stem


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        list(table_rows(tmp_path / "none.csv"))
    path = tmp_path / "toy.doc"
    path.write_text("a table")
    with pytest.raises(UsageError, match=r"not a table that can be read.*Give csv"):
        list(table_rows(path))

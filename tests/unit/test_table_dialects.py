"""Tables as other programs write them."""

from __future__ import annotations

import csv
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DatasetError
from goldpan.datasets.table_files import table_rows, write_rows
from goldpan.datasets.tasks import table_reader as table
from tests.unit.test_table_reader import rows_of, toy


def test_nul_and_long_fields_are_read(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path, f"title,body,kind\na\0b,{'x' * 2_000_000},B\n")
    assert row["text"].startswith("ab\nxxx")
    assert len(row["text"]) == 2_000_003


@pytest.mark.parametrize("name", ["toy.jsonl", "toy.json", "toy.jsonl.gz"])
def test_half_a_surrogate_costs_a_character_and_no_file(tmp_path: Path, name: str) -> None:
    texts = [r"cut \ud83d", r"whole \ud83d\ude00", r"\udc00\ud83d", r"no \\ud83d half"]
    lines = [f'{{"title": "{text}", "\\udfff": 1}}' for text in texts]
    content = "\n".join(lines) if "jsonl" in name else f"[{', '.join(lines)}]"
    packed = gzip.compress(content.encode()) if name.endswith("gz") else content.encode()
    (tmp_path / name).write_bytes(packed)
    rows = list(table_rows(tmp_path / name))
    titles = ["cut \ufffd", "whole \U0001f600", "\ufffd\ufffd", "no \\ud83d half"]
    assert rows == [{"title": title, "\ufffd": 1} for title in titles]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("[{}, 3]", "1.: is not an object"),
        ('{"rows": []}', "is not an array"),
        ('{"a": {"0": "b"}, "c": {"0": "d"}}', "is not an array"),
        ("[{}", "is not JSON .*: line 1 column 4"),
        ("{}\n\n3\n", "line 3: is not an object"),
        ('{}\n\n{"kind": nan}\n', "line 3: .* column 10"),
        ('{}\n{"title": "\\ud83d", "kind": nan}\n', "line 2: .* column"),
    ],
)
def test_json_that_is_no_table_is_told(tmp_path: Path, content: str, cause: str) -> None:
    path = tmp_path / ("toy.jsonl" if content.endswith("\n") else "toy.json")
    path.write_text(content)
    with pytest.raises(DatasetError, match=cause):
        list(table_rows(path))


@pytest.mark.parametrize("name", ["toy.jsonl", "toy.json"])
def test_the_types_of_mongodb_are_plain_values(tmp_path: Path, name: str) -> None:
    row = (
        '{"_id": {"$oid": "5a"}, "n": {"$numberLong": "7"}, "at": {"$date": "2020-01-02"},'
        ' "query": {"$set": {"$oid": 1, "$in": []}}}'
    )
    (tmp_path / name).write_text(f"{row}\n" if name == "toy.jsonl" else f"[{row}]")
    query = {"$set": {"$oid": 1, "$in": []}}
    assert [*table_rows(tmp_path / name)] == [
        {"_id": "5a", "n": "7", "at": "2020-01-02", "query": query}
    ]


@pytest.mark.parametrize("name", ["toy.jsonl", "toy.json"])
def test_a_number_that_is_none_is_an_empty_cell(tmp_path: Path, name: str) -> None:
    """Python's own JSON writes NaN for what is missing."""
    (tmp_path / name).write_text('{"kind": NaN}\n' if "jsonl" in name else '[{"kind": NaN}]')
    assert list(table_rows(tmp_path / name)) == [{"kind": None}]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_what_excel_calls_unicode_text_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "toy.csv"
    path.write_bytes("\ufeffkind\ttitle\r\nB\thé\n".encode(encoding))
    assert list(table_rows(path)) == [{"kind": "B", "title": "hé"}]
    path.write_text("\ufeff\ufeffkind,title\nB,hé\n")  # marked twice
    assert list(table_rows(path)) == [{"kind": "B", "title": "hé"}]


@pytest.mark.parametrize("rows", ['"a" b\t1\nc\t2\n', 'a\t1\n"b\t2\nc\t3\n'])
def test_a_quote_that_is_not_closed_swallows_no_row(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "toy.tsv"
    path.write_text(f"title\tkind\n{rows}")
    with pytest.raises(DatasetError, match=r"toy\.tsv, line \d: a quote is not closed"):
        list(table_rows(path))


def test_a_sheet_may_begin_below_and_beside_its_corner(tmp_path: Path) -> None:
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book = Workbook()
    for row, cells in ((3, ("title", "kind")), (4, ("a", "B"))):
        for column, cell in enumerate(cells, 2):
            book.active.cell(row, column, cell)
    book.save(tmp_path / "toy.xlsx")
    assert list(table_rows(tmp_path / "toy.xlsx")) == [{"": None, "title": "a", "kind": "B"}]


def test_the_rows_of_a_workbook_are_not_sought_in_a_chart(tmp_path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.chart import BarChart, Reference  # type: ignore[import-untyped]

    book = Workbook()
    book.active.append(["kind"])
    book.active.append(["B"])
    chart = BarChart()
    chart.add_data(Reference(book.active, min_col=1, min_row=1))
    book.create_chartsheet("chart").add_chart(chart)
    book.active = 1
    book.save(tmp_path / "toy.xlsx")
    assert list(table_rows(tmp_path / "toy.xlsx")) == [{"kind": "B"}]


def test_a_date_beyond_all_calendars_is_told(tmp_path: Path) -> None:
    path = tmp_path / "toy.parquet"
    pq.write_table(pa.table({"at": pa.array([10**18], pa.timestamp("us"))}), path)
    with pytest.raises(DatasetError, match=r"toy\.parquet cannot be read"):
        list(table_rows(path))


def test_a_spreadsheet_runs_no_text_of_a_table(tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "a=1", ""]
    rows = pa.table(
        {"text": texts, "list": [["=1", "b"]] * len(texts), "number": [-1] * len(texts)}
    )
    write_rows(rows.to_reader(), tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    guarded = ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "a=1", ""]
    assert [row["text"] for row in read] == guarded
    assert {(row["list"], row["number"]) for row in read} == {("'=1; b", "-1")}


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("excel.csv", "\ufeffsep=;\r\ntitle;kind\r\na, b;x\r\n", [{"title": "a, b", "kind": "x"}]),
        ("blank.csv", "\n\ntitle,kind\na,x\n", [{"title": "a", "kind": "x"}]),
        ("pipes.csv", "title|kind\na, b|x\n", [{"title": "a, b", "kind": "x"}]),
        ("named.csv", '"a; b; c",kind\n1,x\n', [{"a; b; c": "1", "kind": "x"}]),
        ("lines.json", '{"n": 1}\n\n{"n": 2}\n', [{"n": 1}, {"n": 2}]),
        ("array.jsonl", '\ufeff [{"n": 1},\n {"n": 2}]\n', [{"n": 1}, {"n": 2}]),
        ("blanks.csv", 'title, kind\n"a, b", "x"\n', [{"title": "a, b", "kind": "x"}]),
        ("indented.csv", "title,kind\n  a, x\n", [{"title": "  a", "kind": " x"}]),
        ("cleared.csv", "title,kind\na,x\n,\n,\n", [{"title": "a", "kind": "x"}]),
        ("named.json", '{"a": {"id": "a"}, "b": {"id": "b"}}', [{"id": "a"}, {"id": "b"}]),
        ("sparse.jsonl", '{"n": 1}\n{"m": 2}\n', [{"n": 1, "m": None}, {"n": None, "m": 2}]),
        ("long.jsonl", f'{{"n": {10**30 + 7}}}\n', [{"n": 10**30 + 7}]),
        ("long.json", f'[{{"n": {10**30 + 7}}}]', [{"n": 10**30 + 7}]),
    ],
)
def test_tables_as_other_programs_write_them_are_read(
    tmp_path: Path, name: str, content: str, rows: list[dict[str, Any]]
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert list(table_rows(tmp_path / name)) == rows


def test_a_line_of_excel_shifts_no_number_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=;\n\ntitle;kind\na;b;c\n")
    with pytest.raises(DatasetError, match=r"line 4: the row does not have the 2 fields"):
        list(table_rows(tmp_path / "a.csv"))


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path: Path) -> None:
    table_ = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["title", "title"])
    pq.write_table(table_, tmp_path / "a.parquet")
    with pytest.raises(DatasetError, match="two columns called 'title'"):
        list(table_rows(tmp_path / "a.parquet"))


def test_a_key_that_a_line_leaves_out_is_an_empty_cell(tmp_path: Path) -> None:
    task = toy(tmp_path)
    lines = [{"title": "x", "body": "y", "kind": "B"}, {"title": "z", "kind": "W"}, {"title": "w"}]
    (tmp_path / "toy.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DatasetError, match=r"'', in 1 rows, first in row 3|'' is not a label"):
        list(table.read(task, [tmp_path / "toy.jsonl"]))


def test_cells_of_parquet_are_text_as_people_read_them() -> None:
    cells = [b"caf\xc3\xa9", b"\xff", Decimal("1.00"), Decimal("1.50"), Decimal("NaN"), 2.0]
    assert [table.cell_text(cell) for cell in cells] == ["café", "\ufffd", "1", "1.50", "", "2"]

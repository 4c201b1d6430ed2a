"""Tables in files: reads authors' CSV, Excel, JSON, JSON lines and Parquet, and writes such files.

Files may be compressed, or be the first in a tar archive. Rows come one by one, and memory follows
the row, but for workbooks and JSON arrays, which are read whole.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, GoldpanError, UsageError, refuse_empty
from goldpan.core.imports import load
from goldpan.core.resources import unwritable
from goldpan.core.sanitize import without_surrogates
from goldpan.core.storage.parquet import connect_alone
from goldpan.core.storage.workspace import replacing_file
from goldpan.core.unpacked import PACKED, unpacked

_LONGEST_FIELD = 64 * 2**20
"""Characters; a quote that is never closed would otherwise take in the whole file."""
_BATCH = 1_024
_LARGEST = 512 * 2**20
"""Bytes of a workbook, a JSON array or a compressed Parquet file, which are held in memory."""
_BROKEN = (
    OSError,
    UnicodeError,
    EOFError,
    ValueError,
    OverflowError,
    zlib.error,
    tarfile.TarError,
    lzma.LZMAError,
    pa.ArrowException,
    zipfile.BadZipFile,
)
_LONG_INTEGER = re.compile(rb"\d{19}")
_SEPARATOR, _QUOTED = re.compile(r'"?sep=(.)"?', re.I), re.compile(r'"[^"]*"')
_MONGO = {"$oid", "$date", "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal"}
FORMS = "csv, tsv, json, jsonl, xlsx, xls or parquet, plain or as .gz, .xz, .zst or .tar.gz"
_PACKED = rf"(?:{'|'.join(map(re.escape, PACKED))})?\Z"
_ENDINGS = re.compile(
    rf"(?:(?:\.(?:csv|tsv|jsonl?|ndjson|xlsx?|parquet))?\.tar|\.[^.]*)?{_PACKED}", re.I
)


class FieldError(ValueError):
    """A value is not what its field should hold; the message does not name the file."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(field, text)
        self.field, self.text = field, text

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


def read_array(file: IO[bytes], name: str = "") -> list[Any]:
    """Return the elements of the JSON array `name` of the object that a file holds, or of the file.

    A file may also hold an object of rows by names that these bear. It is held in memory. Raises
    `FieldError` where there is no such array, or more than 512 MiB.
    """
    content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise FieldError(name, "is longer than 512 MiB; JSON lines may have any length")
    try:
        content = content.removeprefix(codecs.BOM_UTF8)
        value = _parsed(content)
    except UnicodeDecodeError as error:
        raise FieldError(name, f"is not UTF-8 ({error.reason})") from None
    except ValueError as error:
        raise FieldError(name, f"is not JSON ({error})") from None
    if name:
        if not isinstance(value, dict) or name not in value:
            raise FieldError(name, "is missing")
        value = value[name]
    elif isinstance(value, dict) and all(
        isinstance(row, dict) and key in row.values() for key, row in value.items()
    ):
        value = list(value.values())  # rows by the names that they hold
    if not isinstance(value, list):
        raise FieldError(name, "is not an array")
    return value


def form_of(path: Path) -> str:
    """Return how a file's name ends before .gz or the like, without the dot, in lower case.

    Of a tar archive, it is the form of the first file in it.
    """
    form = _packed_form(path)
    if form != "tar":
        return form
    with _explained(path), tarfile.open(path, "r:*") as archive:
        return _first(archive, path).name.lower().rpartition(".")[2]


def _packed_form(path: Path) -> str:
    return re.sub(_PACKED, "", path.name.lower()).rpartition(".")[2]


def stem_of(path: Path) -> str:
    """Return a file's name without its endings, whether the file exists or not."""
    return _ENDINGS.sub("", path.name, count=1)


def table_rows(path: Path, unquoted: str = "") -> Iterator[dict[str, Any]]:
    """Yield the rows of a table by column name.

    Of a text with separators, the column `unquoted` takes the fields that a line has too many: it
    holds separators without quotes. Raises `UsageError` for a file that is not there or of another
    form, `DatasetError` for one that is broken.
    """
    form = form_of(path)
    with _explained(path):
        match form:
            case "csv" | "tsv":
                with open_text(path, newline="") as lines:
                    yield from _separated(lines, "\t" if form == "tsv" else "", path, unquoted)
            case "json" | "jsonl" | "ndjson":
                with open_bytes(path) as file:
                    is_array = _is_array(file, form)
                with open_bytes(path) as file:
                    values = enumerate(read_array(file)) if is_array else _lines_of_json(file)
                    yield from _aligned(_objects(values, "[{}]" if is_array else "line {}"))
            case "parquet":
                plain = path.suffix.lower() == ".parquet"
                with pq.ParquetFile(path if plain else _whole(path)) as table:
                    _column_names(table.schema_arrow.names, path)
                    for batch in table.iter_batches(_BATCH):
                        yield from batch.to_pylist()
            case "xlsx" | "xls":
                rows = (cells for cells in _sheet(path, form) if {*cells} - {None, ""})
                names = _column_names(next(rows, ()), path)
                for cells in rows:
                    yield dict(zip(names, cells, strict=False))
            case _ if not path.exists():
                raise FileNotFoundError
            case _:
                raise UsageError(f"{path} is not a table that can be read", f"Give {FORMS}")


def _is_array(file: io.BufferedReader, form: str) -> bool:
    """Return whether JSON is one array, or should be: people call lines .json and arrays .jsonl."""
    start = file.peek(_BATCH)[:_BATCH].removeprefix(codecs.BOM_UTF8).lstrip()
    rows = islice(filter(bytes.strip, file), 2)
    return start.startswith(b"[") or (form == "json" and sum(1 for _ in rows) < 2)


def _lines_of_json(lines: Iterable[bytes]) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            line = line.removeprefix(codecs.BOM_UTF8)
            try:
                value = _parsed(line)
            except json.JSONDecodeError as error:
                problem = f"{error.msg}, column {error.colno}"
                raise FieldError(f"line {number}", problem) from None
            yield number, value


def _parsed(text: bytes) -> Any:
    """Parse JSON as Python writes it: integers of any length, NaN, which is null, and half pairs.

    Raises `UnicodeDecodeError` and `json.JSONDecodeError`.
    """
    try:
        value = orjson.loads(text)
        if not _LONG_INTEGER.search(text) and b'{"$' not in text:
            return value
    except orjson.JSONDecodeError as error:
        problem = error
    try:
        return without_surrogates(
            json.loads(text, parse_constant=lambda _: None, object_hook=_plain)
        )
    except (json.JSONDecodeError, RecursionError):
        raise problem from None


def _plain(value: dict[str, Any]) -> Any:
    """Return the value in MongoDB's `{"$numberLong": "7"}`, and other objects as they are."""
    name, inner = next(iter(value.items()), ("", None))
    return inner if len(value) == 1 and name in _MONGO else value


def _aligned(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows, the first of which have the columns of each other: writers leave out nulls."""
    first = list(islice(rows, _BATCH))
    nulls = dict.fromkeys(chain.from_iterable(first))
    yield from ({**nulls, **row} for row in first)
    yield from rows


def _objects(values: Iterable[tuple[int, object]], place: str) -> Iterator[dict[str, Any]]:
    for number, value in values:
        if not isinstance(value, dict):
            raise FieldError(place.format(number), "is not an object")
        yield value


@contextlib.contextmanager
def open_text(path: Path, *, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a text, decompressed; errors while it is read name the file and the remedy.

    It is in UTF-8, or in UTF-16 where its mark says so, as what Excel calls Unicode text.
    """
    with _explained(path), open_bytes(path) as raw:
        marked = raw.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        encoding = "utf-16" if marked else "utf-8-sig"
        with io.TextIOWrapper(raw, encoding=encoding, newline=newline) as lines:
            yield lines


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file, decompressed; of a tar archive, the first file in it."""
    if _packed_form(path) == "tar":
        with tarfile.open(path, "r:*") as archive:
            member = archive.extractfile(_first(archive, path))
            if member is not None:
                yield cast("io.BufferedReader", member)
    else:
        with path.open("rb") as raw, unpacked(raw) as plain:
            yield plain


def _first(archive: tarfile.TarFile, path: Path) -> tarfile.TarInfo:
    for member in archive:
        if member.isreg():
            return member
    raise DatasetError(f"{path} holds no file", "Fetch the file again")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    refuse_empty(path, "Give a file that holds rows")
    try:
        yield
    except GoldpanError:
        raise
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist", "Give the path of a file") from None
    except UnicodeDecodeError:
        raise DatasetError(f"{path} is not a text in UTF-8", "Save it as UTF-8") from None
    except FieldError as error:
        remedy = "Correct it: rows are JSON objects, one a line or all in one array"
        raise DatasetError(f"{path} cannot be read ({error})", remedy) from None
    except _BROKEN as error:
        raise DatasetError(f"{path} cannot be read ({error})", "Fetch the file again") from None


def _separated(
    lines: IO[str], delimiter: str, path: Path, unquoted: str
) -> Iterator[dict[str, Any]]:
    """Yield rows; without a delimiter, it is what the first line has most: , ; | or a tab.

    Excel's line ``sep=;`` names it, and lines before the first with names may be blank. Blanks
    behind it belong to no field where the first line has them too.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    header, skipped = next(lines, ""), 0
    while header and (not header.strip() or _SEPARATOR.fullmatch(header.rstrip())):
        declared = _SEPARATOR.fullmatch(header.rstrip())
        delimiter = declared[1] if declared else delimiter
        header, skipped = next(lines, ""), skipped + 1
    plain = _QUOTED.sub("", header)
    delimiter = delimiter or max(",;\t|", key=plain.count)
    has_blanks = 0 < plain.count(delimiter) == plain.count(f"{delimiter} ")
    every = (line.replace("\0", "") for line in chain([header], lines))
    rows = csv.reader(every, delimiter=delimiter, strict=True, skipinitialspace=has_blanks)
    remedy = "Fetch the file again, or correct that line"
    try:
        names = _column_names(next(rows, ()), path)
        for row in filter(any, rows):
            more = len(row) - len(names)
            if more > 0 and unquoted in names:
                at = names.index(unquoted)
                row[at : at + more + 1] = [delimiter.join(row[at : at + more + 1])]
            if len(row) != len(names):
                count = f"the row does not have the {len(names)} fields of the first line"
                raise DatasetError(f"{path}, line {skipped + rows.line_num}: {count}", remedy)
            yield dict(zip(names, row, strict=True))
    except csv.Error as error:
        problem = f"a quote is not closed, or not doubled within a field ({error})"
        raise DatasetError(f"{path}, line {skipped + rows.line_num}: {problem}", remedy) from None


def _column_names(written: Iterable[Any], path: Path) -> list[str]:
    """Return the names of columns without blanks around them; several may have none.

    Raises `DatasetError` for a name that stands twice: nobody can tell which column is meant.
    """
    names = ["" if name is None else str(name).strip("\ufeff").strip() for name in written]
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise DatasetError(
            f"{path} has two columns called {twice[:80]!r}", "Rename one, or take it out"
        )
    return names


def _sheet(path: Path, form: str) -> Iterator[Sequence[Any]]:
    library = load("openpyxl" if form == "xlsx" else "xlrd", f"Reading {path}")
    content = _whole(path)
    try:
        yield from (_xlsx_rows if form == "xlsx" else _xls_rows)(library, content)
    except Exception as error:  # noqa: BLE001 - a broken workbook raises whatever it hits upon
        raise DatasetError(f"{path} cannot be read ({error})", "Fetch the file again") from None


def _xlsx_rows(openpyxl: Any, content: IO[bytes]) -> Iterator[Sequence[Any]]:
    with contextlib.closing(
        openpyxl.load_workbook(content, read_only=True, data_only=True)
    ) as book:
        sheet = book.active if book.active in book.worksheets else book.worksheets[0]
        yield from sheet.iter_rows(values_only=True)


def _xls_rows(xlrd: Any, content: IO[bytes]) -> Iterator[Sequence[Any]]:
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what is odd in a file
        sheet = xlrd.open_workbook(file_contents=content.read()).sheet_by_index(0)
    yield from (sheet.row_values(number) for number in range(sheet.nrows))


def _whole(path: Path) -> IO[bytes]:
    """Return a file, decompressed in memory: what is read from its end needs all of it."""
    with open_bytes(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DatasetError(
            f"{path} holds more than {_LARGEST:,} bytes", "Save it uncompressed, or as CSV"
        )
    return io.BytesIO(content)


def check_form(path: Path) -> None:
    """Raise `UsageError` where a file's name does not say in which form to write it."""
    if path.suffix.lower() not in _WRITTEN:
        raise UsageError(
            f"{path} does not end in the name of a format", f"End it in {', '.join(_WRITTEN)}"
        )


def write_rows(rows: pa.RecordBatchReader, path: Path) -> None:
    """Write rows in the place of a file.

    In CSV a list is joined by ``; ``, and a text that a spreadsheet would run as a formula has an
    apostrophe before it.

    Raises `UsageError` for a file of another form, and `DatasetError` where it cannot be written.
    """
    check_form(path)
    form = path.suffix.lower()
    columns = ", ".join(map(_cell, rows.schema)) if form == ".csv" else "*"
    try:
        with replacing_file(path) as draft, connect_alone() as connection:
            connection.register("written_rows", rows)
            target = str(draft).replace("'", "''")
            query = f"SELECT {columns} FROM written_rows"  # noqa: S608 - quoted names alone
            connection.execute(
                f"COPY ({query}) TO '{target}' ({_WRITTEN[form]}, USE_TMP_FILE false)"
            )
    except OSError as error:
        raise unwritable(path, error, DatasetError) from None


def _cell(column: pa.Field) -> str:
    """Return the query for a column in CSV."""
    quoted = column.name.replace('"', '""')
    name = f'"{quoted}"'
    is_list = pa.types.is_list(column.type)
    if not is_list and not pa.types.is_string(column.type):
        return name
    text = f"array_to_string({name}, '; ')" if is_list else name
    mark = f"CASE WHEN regexp_matches({text}, '^[=+@\\t\\r-]') THEN chr(39) ELSE '' END"
    return f"{mark} || {text} AS {name}"


_WRITTEN = {".parquet": "FORMAT parquet", ".jsonl": "FORMAT json", ".csv": "FORMAT csv, HEADER"}

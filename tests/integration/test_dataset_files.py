from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import DatasetError, WorkspaceError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.card import features
from goldpan.datasets.examples import CODE_EDIT, FAMILIES, FAULT_LOCALIZATION, QA
from goldpan.datasets.family import Family
from goldpan.datasets.files import write_dataset
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.spool import Spool, write_spool
from tests.examples import CARD, PROVENANCE, example, examples, front_matter, write
from tests.places import files_below

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))


def run(script: str, *arguments: str) -> Any:
    """Run a script without a network in a process of its own and return what it prints.

    It must not warn, which is how `mlcroissant` says what a description lacks.
    """
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": arguments[0] + "-home"}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower()
    return json.loads(done.stdout)


@every_family
def test_the_same_rows_give_the_same_bytes(tmp_path: Path, family: Family) -> None:
    rows = examples(family, 300)
    plan = "random:0.8,0.1,0.1"
    first = write(tmp_path / "one", family, rows, plan)
    second = write(tmp_path / "elsewhere" / "two", family, rows[::-1], plan, name="other")
    table = pa.Table.from_batches(family.batches(rows[100:] + rows[:100])).combine_chunks()
    turned, parsed = table.select(table.column_names[::-1]), SplitPlan.parse(plan)
    workspace = WorkspaceLayout(tmp_path / "three")
    place = workspace.dataset("x")
    third = write_dataset(workspace, place, family, turned, parsed, PROVENANCE, CARD)
    files = files_below(first.directory)
    assert files == files_below(second.directory) == files_below(third.directory)
    assert len(files) == 6
    assert not list((tmp_path / "one" / "tmp").iterdir())


_LOAD = """
import json, sys
import datasets
def load(directory):
    splits = datasets.load_dataset(directory, cache_dir=directory + "-cache")
    return {
        "file": datasets.__file__,
        "features": {name: split.features._to_yaml_list() for name, split in splits.items()},
        "rows": {name: [row["id"] for row in split] for name, split in splits.items()},
        "first": splits["train"].to_pandas().head(1).to_json(date_format="iso"),
    }
json.dump([load(directory) for directory in sys.argv[1:]], sys.stdout)
"""


def test_datasets_loads_what_the_card_says(tmp_path: Path) -> None:
    """All families in one process, as the import of `datasets` is dear."""
    made = [
        write(tmp_path / name, family, examples(family, 100), "time:2020-03-01").directory
        for name, family in FAMILIES.items()
    ]
    loads = run(_LOAD, *map(str, made))
    for family, directory, loaded in zip(FAMILIES.values(), made, loads, strict=True):
        card = front_matter(directory)["dataset_info"]
        assert loaded["features"] == dict.fromkeys(["train", "test"], card["features"])
        assert card["features"] == features(family.schema)
        counts = {name: len(rows) for name, rows in loaded["rows"].items()}
        assert counts == {"train": 59, "test": 41}
        assert loaded["rows"]["test"][0] == example(family, 60)["id"]
        assert json.loads(loaded["first"])["issue"] == {"0": 1}
        assert Path(loaded["file"]).parent.parent.name == "site-packages"


_CROISSANT = """
import json, sys
import mlcroissant
def plain(value):
    if isinstance(value, bytes): return value.decode()
    if isinstance(value, dict):
        return {key.split("/")[-1]: plain(item) for key, item in value.items()}
    if isinstance(value, list): return [plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
def load(directory):
    dataset = mlcroissant.Dataset(jsonld=directory + "/croissant.json")
    sets = [record_set.uuid for record_set in dataset.metadata.record_sets]
    return {name: [plain(row) for row in dataset.records(name)] for name in sets}
json.dump([load(directory) for directory in sys.argv[1:]], sys.stdout, default=int)
"""


def test_croissant_is_valid_and_loads_every_row(tmp_path: Path) -> None:
    made = [
        write(tmp_path / name, family, examples(family, 5), "time:2020-01-05", shard_bytes=1)
        for name, family in FAMILIES.items()
    ]
    loads = run(_CROISSANT, *(str(written.directory) for written in made))
    for family, written, loaded in zip(FAMILIES.values(), made, loads, strict=True):
        assert set(loaded) == {"train", "test"}
        names = [column.name for column in family.columns]
        rows = [{name: row[name] for name in names} for row in examples(family, 5)]
        assert loaded["train"] + loaded["test"] == json.loads(orjson.dumps(rows))
        croissant = json.loads((written.directory / "croissant.json").read_text())
        digests = {entry["@id"]: entry.get("sha256") for entry in croissant["distribution"]}
        assert {file.path: file.sha256 for file in written.files}.items() <= digests.items()


def test_rows_are_sorted_and_cut_into_bounded_files(tmp_path: Path) -> None:
    rows = [example(QA, issue, repo) for repo in ("p/q", "o/n") for issue in range(1500, 0, -1)]
    written = write(tmp_path, QA, rows, shard_bytes=200_000)
    (split,) = written.splits
    names = [f"data/test-0000{number}-of-00003.parquet" for number in range(3)]
    assert [file.path for file in split.files] == names
    files = [pq.ParquetFile(written.directory / name) for name in names]
    for file in files:
        groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
        assert all(group.num_rows <= 1_063 for group in groups)
        assert groups[0].column(0).compression == "ZSTD"
    together = pa.concat_tables([file.read() for file in files])
    keys = list(zip(together["repo"].to_pylist(), together["issue"].to_pylist(), strict=True))
    assert keys == [(repo, issue) for repo in ("o/n", "p/q") for issue in range(1, 1501)]
    assert together.schema == QA.schema


def test_near_duplicates_stay_together_and_groups_are_not_published(tmp_path: Path) -> None:
    rows = [example(QA, issue, group=f"g{issue % 7}") for issue in range(1, 200)]
    written = write(tmp_path, QA, rows, "random:0.5,0.5")
    files = [split.files[0].path for split in written.splits]
    tables = [pq.read_table(written.directory / path) for path in files]
    assert all("group" not in table.column_names for table in tables)
    first, second = ({issue % 7 for issue in table["issue"].to_pylist()} for table in tables)
    assert not first & second
    assert written.report.groups == 7


def test_rows_about_one_issue_are_never_parted(tmp_path: Path) -> None:
    rows = [
        example(CODE_EDIT, issue, id=f"code-edit:o/n#{issue}+{pull}", pull=pull)
        for issue in range(40)
        for pull in (1, 2)
    ]
    written = write(tmp_path, CODE_EDIT, rows, "random:0.5,0.5")
    issues = [
        set(pq.read_table(written.directory / split.files[0].path)["issue"].to_pylist())
        for split in written.splits
    ]
    assert not issues[0] & issues[1]
    assert written.report.groups == 40
    with pytest.raises(ValueError, match="o/n#3 is in the groups a and b"):
        write(tmp_path, CODE_EDIT, [{**rows[6], "group": "a"}, {**rows[7], "group": "b"}])


def test_provenance_names_every_file_and_nothing_of_this_machine(tmp_path: Path) -> None:
    written = write(tmp_path, QA, examples(QA, 30), "time:2020-01-10")
    provenance = json.loads((written.directory / "provenance.json").read_bytes())
    files = files_below(written.directory)
    data = files.pop("provenance.json")
    assert provenance["files"] == {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in files.items()
    }
    assert provenance["family"] == "qa"
    assert provenance["splits"]["rows"] == {"train": 8, "test": 22}
    assert provenance["splits"]["plan"] == "time:2020-01-10"
    assert provenance["sources"][0]["inputs"] == {"raw/run-0001.zst": "ab" * 32}
    assert provenance["digests"] == dict(PROVENANCE.digests)
    for text in (data, files["README.md"], files["croissant.json"]):
        assert str(tmp_path).encode() not in text


def test_an_earlier_version_is_replaced_whole(tmp_path: Path) -> None:
    many = write(tmp_path, QA, examples(QA, 300), "random:0.5,0.5", shard_bytes=1)
    few = write(tmp_path, FAULT_LOCALIZATION, examples(FAULT_LOCALIZATION, 3))
    assert many.directory == few.directory
    assert len(files_below(few.directory)) == 4
    (file,) = few.files
    assert pq.read_table(few.directory / file.path).num_rows == 3


def test_a_failing_builder_leaves_the_earlier_version(tmp_path: Path) -> None:
    written = write(tmp_path, QA, examples(QA, 3))
    before = files_below(written.directory)

    def failing() -> Any:
        yield from examples(QA, 500)
        raise WorkspaceError("It broke", "Correct it")

    with pytest.raises(WorkspaceError, match="It broke"):
        write(tmp_path, QA, failing())
    assert files_below(written.directory) == before
    assert not list((tmp_path / "tmp").iterdir())


def test_what_is_no_dataset_is_not_replaced(tmp_path: Path) -> None:
    directory = WorkspaceLayout(tmp_path).dataset("made")
    directory.mkdir(parents=True)
    write(tmp_path, QA, examples(QA, 1))
    for name, text in (("provenance.json", "{}"), ("provenance.json", "nonsense"), ("x", "")):
        for path in directory.rglob("*"):
            if path.is_file():
                path.unlink()
        (directory / name).write_text(text)
        with pytest.raises(DatasetError, match=r"not a dataset.*Choose another directory"):
            write(tmp_path, QA, examples(QA, 1))
        assert (directory / name).read_text() == text


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([], "would be empty"),
        ([example(QA, 1), example(QA, 2, id="qa:o/n#1")], "occurs twice: qa:o/n#1"),
        ([example(QA, 1, id=None)], "has no id"),
    ],
)
def test_wrong_rows_are_refused(tmp_path: Path, rows: list[dict[str, Any]], cause: str) -> None:
    with pytest.raises(DatasetError, match=cause):
        write(tmp_path, QA, rows)
    assert not WorkspaceLayout(tmp_path).dataset("made").exists()


def test_a_row_that_lacks_a_column_is_a_defect(tmp_path: Path) -> None:
    row = example(QA, 1)
    del row["answer"], row["license"]
    with pytest.raises(ValueError, match="qa:o/n#1 lacks answer, license"):
        write(tmp_path, QA, [row])


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system, /dev/shm")
def test_a_dataset_may_go_to_another_disk(tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/dev/shm") as name:
        workspace, directory = WorkspaceLayout(tmp_path / "workspace"), Path(name) / "made"
        for count in (5, 3):
            batches = QA.batches(examples(QA, count))
            write_dataset(workspace, directory, QA, batches, SplitPlan(), PROVENANCE, CARD)
        assert pq.read_table(directory / "data").num_rows == 3
        assert [path.name for path in Path(name).iterdir()] == ["made"]


NUMBERS = st.lists(st.integers(0, 400), min_size=1, max_size=200)


@given(NUMBERS.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(range(len(rows))))))
def test_a_spool_gives_rows_in_any_order(tmp_path_factory: Any, drawn: Any) -> None:
    rows, order = drawn
    schema = pa.schema([("number", pa.int64()), ("text", pa.string())])
    table = pa.table({"number": rows, "text": [f"é{row}" for row in rows]}, schema)
    folder = tmp_path_factory.mktemp("spool")
    paths = [folder / "first", folder / "second"]
    for part, place in zip((table[: len(rows) // 3], table[len(rows) // 3 :]), paths, strict=True):
        write_spool(place, schema, part.to_batches(max_chunksize=90))
    spool = Spool(paths, ["number"])
    assert spool.facts == table.select(["number"])
    read = list(spool.read(order))
    assert all(len(part) <= 64 for part in read)
    assert pa.concat_tables(read).to_pydict() == table.take(order).to_pydict()
    some = sorted(order[: len(order) // 2 + 1])
    spool.choose(some)
    assert spool.facts == table.take(some).select(["number"])
    chosen = pa.concat_tables(spool.read(range(len(some))))
    assert chosen.to_pydict() == table.take(some).to_pydict()

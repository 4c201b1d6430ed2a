"""What is wrong with a task file is said with file, field and instance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import GoldpanError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.table_files import FieldError
from goldpan.papers.crosscodebench.importing import import_task
from goldpan.papers.crosscodebench.instances import (
    Instance,
    read_instances,
    read_values,
    write_instances,
)
from goldpan.papers.crosscodebench.kinds import kind_of_category
from tests.crosscode_tasks import write_public

STEM = "task_006_some_dataset_classification"
GOOD = {"input": "int a;", "output": "Yes", "split": "train", "idx": "1"}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def refusal(directory: Path) -> str:
    """Return why the task files of a directory cannot be imported."""
    (path,) = directory.glob("*.meta.json")
    with pytest.raises(GoldpanError) as caught:
        import_task(WorkspaceLayout(directory / "w"), path)
    assert not list((directory / "w").glob("datasets/*"))
    return caught.value.problem


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"Prompt": None}, "description is missing"),
        ({"Definition": [""]}, "definition: is empty"),
        ({"Definition": {"a": 1}}, "definition: it should be a valid string"),
        ({"Type": ["Clasification"]}, "type: ['Clasification'] is not a type with its sub-type"),
        ({"Type": ["Classification", "Many"]}, "type: ['Classification', 'Many'] is not a type"),
        ({"Type": ["Translation", "Binary"]}, "type: ['Translation', 'Binary'] is not a type"),
        ({"Type": []}, "type: [] is not a type"),
        ({"Positive Examples": "x"}, "positive: it is not a list"),
        (
            {"Positive Examples": [{"input": "x", "output": "y"}, {"input": "x"}]},
            "positive[1].output is missing",
        ),
        (
            {"Negative Examples": [{"input": "x", "output": 3}]},
            "negative[0].output: 3 should be a valid string",
        ),
        ({"Instance_number": [{"total": "many"}]}, 'counts: "many" should be a valid integer'),
        ({"Goldpan": {"format": 9, "task": {}}}, "another version than 1 wrote it"),
        ({"Goldpan": {"format": 1, "task": {"name": "x"}}}, "8 things are missing or wrong: task."),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    write_public(tmp_path, STEM, [GOOD], **changes)
    assert refusal(tmp_path).startswith(f"{STEM}.meta.json: {problem}")


@pytest.mark.parametrize(
    ("instance", "problem"),
    [
        ({"output": "x"}, "Instances[1].input: is missing"),
        ({"input": "x"}, "Instances[1].output: is missing"),
        ({"input": None, "output": "x"}, "Instances[1].input: null is not text"),
        ({"input": ["a", 1], "output": "x"}, "Instances[1].input[1]: int 1 is not text"),
        ({**GOOD, "split": "rest"}, "Instances[1].split: 'rest' is none of train, valid"),
        ({**GOOD, "idx": 1.5}, "Instances[1].idx: float 1.5 is not text"),
        ({**GOOD, "facts": []}, "Instances[1].facts: is not an object"),
        ("text", "Instances[1]: is not an object with input and output"),
    ],
)
def test_a_wrong_instance_is_named(tmp_path: Path, instance: Any, problem: str) -> None:
    write_public(tmp_path, STEM, [GOOD, instance, GOOD])
    assert refusal(tmp_path).startswith(f"{STEM}.data.json: {problem}")


def test_files_hold_what_they_announce(tmp_path: Path) -> None:
    write_public(tmp_path / "two", STEM, [GOOD], Instance_number=[{"total": 2}])
    announced = f"1 instances, but {STEM}.meta.json announces 2"
    assert refusal(tmp_path / "two") == f"{STEM}.data.json: {announced}"
    write_public(tmp_path / "none", STEM, [])
    assert "would be empty" in refusal(tmp_path / "none")
    write_public(tmp_path / "named", "task_8_short_classification", [GOOD])
    assert "its name is not task_NNN" in refusal(tmp_path / "named")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not JSON"),
        (b"[]", "Instances: is missing"),
        (b"{}", "Instances: is missing"),
        (b'{"Instances": 3}', "Instances: is not an array"),
        (b'{"Instances": [1 2]}', "expected ',' or ']': line 1 column 18"),
        (b'{"Instances": [1, ', "is not JSON"),
        (b'{"Instances": []} x', "unexpected content after document"),
        (b'{"Instances": ["\xff"]}', "is not UTF-8"),
        (b'{"Instances": [' + b"1" * 5000 + b"]}", "Exceeds the limit"),
        (b'{"Instances": [' + b"[" * 200_000, "depth limit exceeded"),
    ],
)
def test_what_is_no_array_of_json_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(FieldError) as caught:
        list(read_values(path))
    assert problem in str(caught.value)


@given(
    values=st.lists(JSON), others=st.dictionaries(st.text(), JSON), indent=st.none() | st.just(4)
)
def test_arrays_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, values: Any, others: Any, indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("json") / "x.json"
    content = {**others, "Instances": values, "last": 1}
    path.write_text(json.dumps(content, indent=indent), encoding="utf-8")
    assert list(read_values(path)) == values


@given(
    texts=st.lists(
        st.tuples(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
    )
)
def test_instances_come_back(tmp_path_factory: pytest.TempPathFactory, texts: Any) -> None:
    path = tmp_path_factory.mktemp("data") / "x.data.json"
    instances = [
        Instance(input_text, output, "test", str(at), {"repo": output})
        for at, (input_text, output) in enumerate(texts)
    ]
    assert write_instances(path, instances) == len(instances)
    assert list(read_instances(path)) == instances


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("Detection -> Defect Detection -> Wrong Binary Operator", "Classification -> Binary"),
        ("Generation", "Generation -> Text-to-Code"),
    ],
)
def test_every_category_of_the_authors_code_has_its_type(category: str, kind: str) -> None:
    assert str(kind_of_category(category)) == kind

"""Sections are the parameters of operations; units come in an order, and wait for people."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.operations.signature import fields_of
from goldpan.plan.file import load_plan
from goldpan.plan.make import make_steps, open_workspace, store_of
from goldpan.plan.results import PlanResult, UnitResult
from goldpan.plan.section import StageSection
from goldpan.plan.sections import commented_plan, operation_of, plan_section
from goldpan.plan.step import Context
from goldpan.plan.unit import Unit

SECTIONS = {"pair": "pair", "clone": "clone", "filter": "filter", "verify": "verify"}


def units_of(folder: Path, text: str) -> dict[str, Unit]:
    """Return the units of a plan by name, in their order."""
    (folder / "plan.toml").write_text(f'[repositories]\nlisted = ["a/b"]\n{text}', encoding="utf-8")
    file = load_plan(folder / "plan.toml")
    lab = open_workspace(file, folder / "lab")
    steps = make_steps(Context(file, lab, lambda _: None), store_of(file, lab), ("a/b",))
    return {step.unit.name: step.unit for step in steps}


def section_of(name: str) -> type[StageSection]:
    annotation = plan_section().model_fields[name].annotation
    kind = annotation if isinstance(annotation, type) else annotation.__args__[0]  # type: ignore[union-attr]
    assert issubclass(kind, StageSection)
    return kind


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_the_options_of_its_operation(name: str) -> None:
    parameters = operation_of(SECTIONS[name]).parameters
    options = {item.name for item in parameters if item.kind == "option"}
    for group in (item for item in parameters if item.kind == "group"):
        options |= {field.name for field in fields_of(group.type)}
    keys = section_of(name).parameters
    assert keys.keys() <= options
    assert all(keys[key].help for key in keys)


def test_the_commented_plan_is_one_and_all_it_says_can_be_set(tmp_path: Path) -> None:
    text = commented_plan()
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    assert load_plan(path).plan.repositories.listed == ("OWNER/NAME",)
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    written = tomllib.loads("\n".join(line.removeprefix("#") for line in lines))
    for name in ("mine", "pair", "clone", "filter"):
        read = section_of(name).model_validate(written[name])
        assert read.model_fields_set == set(type(read).model_fields)
    assert written["annotate"]["push"]
    assert written["verify"][0]["recipe"] == []


PROVED = """
[[dataset]]
name = "proved"
family = "issue-resolution"
require = "verified"
[[dataset]]
name = "fixes"
family = "issue-resolution"
[[verify]]
dataset = "fixes"
[[export]]
name = "out"
dataset = "fixes"
to = "chat"
"""


def test_units_come_after_what_they_need_and_else_as_they_stand(tmp_path: Path) -> None:
    names = list(units_of(tmp_path, PROVED))
    order = ["dataset/fixes", "verify/fixes", "export/out", "dataset/proved"]
    assert names[-4:] == order
    circle = PROVED.replace('name = "fixes"', 'name = "fixes"\nrequire = "verified"')
    with pytest.raises(UsageError, match="dataset/proved, dataset/fixes, verify/fixes wait for"):
        units_of(tmp_path, circle)


def test_what_comes_after_annotations_waits_for_them(tmp_path: Path) -> None:
    text = """
[[dataset]]
name = "rows"
family = "qa"
[[dataset]]
name = "gold"
family = "qa"
[dataset.publish]
repo-id = "a/b"
[annotate.push]
project = "round"
dataset = "rows"
form = "question-answer"
"""
    units = units_of(tmp_path, text)
    waiting = {name for name, unit in units.items() if "annotate/round" in unit.needs}
    assert waiting == {"dataset/gold", "publish/gold"}


def test_a_plan_that_waits_for_people_says_so_and_ends_with_3() -> None:
    pushed = Unit("annotate", "round")
    waits = UnitResult(pushed, "partial", True, lacks=("people annotate",), waits=True)
    skipped = UnitResult(Unit("dataset", "gold"), "skipped", False, because=pushed.name)
    assert waits.blocks_others
    result = PlanResult("plan", Path("lab"), (), (waits, skipped), 1.0)
    assert result.exit_code == 3
    texts = [getattr(block, "text", "") for block in result.blocks()]
    assert "annotate/round partial: people annotate. Skipped for it: 1 unit." in texts

"""Sections are the parameters of operations; units come in an order, and wait for people."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import UsageError
from goldpan.operations.signature import fields_of
from goldpan.plan.file import load_plan
from goldpan.plan.make import _ordered, _waiting_for_people
from goldpan.plan.results import PlanResult, UnitResult
from goldpan.plan.section import StageSection
from goldpan.plan.sections import commented_plan, operation_of, plan_section
from goldpan.plan.unit import Outcome, Step, Unit

SECTIONS = {"pair": "pair", "clone": "clone", "filter": "filter", "verify": "verify"}


@dataclass(frozen=True)
class Named(Step):
    unit: Unit

    def settings(self) -> Mapping[str, Any]:
        return {}

    def inputs(self) -> Mapping[str, str]:
        return {}

    def run(self) -> Outcome:
        return Outcome("")


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


def test_units_come_after_what_they_need_and_else_as_they_stand() -> None:
    units = [
        Unit("dataset", "proved", needs=("verify/fixes",)),
        Unit("dataset", "fixes", needs=("filter/a/b",)),
        Unit("verify", "fixes", needs=("dataset/fixes",)),
        Unit("export", "fixes", needs=("dataset/fixes",)),
    ]
    ordered = [step.unit.name for step in _ordered([Named(unit) for unit in units])]
    assert ordered == ["dataset/fixes", "verify/fixes", "export/fixes", "dataset/proved"]
    circle = [
        Named(Unit("dataset", "a", ("dataset/b",))),
        Named(Unit("dataset", "b", ("dataset/a",))),
    ]
    with pytest.raises(UsageError, match="dataset/a, dataset/b wait for one another"):
        _ordered([*circle])


def test_what_comes_after_annotations_waits_for_them() -> None:
    units = [
        Unit("dataset", "rows"),
        Unit("dataset", "gold"),
        Unit("annotate", "round", needs=("dataset/rows",)),
        Unit("publish", "gold", needs=("dataset/gold",)),
    ]
    steps = _waiting_for_people([Named(unit) for unit in units])
    waiting = {step.unit.name for step in steps if "annotate/round" in step.unit.needs}
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

"""The profiles that ship with Goldpan."""

from __future__ import annotations

import ast
from inspect import getsource

from goldpan.filters.catalogue import criteria
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.profile import load_profile, shipped_profiles

PAPER = (
    "comment-scale",
    "redundancy",
    "external-check",
    "event-count",
    "bots",
    "participants",
    "merged",
    "one-to-one",
    "single-file",
    "documentation",
    "suffix",
    "substance",
)


def test_two_profiles_ship() -> None:
    assert shipped_profiles() == ["default", "faun-eval"]
    assert all(load_profile(name).description for name in shipped_profiles())


def test_faun_eval_decides_by_the_papers_criteria_in_its_order() -> None:
    profile = load_profile("faun-eval")
    assert profile.decide == PAPER
    assert {criteria()[name].source[:9] for name in profile.decide} == {"FAUN-Eval"}


def test_faun_eval_has_the_papers_thresholds_and_literal_rules() -> None:
    told = load_profile("faun-eval").plain()["settings"]
    assert (told["comment-scale"]["minimum"], told["comment-scale"]["maximum"]) == (200, 10**7)
    assert (told["event-count"]["maximum"], told["event-count"]["count"]) == (10, "timeline")
    assert told["participants"]["minimum"] == 2
    assert told["single-file"]["maximum"] == 1
    assert told["bots"]["login_rule"] == "contains"
    assert told["suffix"]["tests"] == "contains"
    assert told["redundancy"]["literal"]
    before_robots = PAPER[: PAPER.index("bots")]
    assert all(told[name]["bots"] for name in before_robots)


def test_default_keeps_the_papers_order_and_adds_to_it() -> None:
    profile = load_profile("default")
    assert tuple(name for name in profile.decide if name in PAPER) == PAPER
    assert not any(told.get("bots") for told in profile.plain()["settings"].values())
    assert set(profile.settings["issue-kept"].criteria) <= set(profile.decide)


def test_criteria_are_told_in_words() -> None:
    for criterion in criteria().values():
        assert criterion.definition.startswith("Keeps ")
        assert criterion.definition.endswith(".")
        assert len(criterion.definition) <= 100


def test_each_setting_has_a_docstring() -> None:
    for criterion in criteria().values():
        if criterion.settings is DuplicateSettings:
            continue
        (body,) = (node for node in ast.parse(getsource(criterion.settings)).body)
        assert isinstance(body, ast.ClassDef)
        told = [isinstance(after, ast.Expr) for _, after in fields_and_next(body)]
        assert all(told), criterion.name


def fields_and_next(body: ast.ClassDef) -> list[tuple[ast.stmt, ast.stmt]]:
    pairs = zip(body.body, [*body.body[1:], body], strict=True)
    return [(one, after) for one, after in pairs if isinstance(one, ast.AnnAssign)]

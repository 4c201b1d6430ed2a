"""The profiles that ship with Goldpan."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.result import json_data
from goldpan.filters.profile import change_settings, criteria, load_profile, shipped_profiles

PAPER = (
    *("comment-scale", "redundancy", "external-check", "event-count", "bots", "participants"),
    *("merged", "one-to-one", "single-file", "documentation", "suffix", "substance"),
)


def test_three_profiles_ship() -> None:
    assert shipped_profiles() == ["default", "faun-eval", "verified"]
    assert all(load_profile(name).description for name in shipped_profiles())


def test_faun_eval_decides_by_the_papers_criteria_in_its_order() -> None:
    profile = load_profile("faun-eval")
    assert profile.decide == PAPER
    assert {criteria()[name].source[:9] for name in profile.decide} == {"FAUN-Eval"}


def test_faun_eval_has_the_papers_thresholds_and_literal_rules() -> None:
    settings = json_data(load_profile("faun-eval"))["settings"]
    scale, events = settings["comment-scale"], settings["event-count"]
    assert (scale["minimum"], scale["maximum"]) == (200, 10**7)
    assert (events["maximum"], events["count"]) == (10, "timeline")
    assert settings["participants"]["minimum"] == 2
    assert settings["single-file"]["maximum"] == 1
    assert settings["bots"]["login_rule"] == "contains"
    assert settings["suffix"]["tests"] == "contains"
    assert settings["redundancy"]["literal"]
    before_bots = PAPER[: PAPER.index("bots")]
    assert all(settings[name]["bots"] for name in before_bots)


def test_default_keeps_the_papers_order_and_adds_to_it() -> None:
    profile = load_profile("default")
    assert tuple(name for name in profile.decide if name in PAPER) == tuple(
        name for name in PAPER if name != "external-check"
    )
    assert not any(settings.get("bots") for settings in json_data(profile)["settings"].values())
    assert set(profile.settings["issue-kept"].criteria) <= set(profile.decide)


def write(folder: Path, **profiles: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in profiles.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return str(folder / f"{next(iter(profiles))}.toml")


def test_what_a_profile_sets_overrides_what_it_extends(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        mine='extends = "base.toml"\n[comment-scale]\nminimum = 50\n',
        base='extends = "default"\n[comment-scale]\nminimum = 70\nmaximum = 5000\n',
    )
    profile, default = load_profile(path), load_profile("default")
    assert (profile.name, profile.description) == ("mine", "")
    assert profile.extends == ("base", "default")
    assert profile.decide == default.decide
    scale = profile.settings["comment-scale"]
    assert (scale.minimum, scale.maximum, scale.bots) == (50, 5000, False)
    others = {name: value for name, value in default.settings.items() if name != "comment-scale"}
    assert others.items() <= profile.settings.items()
    plain = json_data(profile)
    assert plain["extends"] == ["base", "default"]
    assert plain["settings"]["comment-scale"]["maximum"] == 5000
    assert json_data(default)["extends"] == []
    decide = write(tmp_path, other='extends = "faun-eval"\ndecide = ["bots"]\n')
    assert load_profile(decide).decide == ("bots",)
    assert load_profile(decide).settings == load_profile("faun-eval").settings


@pytest.mark.parametrize(
    ("profiles", "problem", "remedy"),
    [
        (
            {"one": 'extends = "two.toml"', "two": 'extends = "one.toml"'},
            "Profiles extend each other",
            "Remove one extends",
        ),
        ({"one": 'extends = "one.toml"'}, "Profiles extend each other", "Remove one extends"),
        ({"one": "extends = 3"}, "line 1: extends: 3 should be a valid string", "Correct"),
        ({"one": 'extends = "defualt"'}, "no profile 'defualt' .did you mean default", "Choose"),
        ({"one": 'extends = "gone.toml"'}, "gone.toml cannot be read", "Check the file"),
        ({"default.llm": ""}, "default.llm.toml has a dot in its name", "Give the file another"),
        (
            {"one": 'extends = "default"\n[bots]\nlogin = 1'},
            "line 3: the key bots.login is unknown",
            "Did you mean logins",
        ),
    ],
)
def test_profiles_that_cannot_be_extended(
    profiles: dict[str, str], problem: str, remedy: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=problem) as error:
        load_profile(write(tmp_path, **profiles))
    assert error.value.remedy.startswith(remedy)


def test_settings_are_changed_under_a_name_that_tells_which() -> None:
    default = load_profile("default")
    values = {"comment-scale.minimum": 50, "external-check.ignored_hosts": ("a.test",)}
    changed = change_settings(default, values)
    assert changed.name.startswith("default+")
    assert changed.settings["comment-scale"].minimum == 50
    assert changed.settings["external-check"].ignored_hosts == ("a.test",)
    assert (changed.extends, changed.decide) == (("default",), default.decide)
    assert changed.option == (
        "--profile default --set comment-scale.minimum=50 "
        "--set 'external-check.ignored_hosts=[\"a.test\"]'"
    )
    digests = [
        {name: profile.digest(name) for name in default.settings} for profile in (default, changed)
    ]
    differing = {name for name, digest in digests[0].items() if digests[1][name] != digest}
    assert differing == {"comment-scale", "external-check"}


def test_the_same_settings_are_the_same_profile() -> None:
    default = load_profile("default")
    minimum = default.settings["comment-scale"].minimum
    assert change_settings(default, {"comment-scale.minimum": minimum}) is default
    changed = change_settings(default, {"near-duplicates.threshold": 1})
    values = {"near-duplicates.threshold": 1.0, "comment-scale.minimum": minimum}
    assert change_settings(default, values) == changed
    assert change_settings(default, {"comment-scale.minimum": 1}).name != changed.name


@pytest.mark.parametrize(
    ("name", "value", "problem", "remedy"),
    [
        ("comment-scale", 5, "--set comment-scale names no setting", "Write CRITERION.KEY=VALUE"),
        ("coment-scale.minimum", 5, "no criterion 'coment-scale' .did you mean", "Run goldpan fil"),
        ("decide.first", 5, "no criterion 'decide'", "Run goldpan filter --list"),
        ("bots.login", "x", "--set: the key bots.login is unknown", "Did you mean logins"),
        ("comment-scale.minimum", "x", "minimum: .* valid integer", "Correct it"),
        ("answer.choice", "x", "answer.choice: .*'best', 'first'", "Correct it"),
        ("bots.login_rule", "regex", r"bots\.login_rule: .*'words' or 'contains'", "Correct it"),
    ],
)
def test_settings_that_no_criterion_has(
    name: str, value: object, problem: str, remedy: str
) -> None:
    with pytest.raises(UsageError, match=problem) as error:
        change_settings(load_profile("default"), {name: value})
    assert error.value.remedy.startswith(remedy)

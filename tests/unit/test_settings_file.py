"""One reader of settings: what is wrong is told with file, line, key, cause and remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from goldpan.core.errors import UsageError
from goldpan.core.settings.file import Source, parse_toml, read_toml


@dataclass(frozen=True, slots=True)
class Limits:
    most: int
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    title: str
    limits: Limits
    steps: tuple[Limits, ...] = ()
    by_name: Mapping[str, Limits] = field(default_factory=dict)
    mode: Literal["fast", "exact"] = "fast"
    words: tuple[str, ...] = ()
    either: int | tuple[str, ...] = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    digest: str = field(init=False, default="")


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limits: tuple[Limits, ...] = ()


LIMITS = "[limits]\nmost = 3\n"
GOOD = f'title = "a"\n{LIMITS}'
NOTE = 'note = """\nmode = 1"""\n'


def test_settings_come_in_their_types() -> None:
    text = GOOD + "share = 1\n[extra]\nlist = [1, [2]]\n[by_name.x]\nmost = 1\n"
    job = parse_toml("job.toml", text).read(Job)
    assert job == Job("a", Limits(3, 1.0), by_name={"x": Limits(1)}, extra={"list": [1, [2]]})


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        (LIMITS, "job.toml: title is missing", "Add it. docs/x.md describes"),
        ('titel = "a"\n' + LIMITS, "line 1: the key titel is unknown", "Did you mean titl"),
        (GOOD + "\n# more\nmst = 4", "line 6: the key limits.mst is unknown", "Did you mean most?"),
        (GOOD + "[[steps]]\nmost = 1\n[[steps]]", "line 6: steps[1].most is missing", "Add it."),
        (GOOD + "[by_name.x]\nmost = '1'", "line 5: by_name.x.most: ", "Correct it. docs/x.md"),
        ("words = [\n'a',\n1]\n" + GOOD, "line 1: words[1]: ", "Correct it."),
        (NOTE + GOOD, "line 1: the key note is unknown", "It may hold title"),
        ('mode = "no"\n' + GOOD, "line 1: mode: \"no\" should be 'fast' or 'exact'", "Correct it."),
        ("either = [1]\n" + GOOD, "line 1: either: ", "Correct it."),
        ('digest = "a"\n' + GOOD, "line 1: the key digest is unknown", "It may hold title, limits"),
        ('title = "a"\nlimits = 3', "line 2: limits: it is not a table", "Correct it."),
        ("title = 'a'\n[limits]\nmost = true", "line 3: limits.most: ", "Correct it."),
        ("title = x", "job.toml is not valid TOML: Invalid value (at line 1, ", "Correct it."),
    ],
)
def test_what_is_wrong_is_told(text: str, problem: str, remedy: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_toml("job.toml", text, "docs/x.md").read(Job)
    told = error.value.problem.replace("job.toml, ", "", 1)
    assert told.startswith(problem)
    assert f"{error.value.remedy}.".startswith(remedy)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(UsageError) as error:
        parse_toml("job.toml", 'mod = "fast"\ntitle = 3\n').read(Job)
    assert str(error.value) == (
        "job.toml: 3 things are missing or wrong: limits is missing; line 1: the key mod is "
        "unknown (did you mean mode?); line 2: title: 3 should be a valid string. "
        "Correct them all."
    )


def test_a_mistyped_key_hides_no_missing_one_of_another_table() -> None:
    with pytest.raises(UsageError) as error:
        parse_toml("m.toml", "[[limits]]\nmots = 1\n[[limits]]\n").read(Model)
    assert str(error.value) == (
        "m.toml: 2 things are missing or wrong: line 2: the key limits[0].mots is unknown (did you "
        "mean most?); line 3: limits[1].most is missing. Correct them all."
    )


def test_settings_of_no_file_have_no_line() -> None:
    with pytest.raises(UsageError, match=r"^--set: limits\.most: "):
        Source("--set", {}).read(Limits, {"most": "x"}, ("limits",))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml cannot be read: No such file"):
        read_toml(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'a = "\xe9"')
    with pytest.raises(
        UsageError, match=r"latin\.toml is not valid TOML: it is not a text in UTF-8"
    ):
        read_toml(tmp_path / "latin.toml")


@given(
    st.lists(st.sampled_from(["", "# x", "b = '''\n[a]\nc = 1'''", "d = [\n1,\n]"]), unique=True)
)
def test_the_line_of_a_key_is_found_whatever_stands_before(before: list[str]) -> None:
    text = "\n".join([*before, "c = 1", "[a]", "c = 2"])
    lines = text.split("\n")
    source = parse_toml("x.toml", text)
    assert source.place("a", "c") == f"x.toml, line {len(lines)}"
    assert source.place("c") == f"x.toml, line {len(lines) - 2}"
    assert source.place("a", "b") == source.place() == "x.toml"


def test_a_file_may_be_as_windows_writes_it() -> None:
    source = parse_toml("x.toml", "\ufefftitle = 'x'\r\nmost = 'y'\r\n".encode())
    assert source.values == {"title": "x", "most": "y"}
    assert "line 2" in source.place("most")

"""A plan's file: mistakes with key, cause and remedy, and sections."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.values import LOCAL, Execution
from goldpan.plan.file import ALWAYS, check_plan, load_plan
from goldpan.plan.initial import commented_plan
from goldpan.plan.opened import OpenPlan, open_workspace
from goldpan.plan.record import differences, flat
from goldpan.plan.section import PlanFile, PlanSection, Select
from goldpan.plan.selection import query_of
from goldpan.plan.stages import STAGES, make_units
from goldpan.plan.step import Unit

LISTED = '[repositories]\nlisted = ["numpy/numpy"]\n'
QUESTIONS = '[[dataset]]\nname = "qa"\nfamily = "qa"\n'
DATASET = LISTED + QUESTIONS
NAMED = LISTED + '[[dataset]]\nname = "x"\n'
CROSSCODE = NAMED + 'family = "crosscode"\ntask = ["qa"]\n'
COMMENTS = NAMED + 'family = "code-comments"\n'
EVALUATION = '[[evaluation]]\nname = "e"\n'
TASKS = '[tasks.requirement_type]\nfiles = ["promise.csv"]\n'


def plan(folder: Path, text: str) -> PlanFile:
    path = folder / "lab.toml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path)


def test_keys_may_have_hyphens_and_names_are_read_once(tmp_path: Path) -> None:
    read = plan(
        tmp_path,
        'refresh = "daily"\n'
        '[repositories]\nlisted = ["numpy/numpy", "https://github.com/NumPy/numpy/issues/1"]\n'
        '[[repositories.select]]\nlanguage = "Go"\nmin-stars = 5000\nlimit = 3\n'
        '[mine.licenses]\n"numpy/numpy" = "BSD-3-Clause"\n'
        '[filter]\nprofile = ["faun-eval"]\n'
        '[[dataset]]\nname = "qa"\nfamily = "qa"\nprofile = "own.toml"\nleave-out = true\n'
        '[dataset.publish]\nrepo-id = "lab/qa"\ntag = "v{year}.{month}"\n',
    )
    assert read.name == "lab"
    assert read.head.repositories.listed == ("NumPy/numpy",)
    assert read.head.repositories.select[0].min_stars == 5_000
    assert read.sections("mine")[0].get("licenses") == {"numpy/numpy": "BSD-3-Clause"}
    assert read.sections("dataset")[0].get("leave_out")
    assert read.sections("publish")[0].get("tag") == "v{year}.{month}"
    assert read.profiles == ("faun-eval", str(tmp_path / "own.toml"))


def test_tasks_alone_need_no_repositories(tmp_path: Path) -> None:
    check_plan(plan(tmp_path, TASKS + EVALUATION + 'task = ["requirement_type"]'))


MISTAKES = [
    ("", "is empty", "goldpan init"),
    ("# nothing", "repositories: it names no repository", "listed ="),
    (f'{LISTED}[[dataset]]\nname = "qa"', "dataset[0].family is missing", "docs/plans.md"),
    ("[repositories]", "repositories: it names no repository", "listed ="),
    ("[repositories]\nlist = []", "line 2: the key repositories.list is unknown", "listed"),
    ('[repositories]\nlisted = ["numpy"]', "'numpy' does not name", "OWNER/NAME"),
    ("[[repositories.select]]\nlimit = 3", "select[0]: it selects among all", "min_stars"),
    ('[[repositories.select]]\nlanguage = "a\\"b"', "is not a word that a search can use", ""),
    (LISTED + '[mine]\nsinse = "2024-01-01"', "the key mine.sinse", "Did you mean since"),
    (LISTED + '[clone]\nsource = "https://me:secret@host/x.git"', "clone.source", "Remove them"),
    (DATASET + '[[dataset]]\nname = "qa"\nfamily = "qa"', "have the name 'qa'", "another"),
    (DATASET + '[[dataset]]\nname = "QA"\nfamily = "qa"', "have the name 'QA'", "another"),
    (LISTED + '[[dataset]]\nname = "../qa"\nfamily = "qa"', "dataset[0].name", ""),
    (DATASET + 'repositories = ["numpy/nunpy"]', "is not listed", "numpy/numpy"),
    (
        LISTED + '[mine]\nlicenses = { "Numpy/nunpy" = "MIT" }',
        "mine.licenses: numpy/nunpy is not listed",
        "Did you mean numpy/numpy",
    ),
    (DATASET + EVALUATION + 'dataset = ["qas"]', "builds no 'qas'", "Did you mean qa"),
    (DATASET + EVALUATION, "evaluation[0]: it names nothing", "dataset ="),
    (
        LISTED
        + '[review]\nmodel = "judge"\n'
        + QUESTIONS
        + 'profile = "faun-eval"\nrequire = ["question-answer"]',
        "dataset[0].require: the review is of what the profile default keeps",
        'Write profile = "faun-eval" in [review]',
    ),
    ("dataset = 3\n" + LISTED, "line 1: dataset: it is not a table", ""),
    (LISTED + '[verify]\ndatset = "x"', "line 4: the key verify.datset is unknown", "dataset"),
    (LISTED + '[verify]\ndataset = "x"', "line 4: verify[0].dataset: the plan builds no", "none"),
    # What a plan names that there is not.
    (
        LISTED + '[pair]\nrules = "fau"',
        "pair.rules: There is no set of pairing rules 'fau'",
        "faun",
    ),
    (LISTED + '[filter]\nprofile = ["faun-evl"]', "did you mean faun-eval", "default"),
    (LISTED + '[review.settings]\napi_key = "x"', "review: A review", "OPENAI_API_KEY"),
    (DATASET + 'split = "random:2"', "dataset[0].split", ""),
    (DATASET + EVALUATION + 'dataset = ["qa"]\nmodel = ["majorty"]', "evaluation[0].model", ""),
    (
        CROSSCODE.replace('"qa"', '"qaa"') + 'split = "Type-QA"',
        "dataset[0].task: There is no task 'qaa' (did you mean qa",
        "goldpan tasks list",
    ),
    (
        LISTED + EVALUATION + 'task = ["sentimen"]',
        "evaluation[0].task: There is no task 'sentimen' (did you mean sentiment",
        "goldpan tasks list",
    ),
    (
        DATASET + '[dataset.publish]\nrepo-id = "a/b"\ntag = "v{week}"',
        "dataset[0].publish.tag: The tag 'v{week}' has an unknown word",
        "{content}",
    ),
    (
        LISTED + '[mine]\nlicenses = { "numpy/numpy" = "BSD" }',
        "mine.licenses: The license 'BSD' is not an SPDX identifier",
        "spdx.org",
    ),
    (
        DATASET + '[[audit]]\ndataset = "qa"\nfinding = ["weak-test"]',
        "audit[0].finding: There is no finding 'weak-test' (did you mean weak-tests",
        "solution-in-issue",
    ),
    (
        DATASET + 'require = "not:luk"',
        "dataset[0].require: There is no finding 'luk' (did you mean luck",
        "solution-in-issue",
    ),
    (LISTED + "[pair]\nrules = []", "pair.rules: it should have at least 1 item", ""),
    (NAMED + 'family = "issue-typ"', "did you mean issue-type", "Choose qa"),
    (NAMED + 'family = "code-edit"\nrules = "faun-eval"', "does not pair by 'faun-eval'", ""),
    (NAMED + 'family = "qa"\nbalance = "none"', "balance is unknown", ""),
    (NAMED + 'family = "issue-type"\nprofile = "nlbse29"', "", "nlbse24"),
    (NAMED + 'family = "issue-type"\nbalance = "half"', "balance", ""),
    (COMMENTS + 'language = ["Cobol"]', "Cobol", ""),
    (CROSSCODE + 'rules = "default"\nsplit = "No"', "rules is unknown", ""),
    (CROSSCODE + 'split = "No"', "No", ""),
]


@pytest.mark.parametrize(("text", "problem", "remedy"), MISTAKES)
def test_mistakes_are_told_before_anything_runs(
    tmp_path: Path, text: str, problem: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as error:
        check_plan(plan(tmp_path, text))
    assert "lab.toml" in error.value.problem
    assert problem in error.value.problem
    assert remedy in error.value.remedy


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        plan(
            tmp_path,
            'refrsh = "daily"\n'
            + LISTED
            + '[pair]\nrule = "faun-eval"\n'
            + QUESTIONS
            + 'split = 3\n[[dataset]]\nname = "types"\nfamily = "issue-type"\nbalanse = "half"\n',
        )
    for line, cause in (
        (1, "the key refrsh is unknown (did you mean refresh?)"),
        (5, "the key pair.rule is unknown (did you mean rules?)"),
        (9, "dataset[0].split: 3 should be a valid string"),
        (13, "the key dataset[1].balanse is unknown (did you mean balance?)"),
    ):
        assert f"line {line}: {cause}" in error.value.problem
    with pytest.raises(UsageError) as error:
        check_plan(
            plan(
                tmp_path,
                LISTED
                + '[pair]\nrules = ["default", "fau"]\n'
                + QUESTIONS
                + 'profile = "defalt"\nsplit = "random:2"\n'
                + EVALUATION
                + 'dataset = "q"\nmodel = ["majorty", "longest-coment"]\n',
            )
        )
    for name in ("fau", "defalt", "random:2", "'q'", "majorty", "longest-coment"):
        assert name in error.value.problem
    assert "6 things are missing or wrong" in error.value.problem


def test_paths_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    read = plan(tmp_path, f'workspace = "~/lab"\n{DATASET}profile = "~/own.toml"\n')
    assert read.profiles == (str(tmp_path / "home" / "own.toml"),)
    assert open_workspace(read).path == tmp_path / "home" / "lab"


def test_a_selection_in_the_words_of_the_search() -> None:
    select = Select(language="C++", min_stars=50, license="mit")
    assert query_of(select) == 'language:"C++" stars:>=50 license:mit archived:false'
    assert query_of(Select(min_stars=1, archived=True)) == "stars:>=1"


def test_what_changed_is_told_with_old_and_new() -> None:
    settings = {"rules": "default", "limits": {"words": 3}}
    old = {"Goldpan's version": "0.1", **flat(settings, "setting "), "input entries": "a" * 64}
    new = {"Goldpan's version": "0.2", **flat({**settings, "limits": {"words": 5}}, "setting ")}
    assert not list(differences(old, old))
    assert list(differences(old, new)) == [
        "Goldpan's version: 0.1 → 0.2",
        f"input entries: {'a' * 12} → absent",
        "setting limits.words: 3 → 5",
    ]
    assert not list(differences(new, {**new, "input pairs": "absent"}))
    assert not list(differences({}, new)), "nothing is known of what failed at once"


def units_of(folder: Path, text: str, where: Execution = LOCAL) -> dict[str, Unit]:
    """Return the units of a plan by name, in their order."""
    path = folder / "plan.toml"
    head, _, sections = text.rpartition("---\n")
    path.write_text(f'{head}[repositories]\nlisted = ["a/b"]\n{sections}', encoding="utf-8")
    file = load_plan(path)
    opened = OpenPlan(file, open_workspace(file, folder / "lab"), ("a/b",), where)
    return {unit.name: unit for unit in make_units(opened)}


def test_two_files_of_one_name_are_two_inputs(tmp_path: Path) -> None:
    names = ["here/bugs.csv", "there/bugs.csv"]
    for name in names:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(name, encoding="utf-8")
    unit = units_of(tmp_path, f"[tasks.bug_issue]\nfiles = {names}\n")["tasks/bug_issue"]
    basis = unit.basis(unit.stage.step(unit))
    assert [name for name in basis if name.startswith("input ")] == [f"input {n}" for n in names]


def options_given(unit: Unit) -> dict[str, object]:
    """Return what the method of a unit is called with."""
    return unit.options(unit.stage.step(unit), {})


def test_a_section_says_where_its_stage_works_else_the_command_else_the_head(
    tmp_path: Path,
) -> None:
    text = 'engine = "ray"\naddress = "head:6379"\n---\n[pair]\nengine = "local"\nworkers = 3\n'
    units = units_of(tmp_path, text)
    names = ("engine", "address", "workers")
    pair, filters = (options_given(units[f"{stage}/a/b"]) for stage in ("pair", "filter"))
    assert [pair.get(name) for name in names] == ["local", "head:6379", 3]
    assert [filters.get(name) for name in names] == ["ray", "head:6379", None]
    here = units["filter/a/b"]
    there = units_of(tmp_path, text, Execution("ray", "other:6379"))["filter/a/b"]
    assert options_given(there)["address"] == "other:6379"
    first, second = (unit.basis(unit.stage.step(unit)) for unit in (here, there))
    assert first == second, "results are the same"


def test_the_commented_plan_is_one_and_all_it_says_can_be_set(tmp_path: Path) -> None:
    text = commented_plan()
    read = plan(tmp_path, text)
    assert read.head.repositories.listed == ("OWNER/NAME",)
    assert (read.head.workspace, read.sections("dataset")) == (".", [])
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    whole = plan(tmp_path, "\n".join(line.removeprefix("#") for line in lines))
    assert all(whole.by_stage[stage.name] for stage in STAGES if stage.heading)
    for stage in STAGES:
        if stage.heading in ALWAYS:
            (section,) = whole.sections(stage.name)
            own = {name for name, option in section.parameters.items() if option.group}
            left = {*type(section).model_fields} - section.model_fields_set
            assert left <= own & {"engine", "address", "workers"}


KEY = re.compile(r"#([a-z-]+) = (.*?)(  # for example)?$")


def with_line_set(lines: list[str], number: int) -> tuple[str, str]:
    """Return a commented plan with one line set, and the heading of its table.

    A table whose heading is a comment comes with that and with the keys that it must have.
    """
    headings = [n for n, line in enumerate(lines) if line.removeprefix("#").startswith("[")]
    above = [n for n in headings if n < number][-1:]
    heading = lines[above[0]].removeprefix("#") if above else ""
    if heading == "[dataset.publish]":
        above.append(lines.index("#[[dataset]]"))
    chosen = {number, *above}
    for start in above:
        for n in range(start + 1, len(lines)) if lines[start].startswith("#") else ():
            key = KEY.match(lines[n])
            if n in headings or (key and key[1] not in MUST_HAVE):
                break
            chosen |= {n} if key else set()
    shown = (line.removeprefix("#") if n in chosen else line for n, line in enumerate(lines))
    return "\n".join(shown), heading


MUST_HAVE = (
    *("name", "family", "dataset", "project", "to", "repo-id"),
    *("language", "license", "task", "split"),
)
"""The keys that stand first in some table, of which it must have one or all."""


def test_each_line_of_the_commented_plan_sets_the_default_or_an_example(tmp_path: Path) -> None:
    lines = commented_plan().splitlines()
    keys = {n: found for n, line in enumerate(lines) if (found := KEY.match(line))}
    assert len(keys) > 100
    for number, found in keys.items():
        line, (key, value, is_example) = found[0], found.groups()
        text, heading = with_line_set(lines, number)
        read, name = plan(tmp_path, text), key.replace("-", "_")
        section: PlanSection = read.head
        if heading == "[[repositories.select]]":
            (section,) = read.head.repositories.select
        elif heading:
            (stage,) = (one for one in STAGES if one.heading == heading)
            (section,) = read.sections(stage.name)
        field = type(section).model_fields[name]
        (said,) = tomllib.loads(f"value = {value}").values()
        expected = tuple(said) if isinstance(said, list) else said
        assert section.get(name) == expected, line
        if is_example:
            assert field.is_required() or field.default in (None, ()), line
        elif expected != field.default:  # which help tells
            assert f"(default: {value}" in (field.description or ""), line

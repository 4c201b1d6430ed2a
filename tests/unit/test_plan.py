"""A plan's file: mistakes with key, cause and remedy; sections, and the order of units."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.result import blocks_of
from goldpan.plan.file import PlanFile, check_plan, load_plan
from goldpan.plan.make import make_steps, open_workspace
from goldpan.plan.mining import query_of
from goldpan.plan.results import PlanResult, UnitResult
from goldpan.plan.section import StageSection
from goldpan.plan.sections import Select, commented_plan, method_of, plan_section
from goldpan.plan.step import Context, Step
from goldpan.plan.unit import Change, Unit, UnitRecipe, changes, flat
from goldpan.workspace.options import options_of

LISTED = '[repositories]\nlisted = ["numpy/numpy"]\n'
QUESTIONS = '[[dataset]]\nname = "qa"\nfamily = "qa"\n'
DATASET = LISTED + QUESTIONS
NAMED = LISTED + '[[dataset]]\nname = "x"\n'
CROSSCODE = NAMED + 'family = "crosscode"\ntask = ["qa"]\n'
COMMENTS = NAMED + 'family = "code-comments"\n'
EVALUATION = '[[evaluation]]\nname = "e"\n'


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
    assert read.plan.repositories.listed == ("NumPy/numpy",)
    assert read.plan.repositories.select[0].min_stars == 5_000
    assert read.plan.mine.licenses == {"numpy/numpy": "BSD-3-Clause"}
    assert read.datasets[0].leave_out
    assert read.datasets[0].publish is not None
    assert read.profiles == ("faun-eval", str(tmp_path / "own.toml"))


MISTAKES = [
    ("", "repositories is missing", "docs/plans.md"),
    (f'{LISTED}[[dataset]]\nname = "qa"', "dataset[0].family is missing", "docs/plans.md"),
    ("[repositories]", "repositories: it names no repository", "listed ="),
    ("[repositories]\nlist = []", "line 2: the key repositories.list is unknown", "listed"),
    ('[repositories]\nlisted = ["numpy"]', "'numpy' does not name", "OWNER/NAME"),
    ("[[repositories.select]]\nlimit = 3", "select[0]: it selects among all", "min_stars"),
    ("[[repositories.select]]\nmin-star = 3", "select[0].min-star is unknown", "min_stars"),
    ('[[repositories.select]]\nlanguage = "a\\"b"', "is no word of a search", ""),
    (LISTED + '[mine]\nsinse = "2024-01-01"', "the key mine.sinse", "Did you mean since"),
    (LISTED + '[mine]\nvia = "soap"', "mine.via", "docs/plans.md"),
    (LISTED + "[mine]\nconcurrency = true", "mine.concurrency", ""),
    (LISTED + '[clone]\nenabled = "no"', "clone.enabled", ""),
    (LISTED + '[clone]\nsource = "https://me:secret@host/x.git"', "clone.source", "Remove them"),
    (DATASET + '[[dataset]]\nname = "qa"\nfamily = "qa"', "have the name 'qa'", "another"),
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
        LISTED + "[review]\n" + QUESTIONS + 'profile = "faun-eval"\nrequire = ["question-answer"]',
        "dataset[0].require: the review is of what the profile default keeps",
        'Write profile = "faun-eval" in [review]',
    ),
    ("refresh = 3\n" + LISTED, "refresh", "docs/plans.md"),
    ("[repositories", "is not valid TOML", "Correct it"),
    # What a plan names that there is not.
    (
        LISTED + '[pair]\nrules = "fau"',
        "pair.rules: There is no set of pairing rules 'fau'",
        "faun",
    ),
    (LISTED + '[filter]\nprofile = ["faun-evl"]', "did you mean faun-eval", "default"),
    (NAMED + 'family = "qq"', "dataset[0].family", "Choose qa"),
    (LISTED + "[review.settings]\nmodel = 3", "A review: the key model is unknown", "models"),
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
        COMMENTS + '[dataset.publish]\nrepo-id = "a/b"\ntag = "v{year}"',
        "'v{year}' has a date, which datasets of the family code-comments do not tell",
        "Write {content}",
    ),
    (
        LISTED + '[mine]\nlicenses = { "numpy/numpy" = "BSD" }',
        "mine.licenses: The license 'BSD' is no SPDX identifier",
        "spdx.org",
    ),
    (
        COMMENTS + EVALUATION + 'dataset = ["x"]',
        "evaluation[0].dataset: no task has the rows of x, of the family code-comments",
        "docs/tasks.md",
    ),
    (
        CROSSCODE + 'split = "Type-QA"\n' + EVALUATION + 'dataset = ["x"]',
        "no task has the rows of x, of the family crosscode",
        "goldpan build crosscode import",
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
    (NAMED + 'family = "issue-typ"', "did you mean issue-type", "Choose qa"),
    (NAMED + 'family = "code-edit"\nrules = "faun-eval"', "does not pair by 'faun-eval'", ""),
    (NAMED + 'family = "qa"\nbalance = "none"', "balance is unknown", ""),
    (NAMED + 'family = "issue-type"\nanswer = "best"', "answer is unknown", ""),
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


def test_a_selection_in_the_words_of_the_search() -> None:
    select = Select(language="C++", min_stars=50, license="mit")
    assert query_of(select) == 'language:"C++" stars:>=50 license:mit archived:false'
    assert query_of(Select(min_stars=1, archived=True)) == "stars:>=1"


def test_what_changed_is_told_with_old_and_new() -> None:
    old = UnitRecipe(
        "0.1", flat({"rules": "default", "limits": {"words": 3}}), {"entries": "a" * 64}
    )
    new = UnitRecipe("0.2", flat({"rules": "default", "limits": {"words": 5}}), {})
    assert not list(changes(old, old))
    assert list(changes(old, new)) == [
        Change("Goldpan's version", "0.1", "0.2"),
        Change("setting limits.words", "3", "5"),
        Change("input entries", "a" * 12, "absent"),
    ]
    assert not list(changes(new, UnitRecipe("0.2", new.settings, {"pairs": "absent"})))
    assert old.fingerprint != new.fingerprint
    assert len({old.fingerprint, new.fingerprint, UnitRecipe("0.1", {}, {}).fingerprint}) == 3


def steps_of(folder: Path, text: str) -> dict[str, Step]:
    """Return the steps of a plan by name, in their order."""
    (folder / "plan.toml").write_text(f'[repositories]\nlisted = ["a/b"]\n{text}', encoding="utf-8")
    file = load_plan(folder / "plan.toml")
    steps = make_steps(Context(file, open_workspace(file, folder / "lab")), ("a/b",))
    return {step.unit.name: step for step in steps}


def units_of(folder: Path, text: str) -> dict[str, Unit]:
    """Return the units of a plan by name, in their order."""
    return {name: step.unit for name, step in steps_of(folder, text).items()}


def test_two_files_of_one_name_are_two_inputs(tmp_path: Path) -> None:
    names = ["here/bugs.csv", "there/bugs.csv"]
    for name in names:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(name, encoding="utf-8")
    step = steps_of(tmp_path, f"[tasks.bug_issue]\nfiles = {names}\n")["tasks/bug_issue"]
    assert list(step.inputs()) == names


SECTIONS = {"pair": "pair", "clone": "clone", "filter": "filter", "verify": "verify"}


def section_of(name: str) -> type[StageSection]:
    annotation = plan_section().model_fields[name].annotation
    kind = annotation if isinstance(annotation, type) else annotation.__args__[0]  # type: ignore[union-attr]
    assert issubclass(kind, StageSection)
    return kind


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_the_options_of_its_method(name: str) -> None:
    options = {item.name for item in options_of(method_of(SECTIONS[name]))}
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


@pytest.mark.parametrize("name", ["mine", "pair", "clone", "filter", "review"])
def test_a_line_of_the_commented_plan_sets_the_default_unless_it_is_marked(name: str) -> None:
    part = commented_plan().partition(f"#[{name}]\n")[2].partition("\n#[")[0]
    lines = [line for line in part.splitlines() if " = " in line and not line.startswith("# ")]
    kind, marked = section_of(name), "  # for example"
    for line in lines:
        read = kind.model_validate(tomllib.loads(line.removeprefix("#")))
        (key,) = read.model_fields_set
        default = kind.model_fields[key].default
        if line.endswith(marked):
            assert default is None, line
        elif default is None:  # which help tells
            assert f"(default: {line.rpartition(' ')[2]}" in (
                kind.model_fields[key].description or ""
            )
        else:
            assert getattr(read, key) == default, line


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
    texts = [getattr(block, "text", "") for block in blocks_of(result)]
    assert "annotate/round partial: people annotate. Skipped for it: 1 unit." in texts

"""A plan's file is read whole, and what is wrong with it is told with key, cause and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.plan.file import PlanFile, check_plan, load_plan
from goldpan.plan.mining import query_of
from goldpan.plan.sections import Select
from goldpan.plan.unit import Change, UnitRecipe, changes, flat

LISTED = '[repositories]\nlisted = ["numpy/numpy"]\n'
QUESTIONS = '[[dataset]]\nname = "qa"\nfamily = "qa"\n'
DATASET = LISTED + QUESTIONS
NAMED = LISTED + '[[dataset]]\nname = "x"\n'


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
    (
        DATASET + '[[evaluation]]\nname = "e"\ndataset = ["qas"]',
        "builds no 'qas'",
        "Did you mean qa",
    ),
    (DATASET + '[[evaluation]]\nname = "e"', "evaluation[0]: it names nothing", "dataset ="),
    (
        LISTED + "[review]\n" + QUESTIONS + 'profile = "faun-eval"\nrequire = ["question-answer"]',
        "dataset[0].require: the review is of what the profile default keeps",
        'Write profile = "faun-eval" in [review]',
    ),
    ("refresh = 3\n" + LISTED, "refresh", "docs/plans.md"),
    ("[repositories", "is not valid TOML", "Correct it"),
    # What a plan names that there is not.
    (
        LISTED + '[pair]\nrules = "faun"',
        "pair.rules: There is no set of pairing rules 'faun'",
        "faun-eval",
    ),
    (LISTED + '[filter]\nprofile = ["faun-evl"]', "did you mean faun-eval", "default"),
    (LISTED + '[[dataset]]\nname = "q"\nfamily = "qq"', "dataset[0].family", "Choose qa"),
    (
        LISTED + "[review.settings]\nmodel = 3",
        "review: A review: the key model is unknown",
        "models",
    ),
    (LISTED + '[review.settings]\napi_key = "x"', "review: A review", "OPENAI_API_KEY"),
    (DATASET + 'split = "random:2"', "dataset[0].split", ""),
    (
        DATASET + '[[evaluation]]\nname = "e"\ndataset = ["qa"]\nmodel = ["majorty"]',
        "evaluation[0].model",
        "",
    ),
    (
        LISTED + '[[dataset]]\nname = "c"\nfamily = "crosscode"\ntask = ["qaa"]\nsplit = "Type-QA"',
        "dataset[0].task: There is no task 'qaa' (did you mean qa",
        "goldpan tasks list",
    ),
    (
        LISTED + '[[evaluation]]\nname = "e"\ntask = ["sentimen"]',
        "evaluation[0].task: There is no task 'sentimen' (did you mean sentiment",
        "goldpan tasks list",
    ),
    (
        DATASET + '[dataset.publish]\nrepo-id = "a/b"\ntag = "v{week}"',
        "dataset[0].publish.tag: The tag 'v{week}' has an unknown word",
        "{content}",
    ),
    (
        LISTED + '[[dataset]]\nname = "c"\nfamily = "code-comments"\n'
        '[dataset.publish]\nrepo-id = "a/b"\ntag = "v{year}"',
        "'v{year}' has a date, which datasets of the family code-comments do not tell",
        "Write {content}",
    ),
    (
        LISTED + '[mine]\nlicenses = { "numpy/numpy" = "BSD" }',
        "mine.licenses: The license 'BSD' is no SPDX identifier",
        "spdx.org",
    ),
    (
        LISTED + '[[dataset]]\nname = "c"\nfamily = "code-comments"\n'
        '[[evaluation]]\nname = "e"\ndataset = ["c"]',
        "evaluation[0].dataset: no task has the rows of c, of the family code-comments",
        "docs/tasks.md",
    ),
    (
        LISTED + '[[dataset]]\nname = "c"\nfamily = "crosscode"\n'
        'task = ["qa"]\nsplit = "Type-QA"\n'
        '[[evaluation]]\nname = "e"\ndataset = ["c"]',
        "no task has the rows of c, of the family crosscode",
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
    (
        LISTED + '[[dataset]]\nname = "q"\nfamily = "issue-typ"',
        "did you mean issue-type",
        "Choose qa",
    ),
    (NAMED + 'family = "code-edit"\nrules = "faun-eval"', "does not pair by 'faun-eval'", ""),
    (NAMED + 'family = "qa"\nbalance = "none"', "balance is unknown", ""),
    (NAMED + 'family = "issue-type"\nanswer = "best"', "answer is unknown", ""),
    (NAMED + 'family = "issue-type"\nprofile = "nlbse29"', "", "nlbse24"),
    (NAMED + 'family = "issue-type"\nbalance = "half"', "balance", ""),
    (NAMED + 'family = "code-comments"\nlanguage = ["Cobol"]', "Cobol", ""),
    (
        NAMED + 'family = "crosscode"\nrules = "default"\ntask = ["qa"]\nsplit = "No"',
        "rules is unknown",
        "",
    ),
    (NAMED + 'family = "crosscode"\ntask = ["qa"]\nsplit = "No"', "No", ""),
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

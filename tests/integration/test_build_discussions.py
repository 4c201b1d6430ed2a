"""Accepted answers of discussions: judged, built, explained and traced to their raw replies."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import goldpan
from goldpan.annotation.studio.forms import find_form, make_task
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.result import json_data
from goldpan.datasets.hub.check import check_dataset
from goldpan.datasets.provenance import stored_rows
from goldpan.workspace.dataset import Dataset
from tests.demo_workspace import offline
from tests.keyboard import terminal
from tests.mining import SLUICE, mine_twin
from tests.program import goldpan as run
from tests.shared_folder import made_once
from tests.twin import Forum, Twin, forum_world, talk
from tests.twin.discussions import QUESTIONS

REASONS = {
    "open": "not-accepted",
    "deleted": "answer-deleted",
    "minimized": "answer-minimized",
    "idea": "category-without-answers",
    "robot": "answer-by-bot",
}
COPIED = "How do I sieve two columns at once?"


def _make(folder: Path) -> None:
    world = forum_world()
    forum = Forum(world)
    numbers = talk(forum)
    issue = world.main.entries[1]
    for name in ("converted", "copy"):
        number = numbers[name] = forum.ask(COPIED, issue.body or "", category=QUESTIONS)
        forum.accept(number, forum.say(number, "Ask for both in one predicate."))
    number = numbers["by_asker"]
    spam = forum.say(number, "Gold pans, half the price.")
    forum.change_comment(number, spam, minimized="spam")
    with Twin(world) as twin:
        mine_twin(twin, folder / "lab", include=("discussions",))
    (folder / "numbers.json").write_text(json.dumps(numbers), encoding="utf-8")
    lab = goldpan.Workspace(folder / "lab")
    lab.pair()
    lab.filter()


class Discussed:
    """A workspace of its own with discussions, mined and filtered."""

    def __init__(self, folder: Path) -> None:
        made = made_once("discussed", _make)
        shutil.copytree(made / "lab", folder / "lab")
        self.lab = goldpan.Workspace(folder / "lab")
        self.numbers: dict[str, int] = json.loads((made / "numbers.json").read_text("utf-8"))

    def row_id(self, name: str) -> str:
        return f"qa:{SLUICE}#{self.numbers[name]}"


@pytest.fixture
def discussed(tmp_path: Path) -> Discussed:
    return Discussed(tmp_path)


def rows(dataset: Dataset) -> list[dict[str, Any]]:
    return list(stored_rows(dataset.path))


def test_each_discussion_without_a_usable_answer_is_told_why(discussed: Discussed) -> None:
    for name, reason in REASONS.items():
        why = discussed.lab.why(f"{SLUICE}#{discussed.numbers[name]}")
        verdicts = {row["criterion"]: row for row in why.verdicts}
        assert verdicts["accepted"]["reason"] == reason
        assert verdicts["accepted"]["subject"] == "discussion"
        assert set(verdicts) == {
            "accepted",
            "bots",
            "language",
            "license",
            "near-duplicates",
            "private",
            "text-quality",
        }
    funnel = json_data(discussed.lab.funnel())["discussions"]
    assert funnel["rows"] == len(discussed.numbers)
    (step,) = [step for step in funnel["steps"] if step["criterion"] == "accepted"]
    assert step["reasons"] == dict.fromkeys(sorted(REASONS.values()), 1)


def test_rows_say_who_accepted_the_answer(discussed: Discussed) -> None:
    built = rows(discussed.lab.build("qa", source="discussions"))
    assert {row["id"]: row["answer_accepted_by"] for row in built} == {
        discussed.row_id("converted"): "asker",
        discussed.row_id("by_asker"): "asker",
        discussed.row_id("by_maintainer"): "maintainer",
        discussed.row_id("ghosts"): "other",
    }
    by_asker, by_maintainer, ghosts, _ = built
    assert by_maintainer["answer"].startswith("Yes: give both of them")
    assert by_maintainer["category"] == "Q&A"
    assert by_maintainer["answer_chosen_at"] is not None
    assert [turn["content"] for turn in by_asker["dialogue"][1:]] == [
        by_asker["answer"],
        "Thank you, that was it.",
    ]
    assert by_asker["labels"] == ["help wanted"]
    assert (ghosts["question_role"], ghosts["participants"]) == ("none", 1)


def test_both_sources_make_one_dataset(discussed: Discussed, tmp_path: Path) -> None:
    profile = tmp_path / "lenient.toml"
    profile.write_text('extends = "default"\ndecide = ["bots", "near-duplicates"]\n', "utf-8")
    discussed.lab.filter(profile=profile)
    build = partial(discussed.lab.build, "qa")
    both = build(source=["issues", "discussions"], profile=profile, split="random:0.5,0.5")
    built = rows(both)
    assert {row["source"] for row in built} == {"issues", "discussions"}
    assert len({row["id"] for row in built}) == len(built) == 5
    assert {row["answer_accepted_by"] for row in built if row["source"] == "issues"} == {None}
    assert check_dataset(both.path) == []
    for form in ("chat", "inspect"):
        both.export(to=form, output=tmp_path / form)
    card = (both.path / "README.md").read_text("utf-8")
    assert "Of 12 issues and discussions" in card
    assert "and of a discussion the comment or reply that the asker or a maintainer" in card
    issues = build(profile=profile, output=tmp_path / "issues")
    assert (
        "answer_accepted_by"
        not in pq.read_schema(next((issues.path / "data").glob("*.parquet"))).names
    )
    provenance = json.loads((issues.path / "provenance.json").read_text("utf-8"))
    assert "sources" not in provenance["settings"]


def test_an_issue_that_became_a_discussion_costs_neither_its_place(discussed: Discussed) -> None:
    """Of the copies of one kind the first is kept, whatever the other kind said before."""
    kept = {}
    for number in (1, discussed.numbers["converted"], discussed.numbers["copy"]):
        verdicts = discussed.lab.why(f"{SLUICE}#{number}").verdicts
        (verdict,) = [row for row in verdicts if row["criterion"] == "near-duplicates"]
        kept[number] = verdict["reason"]
        assert verdict["evidence"] in (None, f"duplicate of {SLUICE}#1")
    assert list(kept.values()) == [None, None, "exact-duplicate"]


def test_a_row_leads_back_to_its_raw_reply(discussed: Discussed) -> None:
    discussed.lab.build("qa", source="discussions")
    found = discussed.lab.trace(discussed.row_id("by_maintainer"), verify=True)
    assert found.holds
    assert found.complete
    assert {reply.part for reply in found.replies} == {"entries"}
    (entry,) = found.entries
    assert entry.discussion is not None
    assert entry.discussion["answer_id"] == found.example["answer_comment_id"]


def test_why_explains_a_discussion(discussed: Discussed) -> None:
    number = discussed.numbers["deleted"]
    for subject in (f"{SLUICE}#{number}", f"https://github.com/{SLUICE}/discussions/{number}"):
        done = run("why", subject, "--workspace", discussed.lab.path)
        assert done.code == 0, done.err
        assert "discussion, open, by marlow-k" in done.out
        assert "accepted answer: a comment that is gone, by marlow-k" in done.out
        assert "accepted: answer-deleted (does not decide)" in done.out


def test_the_report_and_the_command_line_know_discussions(discussed: Discussed) -> None:
    page = discussed.lab.path / "report.html"
    discussed.lab.report(output=page)
    assert "Keeps discussions whose accepted answer" in page.read_text("utf-8")
    both = ("--source", "issues", "--source", "discussions")
    done = run("build", "qa", *both, "--workspace", discussed.lab.path)
    assert done.code == 0, done.err
    assert "without an example: accepted" in done.out
    assert {row["source"] for row in rows(discussed.lab.dataset("qa"))} >= {"discussions"}


def test_options_that_do_not_go_together_are_refused(discussed: Discussed) -> None:
    build = partial(discussed.lab.build, "qa")
    with pytest.raises(UsageError, match="Reviews read issues alone"):
        build(source="discussions", require="question-answer")
    with pytest.raises(UsageError, match="discussions have accepted answers"):
        build(source="discussions", answer="first")


def test_a_workspace_without_discussions_is_told_how_to_get_them(tmp_path: Path) -> None:
    with Twin(forum_world()) as twin:
        mine_twin(twin, tmp_path / "lab")
    lab = goldpan.Workspace(tmp_path / "lab")
    lab.filter()
    with pytest.raises(DatasetError, match="there are no discussions") as told:
        lab.build("qa", source="discussions")
    assert "--include discussions" in told.value.remedy


def test_accepted_answers_are_judged_by_people_not_by_models(discussed: Discussed) -> None:
    folder = discussed.lab.path
    done = run("review", "--subject", "discussion", "--dry-run", "--workspace", folder)
    assert done.code == 2
    assert "evaluate labels DATASET --sample 50" in done.err
    discussed.lab.build("qa", source="discussions")
    words = ("evaluate", "labels", "qa", "--sample", "1", "--workspace", folder)
    with terminal(*words, folder=folder, environment=offline()) as screen:
        shown = screen.until("then Enter")
        assert "judge this reply" in shown
        screen.press("1\n")
        assert "answers: answers 1, partly 0, not 0" in screen.ended()[1]
    (row,) = [row for row in rows(goldpan.load(folder / "datasets" / "qa")) if row["issue"]][:1]
    note = make_task(find_form("question-answer"), row).panels["note"]
    assert f"discussion #{row['issue']}" in note

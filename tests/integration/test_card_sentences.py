"""What the sentences of a card state is true of its dataset."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

import goldpan
from goldpan.core.sanitize import visible
from goldpan.datasets.provenance import stored_rows
from tests.demo_workspace import make_demo
from tests.tasks import own_files, own_task

MINED = {"qa", "fault-localization", "code-edit", "issue-resolution", "issue-nlbse23"}
IMPORTED = {"toy_issues"}
OWN = {"report_kind"}


@dataclass(frozen=True)
class Built:
    """A dataset, with what is known of it."""

    name: str
    card: str
    provenance: Mapping[str, Any]
    rows: list[dict[str, Any]]

    @property
    def columns(self) -> dict[str, str]:
        """What each column holds."""
        return {column["name"]: column["holds"] for column in self.provenance["columns"]}

    @property
    def has_code(self) -> bool:
        """Whether a column holds code."""
        return "code" in self.columns.values()

    @property
    def sources(self) -> list[Mapping[str, Any]]:
        """The mined repositories."""
        return list(self.provenance.get("sources", ()))


def count(found: re.Match[str], built: Built) -> bool:
    return int(found[1]) == len(built.rows)


Check = Callable[[re.Match[str], Built], bool]
# What a sentence says, and of which datasets it is true.
RULES: tuple[tuple[str, Check], ...] = (
    (
        r"(\d+) examples from 2 repositories, mined until 2024-08-01\.",
        lambda found, built: (
            count(found, built)
            and built.name in MINED
            and len({row["repo"] for row in built.rows}) == 2
        ),
    ),
    (
        r"(\d+) examples taken from Toy issues of nobody\.",
        lambda found, built: count(found, built) and built.name in IMPORTED,
    ),
    (r"(\d+) examples of a table\.", lambda f, b: count(f, b) and b.name in OWN),
    (
        r"Of (\d+) rows, (\d+) (?:is|are) free of all findings \(.*",
        lambda found, built: count(found, built) and (int(found[2]) > 0 or built.name == "qa"),
    ),
    (
        r"Labels: .* by the profile (\w+), without a review\.",
        lambda found, built: (
            built.provenance["profile"]["name"] == found[1] and not built.provenance.get("reviews")
        ),
    ),
    (
        r"Answer tiers \(`answer_tier`\): (\d+) likely \(.*\) and (\d+) possible \(.*",
        lambda found, built: int(found[1]) + int(found[2]) == len(built.rows),
    ),
    (r"The rows are made of (\d+) of \d+ (?:issues|fix pairs).*", count),
    (
        r"A model is given (.*) and should answer with `(\w+)`\.",
        lambda found, built: {*re.findall(r"\w+", found[1]), found[2]} <= built.columns.keys(),
    ),
    (
        r"Split by `none`\.",
        lambda _, built: all(
            "test-" in path for path in built.provenance["files"] if "data/" in path
        ),
    ),
    (
        r"Goldpan \S+ mined the repositories from GitHub, kept every reply as it came, .*",
        lambda _, built: {source["via"] for source in built.sources} <= {"graphql", "rest"},
    ),
    (r"The column `raw` names the replies\.", lambda _, built: "raw" in built.columns),
    (
        r"A model that was trained on texts from after these dates .*",
        lambda _, built: any(row["created_at"] for row in built.rows),
    ),
    (r"The texts and the code belong to their authors\.", lambda _, built: built.has_code),
    (r"The texts belong to their authors\.", lambda _, built: not built.has_code),
    (r"Code is under the license of its repository, .*", lambda _, built: built.has_code),
    (
        r"Each example names the license of its repository\.",
        lambda _, built: all(row["repo"] for row in built.rows),
    ),
    (
        r"Their source states the license below; .*",
        lambda _, built: all(row["license"] for row in built.rows) and built.name in IMPORTED,
    ),
    (
        r"People wrote the texts on GitHub; they are named by their relation .*",
        lambda _, built: {"question_role", "answer_role"} <= built.columns.keys(),
    ),
    (
        r"Before publishing, Goldpan redacted: .*",
        lambda _, built: bool(built.provenance["redactions"]),
    ),
    (
        r"Nothing in the texts was redacted\.",
        lambda _, built: not built.provenance.get("redactions"),
    ),
    (
        r"The examples are the work of those who wrote the issues and the code: .*",
        lambda _, built: built.has_code,
    ),
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    folder = tmp_path_factory.mktemp("cards")
    lab = goldpan.Workspace(make_demo(folder / "lab"))
    with (folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "kind"])
        table.writerows(
            [f"The thing number {at} does not work", ["bug", "question"][at % 2]]
            for at in range(40)
        )
    lab.tasks.add("report_kind", [folder / "t.csv"], text=["text"], label="kind")
    own_task(lab.path / "tasks")
    lab.tasks.import_("toy_issues", own_files(folder))
    output = lab.path / "datasets" / "issue-nlbse23"
    lab.build("issue-type", profile="nlbse23", source="mined", split="none", output=output)
    made = {}
    for name in (*MINED, *IMPORTED, *OWN):
        directory = lab.path / "datasets" / name
        rows = list(stored_rows(directory))
        provenance = json.loads((directory / "provenance.json").read_text("utf-8"))
        made[name] = Built(name, (directory / "README.md").read_text("utf-8"), provenance, rows)
    return made


def sentences(card: str) -> Iterator[str]:
    """Yield the sentences outside of tables, headings and code."""
    is_code = False
    for line in card.split("\n---\n", 1)[1].split("\n"):
        is_code ^= line.startswith("```")
        if line and not is_code and not line.startswith(("|", "#", "```")):
            plain = re.sub(r"\\([_*`\[\]~#|$])", r"\1", line)
            yield from re.split(r"(?<=[.:])(?<!Labels:)\s+(?=[A-Z`])", plain)


def test_what_sentences_state_is_true(built: dict[str, Built]) -> None:
    found = set()
    for dataset in built.values():
        for sentence in sentences(dataset.card):
            for rule, check in RULES:
                if match := re.fullmatch(rule, sentence):
                    assert check(match, dataset), (dataset.name, sentence)
                    found.add(rule)
    assert [rule for rule, _ in RULES if rule not in found] == []


@pytest.mark.parametrize("name", sorted(MINED | IMPORTED | OWN))
def test_no_part_is_empty_and_no_placeholder_is_left(built: dict[str, Built], name: str) -> None:
    card = built[name].card
    assert "ORGANIZATION" not in card
    assert visible(card.replace("\n", " ")) == card.replace("\n", " ")
    body = card.split("\n---\n", 1)[1]
    parts = re.split(r"^#{1,2} [^\n]+$", body, flags=re.M)[1:]
    assert all(part.strip() for part in parts)
    assert ("## Limits" in card) == (name in MINED)
    assert not re.search(r"\b1 (?:examples|rows|closings|hours|repositories)\b", body)

"""The parts of annotation that need no server."""

from __future__ import annotations

import random
import re
import socket
import time
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.annotation.studio.answers import insert, new_export, read_export, sorting, stored_tasks
from goldpan.annotation.studio.client import Server, StudioError, User
from goldpan.annotation.studio.configuration import check, complete, load, parse
from goldpan.annotation.studio.forms import FORMS, find_form, read_tasks
from goldpan.annotation.studio.panels import answers_panel, draw
from goldpan.annotation.studio.project import Project, ProjectFacts, SubjectKey, begin_project
from goldpan.annotation.studio.pull import pseudonyms, settle
from goldpan.annotation.studio.serve import (
    check_port,
    find_installation,
    find_server,
    server_directory,
)
from goldpan.core.errors import DatasetError, UsageError, WorkspaceError
from goldpan.core.schemas.stages import ANNOTATIONS
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.reporting import HOSTILE
from tests.studio import QUIET, part

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TOKEN = {"LABEL_STUDIO_API_KEY": "a" * 40}


def a_project(root: Path) -> Project:
    facts = ProjectFacts("http://127.0.0.1:1", "", "fix-pair", 2)
    return begin_project(WorkspaceLayout(root), "parts", load("fix-pair"), facts)


@pytest.mark.parametrize("name", FORMS.names())
def test_every_configuration_belongs_to_a_form_and_can_be_answered(name: str) -> None:
    form = find_form(name)
    configuration = form.configuration
    labels = set(configuration.question(form.decides).labels)
    assert not form.keeps or form.keeps & labels  # the others are of earlier rounds
    assert configuration.question(form.decides).required
    assert {"note", *configuration.panels} == set(configuration.panels)
    hotkeys = re.findall(r'hotkey="(.)"', configuration.xml)
    choices = sum(len(question.labels) for question in configuration.questions)
    assert len(set(hotkeys)) == choices == len(hotkeys)
    for choice in configuration.question(form.decides).labels:
        assert check(configuration, [part(form.decides, "choices", [choice])])[1] is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("value"), inner),
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "from_name": st.sampled_from(["verdict", "doubt", "reason", "mood"]) | JSON,
        "type": st.sampled_from(["choices", "textarea"]) | JSON,
        "value": st.fixed_dictionaries(
            {}, optional={"choices": st.lists(st.sampled_from(["fixes", "x"])) | JSON, "text": JSON}
        ),
    },
)


@given(JSON | st.lists(PARTS | JSON))
def test_whatever_an_annotation_holds_it_is_judged(result: object) -> None:
    configuration = load("fix-pair")
    values, problem = check(configuration, result)
    assert set(values) == {"verdict", "doubt", "reason"}
    if problem is None:
        (verdict,) = values["verdict"]
        assert verdict in configuration.question("verdict").labels


def test_none_of_these_goes_with_nothing_else() -> None:
    configuration = find_form("code-comment-java").configuration
    for values, problem in (
        (["usage", "summary"], None),
        (["none"], None),
        (["none", "usage"], "contradiction"),
        (["parameters"], "unknown-choice"),
    ):
        assert check(configuration, [part("categories", "choices", values)])[1] == problem


def answer(
    number: int, annotator: str, minute: int, problem: str | None = None
) -> dict[str, object]:
    at = NOON + timedelta(minutes=minute)
    return {
        **msgspec.structs.asdict(SubjectKey("s", "text", "")),
        "task": 1,
        "annotation": number,
        "annotator": annotator,
        "field": "verdict",
        "values": ["fixes"],
        "counts": problem is None,
        "problem": problem,
        "created_at": at,
        "updated_at": at,
    }


def problems(
    workspace: WorkspaceLayout, answers: list[dict[str, object]], judged: Path | None = None
) -> dict[int, str | None]:
    with sorting(workspace) as database:
        insert(database, "answers", ANNOTATIONS.of_rows(answers))
        settle(database, 2, judged)
        query = "SELECT DISTINCT annotation, problem, counts FROM settled"
        rows = database.execute(query).fetchall()
    assert all(counts == (problem is None) for _, problem, counts in rows)
    return {number: problem for number, problem, _ in rows}


def test_who_answered_first_counts_with_what_they_said_last(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    answers = [
        answer(1, "ann", 0),
        answer(2, "ben", 1, "skipped"),
        answer(3, "ben", 5),
        answer(4, "cleo", 4),
        answer(5, "ann", 9),
    ]
    expected = {1: "superseded", 2: "skipped", 3: "surplus", 4: None, 5: None}
    for seed in range(10):
        shuffled = random.Random(seed).sample(answers, len(answers))
        assert problems(workspace, shuffled) == expected
    judged = tmp_path / "it's judged.parquet"
    pq.write_table(ANNOTATIONS.of_rows([answer(9, "cleo", 0)]), judged)
    assert problems(workspace, answers, judged) == {
        1: "superseded",
        2: "skipped",
        3: None,
        4: "own-case",
        5: None,
    }


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(f"@{name}" for name, _ in attrs)}


OURS = {"div", "h3", "p", "pre", "span", "table", "colgroup", "col", "tbody", "tr", "td", "mark"}
OURS |= {"b", "i", "code", "@class", "@colspan"}


@given(st.text() | st.just(HOSTILE), st.text() | st.just(HOSTILE))
def test_only_our_own_elements_are_drawn(before: str, after: str) -> None:
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-{before}\n+{after}\n"
    turn = {"role": before, "content": after, "comment_id": 1}
    drawn = [
        draw("heading", before),
        draw("document", before, after, before),
        draw("change", before, diff),
        draw("dialogue", {"dialogue": [turn], "answer_comment_id": 1}),
        answers_panel([(before, [(before, after)])]),
        draw("code", before, before),
        draw("text", before, before),
        draw("sentence", {"text": before}),
        draw("quiet", before),
    ]
    tags = Tags()
    tags.feed("".join(drawn))
    tags.close()
    assert tags.names <= OURS


def test_huge_texts_are_cut_and_quick() -> None:
    begun = time.process_time()
    for text in ("<" * 2_000_000, "\u202e" * 500_000, "```\n" * 200_000, "a\n\n" * 300_000):
        assert len(draw("document", text, text)) < 1_000_000
        assert len(draw("code", text)) < 500_000
    lines = "".join(f"-{n}\n+{n + 1}\n" for n in range(20_000))
    change = draw("change", "x", f"--- a\n+++ b\n@@ -1,20000 +1,20000 @@\n{lines}")
    assert len(change) < 1_000_000
    assert "more changed lines are not shown" in change
    assert time.process_time() - begun < 20


def test_tasks_are_read_from_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    form = find_form("issue-type")
    row = {"repo": "octo/gem", "issue": 7, "title": "Leak", "body": None, "other": 1}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "data" / "test-0.parquet")
    (task,) = read_tasks(tmp_path, form)
    assert (task.key.subject_id, task.key.subject, task.key.pull) == (
        "issue:octo/gem#7",
        "issue",
        None,
    )
    assert set(task.data()) == {
        *("id", "subject", "repo", "issue", "pull_repo", "pull", "comment"),
        *("title", "note", "issue_panel"),
    }
    assert task.title == "Leak"
    with pytest.raises(DatasetError, match="lacks what fix-pair shows: pull, pull_title"):
        list(read_tasks(tmp_path, find_form("fix-pair")))
    with pytest.raises(DatasetError, match="holds no dataset"):
        list(read_tasks(tmp_path / "data", form))
    (tmp_path / "data" / "test-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError, match="cannot be read"):
        list(read_tasks(tmp_path, form))


def test_pseudonyms_stay_and_need_the_salt(tmp_path: Path) -> None:
    project = a_project(tmp_path / "one")
    ann = User(2, "ann@example.org", NOON)
    (name,) = pseudonyms(project, [ann]).values()
    renamed = msgspec.structs.replace(ann, email="ann@new.example.org")
    assert pseudonyms(project, [renamed]) == {2: name}
    assert pseudonyms(project, []) == {2: name}  # of an account that is gone
    assert pseudonyms(a_project(tmp_path / "two"), [ann]) != {2: name}
    project.path("people.json").write_bytes(b'{"2": ')
    with pytest.raises(WorkspaceError, match=r"people\.json is damaged .*pull again"):
        pseudonyms(project, [])
    (tmp_path / "one" / "annotations" / "salt").write_bytes(b"short")
    with pytest.raises(WorkspaceError, match="pseudonyms change without it"):
        pseudonyms(project, [])


def test_the_newest_export_is_read_and_damage_is_told(tmp_path: Path) -> None:
    project = a_project(tmp_path)
    assert list(stored_tasks(project)) == []
    for number in (1, 2):
        text = f'[{{"id": {number}, "data": {{"id": "s"}}, "annotations": []}}]'
        with new_export(project, [text[:9].encode(), text[9:].encode()]) as export:
            assert [task.id for task in read_export(export)] == [number]
    assert [task.id for task in stored_tasks(project)] == [2]
    *_, newest = sorted(project.path("raw").iterdir())
    newest.write_bytes(b"torn")
    with pytest.raises(WorkspaceError, match="is damaged"):
        list(stored_tasks(project))


@pytest.mark.parametrize(
    ("url", "environment", "message"),
    [
        (None, TOKEN, "No Label Studio server is named"),
        *(
            (url, TOKEN, "is not a web address")
            for url in ("ftp://x", "http://[", "http://x:99999", "http://x:y", "http://", "x")
        ),
        ("http://a:b@x", TOKEN, "holds credentials"),
        ("http://x", {}, "no access token"),
        ("http://x", {"LABEL_STUDIO_API_KEY": "two words"}, "no access token"),
    ],
)
def test_a_server_needs_an_address_and_a_token(
    url: str | None, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        find_server(url, environment)


def test_the_environment_names_the_server_and_no_token_is_shown() -> None:
    server = find_server(None, {**TOKEN, "LABEL_STUDIO_URL": "https://x.example/studio/"})
    assert server.url == "https://x.example/studio"
    assert find_server("http://x:8080/projects/5/data?tab=3", TOKEN).url == "http://x:8080"
    assert server.token not in repr(server)


def test_serving_tells_what_it_lacks(tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        with pytest.raises(UsageError, match="Address already in use"):
            check_port(busy.getsockname()[1])
    with pytest.raises(UsageError, match="cannot listen"):
        check_port(99_999)
    for host in ("", "203.0.113.7", "no.such.host.invalid", "::1"):
        with pytest.raises(UsageError, match=r"cannot listen at port 0 of .*IPv4 address of this"):
            check_port(0, host)
    environment = {"GOLDPAN_LABEL_STUDIO_VENV": str(tmp_path / "none")}
    with pytest.raises(StudioError, match=r"not installed.*serve --install"):
        find_installation(environment, QUIET)


def test_a_broken_configuration_is_told() -> None:
    with pytest.raises(UsageError, match="is not XML"):
        parse("mine", "<View>")
    with pytest.raises(UsageError, match="is not XML"):
        complete("mine", "<View>\x01<Definitions/></View>")
    for xml in ("<Choices/>", "<TextArea/>"):
        with pytest.raises(UsageError, match="mine has a question or a choice without name"):
            parse("mine", f"<View>{xml}</View>")
    with pytest.raises(UsageError, match="mine has a question or a choice without value"):
        parse("mine", '<View><Choices name="type"><Choice>Bug</Choice></Choices></View>')


@pytest.mark.parametrize("name", FORMS.names())
def test_definitions_of_choices_are_in_sight(name: str) -> None:
    root = ET.fromstring(find_form(name).configuration.xml)
    choices = [element.attrib for element in root.iter("Choice") if "hint" in element.attrib]
    hints = {f"{choice['value']}: {choice['hint']}" for choice in choices}
    assert {element.attrib["value"] for element in root.iter("Header")} == hints


OWN = Server("http://127.0.0.1:8080", "beef" * 10)
OTHER = {"LABEL_STUDIO_URL": "https://x.example", "LABEL_STUDIO_API_KEY": "of-another-server"}


def test_a_running_server_is_found_and_one_that_ended_is_not(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    directory = server_directory(workspace)
    directory.mkdir()
    running = directory / "running.json"
    running.write_bytes(msgspec.json.encode({"url": OWN.url, "token": OWN.token}))
    assert find_server(None, {}, workspace) == OWN
    assert mask(f"it is {OWN.token}") == "it is ***"
    assert find_server(None, OTHER, workspace).url == OTHER["LABEL_STUDIO_URL"]
    assert find_server("https://y.example", OTHER, workspace).url == "https://y.example"
    running.unlink()
    with pytest.raises(UsageError, match="No Label Studio server is named"):
        find_server(None, {}, workspace)
    running.write_bytes(b"{")
    with pytest.raises(UsageError, match="No Label Studio server is named"):
        find_server(None, {}, workspace)

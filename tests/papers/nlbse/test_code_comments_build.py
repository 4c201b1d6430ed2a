"""Building the dataset of sentences of class comments out of real repositories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan.annotation.studio.forms import find_form, read_tasks
from goldpan.annotation.studio.project import ProjectFacts, begin_project
from goldpan.core.errors import DatasetError, GitError, UsageError, WorkspaceError
from goldpan.core.schemas.mined import REPOSITORIES
from goldpan.core.schemas.stages import DECISIONS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.tasks.data import read_task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task
from goldpan.git.clone import clone
from goldpan.git.refs import cloned_repositories, find_commits
from goldpan.papers.nlbse.comment_build import Annotations, CommentsResult, build_code_comments
from goldpan.papers.nlbse.comment_extract import LANGUAGES, CommentReading, find_languages
from tests.git_repositories import Odd, Repository
from tests.git_server import GitServer
from tests.invoking import invoke
from tests.table_rows import put_rows, put_table

QUIET = Reporter(quiet=True)
REPO = "o/n"
JAVA = b"/**\n * Holds water. Leaks.\n */\nclass %s {}\n"
PYTHON = b'class Pipe:\n    """Carries water.\n\n    size : int\n    """\n'
TONEL = b'"I am a bowl."\nClass {\n\t#name : #Bowl\n}\n'
FILES: dict[bytes, Any] = {
    b"src/Bowl.java": JAVA % b"Bowl",
    b"pipe.py": PYTHON,
    b"st/Bowl.class.st": TONEL,
    b"ft/Rim.class/README.md": b"I am a rim.",
    b"ft/Rim.class/properties.json": b'{"name": "Rim"}',
    b"docs/Fake.class/README.md": b"I am no class.",
    b"README.md": b"No class.",
    b"empty.py": b"",
}


class Case:
    """A repository and the workspace with its clone."""

    def __init__(self, tmp_path: Path, files: dict[bytes, Any]) -> None:
        self.repository = Repository.create(tmp_path / "source.git")
        self.first = self.repository.commit(files, ref="refs/heads/main")
        self.workspace = WorkspaceLayout(tmp_path / "workspace")
        self.source: str | Path = self.repository.path

    def build(
        self,
        *,
        revision: str | None = None,
        languages: tuple[str, ...] = (),
        annotations: Annotations | None = None,
        split: str = "none",
        task: Task | None = None,
    ) -> CommentsResult:
        clone(self.workspace, REPO, QUIET, source=self.source)
        return build_code_comments(
            self.workspace,
            find_commits(self.workspace, [REPO], revision),
            CommentReading(find_languages(languages), workers=1, timeout=60.0),
            annotations or Annotations(),
            SplitPlan.parse(split),
            self.workspace.dataset(task.name if task else "code-comments"),
            QUIET,
            task=task,
        )


def rows(built: CommentsResult, split: str | None = None) -> list[dict[str, Any]]:
    return [
        row
        for part in built.written.splits
        if split in (None, part.name)
        for file in part.files
        for row in pq.read_table(built.written.directory / file.path).to_pylist()
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, CommentsResult]:
    """Return `FILES` and a file that is too large, built once, with the case."""
    case = Case(tmp_path_factory.mktemp("whole"), {**FILES, b"big.py": b"#" * 2_000_000})
    return case, case.build()


@pytest.fixture(scope="module")
def made(whole: tuple[Case, CommentsResult]) -> list[dict[str, Any]]:
    """Return the rows of `FILES`, whose names are the same wherever it is committed."""
    return rows(whole[1])


def test_one_row_a_sentence(whole: tuple[Case, CommentsResult]) -> None:
    case, built = whole
    sentences = rows(built)
    assert [(row["language"], row["class"], row["position"], row["text"]) for row in sentences] == [
        ("Smalltalk", "Rim", 0, "i am a rim."),
        ("Python", "Pipe", 0, "carries water."),
        ("Python", "Pipe", 1, "size int"),
        ("Java", "Bowl", 0, "holds water."),
        ("Java", "Bowl", 1, "leaks."),
        ("Smalltalk", "Bowl", 0, "i am a bowl."),
    ]
    java = sentences[3]
    assert java["commit"] == case.first
    assert (java["path"], java["line"], java["form"]) == ("src/Bowl.java", 1, "doc-comment")
    assert java["id"] == f"code-comments:{REPO}:src/Bowl.java@{java['blob'][:12]}:0-0"
    assert java["labels"] is None and java["decided"] is None
    assert (built.tally.files, built.tally.read, built.tally.comments) == (6, 5, 4)
    assert built.exit_code == 0
    directory = built.written.directory
    assert "files of more than a megabyte" in (directory / "README.md").read_text("utf-8")
    provenance = json.loads((directory / "provenance.json").read_bytes())
    assert provenance["sources"][0]["inputs"] == {"git commit": case.first}


def test_a_revision_is_read_as_it_was(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    case.repository.commit({b"New.java": JAVA % b"New"}, case.first, ref="refs/heads/main")
    assert {row["class"] for row in rows(case.build())} == {"New"}
    assert "Bowl" in {row["class"] for row in rows(case.build(revision=case.first[:10]))}
    with pytest.raises(UsageError, match="no commit 'gone'"):
        case.build(revision="gone")
    with pytest.raises(UsageError, match="no commit '--help'"):
        case.build(revision="--help")


def test_rows_keep_their_names_while_their_file_stays(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    before = {row["id"] for row in rows(case.build())}
    changed = {**FILES, b"pipe.py": PYTHON.replace(b"Carries", b"Holds")}
    case.repository.commit(changed, case.first, ref="refs/heads/main")
    after = {row["id"] for row in rows(case.build())}
    assert len(before & after) == 4
    assert all("pipe.py" in name for name in before ^ after)


def test_languages_can_be_chosen(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    assert {row["language"] for row in rows(case.build(languages=("pharo",)))} == {"Smalltalk"}
    with pytest.raises(UsageError, match="'cobol'"):
        case.build(languages=("cobol",))
    with pytest.raises(DatasetError, match="empty: nothing that was read gives a row") as error:
        case.build(languages=("Kotlin",))
    assert "funnel" not in error.value.remedy
    assert find_languages(()) == set(LANGUAGES)


def test_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "ids.git")
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    hostile = {
        **FILES,
        b"big.py": b"#" * 1_000_001,
        b"binary.py": b"\0\1",
        b"pointer.py": pointer,
        b"deep.py": b"(" * 400_000,
        b"broken.java": b"class A {{{ int",
        b"gone.py": Odd("100644", "1" * 40),
        b"link.py": Odd("120000", repository.object("blob", b"pipe.py")),
        b"module": Odd("160000", "2" * 40),
    }
    case = Case(tmp_path, FILES)
    case.workspace.clone(REPO).parent.mkdir(parents=True)
    case.repository.path.rename(case.workspace.clone(REPO))
    case.repository.path = case.workspace.clone(REPO)
    tip = case.repository.commit(hostile, ref="refs/heads/main")
    built = build_code_comments(
        case.workspace,
        find_commits(case.workspace, [REPO], tip),
        CommentReading(find_languages(()), workers=1, timeout=2.0),
        Annotations(),
        SplitPlan(),
        tmp_path / "out",
        QUIET,
    )
    assert dict(built.tally.left_out) == {
        "absent": 1,
        "binary": 1,
        "pointer": 1,
        "syntax-errors": 1,
        "timeout": 1,
        "too-large": 1,
    }
    assert len(rows(built)) == 6
    assert built.exit_code == 3


def test_a_class_and_its_copies_are_on_one_side(tmp_path: Path) -> None:
    """Classes of one name in a file, and classes whose comments read the same."""
    many = {
        f"a/C{number}.java".encode(): b"/** Number %d. It has\n * two. */\nclass C%d {}\n"
        % (number // 2, number)
        for number in range(60)
    }
    repeated = b"".join(b'if x:\n    class T:\n        """Says %d."""\n' % n for n in range(2))
    case = Case(tmp_path, {**many, b"t.py": repeated})
    built = case.build(split="random:0.5,0.5")
    train, test = rows(built, "train"), rows(built, "test")
    assert len(train) > 20 and len(test) > 20
    assert not {row["comment"] for row in train} & {row["comment"] for row in test}
    key = ("path", "class")
    assert not {tuple(row[k] for k in key) for row in train} & {
        tuple(row[k] for k in key) for row in test
    }
    assert sum(row["class"] == "T" for row in train + test) == 2


def test_license_and_name_come_from_the_mined_tables(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    put_table(case.workspace, REPO, REPOSITORIES, [{"repo": "O/N", "license": "MIT"}])
    assert {(row["repo"], row["license"]) for row in rows(case.build())} == {("O/N", "MIT")}


def test_what_a_partial_clone_lacks_is_fetched_at_once(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    with GitServer(tmp_path) as server:
        case.source = server.address("source.git")
        assert len(rows(case.build())) == 6


def decide(
    workspace: WorkspaceLayout, form: str, decisions: dict[str, tuple[str, list[str]]]
) -> None:
    """Write an annotation project with its decisions, as `goldpan annotate pull` leaves them."""
    facts = ProjectFacts("http://127.0.0.1:1", "k", form, annotators=2)
    project = begin_project(workspace, form, find_form(form).configuration, facts)
    made = [
        {
            "repo": REPO,
            "subject": "text",
            "subject_id": name,
            "project": form,
            "form": form,
            "values": values,
            "how": how,
            "annotators": ["a", "b"],
        }
        for name, (how, values) in sorted(decisions.items())
    ]
    put_rows(project.path("decisions.parquet"), DECISIONS.schema, made)


def test_decisions_of_people_become_labels(made: list[dict[str, Any]], tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    first, second = [row["id"] for row in made if row["language"] == "Java"]
    (rim,) = [row["id"] for row in made if row["class"] == "Rim"]
    decisions = {
        first: ("agreed", ["usage", "expand"]),
        second: ("adjudicated", ["none"]),
        rim: ("conflict", []),
        "code-comments:o/n:Old.java@0:1-2": ("agreed", ["summary"]),
    }
    decide(case.workspace, "code-comment-java", decisions)
    built = case.build(annotations=Annotations(projects=("code-comment-java",)))
    labels = {row["id"]: (row["labels"], row["decided"]) for row in rows(built)}
    assert labels[first] == (["expand", "usage"], "agreed")
    assert labels[second] == ([], "adjudicated")
    assert labels[rim] == (None, None)
    assert len(labels) == 6 and built.tally.labeled == 2
    assert built.tally.left_out == {"decided-elsewhere": 1}

    strict = Annotations(required=("code-comment-java",))
    built = case.build(annotations=strict, split="stratified:0.5,0.5")
    assert {row["id"] for row in rows(built)} == {first, second}
    assert built.tally.left_out == {"decided-elsewhere": 1, "undecided": 4}


def test_labeled_sentences_become_rows_of_tasks(made: list[dict[str, Any]], tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    first, second = [row["id"] for row in made if row["language"] == "Java"]
    decisions = {first: ("agreed", ["summary", "ownership"]), second: ("agreed", ["none"])}
    decide(case.workspace, "code-comment-java", decisions)
    strict = Annotations(required=("code-comment-java",))
    several, binary = find_task("comment_type_java"), find_task("nlbse23_java_ownership")

    built = case.build(annotations=strict, task=several)
    data = read_task_data(built.written.directory, several)
    labeled = sorted(data.splits["test"].to_pylist(), key=lambda row: int(row["position"]))
    texts = [(row["text"], row["labels"]) for row in labeled]
    assert texts == [("holds water.", ["summary", "ownership"]), ("leaks.", [])]
    assert labeled[0]["document"] == "src/Bowl.java:Bowl"
    assert labeled[0]["source"] == f"{case.first}:src/Bowl.java:1"

    built = case.build(annotations=strict, task=binary)
    labeled = read_task_data(built.written.directory, binary).splits["test"].to_pylist()
    labels = {row["text"]: row["label"] for row in labeled}
    assert labels == {"holds water.": "ownership", "leaks.": "not ownership"}
    with pytest.raises(UsageError, match="not a task on code comments"):
        case.build(annotations=strict, task=find_task("se_entities"))
    with pytest.raises(UsageError, match="--require PROJECT"):
        case.build(task=several)


def test_annotations_that_do_not_fit_are_refused(
    made: list[dict[str, Any]], tmp_path: Path
) -> None:
    case = Case(tmp_path, FILES)
    first = made[3]["id"]
    decide(case.workspace, "code-comment-java", {first: ("agreed", ["usage"])})
    decide(case.workspace, "code-comment-python", {first: ("agreed", ["summary"])})
    decide(case.workspace, "fix-pair", {})
    facts = ProjectFacts("http://127.0.0.1:1", "k", "code-comment-pharo", annotators=2)
    begin_project(case.workspace, "unpulled", find_form("code-comment-pharo").configuration, facts)
    both = ("code-comment-java", "code-comment-python")
    for projects, error, message in (
        (both, UsageError, "decided differently"),
        (("fix-pair",), UsageError, "not about code comments"),
        (("unpulled",), WorkspaceError, "goldpan annotate pull --project unpulled"),
        (("none-such",), WorkspaceError, "none-such"),
    ):
        with pytest.raises(error, match=message):
            case.build(annotations=Annotations(projects=projects))
    with pytest.raises(UsageError, match="--require"):
        case.build(split="stratified:0.5,0.5")


def test_annotators_can_be_asked_about_every_row(whole: tuple[Case, CommentsResult]) -> None:
    forms = ("code-comment-java", "code-comment-pharo", "code-comment-python")
    directory = whole[1].written.directory
    asked = [
        task.key.subject_id for name in forms for task in read_tasks(directory, find_form(name))
    ]
    assert sorted(asked) == sorted(row["id"] for row in rows(whole[1]))


def test_repositories_without_a_clone(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    with pytest.raises(UsageError, match="goldpan clone"):
        cloned_repositories(workspace, [])
    with pytest.raises(GitError, match="goldpan clone --repo o/n"):
        find_commits(workspace, ["o/n"], None)
    with pytest.raises(UsageError, match="exactly one --repo"):
        find_commits(workspace, ["o/n", "o/m"], "main")


def test_the_command(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    clone(case.workspace, REPO, QUIET, source=case.source)
    place = ("--workspace", case.workspace.root)
    command = ("build", "code-comments", *place, "--language", "java")
    done = invoke(*command, "--json")
    assert done.exit_code == 0, done.output
    output = json.loads(done.stdout)["built"]
    assert (output["written"]["rows"], output["tally"]["languages"]) == (2, {"Java": 2})
    assert [commit["id"] for commit in output["commits"]] == [case.first]
    done = invoke(*command, "--lines", "join", "--split", "random:0.5,0.5")
    assert done.exit_code == 0, done.output
    assert "2 sentences of 1 comments" in done.stdout.replace("\n", " ")

"""Builds the dataset of sentences of class comments: its rows, with the labels that people gave."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goldpan._version import __version__
from goldpan.papers.nlbse.comment_declarations import RULES
from goldpan.papers.nlbse.comment_extract import (
    LEFT_OUT,
    CommentReading,
    FileRead,
    files_of,
    read_commit,
)
from goldpan.papers.nlbse.comment_tasks import spelled
from goldpan.plugins import data

_SHORT = 12
_FIELD = "categories"
_LANGUAGES = {"pharo": "Smalltalk", "java": "Java", "python": "Python"}
_FORMS = Path(__file__).with_name("form_files")
CODE_COMMENTS = data.read_family(Path(__file__).with_name("code-comments.toml"))
"""Sentences of class comments and docstrings."""


Labels = Mapping[str, tuple[tuple[str, ...], str]]
"""What people decided about sentences, and how, by the id of the row."""


def read_labels(workspace: data.WorkspaceLayout, projects: Sequence[str]) -> Labels:
    """Return what people decided in annotation projects on code comments.

    Raises `UsageError` for a project that asks something else, or where two projects decided
    differently about a sentence, and `WorkspaceError` before the first `goldpan annotate pull`.
    """
    labels: dict[str, tuple[tuple[str, ...], str]] = {}
    origin: dict[str, str] = {}
    for name in dict.fromkeys(projects):
        project = data.open_project(workspace, name)
        if data.find_form(project.facts.form).decides != _FIELD:
            raise data.UsageError(
                f"The project {name} asks {project.facts.form}, not about code comments",
                "Give a project of a code-comment form",
            )
        for subject, values, how in data.read_settled(project):
            if labels.setdefault(subject, (values, how))[0] != values:
                raise data.UsageError(
                    f"{origin[subject]} and {name} decided differently about {subject}",
                    "Give one of these projects",
                )
            origin.setdefault(subject, name)
    return labels


def rows_of(
    commit: data.Commit, file: data.TreeFile, contents: FileRead, labels: Labels
) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a file, with what people decided about them."""
    owner, _, name = commit.repo.partition("/")
    for row in contents.rows:
        location = f"{file.path}@{file.id[:_SHORT]}:{row['start']}-{row['position']}"
        id = f"{CODE_COMMENTS.name}:{commit.repo}:{location}"
        decided, how = labels.get(id, (None, None))
        yield {
            "id": id,
            "repo": commit.repo,
            "owner": owner,
            "name": name,
            "license": commit.license,
            "language": contents.language,
            "commit": commit.id,
            "committed_at": commit.at,
            "path": file.path,
            "blob": file.id,
            "encoding": contents.encoding,
            **row,
            "labels": None if decided is None else list(decided),
            "decided": how,
        }


def task_language(task: data.Task) -> str:
    """Return the language of a task on code comments; raises `UsageError` for another task."""
    language = _LANGUAGES.get(str(task.settings.get("language")))
    fitting = {"binary": "category", "multi-label": "categories"}.get(task.type, "")
    own = task.source.builder == CODE_COMMENTS.name
    if not own or language is None or fitting not in task.settings:
        raise data.UsageError(
            f"{task.name} is not a task on code comments",
            "Choose one such as comment_type_java or nlbse23_java_summary",
        )
    return language


def task_row(task: data.Task, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a labeled sentence as a row of a task; categories are compared by their letters."""
    labels = {spelled(label) for label in row["labels"]}
    target: str | list[str]
    if task.type == "binary":
        positive, negative = task.label_names
        target = positive if spelled(task.settings["category"]) in labels else negative
    else:
        named = zip(task.settings["categories"], task.label_names, strict=True)
        target = [label for category, label in named if spelled(category) in labels]
    return {
        "id": f"{task.name}:{row['id']}",
        "repo": row["repo"],
        "license": row["license"],
        "created_at": row["committed_at"],
        "document": f"{row['path']}:{row['class']}",
        "position": row["position"],
        "partition": None,
        "source": f"{row['commit']}:{row['path']}:{row['line']}",
        "text": row["text"],
        data.target_column(task.type).name: target,
        data.GROUP: row[data.GROUP],
    }


def _form(language: str) -> data.Form:
    name, readings = f"code-comment-{language}", (data.SENTENCE, data.SENTENCE_TEXT)
    return data.Form(name, readings, _FIELD, language=language, file=_FORMS / f"{name}.xml")


JAVA, PHARO, PYTHON = map(_form, ("java", "pharo", "python"))
"""How annotators classify the sentences of class comments (NLBSE'23, section III)."""


UNDECIDED, GONE = "undecided", "decided-elsewhere"
EXPLAINED = {
    **LEFT_OUT,
    UNDECIDED: "sentences about which people did not decide",
    GONE: "decisions about sentences that are not here",
}
"""Explanations by the reason under which something is left out."""
_MADE = (
    f"Goldpan {__version__} read the files of each repository at one commit, found the comments "
    "on classes in them, and cut these into sentences. Every example names its file and line."
)


@dataclass(frozen=True, slots=True)
class Annotations:
    """The annotation projects whose decisions become labels."""

    projects: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    """Projects of which one has to have decided about every row."""
    corrections: tuple[str, ...] = ()
    """Projects on the rows of a task whose decisions replace its labels."""


@dataclass(slots=True)
class Tally:
    """Counts of what was read."""

    files: int = 0
    """Files that may hold comments."""
    read: int = 0
    comments: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    """Sentences by language."""
    labeled: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """By the reasons of `EXPLAINED`."""
    redacted: Counter[str] = field(default_factory=Counter)
    """Redactions in comments and code, by kind."""


@dataclass(frozen=True, slots=True)
class CommentsResult(data.Result):
    """The result of building a dataset of sentences of class comments."""

    schema = 2

    written: data.Written
    commits: tuple[data.Commit, ...]
    tally: Tally
    seconds: float

    @property
    def exit_code(self) -> int:
        """3 where files were not there, or a machine could not read them this time, else 0."""
        missing = ("absent", "timeout", "crash")
        return 3 if any(self.tally.left_out[reason] for reason in missing) else 0


@data.renders(CommentsResult)
def built(result: CommentsResult) -> Iterator[data.Block]:
    """Yield what the dataset holds, and what became of the rest."""
    written, tally = result.written, result.tally
    yield data.Title(
        written.family.name,
        f": {written.rows:,} sentences of {tally.comments:,} comments in {result.seconds:.1f} s",
    )
    for commit in result.commits:
        yield data.Line(f"{commit.repo} at {commit.id} of {commit.at:%Y-%m-%d}")
    yield written.table("sentences")
    spoken = ", ".join(f"{name} {count:,}" for name, count in sorted(tally.languages.items()))
    yield data.Line(f"{tally.read:,} of {tally.files:,} files read; sentences: {spoken}")
    if tally.labeled:
        yield data.Line(f"{tally.labeled:,} sentences have labels")
    for reason, count in sorted(tally.left_out.items()):
        yield data.Line(f"  {count:,} {EXPLAINED.get(reason, reason)}")
    yield from written.dropped_blocks("their comment is a near duplicate of one")
    for kind, count in sorted(tally.redacted.items()):
        yield data.Line(f"  {count:,} redacted in comments and code: {kind}")
    yield data.Line(f"Written to {written.directory}")


def build_code_comments(
    workspace: data.WorkspaceLayout,
    commits: Sequence[data.Commit],
    reading: CommentReading,
    annotations: Annotations,
    plan: data.SplitPlan,
    directory: Path,
    reporter: data.Reporter,
    *,
    task: data.Task | None = None,
) -> CommentsResult:
    """Write the sentences of the class comments at commits, one a repository, as a dataset.

    With a `task` the rows are its own, in its language alone. Raises `GitError` where a clone
    cannot be completed, `UsageError` where a task or a stratified split has no labels to go by,
    and `DatasetError` where nothing is left.
    """
    started = time.monotonic()
    _check_labels(annotations, plan, task)
    if task:
        reading = replace(reading, languages=frozenset({task_language(task)}))
    family = data.task_family(task) if task else CODE_COMMENTS
    corrections = data.read_corrections(workspace, annotations.corrections, task) if task else None
    required = read_labels(workspace, annotations.required)
    if annotations.required:
        data.refuse_annotated(workspace, directory)
    projects = (*annotations.required, *annotations.projects)
    labels = read_labels(workspace, projects)
    tally = Tally()

    def rows() -> Iterator[dict[str, Any]]:
        ids: set[str] = set()
        for row in _rows(workspace, commits, reading, labels, tally, reporter):
            if row["decided"]:
                ids.add(row["id"])
            if annotations.required and row["id"] not in required:
                tally.left_out[UNDECIDED] += 1
                continue
            tally.labeled += row["decided"] is not None
            tally.languages[row["language"]] += 1
            yield task_row(task, row) if task else row
        if missing := len(labels.keys() - ids):
            tally.left_out[GONE] = missing

    provenance = data.Provenance(
        sources=tuple(
            data.MinedSource(commit.repo, inputs={"git commit": commit.id}) for commit in commits
        ),
        settings={
            "family": family.name,
            **({"task": asdict(task)} if task else {}),
            "split": str(plan),
            "seed": plan.seed,
            "languages": sorted(reading.languages),
            "wrapping": reading.wrapping,
            "kinds": sorted(reading.kinds),
            "timeout": reading.timeout,
            "required": list(annotations.required),
            "annotations": {
                f"annotations/{name}/decisions.parquet": data.file_digest(
                    data.open_project(workspace, name).path("decisions.parquet")
                )
                for name in projects
            },
        },
        versions={package: version(package) for package in _packages()},
        counts=tally.left_out,
        redactions=tally.redacted,
        corrections=corrections.projects if corrections else {},
    )
    card = data.CardInputs(
        title=task.title if task else "",
        tags=task.suites if task else (),
        subjects="count",
        explained=EXPLAINED,
        made=_MADE,
    )
    label_names = task.label_names if task else ()
    batches = data.corrected_batches(family.batches(rows()), family, label_names, corrections)
    shown = data.corrected_family(family, corrections)
    written = data.write_dataset(workspace, directory, shown, batches, plan, provenance, card)
    return CommentsResult(written, tuple(commits), tally, time.monotonic() - started)


def _check_labels(annotations: Annotations, plan: data.SplitPlan, task: data.Task | None) -> None:
    if not annotations.required and (task or plan.kind == "stratified"):
        wants = task.name if task else str(plan)
        raise data.UsageError(f"{wants} needs labels on every row", "Give --require PROJECT")
    if annotations.corrections and task is None:
        raise data.UsageError(
            "Corrections need a task, whose labels they correct", "Give --task with --corrections"
        )


def _rows(
    workspace: data.WorkspaceLayout,
    commits: Sequence[data.Commit],
    reading: CommentReading,
    labels: Labels,
    tally: Tally,
    reporter: data.Reporter,
) -> Iterator[dict[str, Any]]:
    for commit in commits:
        files = files_of(workspace, commit, reading, reporter)
        tally.files += len(files)
        with reporter.task(f"Files of {commit.repo}", len(files)) as progress:
            for file, contents in read_commit(commit, files, reading, tally.left_out):
                progress.advance()
                tally.read += 1
                tally.comments += contents.comments
                tally.redacted.update(contents.redacted)
                yield from rows_of(commit, file, contents, labels)


def _packages() -> list[str]:
    """Return the packages on which sentences depend; a grammar that is not there read nothing."""
    grammars = [language.grammar for language in data.LANGUAGES if language.name in RULES]
    packages = {grammar.package for grammar in grammars if grammar and find_spec(grammar.package)}
    names = {name.replace("_", "-") for name in packages}
    return sorted(
        {"detect-secrets", "publicsuffixlist", "tree-sitter", "tree-sitter-python", *names}
    )

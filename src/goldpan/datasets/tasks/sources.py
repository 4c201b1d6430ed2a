"""The sources of task files: tables of one's own, published sources, and the Hub."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.errors import GoldpanError, UsageError, suggested
from goldpan.core.result import Result
from goldpan.core.settings.file import toml_value
from goldpan.core.terminal import Reporter
from goldpan.datasets.table_files import stem_of, table_rows
from goldpan.datasets.tasks.importing import ImportResult
from goldpan.datasets.tasks.table_reader import cell_text
from goldpan.datasets.tasks.task import Task, TaskType

_NAME = re.compile(r"[a-z][a-z0-9_]{0,79}")
_MOST_LABELS = 100
_FEWEST_ROWS = 10
_POSITIVE = ("1", "1.0", "true", "yes", "y")
"""Values of which the label is the positive class, whatever the numbers of rows."""


def describe_task(
    name: str,
    files: Sequence[Path],
    text: Sequence[str],
    label: str,
    *,
    repo: str = "",
    document: str = "",
) -> str:
    """Return the TOML of a task whose rows are tables with these columns.

    Two values of `label` make a binary task, more a multi-class one, and numbers of more than
    ten values a regression; of two, the positive class is 1, true or yes, else the rarer one.
    Raises `UsageError` that names all problems, not the first alone.
    """
    values: Counter[str] = Counter()
    columns = [*text, label, repo, document]
    problems = list(_arguments(name, files, text, label))
    for path in files:
        problems += _read(path, [name for name in columns if name], label, values)
    empty, kind = values.pop("", 0), _type(values)
    if not problems:
        problems += _label_problems(values, empty, kind, label)
    if problems:
        many = len(problems) > 1
        raise UsageError(
            f"{f'{len(problems)} things are' if many else 'One thing is'} missing or wrong: "
            f"{'; '.join(problems)}",
            f"Correct {'them all' if many else 'this'}, and run the command again",
        )
    labels = [] if kind == "regression" else _ordered(values)
    return _toml(name, files, text, label, kind, labels, {"repo": repo, "document": document})


def _arguments(name: str, files: Sequence[Path], text: Sequence[str], label: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"{name!r} cannot name a task: names have lower-case letters, digits and underscores"
        )
    if not files:
        yield "no file is named, such as reports.csv"
    if not text:
        yield "no column of texts is named: --text title --text body"
    if not label:
        yield "no column of labels is named: --label urgent"


def _read(path: Path, columns: Sequence[str], label: str, values: Counter[str]) -> Iterator[str]:
    """Count the values of the label, as text without blanks around it, and yield problems."""
    try:
        for number, row in enumerate(table_rows(path), 1):
            if number == 1 and (missing := [name for name in columns if name not in row]):
                yield (
                    f"{path} has no column "
                    f"{', '.join(f'{name!r}{suggested(name, row)}' for name in missing)}; it has "
                    f"{', '.join(map(repr, row))}"
                )
                return
            values[cell_text(row.get(label)).strip()] += 1
    except GoldpanError as error:
        yield f"{error.problem} ({error.remedy[:1].lower()}{error.remedy[1:]})"


def _label_problems(values: Counter[str], empty: int, kind: TaskType, label: str) -> Iterator[str]:
    rows = values.total()
    if empty:
        yield f"rows without {label}: {empty:,}"
    if rows < _FEWEST_ROWS:
        yield f"at least {_FEWEST_ROWS} rows are needed to train and test, and there are {rows:,}"
    elif len(values) < 2:
        yield f"all rows have the same {label}"
    elif lists := [value for value in values if value.startswith(("['", '["'))]:
        yield (
            f"{label} holds lists, such as {lists[0][:40]!r}: several labels a row need a task's "
            'file with type = "multi-label"'
        )
    elif kind == "multi-class" and len(values) > min(_MOST_LABELS, rows // 2):
        few = ", ".join(repr(value[:40]) for value, _ in values.most_common(3))
        yield (
            f"{label} has {len(values):,} different values in {rows:,} rows, such as {few}: "
            f"labels repeat, and there are at most {_MOST_LABELS}"
        )


def _type(values: Collection[str]) -> TaskType:
    if len(values) > 10:
        with suppress(ValueError):
            list(map(float, values))
            return "regression"
    return "binary" if len(values) == 2 else "multi-class"


def _ordered(values: Counter[str]) -> list[str]:
    """Return the labels, of two the positive class first."""
    if len(values) > 2:
        return sorted(values)
    return sorted(values, key=lambda value: (value.lower() not in _POSITIVE, values[value], value))


def _toml(
    name: str,
    files: Sequence[Path],
    text: Sequence[str],
    label: str,
    kind: TaskType,
    labels: Sequence[str],
    facts: Mapping[str, str],
) -> str:
    number = kind == "regression"
    title = toml_value(name.replace("_", " ").capitalize())
    settings = [f"{key} = {toml_value(value)}" for key, value in facts.items() if value]
    lines = [
        f"title = {title}",
        f"type = {toml_value(kind)}",
        f"description = {toml_value(f'Tell the {label} of the text.')}",
        'activity = "maintenance"',
        f"split = {toml_value('random:0.8,0.2' if number else 'stratified:0.8,0.2')}",
        *(['metric = "smape"'] if number else []),
        "",
        "[columns]",
        f"text = {toml_value(text)}",
        f"target = {toml_value([label])}",
        *(["", "[settings]", *settings] if settings else []),
        "",
        "[source]",
        f"title = {title}",
        'reader = "table"',
        f"files = {toml_value([path.name for path in files])}",
    ]
    for value in labels:
        lines += ["", "[[labels]]", f"name = {toml_value(value)}"]
        lines.append(f"description = {toml_value(f'{label} is {value}.')}")
    return "\n".join(lines) + "\n"


_REVISION = re.compile(r"[0-9a-f]{40}")
_ANY_TABLE = "table"
"""The reader of all sources that need none of their own."""


@dataclass(frozen=True, slots=True)
class SourceImport(Result):
    """The imports of a source's tasks."""

    schema = 2

    tasks: tuple[ImportResult, ...]
    not_given: tuple[str, ...]
    """Tasks whose files were not given."""

    @property
    def exit_code(self) -> int:
        """3 where a count differs from the published one, or files are missing."""
        return max((3 if self.not_given else 0, *(result.exit_code for result in self.tasks)))


def tasks_of_source(source: str, tasks: Mapping[str, Task]) -> list[Task]:
    """Return the tasks of a source, named after its reader or its data.

    Raises `UsageError` that lists all sources.
    """
    names: dict[str, list[Task]] = {}
    for task in tasks.values():
        reader = task.source.reader.replace("_", "-")
        for name in {reader, task.source.dataset} - {"", _ANY_TABLE}:
            if reader:
                names.setdefault(name, []).append(task)
    if source not in names:
        raise UsageError(
            f"There is no source {source!r} that can be imported",
            f"Choose {', '.join(sorted(names))}",
        )
    return names[source]


def files_by_task(
    source: str, tasks: Sequence[Task], files: Sequence[Path]
) -> dict[str, list[Path]]:
    """Return the files of each task, by their names without endings.

    Raises `UsageError` where none is of any task.
    """
    chosen = {task.name: _files_for(task, files, alone=len(tasks) == 1) for task in tasks}
    if not any(chosen.values()):
        file_names = sorted({Path(name).name for task in tasks for name in task.source.files})
        raise UsageError(
            f"None of the files is one of {source}",
            f"Give {', '.join(file_names)}, plain or as .gz or .xz, under these names",
        )
    return chosen


def _files_for(task: Task, files: Sequence[Path], *, alone: bool) -> list[Path]:
    stems = {stem_of(Path(name)).casefold() for name in task.source.files}
    if alone or not stems:
        return list(files)
    return [file for file in files if stem_of(file).casefold() in stems]


def download(task: Task, revision: str | None, reporter: Reporter) -> list[Path]:
    """Fetch the files that a task names into the Hub's cache, and return their paths.

    `revision` takes the place of the task's own; it has to be a commit, as branches and tags
    move. Cached files are not fetched again. Raises `UsageError` where the task is not on the Hub
    or no commit is known, `PublishError` where the Hub does not answer well.
    """
    source = task.source
    if not source.hub:
        raise UsageError(
            f"{task.name} is not on the Hugging Face Hub, so --download cannot fetch it",
            f"Get {', '.join(source.files) or 'its files'} from {source.url} and give their paths",
        )
    commit = revision or source.revision
    if not _REVISION.fullmatch(commit):
        raise UsageError(
            f"{task.name} is not pinned to a commit of {source.hub}"
            if not commit
            else f"{commit!r} is not a commit",
            "Give --revision with the 40 digits of a commit from "
            f"https://huggingface.co/datasets/{source.hub}/commits/main",
        )
    # The Hub's client takes long to import, and most commands do without.
    from huggingface_hub import get_token

    from goldpan.datasets.hub.errors import HubCall, explained
    from goldpan.datasets.hub.publish import endpoint, open_hub, quiet

    call = HubCall(source.hub, endpoint(), get_token())
    api = open_hub(call.token)
    paths = []
    with reporter.task(f"Fetching from {call.host}", len(source.files)) as progress:
        for name in source.files:
            with quiet(), explained(call, f"fetching {name}"):
                path = api.hf_hub_download(source.hub, name, repo_type="dataset", revision=commit)
            paths.append(Path(path))
            progress.advance()
    return paths

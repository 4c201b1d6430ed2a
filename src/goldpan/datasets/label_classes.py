"""The labels of repositories' issues with the class that each means, to accept or to edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.parquet import open_tables
from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.settings_file import toml_text, toml_value
from goldpan.core.workspace import Workspace, write_whole

ClassOf = Callable[[str], str | None]
"""Returns the class that a label means, an empty name for another thing, None for nothing."""
_LABELS = "SELECT labels FROM entries WHERE kind = 'issue' AND state = 'closed'"
_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class LabelClass:
    """A label, in lower case."""

    label: str
    issues: int
    """Closed issues that bear it."""
    means: str | None
    """Its class, an empty name for something that is none, None where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class LabelClasses(Result):
    """The labels of closed issues, the most frequent first, and what they mean."""

    labels: tuple[LabelClass, ...]
    issues: int
    """Closed issues."""
    classified: int
    """Those whose labels mean exactly one class."""
    file: Path | None

    def blocks(self) -> Iterator[Block]:
        """Yield the labels as a table, and what may be done with it."""
        names = {None: "", "": "none of the classes"}
        rows = [
            (each.label, each.issues, names.get(each.means, each.means)) for each in self.labels
        ]
        yield Table(("label", "issues", "class"), rows)
        yield Line(
            f"{self.classified:,} of {self.issues:,} closed issues have labels of exactly one class"
        )
        if self.file is None:
            yield Line(
                "To change the classes, write a profile with --output FILE.toml, and edit it"
            )
        else:
            yield Line(f"Edit {self.file}, then build with --profile {self.file}")


def list_labels(
    workspace: Workspace,
    repos: Sequence[str],
    class_of: ClassOf,
    profile: Mapping[str, Any],
    output: Path | str | None,
) -> LabelClasses:
    """Return the labels of mined repositories' closed issues, and write them as a profile.

    The profile in `output`, a new file, has the settings of `profile`. Raises `WorkspaceError`
    where tables are missing or damaged, and `UsageError` for a file that is there already.
    """
    path = None if output is None else Path(output)
    if path is not None and (path.suffix != ".toml" or path.exists()):
        problem = "exists already" if path.exists() else "does not end in .toml"
        raise UsageError(f"--output {path} {problem}", "Give the name of a new file in .toml")
    counts: Counter[str] = Counter()
    issues = classified = 0
    for repo in repos:
        with open_tables(workspace, repo, ("entries",)) as connection:
            for batch in connection.sql(_LABELS).to_arrow_reader(_BATCH):
                for labels in batch["labels"].to_pylist():
                    own = {label.lower() for label in labels or () if label}
                    counts.update(own)
                    issues += 1
                    meant = {class_of(label) for label in own} - {None}
                    classified += len(meant) == 1 and "" not in meant
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    found = tuple(LabelClass(label, count, class_of(label)) for label, count in ordered)
    if path is not None:
        write_whole(path, _profile(found, profile).encode())
    return LabelClasses(found, issues, classified, path)


def _profile(found: Sequence[LabelClass], profile: Mapping[str, Any]) -> str:
    """Return a profile in which each label stands below its class, or as a comment.

    A class without a label here keeps those that it has.
    """
    by_class: dict[str, list[str]] = {name: [] for name in ("", *profile["labels"])}
    for each in found:
        if each.means is not None:
            by_class[each.means].append(each.label)
    others = by_class.pop("")
    settings = {key: value for key, value in profile.items() if key not in ("name", "labels")}
    labels = {name: own or list(profile["labels"][name]) for name, own in by_class.items()}
    text = toml_text({**settings, "prefixes": [], "other_labels": others, "labels": labels})
    unknown = [each for each in found if each.means is None]
    lines = [f"# {toml_value(each.label)}, {each.issues:,} issues\n" for each in unknown]
    head = "\n# Labels that mean no class yet: put one below its class.\n" if lines else ""
    return "".join([text, head, *lines])

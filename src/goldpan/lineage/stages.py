"""The table of stages: what each reads and writes in a workspace, and what makes it anew.

From it come the remedies of `goldpan check`, what was made of a file, the chain that
`goldpan trace --verify` recomputes, and the inputs of the steps of a plan. A new stage is one
entry in `STAGES`::

    stage_of(root, path)                    the stage that wrote a file, with its name's fields
    STAGES["pair"].files(root, repo="o/n")  the files that a stage wrote, here of one repository
    remedy_for(root, path)                  what to do to have a file anew
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from goldpan.core.storage.workspace import UNPAIRED

Fields = Mapping[str, str]
"""The values of fields in the path of a file, such as ``repo``."""
_FIELD = re.compile(r"\{(\w+)\}")
_KINDS = {
    "repo": r"[^/.][^/]*/[^/]+",
    "run": r"[^/]+(?<!\.work)",  # a run that goes on, or was stopped, has written nothing yet
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A command with the files of a workspace that it reads and writes.

    Files are patterns of paths below the workspace: ``{repo}`` stands for OWNER/NAME in lower case,
    any other ``{field}`` for a name or part of one, ``*`` for what has no field, and ``**`` for all
    files below a folder. Where the patterns of several stages match a file, the last of them wrote
    it: so normalizing has all tables of a repository but for those that stages after it have.
    """

    name: str
    outputs: tuple[str, ...]
    command: str
    """Makes the files anew, by the fields of their names."""
    inputs: tuple[str, ...] = ()
    """The stages whose outputs it reads, those with the same fields."""
    remedy: str = "Run {command}"
    named: str = ""
    """The name by which the provenance of datasets records the outputs among its inputs."""
    digests: str = ""
    """The file in which the stage keeps the digests of the others that it wrote to a folder."""

    def files(self, root: Path, **fields: str) -> list[Path]:
        """Return the files that the stage wrote, sorted: all, or those with fields of these values.

        Fields that its patterns lack are left aside.
        """
        return sorted(path for path, _ in self.results(root, fields, whole=False))

    def results(
        self, root: Path, fields: Fields, *, whole: bool = True
    ) -> Iterator[tuple[Path, Fields]]:
        """Yield the files that the stage wrote with the fields of their paths; see `files`.

        Where they are `whole`, folders that are all its own come in place of what is in them, and
        files of digests are left out.
        """
        given = {name: v.lower() if name == "repo" else v for name, v in fields.items()}
        for pattern in self.outputs:
            if whole and pattern == self.digests:
                continue
            known = _FIELD.sub(lambda field: given.get(field[1], field[0]), pattern)
            folder = root / re.split(r"[{*]", known)[0].rpartition("/")[0]
            for path in sorted(folder.rglob("*")):
                found = _match(root, path) if path.is_file() else None
                if found and found[:2] == (self, pattern) and _agree(found[2], given):
                    own, _, name = pattern.rpartition("/")
                    is_folder = whole and "*" in name
                    yield root / own.format(**found[2]) if is_folder else path, found[2]

    def keeps_digests(self, root: Path, path: Path) -> bool:
        """Tell whether a file is one in which the stage keeps digests."""
        return bool(_regex(self.digests).fullmatch(path.relative_to(root).as_posix()))


_ARCHIVE = "Restore it, or run goldpan check --repair"
_RESTORE = "Restore it from a copy, or run {command}"
_DELETE = "Delete it and run {command}"
_VERDICTS = "verdicts/{repo}/{rules}/{profile}"
_JUDGED = ("mine", "mine gharchive", "normalize", "pair", "history", "filter")
_PROOF = "verification/{repo}/{instance}"

STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "mine",
            outputs=("raw/{repo}/run-*.zst",),
            command="goldpan mine --repo {repo}",
            remedy=_ARCHIVE,
            named="raw/{file}",
        ),
        Stage(
            "mine gharchive",
            outputs=("gharchive/**",),
            command="goldpan mine gharchive for its hours again",
            remedy=_DELETE,
            named="{file}",
        ),
        Stage(
            "clone",
            outputs=("git/{repo}.git/**",),
            command="goldpan clone --repo {repo}",
            remedy="Delete {root}/git/{repo}.git and run {command}",
            named="git refs",
            digests="git/{repo}.git/goldpan.json",
        ),
        Stage(
            "normalize",
            inputs=("mine",),
            outputs=("tables/{repo}/*.parquet", "tables/{repo}/normalize.json"),
            command="goldpan normalize --repo {repo}",
            named="tables",
            digests="tables/{repo}/normalize.json",
        ),
        Stage(
            "pair",
            inputs=("normalize",),
            outputs=("tables/{repo}/pairs.{rules}.parquet", "tables/{repo}/pair.{rules}.json"),
            command="goldpan pair --repo {repo} --rules {rules}",
            named="tables",
            digests="tables/{repo}/pair.{rules}.json",
        ),
        Stage(
            "history",
            inputs=("normalize", "pair", "clone"),
            outputs=("tables/{repo}/revisions.parquet", "tables/{repo}/changes.parquet"),
            command="goldpan clone --repo {repo}",
            named="tables",
        ),
        Stage(
            "near-duplicates",
            inputs=("normalize",),
            outputs=("verdicts/{duplicates}.parquet",),
            command="goldpan filter",
            remedy=_DELETE,
            named="duplicates",
        ),
        Stage(
            "filter",
            inputs=("normalize", "pair", "history"),
            outputs=(f"{_VERDICTS}.parquet",),
            command="goldpan filter --repo {repo} --profile {profile}{by}",
            remedy=_DELETE,
            named="verdicts",
        ),
        Stage(
            "ask",
            outputs=("reviews/run-*.zst",),
            command="goldpan review",
            remedy=_ARCHIVE,
            named="reviews",
        ),
        Stage(
            "review",
            inputs=("ask", "filter"),
            outputs=(f"{_VERDICTS}.llm.parquet", f"{_VERDICTS}.llm.json"),
            command="goldpan review --repo {repo} --profile {profile}{by}",
            remedy=_DELETE,
            named="reviews",
            digests=f"{_VERDICTS}.llm.json",
        ),
        Stage(
            "annotate",
            outputs=("annotations/{project}/**",),
            command="goldpan annotate pull --project {project}",
            named="annotations/{project}",
        ),
        Stage(
            "build",
            inputs=(*_JUDGED, "clone", "near-duplicates", "review", "annotate"),
            outputs=("datasets/{dataset}/**",),
            command="goldpan build or goldpan tasks import for the dataset again",
            remedy=_RESTORE,
            digests="datasets/**/provenance.json",
        ),
        Stage(
            "build crosscode",
            inputs=("build",),
            outputs=("crosscode/**",),
            command="goldpan build crosscode for its folder again",
            remedy=_RESTORE,
            digests="crosscode/**/provenance.json",
        ),
        Stage(
            "verify",
            inputs=("clone", "build"),
            outputs=(f"{_PROOF}/**",),
            command="goldpan verify {dataset}",
            named="verification",
            digests=f"{_PROOF}/record.json",
        ),
        Stage(
            "ask models",
            inputs=("build",),
            outputs=("prompts/{task}/**",),
            command="goldpan evaluate run",
            remedy=_ARCHIVE,
        ),
        Stage(
            "evaluate",
            inputs=("build", "ask models"),
            outputs=("runs/{task}/{model}/{run}/**",),
            command="goldpan evaluate run again",
            remedy="Delete its directory and run {command}",
            digests="runs/{task}/{model}/{run}/result.json",
        ),
        Stage(
            "resolve",
            inputs=("verify", "evaluate"),
            outputs=(f"{_PROOF}/answers/{{answer}}/**",),
            command="goldpan evaluate resolved {dataset}",
            digests=f"{_PROOF}/answers/{{answer}}/answer.json",
        ),
        Stage(
            "rerun",
            inputs=("verify",),
            outputs=(f"{_PROOF}/reruns/**",),
            command="goldpan audit --finding weak-tests {dataset}",
            named="verification",
            digests=f"{_PROOF}/reruns/reruns.json",
        ),
        Stage(
            "audit",
            inputs=("build", "verify", "rerun", "evaluate"),
            outputs=("audits/{dataset}/**",),
            command="goldpan audit {dataset}",
            digests="audits/{dataset}/audit.json",
        ),
        Stage(
            "cache",
            outputs=("cache/**",),
            command="",
            remedy="Delete it: it is made again where it is needed",
        ),
    )
}


def stage_of(root: Path, path: Path) -> tuple[Stage, Fields] | None:
    """Return the stage that wrote a file, and the fields of its path; None for one of no stage."""
    found = _match(root, path)
    return None if found is None else (found[0], found[2])


def remedy_for(root: Path, path: Path, command: str = "", **fields: str) -> str:
    """Return what to do to have a file of a stage anew, with another command or fields if given."""
    known = stage_of(root, path)
    assert known is not None, path
    stage, values = known[0], {**known[1], **fields, "root": str(root)}
    values["by"] = "" if values.get("rules") in (None, UNPAIRED) else f" --rules {values['rules']}"
    return stage.remedy.format(command=command or stage.command.format(**values), **values)


def _match(root: Path, path: Path) -> tuple[Stage, str, Fields] | None:
    """Return the stage that wrote a file, with the pattern and the fields of its path.

    None wrote hidden files, which systems and file managers leave everywhere.
    """
    if path.name.startswith("."):
        return None
    name = path.relative_to(root).as_posix()
    for stage, pattern in _patterns(name.partition("/")[0]):
        if match := _regex(pattern).fullmatch(name):
            return stage, pattern, match.groupdict()
    return None


@lru_cache(maxsize=64)
def _patterns(folder: str) -> list[tuple[Stage, str]]:
    """Return the stages that write to a folder of the workspace, the last one first."""
    pairs = [(stage, pattern) for stage in STAGES.values() for pattern in stage.outputs]
    return [pair for pair in reversed(pairs) if pair[1].startswith(f"{folder}/")]


def _agree(fields: Fields, others: Fields) -> bool:
    return all(others.get(name, value) == value for name, value in fields.items())


@lru_cache(maxsize=256)
def _regex(pattern: str) -> re.Pattern[str]:
    """Return what matches the files of a pattern, with its fields as groups."""

    def group(field: re.Match[str]) -> str:
        return f"(?P<{field[1]}>{_KINDS.get(field[1], '[^/]+')})"

    text = re.sub(r"\\\{(\w+)\\\}", group, re.escape(pattern))
    return re.compile(text.replace(r"\*\*", ".+").replace(r"\*", "[^/]*"), re.S)

"""What in a workspace rests on one of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldpan.core.errors import GoldpanError
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE, read_provenance

_Facts = Mapping[str, Any]
"""What a dataset's provenance tells."""


class Dependents:
    """What was made of the files of a workspace, by the names that tables and provenance keep."""

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root
        self._datasets: dict[Path, _Facts] = {}
        for folder in ("datasets", "crosscode"):
            for path in sorted((self._root / folder).rglob(PROVENANCE)):
                try:
                    self._datasets[path.parent] = read_provenance(path.parent)
                except GoldpanError:
                    continue  # that is told of the file itself

    def of(self, path: Path) -> tuple[str, ...]:
        """Return what rests on a file, by paths within the workspace, in the order of stages."""
        return tuple(str(found.relative_to(self._root)) for found in self._of(path))

    def proved_datasets(self, repo: str) -> list[Path]:
        """Return the datasets with rows of a repository whose fixes can be proved by tests."""
        return list(self._made_of(repo, lambda facts, _: facts.get("family") == "issue-resolution"))

    def _of(self, path: Path) -> Iterator[Path]:
        stage, *rest = path.relative_to(self._root).parts
        repo = "/".join(rest[:2]).removesuffix(".git")
        match stage:
            case "raw":
                yield from self._existing(f"tables/{repo}")
                yield from self._existing(f"verdicts/{repo}/*/*.parquet")
                yield from self._made_of(repo)
            case "git":
                yield from self._existing(f"tables/{repo}/revisions.parquet")
                yield from self._existing(f"tables/{repo}/changes.parquet")
                yield from self._existing(f"verification/{repo}")
                yield from self._made_of(repo, lambda _, source: "git refs" in source["inputs"])
            case "tables":
                yield from self._existing(f"verdicts/{repo}/*/*.parquet")
                yield from self._made_of(repo)
            case "reviews":
                yield from self._existing("verdicts/**/*.llm.parquet")
                yield from self._if(_was_reviewed)
            case "verdicts" if rest[0] == "labels":
                return
            case "verdicts" if len(rest) == 1:
                yield from self._if(lambda facts: "near-duplicates" in facts.get("digests", {}))
            case "verdicts":
                profile, _, reviewed = path.stem.partition(".")
                yield from self._made_of(
                    repo,
                    lambda facts, source: (
                        facts.get("profile", {}).get("name") == profile
                        and source.get("rules") in (path.parent.name, None)
                        and (not reviewed or _was_reviewed(facts))
                    ),
                )
            case "annotations":
                yield from self._if(lambda facts: _was_annotated(facts, rest[0]))
            case "gharchive":
                yield from self._if(lambda facts: any(path.name in s["inputs"] for s in _of(facts)))
            case "audits":
                return
            case "prompts":
                yield from self._existing("runs")
            case "datasets":
                directory = next((d for d in self._datasets if path.is_relative_to(d)), path.parent)
                family = self._datasets.get(directory, {}).get("family", directory.name)
                yield from self._existing(f"runs/{family}/*/*")
                yield from self._existing(f"audits/{directory.name}/*.parquet")
            case "verification":
                yield from self.proved_datasets(tested_repository(rest))

    def _existing(self, pattern: str) -> Iterator[Path]:
        yield from sorted(self._root.glob(pattern))

    def _made_of(
        self, repo: str, which: Callable[[_Facts, _Facts], bool] = lambda _, __: True
    ) -> Iterator[Path]:
        """Yield the datasets of a repository of which something is true, with its source."""

        def is_of(facts: _Facts) -> bool:
            return any(
                str(source["repo"]).lower() == repo and which(facts, source)
                for source in _of(facts)
            )

        yield from self._if(is_of)

    def _if(self, which: Callable[[_Facts], bool]) -> Iterator[Path]:
        yield from (path for path, facts in self._datasets.items() if which(facts))


def tested_repository(parts: Sequence[str]) -> str:
    """Return the repository that a path below `verification` is of: its tests or its packages."""
    owner, name = [part for part in parts if part not in (".packages", ".seals")][:2]
    return f"{owner}/{name.removesuffix('.json') if parts[0] == '.seals' else name}"


def _of(facts: _Facts) -> list[_Facts]:
    return list(facts.get("sources", ()))


def _was_reviewed(facts: _Facts) -> bool:
    return any("models" in who for who in facts.get("reviews", {}).values())


def _was_annotated(facts: _Facts, project: str) -> bool:
    people = (who.get("people", {}) for who in facts.get("reviews", {}).values())
    return project in facts.get("corrections", {}) or any(project in names for names in people)

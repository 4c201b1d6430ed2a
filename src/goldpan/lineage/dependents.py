"""What was made of a file of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldpan.builders.recipes import RECIPES
from goldpan.core.errors import GoldpanError
from goldpan.datasets.provenance import PROVENANCE, build_command, read_provenance
from goldpan.lineage.stages import STAGES, Fields, Stage, stage_of

_PROVED = "issue-resolution"
"""The family of datasets whose rows runs of tests prove."""


class Dependents:
    """The results that depend on files of a workspace.

    Datasets record what they were made of; of other results, the stages that read the file tell.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._datasets: dict[Path, Mapping[str, Any]] = {}
        for path in STAGES["build"].files(root):
            if path.name == PROVENANCE:
                try:
                    self._datasets[path.parent] = read_provenance(path.parent)
                except GoldpanError:
                    continue  # checks of the file itself report that

    def of(self, path: Path) -> tuple[str, ...]:
        """Return the results of a file, as paths within the workspace, in the order of stages."""
        known = stage_of(self._root, path)
        if known is None:
            return ()
        stage, fields = known
        if directory := self._dataset(path):
            fields = self._fields(directory)
        reached: dict[str, list[Fields]] = {stage.name: [fields]}
        found: dict[Path, None] = {}
        for later in STAGES.values():
            if later.name == "build":
                made = [(d, self._fields(d)) for d in self._made_of(stage, fields, path.name)]
            else:
                given = [each for name in later.inputs for each in reached.get(name, ())]
                made = [
                    (result, own)
                    for each in given
                    for result, own in later.results(self._root, each)
                    if not each or each.keys() & own.keys()  # else nothing is known
                ]
            found.update(dict.fromkeys(result for result, _ in made))
            reached.setdefault(later.name, []).extend(own for _, own in made)
        whole = [result for result in found if found.keys().isdisjoint(result.parents)]
        return tuple(str(result.relative_to(self._root)) for result in whole)

    def build_command(self, path: Path) -> str:
        """Return the command that builds the dataset of a file again; empty where none is known."""
        directory = self._dataset(path)
        if directory is None or self._datasets[directory].get("family") not in RECIPES:
            return ""
        return build_command(directory, self._root)

    def proved_datasets(self, repo: str) -> list[Path]:
        """Return the datasets with rows of a repository whose fixes can be proved by tests."""
        return self._made_of(STAGES["verify"], {"repo": repo}, "")

    def _dataset(self, path: Path) -> Path | None:
        return next((folder for folder in path.parents if folder in self._datasets), None)

    def _fields(self, directory: Path) -> Fields:
        """Return the fields in the paths of what is made of a dataset."""
        family = self._datasets[directory].get("family", directory.name)
        return {"dataset": directory.name, "task": str(family)}

    def _made_of(self, stage: Stage, fields: Fields, file: str) -> list[Path]:
        """Return the datasets that record a file of a stage among their inputs."""
        name = stage.named.format(file=file, **fields)
        return [
            directory
            for directory, facts in self._datasets.items()
            if name and _names(facts, name, fields)
        ]


def _names(facts: Mapping[str, Any], name: str, fields: Fields) -> bool:
    """Tell whether provenance records an input, of a repository, rules and profile if these say."""
    if fields.get("project") in facts.get("corrections", {}):
        return True
    if fields.get("profile") not in (None, facts.get("profile", {}).get("name")):
        return False
    is_proved = name == STAGES["verify"].named and facts.get("family") == _PROVED
    return any(
        fields.get("repo") in (None, str(source.get("repo")).lower())
        and ("rules" not in fields or source.get("rules") in (None, fields["rules"]))
        and (is_proved or name in source.get("inputs", {}))
        for source in facts.get("sources", ())
    )

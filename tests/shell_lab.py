"""A repository of shell scripts with fixes of it, so that no environment has to be installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.records import FixInstance, TrialRecord, TrialSettings
from goldpan.execution.resolve import Resolution, resolve_all
from goldpan.execution.verify import verify_all
from goldpan.git.clone import clone
from goldpan.git.trees import CommitPair, patches
from tests.git_repositories import REPO, Content, Repository
from tests.mining import Notes
from tests.verifying import ISOLATIONS

RUNNER = b"""#!/bin/sh
report=$1; shift
echo '<testsuite>' > "$report"
for file in "$@"; do
  if sh "$file"; then echo "<testcase name='$file'/>" >> "$report"
  else echo "<testcase name='$file'><failure/></testcase>" >> "$report"; fi
done
echo '</testsuite>' >> "$report"
"""
RECIPE = """
files = ["run.sh"]
suffixes = [".sh"]
tests = [["/bin/sh", "run.sh", "{report}", "{files}"]]
format = "junit"
compiled = [".c"]
"""
QUICK = TrialSettings(repeats=2, seconds=60, isolation=ISOLATIONS[0])


class Lab:
    """A repository whose `value` is 1, and fixes of it with the tests that they bring."""

    def __init__(self, root: Path) -> None:
        self.repository = Repository.create(root / "source.git")
        self.workspace = WorkspaceLayout(root / "workspace")
        self.recipe = root / "shell.toml"
        self.recipe.write_text(RECIPE, encoding="utf-8")
        self.files: dict[bytes, Content] = {b"run.sh": RUNNER, b"value": b"1\n"}
        self.tests: dict[bytes, bytes] = {}
        """Further files of tests that a fix brings."""

    def instance(self, test: str, value: bytes = b"2\n", **more: bytes) -> FixInstance:
        """Commit a fix that sets `value` and brings a test."""
        base = self.repository.commit(self.files, ref="refs/heads/main")
        tests = {b"tests/check.sh": test.encode(), **self.tests}
        extra = {name.encode(): content for name, content in more.items()}
        fixed = {**self.files, **extra, b"value": value}
        with_tests = self.repository.commit({**self.files, **tests}, base, ref="refs/heads/tests")
        with_fix = self.repository.commit(fixed, base, ref="refs/heads/fix")
        clone(self.workspace, REPO, Notes(), source=self.repository.path)
        pairs = [CommitPair(base, with_fix), CommitPair(base, with_tests)]
        fix, test_patch = (patch or "" for patch in patches(self.workspace.clone(REPO), pairs))
        names = tuple(sorted(name.decode() for name in tests))
        return FixInstance("x:o/n#1+2", REPO, 1, 2, base, fix, test_patch, names)

    def verify(
        self, instance: FixInstance, settings: TrialSettings = QUICK, again: bool = False
    ) -> TrialRecord:
        """Run one instance with the recipe of these repositories."""
        if settings.isolation == "auto":
            settings = replace(settings, isolation=ISOLATIONS[0])
        return verify_all(
            self.workspace, [instance], settings, Notes(), recipes=[self.recipe], again=again
        ).records[0]

    def resolve(self, instance: FixInstance, answer: str) -> Resolution:
        """Score an answer to an instance that was verified."""
        answers, recipes = {instance.id: answer}, [self.recipe]
        (resolution,) = resolve_all(
            self.workspace, [instance], answers, QUICK, Notes(), recipes=recipes
        )
        return resolution

    @property
    def record_folder(self) -> Path:
        """Where the record and logs lie."""
        return self.workspace.root / "verification" / REPO / "1-2"

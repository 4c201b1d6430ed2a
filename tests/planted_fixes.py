"""A small Python project with fixes whose tests are weak, strong, or depend on luck."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import time

import orjson

from goldpan.audit.audit import AuditResult, audit_dataset
from goldpan.audit.finding import FindingName
from goldpan.audit.trials.runs import RerunOptions
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.records import FixInstance, TrialRecord, TrialSettings
from goldpan.execution.verify import verify_all
from goldpan.git.clone import clone
from tests.git_repositories import REPO, Repository, fix_instance
from tests.mining import Notes
from tests.verifying import ISOLATIONS

_HEAD = "import os\nimport sys\nimport time\n\nsys.path.insert(0, '.')\nfrom mill import fits\n\n"
_BEFORE = "def fits(weight, limit):\n    return True\n"
_AFTER = "def fits(weight, limit):\n    return weight <= limit\n"
WEAK = "def test_fits():\n    assert not fits(3, 1)\n"
STRONG = "def test_fits():\n    assert [fits(n, 2) for n in (1, 2, 3)] == [True, True, False]\n"
ORDER = (
    "seen = []\n\ndef test_first():\n    seen.append(fits(1, 2))\n\n"
    "def test_second():\n    assert seen and not fits(3, 1)\n"
)
SKIPPED = (
    "import pytest\n\ndef test_limit():\n    if fits(2, 2):\n        pytest.skip()\n"
    "    assert False\n\ndef test_fits():\n    assert not fits(3, 1)\n"
)
"""With the fix one test is skipped, which variants fail."""
HASH = f"{STRONG}    assert os.environ['PYTHONHASHSEED'] == '0'\n"
CLOCK = f"{STRONG}    assert time.time() < {time() + 30 * 86_400:.0f}\n"
SLEEP = f"{STRONG}    time.sleep(0.01)\n"
ZONE = f"{STRONG}    assert time.timezone == 0\n"
SLOW = (
    "import pytest\n\n@pytest.fixture(scope='module', autouse=True)\ndef mill():\n"
    "    time.sleep(0.5)\n\n"
    f"@pytest.mark.parametrize('number', range(20))\n{STRONG.replace('()', '(number)', 1)}"
)
"""Each test alone takes as long as all together."""
EXAMPLE = f"{STRONG}\ndef test_limit():\n    assert fits(2, 2)\n"
"""Of a fix that also changes an example, which no test runs."""


class Planted:
    """Fixes with these tests, by name, as verified rows of a dataset's file."""

    def __init__(self, root: Path, tests: Mapping[str, str], recipes: Sequence[Path] = ()) -> None:
        self.workspace = WorkspaceLayout(root / "workspace")
        self.dataset = root / "planted.jsonl"
        self.settings = TrialSettings(repeats=1, seconds=300, isolation=ISOLATIONS[0])
        self.recipes = tuple(recipes)
        repository = Repository.create(root / "source.git")
        self.instances = {
            name: _instance(repository, number, name, test)
            for number, (name, test) in enumerate(tests.items(), 1)
        }
        clone(self.workspace, REPO, Notes(), source=repository.path)
        self.write(self.instances.values())

    def write(self, instances: Iterable[FixInstance]) -> None:
        """Write rows into the dataset's file."""
        rows = [asdict(instance) for instance in instances]
        self.dataset.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))

    def verify(self) -> dict[str, TrialRecord]:
        """Prove all fixes."""
        records = verify_all(
            self.workspace, self.instances.values(), self.settings, Notes(), recipes=self.recipes
        ).records
        return dict(zip(self.instances, records, strict=True))

    def audit(
        self, *findings: FindingName, variants: int = 20, again: bool = False
    ) -> tuple[AuditResult, Notes]:
        """Look for findings; return what was noted as well."""
        notes = Notes()
        options = RerunOptions(variants, again=again, settings=self.settings, recipes=self.recipes)
        result = audit_dataset(
            self.workspace, self.dataset, notes, findings=findings, reruns=options
        )
        return result, notes

    def verdicts(self, result: AuditResult, finding: FindingName) -> dict[str, str]:
        """Return the verdict on each row, with its case where it has one."""
        rows = read_table(Path(result.file)).to_pylist()
        return {
            row["id"].partition("#")[2]: row["case"] or row["verdict"]
            for row in rows
            if row["finding"] == finding
        }

    def record(self, name: str) -> Path:
        """Return where what came of running a row again is kept."""
        instance = self.instances[name]
        folder = self.workspace.root / "verification" / REPO / f"{instance.issue}-{instance.pull}"
        return folder / "reruns" / "reruns.json"


def _instance(repository: Repository, number: int, name: str, test: str) -> FixInstance:
    before = {"pyproject.toml": "", "mill.py": _BEFORE}
    fixed = {"mill.py": _AFTER}
    if test == EXAMPLE:
        fixed["examples/show.py"] = "from mill import fits\n\nprint(fits(1, 2))\n"
    tests = {"tests/test_mill.py": _HEAD + test}
    return fix_instance(repository, number, before, fixed, tests, name)

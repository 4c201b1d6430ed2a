"""Scores a model's patch by execution: whether it makes the tests of a proved fix pass."""

from __future__ import annotations

import ast
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Literal

from goldpan.code.edits.apply import EditError
from goldpan.code.edits.files import apply_patch_files
from goldpan.code.patch import split_patch
from goldpan.code.paths import is_test_file
from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.execution.checkout import leaves
from goldpan.execution.isolation import find_isolation
from goldpan.execution.proof import Verdict
from goldpan.execution.records import (
    BROKE_OFF,
    EndedError,
    FixInstance,
    TrialJob,
    TrialRecord,
    TrialSettings,
    keep_record,
    kept_record,
    read_record,
    record_directory,
    run_digest,
    run_trials,
)
from goldpan.execution.trial import Trial, apply_or_end, open_trial

# The negative control of a patch that is scored: its tests, changed so that none can pass.
#
# A patch runs in the process of the tests and may forge what they report. One that still reports
# them as passed when each of their functions fails at its first line has forged it.

_FAILURE = "raise AssertionError"


def fail_tests(testbed: Path, files: Iterable[str]) -> bool:
    """Make each test function of the Python files fail at once; say whether there was any."""
    changed = False
    for path in files:
        target = testbed / path
        if leaves(testbed, path):  # as a forged report may name it
            continue
        if target.suffix != ".py" or target.is_symlink() or not target.is_file():
            continue
        failing = failing_tests(target.read_bytes())
        if failing is not None:
            target.write_text(failing, encoding="utf-8")
            changed = True
    return changed


def failing_tests(source: bytes) -> str | None:
    """Return a test file whose test functions all fail, None where none can be changed.

    Decorators, parameters and documentation strings stay, so tests keep their names.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # Python 2, or hostile
        return None
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.lower().startswith("test")
    ]
    for function in functions:
        documented = ast.get_docstring(function, clean=False) is not None
        function.body.insert(int(documented), ast.parse(_FAILURE).body[0])
    with suppress(RecursionError):  # an expression of some hundred parts
        return ast.unparse(tree) if functions else None
    return None


Outcome = Literal[
    "resolved",
    "tests-fail",
    "forged-report",
    "no-answer",
    "does-not-apply",
    "limit-exceeded",
    "does-not-build",
]
EXPLAINED: Mapping[Outcome, str] = {
    "resolved": "all tests in FAIL_TO_PASS and PASS_TO_PASS pass",
    "tests-fail": "some of these tests do not pass",
    "forged-report": "tests that had been changed to fail were reported as passed",
    "no-answer": "no patch was given",
    "does-not-apply": "the patch does not apply to the base commit",
    "limit-exceeded": "building or testing exceeded a limit (time, memory, disk, processes)",
    "does-not-build": "the environment can no longer be built",
}
"""Meaning of each outcome, for people."""
_OUTCOMES: Mapping[Verdict, Outcome] = {
    "does-not-apply": "does-not-apply",
    "limit-exceeded": "limit-exceeded",
    "no-tests-run": "tests-fail",  # their report cannot be believed
}
ANSWER = "answer.json"
"""The file with the outcome of an answer, beside its logs."""
_VERSION = 1
"""Raised where the same answer would have another outcome; older ones are scored again."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The outcome of one model's patch for one instance."""

    instance: FixInstance
    outcome: Outcome
    failed: tuple[str, ...] = ()
    """Tests that should pass and do not, or whose report is forged."""
    restored: tuple[str, ...] = ()
    """Files of tests, or that configure their runner, whose changes by the patch were undone."""


@dataclass(frozen=True, slots=True)
class ScoringJob:
    """A patch to be scored, for an instance that was proved."""

    job: TrialJob
    record: TrialRecord
    text: str = field(repr=False)
    """SEARCH/REPLACE blocks or a git diff."""

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that have to pass."""
        return (*self.record.proof.fail_to_pass, *self.record.proof.pass_to_pass)

    def __str__(self) -> str:
        return self.job.instance.id


def resolve_all(
    workspace: WorkspaceLayout,
    instances: Sequence[FixInstance],
    answers: Mapping[str, str | None],
    settings: TrialSettings,
    reporter: Reporter,
    *,
    recipes: Sequence[Path] = (),
    execution: Execution = ONE_PROCESS,
) -> tuple[Resolution, ...]:
    """Score the answer to each instance, by the instances' ids; a missing one scores as none.

    Answers that were scored by the same tests are not run again. Raises `UsageError` where an
    instance was not proved in this workspace: its tests could not tell right from wrong.
    """
    workspace = replace(workspace, root=workspace.root.absolute())
    find_isolation(settings.isolation, settings.image)
    waiting: list[ScoringJob] = []
    scored: dict[str, Resolution] = {}
    for instance in instances:
        record = read_record(record_directory(workspace, instance), instance)
        if record is None or record.proof.verdict != "verified":
            raise UsageError(
                f"{instance.id} is not verified in {workspace.root}",
                "Run goldpan verify on the dataset, and build it again with --require verified",
            )
        text = answers.get(instance.id)
        if text is None or not text.strip():
            scored[instance.id] = Resolution(instance, "no-answer", record.proof.fail_to_pass)
        else:
            job = TrialJob(workspace, instance, settings, tuple(recipes))
            waiting.append(ScoringJob(job, record, text))
    for resolution in run_trials(workspace, resolve_answer, waiting, execution, reporter):
        scored[resolution.instance.id] = resolution
    return tuple(scored[instance.id] for instance in instances)


def resolve_answer(answer: ScoringJob) -> Resolution:
    """Score one answer, or return what came of the same answer before."""
    instance = answer.job.instance
    digest = hashlib.sha256(answer.text.encode("utf-8", "surrogateescape")).hexdigest()
    logs = record_directory(answer.job.workspace, instance) / "answers" / digest[:16]
    stored = _read(logs, answer, digest)
    if stored:
        return stored
    with open_trial(answer.job, logs, answer.record) as trial:
        shutil.rmtree(logs, ignore_errors=True)
        make_directory(logs)

        restored: tuple[str, ...] = ()

        def change(testbed: Path) -> None:
            nonlocal restored
            try:
                applied = apply_patch_files(answer.text, testbed, write=True)
            except EditError as error:
                (logs / "patch.log").write_text(str(error), encoding="utf-8")
                raise EndedError("does-not-apply") from None
            changed = {place for file in applied.files for place in _inside(testbed, file.path)}
            restored = restore_tests(trial, instance, testbed, changed)

        try:
            trial.prepare()
            run = trial.run("answer", change)
            # Python's reports have what fails, and measuring coverage may fail beside them.
            had_broken_off = BROKE_OFF in answer.record.environment
            ended = trial.recipe.is_python or not trial.broke_off or had_broken_off
            failed = tuple(test for test in answer.tests if not ended or run.get(test) != "passed")
            outcome: Outcome = "tests-fail" if failed else "resolved"
            resolution = Resolution(instance, outcome, failed, restored)
            if resolution.outcome == "resolved" and (forged := _forged(trial, answer, change)):
                resolution = Resolution(instance, "forged-report", forged, restored)
        except EndedError as ended:
            outcome = _OUTCOMES.get(ended.verdict, "does-not-build")
            failed = answer.tests if outcome == "tests-fail" else answer.record.proof.fail_to_pass
            resolution = Resolution(instance, outcome, failed, restored)
    plain = {
        **_about(answer, digest),
        "outcome": resolution.outcome,
        "failed": resolution.failed,
        "restored": resolution.restored,
    }
    keep_record(logs / ANSWER, plain)
    return resolution


def restore_tests(
    trial: Trial, instance: FixInstance, testbed: Path, changed: Iterable[str]
) -> tuple[str, ...]:
    """Give the tests the state that the fix brings, whatever a patch did to them.

    `changed` are the files that the patch wrote. Those among them that are tests, or steer the
    runner as a `conftest.py` does, become the base commit's, unless the fix changes them as
    well. Returns these.
    """
    parts = split_patch(instance.test_patch)
    moved = {part.moved_from for part in parts if part.moved_from}
    fixed = {part.path for part in split_patch(instance.patch)}
    steering = {path for path in changed if path not in fixed and _steers(trial, testbed, path)}
    for path in sorted({*instance.test_files, *moved, *steering}):
        target, source = testbed / path, trial.base / path
        if leaves(testbed, path) or leaves(trial.base, path):
            raise EndedError("does-not-apply", f"{path} leads out of the repository")
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        if source.is_file() and not source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    apply_or_end(testbed, instance.test_patch)
    return tuple(sorted(steering))


def _steers(trial: Trial, testbed: Path, path: str) -> bool:
    """Return whether a file decides what tests find, as tests and their settings do."""
    if trial.recipe.steers(path) or is_test_file(path, ""):
        return True
    if leaves(testbed, path) or not (testbed / path).is_file():
        return is_test_file(path)
    return is_test_file(path, (testbed / path).read_text("utf-8", "replace"))


def _forged(trial: Trial, answer: ScoringJob, change: Callable[[Path], None]) -> tuple[str, ...]:
    """Return the tests that the answer's run reports as passed though they were made to fail.

    Tests that pass all the same with the merged fix, such as a documentation string's, cannot be
    made to fail, and are none of them.
    """
    instance, tests = answer.job.instance, answer.tests
    # Where the fix brings data alone, tests of other files are what it is judged by.
    files = {*instance.test_files, *(test.partition("::")[0] for test in tests)}

    def passed(name: str, change: Callable[[Path], None]) -> set[str]:
        failing = False

        def control(testbed: Path) -> None:
            nonlocal failing
            change(testbed)
            failing = fail_tests(testbed, files)

        run = trial.run(name, control)
        return {test for test in tests if failing and run.get(test) == "passed"}

    def fix(testbed: Path) -> None:
        apply_or_end(testbed, instance.test_patch)
        apply_or_end(testbed, instance.patch)

    suspected = passed("control", change)
    if not suspected:
        return ()
    excused = passed("control-fix", fix)
    return tuple(test for test in tests if test in suspected - excused)


def _inside(testbed: Path, path: str) -> tuple[str, str]:
    """Return the name of a file, however the patch writes it, and where it really lies."""
    place = (testbed / path).resolve().relative_to(testbed.resolve())
    return PurePosixPath(normpath(path)).as_posix(), place.as_posix()


def _read(logs: Path, answer: ScoringJob, digest: str) -> Resolution | None:
    plain = kept_record(logs / ANSWER, _about(answer, digest))
    # Where it did not build, that is the fault of no patch; the index may be back.
    if not plain or plain["outcome"] == "does-not-build":
        return None
    lists = (tuple(plain[name]) for name in ("failed", "restored"))
    return Resolution(answer.job.instance, plain["outcome"], *lists)


def _about(answer: ScoringJob, digest: str) -> dict[str, object]:
    """Return what an outcome follows from, `digest` being that of the answer's text."""
    return {
        "record": answer.record.digest,
        "answer": digest,
        "settings": run_digest(answer.job.settings, answer.job.recipes),
        "version": _VERSION,
    }

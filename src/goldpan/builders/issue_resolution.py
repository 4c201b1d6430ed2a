"""Issues with the fixes and tests that prove them, in SWE-bench's columns (its section 2).

The change of a pull request is parted into `patch` and `test_patch` by what its files are. What
running the tests proved comes from `goldpan verify`, if it ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from goldpan.builders.context import PAIR_REASONS, BuildContext, EarlierTexts, patched_pairs
from goldpan.builders.request import VERIFIED
from goldpan.code.patch import part_patch, split_patch
from goldpan.code.paths import is_test_change
from goldpan.execution.proof import EXPLAINED as VERDICTS
from goldpan.execution.records import TrialRecord, instance_of, read_record, record_directory
from goldpan.git.objects import Objects
from goldpan.text.redaction import SECRETS_ONLY, find_private

FAMILY = "issue-resolution"
NOT_RUN = "not-run"
EXPLAINED: dict[str, str] = {
    **{reason: text for reason, text in PAIR_REASONS.items() if reason != "several-files"},
    "no-text": "a changed file is binary, a submodule or not UTF-8, so a text patch cannot hold it",
    "no-tests": "the pull request changes no test file",
    "no-code": "the pull request changes tests alone",
    "secret-in-file": "the change holds what looks like a secret",
    NOT_RUN: "its tests were not run: goldpan verify does that",
    **{str(verdict): text for verdict, text in VERDICTS.items() if verdict != "verified"},
}
_CHANGES = (
    "SELECT path, kind, blob_before, blob_after FROM changes WHERE number = $number ORDER BY path"
)
_HINTS = """
SELECT comment_id, text FROM texts
WHERE number = $number AND source = 'comment' AND NOT robot AND created_at < $before
ORDER BY created_at, comment_id
"""
_VERSION = re.compile(rb"""^\s*(?:version|__version__|VERSION)\s*=\s*["']?(\d+(?:\.\d+)*)""", re.M)
_VERSION_FILES = (b"pyproject.toml", b"setup.cfg", b"setup.py")


def rows(context: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield an example for each kept fix pair that changes tests and code."""
    with context.view.objects() as objects:
        if objects is None:
            context.drop_all("no-history")
            return
        earlier = context.earlier()
        for _, patched in patched_pairs(context, FAMILY, several_files=True):
            for pair, shared, patch in patched:
                change = _change(context, objects, pair, patch)
                if isinstance(change, str):
                    context.dropped[change] += 1
                    continue
                row = {
                    **_row(objects, pair, shared, change),
                    "hints_text": _hints(context, earlier, pair),
                }
                record = _record(context, row)
                verdict = record.proof.verdict if record else NOT_RUN
                if VERIFIED in context.request.reviews and verdict != VERIFIED:
                    context.dropped[verdict] += 1
                    continue
                yield {**row, **_proved(record)}


def _change(
    context: BuildContext, objects: Objects, pair: dict[str, Any], diff: str | None
) -> dict[str, Any] | str:
    """Return the two patches and the test files, or why there is no example."""
    changes = list(context.rows(_CHANGES, number=pair["pull"]))
    if diff is None or "\ufffd" in diff or any(change["kind"] != "text" for change in changes):
        return "no-text"
    tests = {change["path"] for change in changes if is_test_change(change, objects.blob)}
    test_patch, patch = part_patch(diff, lambda path: path in tests)
    if not test_patch:
        return "no-tests"
    if not patch:
        return "no-code"
    if find_private(patch, SECRETS_ONLY) or find_private(test_patch, SECRETS_ONLY):
        return "secret-in-file"
    return {
        "patch": patch,
        "test_patch": test_patch,
        "test_files": sorted(part.path for part in split_patch(test_patch)),
        "files": len(split_patch(patch)),
    }


def _row(
    objects: Objects, pair: dict[str, Any], shared: dict[str, Any], change: dict[str, Any]
) -> dict[str, Any]:
    return {
        **shared,
        **change,
        "instance_id": f"{shared['owner']}__{shared['name']}-{pair['pull']}",
        "base_commit": pair["merge_base"],
        "problem_statement": f"{shared['title']}\n{shared['body']}".strip(),
        "created_at": pair["pull_created_at"],
        "issue_created_at": shared["created_at"],
        "version": _version(objects, pair["merge_base"]),
        "environment_setup_commit": pair["merge_base"],
    }


def _hints(context: BuildContext, earlier: EarlierTexts | None, pair: dict[str, Any]) -> str:
    """Return the comments from before the pull request was opened, or its fix begun."""
    number, opened = pair["issue"], pair["pull_created_at"]
    if earlier is None:
        rows = context.rows(_HINTS, number=number, before=opened)
        return "\n".join(context.text(hint["text"]) for hint in rows)
    begun = earlier.work[pair["pull"]].begun
    texts = (
        earlier.comment(number, hint["comment_id"], begun)
        for hint in context.rows(_HINTS, number=number, before=begun)
    )
    return "\n".join(context.text(text) for text in texts if text is not None)


def _version(objects: Objects, commit: str) -> str:
    """Return the version that a Python project declares; empty where it is computed, or none."""
    for name in _VERSION_FILES:
        entry = objects.find(commit, name)
        data = objects.blob(entry.id) if entry else None
        if data and (match := _VERSION.search(data)):
            return match[1].decode()
    return ""


def _record(context: BuildContext, row: dict[str, Any]) -> TrialRecord | None:
    instance = instance_of(row)
    return read_record(record_directory(context.view.workspace, instance), instance)


def _proved(record: TrialRecord | None) -> dict[str, Any]:
    if record is None:
        nothing = dict.fromkeys(("verification", "verification_digest", "environment"))
        return {"FAIL_TO_PASS": (), "PASS_TO_PASS": (), **nothing}
    environment = orjson.dumps(dict(record.environment), option=orjson.OPT_SORT_KEYS)
    return {
        "FAIL_TO_PASS": record.proof.fail_to_pass,
        "PASS_TO_PASS": record.proof.pass_to_pass,
        "verification": record.proof.verdict,
        "verification_digest": record.digest,
        "environment": environment.decode(),
    }

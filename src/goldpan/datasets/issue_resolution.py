"""The published table of issues with fixes and the tests that prove them (SWE-bench)."""

from __future__ import annotations

from goldpan.datasets.example_columns import (
    COUNT,
    ISSUE_NUMBER,
    LABELS,
    MERGED_AT,
    MINED_LIMITS,
    PULL_NUMBER,
    RAW,
    REPOSITORY,
    SIGNALS,
    TEXT,
    TEXTS,
    TIME,
)
from goldpan.datasets.family import Column, Family

_SWE_BENCH = """\
@inproceedings{jimenez2024swebench,
  title     = {{SWE-bench}: Can Language Models Resolve Real-World {GitHub} Issues?},
  author    = {Jimenez, Carlos E. and Yang, John and Wettig, Alexander and Yao, Shunyu and
               Pei, Kexin and Press, Ofir and Narasimhan, Karthik},
  booktitle = {International Conference on Learning Representations},
  year      = {2024}
}"""

ISSUE_RESOLUTION = Family(
    name="issue-resolution",
    title="Issue resolution",
    task=(
        "Given an issue and the repository at `base_commit`, write a patch. It resolves the issue "
        "where, after `test_patch`, the tests in `FAIL_TO_PASS` and in `PASS_TO_PASS` pass."
    ),
    source="SWE-bench, section 2, whose columns these are; Goldpan adds how each row was proved",
    citation=_SWE_BENCH,
    columns=(
        Column("id", TEXT, "The identifier, as issue-resolution:owner/name#ISSUE+PULL."),
        Column("instance_id", TEXT, "SWE-bench's identifier, as owner__name-PULL."),
        *REPOSITORY,
        ISSUE_NUMBER,
        PULL_NUMBER,
        Column("base_commit", TEXT, "The commit that the fix was made on."),
        Column("patch", TEXT, "What the fix changes outside of tests, a git diff.", holds="code"),
        Column("test_patch", TEXT, "What the fix changes in tests, a git diff.", holds="code"),
        Column("problem_statement", TEXT, "The issue's title and body.", holds="prose"),
        Column(
            "hints_text",
            TEXT,
            "What people said on the issue before the pull request was opened.",
            holds="prose",
        ),
        Column("created_at", TIME, "When the pull request was opened; splits by time go by it."),
        Column("version", TEXT, "The version that the base commit declares; empty for none."),
        Column(
            "FAIL_TO_PASS",
            TEXTS,
            "Tests that fail with the test patch alone and pass with both, each time they ran.",
        ),
        Column(
            "PASS_TO_PASS",
            TEXTS,
            "Tests of the same files that pass with and without the fix, each time they ran.",
        ),
        Column("environment_setup_commit", TEXT, "The commit whose declarations were installed."),
        Column(
            "verification",
            TEXT,
            "`verified` where running the tests proved the fix, else why not; null: not run.",
        ),
        Column(
            "verification_digest",
            TEXT,
            "SHA-256 of that run's record but for its logs: environment, outcome of each test.",
        ),
        Column(
            "environment",
            TEXT,
            "JSON: in what the tests ran, such as Python and the exact packages; null: not run.",
        ),
        Column("test_files", TEXTS, "The test files that the pull request changes."),
        Column("issue_created_at", TIME, "When the issue was opened."),
        Column("closed_at", TIME, "When the issue was closed, if it was."),
        LABELS,
        Column("files", COUNT, "How many files the fix changes outside of tests."),
        SIGNALS,
        MERGED_AT,
        RAW,
    ),
    order=("repo", "issue", "pull"),
    subject=("repo", "issue"),
    inputs=("problem_statement",),
    target="patch",
    task_categories=("text-generation",),
    tags=("code", "issue-resolution", "swe-bench", "github-issues"),
    limits=(
        "A row is proved only where `verification` is `verified`; any other is a candidate: a "
        "merged pull request that says it fixes the issue, with the tests that it changes.",
        "A patch that passes these tests may still be wrong elsewhere, and one that fails them "
        "may solve the issue in another way than its tests expect.",
        "Environments are rebuilt from what the repository declared and what the package index "
        "had at the date of the base commit; they are near to, not the same as, those of the time.",
        *MINED_LIMITS,
    ),
)

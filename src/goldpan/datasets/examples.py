"""The published example tables (FAUN-Eval, section 3.4 and Figure 2): every column, described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from goldpan.core.plugins import find, names_of
from goldpan.datasets.family import Column, Family, described_by

# What the published example tables share: columns, kinds of values, and known limits.

TEXT = pa.string()
COUNT = pa.int64()
TIME = pa.timestamp("us", tz="UTC")
TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))


def list_of(**fields: pa.DataType) -> pa.DataType:
    """Return the type of a list of structs with these fields."""
    struct = pa.struct([pa.field(name, kind) for name, kind in fields.items()])
    return pa.list_(pa.field("item", struct, nullable=False))


REPOSITORY = (
    Column("repo", TEXT, "The repository, as owner/name."),
    Column("owner", TEXT, "The owner of the repository."),
    Column("name", TEXT, "The name of the repository without its owner."),
    Column("language", TEXT, "The main programming language of the repository, by GitHub."),
    Column("license", TEXT, "The SPDX identifier of the repository's license."),
)
ISSUE_NUMBER = Column("issue", COUNT, "The number of the issue.")
PULL_NUMBER = Column("pull", COUNT, "The number of the pull request that fixed the issue.")
LABELS = Column("labels", TEXTS, "The labels of the issue.", holds="prose")
ISSUE = (
    Column("title", TEXT, "The title of the issue.", holds="prose"),
    Column("body", TEXT, "The first text of the issue, in Markdown.", holds="prose"),
    Column("created_at", TIME, "When the issue was opened; splits by time go by it."),
    Column("updated_at", TIME, "When the issue last changed, as of mining."),
    Column("closed_at", TIME, "When the issue was closed, if it was."),
    LABELS,
)
MERGED_AT = Column("merged_at", TIME, "When the pull request was merged.")
SIGNALS = Column(
    "signals", TEXTS, "What shows that the pull request fixes the issue, such as keyword."
)
RAW = Column(
    "raw", TEXTS, "The archived replies of GitHub that the row was made of, as run-0001.zst@OFFSET."
)
FAUN_EVAL = """\
@misc{hu2024fauneval,
  title         = {A Real-World Benchmark for Evaluating Fine-Grained Issue Solving Capabilities
                   of Large Language Models},
  author        = {Hu, Ruida and Peng, Chao and Ren, Jingyi and Jiang, Bo and Meng, Xiangxin and
                   Wu, Qinyun and Gao, Pengfei and Wang, Xinchen and Gao, Cuiyun},
  year          = {2024},
  eprint        = {2411.18019},
  archivePrefix = {arXiv},
  doi           = {10.48550/arXiv.2411.18019}
}"""
EDITED_SINCE = (
    "Texts are as they stood when the repository was mined; people may have edited them since "
    "they were first written."
)
MINED_LIMITS = (
    EDITED_SINCE,
    "The texts are public, so models may have been trained on them. Split by time, or keep only "
    "issues from after a model's training data, where that matters.",
)


# The published table of issues with fixes and the tests that prove them (SWE-bench).

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


QA = Family(
    name="qa",
    title="Question answering",
    task=(
        "Given the title and the body of an issue, answer it. The reference is one reply that "
        "answers; the whole dialogue is also a column."
    ),
    source="FAUN-Eval, sections 3.4.1 and 4.2, Figure 2a",
    citation=FAUN_EVAL,
    columns=(
        Column(
            "id", TEXT, "The identifier, as qa:owner/name#ISSUE, or ...:COMMENT where all count."
        ),
        *REPOSITORY,
        ISSUE_NUMBER,
        *ISSUE,
        Column("question_role", TEXT, "The asker's author association with the repository."),
        Column("answer", TEXT, "The reply that serves as reference.", holds="prose"),
        Column("answer_role", TEXT, "The author association of that reply's author."),
        Column("answer_comment_id", COUNT, "GitHub's identifier of the comment that answers."),
        Column("answer_created_at", TIME, "When the reference was written."),
        Column("answer_points", COUNT, "The points of the reference; null where the first counts."),
        Column("answer_because", TEXTS, "What the reference has its points for."),
        Column(
            "dialogue",
            list_of(role=TEXT, content=TEXT, created_at=TIME, comment_id=COUNT),
            "The issue and all human comments, in order of time.",
            holds="prose",
            parts={
                "role": "The author association of the speaker.",
                "content": "What was said; of the issue, its title and body.",
                "created_at": "When it was said.",
                "comment_id": "GitHub's identifier of the comment; null for the issue itself.",
            },
        ),
        Column("participants", COUNT, "How many people take part in the dialogue."),
        RAW,
    ),
    order=("repo", "issue"),
    subject=("repo", "issue"),
    inputs=("title", "body"),
    target="answer",
    task_categories=("question-answering", "text-generation"),
    tags=("github-issues",),
    limits=(
        "The reference is one human reply, chosen by rule; other answers may be as good.",
        *MINED_LIMITS,
    ),
)


def _of_both(column: Column) -> Column:
    """Return a column of `QA` described for discussions, too."""
    text = column.description.replace("the issue", "the issue or discussion")
    text = text.replace("where the first counts", "where the first counts or one was accepted")
    return replace(column, description=text)


QA_WITH_DISCUSSIONS = replace(
    QA,
    task=(
        "Given the title and the body of an issue or a discussion, answer it. The reference is one "
        "reply that answers; the whole dialogue is also a column."
    ),
    columns=(
        *map(_of_both, QA.columns[:-1]),
        Column("source", TEXT, "Where the question was asked: issues or discussions."),
        Column("category", TEXT, "The category of the discussion; null for an issue."),
        Column(
            "answer_accepted_by",
            TEXT,
            "Who accepted the answer: the asker, a maintainer (owner, member or collaborator of "
            "the repository) or other; null for an issue.",
        ),
        Column("answer_chosen_at", TIME, "When the answer was accepted; null for an issue."),
        RAW,
    ),
    tags=("github-issues", "github-discussions"),
    limits=(
        "The reference is one human reply, of a discussion the accepted one, of an issue one "
        "chosen by rule; other answers may be as good.",
        *MINED_LIMITS,
    ),
)
"""Question answering where discussions are a source, too."""

FAULT_LOCALIZATION = Family(
    name="fault-localization",
    title="Fault localization",
    task=(
        "Given the title and the body of an issue and the folder tree of the repository before "
        "the fix, name the one file that has to change."
    ),
    source="FAUN-Eval, sections 3.4.2 and 4.2, Figure 2b",
    citation=FAUN_EVAL,
    columns=(
        Column("id", TEXT, "The identifier, as fault-localization:owner/name#ISSUE+PULL."),
        *REPOSITORY,
        ISSUE_NUMBER,
        PULL_NUMBER,
        *ISSUE,
        Column("base_sha", TEXT, "The commit whose tree is drawn."),
        Column("tree", TEXT, "The pruned folder tree, drawn, with a last line of counts."),
        Column("paths", TEXTS, "The files of that tree, to draw it otherwise."),
        Column("directories", COUNT, "How many folders the tree has."),
        Column("files", COUNT, "How many files the tree has."),
        Column("changed_path", TEXT, "The file that the fix changed, as named in the tree."),
        SIGNALS,
        MERGED_AT,
        RAW,
    ),
    order=("repo", "issue", "pull"),
    subject=("repo", "issue"),
    inputs=("title", "body", "tree"),
    target="changed_path",
    task_categories=("text-generation",),
    tags=("fault-localization", "bug-localization", "github-issues"),
    limits=(
        "Only fixes of a single code file are here, which are easier to find than most.",
        "The tree has only files with the suffixes of programming languages.",
        *MINED_LIMITS,
    ),
)
CODE_EDIT = Family(
    name="code-edit",
    title="Code editing",
    task=(
        "Given an issue, the description of the pull request that fixes it and the file before "
        "the fix, write the change as SEARCH/REPLACE blocks."
    ),
    source="FAUN-Eval, sections 3.4.3 and 4.2, Figure 2c",
    citation=FAUN_EVAL,
    columns=(
        Column("id", TEXT, "The identifier of the example, as code-edit:owner/name#ISSUE+PULL."),
        *REPOSITORY,
        ISSUE_NUMBER,
        PULL_NUMBER,
        *ISSUE,
        Column("pull_title", TEXT, "The title of the pull request.", holds="prose"),
        Column("pull_body", TEXT, "The first text of the pull request.", holds="prose"),
        Column("path", TEXT, "The file that the fix changed, as named after it."),
        Column("previous_path", TEXT, "Its name before the fix, where the fix renamed it."),
        Column("code_language", TEXT, "The programming language of the file."),
        Column("base_sha", TEXT, "The commit of the state before the fix."),
        Column("head_sha", TEXT, "The commit that holds what was merged."),
        Column("blob_before", TEXT, "Git's identifier of the file before."),
        Column("blob_after", TEXT, "Git's identifier of the file after."),
        Column("encoding", TEXT, "The character encoding of the file in git."),
        Column("line_ends", TEXT, "How lines end in the file: lf, crlf, cr, mixed or none."),
        Column("file_before", TEXT, "The whole file before the fix.", holds="code"),
        Column(
            "patch",
            TEXT,
            "The fix as SEARCH/REPLACE blocks under the file's name before the fix; applied to the "
            "file before, they give the file after, byte for byte.",
            holds="code",
        ),
        Column(
            "edits",
            list_of(search=TEXT, replace=TEXT),
            "The same blocks as a list.",
            holds="code",
            parts={
                "search": "Text that stands at exactly one place of the file before.",
                "replace": "What takes its place.",
            },
        ),
        Column("diff", TEXT, "The same change as a unified diff.", holds="code"),
        SIGNALS,
        MERGED_AT,
        RAW,
    ),
    order=("repo", "issue", "pull"),
    subject=("repo", "issue"),
    inputs=("title", "body", "pull_title", "pull_body", "file_before"),
    target="patch",
    task_categories=("text-generation",),
    tags=("code-editing", "program-repair", "github-issues"),
    limits=(
        "Only fixes of a single code file are here.",
        "The reference is the fix that was merged; other changes may solve the issue as well, "
        "and no tests were run.",
        *MINED_LIMITS,
    ),
)
FAMILIES = {family.name: family for family in (QA, FAULT_LOCALIZATION, CODE_EDIT, ISSUE_RESOLUTION)}
"""All kinds of datasets by name."""


def find_family(name: str) -> Family | None:
    """Return the family that Goldpan or a plugin builds by that name, None of others."""
    if name in FAMILIES:
        return FAMILIES[name]
    family: Family | None = find("dataset", name).family if name in names_of("dataset") else None
    return family


def known_family(provenance: Mapping[str, Any], schema: pa.Schema | None) -> Family | None:
    """Return the family of a dataset, given its provenance and the columns of one of its files.

    None where neither Goldpan nor the provenance knows it, or the files have other columns than
    the provenance describes.
    """
    name = str(provenance.get("family", ""))
    if name == QA.name and schema == QA_WITH_DISCUSSIONS.schema:
        return QA_WITH_DISCUSSIONS
    return find_family(name) or described_by(provenance, schema)

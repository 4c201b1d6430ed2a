"""The published example tables (FAUN-Eval, section 3.4 and Figure 2): every column, described."""

from __future__ import annotations

from dataclasses import replace

from goldpan.core.plugins import find, names_of
from goldpan.datasets.example_columns import (
    COUNT,
    FAUN_EVAL,
    ISSUE,
    ISSUE_NUMBER,
    MERGED_AT,
    MINED_LIMITS,
    PULL_NUMBER,
    RAW,
    REPOSITORY,
    SIGNALS,
    TEXT,
    TEXTS,
    TIME,
    list_of,
)
from goldpan.datasets.family import Column, Family
from goldpan.datasets.issue_resolution import ISSUE_RESOLUTION

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
            "id",
            TEXT,
            "The identifier, as qa:owner/name#ISSUE, or ...:COMMENT where all count.",
        ),
        *REPOSITORY,
        ISSUE_NUMBER,
        *ISSUE,
        Column("question_role", TEXT, "The asker's author association with the repository."),
        Column("answer", TEXT, "The reply that serves as reference.", holds="prose"),
        Column("answer_role", TEXT, "The author association of that reply's author."),
        Column("answer_comment_id", COUNT, "GitHub's identifier of the comment that answers."),
        Column("answer_created_at", TIME, "When the reference was written."),
        Column(
            "answer_points",
            COUNT,
            "The points of the reference; null where the first counts.",
        ),
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


def find_family(name: str) -> Family | None:
    """Return the family that Goldpan or a plugin builds by that name, None of others."""
    if name in FAMILIES:
        return FAMILIES[name]
    family: Family | None = find("dataset", name).family if name in names_of("dataset") else None
    return family


"""All kinds of datasets by name."""

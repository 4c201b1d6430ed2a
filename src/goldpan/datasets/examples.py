"""The published example tables (FAUN-Eval, section 3.4 and Figure 2): every column, described."""

from __future__ import annotations

import pyarrow as pa

from goldpan.core.plugins import registered
from goldpan.datasets.family import Column, Family

_TEXT = pa.string()
_COUNT = pa.int64()
_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))


def _list_of(**fields: pa.DataType) -> pa.DataType:
    struct = pa.struct([pa.field(name, kind) for name, kind in fields.items()])
    return pa.list_(pa.field("item", struct, nullable=False))


_REPOSITORY = (
    Column("repo", _TEXT, "The repository, as owner/name."),
    Column("owner", _TEXT, "The owner of the repository."),
    Column("name", _TEXT, "The name of the repository without its owner."),
    Column("language", _TEXT, "The main programming language of the repository, by GitHub."),
    Column("license", _TEXT, "The SPDX identifier of the repository's licence."),
)
_ISSUE_NUMBER = Column("issue", _COUNT, "The number of the issue.")
_PULL_NUMBER = Column("pull", _COUNT, "The number of the pull request that fixed the issue.")
_ISSUE = (
    Column("title", _TEXT, "The title of the issue.", holds="prose"),
    Column("body", _TEXT, "The first text of the issue, in Markdown.", holds="prose"),
    Column("created_at", _TIME, "When the issue was opened; splits by time go by it."),
    Column("updated_at", _TIME, "When the issue last changed, as of mining."),
    Column("closed_at", _TIME, "When the issue was closed, if it was."),
    Column("labels", _TEXTS, "The labels of the issue.", holds="prose"),
)
_MERGED_AT = Column("merged_at", _TIME, "When the pull request was merged.")
_SIGNALS = Column(
    "signals", _TEXTS, "What shows that the pull request fixes the issue, such as keyword."
)
_RAW = Column(
    "raw",
    _TEXTS,
    "The archived replies of GitHub that the row was made of, as run-0001.zst@OFFSET.",
)
_FAUN_EVAL = """\
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
_MINED_LIMITS = (
    "Texts are as they stood when the repository was mined; people may have edited them since "
    "they were first written.",
    "The texts are public, so models may have been trained on them. Split by time, or keep only "
    "issues from after a model's training data, where that matters.",
)

QA = Family(
    name="qa",
    title="Question answering",
    task=(
        "Given the title and the body of an issue, answer it. The reference is one reply that "
        "answers; the whole dialogue is also a column."
    ),
    source="FAUN-Eval, sections 3.4.1 and 4.2, Figure 2a",
    citation=_FAUN_EVAL,
    columns=(
        Column(
            "id",
            _TEXT,
            "The identifier, as qa:owner/name#ISSUE, or ...:COMMENT where all count.",
        ),
        *_REPOSITORY,
        _ISSUE_NUMBER,
        *_ISSUE,
        Column("question_role", _TEXT, "The asker's author association with the repository."),
        Column("answer", _TEXT, "The reply that serves as reference.", holds="prose"),
        Column("answer_role", _TEXT, "The author association of that reply's author."),
        Column("answer_comment_id", _COUNT, "GitHub's identifier of the comment that answers."),
        Column("answer_created_at", _TIME, "When the reference was written."),
        Column(
            "answer_points",
            _COUNT,
            "The points of the reference; null where the first counts.",
        ),
        Column("answer_because", _TEXTS, "What the reference has its points for."),
        Column(
            "dialogue",
            _list_of(role=_TEXT, content=_TEXT, created_at=_TIME, comment_id=_COUNT),
            "The issue and all human comments, in order of time.",
            holds="prose",
            parts={
                "role": "The author association of the speaker.",
                "content": "What was said; of the issue, its title and body.",
                "created_at": "When it was said.",
                "comment_id": "GitHub's identifier of the comment; null for the issue itself.",
            },
        ),
        Column("participants", _COUNT, "How many people take part in the dialogue."),
        _RAW,
    ),
    order=("repo", "issue"),
    subject=("repo", "issue"),
    inputs=("title", "body"),
    target="answer",
    task_categories=("question-answering", "text-generation"),
    tags=("github-issues",),
    limits=(
        "The reference is one human reply, chosen by rule; other answers may be as good.",
        *_MINED_LIMITS,
    ),
)

FAULT_LOCALIZATION = Family(
    name="fault-localization",
    title="Fault localization",
    task=(
        "Given the title and the body of an issue and the folder tree of the repository before "
        "the fix, name the one file that has to change."
    ),
    source="FAUN-Eval, sections 3.4.2 and 4.2, Figure 2b",
    citation=_FAUN_EVAL,
    columns=(
        Column("id", _TEXT, "The identifier, as fault-localization:owner/name#ISSUE+PULL."),
        *_REPOSITORY,
        _ISSUE_NUMBER,
        _PULL_NUMBER,
        *_ISSUE,
        Column("base_sha", _TEXT, "The commit whose tree is drawn."),
        Column("tree", _TEXT, "The pruned folder tree, drawn, with a last line of counts."),
        Column("paths", _TEXTS, "The files of that tree, to draw it otherwise."),
        Column("directories", _COUNT, "How many folders the tree has."),
        Column("files", _COUNT, "How many files the tree has."),
        Column("changed_path", _TEXT, "The file that the fix changed, as named in the tree."),
        _SIGNALS,
        _MERGED_AT,
        _RAW,
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
        *_MINED_LIMITS,
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
    citation=_FAUN_EVAL,
    columns=(
        Column("id", _TEXT, "The identifier of the example, as code-edit:owner/name#ISSUE+PULL."),
        *_REPOSITORY,
        _ISSUE_NUMBER,
        _PULL_NUMBER,
        *_ISSUE,
        Column("pull_title", _TEXT, "The title of the pull request.", holds="prose"),
        Column("pull_body", _TEXT, "The first text of the pull request.", holds="prose"),
        Column("path", _TEXT, "The file that the fix changed, as named after it."),
        Column("previous_path", _TEXT, "Its name before the fix, where the fix renamed it."),
        Column("code_language", _TEXT, "The programming language of the file."),
        Column("base_sha", _TEXT, "The commit of the state before the fix."),
        Column("head_sha", _TEXT, "The commit that holds what was merged."),
        Column("blob_before", _TEXT, "Git's identifier of the file before."),
        Column("blob_after", _TEXT, "Git's identifier of the file after."),
        Column("encoding", _TEXT, "The character encoding of the file in git."),
        Column("line_ends", _TEXT, "How lines end in the file: lf, crlf, cr, mixed or none."),
        Column("file_before", _TEXT, "The whole file before the fix.", holds="code"),
        Column(
            "patch",
            _TEXT,
            "The fix as SEARCH/REPLACE blocks under the file's name before the fix; applied to the "
            "file before, they give the file after, byte for byte.",
            holds="code",
        ),
        Column(
            "edits",
            _list_of(search=_TEXT, replace=_TEXT),
            "The same blocks as a list.",
            holds="code",
            parts={
                "search": "Text that stands at exactly one place of the file before.",
                "replace": "What takes its place.",
            },
        ),
        Column("diff", _TEXT, "The same change as a unified diff.", holds="code"),
        _SIGNALS,
        _MERGED_AT,
        _RAW,
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
        *_MINED_LIMITS,
    ),
)

FAMILIES = {family.name: family for family in (QA, FAULT_LOCALIZATION, CODE_EDIT)}


def find_family(name: str) -> Family | None:
    """Return the family that Goldpan or a plugin builds by that name, None of others."""
    recipe = registered("dataset").get(name)
    return FAMILIES.get(name) or (recipe and recipe.family)


"""All kinds of datasets by name."""

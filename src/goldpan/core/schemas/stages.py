"""The tables of pairing, history, filtering and annotation."""

from __future__ import annotations

import pyarrow as pa

from goldpan.core.schemas.table import (
    COUNT,
    TEXT,
    TIME,
    Column,
    count,
    flag,
    number,
    table,
    text,
    texts,
    time,
)

PAIRS = table(
    "pairs",
    "An issue and a pull request that is believed to fix it; made by `goldpan pair` as "
    "`pairs.RULES.parquet`, one file per set of rules.",
    text("repo", "the issue's repository"),
    count("issue"),
    text("pull_repo", "the pull request's; differs from `repo` where the fix is from elsewhere"),
    count("pull"),
    texts("signals"),
    text("keyword", "the keyword closest to the description"),
    text(
        "stance", "how its strongest keyword is meant, as in `references`; null without a keyword"
    ),
    flag("confirmed", "the issue's timeline has a cross reference from the pull request"),
    flag("base_is_default", "null for a pull request of another repository"),
    flag("merged"),
    Column(
        "evidence",
        pa.list_(
            pa.struct(
                [
                    ("signal", TEXT),
                    ("where", TEXT),
                    ("stance", TEXT),
                    ("source_id", TEXT),
                    ("excerpt", TEXT),
                ]
            )
        ),
        "one item per signal and place",
    ),
    text("rules", "the pairing rules that found it"),
    order=("repo", "issue", "pull_repo", "pull"),
)

REVISIONS = table(
    "revisions",
    "The states before and after a pull request, for all merged pull requests and all of "
    "fix pairs; made by `goldpan clone`.",
    text("repo"),
    count("number", "the pull request"),
    text("state", "`base`, `merge_base`, `merge_parent` or `none`: see [Pairing](pairing.md)"),
    text("before_sha", "the commit before the change; models see its tree"),
    text("after_sha", "the commit that holds what was merged"),
    text("merge_base", "of the base SHA and the head"),
    count("commits_ahead", "of the head over the merge base"),
    flag(
        "agrees",
        "files, additions and deletions are those that GitHub announced; null where it "
        "announced none",
    ),
    texts("notes", "oddities, such as `base_moved_on`"),
    text("problem", "why there is no state"),
    order=("number",),
)

CHANGES = table(
    "changes",
    "A file that a pull request changes, according to git; made by `goldpan clone`.",
    text("repo"),
    count("number", "the pull request"),
    text("path", "after the change; of a removed file, before it"),
    text("previous_path", "of a renamed or copied file"),
    text("status", "`added`, `changed`, `copied`, `modified`, `removed`, `renamed`"),
    text("kind", "`text`, `binary`, `submodule`, `symlink`, `lfs`, `large`, `missing`"),
    text("mode_before", "git's six octal digits"),
    text("mode_after"),
    text("blob_before", "git's identifier of the content"),
    text("blob_after"),
    count("size_before", "bytes"),
    count("size_after"),
    count("additions", "lines; null for files that are not text"),
    count("deletions"),
    text("encoding", "of both versions: `utf-8`, `utf-8-sig`, `utf-16-le`, `utf-16-be`, `latin-1`"),
    text("line_ends", "of the version before: `lf`, `crlf`, `cr`, `mixed`, `none`"),
    flag("final_newline"),
    order=("number", "path"),
)

VERDICTS = table(
    "verdicts",
    "A criterion's verdict on an issue, a discussion or a fix pair; made by `goldpan filter` "
    "as `verdicts/OWNER/NAME/RULES/PROFILE.parquet`.",
    text("repo"),
    text("subject", "`issue`, `discussion` or `pair`"),
    count("issue", "the number of the issue or discussion"),
    text("pull_repo", "of a pair"),
    count("pull", "of a pair"),
    text("stage", "`filter`; `llm` for a review; `people` for annotation"),
    text("criterion", "see [Filtering](filtering.md)"),
    flag("decides", "whether the profile lets this criterion drop the subject"),
    flag("keep", "null where the criterion could not judge, which counts as dropped"),
    text("reason", "a short code; null where kept"),
    number("value", "the measurement, where it is a number"),
    text("evidence", "what to look at"),
    text("profile"),
    text("settings", "digest of the criterion's settings and version"),
    order=("subject", "issue", "pull_repo", "pull", "stage", "criterion"),
)

DUPLICATES = table(
    "duplicates",
    "An issue or discussion whose text equals or nearly equals another's in the workspace; "
    "made by `goldpan filter` as `verdicts/duplicates.parquet`.",
    text("repo"),
    count("number", "the issue or discussion"),
    text("cluster", "the cluster's representative, as `owner/name#number`"),
    text("representative_repo"),
    count("representative_number", "the earliest issue of the cluster"),
    text(
        "relation",
        "to the representative: `representative` (the row itself), `exact`, `near`, `sibling` "
        "(near, but another task of the same template)",
    ),
    number(
        "similarity", "to the representative (Jaccard); chaining can bring it below the threshold"
    ),
    text("nearest_repo"),
    count("nearest_number", "the most similar issue that it was compared with"),
    number("nearest_similarity", "never below the threshold"),
    count("size", "issues in the cluster"),
    text("settings", "digest of the settings, with the version of the signatures"),
    order=("repo", "number"),
)

FINDINGS = table(
    "findings",
    "What a finding says of a row of a dataset; made by `goldpan audit` as "
    "`audits/DATASET/findings.parquet`.",
    text("repo", "in lower case; null where the row names none"),
    text("id", "the row"),
    text("digest", "SHA-256 of what was judged of it: texts, change, answer and tests"),
    text("finding", "see [audit.md](audit.md)"),
    text("verdict", "`found`, `not-found` or `cannot-tell`"),
    text(
        "case",
        "`before-fix`, `edited-in`, `after-fix`, `when-unknown`, `gist`; `fully`, `partly`, "
        "`not-named`; `open`, `determined`, `stated`; what luck changes; `all`, `none`, "
        "`reversed`, `solved-without`; null for others",
    ),
    text("why"),
    text("remedy", "what would let it be told; null where it is told"),
    number(
        "value",
        "the share that is quoted, named or open, the strength of the tests, or the discrimination",
    ),
    number("low", "of the 95% interval, where there is one"),
    number("high"),
    number("seconds", "what running tests took; null where none ran"),
    Column(
        "evidence",
        pa.list_(
            pa.struct(
                [
                    ("source", TEXT),
                    ("time", TIME),
                    ("kind", TEXT),
                    ("start", COUNT),
                    ("end", COUNT),
                    ("text", TEXT),
                ]
            )
        ),
        "spans of texts by column, or by path of files before the fix, offsets in code points "
        "with each line end as one; of findings that run tests, diffs and names of tests, "
        "which stand in no text",
    ),
    order=("id", "finding"),
)


def _subject(name: str) -> tuple[Column, ...]:
    """Return the columns for what people judged, and by which form."""
    return (
        text("repo", "empty where the dataset has no repository"),
        text("subject", "`pair`, `issue`, `text`"),
        text("subject_id", name),
        count("issue"),
        text("pull_repo", "of a pair"),
        count("pull", "of a pair"),
        count("comment", "the reply that was judged, of a question with its answer"),
        text("project"),
        text("form", "the annotation form"),
        text("configuration", "digest of the form"),
    )


ANNOTATIONS = table(
    "annotations",
    "What annotators answered, one file per project in `annotations/PROJECT/`: one row per "
    "field of each answer of the last pull. Answers that do not count stay, with the reason.",
    *_subject("`pair:OWNER/NAME#ISSUE+PULL`, `issue:OWNER/NAME#ISSUE`, or the row's `id`"),
    count("task", "its id on the server"),
    count("annotation", "the answer's id on the server"),
    text("annotator", "a pseudonym"),
    text("field", "the question"),
    texts("values", "the choices or the text; may be empty"),
    flag("counts"),
    text(
        "problem",
        "why it does not count: `skipped`, `superseded`, `surplus`, `own-case`, "
        "`unknown-annotator`, `unknown-choice`, `unknown-name`, `several-choices`, "
        "`contradiction`, `missing-answer`, `malformed`",
    ),
    number("seconds", "time spent on the answer, as measured by the server"),
    time("created_at"),
    time("updated_at"),
    order=("subject_id", "annotation", "field"),
)

DECISIONS = table(
    "decisions",
    "The decision on each subject with an answer, one file per project in `annotations/PROJECT/`.",
    *_subject("as in `annotations`"),
    texts("values", "the decided answer; empty while undecided"),
    text("how", "`agreed`, `adjudicated`, `conflict`, `unfinished`"),
    texts("annotators", "the annotators' pseudonyms"),
    time("decided_at", "time of the last of these answers"),
    order=("subject_id",),
)

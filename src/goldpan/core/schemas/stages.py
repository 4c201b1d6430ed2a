"""The tables of pairing, history, filtering and annotation."""

from __future__ import annotations

import pyarrow as pa

from goldpan.core.schemas.table import COUNT, FLAG, TEXT, TEXTS, TIME, table

PAIRS = table(
    "pairs",
    (
        "An issue and a pull request that is believed to fix it; made by `goldpan pair` as "
        "`pairs.RULES.parquet`, one file per set of rules."
    ),
    ("repo", TEXT, "the issue's repository"),
    ("issue", COUNT),
    ("pull_repo", TEXT, "the pull request's; differs from `repo` where the fix is from elsewhere"),
    ("pull", COUNT),
    ("signals", TEXTS),
    ("keyword", TEXT, "the keyword closest to the description"),
    (
        "stance",
        TEXT,
        "how its strongest keyword is meant, as in `references`; null without a keyword",
    ),
    ("confirmed", FLAG, "the issue's timeline has a cross reference from the pull request"),
    ("base_is_default", FLAG, "null for a pull request of another repository"),
    ("merged", FLAG),
    (
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
    ("rules", TEXT, "the pairing rules that found it"),
    order=("repo", "issue", "pull_repo", "pull"),
    key=("repo", "issue", "pull_repo", "pull"),
)

REVISIONS = table(
    "revisions",
    (
        "The states before and after a pull request, for all merged pull requests and all of "
        "fix pairs; made by `goldpan clone`."
    ),
    ("repo", TEXT),
    ("number", COUNT, "the pull request"),
    (
        "state",
        TEXT,
        "`base`, `merge_base`, `merge_parent`, `diff` or `none`: see [Pairing](pairing.md)",
    ),
    ("before_sha", TEXT, "the commit before the change; models see its tree"),
    ("after_sha", TEXT, "the commit that holds what was merged"),
    ("merge_base", TEXT, "of the base SHA and the head"),
    ("commits_ahead", COUNT, "of the head over the merge base"),
    (
        "agrees",
        FLAG,
        (
            "files, additions and deletions are those that GitHub announced; null where it "
            "announced none"
        ),
    ),
    ("notes", TEXTS, "oddities, such as `base_moved_on`"),
    ("problem", TEXT, "why there is no state"),
    order=("number",),
    key=("number",),
)

CHANGES = table(
    "changes",
    "A file that a pull request changes, according to git; made by `goldpan clone`.",
    ("repo", TEXT),
    ("number", COUNT, "the pull request"),
    ("path", TEXT, "after the change; of a removed file, before it"),
    ("previous_path", TEXT, "of a renamed or copied file"),
    ("status", TEXT, "`added`, `changed`, `copied`, `modified`, `removed`, `renamed`"),
    ("kind", TEXT, "`text`, `binary`, `submodule`, `symlink`, `lfs`, `large`, `missing`"),
    ("mode_before", TEXT, "git's six octal digits"),
    ("mode_after", TEXT),
    ("blob_before", TEXT, "git's identifier of the content"),
    ("blob_after", TEXT),
    ("size_before", COUNT, "bytes"),
    ("size_after", COUNT),
    ("additions", COUNT, "lines; null for files that are not text"),
    ("deletions", COUNT),
    (
        "encoding",
        TEXT,
        "of both versions: `utf-8`, `utf-8-sig`, `utf-16-le`, `utf-16-be`, `latin-1`",
    ),
    ("line_ends", TEXT, "of the version before: `lf`, `crlf`, `cr`, `mixed`, `none`"),
    ("final_newline", FLAG),
    order=("number", "path"),
    key=("number", "path"),
)

VERDICTS = table(
    "verdicts",
    (
        "A criterion's verdict on an issue, a discussion or a fix pair; made by `goldpan filter` "
        "as `verdicts/OWNER/NAME/RULES/PROFILE.parquet`."
    ),
    ("repo", TEXT),
    ("subject", TEXT, "`issue`, `discussion` or `pair`"),
    ("issue", COUNT, "the number of the issue or discussion"),
    ("pull_repo", TEXT, "of a pair"),
    ("pull", COUNT, "of a pair"),
    ("stage", TEXT, "`filter`; `llm` for a review; `people` for annotation"),
    ("criterion", TEXT, "see [Filtering](filtering.md)"),
    ("decides", FLAG, "whether the profile lets this criterion drop the subject"),
    ("keep", FLAG, "null where the criterion could not judge, which counts as dropped"),
    ("reason", TEXT, "a short code; null where kept"),
    ("value", pa.float64(), "the measurement, where it is a number"),
    ("evidence", TEXT, "what to look at"),
    ("profile", TEXT),
    ("settings", TEXT, "digest of the criterion's settings and version"),
    order=("subject", "issue", "pull_repo", "pull", "stage", "criterion"),
    key=("subject", "issue", "pull_repo", "pull", "stage", "criterion"),
)

DUPLICATES = table(
    "duplicates",
    (
        "An issue or discussion whose text equals or nearly equals another's in the workspace; "
        "made by `goldpan filter` as `verdicts/duplicates.parquet`."
    ),
    ("repo", TEXT),
    ("number", COUNT, "the issue or discussion"),
    ("cluster", TEXT, "the cluster's representative, as `owner/name#number`"),
    ("representative_repo", TEXT),
    ("representative_number", COUNT, "the earliest issue of the cluster"),
    (
        "relation",
        TEXT,
        (
            "to the representative: `representative` (the row itself), `exact`, `near`, `sibling` "
            "(near, but another task of the same template)"
        ),
    ),
    (
        "similarity",
        pa.float64(),
        "to the representative (Jaccard); chaining can bring it below the threshold",
    ),
    ("nearest_repo", TEXT),
    ("nearest_number", COUNT, "the most similar issue that it was compared with"),
    ("nearest_similarity", pa.float64(), "never below the threshold"),
    ("size", COUNT, "issues in the cluster"),
    ("settings", TEXT, "digest of the settings, with the version of the signatures"),
    order=("repo", "number"),
    key=("repo", "number"),
)

FINDINGS = table(
    "findings",
    (
        "What a finding says of a row of a dataset; made by `goldpan audit` as "
        "`audits/DATASET/findings.parquet`."
    ),
    ("repo", TEXT, "in lower case; null where the row names none"),
    ("id", TEXT, "the row"),
    ("digest", TEXT, "SHA-256 of what was judged of it: texts, change, answer and tests"),
    ("finding", TEXT, "see [audit.md](audit.md)"),
    ("verdict", TEXT, "`found`, `not-found` or `cannot-tell`"),
    (
        "case",
        TEXT,
        (
            "`before-fix`, `edited-in`, `after-fix`, `when-unknown`, `gist`; `fully`, `partly`, "
            "`not-named`; `open`, `determined`, `stated`; what luck changes; `all`, `none`, "
            "`reversed`, `solved-without`; null for others"
        ),
    ),
    ("why", TEXT),
    ("remedy", TEXT, "what would let it be told; null where it is told"),
    (
        "value",
        pa.float64(),
        "the share that is quoted, named or open, the strength of the tests, or the discrimination",
    ),
    ("low", pa.float64(), "of the 95 % interval, where there is one"),
    ("high", pa.float64()),
    ("seconds", pa.float64(), "what running tests took; null where none ran"),
    (
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
        (
            "spans of texts by column, or by path of files before the fix, offsets in code points "
            "with each line end as one; of findings that run tests, diffs and names of tests, "
            "which stand in no text"
        ),
    ),
    order=("id", "finding"),
    key=("id", "finding"),
)


def _subject(name: str) -> tuple[tuple[str, pa.DataType] | tuple[str, pa.DataType, str], ...]:
    """Return the columns for what people judged, and by which form."""
    return (
        ("repo", TEXT, "empty where the dataset has no repository"),
        ("subject", TEXT, "`pair`, `issue`, `text`"),
        ("subject_id", TEXT, name),
        ("issue", COUNT),
        ("pull_repo", TEXT, "of a pair"),
        ("pull", COUNT, "of a pair"),
        ("comment", COUNT, "the reply that was judged, of a question with its answer"),
        ("project", TEXT),
        ("form", TEXT, "the annotation form"),
        ("configuration", TEXT, "digest of the form"),
    )


ANNOTATIONS = table(
    "annotations",
    (
        "What annotators answered, one file per project in `annotations/PROJECT/`: one row per "
        "field of each answer ever seen. Answers that do not count stay, with the reason."
    ),
    *_subject("`pair:OWNER/NAME#ISSUE+PULL`, `issue:OWNER/NAME#ISSUE`, or the row's `id`"),
    ("task", COUNT, "its id on the server"),
    ("annotation", COUNT, "the answer's id on the server"),
    ("annotator", TEXT, "a pseudonym; an address after `pull --names`"),
    ("field", TEXT, "the question"),
    ("values", TEXTS, "the choices or the text; may be empty"),
    ("counts", FLAG),
    (
        "problem",
        TEXT,
        (
            "why it does not count: `skipped`, `deleted`, `superseded`, `surplus`, `own-case`, "
            "`unknown-annotator`, `unknown-choice`, `unknown-name`, `several-choices`, "
            "`contradiction`, `missing-answer`, `malformed`"
        ),
    ),
    ("suggested", FLAG, "the form was pre-filled"),
    (
        "origin",
        TEXT,
        (
            "`accepted` where the pre-filled answer was kept, `changed` where not; null where "
            "nothing was pre-filled"
        ),
    ),
    ("seconds", pa.float64(), "time spent on the answer, as measured by the server"),
    ("created_at", TIME),
    ("updated_at", TIME),
    order=("repo", "subject_id", "task", "annotation", "field"),
    key=("repo", "subject_id", "task", "annotation", "field"),
)

DECISIONS = table(
    "decisions",
    "The decision on each subject with an answer, one file per project in `annotations/PROJECT/`.",
    *_subject("as in `annotations`"),
    ("values", TEXTS, "the decided answer; empty while undecided"),
    ("how", TEXT, "`agreed`, `adjudicated`, `conflict`, `unfinished`"),
    ("annotators", TEXTS, "the annotators' pseudonyms"),
    ("decided_at", TIME, "time of the last of these answers"),
    order=("repo", "subject_id"),
    key=("repo", "subject_id"),
)

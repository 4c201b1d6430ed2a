"""The tables of annotation."""

from __future__ import annotations

import pyarrow as pa

from goldpan.core.schemas.table import COUNT, FLAG, TEXT, TEXTS, TIME, table

ANNOTATIONS = table(
    "annotations",
    (
        "What annotators answered, one file per project in `annotations/PROJECT/`: one row per "
        "field of each answer ever seen. Answers that do not count stay, with the reason."
    ),
    ("repo", TEXT, "empty where the dataset has no repository"),
    ("subject", TEXT, "`pair`, `issue`, `text`"),
    (
        "subject_id",
        TEXT,
        "`pair:OWNER/NAME#ISSUE+PULL`, `issue:OWNER/NAME#ISSUE`, or the row's `id`",
    ),
    ("issue", COUNT),
    ("pull_repo", TEXT, "of a pair"),
    ("pull", COUNT, "of a pair"),
    ("comment", COUNT, "the reply that was judged, of a question with its answer"),
    ("project", TEXT),
    ("form", TEXT, "the annotation form"),
    ("configuration", TEXT, "digest of the form"),
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
    ("repo", TEXT, "empty where the dataset has no repository"),
    ("subject", TEXT, "`pair`, `issue`, `text`"),
    ("subject_id", TEXT, "as in `annotations`"),
    ("issue", COUNT),
    ("pull_repo", TEXT, "of a pair"),
    ("pull", COUNT, "of a pair"),
    ("comment", COUNT, "the reply that was judged, of a question with its answer"),
    ("project", TEXT),
    ("form", TEXT, "the annotation form"),
    ("configuration", TEXT, "digest of the form"),
    ("values", TEXTS, "the decided answer; empty while undecided"),
    ("how", TEXT, "`agreed`, `adjudicated`, `conflict`, `unfinished`"),
    ("annotators", TEXTS, "the annotators' pseudonyms"),
    ("decided_at", TIME, "time of the last of these answers"),
    order=("repo", "subject_id"),
    key=("repo", "subject_id"),
)

"""The tables between stages: the one definition of every column.

Times are UTC, enumerations are lower case, and logins of bots end in ``[bot]`` whichever API
told of them. A null says that the source cannot see the value, never that it is zero.
Each table is one Parquet file a repository, its rows sorted by `Table.order`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

_TEXT = pa.string()
_COUNT = pa.int64()
_FLAG = pa.bool_()
_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table's name, columns and row order; `key` columns tell its rows apart."""

    name: str
    schema: pa.Schema
    order: tuple[str, ...]
    key: tuple[str, ...]


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in columns])


REPOSITORIES = Table(
    "repositories",
    _schema(
        ("repo", _TEXT),
        ("description", _TEXT),
        ("default_branch", _TEXT),
        ("language", _TEXT),
        ("license", _TEXT),
        ("license_source", _TEXT),  # GitHub | backup | stated by the user
        ("stars", _COUNT),
        ("forks", _COUNT),
        ("is_fork", _FLAG),
        ("is_archived", _FLAG),
        ("is_private", _FLAG),
        ("created_at", _TIME),
        ("pushed_at", _TIME),
        ("issues_announced", _COUNT),
        ("pulls_announced", _COUNT),
        ("former_names", _TEXTS),  # other names under which GitHub finds the repository
    ),
    order=("repo",),
    key=("repo",),
)

ENTRIES = Table(
    "entries",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        ("kind", _TEXT),  # issue | pull
        ("title", _TEXT),
        ("body", _TEXT),
        ("state", _TEXT),  # open | closed
        ("state_reason", _TEXT),  # completed | not_planned | duplicate | reopened
        ("author", _TEXT),
        ("author_id", _COUNT),
        ("author_type", _TEXT),  # user | bot | organization | mannequin | ...
        ("author_association", _TEXT),
        ("created_at", _TIME),
        ("updated_at", _TIME),
        ("closed_at", _TIME),
        ("locked", _FLAG),
        ("labels", _TEXTS),
        ("assignees", _TEXTS),
        ("milestone", _TEXT),  # its title
        ("issue_type", _TEXT),  # the issue's own type, where the organization has types
        ("parent_repo", _TEXT),
        ("parent_number", _COUNT),  # the issue that this one is a part of
        ("sub_issues", _COUNT),
        ("blocked_by", _COUNT),  # how many issues block this one, closed ones too
        ("blocking", _COUNT),
        ("pinned_comment_id", _COUNT),
        ("duplicate_of_repo", _TEXT),  # GraphQL only
        ("duplicate_of_number", _COUNT),
        ("participants", _TEXTS),  # who wrote the entry, a comment or a review
        ("timeline_items", _COUNT),
        ("comment_count", _COUNT),
        ("merged", _FLAG),
        ("merged_at", _TIME),
        ("draft", _FLAG),
        ("base_ref", _TEXT),
        ("base_sha", _TEXT),
        ("head_ref", _TEXT),
        ("head_sha", _TEXT),
        ("head_repo", _TEXT),
        ("merge_sha", _TEXT),
        ("additions", _COUNT),
        ("deletions", _COUNT),
        ("changed_files", _COUNT),
    ),
    order=("number",),
    key=("number",),
)

# A review that says nothing and decides nothing is no row: it is only the envelope of its
# review comments, which bear its id.
COMMENTS = Table(
    "comments",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        ("comment_id", _COUNT),
        ("kind", _TEXT),  # comment | review | review_comment
        ("author", _TEXT),
        ("author_id", _COUNT),
        ("author_type", _TEXT),
        ("author_association", _TEXT),
        ("created_at", _TIME),
        ("updated_at", _TIME),
        ("body", _TEXT),
        ("path", _TEXT),
        ("review_id", _COUNT),  # of a review comment
        ("reply_to", _COUNT),  # the review comment that this one answers
        ("review_state", _TEXT),  # approved | changes_requested | commented | dismissed
    ),
    order=("number", "created_at", "kind", "comment_id"),
    key=("number", "kind", "comment_id"),
)

COMMITS = Table(
    "commits",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        ("sha", _TEXT),
        ("message", _TEXT),
        ("authored_at", _TIME),
        ("committed_at", _TIME),
    ),
    order=("number", "committed_at", "sha"),
    key=("number", "sha"),
)

FILES = Table(
    "files",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        ("path", _TEXT),
        ("previous_path", _TEXT),  # REST and git only
        ("status", _TEXT),  # added | changed | copied | modified | removed | renamed
        ("additions", _COUNT),
        ("deletions", _COUNT),
    ),
    order=("number", "path"),
    key=("number", "path"),
)

EVIDENCE = pa.struct(
    [
        ("where", _TEXT),  # title | body | comment | review | review_comment | commit | timeline
        ("source_id", _TEXT),  # comment id or commit sha
        ("start", _COUNT),  # code point in the text; of a keyword, in its rendered block
        ("line", _COUNT),  # of the source text, from 1
        ("excerpt", _TEXT),
    ]
)

REFERENCES = Table(
    "references",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),  # null where the link comes from a commit or a repository
        ("target_repo", _TEXT),
        ("target_number", _COUNT),
        ("commit_sha", _TEXT),  # where the link comes from a commit
        # mention | keyword from texts; cross_referenced | will_close | connected | disconnected |
        # closed_by | closing_reference | marked_as_duplicate | unmarked_as_duplicate |
        # transferred_from | sub_issue (of the source) | blocked_by (the target)
        ("signal", _TEXT),
        ("observed_on", _COUNT),  # the entry whose data showed the link
        ("at", _TIME),
        ("pattern", _TEXT),  # of a mention: url | hash | gh | slug
        ("keyword", _TEXT),  # of a keyword, lower case
        ("stance", _TEXT),  # of a keyword: stated | partial | supposed | asked | negated
        ("evidence", EVIDENCE),
    ),
    order=(
        "observed_on",
        "signal",
        "repo",
        "number",
        "target_repo",
        "target_number",
        "commit_sha",
        "at",
        "keyword",
        "pattern",
    ),
    key=(),
)

EVENTS = Table(
    "events",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        # labeled | unlabeled | milestoned | demilestoned | assigned | unassigned | closed |
        # reopened | renamed
        ("event", _TEXT),
        ("at", _TIME),
        ("actor", _TEXT),
        ("actor_id", _COUNT),
        ("actor_type", _TEXT),
        ("label", _TEXT),
        ("milestone", _TEXT),
        ("assignee", _TEXT),
        ("title_before", _TEXT),
        ("title_after", _TEXT),
    ),
    order=(
        "number",
        "at",
        "event",
        "label",
        "milestone",
        "assignee",
        "title_before",
        "title_after",
        "actor",
    ),
    key=(),
)

LEDGER = Table(
    "ledger",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),  # null for a list of the repository
        # entry | comments | labels | timeline | links | files | reviews | review_comments |
        # commits | relations; of the repository: issues | pulls | comments | review_comments |
        # backup (entries of one that cannot be read) | replies (lost by damage)
        ("part", _TEXT),
        ("announced", _COUNT),  # null where GitHub does not say
        ("stored", _COUNT),  # items that came, those counted that are no rows
        # complete | short | failed | pending | withheld (GitHub does not serve it) |
        # unseen (the way that it was mined does not show it)
        ("state", _TEXT),
        ("reason", _TEXT),  # null where complete
    ),
    order=("number", "part"),
    key=("number", "part"),
)

UNKNOWN = Table(
    "unknown",
    _schema(
        ("repo", _TEXT),
        ("kind", _TEXT),  # event | value
        ("name", _TEXT),  # of an event; of a value, its column and the value
        ("count", _COUNT),
        ("number", _COUNT),  # an entry that has it
    ),
    order=("kind", "name"),
    key=("kind", "name"),
)

PAIRS = Table(
    "pairs",
    _schema(
        ("repo", _TEXT),
        ("issue", _COUNT),
        ("pull_repo", _TEXT),
        ("pull", _COUNT),
        ("signals", _TEXTS),
        ("keyword", _TEXT),
        ("stance", _TEXT),  # the strongest of its keywords; null without one
        ("confirmed", _FLAG),  # a cross reference from the pull stands on the timeline
        ("base_is_default", _FLAG),
        ("merged", _FLAG),
        (
            "evidence",
            pa.list_(
                pa.struct(
                    [
                        ("signal", _TEXT),
                        ("where", _TEXT),
                        ("stance", _TEXT),
                        ("source_id", _TEXT),
                        ("excerpt", _TEXT),
                    ]
                )
            ),
        ),
        ("rules", _TEXT),
    ),
    order=("repo", "issue", "pull_repo", "pull"),
    key=("repo", "issue", "pull_repo", "pull"),
)

REVISIONS = Table(
    "revisions",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        # Which commits the pull is read between: base (the pull's base SHA, where its files are
        # as at the merge base) | merge_base | merge_parent (the merge commit and its first
        # parent, where the head is lost) | diff (the API's diff on the base) | none
        ("state", _TEXT),
        ("before_sha", _TEXT),  # the commit of the base state, whose tree the model sees
        ("after_sha", _TEXT),  # the commit that holds what was merged; null for diff
        # Where the change begins: from here to after_sha the trees differ in its files alone.
        ("merge_base", _TEXT),
        ("commits_ahead", _COUNT),  # of the head over the merge base
        ("agrees", _FLAG),  # files, additions and deletions are those that the API announced
        ("notes", _TEXTS),  # what was odd, such as head_force_pushed or base_sha_missing
        ("problem", _TEXT),  # why there is no state
    ),
    order=("number",),
    key=("number",),
)

CHANGES = Table(
    "changes",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        ("path", _TEXT),  # after the change; of a removed file, before it
        ("previous_path", _TEXT),  # of a renamed or copied file
        ("status", _TEXT),  # added | changed | copied | modified | removed | renamed
        ("kind", _TEXT),  # text | binary | submodule | symlink | lfs | large | missing
        ("mode_before", _TEXT),
        ("mode_after", _TEXT),
        ("blob_before", _TEXT),
        ("blob_after", _TEXT),
        ("size_before", _COUNT),  # bytes
        ("size_after", _COUNT),
        ("additions", _COUNT),
        ("deletions", _COUNT),
        # Of both versions: utf-8 | utf-8-sig | utf-16-le | utf-16-be | latin-1. The two of
        # UTF-16 keep the byte-order mark as the text's first character.
        ("encoding", _TEXT),
        # Of the version before, or of the only one: lf | crlf | cr | mixed | none
        ("line_ends", _TEXT),
        ("final_newline", _FLAG),  # of the same version; true for an empty file
    ),
    order=("number", "path"),
    key=("number", "path"),
)

VERDICTS = Table(
    "verdicts",
    _schema(
        ("repo", _TEXT),
        ("subject", _TEXT),  # issue | pair
        ("issue", _COUNT),
        ("pull_repo", _TEXT),  # of a pair
        ("pull", _COUNT),
        ("stage", _TEXT),  # filter | llm | people
        ("criterion", _TEXT),
        ("decides", _FLAG),  # whether the profile lets this criterion drop the subject
        ("keep", _FLAG),  # null where the criterion could not judge
        ("reason", _TEXT),  # a short code; null where kept
        ("value", pa.float64()),  # what was measured, where it is a number
        ("evidence", _TEXT),  # what a person should look at
        ("profile", _TEXT),
        ("settings", _TEXT),  # digest of the criterion's settings and version
    ),
    order=("subject", "issue", "pull_repo", "pull", "stage", "criterion"),
    key=("subject", "issue", "pull_repo", "pull", "stage", "criterion"),
)

DUPLICATES = Table(
    "duplicates",
    _schema(
        ("repo", _TEXT),
        ("number", _COUNT),
        ("cluster", _TEXT),  # the representative's name, as owner/name#number
        ("representative_repo", _TEXT),
        ("representative_number", _COUNT),
        # to the representative: representative (the row itself) | exact | near | sibling: near,
        # but another task of the same template
        ("relation", _TEXT),
        ("similarity", pa.float64()),  # to the representative; chaining can bring it low
        # The most similar member of those that the row was compared with, which is why it is in
        # the cluster: never below the threshold.
        ("nearest_repo", _TEXT),
        ("nearest_number", _COUNT),
        ("nearest_similarity", pa.float64()),
        ("size", _COUNT),  # rows of the cluster
        ("settings", _TEXT),  # digest of the settings, with the signatures' algorithm version
    ),
    order=("repo", "number"),
    key=("repo", "number"),
)

ANNOTATIONS = Table(
    "annotations",
    _schema(
        ("repo", _TEXT),
        ("subject", _TEXT),  # pair | issue | text
        ("subject_id", _TEXT),
        ("issue", _COUNT),
        ("pull_repo", _TEXT),
        ("pull", _COUNT),
        ("project", _TEXT),
        ("form", _TEXT),
        ("configuration", _TEXT),  # digest of what was asked
        ("task", _COUNT),  # on the server
        ("annotation", _COUNT),  # on the server
        ("annotator", _TEXT),  # a pseudonym
        ("field", _TEXT),
        ("values", _TEXTS),
        ("counts", _FLAG),
        ("problem", _TEXT),  # why it does not count
        ("suggested", _FLAG),  # something was filled in before the annotator looked
        # accepted | changed: what became of it; null where nothing was filled in
        ("origin", _TEXT),
        ("seconds", pa.float64()),  # at work on the answer
        ("created_at", _TIME),
        ("updated_at", _TIME),
    ),
    order=("repo", "subject_id", "task", "annotation", "field"),
    key=("repo", "subject_id", "task", "annotation", "field"),
)

DECISIONS = Table(
    "decisions",
    _schema(
        ("repo", _TEXT),
        ("subject", _TEXT),  # pair | issue | text
        ("subject_id", _TEXT),
        ("issue", _COUNT),
        ("pull_repo", _TEXT),
        ("pull", _COUNT),
        ("project", _TEXT),
        ("form", _TEXT),
        ("configuration", _TEXT),
        ("values", _TEXTS),  # empty while it is open
        ("how", _TEXT),  # agreed | adjudicated | conflict | unfinished
        ("annotators", _TEXTS),  # whose answers these are; pseudonyms
        ("decided_at", _TIME),
    ),
    order=("repo", "subject_id"),
    key=("repo", "subject_id"),
)

MINED = (
    REPOSITORIES,
    ENTRIES,
    COMMENTS,
    COMMITS,
    FILES,
    REFERENCES,
    EVENTS,
    LEDGER,
    UNKNOWN,
)
"""The tables that `goldpan normalize` makes from raw replies."""

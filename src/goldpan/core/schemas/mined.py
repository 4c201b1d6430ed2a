"""The tables of what GitHub said: made from raw replies alone."""

from __future__ import annotations

import pyarrow as pa

from goldpan.core.schemas.table import COUNT, FLAG, TEXT, TEXTS, TIME, table

REPOSITORIES = table(
    "repositories",
    "The repository at mining time.",
    ("repo", TEXT),
    ("description", TEXT),
    ("default_branch", TEXT),
    ("language", TEXT),
    ("license", TEXT, "SPDX identifier"),
    (
        "license_source",
        TEXT,
        "where it is from: `GitHub`, `backup` or `stated by the user` (`--license`)",
    ),
    ("stars", COUNT),
    ("forks", COUNT),
    ("is_fork", FLAG),
    ("is_archived", FLAG),
    ("is_private", FLAG),
    ("created_at", TIME),
    ("pushed_at", TIME),
    ("issues_announced", COUNT, "how many issues GitHub said there are"),
    ("pulls_announced", COUNT, "how many pull requests GitHub said there are"),
    (
        "former_names",
        TEXTS,
        (
            "other names that lead to it on GitHub, such as those before a transfer; references "
            "use the current one"
        ),
    ),
    order=("repo",),
    key=("repo",),
)

ENTRIES = table(
    "entries",
    "An issue, a pull request or a discussion, which share one space of numbers.",
    ("repo", TEXT),
    ("number", COUNT),
    ("kind", TEXT, "`issue`, `pull`, `discussion`"),
    ("title", TEXT),
    ("body", TEXT),
    ("state", TEXT, "`open`, `closed`"),
    (
        "state_reason",
        TEXT,
        (
            "of issues: `completed`, `not_planned`, `duplicate`, `reopened`; of discussions also "
            "`resolved`, `outdated`"
        ),
    ),
    ("author", TEXT, "login; bots end in `[bot]`; null for a deleted account"),
    ("author_id", COUNT, "unchanged when the login changes"),
    ("author_type", TEXT, "`user`, `bot`, `organization`, `mannequin`, ..."),
    ("author_association", TEXT, "`member`, `owner`, `collaborator`, `contributor`, `none`, ..."),
    ("created_at", TIME),
    ("updated_at", TIME),
    ("last_edited_at", TIME, "when its text was; null if never, or if `edits` are `unseen`"),
    ("closed_at", TIME),
    ("locked", FLAG),
    ("labels", TEXTS, "sorted"),
    ("assignees", TEXTS, "sorted logins"),
    ("milestone", TEXT, "its title"),
    (
        "issue_type",
        TEXT,
        "the issue's own type, where the organization has types; null for pull requests",
    ),
    ("parent_repo", TEXT, "the parent issue's repository"),
    ("parent_number", COUNT),
    (
        "sub_issues",
        COUNT,
        (
            "how many sub-issues it has; null for pull requests, and where the server does not "
            "report it"
        ),
    ),
    (
        "blocked_by",
        COUNT,
        "how many issues block it, including closed ones; null as for `sub_issues`",
    ),
    (
        "blocking",
        COUNT,
        "how many issues it blocks, including closed ones; null as for `sub_issues`",
    ),
    ("pinned_comment_id", COUNT, "the comment pinned to the top of an issue"),
    (
        "duplicate_of_repo",
        TEXT,
        "repository of the issue that it was closed as a duplicate of; GraphQL only",
    ),
    ("duplicate_of_number", COUNT, "GraphQL only"),
    ("participants", TEXTS, "sorted logins of everyone who wrote the entry, a comment or a review"),
    ("timeline_items", COUNT, "number of timeline items of all kinds"),
    ("comment_count", COUNT, "as GitHub announced it; of a discussion without replies"),
    ("merged", FLAG),
    ("merged_at", TIME),
    ("draft", FLAG),
    ("base_ref", TEXT),
    ("base_sha", TEXT, "the base branch's commit as GitHub recorded it"),
    ("head_ref", TEXT),
    ("head_sha", TEXT),
    ("head_repo", TEXT, "null when the fork is gone"),
    ("merge_sha", TEXT, "the commit that the merge made; null when not merged"),
    ("additions", COUNT),
    ("deletions", COUNT),
    ("changed_files", COUNT, "as GitHub announced it"),
    order=("number",),
    key=("number",),
)

COMMENTS = table(
    "comments",
    (
        "A comment, a review, a review comment or a comment on a discussion. A review without "
        "text or decision only groups its review comments (which carry its `review_id`) and is "
        "not a row."
    ),
    ("repo", TEXT),
    ("number", COUNT),
    ("comment_id", COUNT, "GitHub's database id, unique within its kind"),
    ("kind", TEXT, "`comment`, `review`, `review_comment`, `discussion_comment`"),
    ("author", TEXT),
    ("author_id", COUNT),
    ("author_type", TEXT),
    ("author_association", TEXT),
    ("created_at", TIME, "of a review: when it was submitted"),
    ("updated_at", TIME),
    ("last_edited_at", TIME, "as `entries.last_edited_at`"),
    ("body", TEXT),
    ("path", TEXT, "of a review comment: the file it is on"),
    ("review_id", COUNT, "of a review comment: its review; null from before GitHub had reviews"),
    ("reply_to", COUNT, "the review comment, or comment on a discussion, that this one answers"),
    ("review_state", TEXT, "`approved`, `changes_requested`, `commented`, `dismissed`, `pending`"),
    order=("number", "created_at", "kind", "comment_id"),
    key=("number", "kind", "comment_id"),
)

DISCUSSIONS = table(
    "discussions",
    "What a discussion has beside its row in `entries`; mined with `--include discussions`.",
    ("repo", TEXT),
    ("number", COUNT),
    ("category_id", TEXT, "GitHub's node id"),
    ("category", TEXT, "its name"),
    ("category_slug", TEXT),
    ("is_answerable", FLAG, "whether the category lets people accept an answer"),
    ("is_answered", FLAG, "as GitHub says; null where the category takes no answers"),
    (
        "answer_id",
        COUNT,
        (
            "the accepted comment or reply, as `comments.comment_id`; null beside an "
            "`answer_chosen_at` where it was deleted"
        ),
    ),
    ("answer_chosen_at", TIME),
    ("answer_chosen_by", TEXT, "login of who accepted it; null for a deleted account"),
    ("answer_chosen_by_type", TEXT, "as `entries.author_type`"),
    ("upvotes", COUNT),
    ("reactions", COUNT, "of all kinds"),
    order=("number",),
    key=("number",),
)

DISCUSSION_COMMENTS = table(
    "discussion_comments",
    "What a comment on a discussion has beside its row in `comments`.",
    ("repo", TEXT),
    ("number", COUNT),
    ("comment_id", COUNT),
    ("is_answer", FLAG, "whether it is the accepted answer"),
    ("minimized", FLAG, "whether it is hidden from readers"),
    ("minimized_reason", TEXT, "`abuse`, `off-topic`, `outdated`, `resolved`, `duplicate`, `spam`"),
    ("deleted_at", TIME, "of a comment that was deleted and keeps its place for its replies"),
    ("upvotes", COUNT),
    ("reactions", COUNT, "of all kinds"),
    order=("number", "comment_id"),
    key=("number", "comment_id"),
)

EDITS = table(
    "edits",
    (
        "A version of a text that was edited, the first one included where GitHub has it; read "
        "over GraphQL alone. Earlier titles are the events `renamed`."
    ),
    ("repo", TEXT),
    ("number", COUNT),
    ("kind", TEXT, "whose text: as `entries.kind`, else as `comments.kind`"),
    ("comment_id", COUNT, "null for the text of the entry itself"),
    ("edited_at", TIME, "of the first version: when it was written"),
    ("editor", TEXT, "null for a deleted account"),
    ("editor_type", TEXT, "as `entries.author_type`"),
    ("text", TEXT, "all of it, as this edit left it; null where it is withheld"),
    ("deleted_at", TIME, "when this version was deleted from the history"),
    ("edit_id", TEXT, "GitHub's node id"),
    order=("number", "kind", "comment_id", "edited_at", "edit_id"),
    key=("number", "edit_id"),
)

COMMITS = table(
    "commits",
    "A commit of a pull request, as listed in its timeline.",
    ("repo", TEXT),
    ("number", COUNT),
    ("sha", TEXT),
    ("message", TEXT),
    ("authored_at", TIME),
    ("committed_at", TIME),
    order=("number", "committed_at", "sha"),
    key=("number", "sha"),
)

FILES = table(
    "files",
    "A file that a pull request changes.",
    ("repo", TEXT),
    ("number", COUNT),
    ("path", TEXT),
    ("previous_path", TEXT, "of a renamed file; REST only"),
    ("status", TEXT, "`added`, `removed`, `modified`, `renamed`, `copied`, `changed`"),
    ("additions", COUNT),
    ("deletions", COUNT),
    order=("number", "path"),
    key=("number", "path"),
)

EVIDENCE = pa.struct(
    [
        ("where", TEXT),  # title | body | comment | review | review_comment | commit | timeline
        ("source_id", TEXT),  # comment id or commit sha
        ("start", COUNT),  # code point in the text; of a keyword, in its rendered block
        ("line", COUNT),  # of the source text, from 1
        ("excerpt", TEXT),
    ]
)

REFERENCES = table(
    "references",
    "One observed link from one entry to another.",
    ("repo", TEXT),
    (
        "number",
        COUNT,
        "the entry that the link comes from; null where it comes from a commit or a repository",
    ),
    ("target_repo", TEXT),
    ("target_number", COUNT, "the entry that the link points to"),
    ("commit_sha", TEXT, "the commit that contains the link"),
    (
        "signal",
        TEXT,
        (
            "`mention`, `keyword`, `cross_referenced`, `will_close` (GitHub expects the cross "
            "reference to close its target), `connected`, `disconnected`, `closed_by`, "
            "`marked_as_duplicate`, `unmarked_as_duplicate`, `transferred_from`, "
            "`closing_reference`, `sub_issue` (the target is a sub-issue of the source), "
            "`blocked_by` (the target blocks the source)"
        ),
    ),
    ("observed_on", COUNT, "the entry whose data showed the link"),
    ("at", TIME, "when"),
    ("pattern", TEXT, "of a mention: `url`, `hash`, `gh`, `slug`"),
    ("keyword", TEXT, "lower case"),
    (
        "stance",
        TEXT,
        (
            'how a keyword is meant: `stated`, `partial` ("half-fixes #1"), `supposed` ("might '
            'fix #1"), `asked` ("does this fix #1?"), `negated` ("does not fix #1")'
        ),
    ),
    (
        "evidence",
        EVIDENCE,
        (
            "`where` (title, body, comment, review, review_comment, discussion_comment, commit, "
            "timeline, links, entry, sub_issues, blocked_by, blocking), `source_id` (comment id or "
            "commit SHA), "
            "`start` (code points from the start of the text; of a keyword, of its rendered "
            "block), `line` (from 1), `excerpt`"
        ),
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

EVENTS = table(
    "events",
    "What happened to an entry apart from its discussion.",
    ("repo", TEXT),
    ("number", COUNT),
    (
        "event",
        TEXT,
        (
            "`labeled`, `unlabeled`, `milestoned`, `demilestoned`, `assigned`, `unassigned`, "
            "`closed`, `reopened`, `renamed`"
        ),
    ),
    ("at", TIME),
    ("actor", TEXT, "who did it; null for a deleted account"),
    ("actor_id", COUNT),
    ("actor_type", TEXT),
    ("label", TEXT, "of `labeled`, `unlabeled`"),
    ("milestone", TEXT, "of `milestoned`, `demilestoned`: its title"),
    ("assignee", TEXT, "of `assigned`, `unassigned`"),
    ("title_before", TEXT, "of `renamed`"),
    ("title_after", TEXT, "of `renamed`"),
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

LEDGER = table(
    "ledger",
    (
        "What GitHub announced and what is stored: one row per entry, per list of an entry and "
        "per list of the repository. `goldpan status`, `goldpan why` and exit codes read "
        "nothing else. A repository is complete when its last run ended and every row is "
        "`complete` or `unseen`. A value that cannot be read makes its field null or drops its "
        "row, and marks its list here as `failed`."
    ),
    ("repo", TEXT),
    ("number", COUNT, "null for a list of the repository"),
    (
        "part",
        TEXT,
        (
            "`entry`, `edits`, `comments`, `labels`, `timeline`, `links`, of issues `relations`, "
            "of pull requests `files`, `reviews`, `review_comments`, `commits`, of discussions "
            "`replies`; of the repository: `issues`, `pulls`, `comments`, `review_comments`, "
            "`discussions` where they were asked for, and `backup` where entries of a "
            "backup cannot be read, `replies` where replies were lost to damage"
        ),
    ),
    (
        "announced",
        COUNT,
        (
            "how many items GitHub reports; null where it does not say. For a timeline over "
            "GraphQL: items of the kinds that are asked for"
        ),
    ),
    ("stored", COUNT, "how many arrived, including reviews that only group their comments"),
    (
        "state",
        TEXT,
        (
            "`complete`, `short` (fewer arrived than announced), `failed`, `pending` (not asked "
            "for yet), `withheld` (GitHub does not serve it, or not to this token), `unseen` "
            "(the API that was used does not show it)"
        ),
    ),
    ("reason", TEXT, "null where complete, but of discussions that are turned off"),
    order=("number", "part"),
    key=("number", "part"),
)

UNKNOWN = table(
    "unknown",
    "Undocumented things that GitHub sent: kept in `raw/` and counted here.",
    ("repo", TEXT),
    ("kind", TEXT, "`event`, `value`"),
    ("name", TEXT, "the event; or a table, a column and the value"),
    ("count", COUNT),
    ("number", COUNT, "an entry with it"),
    order=("kind", "name"),
    key=("kind", "name"),
)

MINED = (
    REPOSITORIES,
    ENTRIES,
    COMMENTS,
    DISCUSSIONS,
    DISCUSSION_COMMENTS,
    EDITS,
    COMMITS,
    FILES,
    REFERENCES,
    EVENTS,
    LEDGER,
    UNKNOWN,
)
"""The tables that `goldpan normalize` makes from raw replies."""

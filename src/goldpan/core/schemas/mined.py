"""The tables of what GitHub said: made from raw replies alone."""

from __future__ import annotations

import pyarrow as pa

from goldpan.core.schemas.table import COUNT, TEXT, Column, count, flag, table, text, texts, time

REPOSITORIES = table(
    "repositories",
    "The repository at mining time.",
    text("repo"),
    text("description"),
    text("default_branch"),
    text("language"),
    text("license", "SPDX identifier"),
    text(
        "license_source",
        "where it is from: `GitHub`, `backup` or `stated by the user` (`--license`)",
    ),
    count("stars"),
    count("forks"),
    flag("is_fork"),
    flag("is_archived"),
    flag("is_private"),
    time("created_at"),
    time("pushed_at"),
    count("issues_announced", "how many issues GitHub said there are"),
    count("pulls_announced", "how many pull requests GitHub said there are"),
    texts(
        "former_names",
        "other names that lead to it on GitHub, such as those before a transfer; references "
        "use the current one",
    ),
    order=("repo",),
)

ENTRIES = table(
    "entries",
    "An issue, a pull request or a discussion, which share one space of numbers.",
    text("repo"),
    count("number"),
    text("kind", "`issue`, `pull`, `discussion`"),
    text("title"),
    text("body"),
    text("state", "`open`, `closed`"),
    text(
        "state_reason",
        "of issues: `completed`, `not_planned`, `duplicate`, `reopened`; of discussions also "
        "`resolved`, `outdated`",
    ),
    text("author", "login; bots end in `[bot]`; null for a deleted account"),
    count("author_id", "unchanged when the login changes"),
    text("author_type", "`user`, `bot`, `organization`, `mannequin`, ..."),
    text("author_association", "`member`, `owner`, `collaborator`, `contributor`, `none`, ..."),
    time("created_at"),
    time("updated_at"),
    time("last_edited_at", "when its text was; null if never, or if `edits` are `unseen`"),
    time("closed_at"),
    flag("locked"),
    texts("labels", "sorted"),
    texts("assignees", "sorted logins"),
    text("milestone", "its title"),
    text(
        "issue_type",
        "the issue's own type, where the organization has types; null for pull requests",
    ),
    text("parent_repo", "the parent issue's repository"),
    count("parent_number"),
    count(
        "sub_issues",
        "how many sub-issues it has; null for pull requests, and where the server does not "
        "report it",
    ),
    count(
        "blocked_by", "how many issues block it, including closed ones; null as for `sub_issues`"
    ),
    count("blocking", "how many issues it blocks, including closed ones; null as for `sub_issues`"),
    count("pinned_comment_id", "the comment pinned to the top of an issue"),
    text(
        "duplicate_of_repo",
        "repository of the issue that it was closed as a duplicate of; GraphQL only",
    ),
    count("duplicate_of_number", "GraphQL only"),
    texts("participants", "sorted logins of everyone who wrote the entry, a comment or a review"),
    count("timeline_items", "number of timeline items of all kinds"),
    count("comment_count", "as GitHub announced it; of a discussion without replies"),
    flag("merged"),
    time("merged_at"),
    flag("draft"),
    text("base_ref"),
    text("base_sha", "the base branch's commit as GitHub recorded it"),
    text("head_ref"),
    text("head_sha"),
    text("head_repo", "null when the fork is gone"),
    text("merge_sha", "the commit that the merge made; null when not merged"),
    count("additions"),
    count("deletions"),
    count("changed_files", "as GitHub announced it"),
    order=("number",),
)

COMMENTS = table(
    "comments",
    "A comment, a review, a review comment or a comment on a discussion. A review without "
    "text or decision only groups its review comments (which carry its `review_id`) and is "
    "not a row.",
    text("repo"),
    count("number"),
    count("comment_id", "GitHub's database id, unique within its kind"),
    text("kind", "`comment`, `review`, `review_comment`, `discussion_comment`"),
    text("author"),
    count("author_id"),
    text("author_type"),
    text("author_association"),
    time("created_at", "of a review: when it was submitted"),
    time("updated_at"),
    time("last_edited_at", "as `entries.last_edited_at`"),
    text("body"),
    text("path", "of a review comment: the file it is on"),
    count("review_id", "of a review comment: its review; null from before GitHub had reviews"),
    count("reply_to", "the review comment, or comment on a discussion, that this one answers"),
    text("review_state", "`approved`, `changes_requested`, `commented`, `dismissed`, `pending`"),
    flag(
        "minimized", "whether it is hidden from readers; null where the server does not report it"
    ),
    text(
        "minimized_reason",
        "`abuse`, `off-topic`, `outdated`, `resolved`, `duplicate`, `spam`, `low-quality`",
    ),
    order=("number", "created_at", "kind", "comment_id"),
    key=("number", "kind", "comment_id"),
)

DISCUSSIONS = table(
    "discussions",
    "What a discussion has beside its row in `entries`; mined with `--include discussions`.",
    text("repo"),
    count("number"),
    text("category_id", "GitHub's node id"),
    text("category", "its name"),
    text("category_slug"),
    flag("is_answerable", "whether the category lets people accept an answer"),
    flag("is_answered", "as GitHub says; null where the category takes no answers"),
    count(
        "answer_id",
        "the accepted comment or reply, as `comments.comment_id`; null beside an "
        "`answer_chosen_at` where it was deleted",
    ),
    time("answer_chosen_at"),
    text("answer_chosen_by", "login of who accepted it; null for a deleted account"),
    text("answer_chosen_by_type", "as `entries.author_type`"),
    count("upvotes"),
    count("reactions", "of all kinds"),
    order=("number",),
)

DISCUSSION_COMMENTS = table(
    "discussion_comments",
    "What a comment on a discussion has beside its row in `comments`.",
    text("repo"),
    count("number"),
    count("comment_id"),
    flag("is_answer", "whether it is the accepted answer"),
    time("deleted_at", "of a comment that was deleted and keeps its place for its replies"),
    count("upvotes"),
    count("reactions", "of all kinds"),
    order=("number", "comment_id"),
)

EDITS = table(
    "edits",
    "A version of a text that was edited, the first one included where GitHub has it; read "
    "over GraphQL alone. Earlier titles are the events `renamed`.",
    text("repo"),
    count("number"),
    text("kind", "whose text: as `entries.kind`, else as `comments.kind`"),
    count("comment_id", "null for the text of the entry itself"),
    time("edited_at", "of the first version: when it was written"),
    text("editor", "null for a deleted account"),
    text("editor_type", "as `entries.author_type`"),
    text("text", "all of it, as this edit left it; null where it is withheld"),
    time("deleted_at", "when this version was deleted from the history"),
    text("edit_id", "GitHub's node id"),
    order=("number", "kind", "comment_id", "edited_at", "edit_id"),
    key=("number", "edit_id"),
)

COMMITS = table(
    "commits",
    "A commit of a pull request, as listed in its timeline.",
    text("repo"),
    count("number"),
    text("sha"),
    text("message"),
    time("authored_at"),
    time("committed_at"),
    order=("number", "committed_at", "sha"),
    key=("number", "sha"),
)

FILES = table(
    "files",
    "A file that a pull request changes.",
    text("repo"),
    count("number"),
    text("path"),
    text("previous_path", "of a renamed file; REST only"),
    text("status", "`added`, `removed`, `modified`, `renamed`, `copied`, `changed`"),
    count("additions"),
    count("deletions"),
    order=("number", "path"),
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
    text("repo"),
    count(
        "number",
        "the entry that the link comes from; null where it comes from a commit or a repository",
    ),
    text("target_repo"),
    count("target_number", "the entry that the link points to"),
    text("commit_sha", "the commit that contains the link"),
    text(
        "signal",
        "`mention`, `keyword`, `cross_referenced`, `will_close` (GitHub expects the cross "
        "reference to close its target), `connected`, `disconnected`, `closed_by`, "
        "`marked_as_duplicate`, `unmarked_as_duplicate`, `transferred_from`, "
        "`closing_reference`, `sub_issue` (the target is a sub-issue of the source), "
        "`blocked_by` (the target blocks the source)",
    ),
    count("observed_on", "the entry whose data showed the link"),
    time("at", "when"),
    text("pattern", "of a mention: `url`, `hash`, `gh`, `slug`"),
    text("keyword", "lower case"),
    text(
        "stance",
        'how a keyword is meant: `stated`, `partial` ("half-fixes #1"), `supposed` ("might '
        'fix #1"), `asked` ("does this fix #1?"), `negated` ("does not fix #1")',
    ),
    Column(
        "evidence",
        EVIDENCE,
        "`where` (title, body, comment, review, review_comment, discussion_comment, commit, "
        "timeline, links, entry, sub_issues, blocked_by, blocking), `source_id` (comment id or "
        "commit SHA), "
        "`start` (code points from the start of the text; of a keyword, of its rendered "
        "block), `line` (from 1), `excerpt`",
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
    text("repo"),
    count("number"),
    text(
        "event",
        "`labeled`, `unlabeled`, `milestoned`, `demilestoned`, `assigned`, `unassigned`, "
        "`closed`, `reopened`, `renamed`",
    ),
    time("at"),
    text("actor", "who did it; null for a deleted account"),
    count("actor_id"),
    text("actor_type"),
    text("label", "of `labeled`, `unlabeled`"),
    text("milestone", "of `milestoned`, `demilestoned`: its title"),
    text("assignee", "of `assigned`, `unassigned`"),
    text("title_before", "of `renamed`"),
    text("title_after", "of `renamed`"),
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
    "What GitHub announced and what is stored: one row per entry, per list of an entry and "
    "per list of the repository. `goldpan status`, `goldpan why` and exit codes read "
    "nothing else. A repository is complete when its last run ended and every row is "
    "`complete` or `unseen`. A value that cannot be read makes its field null or drops its "
    "row, and marks its list here as `failed`.",
    text("repo"),
    count("number", "null for a list of the repository"),
    text(
        "part",
        "`entry`, `edits`, `comments`, `labels`, `timeline`, `links`, of issues `relations`, "
        "of pull requests `files`, `reviews`, `review_comments`, `commits`, of discussions "
        "`replies`; of the repository: `issues`, `pulls`, `comments`, `review_comments`, "
        "`discussions` where they were asked for, and `backup` where entries of a "
        "backup cannot be read, `replies` where replies were lost to damage",
    ),
    count(
        "announced",
        "how many items GitHub reports; null where it does not say. For a timeline over "
        "GraphQL: items of the kinds that are asked for",
    ),
    count("stored", "how many arrived, including reviews that only group their comments"),
    text(
        "state",
        "`complete`, `short` (fewer arrived than announced), `failed`, `pending` (not asked "
        "for yet), `withheld` (GitHub does not serve it, or not to this token), `unseen` "
        "(the API that was used does not show it)",
    ),
    text("reason", "null where complete, but of discussions that are turned off"),
    order=("number", "part"),
)

UNKNOWN = table(
    "unknown",
    "Undocumented events that GitHub sent: kept in `raw/` and counted here.",
    text("repo"),
    text("name", "the event"),
    count("count"),
    count("number", "an entry with it"),
    order=("name",),
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

"""The verdicts of reviews: a file beside the filter's, in the columns of `verdicts`.

WORKSPACE/verdicts/OWNER/NAME/RULES/PROFILE.llm.parquet has a row for each subject that was kept
when it was reviewed; PROFILE.llm.json beside it seals the answers that these rest on. `decides` is
false: whoever builds a dataset says which reviews it requires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.annotation.review.votes import NOT_ASKED, STAGE
from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.schemas.stages import VERDICTS
from goldpan.core.storage.archive import lost_replies
from goldpan.core.storage.parquet import connect, read_metadata, read_table, reading, replace_table
from goldpan.core.storage.run_file import Seal
from goldpan.core.storage.sealed import read_json, seal_of_parquet, write_lineage
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import read_provenance, rules_and_profile
from goldpan.filters.answers import named_comment
from goldpan.filters.criterion import Subject
from goldpan.filters.stored import INPUTS_KEY, inputs_digest

_REVIEWERS_KEY = b"goldpan.reviewers"


def review_path(workspace: WorkspaceLayout, repo: str, profile: str) -> Path:
    """Return the file of a repository's reviews under a profile."""
    return workspace.verdicts(repo, f"{profile}.{STAGE}")


def write_reviews(
    workspace: WorkspaceLayout,
    repo: str,
    profile: str,
    rows: Iterable[dict[str, object]],
    reviewers: Mapping[str, Mapping[str, Any]],
    answers: Mapping[str, Seal],
) -> None:
    """Write the verdicts of reviews; those of other criteria in the file stay.

    `reviewers` are the reviewers by criterion, and `answers` seals the answers of models.
    """
    criteria = list(reviewers)
    path = review_path(workspace, repo, profile)
    inputs = inputs_digest(workspace, repo).encode()
    table = pa.Table.from_pylist(list(rows), schema=VERDICTS.schema)
    seals = dict.fromkeys(criteria, answers)
    if path.exists() and read_metadata(path).get(INPUTS_KEY) == inputs:
        earlier = read_table(path)
        others = pc.invert(pc.is_in(earlier["criterion"], pa.array(criteria, pa.string())))
        table = pa.concat_tables([table, earlier.filter(others)])
        reviewers = {**read_reviewers(workspace, repo, profile), **reviewers}
        recorded = _recorded(path)
        seals = {**(recorded["inputs"] if recorded else {}), **seals}
    text = orjson.dumps(reviewers, option=orjson.OPT_SORT_KEYS)
    metadata = {INPUTS_KEY: inputs, _REVIEWERS_KEY: text}
    replace_table(path, VERDICTS, VERDICTS.ordered(table), repo, metadata)
    # Two runs that ask the same give the same verdicts, but not at the same time.
    write_lineage(path.parent, path.stem, seals, [path])


def read_reviewers(
    workspace: WorkspaceLayout, repo: str, profile: str
) -> dict[str, dict[str, Any]]:
    """Return the reviewers of a repository's subjects by criterion: prompt and models."""
    path = review_path(workspace, repo, profile)
    text = read_metadata(path).get(_REVIEWERS_KEY) if path.exists() else None
    return dict(orjson.loads(text)) if text else {}


def lost_answers(workspace: WorkspaceLayout, path: Path) -> tuple[Path, str] | None:
    """Return the file that lacks the answers behind a file's verdicts, and the problem.

    It is the archive where answers are missing there. Raises as `read_table` does.
    """
    record = path.with_suffix(".json")
    recorded = _recorded(path)
    if recorded is None:
        return record, f"it does not say on which answers {path.name} rests"
    if recorded["outputs"] != {path.name: seal_of_parquet(path)}:
        return path, f"{record.name} tells of another, as where goldpan review was stopped"
    for criterion, answers in recorded["inputs"].items():
        if lost := lost_replies(workspace.root / "reviews", answers):
            archive, count = lost
            return archive, (
                f"it no longer holds the {count:,} requests and answers that the verdicts of "
                f"{criterion} in {path.relative_to(workspace.root)} rest on"
            )
    return None


def _recorded(path: Path) -> dict[str, Any] | None:
    """Return the record beside a file of verdicts; None where it is missing or damaged."""
    try:
        record = read_json(path.with_suffix(".json"))
        return {name: dict(record[name]) for name in ("inputs", "outputs")}
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def read_reviews(workspace: WorkspaceLayout, repo: str, profile: str) -> pa.Table:
    """Return a repository's verdicts by reviews of its present tables.

    Raises `WorkspaceError` where there are none, or where the tables changed since.
    """
    path = review_path(workspace, repo, profile)
    remedy = f"Run goldpan review --repo {repo} --profile {profile}"
    if not path.exists():
        raise WorkspaceError(f"{repo} was not reviewed under the profile {profile}", remedy)
    with reading(path, f"Remove it. {remedy}"):
        metadata = read_metadata(path)
        verdicts = read_table(path)
    if metadata.get(INPUTS_KEY) != inputs_digest(workspace, repo).encode():
        raise WorkspaceError(f"The tables of {repo} changed since they were reviewed", remedy)
    return verdicts


_REQUIRED = """
WITH ranked AS (
  SELECT * EXCLUDE (place) FROM reviewed
  WHERE list_contains($required, criterion)
  QUALIFY row_number() OVER (
    PARTITION BY subject, criterion, issue, pull_repo, pull ORDER BY keep IS NULL, place
  ) = 1
),
wanted AS (
  SELECT DISTINCT v.repo, v.subject, v.issue, v.pull_repo, v.pull, v.profile, r.criterion
  FROM filtered v JOIN (SELECT unnest($required) AS criterion, unnest($subjects) AS subject) r
  USING (subject)
)
SELECT w.repo, w.subject, w.issue, w.pull_repo, w.pull, coalesce(r.stage, $stage) AS stage,
       w.criterion, false AS decides, r.keep,
       CASE WHEN r.criterion IS NULL THEN $missing ELSE r.reason END AS reason,
       r.value, r.evidence, w.profile, coalesce(r.settings, '') AS settings
FROM wanted w LEFT JOIN ranked r
  ON r.subject = w.subject AND r.criterion = w.criterion AND r.issue = w.issue
  AND r.pull_repo IS NOT DISTINCT FROM w.pull_repo AND r.pull IS NOT DISTINCT FROM w.pull
"""


def with_reviews(
    filtered: pa.Table, reviewed: Sequence[pa.Table], required: Mapping[str, Subject]
) -> pa.Table:
    """Return filter verdicts together with the reviews that are required, by criterion.

    Of several verdicts on a subject, the first in the order of `reviewed` that is keep or drop
    counts, so people's go before models'. A subject without any gets a row that keeps it out, so
    that no builder takes a subject that was not reviewed.
    """
    placed = [
        table.append_column("place", pa.repeat(pa.scalar(index, pa.int64()), len(table)))
        for index, table in enumerate(reviewed)
    ]
    parameters = {
        "required": list(required),
        "subjects": list(required.values()),
        "missing": NOT_ASKED,
        "stage": STAGE,
    }
    with connect() as connection:
        connection.register("filtered", filtered)
        connection.register("reviewed", pa.concat_tables(placed))
        rows = connection.sql(_REQUIRED, params=parameters).to_arrow_table()
    rows = rows.select(VERDICTS.schema.names).cast(VERDICTS.schema)
    return VERDICTS.ordered(pa.concat_tables([filtered, rows]))


def row_votes(workspace: WorkspaceLayout, directory: Path) -> Callable[[Mapping[str, Any]], str]:
    """Return what gives the vote of stored reviews on a row of a dataset.

    A vote on an answer counts where it names this one. Raises `WorkspaceError` where a repository
    was not reviewed.
    """
    provenance = read_provenance(directory)
    rules, profile = rules_and_profile(provenance)
    layout = workspace.by_rules(rules[0]) if rules else workspace
    subject = "issue" if provenance["family"] == "qa" else "pair"
    found: dict[tuple[object, ...], tuple[str, int | None]] = {}
    for origin in provenance["repositories"]:
        for row in read_reviews(layout, str(origin["repo"]), profile or "default").to_pylist():
            if row["subject"] == subject:
                name = {True: "keep", False: "drop", None: "undecided"}[row["keep"]]
                key = (row["repo"].lower(), row["issue"], row["pull"])
                found[key] = name, named_comment(row["evidence"])

    def vote(row: Mapping[str, Any]) -> str:
        key = (row["repo"].lower(), row["issue"], row.get("pull"))
        name, reply = found.get(key, ("none", None))
        other = reply is not None and reply != row.get("answer_comment_id")
        return "another reply" if other else name

    return vote

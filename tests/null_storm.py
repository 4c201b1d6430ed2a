"""Each field that GitHub may answer with null, and what must come of it: no row is lost unsaid."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from graphql import GraphQLSchema, TypeInfo, TypeInfoVisitor, Visitor, parse, visit
from graphql.language import FieldNode
from graphql.type import GraphQLInterfaceType, GraphQLObjectType, GraphQLUnionType

from goldpan.core.errors import GoldpanError
from goldpan.miners.connections import CONNECTIONS
from goldpan.miners.github import queries
from goldpan.miners.mine import MineResult
from tests.mining import Row, coverage_of, mine_twin, rows, rows_of, undisturbed
from tests.twin import Twin, nullable_fields, synthetic_world
from tests.twin.schema import wired_schema

Field = tuple[str, str]

DOCUMENTS = (
    queries.REPOSITORY,
    queries.sweep_document("issue"),
    queries.sweep_document("pull"),
    queries.entries_document("issue"),
    queries.entries_document("pull"),
    queries.continuations_document(list(CONNECTIONS.values())),
)

NOTHING_TO_TELL = {
    ("ClosedEvent", "closer"),
    ("Issue", "parent"),
    ("MarkedAsDuplicateEvent", "canonical"),
    ("MarkedAsDuplicateEvent", "duplicate"),
    ("UnmarkedAsDuplicateEvent", "canonical"),
    ("UnmarkedAsDuplicateEvent", "duplicate"),
}
"""Null is GitHub's answer here: closed by hand, or the other end is not to be seen."""

HOPELESS = {("IssueConnection", "nodes"), ("PullRequestConnection", "nodes")}
"""Without these there is nothing to mine: the run must say so in a sentence."""

NOTABLE: frozenset[Field] = frozenset(
    {
        ("Issue", "author"),
        ("IssueComment", "author"),
        ("PullRequest", "headRepository"),
        ("PullRequest", "mergeCommit"),
        ("PageInfo", "endCursor"),
        ("LabelConnection", "nodes"),
        ("PullRequestReview", "submittedAt"),
        ("Repository", "defaultBranchRef"),
    }
)
"""Of the others, those that matter most."""

PARTS = {
    "entries": {"entry"},
    "comments": {"comments", "reviews", "review_comments", "entry"},
    "commits": {"timeline", "entry"},
    "files": {"files", "entry"},
    "references": {"timeline", "links", "comments", "reviews", "review_comments", "entry"},
}
"""Table to the parts whose gap explains that an entry's rows are not there."""


def asked_fields(schema: GraphQLSchema) -> set[Field]:
    """Return every (object type, field) that Goldpan's documents can ask for."""
    fields: set[Field] = set()
    info = TypeInfo(schema)

    class Collector(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            parent = info.get_parent_type()
            if isinstance(parent, GraphQLInterfaceType | GraphQLUnionType):
                kinds = [kind.name for kind in schema.get_possible_types(parent)]
            else:
                kinds = [parent.name] if isinstance(parent, GraphQLObjectType) else []
            fields.update((kind, node.name.value) for kind in kinds)

    for document in DOCUMENTS:
        visit(parse(document), TypeInfoVisitor(info, Collector()))
    return fields


STORM = sorted(asked_fields(wired_schema()) & set(nullable_fields()))


def check_null(field: Field, directory: Path) -> None:
    """Mine where a field is null everywhere, and check all that came of it."""
    with Twin(synthetic_world(), null_fields=[field]) as twin:
        try:
            mined = mine_twin(twin, directory, retries=3)
        except GoldpanError as error:
            assert field in HOPELESS, error
            assert str(error).endswith(".")
            assert error.remedy
            return
        assert twin.count < 400
    assert mined.failure is None or field in HOPELESS
    gone = lost_unsaid(directory, mined)
    if field in NOTHING_TO_TELL:
        gone = {row for row in gone if row[0] != "references"}
    assert not gone, f"{len(gone)} entries have lost rows that no gap tells of: {sorted(gone)[:5]}"
    flawed = {gap.number for gap in coverage_of(mined).gaps}
    check_values(directory, flawed)


def lost_unsaid(workspace: Path, mined: MineResult) -> set[tuple[str, int]]:
    """Return (table, entry) wherever rows are fewer than they should be, and no gap tells so."""
    reported = {(gap.number, gap.part) for gap in coverage_of(mined).gaps}
    announced = {gap.part for gap in coverage_of(mined).gaps if gap.number is None}
    lost = set()
    for table, parts in PARTS.items():
        unit = "observed_on" if table == "references" else "number"
        have, want = (
            count_by(table_rows, unit) for table_rows in (rows(workspace, table), clean_rows(table))
        )
        for number, count in want.items():
            if have.get(number, 0) < count and not any(
                (number, part) in reported for part in parts
            ):
                lost.add((table, number))
    if "issues" in announced or "pulls" in announced:
        have = count_by(rows(workspace, "entries"), "number")
        lost = {(table, number) for table, number in lost if number in have}
    return lost


@cache
def clean_rows(table: str) -> list[Row]:
    return rows_of(undisturbed("graphql"), table)


def count_by(content: list[Row], unit: str) -> dict[int, int]:
    counts: dict[int, int] = {}
    for row in content:
        counts[row[unit]] = counts.get(row[unit], 0) + 1
    return counts


KEYS = {
    "repositories": ("repo",),
    "entries": ("number",),
    "comments": ("number", "kind", "comment_id"),
    "commits": ("number", "sha"),
    "files": ("number", "path"),
}


def check_values(workspace: Path, flawed: set[int | None]) -> None:
    """Check that values are the undisturbed ones, or null, wherever no gap is told."""
    for table, keys in KEYS.items():
        clean = {key_of(row, keys): row for row in clean_rows(table)}
        for row in rows(workspace, table):
            if row.get("number") in flawed or any(row[name] is None for name in keys):
                continue
            want = clean[key_of(row, keys)]
            wrong = {name: (value, want[name]) for name, value in row.items() if value is not None}
            wrong = {name: pair for name, pair in wrong.items() if pair[0] != pair[1]}
            if "participants" in wrong:  # who is not named is none
                assert set(wrong["participants"][0]) < set(wrong.pop("participants")[1])
            assert not wrong, (table, wrong)


def key_of(row: Row, keys: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(row[name] for name in keys)

"""The twin's schema: valid for our documents, a part of GitHub's, and older on other servers."""

from __future__ import annotations

import lzma
import re
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    graphql_sync,
    parse,
    validate,
)

from goldpan.miners.connections import CONNECTIONS
from goldpan.miners.github import queries
from goldpan.miners.github.dialect import NEWEST, Dialect, adapt
from goldpan.miners.github.queries import INTROSPECTION, NEEDS, dialect_of
from tests.twin import Twin, synthetic_world
from tests.twin.asking import ask, real_data, sluice
from tests.twin.schema import SDL


def introspect(schema: GraphQLSchema) -> dict[str, Any]:
    only_types = re.sub(r"rateLimit \{[^}]*\}", "", INTROSPECTION)
    return graphql_sync(schema, only_types).data or {}


def documents(dialect: Dialect = NEWEST) -> list[str]:
    lists = [connection for key, connection in CONNECTIONS.items() if key not in dialect.lacks]
    return [
        adapt(queries.REPOSITORY, dialect),
        *(
            document
            for kind in queries.KINDS
            for document in (
                queries.sweep_document(kind, dialect),
                queries.entries_document(kind, dialect),
                queries.entries_document(kind, dialect, ()),
                queries.entries_document(kind, dialect, ("labels", "timelineItems")),
            )
        ),
        *(queries.continuations_document([connection], dialect) for connection in lists),
        queries.continuations_document(lists, dialect),
    ]


def test_our_documents_are_valid() -> None:
    schema = build_schema(SDL)
    assert dialect_of(introspect(schema)) == NEWEST
    for document in documents():
        assert validate(schema, parse(document)) == []


@pytest.mark.parametrize(
    "lacking",
    [
        ("Issue", "parent"),
        ("Issue", "issueType"),
        ("Issue", "assignedActors"),
        ("Issue", "closedByPullRequestsReferences"),
        ("Issue.closedByPullRequestsReferences", "includeClosedPrs"),
        ("Issue.stateReason", "enableDuplicate"),
        ("Discussion", "stateReason"),
        ("DiscussionComment", "deletedAt"),
        ("IssueComment", "fullDatabaseId"),
        ("IssueDependenciesSummary", "totalBlocking"),
        ("IssueTimelineItemsItemType", "MARKED_AS_DUPLICATE_EVENT"),
        ("MarkedAsDuplicateEvent", "canonical"),
        ("PullRequest", "closingIssuesReferences"),
        ("PullRequest", "isDraft"),
    ],
)
def test_documents_do_without_what_a_server_lacks(lacking: tuple[str, str]) -> None:
    schema = build_schema(SDL)
    owner, name = lacking
    assert lacking in NEEDS
    if "." in owner:
        parent: Any = schema.type_map[owner.partition(".")[0]]
        del parent.fields[owner.partition(".")[2]].args[name]
    else:
        kind: Any = schema.type_map[owner]
        del (kind.values if isinstance(kind, GraphQLEnumType) else kind.fields)[name]
    dialect = dialect_of(introspect(schema))
    assert lacking in dialect.lacks
    for document in documents(dialect):
        assert validate(schema, parse(document)) == [], document


NEWER = {
    ("Issue", "assignedActors"),
    ("Issue", "blockedBy"),
    ("Issue", "blocking"),
    ("Issue", "duplicateOf"),
    ("Issue", "issueDependenciesSummary"),
    ("Issue", "issueType"),
    ("Issue", "pinnedIssueComment"),
    ("PullRequest", "assignedActors"),
}
NEWER_TYPES = {"AssigneeConnection", "IssueDependenciesSummary", "IssueType", "PinnedIssueComment"}
"""What GitHub documents and the published schema does not have yet."""


@pytest.mark.real_data
def test_the_schema_is_part_of_githubs() -> None:
    text = lzma.decompress(real_data("api/schema.graphql.xz").read_bytes()).decode()
    github = build_schema(text, assume_valid=True, assume_valid_sdl=True)
    ours = build_schema(SDL)
    kind: Any
    for name, kind in ours.type_map.items():
        if name.startswith("__") or name in NEWER_TYPES:
            assert name not in github.type_map or name.startswith("__")
            continue
        theirs: Any = github.type_map[name]
        assert type(kind) is type(theirs)
        if isinstance(kind, GraphQLUnionType):
            assert {member.name for member in kind.types} <= {
                member.name for member in theirs.types
            }
        elif isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            for field_name, field in kind.fields.items():
                if (name, field_name) in NEWER:
                    assert field_name not in theirs.fields
                    continue
                other = theirs.fields[field_name]
                assert str(field.type) == str(other.type), f"{name}.{field_name}"
                own = {(key, str(argument.type)) for key, argument in field.args.items()}
                assert own <= {(key, str(argument.type)) for key, argument in other.args.items()}
        elif hasattr(kind, "values"):
            assert set(kind.values) == set(theirs.values)
    dialect = dialect_of(introspect(github))
    assert {need for need in dialect.lacks if need in NEWER} == NEWER
    for document in documents(dialect):
        assert validate(github, parse(document)) == []


LACKS = [
    ("Issue.stateReason", "enableDuplicate"),
    ("Issue", "closedByPullRequestsReferences"),
    ("IssueStateReason", "DUPLICATE"),
    ("UnmarkedAsDuplicateEvent", "__typename"),
]


@pytest.mark.parametrize(
    ("selection", "message", "code"),
    [
        (
            "closedByPullRequestsReferences(first: 1) { totalCount }",
            "Field 'closedByPullRequestsReferences' doesn't exist on type 'Issue'",
            "undefinedField",
        ),
        (
            "stateReason(enableDuplicate: true)",
            "Field 'stateReason' doesn't accept argument 'enableDuplicate'",
            "argumentNotAccepted",
        ),
        (
            "timelineItems(first: 1, itemTypes: [UNMARKED_AS_DUPLICATE_EVENT]) { totalCount }",
            "Argument 'itemTypes' on Field 'timelineItems' has an invalid value "
            "([UNMARKED_AS_DUPLICATE_EVENT]). Expected type '[IssueTimelineItemsItemType!]'.",
            "argumentLiteralsIncompatible",
        ),
        (
            "timelineItems(first: 1) { nodes { ... on UnmarkedAsDuplicateEvent { id } } }",
            "No such type UnmarkedAsDuplicateEvent, so it can't be a fragment condition",
            "undefinedType",
        ),
    ],
)
def test_what_an_older_server_lacks_is_refused(selection: str, message: str, code: str) -> None:
    query = sluice(f"issue(number: 1) {{ {selection} }}")
    with Twin(synthetic_world(), lacks=LACKS) as twin:
        reply = ask(twin, query)
    [error] = reply["errors"]
    assert (error["message"], error["extensions"]["code"]) == (message, code)
    assert error["path"][:3] == ["query", "repository", "issue"]
    with Twin(synthetic_world()) as twin:
        assert "errors" not in ask(twin, query)

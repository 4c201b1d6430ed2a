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
from tests.twin.asking import SLUICE, ask, get, real_data, sluice
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
    ("selection", "message", "code", "path"),
    [
        (
            "closedByPullRequestsReferences(first: 1) { totalCount }",
            "Field 'closedByPullRequestsReferences' doesn't exist on type 'Issue'",
            {"code": "undefinedField", "typeName": "Issue"},
            ["closedByPullRequestsReferences"],
        ),
        (
            "stateReason(enableDuplicate: true)",
            "Field 'stateReason' doesn't accept argument 'enableDuplicate'",
            {"code": "argumentNotAccepted", "typeName": "Field"},
            ["stateReason", "enableDuplicate"],
        ),
        (
            "timelineItems(first: 1, itemTypes: [CLOSED_EVENT, UNMARKED_AS_DUPLICATE_EVENT]) "
            "{ totalCount }",
            "Argument 'itemTypes' on Field 'timelineItems' has an invalid value "
            "([CLOSED_EVENT, UNMARKED_AS_DUPLICATE_EVENT]). "
            "Expected type '[IssueTimelineItemsItemType!]'.",
            {"code": "argumentLiteralsIncompatible", "argumentName": "itemTypes"},
            ["timelineItems", "itemTypes"],
        ),
        (
            "timelineItems(first: 1) { nodes { ... on UnmarkedAsDuplicateEvent { id } } }",
            "No such type UnmarkedAsDuplicateEvent, so it can't be a fragment condition",
            {"code": "undefinedType", "typeName": "UnmarkedAsDuplicateEvent"},
            ["timelineItems", "nodes", "... on UnmarkedAsDuplicateEvent"],
        ),
    ],
)
def test_what_an_older_server_lacks_is_refused(
    selection: str, message: str, code: dict[str, str], path: list[str]
) -> None:
    query = sluice(f"issue(number: 1) {{ {selection} }}")
    with Twin(synthetic_world(), lacks=LACKS, version="3.12.4") as twin:
        reply = ask(twin, query)
        assert set(reply) == {"errors"}
        [error] = reply["errors"]
        assert error["message"] == message
        assert error["extensions"].items() >= code.items()
        assert error["path"] == ["query", "repository", "issue", *path]
        assert error["locations"][0]["line"] == 1
    with Twin(synthetic_world()) as twin:
        assert "errors" not in ask(twin, query)


def test_an_older_server_tells_what_it_has() -> None:
    query = """{
      Issue: __type(name: "Issue") { fields { name args { name } } }
      IssueStateReason: __type(name: "IssueStateReason") { enumValues { name } }
      UnmarkedAsDuplicateEvent: __type(name: "UnmarkedAsDuplicateEvent") { name }
    }"""

    def fields_of(**options: Any) -> dict[str, Any]:
        with Twin(synthetic_world(), **options) as twin:
            data: dict[str, Any] = ask(twin, query)["data"]
        return data

    old, new = fields_of(lacks=LACKS), fields_of()
    fields = [
        {field["name"]: field["args"] for field in data["Issue"]["fields"]} for data in (old, new)
    ]
    assert set(fields[1]) - set(fields[0]) == {"closedByPullRequestsReferences"}
    assert fields[0]["stateReason"] == []
    assert fields[1]["stateReason"] == [{"name": "enableDuplicate"}]
    assert {"name": "DUPLICATE"} not in old["IssueStateReason"]["enumValues"]
    assert old["UnmarkedAsDuplicateEvent"] is None
    assert new["UnmarkedAsDuplicateEvent"] == {"name": "UnmarkedAsDuplicateEvent"}


def test_an_enterprise_server_says_so() -> None:
    with Twin(synthetic_world(), version="3.12.4") as twin:
        reply = get(twin, f"/api/v3{SLUICE}")
        assert reply.headers["x-github-enterprise-version"] == "3.12.4"
    with Twin(synthetic_world()) as twin:
        assert "x-github-enterprise-version" not in get(twin, SLUICE).headers


@pytest.mark.parametrize("lacks", [("Issue", "typo"), ("Issue", "id"), ("Typo", "__typename")])
def test_a_schema_that_cannot_be_is_refused(lacks: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"not in the schema|the schema is none"):
        Twin(synthetic_world(), lacks=[lacks])

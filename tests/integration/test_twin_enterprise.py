"""The twin as an Enterprise server whose GraphQL schema lacks what is new."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twin import Twin, synthetic_world
from tests.twin.asking import SLUICE, ask, get, sluice

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

"""What a newcomer meets first says what is so: README, citation, templates, workflow, changelog."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import goldpan
from tests.places import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
TYPES = {"markdown", "input", "textarea", "dropdown", "checkboxes"}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version_and_license() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == goldpan.__version__
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'license = "{citation["license"]}"' in project
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


def test_the_newest_changes_are_those_of_this_version() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert newest is not None
    assert newest[1] == goldpan.__version__


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_is_one_that_github_takes(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    assert {part["type"] for part in form["body"]} <= TYPES
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert all(part["attributes"]["label"] for part in asked)
    names = [part["id"] for part in asked]
    assert len(set(names)) == len(names)
    assert any(part.get("validations", {}).get("required") for part in asked)
    for part in asked:
        assert all(isinstance(option, str) for option in part["attributes"].get("options", ()))


def test_there_are_forms_for_bugs_datasets_and_features() -> None:
    assert {path.stem for path in FORMS} == {"bug", "dataset", "feature"}
    assert "blank_issues_enabled" in read(FORMS[0].with_name("config.yml"))


def test_the_workflow_runs_what_every_change_must_pass() -> None:
    workflow = read(ROOT / ".github" / "workflows" / "ci.yml")
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == "bash .ci/run"
    assert workflow["permissions"] == {"contents": "read"}
    assert (ROOT / ".ci" / "run").is_file()


def test_the_readme_shows_pictures_that_are_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r'(?:src|srcset)="([^"]+)"', text))
    of_docs = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    shown_in_docs = {f"docs/{path}" for path in re.findall(r"\((images/[\w-]+\.png)", of_docs)}
    pictures = {f"docs/images/{path.name}" for path in (ROOT / "docs" / "images").iterdir()}
    assert shown | shown_in_docs == pictures
    assert text.count("<picture>") == text.count("prefers-color-scheme: dark") == len(shown) / 2
    assert all(re.findall(r'alt="([^"]*)"', text))


@pytest.mark.parametrize("name", ["CHANGELOG.md", "SECURITY.md"])
def test_links_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []

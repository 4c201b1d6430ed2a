"""The report on rounds of annotation: a page for people, and its figures as JSON beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from goldpan._version import __version__
from goldpan.annotation.studio.summary import AnnotationReport, Round, summarize
from goldpan.core.errors import UsageError
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.report.html import render

PAGE, JSON = "annotation.html", "annotation.json"
_MOST_ITEMS = 200
"""Disputed items of a round that the page lists."""


def write_annotation_report(
    workspace: WorkspaceLayout, names: Sequence[str], directory: Path
) -> AnnotationReport:
    """Write `annotation.html` and `annotation.json`; raises `UsageError` where that fails.

    Raises as `summarize` does for the projects.
    """
    rounds = summarize(workspace, names)
    facts = {"goldpan": __version__, "rounds": rounds}
    data = orjson.dumps(facts, default=str, option=orjson.OPT_INDENT_2)
    content = {directory / PAGE: page_of(rounds), directory / JSON: for_json(data.decode()) + "\n"}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in content.items():
            write_whole(path, mask(text.encode()))
    except OSError as error:
        raise UsageError(
            f"{directory} cannot be written: {error.strerror}", "Choose another --output"
        ) from None
    return AnnotationReport(tuple(content), rounds)


def page_of(rounds: Sequence[Round]) -> str:
    """Return rounds as one HTML page."""
    return render(
        "annotation.html.jinja", title="Goldpan: annotation", rounds=rounds, most=_MOST_ITEMS
    )

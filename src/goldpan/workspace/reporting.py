"""Reports on repositories and runs, opened in the browser, and where an example comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.core.errors import UsageError
from goldpan.core.result import Line, Result
from goldpan.core.settings.config import DEFAULT_WORKSPACE
from goldpan.core.storage.workspace import existing
from goldpan.core.values import output_file
from goldpan.workspace.comparing import compare
from goldpan.workspace.filtering import choose_profile
from goldpan.workspace.opening import Group, OpenWorkspace
from goldpan.workspace.options import DatasetName, Switch
from goldpan.workspace.repositories import dataset_directories, find_dataset

if TYPE_CHECKING:
    from goldpan.lineage.trace import Trace
    from goldpan.report.compared import ComparisonReport
    from goldpan.report.page import ReportFacts, RowFacts

_REPORTS = ("goldpan-report.html", "*.html")
_LONGEST = 100


def report(
    self: OpenWorkspace,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    dataset: str | Path | Sequence[str | Path] = (),
    row: str | None = None,
    runs: bool = False,
    output: Path | str | None = None,
) -> ReportFacts | RowFacts | ComparisonReport:
    """Write an HTML page with the funnel, distributions, and examples with their evidence.

    Of an audited dataset it shows the findings. With --runs, or if the workspace holds only
    evaluation runs, the page says which models differ.

    Example: goldpan report --output report.html

    Args:
        profile (NAME): The profile whose verdicts to report on.
        rules (NAME): The rules whose pairs to report on: default, unconfirmed, landed, or a
            plugin's.
        dataset (DATASET): A dataset to show examples of: its name in the workspace, or its
            directory. (default: all of the workspace)
        row (ID): Write a page about this row alone: its label, verdicts and findings.
        runs: Report on stored evaluation runs instead; see goldpan evaluate compare.
        output: The HTML file. (default: goldpan-report.html, goldpan-row-ID.html with --row)
    """
    from goldpan.datasets.provenance import finished_datasets
    from goldpan.report.page import write_report, write_row_page

    name = f"goldpan-row-{_name(row)}.html" if row else "goldpan-report.html"
    page = output_file("output", output or name)
    if runs and (repos or dataset or row):
        raise UsageError(
            "--runs reports on all stored runs, not on repositories and datasets",
            "Leave out --repo and --dataset, or use goldpan evaluate compare --task",
        )
    has_runs = any(self.path.glob("runs/*/*/*/result.json"))
    if runs or (has_runs and not (repos or row) and not self.repositories()):
        return compare(Group(self), output=page)
    layout, names, chosen = choose_profile(self, repos, profile, rules)
    directories = dataset_directories(layout, dataset) or finished_datasets(layout)
    if row is not None:
        return write_row_page(layout, names, chosen, directories, row, page)
    return write_report(layout, names, chosen, directories, page)


def _name(row: str) -> str:
    """Return what of a row's id may stand in the name of a file."""
    return re.sub(r"[^A-Za-z0-9._+]+", "-", row)[:_LONGEST].strip("-.")


def trace(
    self: OpenWorkspace,
    example_id: str,
    *,
    dataset: str | Path | Sequence[str | Path] = (),
    verify: bool = False,
) -> Trace:
    """Trace a published example back to raw replies and git objects.

    Exits with 3 if a source is no longer in the workspace, and with 1 if --verify finds that
    something is not what it was made of.

    Example: goldpan trace qa:numpy/numpy#12345

    Args:
        example_id (ID): An id from the dataset, such as qa:OWNER/NAME#NUMBER.
        dataset (DATASET): A dataset to look in: its name in the workspace, or its directory.
            (default: all of the workspace)
        verify: Recompute everything from the raw replies and git objects to the example.
    """
    from goldpan.lineage.trace import trace

    layout = existing(self.layout)
    return trace(layout, example_id, dataset_directories(layout, dataset), verify=verify)


@dataclass(frozen=True, slots=True)
class OpenedPage(Result):
    """A page to look at."""

    address: str


def open_page(
    self: OpenWorkspace,
    dataset: DatasetName | None = None,
    *,
    project: str | None = None,
    port: Annotated[int, Parameter(validator=Number(gte=0, lt=2**16))] = 0,
    browser: Switch = True,
) -> OpenedPage | None:
    """Open the newest report, the rows of a dataset, or an annotation project in the browser.

    The rows of a dataset are searched, filtered and sorted in a table; each has a page with its
    columns and sources. They are served on this machine alone, until Ctrl-C.

    Example: goldpan open qa

    Args:
        dataset (DATASET): Its name in the workspace, its directory, or OWNER/NAME on the Hugging
            Face Hub. (default: the report)
        project (NAME): Open this annotation project in Label Studio.
        port: The port for the rows of a dataset. (default: a free one)
        browser: Open a browser; otherwise the address alone is printed.
    """
    if dataset is not None:
        _open_rows(self, dataset, project, port, browser)
        return None
    if self.path != DEFAULT_WORKSPACE:  # where none was named, this directory will do
        existing(self.layout)
    if project is None:
        address = _newest_report(self.path).as_uri()
    else:
        from goldpan.annotation.studio.project import open_project

        address = open_project(self.layout, project).page
    _show(address, browser)
    return OpenedPage(address)


def _open_rows(
    lab: OpenWorkspace, name: DatasetName, project: str | None, port: int, browser: bool
) -> None:
    from goldpan.core.terminal import show
    from goldpan.workspace.browsing import RowServer

    if project is not None:
        raise UsageError("A dataset and --project cannot be opened together", "Give one of them")
    server = RowServer(lab.layout, find_dataset(lab, name), port)
    show([Line(f"{server.address} (Ctrl-C ends it)")])
    _show(server.address, browser)
    server.serve()


def _show(address: str, browser: bool) -> None:
    if browser:
        import webbrowser

        webbrowser.open(address)


def _newest_report(root: Path) -> Path:
    paths = [
        path.absolute()
        for folder in (root, Path.cwd())
        for pattern in _REPORTS
        for path in folder.glob(pattern)
        if path.is_file()
    ]
    if not paths:
        raise UsageError(
            f"Neither {root} nor this directory holds an HTML report", "Run goldpan report first"
        )
    return max(paths, key=lambda path: path.stat().st_mtime_ns)

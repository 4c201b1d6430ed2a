"""Writes the report: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from goldpan._version import __version__
from goldpan.audit.stored_audit import find_audit
from goldpan.core.errors import UsageError
from goldpan.core.resources import check_folder, unwritable, write_file
from goldpan.core.result import Block, Line, Result
from goldpan.core.sanitize import line, visible
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import Basis, basis_blocks
from goldpan.filters.funnel import PLURAL, Funnel, Funnels, read_funnels, sum_funnels
from goldpan.filters.profile import Profile
from goldpan.report.distributions import frequent, levels, measure, percent, share, short
from goldpan.report.document import count
from goldpan.report.examples import Dropped, draw_dropped, draw_examples
from goldpan.report.tables import Overview, open_repositories, overview, total

SEED = 0
_MOST_EXAMPLES = 12
_MOST_A_DATASET = 4
_MOST_REPOSITORIES = 200
_MOST_FUNNELS = 24
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class ReportFacts(Result):
    """The written report."""

    output: Path
    size: int
    """Bytes."""
    repos: tuple[str, ...]
    datasets: tuple[str, ...]
    examples: int
    """Rows of datasets that the report shows."""
    dropped: int
    """Dropped subjects that it shows."""
    basis: tuple[Basis, ...]
    """Which pairing rules and which profile stand behind each repository."""

    def blocks(self) -> Iterator[Block]:
        """Yield what the report holds and where it is."""
        yield Line(
            f"{count(self.examples, 'example')} and {count(self.dropped, 'dropped subject')} of "
            f"{count(len(self.repos), 'repository')}, {self.size / 1e6:.1f} MB"
        )
        yield from basis_blocks(self.basis)
        yield Line(f"Open {self.output} in a browser")


@dataclass(frozen=True, slots=True)
class RowFacts(Result):
    """The written page about a row."""

    output: Path
    size: int
    """Bytes."""
    id: str
    dataset: str

    def blocks(self) -> Iterator[Block]:
        """Yield which row it is about and where it is."""
        yield Line(f"{self.id} of {self.dataset}, {self.size / 1e3:.0f} kB")
        yield Line(f"Open {self.output} in a browser")


@dataclass(frozen=True, slots=True)
class _Group:
    """A criterion with what it drops."""

    name: str
    subject: str
    decides: bool
    out: int
    undecided: int
    definition: str
    source: str
    settings: tuple[tuple[str, str], ...]
    dropped: tuple[Dropped, ...]


def write_report(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    datasets: Sequence[Path],
    output: Path,
    *,
    seed: int = SEED,
) -> ReportFacts:
    """Write the report on filtered repositories, with examples of datasets, as one HTML file.

    Raises `WorkspaceError` where a repository was not filtered by the profile or the file cannot
    be written, `UsageError` where a path is missing, `DatasetError` where a directory holds no
    dataset.
    """
    check_folder(output)
    funnels = [read_funnels(workspace, [repo], profile) for repo in repos]
    kinds = zip(*((own.issues, own.discussions, own.pairs) for own in funnels), strict=True)
    sums = [sum_funnels(of_kind, profile.decide) for of_kind in kinds]
    whole = [funnel for funnel in sums if funnel.rows or funnel.subject != "discussion"]
    basis = tuple(item for own in funnels for item in own.basis)
    with open_repositories(workspace, repos, profile.name) as connection:
        repositories = overview(connection)
        measured = measure(connection)
        dropped = draw_dropped(connection, seed)
        most = max(1, min(_MOST_A_DATASET, _MOST_EXAMPLES // max(1, len(datasets))))
        samples = [
            draw_examples(connection, path, seed, most, find_audit(workspace, path))
            for path in datasets
        ]
    page = render(
        "report.html.jinja",
        title=f"Goldpan report: {_heading(repositories)}",
        heading=_heading(repositories),
        seed=seed,
        profile=profile,
        rules=sorted({item.rules for item in basis if item.rules is not None}),
        total=total(repositories),
        repositories=repositories,
        most_repositories=_MOST_REPOSITORIES,
        funnels=whole,
        by_repository=_largest(funnels) if len(funnels) > 1 else [],
        charts=measured,
        datasets=samples,
        criteria=_groups(profile, whole, dropped),
    )
    write_page(page, output)
    return ReportFacts(
        output,
        len(page.encode()),
        tuple(repository.repo for repository in repositories),
        tuple(dataset.name for dataset in samples),
        sum(len(dataset.examples) for dataset in samples),
        sum(len(droppeds) for droppeds in dropped.values()),
        basis,
    )


def write_row_page(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    datasets: Sequence[Path],
    row: str,
    output: Path,
) -> RowFacts:
    """Write all that is known of a row as one HTML file: text, label, verdicts and findings.

    Raises `UsageError` where no dataset that has issues or fix pairs holds it, else as
    `write_report`.
    """
    check_folder(output)
    for repo in repos:
        read_funnels(workspace, [repo], profile)  # refuses one that was not filtered
    with open_repositories(workspace, repos, profile.name) as connection:
        for path in datasets:
            found = draw_examples(connection, path, SEED, 1, find_audit(workspace, path), row)
            if found.examples:
                break
        else:
            names = " or ".join(path.name for path in datasets) or "any dataset"
            raise UsageError(f"No row {row!r} is in {names}", "Give the id as in the dataset")
    (example,) = found.examples
    page = render("row.html.jinja", title=line(row, 160), dataset=found, example=example)
    write_page(page, output)
    return RowFacts(output, len(page.encode()), row, found.name)


def render(template: str, *, styles: Sequence[str] = ("report.css",), **values: object) -> str:
    """Render a page; all strings in `values` are made visible and escaped.

    `styles` are files of `templates/`, put together in one style sheet. The policy in the page's
    head allows that by its digest, and nothing else at all.
    """
    environment = Environment(
        loader=PackageLoader("goldpan.report"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "line": line,
        "measure": _measure,
        "number": lambda count: f"{count:,}",
        "percent": percent,
        "share": share,
        "short": short,
    }
    environment.globals |= {
        "frequent": frequent,
        "github": _github,
        "levels": levels,
        "plural": PLURAL,
    }
    style = "".join(map(_style, styles))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return environment.get_template(template).render(
        # The style sheet is ours; escaping it would change its digest.
        style=Markup(style),  # noqa: S704
        policy=policy,
        version=__version__,
        **values,
    )


def write_page(page: str, output: Path) -> None:
    """Write a page; raises `WorkspaceError` where that fails, `UsageError` without its folder."""
    try:
        write_file(output, page)
    except OSError as error:
        raise unwritable(output, error) from None


def _style(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _finalize(value: object) -> object:
    """Make whatever a template prints visible; macros have done so with their own."""
    return visible(value) if type(value) is str else value


def _github(repo: str | None, number: int | None, kind: str) -> str:
    """Return the address of an issue or pull request, or nothing where the name is none."""
    if not repo or not number or not _REPOSITORY.fullmatch(repo):
        return ""
    return f"https://github.com/{repo}/{'pull' if kind == 'pull' else 'issues'}/{int(number)}"


def _measure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}"


def _heading(overviews: Sequence[Overview]) -> str:
    names = [repository.repo for repository in overviews]
    if len(names) <= 3:
        return ", ".join(names) or "No repository"
    return f"{names[0]} and {len(names) - 1:,} more repositories"


def _largest(funnels: Sequence[Funnels]) -> list[Funnels]:
    """Return the funnels of the repositories with the most issues, each of which has one."""
    ordered = sorted(funnels, key=lambda own: (-own.issues.rows, own.basis[0].repo))
    return ordered[:_MOST_FUNNELS]


def _groups(
    profile: Profile,
    funnels: Sequence[Funnel],
    dropped: Mapping[tuple[str, str], Sequence[Dropped]],
) -> list[_Group]:
    """Return all criteria of the verdicts in the order of the funnels."""
    available = profile.criteria()
    groups = []
    for funnel in funnels:
        for step in funnel.steps:
            criterion = available.get(step.criterion)
            settings = profile.settings_of(step.criterion) if criterion else {}
            groups.append(
                _Group(
                    step.criterion,
                    funnel.subject,
                    step.decides,
                    step.out,
                    step.undecided,
                    criterion.definition if criterion else "",
                    criterion.source if criterion else "",
                    tuple((name, _setting(value)) for name, value in settings.items()),
                    tuple(dropped.get((funnel.subject, step.criterion), ())),
                )
            )
    return groups


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) if len(value) <= 8 else f"{len(value):,} entries"
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Pages of HTML: each is one file that needs no other, with its figures inside."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from goldpan._version import __version__
from goldpan.core.resources import unwritable
from goldpan.core.sanitize import line, visible
from goldpan.core.storage.workspace import write_whole
from goldpan.filters.funnel import PLURAL
from goldpan.report.distributions import frequent, levels, percent, share, short
from goldpan.report.document import Report, formatted, kind, number_columns

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}")

# A passage of one line, as Markdown has it; longer runs of backticks hold shorter ones.
_BACKTICKS = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")


def render(
    template: str,
    *,
    styles: Sequence[str] = ("report.css",),
    hosts: Mapping[str, str | None] = MappingProxyType({}),
    **values: object,
) -> str:
    """Render a page; all strings in `values` are made visible and escaped.

    `hosts` are those of repositories that are not on github.com, by their names in lower case.

    `styles` are files of `templates/`, joined to one style sheet. The policy in the page's head
    allows that by its digest, and nothing else.
    """
    folder = Path(__file__).parent / "templates"
    style = "".join((folder / name).read_text(encoding="utf-8") for name in styles)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    # The style sheet is ours; escaping it would change its digest.
    head = {"style": Markup(style), "policy": policy, "version": __version__}  # noqa: S704
    elsewhere = frozenset((repo, host) for repo, host in hosts.items() if host is not None)
    return _templates(elsewhere).get_template(template).render(head, **values)


@cache
def _templates(hosts: frozenset[tuple[str, str]] = frozenset()) -> Environment:
    environment = Environment(
        loader=PackageLoader("goldpan.report"),
        autoescape=True,
        # Macros have made visible what they print.
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "code": _code,
        "line": line,
        "measure": _measure,
        "number": lambda count: f"{count:,}",
        "percent": percent,
        "share": share,
        "short": short,
        "sum_of": lambda counts: sum(counts.values()),
    }
    environment.globals |= {
        "frequent": frequent,
        "github": partial(_github, dict(hosts)),
        "levels": levels,
        "plural": PLURAL,
    }
    return environment


def _code(text: str) -> Markup:
    """Return a text whose passages between backticks are code; all else is escaped."""
    pieces = []
    at = 0
    whole = visible(text)
    for found in _BACKTICKS.finditer(whole):
        pieces += [escape(whole[at : found.start()]), Markup("<code>{}</code>").format(found[2])]
        at = found.end()
    return Markup("").join([*pieces, escape(whole[at:])])


def write_page(page: str, output: Path) -> None:
    """Write a page; raises `WorkspaceError` where that fails, `UsageError` without its folder."""
    try:
        write_whole(output, page)
    except OSError as error:
        raise unwritable(output, error) from None


def _github(hosts: Mapping[str, str], repo: str | None, number: int | None, kind: str) -> str:
    """Return the address of an issue or pull request, or nothing where the name is none."""
    if not repo or not number or not _REPOSITORY.fullmatch(repo):
        return ""
    host = hosts.get(repo.lower(), "github.com")
    return f"https://{host}/{repo}/{'pull' if kind == 'pull' else 'issues'}/{int(number)}"


def _measure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}"


def picture(svg: str, title: str) -> Markup:
    """Return a drawing as an image of a page, in which nothing runs and nothing loads."""
    data = base64.b64encode(svg.encode()).decode()
    return Markup('<img src="data:image/svg+xml;base64,{}" alt="{}">').format(data, title)


def evaluation_page(report: Report) -> str:
    """Return the report on a comparison as one HTML page that needs nothing else."""
    return render(
        "document.html.jinja",
        styles=("report.css", "document.css"),
        title=f"Goldpan: {report.title}",
        report=report,
        kind=kind,
        picture=picture,
        formatted=formatted,
        sides=number_columns,
    )

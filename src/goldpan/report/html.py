"""Pages of HTML: each is one file that needs no other, with its figures inside."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from goldpan._version import __version__
from goldpan.core.resources import unwritable
from goldpan.core.sanitize import line, visible
from goldpan.core.storage.workspace import write_whole
from goldpan.filters.funnel import PLURAL
from goldpan.report.distributions import frequent, levels, percent, share, short
from goldpan.report.document import Report, formatted, kind, number_columns

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}")


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
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
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
        "line": line,
        "measure": _measure,
        "number": lambda count: f"{count:,}",
        "percent": percent,
        "share": share,
        "short": short,
    }
    environment.globals |= {
        "frequent": frequent,
        "github": partial(_github, dict(hosts)),
        "levels": levels,
        "plural": PLURAL,
    }
    return environment


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


_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DROPPED = ("metadata", "style")
_COLORS = {
    "#1f1c17": "var(--ink)",
    "#000000": "var(--ink)",
    "#5f594f": "var(--soft)",
    "#b8830f": "var(--gold)",
    "#e6d9b8": "var(--line)",
    "#ffffff": "var(--card)",
    "#0072b2": "var(--series)",
}
"""Colors of `plots.py` that follow the page's scheme."""
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_UNIT = 1.3
"""Pixels of a point: labels of ten points are then read with ease."""
_SMALL, _WIDE = 600, 1_500
"""Pixels up to which a figure is never stretched, and from which on it is scrolled, not shrunk."""


def inline_figure(svg: str, label: str, key: str) -> Markup:
    """Return a figure as part of a page; `key` makes its ids unique.

    Styles become attributes, colors those of the page, and invisible elements are left out.
    """
    # Drawn here by matplotlib, which escapes what it writes: no file from outside is parsed.
    root = ET.fromstring(svg)  # noqa: S314
    referenced = {name for element in root.iter() for name in _referenced(element)}
    _clean(root, referenced, key)
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    shown = {
        "viewBox": root.attrib["viewBox"],
        "width": f"{width * _UNIT:.0f}",
        "height": f"{height * _UNIT:.0f}",
        "role": "img",
        "aria-label": label,
    }
    root.attrib.clear()
    root.attrib.update(shown)
    if not _SMALL < width * _UNIT < _WIDE:
        root.set("class", "small" if width * _UNIT <= _SMALL else "wide")
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 - all text is escaped by it


def _clean(element: ET.Element, referenced: set[str], key: str) -> None:
    element.tag = element.tag.removeprefix(_SVG)
    for child in [inner for inner in element if inner.tag.removeprefix(_SVG) in _DROPPED]:
        element.remove(child)
    attributes = dict(element.attrib)
    element.attrib.clear()
    for declared in attributes.pop("style", "").split(";"):
        name, _, value = declared.partition(":")
        if value and name.strip() != "font-family":
            attributes[name.strip()] = value.strip()
    for name, value in attributes.items():
        _keep(element, name, value, referenced, key)
    element.text = _tight(element.text)
    element.tail = _tight(element.tail)
    for child in element:
        _clean(child, referenced, key)


def _keep(element: ET.Element, name: str, value: str, referenced: set[str], key: str) -> None:
    if name == "id":
        if value in referenced:
            element.set(name, f"{key}-{value}")
    elif name == _LINK:
        element.set("href", f"#{key}-{value.removeprefix('#')}")
    elif name in ("fill", "stroke") and not (element.tag == "text" and value == "#ffffff"):
        element.set(name, _COLORS.get(value, value))
    elif name == "d":
        element.set(name, " ".join(value.split()))
    else:
        element.set(name, _REFERENCE.sub(lambda match: f"url(#{key}-{match[1]})", value))


def _referenced(element: ET.Element) -> list[str]:
    names = [element.attrib[_LINK].removeprefix("#")] if _LINK in element.attrib else []
    return names + [name for value in element.attrib.values() for name in _REFERENCE.findall(value)]


def _tight(text: str | None) -> str | None:
    """Leave out the line breaks between elements."""
    return None if text is not None and not text.strip() else text


def document_page(
    report: Report, template: str = "document.html.jinja", of: str = "", **values: Any
) -> str:
    """Return a document as one HTML page; `of` begins its title.

    Beside the report, the template `document.html.jinja` shows its `kicker` above the title, and
    its sources as `made`.
    """
    numbers = count(1)
    return render(
        template,
        styles=("report.css", "evaluation.css"),
        title=f"Goldpan{of}: {report.title}",
        report=report,
        kind=kind,
        figure=lambda svg, label: inline_figure(svg, label, f"f{next(numbers)}"),
        formatted=formatted,
        sides=number_columns,
        **values,
    )

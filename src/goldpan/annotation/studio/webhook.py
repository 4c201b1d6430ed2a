"""Has Label Studio say when somebody answered: `goldpan annotate push --webhook`.

A call tells nothing but that there is something to pull, is given up after a second and never
repeated. So it only saves waiting: whoever is called runs `goldpan annotate pull`, which fetches
whatever is new, however many calls were lost.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from goldpan.annotation.studio.client import Studio
from goldpan.annotation.studio.project import Project
from goldpan.core.errors import UsageError

_ACTIONS = (
    "ANNOTATION_CREATED",
    "ANNOTATIONS_CREATED",
    "ANNOTATION_UPDATED",
    "ANNOTATIONS_DELETED",
)


def check_address(url: str) -> None:
    """Raise `UsageError` for what is no address that a server could call."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is no number
        fine = False
    if not fine:
        raise UsageError(
            f"{url!r} is not an address that Label Studio could call",
            "Give --webhook https://HOST/PATH",
        )


def add_webhook(project: Project, studio: Studio, url: str) -> None:
    """Have the server call an address after each answer of a project, once only."""
    if url not in studio.webhooks(project.number):
        studio.add_webhook(project.number, url, _ACTIONS)

"""A local GitHub over real HTTP: as strict as the real one, and failing on request."""

from __future__ import annotations

from .backup import load_backup
from .copies import Copy, copied_world
from .discussions import Forum, forum_world, hold_long, talk
from .editing import Editor
from .errors import ERRORS
from .faults import Fault, Faults, heavier_than
from .limits import Limits
from .rest_pages import Expired, Paging
from .schema import nullable_fields
from .server import Request, Twin
from .store import World
from .synthetic import synthetic_world
from .workload import mills_world, workload_world

__all__ = [
    "ERRORS",
    "Copy",
    "Editor",
    "Expired",
    "Fault",
    "Faults",
    "Forum",
    "Limits",
    "Paging",
    "Request",
    "Twin",
    "World",
    "copied_world",
    "forum_world",
    "heavier_than",
    "hold_long",
    "load_backup",
    "mills_world",
    "nullable_fields",
    "synthetic_world",
    "talk",
    "workload_world",
]

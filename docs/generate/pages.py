"""Which reference pages there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docs.generate.commands import commands_page
from docs.generate.data import datasets_page, tables_page, tasks_page
from docs.generate.files import files_page
from docs.generate.filters import criteria_page, profiles_page
from docs.generate.papers import papers_page
from docs.generate.python_api import python
from docs.generate.settings import models_page, settings_page

FOLDER = Path(__file__).parent.parent / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "criteria.md": criteria_page,
    "datasets.md": datasets_page,
    "files.md": files_page,
    "models.md": models_page,
    "papers.md": papers_page,
    "profiles.md": profiles_page,
    "python.md": python,
    "settings.md": settings_page,
    "tables.md": tables_page,
    "tasks.md": tasks_page,
}

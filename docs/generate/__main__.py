"""Write the reference pages: `python -m docs.generate`."""

from __future__ import annotations

from docs.generate.pages import FOLDER, PAGES

for page, render in PAGES.items():
    (FOLDER / page).write_text(render(), encoding="utf-8")

"""Write the reference pages, and what each paper brings: `python -m docs.generate`."""

from __future__ import annotations

from docs.generate.pages import FOLDER, PAGES
from docs.generate.papers import CONTENTS, contents

CONTENTS.write_text(contents(), encoding="utf-8")
for page, render in PAGES.items():
    (FOLDER / page).write_text(render(), encoding="utf-8")

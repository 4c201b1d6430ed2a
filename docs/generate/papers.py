"""What each paper brings: its parts and its tables."""

from __future__ import annotations

import re
from pathlib import Path

import goldpan.papers
from docs.generate.markdown import page

_FOLDER = Path(goldpan.papers.__file__).parent
_PAPERS = """\
What `goldpan reproduce` gives of each paper, and which files of Goldpan it rests on.
[Papers](../papers.md) says where Goldpan differs from these papers."""


def papers_page() -> str:
    """Return the page of the papers, which is made of the READMEs beside them."""
    readmes = sorted(_FOLDER.glob("*/README.md"))
    return page("Papers, table by table", _PAPERS, *map(_section, readmes))


def _section(readme: Path) -> str:
    text = readme.read_text(encoding="utf-8").strip().replace("../../../../docs/", "../")
    return re.sub(r"^(?=#+ )", "#", text, flags=re.M)

"""What each paper brings: its parts and its tables."""

from __future__ import annotations

import re
from pathlib import Path

import goldpan.papers
from docs.generate.markdown import page
from goldpan.core.plugins.loading import shipped_parts

CONTENTS = Path(goldpan.papers.__file__).with_name("contents.toml")
_PAPERS = """\
What `goldpan reproduce` gives of each paper, and which files of Goldpan it rests on.
[Papers](../papers.md) says where Goldpan differs from these papers."""


def papers_page() -> str:
    """Return the page of the papers, which is made of the READMEs beside them."""
    readmes = sorted(CONTENTS.parent.glob("*/README.md"))
    return page("Papers, table by table", _PAPERS, *map(_section, readmes))


def _section(readme: Path) -> str:
    text = readme.read_text(encoding="utf-8").strip().replace("../../../../docs/", "../")
    return re.sub(r"^(?=#+ )", "#", text, flags=re.M)


def contents() -> str:
    """Return the file that tells a name of a paper that is not installed by its paper."""
    lines = ["# Written by python -m docs.generate: the parts of each paper, by kind."]
    for paper, by_kind in shipped_parts().items():
        lines += ["", f"[{paper}]"]
        for kind, names in by_kind.items():
            key = f'"{kind}"' if " " in kind else kind
            lines += [f"{key} = [", *(f'  "{name}",' for name in names), "]"]
    return "\n".join(lines) + "\n"

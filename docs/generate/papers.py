"""What each paper brings, so that a name of one that is not installed is told by its paper."""

from __future__ import annotations

from pathlib import Path

import goldpan.papers
from goldpan.core.plugins import shipped_parts

CONTENTS = Path(goldpan.papers.__file__).with_name("contents.toml")


def contents() -> str:
    """Return the file."""
    lines = ["# Written by python -m docs.generate: the parts of each paper, by kind."]
    for paper, by_kind in shipped_parts().items():
        lines += ["", f"[{paper}]"]
        for kind, names in by_kind.items():
            key = f'"{kind}"' if " " in kind else kind
            lines += [f"{key} = [", *(f'  "{name}",' for name in names), "]"]
    return "\n".join(lines) + "\n"

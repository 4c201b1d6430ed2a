"""What each paper brings: its parts, its methods as type checkers see them, and its tables."""

from __future__ import annotations

import re
from pathlib import Path

import goldpan.operations
import goldpan.papers
from docs.generate.markdown import page
from goldpan.core.plugins.loading import shipped_parts
from goldpan.operations.table import every_command

CONTENTS = Path(goldpan.papers.__file__).with_name("contents.toml")
ADDED = Path(goldpan.operations.__file__).with_name("added.py")
_ADDED = '''\
"""Builders that papers add to `Build`, for type checkers; `python -m docs.generate` writes this.

When the program runs, `Group` finds what is registered, and nothing of a paper is imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from goldpan.operations.workspace import Workspace
{imports}

    P = ParamSpec("P")
    R = TypeVar("R")

    def _method(function: Callable[Concatenate[Workspace, P], R]) -> Callable[P, R]:
        raise NotImplementedError

    class AddedToBuild:
        """Methods and groups of methods, by their names."""

{members}

else:

    class AddedToBuild:
        """Nothing."""
'''
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


def added() -> str:
    """Return the module with the methods of `Build` that papers bring."""
    imports, members = [], []
    for name in sorted(
        name for kinds in shipped_parts().values() for name in kinds.get("command", ())
    ):
        first, *words = name.replace("-", "_").split()
        if first == "build" and len(words) == 1:
            command = every_command()[name]
            module, _, target = (command.group or command.operation).partition(":")
            own = target if command.group else f"_{words[0]}"
            imports.append(
                f"    from {module} import {target}{'' if command.group else f' as {own}'}"
            )
            value = f": {own}" if command.group else f" = staticmethod(_method({own}))"
            members.append(f"        {words[0]}{value}")
    return _ADDED.format(imports="\n".join(sorted(imports)), members="\n".join(members))

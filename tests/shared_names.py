"""Counts what is declared twice: `python -m tests.shared_names`.

Prints the pairs of functions and classes in different files of `src/` that share eight or more
names of parameters or fields; an option that stands in two places drifts apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from tests.places import ROOT

SOURCE = ROOT / "src" / "goldpan"
MOST = 7
"""Names that two declarations may share."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A function with its parameters, or a class with its fields."""

    file: str
    name: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two declarations in different files, and the names that both have."""

    first: Declaration
    second: Declaration
    shared: tuple[str, ...]

    def __str__(self) -> str:
        """Return a line for people."""
        places = f"{self.first.file}:{self.first.name} {self.second.file}:{self.second.name}"
        return f"{len(self.shared)} {places}: {', '.join(self.shared)}"


def find_pairs(folder: Path = SOURCE) -> list[Pair]:
    """Return the pairs that share too many names, those that share most first."""
    declarations = [
        declaration
        for path in sorted(folder.rglob("*.py"))
        for declaration in _declarations(path, folder)
        if len(declaration.names) > MOST
    ]
    pairs = [
        Pair(first, second, tuple(sorted(first.names & second.names)))
        for first, second in combinations(declarations, 2)
        if first.file != second.file and len(first.names & second.names) > MOST
    ]
    return sorted(pairs, key=lambda pair: (-len(pair.shared), str(pair)))


def _declarations(path: Path, folder: Path) -> Iterator[Declaration]:
    file = str(path.relative_to(folder))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            names = {argument.arg for argument in named}
            names |= {node.args.vararg.arg} if node.args.vararg else set()
        elif isinstance(node, ast.ClassDef):
            names = {
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            }
        else:
            continue
        yield Declaration(file, node.name, frozenset(names - {"self"}))


if __name__ == "__main__":
    print("\n".join(map(str, find_pairs())) or "No pair.")  # noqa: T201 - a program

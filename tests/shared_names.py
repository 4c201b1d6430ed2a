"""What is declared twice: an option that stands in two places drifts apart."""

from __future__ import annotations

import ast
from itertools import combinations

from tests.places import ROOT

SOURCE = ROOT / "src" / "goldpan"
MOST = 7
"""Names of parameters or fields that two declarations may share."""


Declaration = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def find_pairs() -> dict[frozenset[str], str]:
    """Return functions and classes of different files that share too many names, and which."""
    declarations = [
        (path, node.name, names)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, Declaration) and len(names := _names(node)) > MOST
    ]
    return {
        frozenset((first, second)): f"{file}:{first} {other}:{second}: {names & others}"
        for (file, first, names), (other, second, others) in combinations(declarations, 2)
        if file != other and len(names & others) > MOST
    }


def _names(node: Declaration) -> set[str]:
    if isinstance(node, ast.ClassDef):
        fields = (item.target for item in node.body if isinstance(item, ast.AnnAssign))
        return {field.id for field in fields if isinstance(field, ast.Name)}
    listed = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return {argument.arg for argument in listed} - {"self"}

"""Imports that are put off: names when they are first used, packages of extras, pandas."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from goldpan.core.errors import GoldpanError, UsageError


def lazily(module: dict[str, Any]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a module, given its `globals()`.

    Its names are those that the stub beside it, the same file as ``.pyi``, imports; type checkers
    read the same stub.
    """

    @cache
    def places() -> dict[str, tuple[str, str]]:
        stub = Path(module["__file__"]).with_suffix(".pyi")
        return {
            alias.asname or alias.name: (str(node.module), alias.name)
            for node in ast.parse(stub.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def names() -> list[str]:
        return sorted(places())

    def get(name: str) -> object:
        if name == "__all__":
            return names()
        if name not in places():
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        place, there = places()[name]
        module[name] = getattr(import_module(place), there)
        return module[name]

    return get, names


DISTRIBUTION = "goldpan-mining"
"""Goldpan's name on package indexes, where `goldpan` is somebody else's package."""
EXTRAS = {
    "accelerate": "training",
    "autorank": "statistics",
    "deepspeed": "training",
    "ijson": "annotate",
    "krippendorff": "annotate",
    "label_studio_sdk": "annotate",
    "marimo": "browse",
    "matplotlib": "plots",
    "obstore": "remote",
    "openai": "review",
    "openpyxl": "xlsx",
    "pandas": "statistics",
    "peft": "training",
    "ray": "ray",
    "scipy": "statistics",
    "sentence_transformers": "training",
    "sklearn": "evaluation",
    "spacy": "nlp",
    "torch": "training",
    "transformers": "training",
    "tree_sitter_julia": "languages",
    "tree_sitter_kotlin": "languages",
    "tree_sitter_lua": "languages",
    "tree_sitter_scala": "languages",
    "tree_sitter_swift": "languages",
    "uv": "verify",
    "xgboost": "evaluation",
    "xlrd": "xlsx",
}
"""The extra that installs a package, by the name under which it is imported."""


def install_remedy(package: str) -> str:
    """Return what to do where a package of an extra is missing; in a clone, from the clone."""
    option, source = _installed_from()
    return f'Run pip install {option}"{source}[{EXTRAS[package]}]"'


@cache
def _installed_from() -> tuple[str, str]:
    """Return pip's option and argument that install Goldpan again as it is installed."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json") or "{}"
    except PackageNotFoundError:
        text = "{}"
    record = json.loads(text)
    folder = Path(url2pathname(urlsplit(record.get("url", "")).path))
    if "dir_info" not in record or not (folder / "pyproject.toml").is_file():
        return "", DISTRIBUTION
    return "-e " if record["dir_info"].get("editable") else "", str(folder)


def load(module: str, user: str, error: type[GoldpanError] = UsageError) -> Any:
    """Return a module of an extra; raises `error`, which names who needs it and what to install.

    Most of these packages have no types that a strict check accepts, hence `Any`.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        if package not in EXTRAS:
            raise
        raise error(
            f"{user} needs {package}, which is not installed", install_remedy(package)
        ) from None


class _Absent:
    """Takes pandas for a package that is not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


class _Arrow:
    """Loads pyarrow, and has it look for pandas while that is absent; it looks again for frames."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "pyarrow":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None or "pandas" in sys.modules:
            return spec
        load = spec.loader.exec_module

        def load_without_pandas(module: ModuleType) -> None:
            load(module)
            absent = _Absent()
            sys.meta_path.insert(0, absent)
            try:
                module.array([])
            finally:
                sys.meta_path.remove(absent)

        spec.loader.exec_module = load_without_pandas  # type: ignore[method-assign]
        return spec


def spare_pandas() -> None:
    """Spare this process the import of pandas, which takes longer than most commands.

    pyarrow imports it with the first list that it is given, to see whether that is a Series.
    """
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _Arrow())

"""Lets pyarrow work without pandas until somebody asks for a data frame."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class _Absent:
    """Takes pandas for a package that is not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


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

"""Runs the plain test functions of some files, as the demo's repository has them.

Run as a script by an interpreter that has nothing but the standard library, so that the demo needs
no network: REPORT FILE ... Of pytest's fixtures it has the two that the demo's tests want; a
function that wants another one is skipped.
"""

import importlib.util
import inspect
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import quoteattr


def run_file(path: str) -> list[str]:
    """Return a test case of JUnit's for each test function of a file."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        return []
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # noqa: BLE001 - whatever a test file raises
        return [_case(path, "", f"<error message={quoteattr(repr(error))}/>")]
    cases = []
    for name, function in vars(module).items():
        if name.startswith("test") and callable(function):
            cases.append(_case(path, name, _outcome(function)))
    return cases


class MonkeyPatch:
    """Takes attributes away, as pytest's fixture of that name does, until the test ends."""

    def __init__(self) -> None:
        self._taken: list[tuple[object, str, object]] = []

    def delattr(self, target: object, name: str) -> None:
        """Take an attribute away."""
        self._taken.append((target, name, getattr(target, name)))
        delattr(target, name)

    def undo(self) -> None:
        """Give back what was taken."""
        while self._taken:
            setattr(*self._taken.pop())


def _outcome(function: Callable[..., object]) -> str:
    patch = MonkeyPatch()
    with tempfile.TemporaryDirectory() as folder:
        fixtures = {"monkeypatch": patch, "tmp_path": Path(folder)}
        wanted = inspect.signature(function).parameters
        if not wanted.keys() <= fixtures.keys():
            return "<skipped/>"
        try:
            function(**{name: fixtures[name] for name in wanted})
        except BaseException as error:  # noqa: BLE001 - whatever a test raises
            return f"<failure message={quoteattr(repr(error))}/>"
        finally:
            patch.undo()
    return ""


def _case(path: str, name: str, outcome: str) -> str:
    module = path.removesuffix(".py").replace("/", ".")
    return (
        f"<testcase classname={quoteattr(module)} name={quoteattr(name)} "
        f"file={quoteattr(path)}>{outcome}</testcase>"
    )


if __name__ == "__main__":
    sys.path.insert(0, "src")
    all_cases = [case for path in sys.argv[2:] for case in run_file(path)]
    Path(sys.argv[1]).write_text(f"<testsuite>{''.join(all_cases)}</testsuite>", encoding="utf-8")

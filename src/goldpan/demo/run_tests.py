"""Runs the plain test functions of some files, as the demo's repository has them.

Run as a script by an interpreter that has nothing but the standard library, so that the demo needs
no network: REPORT FILE ... A function that wants fixtures is skipped; pytest would give them.
"""

import importlib.util
import inspect
import sys
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


def _outcome(function: Callable[[], object]) -> str:
    if inspect.signature(function).parameters:
        return "<skipped/>"
    try:
        function()
    except BaseException as error:  # noqa: BLE001 - whatever a test raises
        return f"<failure message={quoteattr(repr(error))}/>"
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

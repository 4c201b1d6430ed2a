r"""Paths: their written form, and which of them belong to tests.

As git does with `core.quotePath=false`: a path that holds a control character, a quotation mark
or a backslash stands in quotation marks, with `\n`, `\"`, `\\` or the bytes in octal, as `\033`.
Beyond git, the same goes for whatever is not drawn or turns the reading direction, and for bytes
that are not UTF-8, which Python keeps as lone surrogates.

Each language has names that its test runner collects by (`test_x.py`, `x_test.go`, `x.spec.ts`,
`src/test/`); what bears one is a test. A file that merely lies in a folder named for tests may be
a test's data or helper, or a part of the product, as `django/test/client.py` and `numpy/testing/`
are; there the content decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from goldpan.code.languages import CODE_SUFFIXES
from goldpan.core.sanitize import UNDRAWN
from goldpan.git.trees import unquoted

_LETTERS = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_SPECIAL = re.compile(f'[{UNDRAWN}\t\n"\\\\\udc80-\udcff]')
_QUOTED = re.compile(r'"(?:[^"\\]|\\(?:[abtnvfr"\\]|[0-3][0-7][0-7]))*"')


def quote_path(path: str, *, always: bool = False) -> str:
    """Return a path as it can stand on a line, in quotation marks only where it must."""
    if always or _SPECIAL.search(path):
        return f'"{_SPECIAL.sub(_escape, path)}"'
    return path


def unquote_path(text: str) -> str:
    """Return the path that `quote_path` wrote; text that is not quoted comes back as it is."""
    if not _QUOTED.fullmatch(text):
        return text
    return unquoted(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _escape(special: re.Match[str]) -> str:
    letter = _LETTERS.get(ord(special[0]))
    if letter:
        return f"\\{letter}"
    return "".join(f"\\{byte:03o}" for byte in special[0].encode("utf-8", "surrogateescape"))


_COLLECTED = re.compile(
    r"""
    (?:^|/)(?:
        test_[^/]*\.py | [^/]*_tests?\.py | (?:conftest|tests)\.py           # pytest, unittest
      | [^/]*_test\.go                                                      # go test
      | [^/]*[._-](?:test|spec|cy)s?(?:-d)?\.[cm]?[jt]sx?               # Jest, Mocha, Cypress, tsd
      | test\.[cm]?[jt]sx?                                                # node --test, AVA
      | __(?:tests?|mocks|snapshots|fixtures)__/.* | cypress/.*            # Jest, Vitest, Cypress
      | src/(?:test(?:[A-Z]\w*)?|[a-z]\w*Test(?:[A-Z]\w*)?|it)/.*         # Maven, Gradle, sbt
      | (?:[A-Z]\w*)?(?:Tests?|TestCase|IT)\.(?:java|kt|kts|scala|groovy|cs|swift|php)
      | (?:[A-Z]\w*)?Spec\.(?:kt|kts|scala|groovy|swift|php|hs)
      | (?:[A-Z]\w*)?Tests?\.(?:fs|vb|hs|sol|mm?|cc|cpp|cxx|cls)
      | Test[A-Z]\w*\.(?:java|kt|scala|groovy|php|cc|cpp|cxx|cls)
      | [A-Z]\w*Suite\.scala
      | [^/]*[._-](?:test|spec)\.(?:rb|cr|exs|dart|cc|cpp|cxx|cu|mm?|lua|ml|jl|nim|zig|el|rkt|hs)
      | [^/]*_(?:test|spec)\.(?:c|sh|clj[cs]?|erl|gleam|v|odin|rego)
      | [^/]*_tests?\.bzl                                                 # Bazel
      | [^/]*(?:_unittest|_gtest|_browsertest)\.(?:cc|cpp|cxx|mm)
      | test[_-][^/]*\.(?:c|cc|cpp|cxx|R|r|el|ml|jl|lua|nim|zig|mojo|sh)
      | (?:[^/]*_)?tests\.rs                                                # `mod tests;`
      | [^/]*[_-]tests\.(?:erl|el|move) | [^/]*_SUITE\.erl | runtests\.jl
      | spec/.*\.rb | step_definitions/.* | features/(?:steps/.*|environment)\.py # RSpec, Cucumber
      | [^/]*\.(?:t|t\.sol|bats|phpt|feature|robot|rakutest|tftest\.hcl|[Tt]ests\.ps1)
      | x?t/(?:.*/)?[^/]*\.(?:pl|pm|sh)                                     # prove, git's own
    )$
    """,
    re.X,
)
# Maven's and Gradle's folders for what is shipped: JUnit's own `Test.java` is no test.
_SHIPPED = re.compile(r"(?:^|/)src/(?:main|[a-z]\w*Main)/")
_MANY = (
    r"(?:[^/]*[._-])?tests|unittests|selftests|testsuites?|integration_test|specs|"
    r"testdata|test_data|e2e|(?-i:[^/]*(?:[A-Za-z0-9]Tests|\.Test))"
)
_FOLDER = re.compile(
    rf"(?:^|/)(?:test|spec|testing|unittest|selftest|fixtures|(?-i:[^/]*[a-z0-9]Test)|{_MANY})/"
    r"|\.(?:snap|ambr)$",  # what a runner compares with
    re.I,
)
_PLURAL_OR_TOP = re.compile(
    rf"(?:^|/)(?:{_MANY})/|^(?:(?:packages|crates|apps|libs)/[^/]+/)?(?:test|spec)/"
    r"|(?:^|/)(?:test|spec)/(?:.*/)?fixtures/",
    re.I,
)
# A page on tests, or the specification of a format.
_DOCUMENTED = re.compile(r"(?:^|/)(?:docs?|documentation)/.*\.(?:md|mdx|rst|adoc|html)$", re.I)
_DEFINES = {
    ".py": re.compile(
        r"^[ \t]*(?:async\s+)?def\s+test_?\w*\s*\(|^[ \t]*class\s+\w+\(.*TestCase\)", re.M
    ),
    ".rs": re.compile(r"^[ \t]*#\[(?:\w+::)*test\b", re.M),
    ".go": re.compile(r"^func\s+(?:Test|Benchmark|Fuzz)[A-Z_]\w*\(", re.M),
    ".java": re.compile(r"^[ \t]*@(?:Parameterized|Repeated)?Test\b", re.M),
    ".cs": re.compile(r"^[ \t]*\[(?:Fact|Theory|Test(?:Case|Method)?)\b", re.M),
    ".kt": re.compile(r"^[ \t]*@(?:Parameterized)?Test\b", re.M),
    ".rb": re.compile(r"^[ \t]*(?:describe|context|it)\b.*\bdo\b|^[ \t]*def\s+test_", re.M),
    ".php": re.compile(r"function\s+test\w+\s*\(|@test\b"),
    ".c": re.compile(r"^[ \t]*(?:TEST|START_TEST|static\s+void\s+test_?\w*)\s*\(", re.M),
    ".cpp": re.compile(r"^[ \t]*(?:TEST(?:_[FP])?|TEST_CASE|BOOST_AUTO_TEST_CASE)\s*\(", re.M),
}
_SCRIPT = re.compile(  # also of tap, tape, QUnit and Deno
    r"^[ \t]*(?:(?:await[ ])?(?:t|tap|QUnit|Deno)\.)?(?:describe|it|test|suite)(?:\.\w+)*\s*\("
    r"|^[ \t]*(?:tape|t\.(?:plan|equal|same|strictSame|match|ok|throws|end))\s*\(",
    re.M,
)
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_LONGEST = 2_000_000  # characters of a file that are looked at


def is_test_file(path: str, content: str | None = None) -> bool:
    """Return whether a file of a repository belongs to its tests.

    `path` is relative to the root; `content` settles what the path leaves open. Without it, a
    file below a folder named for tests counts as one.
    """
    if _COLLECTED.search(path) and not _SHIPPED.search(path):
        return True
    if not _FOLDER.search(path) or _DOCUMENTED.search(path):
        return False
    suffix = PurePosixPath(path).suffix.lower()
    if suffix not in CODE_SUFFIXES or _PLURAL_OR_TOP.search(path) or content is None:
        return True
    return _defines_tests(suffix, content[:_LONGEST])


def is_test_change(change: Mapping[str, Any], blob: Callable[[str], bytes | None]) -> bool:
    """Return whether a changed file, a row of `changes`, belongs to tests.

    `blob` gives the content that settles it: that after the change or, of a removed file, before.
    """
    path = change["path"]
    if is_test_file(path) == is_test_file(path, ""):
        return is_test_file(path)
    data = blob(change["blob_after"] or change["blob_before"])
    return is_test_file(path, None if data is None else data.decode("utf-8", "replace"))


def holds_tests(path: str, content: str) -> bool:
    """Return whether a runner finds tests in a file of tests, rather than data or helpers."""
    file = PurePosixPath(path)
    if file.name == "conftest.py":
        return False
    return bool(_COLLECTED.search(path)) or _defines_tests(file.suffix, content[:_LONGEST])


def _defines_tests(suffix: str, content: str) -> bool:
    pattern = _SCRIPT if suffix in _SCRIPTS else _DEFINES.get(suffix)
    return pattern is not None and pattern.search(content) is not None

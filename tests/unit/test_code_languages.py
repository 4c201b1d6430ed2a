from __future__ import annotations

import subprocess
import sys

import pytest

from goldpan.code.grammar import read
from goldpan.code.languages import CODE_SUFFIXES, LANGUAGES, language_of, suffix_of
from goldpan.code.paths import is_test_change, is_test_file


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.py", "Python"),
        ("src/pkg/A.PY", "Python"),
        ("a.min.js", "JavaScript"),
        ("a.jsx", "JavaScript"),
        ("a.d.ts", "TypeScript"),
        ("a.tsx", "TSX"),
        ("a.h", "C"),
        ("a.hpp", "C++"),
        ("a.cu", "Cuda"),
        ("a.cs", "C#"),
        ("a.m", "Objective-C"),
        ("a.pl", "Perl"),
        ("a.R", "R"),
        ("a.vb", "Visual Basic .NET"),
        ("a.fs", "F#"),
        ("a.f90", "Fortran Free Form"),
        ("a.sh", "Shell"),
        (".hidden/a.rs", "Rust"),
        ("a b/ü.kt", "Kotlin"),
    ],
)
def test_language_of_a_path(path: str, name: str) -> None:
    language = language_of(path)
    assert language is not None
    assert language.name == name
    assert suffix_of(path) in CODE_SUFFIXES


@pytest.mark.parametrize(
    "path",
    [
        *("", "Makefile", "README.md", "a.json", "a.yml", "a.toml", "a.html", "a.css", "a.vue"),
        *("a.sql", "a.ipynb", "a.tex", "CMakeLists.txt", "a.cmake", "py", ".py", "dir/.js"),
        *("a.py/", "dir.py/file", "a.py.orig", "a.", "a.py "),
    ],
)
def test_not_code(path: str) -> None:
    assert language_of(path) is None
    assert suffix_of(path) not in CODE_SUFFIXES


def test_the_table_is_sound() -> None:
    names = [language.name for language in LANGUAGES]
    suffixes = [suffix for language in LANGUAGES for suffix in language.suffixes]
    assert len(names) == len(set(names)) > 100
    assert len(suffixes) == len(set(suffixes)) == len(CODE_SUFFIXES) > 200
    for suffix in suffixes:
        assert suffix == suffix.lower()
        assert suffix_of(f"a{suffix}") == suffix
    expected = "Python Java JavaScript TypeScript TSX Go C C++ Rust C# Ruby PHP Kotlin Scala"
    parsed = {language.name for language in LANGUAGES if language.grammar}
    assert parsed >= {*expected.split(), "Swift", "Shell", "Lua", "Julia"}


@pytest.mark.parametrize(
    "language", [language for language in LANGUAGES if language.grammar], ids=lambda x: x.name
)
def test_every_grammar_loads_and_reads_nothing(language: object) -> None:
    (grammar,) = (other.grammar for other in LANGUAGES if other is language)
    assert grammar is not None
    reading = read(b"", grammar)
    assert reading.clean
    assert (reading.stripped.code, reading.stripped.comments) == (b"", [])


def test_parsers_load_only_when_they_are_needed() -> None:
    code = (
        "import sys, goldpan.code.substance as w\n"
        "from goldpan.code.substance import compare\n"
        "compare(b'a', b'b', 'a.md')\n"
        "compare(b'int a;', b'int b;', 'a.c')\n"
        "assert not [name for name in sys.modules if name.startswith('tree_sitter')]\n"
        "compare(b'a = 1', b'a = 2', 'a.py')\n"
        "print(*[name for name in sys.modules if name.startswith('tree_sitter_')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} == {"tree_sitter_python"}


@pytest.mark.parametrize(
    "path",
    [
        *("tests/test_reader.py", "pkg/tests/test_reader.py", "pkg/reader_test.py", "conftest.py"),
        *("src/conftest.py", "tests/data/broken.json", "tests/helpers.py", "pkg/server_test.go"),
        *("src/app.test.tsx", "src/app.spec.js", "src/__tests__/app.js"),
        *("core/src/test/java/org/x/Base.java", "core/ReaderTest.java", "core/TestReader.java"),
        *("spec/reader_spec.rb", "src/base58_unittest.cc", "test/runner.sh"),
        *("src/UnitTests/Maps.cs", "src/Box.Tests/Base.cs", "Box.Test/Maps.cs", "box-tests/a.c"),
        *("core/src/commonTest/kotlin/Base.kt", "core/src/testFixtures/java/Base.java"),
        *("src/reader/tests.rs", "src/box_tests.rs", "types/box.test-d.ts", "e/box.cy.ts"),
        *("gems/box/spec/spec_helper.rb", "packages/box/test/support/env.js"),
        *("contracts/Box.t.sol", "src/BoxTest.sol", "t/basic.t", "xt/pod.t", "cpan/Box/t/lib/A.pm"),
        *("t/t0001-init.sh", "test.t/run.t", "lib/strict.t", "t/raku/a.rakutest"),
        *("llvm/unittests/ADT/APIntTest.cpp", "lib/unittests/Helper.h", "base/box_browsertest.cc"),
        *("src/AppTests.m", "src/ui/BoxTests.mm", "src/TestBox.cxx", "src/box-test.cc"),
        *("box_test.exs", "box_test.clj", "box_tests.erl", "box_SUITE.erl", "box_spec.cr"),
        *("src/Data/BoxSpec.hs", "src/BoxSuite.scala", "src/BoxTests.fs", "src/BoxTest.cls"),
        *("R/tests/testthat.R", "pkg/test-box.R", "lisp/box-tests.el", "lisp/test-box.el"),
        *("pkg/runtests.jl", "test_box.jl", "box_test.zig", "box_test.dart", "test_box.lua"),
        *("bin/box.bats", "ext/box/001.phpt", "login.feature", "login.robot", "a.tftest.hcl"),
        *(
            "src/Box.Tests.ps1",
            "box_spec.sh",
            "policy/box_test.rego",
            "test_box.ml",
            "test_box.mojo",
        ),
        *("tools/selftests/net/a.c", "gcc/testsuite/gcc.dg/a.c", "app/integration_test/a.dart"),
        *("web/cypress/support/e.ts", "src/__test__/a.ts", "src/__snapshots__/a.snap"),
        *("features/step_definitions/box.rb", "src/test_box.c", "src/test-box.c"),
        *("app/src/androidTestGplay/java/Base.java", "rules/box_test.bzl", "rules/box_tests.bzl"),
        *("test.js", "features/steps/box.py", "features/environment.py", "src/box.snap"),
        "src/box/test/fixtures/a.ts",
    ],
)
def test_a_name_that_runners_collect_or_a_folder_of_tests_is_a_test(path: str) -> None:
    assert is_test_file(path)
    assert is_test_file(path, "")


@pytest.mark.parametrize(
    "path",
    [
        *("src/latest.py", "contest/entry.py", "src/attestation/verify.go", "src/protest.java"),
        *("docs/testing.md", "src/inspector.js", "src/Latest.java", "README.md"),
        *("src/main/java/org/x/Test.java", "x/src/commonMain/kotlin/TypeSpec.kt"),
        *(
            "src/contest.sol",
            "lib/test.rb",
            "lib/attest.cr",
            "src/latest.hs",
            "a/t.py",
            "fast/a.pm",
        ),
        *("src/feature.rb", "src/snapshots/a.ts", "src/unittest.ts", "src/Contest.cpp", "bat/a.s"),
        *("docs/spec/format.md", "features/box.py", "src/features/box.ts"),
        *("core/KeySpec.java", "src/CONTEST/a.c", "src/ABTest/panel.tsx", "src/cargo_test.rs"),
    ],
)
def test_letters_within_a_word_are_no_test(path: str) -> None:
    assert not is_test_file(path, "")


@pytest.mark.parametrize("removed", [False, True])
def test_the_content_before_settles_what_a_removed_file_was(removed: bool) -> None:
    """And that after the change, of any other; nothing but the path where it cannot be read."""
    blobs = {"test": b"def test_get(): ...\n", "help": b"def get(): ...\n"}
    for content, is_test in (("test", True), ("help", False), ("lost", True)):
        sides: dict[str, str | None] = {"blob_before": "lost", "blob_after": content}
        if removed:
            sides = {"blob_before": content, "blob_after": None}
        change = {"path": "django/test/client.py", **sides}
        assert is_test_change(change, blobs.get) is is_test
    assert not is_test_change({**change, "path": "src/client.py"}, blobs.get)


def test_a_product_that_helps_testing_is_told_by_its_content() -> None:
    client = "class Client:\n    def get(self, path): ...\n"
    tests = "def test_get():\n    assert Client().get('/')\n"
    assert not is_test_file("django/test/client.py", client)
    assert is_test_file("django/test/client.py", tests)
    assert not is_test_file("numpy/testing/utils.py", client)
    assert is_test_file("src/testing/checks.rs", "mod t {\n  #[test]\n  fn adds() {}\n}")
    assert not is_test_file("src/testing/kit.ts", "export const kit = 1;\n")
    for call in ("describe('kit', () => {})", "t.test('kit', t => {})", "tape('kit', t => {})"):
        assert is_test_file("src/testing/kit.ts", f"{call}\n")
    assert is_test_file("src/BoxTest/Maps.cs", "class Maps\n{\n    [Fact]\n    void Is() {}\n}")
    assert not is_test_file("src/BoxTest/Kit.cs", "class Kit\n{\n    [Obsolete]\n}")

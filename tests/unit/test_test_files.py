"""Tests are told from code by path, and by content where the path leaves it open."""

from __future__ import annotations

import pytest

from goldpan.code.paths import is_test_file


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_reader.py",
        "pkg/tests/test_reader.py",
        "pkg/reader_test.py",
        "conftest.py",
        "src/conftest.py",
        "tests/data/broken.json",
        "tests/helpers.py",
        "pkg/server_test.go",
        "src/app.test.tsx",
        "src/app.spec.js",
        "src/__tests__/app.js",
        "core/src/test/java/org/x/Base.java",
        "core/ReaderTest.java",
        "core/TestReader.java",
        "spec/reader_spec.rb",
        "src/base58_unittest.cc",
        "test/runner.sh",
    ],
)
def test_a_name_that_runners_collect_or_a_folder_of_tests_is_a_test(path: str) -> None:
    assert is_test_file(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/latest.py",
        "contest/entry.py",
        "src/attestation/verify.go",
        "src/protest.java",
        "docs/testing.md",
        "src/inspector.js",
        "src/Latest.java",
        "README.md",
    ],
)
def test_letters_within_a_word_are_no_test(path: str) -> None:
    assert not is_test_file(path, "")


def test_a_product_that_helps_testing_is_told_by_its_content() -> None:
    client = "class Client:\n    def get(self, path): ...\n"
    tests = "def test_get():\n    assert Client().get('/')\n"
    assert not is_test_file("django/test/client.py", client)
    assert is_test_file("django/test/client.py", tests)
    assert not is_test_file("numpy/testing/utils.py", client)
    assert is_test_file("src/testing/checks.rs", "mod t {\n  #[test]\n  fn adds() {}\n}")
    assert not is_test_file("src/testing/kit.ts", "export const kit = 1;\n")
    assert is_test_file("src/testing/kit.ts", "describe('kit', () => {})\n")

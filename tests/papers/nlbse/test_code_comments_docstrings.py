"""Docstrings of Python."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldpan.papers.nlbse.comment_declarations import read_docstrings
from goldpan.papers.nlbse.comment_extract import CommentSource, read_file

ALL = frozenset({"class", "module", "function"})

MODULE = '''\
#!/usr/bin/env python
# A remark.
"""Bowls.

They hold water.
"""

from __future__ import annotations


@dataclass
@other("""no
class""")
class Bowl(Base,
           metaclass=Meta):
    # remark
    """Holds water."""

    size = 3
    """Of the bowl: an attribute, no class."""

    class Rim:
        """Leaks."""

    def pour(self):
        """Pour it."""

        class Local:
            "In a method."


class Empty:
    pass


class Late:
    x = 1
    """Too late."""
'''


def names(text: str, kinds: frozenset[str] = ALL) -> list[tuple[str, str, str]]:
    comments, _ = read_docstrings(text.encode(), "bowls", kinds)
    return [(comment.name, comment.kind, comment.text.strip()) for comment in comments]


def docstring(literal: str) -> str | None:
    """Return what is read of a class whose first statement is a literal."""
    docstrings = names(f"class A:\n    {literal}\n", frozenset({"class"}))
    return docstrings[0][2] if docstrings else None


def test_only_classes_unless_asked() -> None:
    classes = [name for name, _, _ in names(MODULE, frozenset({"class"}))]
    assert classes == ["Bowl", "Bowl.Rim", "Bowl.pour.Local"]


def test_modules_and_functions() -> None:
    docstrings = names(MODULE)
    assert ("bowls", "module", "Bowls.\n\nThey hold water.") in docstrings
    assert ("Bowl.pour", "function", "Pour it.") in docstrings
    assert len(docstrings) == 5


def test_a_module_that_is_one_class_has_no_docstring_of_its_own() -> None:
    assert names('class A:\n    "Holds."') == [("A", "class", "Holds.")]


def test_the_code_is_the_class_without_its_docstring() -> None:
    code = read_file(CommentSource("bowls.py", MODULE.encode())).rows[0]["code"]
    assert code.startswith("class Bowl(Base,")
    assert "Holds water" not in code
    assert "size = 3" in code


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ('"""A \\"b\\" c\\tä\\u00e4\\N{BULLET}."""', 'A "b" c\tää•.'),
        ('"A. " "B."', "A. B."),
        ('"A. " r"\\B."', "A. \\B."),
        ('("A.")', "A."),
        ('"""A\\\n    B"""', "A    B"),
        ('"nul \\0 and half \\ud800 stay"', "nul \\0 and half \\ud800 stay"),
        ('"A. " f"{x}"', None),
        ('"A." + "B."', None),
        ('"A.", "B."', None),
        ('"A." % x', None),
        ('x = "A."', None),
        ('"A.".strip()', None),
        ("...", None),
    ],
)
def test_forms_of_docstrings(literal: str, text: str | None) -> None:
    assert docstring(literal) == text


WORDS = st.text(alphabet="cd ä\\n\"'{}\n\t.", max_size=12)


@given(st.sampled_from(["", "r", "u", "R", "f", "b", "rb"]), st.sampled_from(['"', '"""']), WORDS)
@example("", '"', '"\n"')
def test_a_docstring_is_what_python_takes_for_one(prefix: str, quote: str, words: str) -> None:
    text = f"class A:\n    {prefix}{quote}{words}{quote}\n"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    body = tree.body[0]  # words may end the class and begin a statement after it
    assert isinstance(body, ast.ClassDef)
    expected = ast.get_docstring(body, clean=False)
    comments, _ = read_docstrings(text.encode(), "a", frozenset({"class"}))
    read = comments[0].text if comments else None
    assert (read or "") == (expected or "")

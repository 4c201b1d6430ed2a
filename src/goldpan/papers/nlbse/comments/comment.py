"""A comment on a class, as it is found in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.papers.nlbse.comments.text import CommentText, Span

Form = Literal["doc-comment", "docstring", "class-comment"]
"""Before the declaration, in its body, or apart from the code as in Smalltalk."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment and what it is about; spans are of the file as UTF-8."""

    name: str
    """Of the class, after those around it: ``Outer.Inner``."""
    kind: str
    """What is declared: class, interface, struct, module, function and the like."""
    form: Form
    text: CommentText
    span: Span
    """With its marks."""
    about: Span | None
    """The declaration, which may hold the comment; None where it is another file."""

"""Which nodes of a grammar declare classes, and which comments document them.

In a query `@inner` is a declaration and `@name` its name. A node of `wrapped` that is `@outer`
begins where the declaration does for its reader: its comment stands before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """How the documented classes of a language are found."""

    package: str
    kinds: Mapping[str, tuple[str, ...]]
    """Queries by what they declare."""
    comments: tuple[str, ...]
    """Node types."""
    marks: str
    """A regular expression for the first characters of a comment that documents."""
    wrapped: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Node types that may stand between a comment and its declaration."""
    adjacent: bool = False
    """Whether a blank line between comment and declaration parts them."""
    entry: str = "language"


def _named(**types: str) -> dict[str, tuple[str, ...]]:
    """Return the queries of node types that have a name."""
    return {kind: (f"({type_} name: (_) @name) @inner",) for kind, type_ in types.items()}


_STARS = r"/\*\*(?![/<])"
_SLASHES = r"///(?![/<])"
_BOTH = f"{_STARS}|{_SLASHES}"
_DOXYGEN = rf"{_BOTH}|/\*!(?!<)|//!(?!<)"
_BRACES = ("line_comment", "block_comment")

_EXPORTED = "(export_statement declaration: (_) @inner) @outer"


def _typescript(entry: str) -> Rules:
    return Rules(
        "tree_sitter_typescript",
        {
            **_named(
                **{"class": "class_declaration"},
                interface="interface_declaration",
                enum="enum_declaration",
            ),
            "abstract class": ("(abstract_class_declaration name: (_) @name) @inner",),
        },
        ("comment",),
        _STARS,
        wrapped=(_EXPORTED, "(ambient_declaration (_) @inner) @outer"),
        entry=entry,
    )


def _c(package: str, **more: str) -> Rules:
    bodies = {"struct": "struct_specifier", "union": "union_specifier", "enum": "enum_specifier"}
    bodies |= more
    kinds: dict[str, tuple[str, ...]] = {}
    for kind, type_ in bodies.items():
        kinds[kind] = (
            f"({type_} name: (_) @name body: (_)) @inner",
            f"(type_definition type: ({type_} !name body: (_))"
            " declarator: (type_identifier) @name) @inner",
        )
    around = ["type_definition", "declaration", "field_declaration"]
    wrapped = [
        f"({outer} type: ({type_}) @inner) @outer" for outer in around for type_ in bodies.values()
    ]
    if package == "tree_sitter_cpp":
        wrapped += [f"(template_declaration ({type_}) @inner) @outer" for type_ in bodies.values()]
    return Rules(package, kinds, ("comment",), _DOXYGEN, wrapped=tuple(wrapped))


RULES: Mapping[str, Rules] = {
    "C": _c("tree_sitter_c"),
    "C++": _c("tree_sitter_cpp", **{"class": "class_specifier"}),
    "C#": Rules(
        "tree_sitter_c_sharp",
        _named(
            **{"class": "class_declaration"},
            interface="interface_declaration",
            struct="struct_declaration",
            record="record_declaration",
            enum="enum_declaration",
        ),
        ("comment",),
        _BOTH,
    ),
    "Go": Rules(
        "tree_sitter_go",
        {
            kind: (f"(type_spec name: (_) @name type: ({kind}_type)) @inner",)
            for kind in ("struct", "interface")
        },
        ("comment",),
        r"//|/\*",
        wrapped=("(type_declaration . (type_spec) @inner .) @outer",),
        adjacent=True,
    ),
    "Java": Rules(
        "tree_sitter_java",
        _named(
            **{"class": "class_declaration"},
            interface="interface_declaration",
            enum="enum_declaration",
            record="record_declaration",
            annotation="annotation_type_declaration",
        ),
        _BRACES,
        _BOTH,
    ),
    "JavaScript": Rules(
        "tree_sitter_javascript",
        _named(**{"class": "class_declaration"}),
        ("comment",),
        _STARS,
        wrapped=(_EXPORTED,),
    ),
    "Kotlin": Rules(
        "tree_sitter_kotlin",
        _named(**{"class": "class_declaration"}, object="object_declaration"),
        _BRACES,
        _STARS,
    ),
    "PHP": Rules(
        "tree_sitter_php",
        _named(
            **{"class": "class_declaration"},
            interface="interface_declaration",
            trait="trait_declaration",
            enum="enum_declaration",
        ),
        ("comment",),
        _STARS,
        entry="language_php",
    ),
    "Ruby": Rules(
        "tree_sitter_ruby",
        _named(**{"class": "class"}, module="module"),
        ("comment",),
        r"#|=begin",
        adjacent=True,
    ),
    "Rust": Rules(
        "tree_sitter_rust",
        _named(struct="struct_item", enum="enum_item", union="union_item", trait="trait_item"),
        _BRACES,
        _BOTH,
        skipped=("attribute_item",),
    ),
    "Scala": Rules(
        "tree_sitter_scala",
        _named(
            **{"class": "class_definition"},
            object="object_definition",
            trait="trait_definition",
            enum="enum_definition",
        ),
        ("comment", "block_comment"),
        _STARS,
    ),
    "Swift": Rules(
        "tree_sitter_swift",
        _named(**{"class": "class_declaration"}, protocol="protocol_declaration"),
        ("comment", "multiline_comment"),
        _BOTH,
    ),
    "TypeScript": _typescript("language_typescript"),
    "TSX": _typescript("language_tsx"),
}
"""By the name of the language."""

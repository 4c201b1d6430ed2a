"""The programming languages: what files bear them, and how their code is told from their texts.

Names and main suffixes are those of GitHub's Linguist, of the languages that it calls
programming. Markup and data (.html .css .vue .md .json .yml .toml .sql .proto .ipynb), templates
(.erb .jsp .cshtml) and languages that describe a build or a configuration (CMake, Dockerfile,
HCL, M4, Makefile, Nix) are not code here. A language is one entry; the first entry with a suffix
has it.

Suffixes that several languages share: .h is C, or C++ where only that parses it; .js may hold
Flow's types; .m is Objective-C, .pl and .pm Perl, .fs F#, .v Verilog, .d D, .r R, .cl OpenCL,
.st Smalltalk, .pp Puppet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.code.grammar import Grammar
from goldpan.code.lexer import C_LIKE, GO, JAVA, SOLIDITY, LexicalRules
from goldpan.code.plain_languages import LIKE_C, OTHERS


@dataclass(frozen=True, slots=True)
class Language:
    """A programming language; its suffixes are lower case, with their dot."""

    name: str
    suffixes: tuple[str, ...]
    grammar: Grammar | None = None
    lexis: LexicalRules | None = None
    """Set where comments and strings can be told without a grammar."""
    layout: Literal["free", "indented", "directives"] = "free"
    """Significance of line structure: none, indentation, or lines that begin with ``#`` as
    directives."""


_C_STRINGS = ("string_literal", "concatenated_string")
_C_CODE = """
(preproc_include) @exact
(gnu_asm_expression) @exact
(concatenated_string (identifier) @code)
(preproc_arg) @raw
"""
_C = Grammar(
    "tree_sitter_c",
    comments=("comment",),
    strings=_C_STRINGS,
    patterns=_C_CODE,
    prefixes=b"LuU8",
    raw=C_LIKE,
)
_CPP = Grammar(
    "tree_sitter_cpp",
    comments=("comment",),
    strings=(*_C_STRINGS, "raw_string_literal"),
    patterns=_C_CODE + "(linkage_specification value: (string_literal) @code)",
    prefixes=b"LuU8",
    raw=C_LIKE,
)
_SCRIPT_COMMENTS = ("comment", "html_comment", "hash_bang_line")
_JSX_TEXT = ("jsx_text", "html_character_reference")
_SCRIPT_CODE = """
(import_statement) @exact
(export_statement source: (string) @code)
(call_expression function: (import) arguments: (arguments . (string) @code))
(call_expression
  function: (identifier) @name arguments: (arguments . (string) @code) (#eq? @name "require"))
"""
_TYPED_CODE = """
(module name: (string) @code)
(literal_type (string) @code)
"""


def _typescript(entry: str, *texts: str) -> Grammar:
    return Grammar(
        "tree_sitter_typescript",
        comments=(*_SCRIPT_COMMENTS, *texts),
        strings=("string", "template_string"),
        code=("template_substitution",),
        patterns=_SCRIPT_CODE + _TYPED_CODE,
        entry=entry,
    )


_PARSED = (
    Language(
        "Python",
        (".py", ".pyi", ".pyw"),
        Grammar(
            "tree_sitter_python",
            comments=("comment", "line_continuation"),
            strings=("string", "concatenated_string"),
            code=("interpolation",),
            patterns="(expression_statement . [(string) (concatenated_string)] .) @comment",
            prefixes=b"bB",
        ),
        layout="indented",
    ),
    Language("C", (".c", ".h"), _C, C_LIKE, "directives"),
    Language(
        "C++",
        (
            ".cpp",
            ".cc",
            ".cxx",
            ".c++",
            ".hpp",
            ".hh",
            ".hxx",
            ".h++",
            ".inl",
            ".ipp",
            ".tpp",
            ".ino",
        ),
        _CPP,
        C_LIKE,
        "directives",
    ),
    Language("Cuda", (".cu", ".cuh"), _CPP, C_LIKE, "directives"),
    Language(
        "Java",
        (".java",),
        Grammar(
            "tree_sitter_java",
            comments=("line_comment", "block_comment"),
            strings=("string_literal",),
            code=("string_interpolation",),
        ),
        JAVA,
    ),
    Language(
        "JavaScript",
        (".js", ".jsx", ".mjs", ".cjs"),
        Grammar(
            "tree_sitter_javascript",
            comments=(*_SCRIPT_COMMENTS, *_JSX_TEXT),
            strings=("string", "template_string"),
            code=("template_substitution",),
            patterns=_SCRIPT_CODE,
        ),
    ),
    Language("TypeScript", (".ts", ".mts", ".cts"), _typescript("language_typescript")),
    Language("TSX", (".tsx",), _typescript("language_tsx", *_JSX_TEXT)),
    Language(
        "Go",
        (".go",),
        Grammar(
            "tree_sitter_go",
            comments=("comment",),
            strings=("interpreted_string_literal", "raw_string_literal"),
            patterns="(import_spec) @exact (field_declaration tag: (_) @code)",
        ),
        GO,
    ),
    Language(
        "Rust",
        (".rs",),
        Grammar(
            "tree_sitter_rust",
            comments=("line_comment", "block_comment", "shebang"),
            strings=("string_literal", "raw_string_literal"),
            patterns="""
            ((attribute_item (attribute . (identifier) @name)) @comment (#eq? @name "doc"))
            ((inner_attribute_item (attribute . (identifier) @name)) @comment (#eq? @name "doc"))
            (attribute_item) @exact
            (inner_attribute_item) @exact
            (extern_modifier (string_literal) @code)
            ((macro_invocation macro: (identifier) @name (token_tree (string_literal) @code))
              (#any-of? @name "include" "include_str" "include_bytes" "asm" "global_asm"))
            """,
            prefixes=b"bc",
            inside=rb"\{\{|\{([A-Za-z_]\w*)",
        ),
    ),
    Language(
        "C#",
        (".cs", ".csx"),
        Grammar(
            "tree_sitter_c_sharp",
            comments=("comment", "shebang_directive", "preproc_region", "preproc_endregion"),
            strings=(
                "string_literal",
                "verbatim_string_literal",
                "raw_string_literal",
                "interpolated_string_expression",
            ),
            code=("interpolation",),
        ),
    ),
    Language(
        "Ruby",
        (".rb", ".rake", ".gemspec", ".ru"),
        Grammar(
            "tree_sitter_ruby",
            comments=("comment",),
            strings=("string", "chained_string", "bare_string", "heredoc_body"),
            code=("interpolation",),
            patterns="""
            (call method: (identifier) @name arguments: (argument_list . (string) @code)
              (#any-of? @name "require" "require_relative" "load" "autoload"))
            """,
        ),
    ),
    Language(
        "PHP",
        (".php",),
        Grammar(
            "tree_sitter_php",
            comments=("comment",),
            strings=("string", "encapsed_string", "heredoc_body", "nowdoc_body"),
            patterns="""
            (encapsed_string
              [(expression) (variable_name) (dynamic_variable_name) (subscript_expression)
               (member_access_expression)] @code)
            (heredoc_body
              [(expression) (variable_name) (dynamic_variable_name) (subscript_expression)
               (member_access_expression)] @code)
            (include_expression) @exact
            (include_once_expression) @exact
            (require_expression) @exact
            (require_once_expression) @exact
            """,
            entry="language_php",
        ),
    ),
    Language(
        "Kotlin",
        (".kt", ".kts"),
        Grammar(
            "tree_sitter_kotlin",
            comments=("line_comment", "block_comment", "shebang"),
            strings=("string_literal", "multiline_string_literal"),
            code=("interpolation",),
            inside=rb"\\.|\$([A-Za-z_]\w*|`[^`\n]*`)",
        ),
    ),
    Language(
        "Scala",
        (".scala", ".sc", ".sbt"),
        Grammar(
            "tree_sitter_scala",
            comments=("comment", "block_comment", "xml_comment", "xml_text"),
            strings=("string", "interpolated_string", "xml_string"),
            code=("interpolation",),
            patterns="(literal_type (string) @code)",
        ),
    ),
    Language(
        "Swift",
        (".swift",),
        Grammar(
            "tree_sitter_swift",
            comments=("comment", "multiline_comment", "shebang_line"),
            strings=("line_string_literal", "multi_line_string_literal", "raw_string_literal"),
            code=("interpolated_expression",),
        ),
    ),
    Language(
        "Shell",
        (".sh", ".bash", ".zsh"),
        Grammar(
            "tree_sitter_bash",
            comments=("comment",),
            strings=("string", "raw_string", "ansi_c_string", "heredoc_body"),
            code=("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"),
            patterns="""
            ((command name: (command_name (word) @name)
              . argument: [(string) (raw_string)] @code) (#any-of? @name "source" "."))
            """,
        ),
    ),
    Language(
        "Lua",
        (".lua",),
        Grammar(
            "tree_sitter_lua",
            comments=("comment", "hash_bang_line"),
            strings=("string",),
            patterns="""
            (function_call name: (identifier) @name arguments: (arguments . (string) @code)
              (#any-of? @name "require" "dofile" "loadfile"))
            """,
        ),
    ),
    Language(
        "Julia",
        (".jl",),
        Grammar(
            "tree_sitter_julia",
            comments=("line_comment", "block_comment"),
            strings=("string_literal",),
            code=("string_interpolation",),
            patterns="""
            (source_file (string_literal) @comment)
            (module_definition (string_literal) @comment)
            (struct_definition (string_literal) @comment)
            ((call_expression . (identifier) @name (argument_list . (string_literal) @code))
              (#eq? @name "include"))
            """,
        ),
    ),
)

LANGUAGES: tuple[Language, ...] = (
    *_PARSED,
    Language("Solidity", (".sol",), None, SOLIDITY),
    *(
        Language(name, tuple(has.split()), None, C_LIKE, "directives")
        for name, has in LIKE_C.items()
    ),
    *(Language(name, tuple(has.split())) for name, has in OTHERS.items()),
)

_BY_SUFFIX = {suffix: language for language in reversed(LANGUAGES) for suffix in language.suffixes}
_BY_NAME = {language.name: language for language in LANGUAGES}
_SECOND = {".h": "C++", ".js": "TSX", ".jsx": "TSX"}

CODE_SUFFIXES: frozenset[str] = frozenset(_BY_SUFFIX)
"""The suffixes of code, lower case with their dot (FAUN-Eval, sections 3.3.2 and 3.4.2)."""


def suffix_of(path: str) -> str:
    """Return a path's last suffix, lower case with its dot; a name like ``.bashrc`` has none."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return f".{suffix.lower()}" if stem and dot and suffix else ""


def language_of(path: str) -> Language | None:
    """Return the language that a path's suffix names, or None where it names no code."""
    return _BY_SUFFIX.get(suffix_of(path))


def second_language_of(path: str) -> Language | None:
    """Return the language that may be meant where the first does not parse."""
    return _BY_NAME.get(_SECOND.get(suffix_of(path), ""))

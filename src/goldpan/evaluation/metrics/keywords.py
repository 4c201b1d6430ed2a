"""The keywords of programming languages, which weigh more in CodeBLEU (Ren et al. 2020, 3.1).

Taken from the languages' own references; the original has similar lists for ten of them.
"""

from __future__ import annotations

_C = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while"
)
_CPP = (
    f"{_C} alignas alignof bool catch class concept const_cast consteval constexpr constinit "
    "co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable "
    "namespace new noexcept nullptr operator private protected public reinterpret_cast requires "
    "static_assert static_cast template this thread_local throw true try typeid typename using "
    "virtual wchar_t"
)
_JAVASCRIPT = (
    "async await break case catch class const continue debugger default delete do else export "
    "extends false finally for function if import in instanceof let new null of return static "
    "super switch this throw true try typeof var void while with yield"
)
_TYPESCRIPT = (
    f"{_JAVASCRIPT} abstract any as asserts bigint boolean declare enum implements infer interface "
    "is keyof module namespace never number object override private protected public readonly "
    "satisfies string symbol type undefined unique unknown"
)

KEYWORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "Python": "False None True and as assert async await break case class continue def del "
        "elif else except finally for from global if import in is lambda match nonlocal not or "
        "pass raise return try while with yield",
        "C": _C,
        "C++": _CPP,
        "Cuda": _CPP,
        "Java": "abstract assert boolean break byte case catch char class const continue default "
        "do double else enum extends false final finally float for goto if implements import "
        "instanceof int interface long native new null package permits private protected public "
        "record return sealed short static strictfp super switch synchronized this throw throws "
        "transient true try var void volatile while yield",
        "JavaScript": _JAVASCRIPT,
        "TypeScript": _TYPESCRIPT,
        "TSX": _TYPESCRIPT,
        "Go": "break case chan const continue default defer else fallthrough false for func go "
        "goto if import interface iota map nil package range return select struct switch true "
        "type var",
        "Rust": "Self as async await break const continue crate dyn else enum extern false fn for "
        "if impl in let loop match mod move mut pub ref return self static struct super trait "
        "true type union unsafe use where while",
        "C#": "abstract as async await base bool break byte case catch char checked class const "
        "continue decimal default delegate do double else enum event explicit extern false "
        "finally fixed float for foreach goto if implicit in int interface internal is lock long "
        "namespace new null object operator out override params private protected public "
        "readonly record ref return sbyte sealed short sizeof stackalloc static string struct "
        "switch this throw true try typeof uint ulong unchecked unsafe ushort using var virtual "
        "void volatile while yield",
        "Ruby": "BEGIN END alias and begin break case class def defined? do else elsif end ensure "
        "false for if in module next nil not or redo rescue retry return self super then true "
        "undef unless until when while yield",
        "PHP": "abstract and array as break callable case catch class clone const continue "
        "declare default do echo else elseif empty enddeclare endfor endforeach endif endswitch "
        "endwhile enum extends final finally fn for foreach function global goto if implements "
        "include include_once instanceof insteadof interface isset list match namespace new or "
        "print private protected public readonly require require_once return static switch throw "
        "trait try unset use var while xor yield",
        "Kotlin": "abstract as break by catch class companion const constructor continue data do "
        "else enum false final finally for fun if import in init inline interface internal is "
        "lateinit null object open operator out override package private protected public return "
        "sealed super suspend this throw true try typealias val var vararg when where while",
        "Scala": "abstract case catch class def do else enum export extends false final finally "
        "for given if implicit import lazy match new null object override package private "
        "protected return sealed super then this throw trait true try type val var while with "
        "yield",
        "Swift": "Any Self actor as associatedtype async await break case catch class continue "
        "default defer deinit do else enum extension fallthrough false fileprivate for func "
        "guard if import in init inout internal is let nil open operator private protocol public "
        "repeat rethrows return self static struct subscript super switch throw throws true try "
        "typealias var where while",
        "Shell": "case coproc do done elif else esac fi for function if in select then time until "
        "while",
        "Lua": "and break do else elseif end false for function goto if in local nil not or "
        "repeat return then true until while",
        "Julia": "abstract baremodule begin break catch const continue do else elseif end export "
        "false finally for function global if import in isa let local macro module mutable "
        "primitive quote return struct true try type using where while",
    }.items()
}
"""By the names of `code/languages.py`; a language that is missing has none here."""

"""Lines that a program wrote: logs, stack traces, compiler and test output.

Only the beginning of a line is looked at, so that a long one costs no more than a short one.
"""

from __future__ import annotations

import re

_WIDTH = 400
_PATH = r"(?:[A-Za-z]:)?[^ :()]+"
_TOOL = (
    r"(?:g?make|ninja|cmake|ld|gcc|g\+\+|clang|clang\+\+|cc1|collect2|configure|autoreconf|libtool"
    r"|automake|aclocal|autom4te|bash|sh|zsh|sudo)"
)
_DOTTED = r"[A-Za-z_$][A-Za-z0-9_$]*(?:[.:/][A-Za-z0-9_$<>]+)*"

_PYTHON = (
    r"Traceback \(most recent call last\)",
    r'File "[^"]+", line [0-9]+',
    r"During handling of the above exception",
    r"The above exception was the direct cause",
    r"E {3}",
    r"[=_]{4,} .* [=_]{4,}",
)
_THROWN = (
    rf"(?:Uncaught |Unhandled )?{_DOTTED}(?:Error|Exception|Failure|Interrupt)(?: \[[A-Z_]+\])?:"
    r"(?: |$)",
    rf"{_DOTTED}(?:Error|Exception)$",
)
_JAVA = (
    r"at [^ ()]+\.[^ ()]+\([^()]*\)?",
    r"Caused by: ",
    r'Exception in thread "',
    r"\.\.\. [0-9]+ (?:more|common frames)",
    r"Suppressed: ",
)
_JAVASCRIPT = (
    r"at [^()]*\([^()]*:[0-9]+:[0-9]+\)",
    r"at [^ ]+:[0-9]+:[0-9]+$",
    r"npm (?:ERR!|WARN|error|warn|notice) ",
)
_DOTNET = (
    r"at [^()]+\([^()]*\) in .*:line [0-9]+",
    r"--- End of .*stack trace",
)
_GO = (
    r"goroutine [0-9]+ \[",
    r"panic: ",
    rf"{_PATH}\.go:[0-9]+",
    r"created by [^ ]+\.[^ ]+",
    r"\[signal SIG",
    r"exit status [0-9]+$",
)
_RUST = (
    r"thread '[^']*' (?:\([0-9]+\) )?panicked at",
    r"stack backtrace:",
    r"[0-9]+: +(?:0x[0-9a-f]+ - )?[A-Za-z_<][^ ]*::",
    r"note: run with `RUST_BACKTRACE",
    r"(?:error|warning)\[[A-Z]?[0-9]+\]:",
    r"--> [^ ]+:[0-9]+:[0-9]+",
)
_SCRIPTS = (
    rf"(?:from )?{_PATH}\.(?:rb|php|pl|lua|sh|ex|exs):[0-9]+",
    r"#[0-9]+ .*\([0-9]+\): ",
    r"PHP (?:Fatal|Parse|Warning|Notice|Deprecated)",
)
_NATIVE = (
    r"#[0-9]+ +(?:0x[0-9a-fA-F]+ in )?[^ ]+ ?\(",
    r"==[0-9]+==",
    r"\[ *[0-9]+\.[0-9]+\] ",
    r"(?:Segmentation fault|Aborted|Bus error|Killed) ?(?:\(core dumped\))?$",
    r"SUMMARY: [A-Za-z]+Sanitizer",
    r"[0-9a-f]{4,16}(?::| )[ \t]*(?:[0-9a-f]{2} ){3}",
)
_BUILD = (
    rf"{_PATH}:[0-9]+(?::[0-9]+)?: ",
    rf"{_PATH}\([0-9]+(?:,[0-9]+)?\): (?:fatal )?(?:error|warning)",
    rf"(?:[a-z0-9_.+/-]*/)?{_TOOL}(?:\[[0-9]+\])?: (?:\*\*\*|/|[Ee]rror|[Ff]atal|[Ww]arning"
    r"|Entering|Leaving|Nothing to be done|[^ ]+: |.*(?:not found|No such file|failed|undefined))",
    r"(?:error|warning|fatal|clang: error|collect2: error|configure: error): ",
    r"configure: (?:[A-Z]{5,}|Using|Building|creating|loading|running|summary)",
    r"[^ ]+: In function ",
    r"[^ ]+: more undefined references",
    r"In file included from ",
    r"checking .*\.\.\.",
    r"(?:creating|generating|config\.status: creating) [^ ]+\.[^ ]+$",
    r"(?:CC|CXX|LD|CCLD|CXXLD|AR|GEN|AS|PASS|FAIL|XFAIL|SKIP|ERROR|FAILED|RUN|OK)"
    r"(?: {2,}|: +|\t)[^ ]",
    r"(?:gcc|g\+\+|clang|cc|libtool|cmake|ld|rustc|javac) -",
    r"\[ *[0-9]+%\] ",
    r"\[[0-9]+/[0-9]+\] ",
    r"##\[[a-z]+\]",
)
_LOGS = (
    r"[\[(]?[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[T ,_]+[0-9]{1,2}:[0-9]{2}",
    r"[\[(]?[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,:][0-9]+|[\])]| [A-Z\[])",
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} ",
    r"[\[(<](?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|Debug|Info|Warning|Error"
    r"|debug|info|warn|warning|error) *[\])>]",
    r"(?:TRACE|DEBUG|INFO|WARN|FATAL|CRITICAL|[EWID][0-9]{4}) *[:|\[ -]",
)

_TRACE = re.compile(
    "|".join(
        (
            *_PYTHON,
            *_THROWN,
            *_JAVA,
            *_JAVASCRIPT,
            *_DOTNET,
            *_GO,
            *_RUST,
            *_SCRIPTS,
            *_NATIVE,
            *_BUILD,
            *_LOGS,
        )
    )
)


def is_trace(line: str) -> bool:
    """Say whether a line without its indentation looks written by a program."""
    return _TRACE.match(line, 0, _WIDTH) is not None

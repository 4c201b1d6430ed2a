"""What mkdocs does to pages beside rendering them: unbroken names in code, and what is copied."""

from __future__ import annotations

import re
from html import escape, unescape

_CODE = re.compile(r"(?<!<pre>)<code>([^<]+)</code>")
_HYPHENATED = re.compile(r"(?<!\S)(?=\S*-)\S{2,32}(?!\S)")


_CONSOLE = re.compile(r'<div class="highlight">((?:(?!</div>).)*?class="gp".*?)</div>', re.S)
_TAG = re.compile(r"<[^>]+>")


def on_page_content(html: str, **_: object) -> str:
    """Return the page with short words that have a hyphen marked in code, such as options.

    The copy button of a console block copies its commands, without prompts and output.
    """
    marked = _CODE.sub(lambda code: f"<code>{_HYPHENATED.sub(_marked, code[1])}</code>", html)
    return _CONSOLE.sub(_copied, marked)


def _copied(block: re.Match[str]) -> str:
    commands = []
    is_continued = False
    for line in unescape(_TAG.sub("", block[1])).splitlines():
        if line.startswith("$ ") or is_continued:
            commands.append(line.removeprefix("$ "))
            is_continued = line.endswith("\\")
    text = escape("\n".join(commands))
    return f'<div class="highlight" data-copy="{text}">{block[1]}</div>'


def _marked(word: re.Match[str]) -> str:
    return f'<span class="word">{word[0]}</span>'

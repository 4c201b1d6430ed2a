"""What mkdocs does to pages beside rendering them: names in code are not broken at hyphens."""

from __future__ import annotations

import re

_CODE = re.compile(r"(?<!<pre>)<code>([^<]+)</code>")
_HYPHENATED = re.compile(r"(?<!\S)(?=\S*-)\S{2,32}(?!\S)")


def on_page_content(html: str, **_: object) -> str:
    """Return the page with short words that have a hyphen marked in code, such as options."""
    return _CODE.sub(lambda code: f"<code>{_HYPHENATED.sub(_marked, code[1])}</code>", html)


def _marked(word: re.Match[str]) -> str:
    return f'<span class="word">{word[0]}</span>'

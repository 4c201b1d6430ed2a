"""How the parts of a prompt are put together: on lines, or as CrossCodeBench's authors do.

The paper (section IV-A) shows parts, not how they are joined. The authors' code joins them on one
line and escapes nothing, so a text may imitate the structure; lines keep it unambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from goldpan.core.registry import Registry
from goldpan.papers.crosscodebench.meta import Example, Meta
from goldpan.text.markers import escaped


class Layout(Protocol):
    """What a prompt looks like."""

    def head(self, meta: Meta, instruct: bool) -> str:
        """Return the description, or for instructions the definition."""

    def example(self, example: Example, instruct: bool) -> str:
        """Return an example without its number."""

    def whole(
        self,
        head: str,
        positive: Sequence[str],
        negative: Sequence[str],
        input_text: str,
        instruct: bool,
    ) -> str:
        """Return the prompt for an input."""


class Lines:
    """Parts on lines of their own; texts that look like a part are escaped."""

    def head(self, meta: Meta, instruct: bool) -> str:
        """Return the description, or for instructions the definition."""
        if instruct:
            return f"Definition: {escaped(meta.definition.strip())}"
        return escaped(meta.description.strip())

    def example(self, example: Example, instruct: bool) -> str:
        """Return an example without its number."""
        lines = [f"Input: {escaped(example.input)}", f"Output: {escaped(example.output)}"]
        if instruct and example.reason:
            lines.append(f"Explanation: {escaped(example.reason)}")
        return "\n".join(lines)

    def whole(
        self,
        head: str,
        positive: Sequence[str],
        negative: Sequence[str],
        input_text: str,
        instruct: bool,
    ) -> str:
        """Return the prompt for an input."""
        word = "Positive Example" if instruct else "Example"
        parts = [head]
        parts += [f"{word} {at} -\n{block}" for at, block in enumerate(positive, 1)]
        parts += [f"Negative Example {at} -\n{block}" for at, block in enumerate(negative, 1)]
        text = escaped(input_text)
        parts.append(f"Now complete the following example -\nInput: {text}\nOutput:")
        return "\n\n".join(parts)


class OneLine:
    """Parts joined by `; `, as the authors' code does (src/benchmark/data.py)."""

    def head(self, meta: Meta, instruct: bool) -> str:
        """Return the description, or for instructions the definition."""
        return f"Definition: {meta.definition}" if instruct else f"{meta.description}: "

    def example(self, example: Example, instruct: bool) -> str:
        """Return an example without its number."""
        text = f"input: {example.input}; output: {example.output}"
        return f"{text}, explanation: {example.reason}" if instruct else text

    def whole(
        self,
        head: str,
        positive: Sequence[str],
        negative: Sequence[str],
        input_text: str,
        instruct: bool,
    ) -> str:
        """Return the prompt for an input."""
        if not (instruct or positive):
            return f"{head}{input_text}"
        word = "Positive Example" if instruct else "Example"
        parts = [f"{word} {at} - {text}" for at, text in enumerate(positive, 1)]
        parts += [f"Negative Example {at} - {text}" for at, text in enumerate(negative, 1)]
        # The authors write a minus sign (U+2212) here, and a hyphen before the examples.
        parts.append(f"Now complete the following example \u2212 input: {input_text}; output:")
        return f"{head}; {'; '.join(parts)}" if instruct else f"{head}{'; '.join(parts)}"


LAYOUTS: dict[str, Layout] = {"lines": Lines(), "authors": OneLine()}
"""All layouts by name, the usual one first."""


find_layout = Registry("layout", lambda: LAYOUTS).find

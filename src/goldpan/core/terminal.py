"""The one way to a terminal: what is printed holds no secret and commands nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from goldpan.core.sanitize import printable


class Terminal(Console):
    """A console that takes texts as they are: no markup, no secrets, no unseen characters."""

    def __init__(
        self, *, stderr: bool = False, soft_wrap: bool = True, file: IO[str] | None = None
    ) -> None:
        super().__init__(
            stderr=stderr,
            file=file,
            soft_wrap=soft_wrap,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as it may be printed."""
        return super().render_str(printable(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render a text, or what holds texts."""
        if isinstance(renderable, Text) and printable(renderable.plain) != renderable.plain:
            renderable = Text(printable(renderable.plain), renderable.style)
        return super().render(renderable, options)


def clean(value: object, style: str = "") -> Text:
    """Return a value as a part of a line: what it holds cannot begin a new one."""
    return Text(printable(str(value)).translate({9: " ", 10: " "}), style)


def titled(name: object, rest: str) -> Text:
    """Return a blank line and one that begins with a name in bold."""
    return Text.assemble("\n", clean(name, "bold"), clean(rest))

"""The preprocessing steps by name, and the order in which they run.

A task's file lists its steps in our order. The profile `selu-paper` runs the same steps in the
order of SELU's replication kit, which collapses white space first: Markdown then has no blocks
any more, so that headings, lists and code run into the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from goldpan.core.registry import unknown_name
from goldpan.text.jira import jira_to_markdown
from goldpan.text.markdown import markdown_to_text
from goldpan.text.masks import mask_code, mask_hashes, mask_mentions, mask_urls
from goldpan.text.white_space import white_space

StepProfile = Literal["default", "selu-paper", "none"]
PROFILES: tuple[StepProfile, ...] = ("default", "selu-paper", "none")

STEPS: Mapping[str, Callable[[str], str]] = {
    step.__name__: step
    for step in (
        white_space,
        jira_to_markdown,
        markdown_to_text,
        mask_code,
        mask_hashes,
        mask_urls,
        mask_mentions,
    )
}
"""Every step by its name, in the order of SELU's replication kit."""


def ordered_steps(names: Sequence[str], profile: str) -> tuple[str, ...]:
    """Return a task's steps in the order of a profile; `none` runs none.

    Raises `UsageError` for an unknown profile or step.
    """
    if unknown := [name for name in names if name not in STEPS]:
        raise unknown_name("preprocessing step", unknown[0], STEPS)
    match profile:
        case "default":
            return tuple(names)
        case "selu-paper":
            return tuple(name for name in STEPS if name in names)
        case "none":
            return ()
        case _:
            raise unknown_name("order of steps", profile, PROFILES)


def prepared(text: str, names: Sequence[str]) -> str:
    """Return a text after these steps, in this order."""
    for name in names:
        text = STEPS[name](text)
    return text

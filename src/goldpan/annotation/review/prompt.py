"""Prompts: a rubric for each, in TOML, and the instructions that they share, a Jinja template."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import jinja2

from goldpan.core.registry import Registry, files_in
from goldpan.core.settings_file import read_toml

_PLACE = files("goldpan.annotation.review") / "prompts"
_RUBRICS: Registry[Path | Traversable] = Registry(
    "review prompt", partial(files_in, _PLACE), "review prompt"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is told to do with a case."""

    name: str
    version: int
    """Raised with each change of the rubric."""
    reasons: Mapping[str, str]
    """What the codes for dropping mean."""
    names_reply: bool
    """Whether the model names the reply that answers, by its number."""
    digest: str
    """Of rubric and template: a change without a new version is noticed all the same."""
    rubric: Mapping[str, object]
    template: jinja2.Template

    @property
    def label(self) -> str:
        """The prompt's name, version and content in one word."""
        return f"{self.name}@{self.version}-{self.digest}"

    def instructions(self, code: str) -> str:
        """Return the text of the system message; `code` marks the fences of the data."""
        return self.template.render(**self.rubric, code=code)


@cache
def load_prompt(name: str) -> Prompt:
    """Return a prompt that ships with Goldpan or is a plugin's; raises `UsageError`."""
    rubric = read_toml(_RUBRICS.find(name))
    template = (_PLACE / "instructions.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(  # noqa: S701 - plain text, no HTML
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    values = rubric.values
    digest = hashlib.sha256(f"{rubric.text}\0{template}".encode()).hexdigest()[:12]
    return Prompt(
        name,
        int(values["version"]),
        values["reasons"],
        "reply" in values,
        digest,
        values,
        environment.from_string(template),
    )

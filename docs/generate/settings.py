"""The pages of the settings files, and of models and protocols."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, fields
from typing import Any

from docstring_parser import parse

from docs.generate.markdown import attribute_docs, page, table, value
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.core.config import FILE_SETTINGS, Settings
from goldpan.evaluation.models.catalogue import catalogue
from goldpan.evaluation.protocol import protocols

_WORKSPACE = """\
`goldpan.toml` in the workspace; `goldpan init` writes one that explains itself. The environment
overrides the file, and flags override both. Never put tokens in it: see
[GITHUB_TOKEN](../guide.md#mining)."""
_REVIEW = """\
The TOML file of `goldpan review --settings-file FILE`; options override it. The key comes from
`OPENAI_API_KEY` alone. `[prices."MODEL"]` holds `input`, `output`, `cached` and `batch`: what a
million tokens cost."""
_MODELS = """\
The models that `goldpan evaluate run --model NAME` knows, and the protocols of `--protocol`. Each
model's settings: [Models](../models.md), [Prompting](../prompting.md)."""


def settings_page() -> str:
    """Return the page of the settings of a workspace and of a review."""
    return page(
        "Settings",
        "## goldpan.toml",
        _WORKSPACE,
        _settings(Settings, FILE_SETTINGS),
        "## Review",
        _REVIEW,
        _settings(ReviewSettings, [field.name for field in fields(ReviewSettings) if field.repr]),
    )


def _settings(kind: type[Any], names: tuple[str, ...] | list[str]) -> str:
    arguments = parse(inspect.getdoc(kind) or "").params
    about = attribute_docs(kind) | {
        item.arg_name: " ".join((item.description or "").split()) for item in arguments
    }
    by_name = {field.name: field for field in fields(kind)}
    rows = [(f"`{name}`", _default(by_name[name]), about.get(name, "")) for name in names]
    return table(("setting", "default", ""), rows)


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return value(field.default)
    return value(field.default_factory()) if field.default_factory is not MISSING else "required"


def models_page() -> str:
    """Return the page of models and protocols."""
    parts = []
    for protocol in protocols().values():
        parts += [f"### {protocol.name}", f"{protocol.title}. Source: {protocol.source}."]
        parts.append("\n".join(f"- {defect}" for defect in protocol.defects))
    return page(
        "Models and protocols",
        _MODELS,
        "## Models",
        table(("model", ""), [(f"`{model.name}`", model.about) for model in catalogue().values()]),
        "## Protocols",
        *parts,
    )

"""The pages of the settings files, and of models and protocols."""

from __future__ import annotations

from dataclasses import fields

from docs.generate.files import default_of, keys_table
from docs.generate.markdown import attribute_docs, page, table, value
from goldpan.annotation.review.request import ReviewSettings
from goldpan.core.settings.config import FILE_SETTINGS, Settings
from goldpan.evaluation.finetune.job import TrainingSettings, find_recipe
from goldpan.evaluation.model import catalog
from goldpan.evaluation.protocol import protocols

_WORKSPACE = """\
`goldpan.toml` in the workspace; `goldpan init` writes one that explains itself. The environment
overrides the file, and flags override both. Never put tokens in it: see
[GITHUB_TOKEN](../guide.md#mining)."""
_REVIEW = """\
The TOML file of `goldpan review --settings-file FILE`; options override it. The key comes from
`OPENAI_API_KEY` alone. `[prices."MODEL"]` holds `input`, `output`, `cached` and `batch`: what a
million tokens cost."""
_TRAINING = """\
`goldpan evaluate finetune --set NAME=VALUE`, and `evaluate run --model finetuned`
([Fine-tuning](../models.md#fine-tuning)). `--protocol selu-paper`
chooses the recipe `selu-paper`."""
_MODELS = """\
The models that `goldpan evaluate run --model NAME` knows, and the protocols of `--protocol`. Each
model's settings: [Models](../models.md), [Prompting](../prompting.md)."""


def settings_page() -> str:
    """Return the page of the settings of a workspace and of a review."""
    return page(
        "Settings",
        "## goldpan.toml",
        _WORKSPACE,
        keys_table(Settings, FILE_SETTINGS),
        "## Review",
        _REVIEW,
        keys_table(ReviewSettings),
    )


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
        table(
            ("model", "tasks", ""),
            [(f"`{model.name}`", model.tasks, model.about) for model in catalog().values()],
        ),
        "## Fine-tuning",
        _TRAINING,
        _training(),
        "## Protocols",
        *parts,
    )


def _training() -> str:
    """Return the settings of a training, by default and in the paper's recipe."""
    of_paper = find_recipe("selu-paper")
    about = attribute_docs(TrainingSettings)
    rows = [
        (
            f"`{field.name}`",
            default_of(field),
            value(of_paper[field.name]) if field.name in of_paper else "",
            about.get(field.name, ""),
        )
        for field in fields(TrainingSettings)
    ]
    return table(("setting", "default", "selu-paper", ""), rows)

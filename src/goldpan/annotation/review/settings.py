"""Settings of a review: a TOML file of its own, overridden by flags.

models = ["gpt-4o", "gpt-4o-mini"]
max_cost = 5.0

[prices."gpt-4o"]       # for a million tokens, in one currency
input = 2.5
output = 10.0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goldpan.annotation.review.subjects import KINDS
from goldpan.core.errors import UsageError
from goldpan.core.registry import unknown_name
from goldpan.llm.settings import EndpointSettings, check_endpoint, check_least, load_settings


@dataclass(frozen=True, slots=True)
class ReviewSettings(EndpointSettings):
    """Everything that a review can be told; each model judges every subject."""

    subjects: tuple[str, ...] = ("issue", "pair")
    """The kinds of subjects to review."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """By subject, a plugin's prompt in place of Goldpan's own."""
    samples: int = 1
    """How often each model is asked, with different seeds; more than one needs a temperature."""
    bounded_schema: bool = False
    """True for a schema that limits lengths: for llama.cpp and vLLM; OpenAI refuses it."""
    agreement: float = 1.0
    """The share of votes that a verdict needs; otherwise people decide."""
    confidence: float = 0.0
    """The minimum confidence of a vote; one below it counts as unsure."""
    limit: int | None = None
    """At most this many subjects of each kind per repository, drawn by hash."""

    def __post_init__(self) -> None:
        check_endpoint(self)
        check_least(self, {"samples": 1, "limit": 0})
        for name in ("agreement", "confidence"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} = {getattr(self, name)} is not a share", "Give 0 to 1")
        if "discussion" in self.subjects:
            raise UsageError(
                "Models review issues and pairs; the answer to a discussion was accepted by people",
                "Have rows judged with goldpan evaluate labels DATASET --sample 50",
            )
        if unknown := [name for name in self.subjects if name not in KINDS]:
            raise unknown_name("subject", unknown[0], KINDS)
        if unknown := [name for name in self.prompts if name not in KINDS]:
            raise unknown_name("subject", unknown[0], KINDS, where="prompts")
        if self.samples > 1 and self.temperature == 0:
            raise UsageError(
                "At temperature 0 all samples of a model are the same", "Give --temperature 1"
            )


def load_review_settings(
    path: Path | None,
    flags: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
) -> ReviewSettings:
    """Merge a settings file and the flags that are not None; the key is the environment's.

    Raises `UsageError` for an unreadable file, an unknown setting or a bad value.
    """
    return load_settings(ReviewSettings, "A review", path, flags, environment)

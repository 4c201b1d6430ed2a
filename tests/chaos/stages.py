"""The stages of the pipeline as commands, and what each of them makes."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.demo.pipeline import REPO
from tests.demo_workspace import MODELS, TASK

HOME = "w"
"""The workspace of a trial, below its directory."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A command; what it makes are the files of these patterns."""

    name: str
    command: tuple[str, ...]
    makes: tuple[str, ...]
    after: str | None
    """The stage whose end it starts from; None for an empty workspace."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command line."""
        return (*self.command, "--workspace", HOME)


_TABLES = (f"tables/{REPO}/*.parquet",)
_MODELS = tuple(word for name in MODELS for word in ("--model", name))


def _build(name: str) -> Stage:
    return Stage(
        f"build {name}", ("build", name, "--split", "none"), (f"datasets/{name}/**/*",), "review"
    )


STAGES = (
    Stage("mine, GraphQL", ("mine", "--repo", REPO, "--via", "graphql"), _TABLES, None),
    Stage("mine, REST", ("mine", "--repo", REPO, "--via", "rest"), _TABLES, None),
    Stage("normalize", ("normalize",), (*_TABLES, f"tables/{REPO}/*.json"), "replies"),
    Stage("pair", ("pair",), (*_TABLES, f"tables/{REPO}/*.json"), "normalize"),
    Stage("clone", ("clone", "--source", "sluice.bundle"), _TABLES, "pair"),
    Stage("filter", ("filter",), ("verdicts/**/*.parquet",), "clone"),
    Stage(
        "review", ("review", "--settings-file", "review.toml"), ("verdicts/**/*.parquet",), "filter"
    ),
    _build("qa"),
    _build("fault-localization"),
    _build("code-edit"),
    Stage(
        "build issue-type",
        (
            *("build", "issue-type", "--source", "mined", "--profile", "nlbse23"),
            *("--split", "stratified:0.5,0.5", "--workers", "1"),
        ),
        (f"datasets/{TASK}/**/*",),
        "review",
    ),
    Stage(
        "evaluate run",
        ("evaluate", "run", "--task", TASK, *_MODELS),
        ("runs/**/*.parquet", "runs/**/*.json"),
        "build issue-type",
    ),
    Stage("report", ("report", "--output", f"{HOME}/report.html"), ("report.html",), "all"),
    Stage(
        "evaluate compare",
        ("evaluate", "compare", "--output", f"{HOME}/comparison.html"),
        ("comparison.html",),
        "all",
    ),
)

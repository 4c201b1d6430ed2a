"""Tiers of models out of a test of each pair; the test takes minutes, so its result is kept.

Settings: `scores` as `ScoreColumns`. The table has a row a model and the column Tier. The test,
its level, ROPE, draws and seed are the recipe's `[statistics]`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from goldpan import __version__
from goldpan.core.resources import write_file
from goldpan.core.sealed import DamagedError, read_json, sealed_json
from goldpan.core.workspace import make_directory
from goldpan.evaluation.statistics.compare import compare
from goldpan.evaluation.statistics.scores import ScoreMatrix
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.computations.ranking import matrix_of
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import Statistics, TableRecipe
from goldpan.reproduce.scores import ScoreColumns, parsed

_COLUMN = "Tier"


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    scores: ScoreColumns


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the tier of each model of the table, as the decisions cut the ranking."""
    chosen = parsed(_Settings, settings)
    matrix = matrix_of(context, table, chosen.scores)
    compared = _compared(context.directory / "cache", matrix, context.recipe.statistics)
    context.note(
        f"{compared['agreement']:.1%} of {compared['pairs']:,} decisions agree with these tiers; "
        f"{compared['undecided']:,} are undecided."
    )
    if compared["fragile"]:
        context.note(
            f"{compared['fragile']:,} decisions lie within random error of the limit and could "
            "change with another seed."
        )
    for model, tier in compared["tiers"].items():
        yield Outcome(model, _COLUMN, str(tier), "recomputed")


def _compared(cache: Path, matrix: ScoreMatrix, statistics: Statistics) -> dict[str, Any]:
    settings = {
        "goldpan": __version__,
        "models": matrix.models,
        "tasks": matrix.tasks,
        "cells": matrix.cells,
        "statistics": statistics.model_dump(),
    }
    key = hashlib.sha256(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
    path = cache / f"tiers-{key}.json"
    try:
        stored: dict[str, Any] = read_json(path)["compared"]
        return stored
    except (OSError, DamagedError, ValueError, KeyError):
        pass
    compared = compare(
        matrix,
        alpha=statistics.alpha,
        rope=statistics.rope,
        approach=statistics.approach,
        samples=statistics.samples,
        seed=statistics.seed,
    )
    result = {
        "tiers": {standing.model: standing.tier for standing in compared.standings},
        "agreement": compared.agreement,
        "pairs": len(compared.pairs),
        "undecided": sum(pair.decision == "undecided" for pair in compared.pairs),
        "fragile": sum(pair.fragile for pair in compared.pairs),
    }
    make_directory(cache)
    write_file(path, sealed_json({"compared": result}))
    return result

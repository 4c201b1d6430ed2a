"""What people see of datasets, evaluations and the state of a workspace."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Piece, Table, Title, blocks_of, count, renders
from goldpan.renderers.evaluation import by_blocks, overview
from goldpan.renderers.llm import requests_and_cost
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.reporting import OpenedPage
from goldpan.workspace.runs import Evaluation, RunEstimate


@renders(Dataset)
def _dataset(result: Dataset) -> Iterator[Piece]:
    if result.built is not None:
        yield from blocks_of(result.built)
        return
    yield Title(result.family, f": {count(len(result), 'example')}")
    yield Table(("split", "examples"), tuple(result.splits.items()))
    yield f"In {result.path}"


@renders(OpenedPage)
def _opened(result: OpenedPage) -> Iterator[Piece]:
    yield result.address


@renders(Evaluation)
def _evaluated(result: Evaluation) -> Iterator[Piece]:
    yield from overview(result.runs)
    for run in result:
        for column in dict.fromkeys(result.by):
            yield Title(f"{run.task} by {run.model}, seed {run.seed}")
            yield from by_blocks(run.scores_by[column])


@renders(RunEstimate)
def _estimated(result: RunEstimate) -> Iterator[Piece]:
    cost = "" if result.estimate else " it costs no money"
    yield f"{result.task} by {result.model}, seed {result.seed}:{cost}"
    if result.estimate:
        yield from requests_and_cost(result.estimate, prices="--set prices=FILE", indent="  ")

"""What people see of datasets, evaluations and the state of a workspace."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.result import Block, Line, Table, Title, blocks_of, count, renders
from goldpan.renderers.evaluation import by_blocks, overview
from goldpan.renderers.llm import requests_and_cost
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.reporting import OpenedPage
from goldpan.workspace.runs import Evaluation, RunEstimate
from goldpan.workspace.starting import Setting, Trusted


@renders(Dataset)
def dataset(result: Dataset) -> Iterator[Block]:
    """Yield what was built, or else what the dataset holds."""
    if result.built is not None:
        yield from blocks_of(result.built)
        return
    yield Title(result.family, f": {count(len(result), 'example')}")
    yield Table(("split", "examples"), tuple(result.splits.items()))
    yield Line(f"In {result.path}")


@renders(OpenedPage)
def opened(result: OpenedPage) -> Iterator[Block]:
    """Yield its address."""
    yield Line(result.address)


@renders(Evaluation)
def evaluated(result: Evaluation) -> Iterator[Block]:
    """Yield a line of each run, then its scores by the columns that were named."""
    yield from overview(result.runs)
    for run in result:
        for column in dict.fromkeys(result.by):
            yield Title(f"{run.task} by {run.model}, seed {run.seed}")
            yield from by_blocks(run.scores_by[column])


@renders(RunEstimate)
def estimated(result: RunEstimate) -> Iterator[Block]:
    """Yield the requests, where they go and the cost."""
    run = f"{result.task} by {result.model}, seed {result.seed}:"
    if result.estimate is None:
        yield Line(f"{run} it costs no money")
        return
    yield Line(run)
    yield from requests_and_cost(result.estimate, prices="--set prices=FILE", indent="  ")


@renders(Trusted)
def trusted(result: Trusted) -> Iterator[Block]:
    """Yield what is trusted."""
    for text in result.trusted or ("nothing here needs your consent",):
        yield Line(f"Trusted: {text}")
    yield Line(f"{result.file} remembers {result.workspace} as it is now.")


@renders(Setting)
def setting(result: Setting) -> Iterator[Block]:
    """Yield its name, value and source."""
    yield Line(f"{result.name:<14} {result.value or 'none'}  ({result.source})")

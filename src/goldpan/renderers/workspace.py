"""What people see of datasets, evaluations and the state of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from goldpan.core.result import Block, Line, Table, Title, blocks_of, renders
from goldpan.renderers.evaluation import overview
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.reporting import OpenedPage
from goldpan.workspace.runs import Evaluation, RunEstimate
from goldpan.workspace.starting import Setting, Trusted


@renders(Dataset)
def dataset(result: Dataset) -> Iterator[Block]:
    """Yield what was built, or else what there is."""
    if result.built is not None:
        yield from blocks_of(result.built)
        return
    yield Title(result.family, f": {len(result):,} examples")
    yield Table(("split", "examples"), tuple(result.splits.items()))
    yield Line(f"In {result.path}")


@renders(OpenedPage)
def opened(result: OpenedPage) -> Iterator[Block]:
    """Yield its address."""
    yield Line(result.address)


@renders(Evaluation)
def evaluated(result: Evaluation) -> Iterable[Block]:
    """Yield what people see of one run, or a line of each where there are several."""
    if len(result) < 2:
        return chain.from_iterable(map(blocks_of, result))
    return overview([run.record for run in result], [run.directory for run in result])


@renders(RunEstimate)
def estimated(result: RunEstimate) -> Iterator[Block]:
    """Yield the requests, where they go and the cost."""
    text, estimate = f"{result.task} by {result.model}, seed {result.seed}: ", result.estimate
    if estimate is None:
        yield Line(f"{text}it costs no money")
        return
    yield Line(
        f"{text}{estimate.requests:,} requests to send, about {estimate.input_tokens:,} "
        f"tokens; {estimate.answered:,} are answered already"
    )
    yield Line(f"  They go to {estimate.host}, with OPENAI_API_KEY if that is set")
    if estimate.cost is None:
        yield Line("  The cost is unknown: give --set prices=FILE")
        return
    most = "" if estimate.cost_at_most is None else f", at most {estimate.cost_at_most:,.2f}"
    yield Line(f"  Cost: about {estimate.cost:,.2f}{most}; {estimate.cost_before:,.2f} before")


@renders(Trusted)
def trusted(result: Trusted) -> Iterator[Block]:
    """Yield what is trusted."""
    for text in result.trusted or ("nothing that takes your consent",):
        yield Line(f"Trusted: {text}")
    yield Line(f"{result.file} remembers {result.workspace} as it is now.")


@renders(Setting)
def setting(result: Setting) -> Iterator[Block]:
    """Yield its name, value and source."""
    yield Line(f"{result.name:<14} {result.value or 'none'}  ({result.source})")

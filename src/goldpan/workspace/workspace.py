"""A workspace, as Python and the commands use it: a method for each stage."""

from __future__ import annotations

from functools import cached_property

from goldpan.workspace import (
    checking,
    filtering,
    mining,
    reporting,
    reproducing,
    starting,
    verifying,
)
from goldpan.workspace.annotating import Annotate
from goldpan.workspace.building import Build, datasets
from goldpan.workspace.evaluating import Evaluate
from goldpan.workspace.mining import Mine
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.repositories import find_dataset
from goldpan.workspace.starting import Config
from goldpan.workspace.tasks import Tasks
from goldpan.workspace.tasks import import_ as import_source


class Workspace(OpenWorkspace):
    """A directory that holds what Goldpan mined and made, with a method for each stage.

    Methods take repositories as ``OWNER/NAME``; without one they work on all that are there.
    """

    @cached_property
    def evaluate(self) -> Evaluate:
        """Score models on tasks and datasets."""
        return Evaluate(self)

    @cached_property
    def annotate(self) -> Annotate:
        """Send rows to annotators in Label Studio, and collect their answers."""
        return Annotate(self)

    @cached_property
    def tasks(self) -> Tasks:
        """The tasks that models are evaluated on."""
        return Tasks(self)

    @cached_property
    def config(self) -> Config:
        """Show the settings in effect."""
        return Config(self)

    @cached_property
    def mine(self) -> Mine:
        """Mine repositories, or the events of all public ones from GH Archive."""
        return Mine(self)

    @cached_property
    def build(self) -> Build:
        """Build datasets, a method a family."""
        return Build(self)

    # The stages, in the order of the pipeline. Each is written in its own module.
    trust = starting.trust
    doctor = starting.doctor
    normalize = mining.normalize
    clone = mining.clone
    pair = mining.pair
    status = checking.status
    near_duplicates = filtering.near_duplicates
    filter = filtering.filter
    funnel = filtering.funnel
    why = filtering.why
    trace = reporting.trace
    review = filtering.review
    import_ = import_source
    verify = verifying.verify
    audit = verifying.audit
    reproduce = reproducing.reproduce
    datasets = datasets
    dataset = find_dataset
    report = reporting.report
    open = reporting.open_page
    check = checking.check
    prune = checking.prune

"""A workspace, as Python and the commands use it: a method for each stage."""

from __future__ import annotations

from functools import cached_property

from goldpan.workspace import filtering, mining, reporting, state
from goldpan.workspace.annotating import Annotate
from goldpan.workspace.building import Build, datasets
from goldpan.workspace.dataset import find_dataset
from goldpan.workspace.evaluating import Evaluate
from goldpan.workspace.mining import Mine
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.state import Config
from goldpan.workspace.tasks import Tasks
from goldpan.workspace.tasks import import_ as import_source


class Workspace(OpenWorkspace):
    """A directory that holds what Goldpan mined and made, with a method for each stage.

    Methods take repositories as ``OWNER/NAME``; without one they work on all that are there.
    """

    mine = cached_property(Mine)
    build = cached_property(Build)
    annotate = cached_property(Annotate)
    tasks = cached_property(Tasks)
    evaluate = cached_property(Evaluate)
    config = cached_property(Config)

    # The stages, in the order of the pipeline. Each is written in its own module.
    trust = state.trust
    doctor = state.doctor
    normalize = mining.normalize
    clone = mining.clone
    pair = mining.pair
    status = state.status
    filter = filtering.filter
    funnel = filtering.funnel
    why = filtering.why
    trace = reporting.trace
    review = filtering.review
    import_ = import_source
    verify = filtering.verify
    audit = filtering.audit
    reproduce = reporting.reproduce
    datasets = datasets
    dataset = find_dataset
    report = reporting.report
    open = reporting.open_page
    check = state.check
    prune = state.prune

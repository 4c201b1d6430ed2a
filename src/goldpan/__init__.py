"""Goldpan turns GitHub history into curated, published, evaluated datasets.

    import goldpan

    ws = goldpan.Workspace("lab")
    ws.mine("numpy/numpy")
    ws.pair()
    ws.filter(profile="precise")
    data = ws.build("qa", split="random:0.8,0.1,0.1")
    data.to_pandas()

A name is imported when it is first used, so that importing Goldpan costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from goldpan.builders.build import BuildResult
    from goldpan.check import CheckResult
    from goldpan.core.errors import (
        DatasetError,
        EvaluationError,
        GoldpanError,
        MiningError,
        UsageError,
        WorkspaceError,
    )
    from goldpan.core.result import Result
    from goldpan.datasets.contamination.find import ContaminationResult
    from goldpan.datasets.diff.result import DiffResult
    from goldpan.evaluation.label_errors import LabelErrors
    from goldpan.evaluation.record import RunRecord
    from goldpan.evaluation.run import RunResult
    from goldpan.explain import Explanation
    from goldpan.filters.pipeline import FilterResult
    from goldpan.miners.coverage import Coverage
    from goldpan.miners.mine import MineResult
    from goldpan.miners.pairing import PairResult
    from goldpan.operations.dataset import Dataset, load
    from goldpan.operations.functions import apply_edit, contamination, diff
    from goldpan.operations.planning import run
    from goldpan.operations.runs import Evaluation
    from goldpan.operations.values import Execution, Sandbox
    from goldpan.operations.workspace import Workspace
    from goldpan.plan.results import PlanResult
    from goldpan.plugins import register

__all__ = [
    "BuildResult",
    "CheckResult",
    "ContaminationResult",
    "Coverage",
    "Dataset",
    "DatasetError",
    "DiffResult",
    "Evaluation",
    "EvaluationError",
    "Execution",
    "Explanation",
    "FilterResult",
    "GoldpanError",
    "LabelErrors",
    "MineResult",
    "MiningError",
    "PairResult",
    "PlanResult",
    "Result",
    "RunRecord",
    "RunResult",
    "Sandbox",
    "UsageError",
    "Workspace",
    "WorkspaceError",
    "__version__",
    "apply_edit",
    "contamination",
    "diff",
    "load",
    "register",
    "run",
]

_MODULES = {
    "BuildResult": "builders.build",
    "CheckResult": "check",
    "ContaminationResult": "datasets.contamination.find",
    "Coverage": "miners.coverage",
    "Dataset": "operations.dataset",
    "DatasetError": "core.errors",
    "DiffResult": "datasets.diff.result",
    "Evaluation": "operations.runs",
    "EvaluationError": "core.errors",
    "Execution": "operations.values",
    "Explanation": "explain",
    "FilterResult": "filters.pipeline",
    "GoldpanError": "core.errors",
    "LabelErrors": "evaluation.label_errors",
    "MineResult": "miners.mine",
    "MiningError": "core.errors",
    "PairResult": "miners.pairing",
    "PlanResult": "plan.results",
    "Result": "core.result",
    "RunRecord": "evaluation.record",
    "RunResult": "evaluation.run",
    "Sandbox": "operations.values",
    "UsageError": "core.errors",
    "Workspace": "operations.workspace",
    "WorkspaceError": "core.errors",
    "apply_edit": "operations.functions",
    "contamination": "operations.functions",
    "diff": "operations.functions",
    "load": "operations.dataset",
    "register": "plugins",
    "run": "operations.planning",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

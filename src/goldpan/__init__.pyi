from goldpan.builders.build import BuildResult as BuildResult
from goldpan.check import CheckResult as CheckResult
from goldpan.core.errors import DatasetError as DatasetError
from goldpan.core.errors import EvaluationError as EvaluationError
from goldpan.core.errors import GoldpanError as GoldpanError
from goldpan.core.errors import MiningError as MiningError
from goldpan.core.errors import UsageError as UsageError
from goldpan.core.errors import WorkspaceError as WorkspaceError
from goldpan.core.result import Result as Result
from goldpan.datasets.contamination.find import ContaminationResult as ContaminationResult
from goldpan.datasets.diff.result import DiffResult as DiffResult
from goldpan.evaluation.label_errors import LabelErrors as LabelErrors
from goldpan.evaluation.record import RunRecord as RunRecord
from goldpan.evaluation.run import RunResult as RunResult
from goldpan.explain import Explanation as Explanation
from goldpan.filters.pipeline import FilterResult as FilterResult
from goldpan.miners.coverage import Coverage as Coverage
from goldpan.miners.mine import MineResult as MineResult
from goldpan.miners.pairing import PairResult as PairResult
from goldpan.operations.dataset import Dataset as Dataset
from goldpan.operations.dataset import load as load
from goldpan.operations.functions import apply_edit as apply_edit
from goldpan.operations.functions import contamination as contamination
from goldpan.operations.functions import diff as diff
from goldpan.operations.planning import run as run
from goldpan.operations.runs import Evaluation as Evaluation
from goldpan.operations.values import Execution as Execution
from goldpan.operations.values import Sandbox as Sandbox
from goldpan.operations.workspace import Workspace as Workspace
from goldpan.plan.results import PlanResult as PlanResult
from goldpan.plugins import register as register

__version__: str
__all__: list[str]

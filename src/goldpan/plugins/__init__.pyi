from goldpan.annotation.studio.forms import Form as Form
from goldpan.builders.context import BuildContext as BuildContext
from goldpan.builders.recipes import Recipe as Recipe
from goldpan.core.plugins.loading import register as register
from goldpan.core.plugins.parts import Builder as Builder
from goldpan.core.plugins.parts import Command as Command
from goldpan.core.plugins.parts import Files as Files
from goldpan.core.plugins.parts import Part as Part
from goldpan.datasets.family import Column as Column
from goldpan.datasets.family import Family as Family
from goldpan.datasets.tasks.registry import read_path as read_task  # noqa: F401
from goldpan.datasets.tasks.task import Task as Task
from goldpan.datasets.tasks.task import target_column as target_column
from goldpan.evaluation.metrics.estimate import ExampleMetric as ExampleMetric
from goldpan.evaluation.model import Answers as Answers
from goldpan.evaluation.model import Entry as ModelEntry  # noqa: F401
from goldpan.evaluation.model import Model as Model
from goldpan.evaluation.model import TrainingContext as TrainingContext
from goldpan.evaluation.model import settled as model_settings  # noqa: F401
from goldpan.filters.criterion import Criterion as Criterion
from goldpan.filters.criterion import NoSettings as NoSettings
from goldpan.filters.repo_view import RepoView as RepoView
from goldpan.miners.pairing import SIGNALS as SIGNALS
from goldpan.miners.pairing import Rules as Rules
from goldpan.miners.pairing import Signal as Signal
from goldpan.report.comparison.rows import ReportSection as ReportSection

from goldpan.evaluation.comparison.question import ComparisonResult as ComparisonResult
from goldpan.evaluation.comparison.question import System as System
from goldpan.evaluation.comparison.score_files import Part as Part
from goldpan.evaluation.comparison.score_files import read_scores as read_scores
from goldpan.evaluation.finetune.job import MINILM as MINILM
from goldpan.evaluation.finetune.job import Weights as Weights
from goldpan.evaluation.finetune.job import encoder_weights as encoder_weights
from goldpan.evaluation.metrics.curves import BinaryConfusion as BinaryConfusion
from goldpan.evaluation.metrics.curves import has_label as has_label
from goldpan.evaluation.metrics.curves import label_counts as label_counts
from goldpan.evaluation.metrics.curves import pool as pool
from goldpan.evaluation.metrics.generation import bleu_of_counts as bleu_of_counts
from goldpan.evaluation.metrics.generation import compare_text as compare_text
from goldpan.evaluation.model import (
    Answers as Answers,
)
from goldpan.evaluation.model import (
    Entry as Entry,
)
from goldpan.evaluation.model import (
    Model as Model,
)
from goldpan.evaluation.model import (
    TrainingContext as TrainingContext,
)
from goldpan.evaluation.model import load as load
from goldpan.evaluation.model import (
    require_choice as require_choice,
)
from goldpan.evaluation.model import (
    require_few as require_few,
)
from goldpan.evaluation.model import (
    require_least as require_least,
)
from goldpan.evaluation.model import (
    require_type as require_type,
)
from goldpan.evaluation.model import (
    settled as settled,
)
from goldpan.evaluation.models.baselines import (
    LabelsByDate as LabelsByDate,
)
from goldpan.evaluation.models.baselines import (
    require_dates as require_dates,
)
from goldpan.evaluation.models.embedded import Encoder as Encoder
from goldpan.evaluation.models.embedded import Frozen as Frozen
from goldpan.evaluation.models.embedded import LayerMeans as LayerMeans
from goldpan.evaluation.models.embedded import (
    Pair as Pair,
)
from goldpan.evaluation.models.embedded import (
    Vectors as Vectors,
)
from goldpan.evaluation.models.embedded import cache_directory as cache_directory
from goldpan.evaluation.models.embedded import digest as digest
from goldpan.evaluation.models.embedded import load_encoder as load_encoder
from goldpan.evaluation.models.embedded import (
    vectors_of as vectors_of,
)
from goldpan.evaluation.models.features import (
    PLACE as PLACE,
)
from goldpan.evaluation.models.features import Documents as Documents
from goldpan.evaluation.models.features import (
    Features as Features,
)
from goldpan.evaluation.models.features import (
    place_facts as place_facts,
)
from goldpan.evaluation.models.features import spoken as spoken
from goldpan.evaluation.models.linear import (
    SIMILARITY as SIMILARITY,
)
from goldpan.evaluation.models.linear import (
    Booleans as Booleans,
)
from goldpan.evaluation.models.linear import (
    Head as Head,
)
from goldpan.evaluation.models.linear import (
    Numbers as Numbers,
)
from goldpan.evaluation.models.linear import (
    answers_of as answers_of,
)
from goldpan.evaluation.models.linear import best_threshold as best_threshold
from goldpan.evaluation.models.linear import (
    cross_validated as cross_validated,
)
from goldpan.evaluation.models.linear import (
    fit_head as fit_head,
)
from goldpan.evaluation.models.linear import (
    labels_of as labels_of,
)
from goldpan.evaluation.protocol import (
    DOCUMENT as DOCUMENT,
)
from goldpan.evaluation.protocol import (
    HeldOut as HeldOut,
)
from goldpan.evaluation.protocol import find_protocol as find_protocol
from goldpan.evaluation.protocol import (
    held_out_rows as held_out_rows,
)
from goldpan.evaluation.run import RunResult as RunResult
from goldpan.evaluation.runs import PREDICTIONS as PREDICTIONS
from goldpan.evaluation.runs import TRAIN as TRAIN
from goldpan.evaluation.runs import Run as Run
from goldpan.evaluation.runs import read_runs as read_runs
from goldpan.evaluation.score import predictions_schema as predictions_schema
from goldpan.evaluation.slices import (
    THIRDS as THIRDS,
)
from goldpan.evaluation.slices import (
    Third as Third,
)
from goldpan.evaluation.slices import (
    score_by_length as score_by_length,
)
from goldpan.evaluation.statistics.comparison import FEWEST_TASKS as FEWEST_TASKS
from goldpan.evaluation.statistics.effects import cohen_d as cohen_d
from goldpan.evaluation.statistics.effects import (
    degradation as degradation,
)
from goldpan.evaluation.statistics.effects import magnitude as magnitude
from goldpan.evaluation.statistics.effects import (
    overfitting as overfitting,
)
from goldpan.evaluation.statistics.over_tasks import (
    anova as anova,
)
from goldpan.evaluation.statistics.over_tasks import (
    check_assumptions as check_assumptions,
)
from goldpan.evaluation.statistics.over_tasks import (
    friedman as friedman,
)
from goldpan.evaluation.statistics.scores import (
    Floats as Floats,
)
from goldpan.evaluation.statistics.scores import (
    as_decimal as as_decimal,
)
from goldpan.evaluation.statistics.scores import (
    rank as rank,
)
from goldpan.evaluation.task_input import (
    built_family as built_family,
)
from goldpan.evaluation.task_input import (
    input_lengths as input_lengths,
)
from goldpan.evaluation.task_input import relative_change as relative_change
from goldpan.evaluation.task_input import (
    scored_input as scored_input,
)
from goldpan.evaluation.task_input import without as without
from goldpan.report.comparison.rows import ReportSection as ReportSection
from goldpan.report.comparison.rows import RowsByTask as RowsByTask
from goldpan.report.comparison.rows import TaskRow as TaskRow
from goldpan.report.document import (
    Cell as Cell,
)
from goldpan.report.document import (
    Content as Content,
)
from goldpan.report.document import (
    Remark as Remark,
)
from goldpan.report.document import (
    ReportTable as ReportTable,
)
from goldpan.report.document import (
    Section as Section,
)
from goldpan.report.document import formatted as formatted
from goldpan.report.document import (
    listed as listed,
)
from goldpan.reproduce.cells import CellOutcome as CellOutcome
from goldpan.reproduce.cells import (
    PaperContext as PaperContext,
)
from goldpan.reproduce.cells import State as State
from goldpan.reproduce.cells import (
    parsed as parsed,
)
from goldpan.reproduce.cells import (
    runs_models as runs_models,
)
from goldpan.reproduce.cells import (
    workspaces as workspaces,
)
from goldpan.reproduce.data import (
    FoundFile as FoundFile,
)
from goldpan.reproduce.data import (
    MissingFileError as MissingFileError,
)
from goldpan.reproduce.data import (
    other_content as other_content,
)
from goldpan.reproduce.data import (
    read_text as read_text,
)
from goldpan.reproduce.prepare import prepared as prepared
from goldpan.reproduce.recipe import (
    ModelRecipe as ModelRecipe,
)
from goldpan.reproduce.recipe import (
    StrictModel as StrictModel,
)
from goldpan.reproduce.recipe import (
    TableRecipe as TableRecipe,
)
from goldpan.reproduce.recipe import (
    Value as Value,
)
from goldpan.reproduce.runs import (
    find_models as find_models,
)
from goldpan.reproduce.runs import (
    model_of as model_of,
)
from goldpan.reproduce.runs import (
    run_of as run_of,
)

from goldpan.core.sealed import file_digest as file_digest
from goldpan.core.workspace import tasks_directory as tasks_directory
from goldpan.datasets.corrections import (
    corrected_batches as corrected_batches,
)
from goldpan.datasets.corrections import (
    corrected_family as corrected_family,
)
from goldpan.datasets.family import GROUP as GROUP
from goldpan.datasets.family import Column as Column
from goldpan.datasets.family import Family as Family
from goldpan.datasets.family import read_columns as read_columns
from goldpan.datasets.family import read_family as read_family
from goldpan.datasets.files import refuse_foreign as refuse_foreign
from goldpan.datasets.files import write_dataset as write_dataset
from goldpan.datasets.json_array import FieldError as FieldError
from goldpan.datasets.json_array import read_array as read_array
from goldpan.datasets.label_classes import LabelClasses as LabelClasses
from goldpan.datasets.label_classes import list_labels as list_labels
from goldpan.datasets.manifest import (
    CardInputs as CardInputs,
)
from goldpan.datasets.manifest import (
    Extras as Extras,
)
from goldpan.datasets.manifest import (
    Origin as Origin,
)
from goldpan.datasets.manifest import (
    TaskLine as TaskLine,
)
from goldpan.datasets.manifest import (
    Written as Written,
)
from goldpan.datasets.provenance import (
    PROVENANCE as PROVENANCE,
)
from goldpan.datasets.provenance import (
    MinedSource as MinedSource,
)
from goldpan.datasets.provenance import (
    Provenance as Provenance,
)
from goldpan.datasets.provenance import (
    read_provenance as read_provenance,
)
from goldpan.datasets.provenance import (
    shard_paths as shard_paths,
)
from goldpan.datasets.provenance import (
    write_provenance as write_provenance,
)
from goldpan.datasets.registry import (
    find_task as find_task,
)
from goldpan.datasets.registry import (
    load_tasks as load_tasks,
)
from goldpan.datasets.registry import (
    plain_task as plain_task,
)
from goldpan.datasets.registry import (
    task_of as task_of,
)
from goldpan.datasets.splits import SplitPlan as SplitPlan
from goldpan.datasets.splits import draw_number as draw_number
from goldpan.datasets.splits import sample_by_hash as sample_by_hash
from goldpan.datasets.table_files import form_of as form_of
from goldpan.datasets.table_files import open_text as open_text
from goldpan.datasets.table_files import stem_of as stem_of
from goldpan.datasets.table_files import table_rows as table_rows
from goldpan.datasets.task import (
    CLASSIFICATION as CLASSIFICATION,
)
from goldpan.datasets.task import (
    Label as Label,
)
from goldpan.datasets.task import (
    Task as Task,
)
from goldpan.datasets.task import (
    TaskColumns as TaskColumns,
)
from goldpan.datasets.task import (
    TaskType as TaskType,
)
from goldpan.datasets.task import input_column as input_column
from goldpan.datasets.task import target_column as target_column
from goldpan.datasets.task import task_family as task_family
from goldpan.datasets.task_data import (
    TaskData as TaskData,
)
from goldpan.datasets.task_data import (
    task_batches as task_batches,
)
from goldpan.datasets.task_data import (
    task_data as task_data,
)
from goldpan.datasets.task_data import (
    task_directory as task_directory,
)
from goldpan.datasets.wording import (
    METHODS as METHODS,
)
from goldpan.datasets.wording import (
    Method as Method,
)
from goldpan.datasets.wording import (
    Side as Side,
)
from goldpan.datasets.wording import (
    Wording as Wording,
)
from goldpan.datasets.wording import (
    WordingError as WordingError,
)
from goldpan.datasets.wording import (
    answer_form as answer_form,
)
from goldpan.datasets.wording import (
    find_method as find_method,
)
from goldpan.datasets.wording import (
    input_text as input_text,
)
from goldpan.datasets.wording import (
    output_text as output_text,
)
from goldpan.datasets.wording import (
    read_texts as read_texts,
)
from goldpan.datasets.wording import (
    wording_of as wording_of,
)

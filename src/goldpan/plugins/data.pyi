from goldpan.annotation.studio.configuration import NONE as NONE
from goldpan.annotation.studio.decisions import read_settled as read_settled
from goldpan.annotation.studio.forms import Form as Form
from goldpan.annotation.studio.forms import find_form as find_form
from goldpan.annotation.studio.gold import read_corrections as read_corrections
from goldpan.annotation.studio.panels import (
    QUESTION_ANSWER as QUESTION_ANSWER,
)
from goldpan.annotation.studio.panels import (
    SENTENCE as SENTENCE,
)
from goldpan.annotation.studio.panels import (
    SENTENCE_TEXT as SENTENCE_TEXT,
)
from goldpan.annotation.studio.project import open_project as open_project
from goldpan.builders.repository_rows import mined_source as mined_source
from goldpan.code.grammar import Grammar as Grammar
from goldpan.code.grammar import load_grammar as load_grammar
from goldpan.code.languages import (
    LANGUAGES as LANGUAGES,
)
from goldpan.code.languages import (
    Language as Language,
)
from goldpan.code.languages import (
    language_of as language_of,
)
from goldpan.code.languages import (
    second_language_of as second_language_of,
)
from goldpan.code.substance import LARGEST as LARGEST
from goldpan.core.config import repository_name as repository_name
from goldpan.core.engine import Engine as Engine
from goldpan.core.engine import EngineError as EngineError
from goldpan.core.engine import open_engine as open_engine
from goldpan.core.errors import DamagedError as DamagedError
from goldpan.core.errors import (
    DatasetError as DatasetError,
)
from goldpan.core.errors import (
    EvaluationError as EvaluationError,
)
from goldpan.core.errors import (
    GoldpanError as GoldpanError,
)
from goldpan.core.errors import (
    UsageError as UsageError,
)
from goldpan.core.errors import (
    WorkspaceError as WorkspaceError,
)
from goldpan.core.imports import load as load
from goldpan.core.parquet import (
    Writer as Writer,
)
from goldpan.core.parquet import connect_alone as connect_alone
from goldpan.core.parquet import (
    count_rows as count_rows,
)
from goldpan.core.parquet import open_tables as open_tables
from goldpan.core.parquet import (
    read_table as read_table,
)
from goldpan.core.parquet import (
    write_table as write_table,
)
from goldpan.core.registry import (
    Registry as Registry,
)
from goldpan.core.registry import (
    files_in as files_in,
)
from goldpan.core.registry import (
    unknown_name as unknown_name,
)
from goldpan.core.resources import (
    named as named,
)
from goldpan.core.resources import (
    told_otherwise as told_otherwise,
)
from goldpan.core.resources import (
    unwritable as unwritable,
)
from goldpan.core.result import (
    Block as Block,
)
from goldpan.core.result import (
    Line as Line,
)
from goldpan.core.result import (
    Result as Result,
)
from goldpan.core.result import (
    Table as Table,
)
from goldpan.core.result import (
    Title as Title,
)
from goldpan.core.sealed import (
    file_digest as file_digest,
)
from goldpan.core.sealed import (
    verify_parquet as verify_parquet,
)
from goldpan.core.settings_file import Source as Source
from goldpan.core.settings_file import read_toml as read_toml
from goldpan.core.settings_file import toml_text as toml_text
from goldpan.core.settings_file import toml_value as toml_value
from goldpan.core.terminal import Reporter as Reporter
from goldpan.core.workers import Failed as Failed
from goldpan.core.workers import map_in_sandbox as map_in_sandbox
from goldpan.core.workspace import (
    UNPAIRED as UNPAIRED,
)
from goldpan.core.workspace import (
    Workspace as Workspace,
)
from goldpan.core.workspace import hold_lock as hold_lock
from goldpan.core.workspace import (
    make_directory as make_directory,
)
from goldpan.core.workspace import tasks_directory as tasks_directory
from goldpan.core.workspace import (
    write_whole as write_whole,
)
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
from goldpan.filters.duplicates.leaks import find_leaks_of_batches as find_leaks_of_batches
from goldpan.filters.duplicates.near import link as link
from goldpan.filters.duplicates.settings import DuplicateSettings as DuplicateSettings
from goldpan.filters.duplicates.sketches import (
    NO_TEXT as NO_TEXT,
)
from goldpan.filters.duplicates.sketches import (
    Ids as Ids,
)
from goldpan.filters.duplicates.sketches import (
    SketchFile as SketchFile,
)
from goldpan.filters.duplicates.sketches import (
    replacing as replacing,
)
from goldpan.filters.duplicates.sketches import (
    sketch_file as sketch_file,
)
from goldpan.filters.duplicates.sketches import (
    sketches as sketches,
)
from goldpan.filters.duplicates.texts import Portions as Portions
from goldpan.filters.duplicates.texts import number_texts as number_texts
from goldpan.git.clone import prefetch as prefetch
from goldpan.git.clone import promisor as promisor
from goldpan.git.objects import (
    Encoding as Encoding,
)
from goldpan.git.objects import (
    Object as Object,
)
from goldpan.git.objects import (
    Objects as Objects,
)
from goldpan.git.objects import (
    encodings as encodings,
)
from goldpan.git.objects import (
    is_pointer as is_pointer,
)
from goldpan.git.refs import (
    Commit as Commit,
)
from goldpan.git.refs import (
    cloned_repositories as cloned_repositories,
)
from goldpan.git.refs import (
    find_commits as find_commits,
)
from goldpan.git.trees import TreeFile as TreeFile
from goldpan.miners.gharchive.store import ArchiveStore as ArchiveStore
from goldpan.text.language import (
    detect_languages as detect_languages,
)
from goldpan.text.language import (
    model_languages as model_languages,
)
from goldpan.text.markers import escaped as escaped
from goldpan.text.prose import Wrapping as Wrapping
from goldpan.text.prose import has_words as has_words
from goldpan.text.prose import normalize_sentence as normalize_sentence
from goldpan.text.prose import split_sentences as split_sentences
from goldpan.text.redaction import (
    find_private as find_private,
)
from goldpan.text.redaction import (
    may_be_private as may_be_private,
)
from goldpan.text.redaction import (
    redact as redact,
)

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
from goldpan.core.progress import Reporter as Reporter
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
from goldpan.core.workspace import (
    write_whole as write_whole,
)

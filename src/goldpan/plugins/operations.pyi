from goldpan.operations.dataset import Dataset as Dataset
from goldpan.operations.repositories import known_repositories as known_repositories
from goldpan.operations.table import Group as Group
from goldpan.operations.values import (
    LOCAL as LOCAL,
)
from goldpan.operations.values import (
    Execution as Execution,
)
from goldpan.operations.values import (
    Limits as Limits,
)
from goldpan.operations.values import (
    Positive as Positive,
)
from goldpan.operations.values import (
    several as several,
)
from goldpan.operations.workspace import Workspace as Workspace

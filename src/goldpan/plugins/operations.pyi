from goldpan.core.values import LOCAL as LOCAL
from goldpan.core.values import Execution as Execution
from goldpan.core.values import Positive as Positive
from goldpan.core.values import several as several
from goldpan.workspace.dataset import Dataset as Dataset
from goldpan.workspace.opening import known_repositories as known_repositories
from goldpan.workspace.workspace import Workspace as Workspace

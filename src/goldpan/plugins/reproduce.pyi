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

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

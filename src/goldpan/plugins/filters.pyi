from goldpan.filters.duplicates.kept import (
    NO_TEXT as NO_TEXT,
)
from goldpan.filters.duplicates.kept import (
    Ids as Ids,
)
from goldpan.filters.duplicates.kept import (
    SketchFile as SketchFile,
)
from goldpan.filters.duplicates.kept import (
    replacing as replacing,
)
from goldpan.filters.duplicates.kept import (
    sketch_file as sketch_file,
)
from goldpan.filters.duplicates.leaks import find_leaks as find_leaks
from goldpan.filters.duplicates.link import link as link
from goldpan.filters.duplicates.numbering import number_texts as number_texts
from goldpan.filters.duplicates.settings import DuplicateSettings as DuplicateSettings
from goldpan.filters.duplicates.shingles import Portions as Portions
from goldpan.filters.duplicates.sketch import sketches as sketches

from goldpan.report.comparison.materials import Material as Material
from goldpan.report.comparison.materials import Row as Row
from goldpan.report.document import (
    Cell as Cell,
)
from goldpan.report.document import (
    Content as Content,
)
from goldpan.report.document import (
    Section as Section,
)
from goldpan.report.document import (
    Table as Table,
)
from goldpan.report.document import (
    Text as Text,
)

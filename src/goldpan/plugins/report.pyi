from goldpan.report.comparison.added import ReportSection as ReportSection
from goldpan.report.comparison.added import RowsByTask as RowsByTask
from goldpan.report.comparison.added import TaskRow as TaskRow
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

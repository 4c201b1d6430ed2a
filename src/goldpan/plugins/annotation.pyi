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

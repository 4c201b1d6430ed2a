from goldpan.code.languages import (
    language_of as language_of,
)
from goldpan.code.languages import (
    second_language_of as second_language_of,
)
from goldpan.code.substance import LARGEST as LARGEST

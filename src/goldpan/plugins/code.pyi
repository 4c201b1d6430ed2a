from goldpan.code.grammar import Grammar as Grammar
from goldpan.code.grammar import load_grammar as load_grammar
from goldpan.code.languages import (
    LANGUAGES as LANGUAGES,
)
from goldpan.code.languages import (
    Language as Language,
)
from goldpan.code.languages import (
    language_of as language_of,
)
from goldpan.code.languages import (
    second_language_of as second_language_of,
)
from goldpan.code.substance import LARGEST as LARGEST

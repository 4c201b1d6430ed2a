from goldpan.text.language import (
    detect_languages as detect_languages,
)
from goldpan.text.language import (
    model_languages as model_languages,
)
from goldpan.text.markers import escaped as escaped
from goldpan.text.prose import (
    Wrapping as Wrapping,
)
from goldpan.text.prose import (
    has_words as has_words,
)
from goldpan.text.prose import (
    normalize_sentence as normalize_sentence,
)
from goldpan.text.prose import (
    split_sentences as split_sentences,
)
from goldpan.text.redaction import (
    find_private as find_private,
)
from goldpan.text.redaction import (
    may_be_private as may_be_private,
)
from goldpan.text.redaction import (
    redact as redact,
)

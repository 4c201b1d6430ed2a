"""Letters are weighed as scikit-learn's `char_wb` does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

text = pytest.importorskip("sklearn.feature_extraction.text")

from goldpan.evaluation.models.features import Letters  # noqa: E402 - needs scikit-learn

_WORDS = st.sampled_from(["at", "At", "0x1f", "größer", "İ", "a\u3000b", "...", "x", "line\n\tend"])
_TEXTS = st.lists(st.lists(_WORDS, max_size=8).map(" ".join), min_size=1, max_size=6)


@given(_TEXTS, _TEXTS, st.integers(1, 2), st.sampled_from([7, 1_000]))
def test_same_matrix(learned: list[str], others: list[str], rare: int, most: int) -> None:
    """Where no piece is in `rare` texts, all are learned: scikit-learn refuses them."""
    settings = {"analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True}
    peer = text.TfidfVectorizer(min_df=rare, max_features=most, **settings)
    letters = Letters(2, 5, rare=rare, most=most)
    try:
        try:
            expected = peer.fit_transform(learned)
        except ValueError:
            expected = peer.set_params(min_df=1).fit_transform(learned)
    except ValueError:
        with pytest.raises(ValueError, match=r"piece|vocabulary"):
            letters.fit_transform(learned)
        return
    assert np.allclose(letters.fit_transform(learned).toarray(), expected.toarray())
    assert np.allclose(letters.transform(others).toarray(), peer.transform(others).toarray())

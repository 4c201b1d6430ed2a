"""MinHash signatures by rensa, whose algorithm version belongs to whatever they say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash  # type: ignore[import-untyped]

ALGORITHM = f"rensa RMinHash {RMinHash.ALGORITHM_VERSION}"


def signatures(
    hashes: NDArray[np.uint64], ends: NDArray[np.int64], length: int, seed: int
) -> NDArray[np.uint64]:
    """Return the signatures (sets x length) of sets of hashes that lie one after the other.

    `ends` says where each set ends. An empty set's signature is all ones.
    """
    offsets = np.concatenate([[0], ends]).astype(np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, length, seed)
    return np.array(matrix.to_rows(), np.uint64).reshape(len(ends), length)

"""Hash names into buckets, the same on every machine and in every run."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def buckets(names: Iterable[str], bits: int) -> NDArray[np.uint32]:
    """Hash names into 2^bits buckets."""
    mask = (1 << bits) - 1
    digests = (blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names)
    return np.fromiter((int.from_bytes(digest, "little") & mask for digest in digests), dtype=np.uint32)

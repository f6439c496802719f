"""Random streams by seed and purpose, reproducible whatever the order and the threads."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Stream(IntEnum):
    """The purpose of a stream of random numbers."""

    PAGES = 1
    ADS = 2
    CANDIDATES = 3
    BELIEFS = 4
    BIDS = 5
    EVENTS = 6
    PAGE_WORDS = 7
    AD_WORDS = 8
    USERS = 9
    LEARNER = 10


def stream(seed: int, purpose: Stream, part: int = 0) -> np.random.Generator:
    """Return the random generator of one purpose and part."""
    return np.random.default_rng([seed, int(purpose), part])


def pair_hash(seed: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of pairs of integers (the finaliser of SplitMix64, twice)."""
    offset = np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = _mix(one.astype(np.uint64) + offset)
    return _mix(mixed ^ (other.astype(np.uint64) + np.uint64(0xD1B54A32D192ED03)))


def pair_normal(seed: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return a nearly standard normal number for every pair: the sum of four uniforms."""
    bits = pair_hash(seed, one, other)
    total = np.zeros(bits.shape, dtype=np.float32)
    for i in range(4):
        total += ((bits >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.float32)
    return (total / np.float32(65535) - np.float32(2)) * np.float32(3**0.5)


def pair_sign(seed: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return +1 or -1 for every pair."""
    bit = pair_hash(seed + 7919, one, other) & np.uint64(1)
    return np.where(bit == 1, np.float32(1), np.float32(-1))


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))

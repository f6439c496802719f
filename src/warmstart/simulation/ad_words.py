"""Words of simulated pages and ads: the features from which a learner can infer their topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from warmstart.simulation.ad_settings import AdSettings

# The share of a text's words that are about its topics; the others are common to all.
ON_TOPIC = 0.6
# Words drawn per distinct word: texts repeat themselves.
DRAWS_PER_WORD = 1.35
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"


@dataclass(frozen=True)
class Vocabulary:
    """Words in blocks, one per topic and a last one of common words; frequencies within a block are Zipf-like."""

    settings: AdSettings

    @property
    def block(self) -> int:
        """Return the number of words of a topic."""
        return self.settings.vocabulary // (self.settings.topics + 1)

    def words(self) -> list[str]:
        """Return every word, made of syllables, so that a tokeniser sees one token."""
        syllables = [c + v for c in _CONSONANTS for v in _VOWELS]
        size = len(syllables)
        return [
            syllables[i % size] + syllables[i // size % size] + syllables[(i * 7 + i // (size * size)) % size]
            for i in range(self.settings.vocabulary)
        ]

    def texts(
        self, topics: NDArray[np.int16], weight: NDArray[np.float32], words: int, rng: np.random.Generator
    ) -> NDArray[np.int32]:
        """Return the word numbers of random texts, one row per text, sorted, with repetitions.

        Args:
            topics: The two topics of every text.
            weight: The share of the first topic.
            words: About how many distinct words a text has.
            rng: The random stream to draw from.
        """
        shape = (len(topics), max(round(words * DRAWS_PER_WORD), 1))
        choice = rng.random(shape, dtype=np.float32)
        on_first = choice < ON_TOPIC * weight[:, None]
        topic = np.where(on_first, topics[:, :1], topics[:, 1:]).astype(np.int32)
        common = choice >= ON_TOPIC
        first_common = self.settings.topics * self.block
        commons = np.float32(np.log(self.settings.vocabulary - first_common))
        begin = np.where(common, first_common, topic * self.block)
        log_size = np.where(common, commons, np.float32(np.log(self.block)))
        # A rank drawn log-uniformly is Zipf-like.
        rank = np.exp(rng.random(shape, dtype=np.float32) * log_size).astype(np.int32) - 1
        drawn: NDArray[np.int32] = begin.astype(np.int32) + rank
        drawn.sort(axis=1)
        return drawn


def word_columns(drawn: NDArray[np.int32], spelled: pa.Array) -> dict[str, pa.Array]:
    """Return columns of drawn words: distinct words, their frequencies, and plain text with the repetitions."""
    rows, width = drawn.shape
    first = np.ones(drawn.shape, dtype=bool)
    first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, drawn.size)).astype(np.int16)
    distinct = drawn.ravel()[starts]
    offsets = np.concatenate([[0], np.cumsum(first.sum(axis=1))]).astype(np.int32)
    row_starts = np.arange(0, rows * width + 1, width, dtype=np.int32)
    all_words = pa.ListArray.from_arrays(pa.array(row_starts), spelled.take(pa.array(drawn.ravel())))
    return {
        "words": pa.ListArray.from_arrays(pa.array(offsets), pa.DictionaryArray.from_arrays(distinct, spelled)),
        "frequencies": pa.ListArray.from_arrays(pa.array(offsets), pa.array(counts)),
        "text": pc.binary_join(all_words, " "),
    }

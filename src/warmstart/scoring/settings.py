"""How a table of contexts or of actions becomes features: the kinds of its columns, and their scales."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["words", "weighted words", "ids", "text", "category", "number", "date", "timestamp", "embedding"]
Scale = tuple[float, float]
KINDS_OF_WORDS: tuple[Kind, ...] = ("words", "weighted words", "ids", "text")


@dataclass(frozen=True)
class FeatureSettings:
    """How a table of contexts or actions becomes features (the hashing trick).

    ``kinds``: the columns in use and what they are; ``weights``: for a list of words, the list of their weights;
    ``scales``: mean and spread of numbers, of times in seconds and of each dimension of an embedding (``NAME[0]``);
    ``bits``: 2^bits buckets; ``constant``: whether there is one; ``missing``: columns whose gaps are a feature;
    ``named``: columns of words that carry their column's name (``NAME=word``), each of length 1, if there are several.
    """

    bits: int
    constant: bool = True
    kinds: dict[str, Kind] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    scales: dict[str, Scale] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Return the columns that are read."""
        return [*self.kinds, *self.weights.values()]

    def of(self, name: str) -> FeatureSettings:
        """Return the settings of one column's own features alone: no constant, no gaps."""
        weights = {key: column for key, column in self.weights.items() if key == name}
        named = (name,) if name in self.named else ()
        return FeatureSettings(self.bits, constant=False, kinds={name: self.kinds[name]}, weights=weights, named=named)

    def dimensions(self, name: str) -> list[Scale]:
        """Return the scales of an embedding's dimensions, in their order."""
        scales: list[Scale] = []
        while (part := f"{name}[{len(scales)}]") in self.scales:
            scales.append(self.scales[part])
        return scales

"""What is known about contexts and actions, as sparse rows."""

from warmstart.features.hashed import TOKEN, FeatureSettings, feature_rows
from warmstart.features.read import Side, feature_batches, read_side
from warmstart.features.read_distributed import EncodedSide, encode_side
from warmstart.features.rows import FeatureRows

__all__ = [
    "TOKEN",
    "EncodedSide",
    "FeatureRows",
    "FeatureSettings",
    "Side",
    "encode_side",
    "feature_batches",
    "feature_rows",
    "read_side",
]

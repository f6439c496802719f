"""What is known about contexts and actions, as sparse rows."""

from warmstart.features.batches import Side, read_side
from warmstart.features.encoded import EncodedSide, encode_side
from warmstart.features.rows import FeatureRows
from warmstart.features.tables import FeatureSettings, feature_rows

__all__ = ["EncodedSide", "FeatureRows", "FeatureSettings", "Side", "encode_side", "feature_rows", "read_side"]

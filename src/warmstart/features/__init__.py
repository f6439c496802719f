"""What is known about contexts and actions, as sparse rows."""

from warmstart.features.batches import Side, read_side
from warmstart.features.rows import FeatureRows
from warmstart.features.tables import FeatureSettings, feature_rows

__all__ = ["FeatureRows", "FeatureSettings", "Side", "feature_rows", "read_side"]

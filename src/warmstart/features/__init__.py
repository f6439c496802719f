"""Features of contexts and actions: key encoding, hashed sparse rows, design matrices, cross-fitting folds."""

from warmstart.features.design_matrix import ContextMatrix, Matrix
from warmstart.features.folds import other_folds, scikit_learn, weighted_copy
from warmstart.features.hashed import CONSTANT, CONSTANT_VALUE, TOKEN, FeatureSettings, feature_rows
from warmstart.features.hashing import buckets
from warmstart.features.keys import KeyEncoder
from warmstart.features.read import Features, feature_batches, read_features
from warmstart.features.read_distributed import DistributedFeatures, read_features_distributed, rows_of_lists
from warmstart.features.rows import FeatureRows

__all__ = [
    "CONSTANT",
    "CONSTANT_VALUE",
    "TOKEN",
    "ContextMatrix",
    "DistributedFeatures",
    "FeatureRows",
    "FeatureSettings",
    "Features",
    "KeyEncoder",
    "Matrix",
    "buckets",
    "feature_batches",
    "feature_rows",
    "other_folds",
    "read_features",
    "read_features_distributed",
    "rows_of_lists",
    "scikit_learn",
    "weighted_copy",
]

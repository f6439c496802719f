"""Features of contexts and actions: key encoding, hashed sparse rows, design matrices, cross-fitting folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.features.columns import *  # noqa: F403
    from warmstart.features.design_matrix import *  # noqa: F403
    from warmstart.features.folds import *  # noqa: F403
    from warmstart.features.hashed import *  # noqa: F403
    from warmstart.features.keys import *  # noqa: F403
    from warmstart.features.read import *  # noqa: F403
    from warmstart.features.read_distributed import *  # noqa: F403
    from warmstart.features.rows import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "design_matrix": "ContextMatrix Matrix",
        "folds": "few_threads other_folds regressor_copy scikit_learn users_model weighted_copy",
        "columns": "TOKEN absent_of numbers_of text_parts times_of vectors_of",
        "hashed": "Bits feature_rows settings_of_table",
        "keys": "KeyEncoder plain_column",
        "read": "Features feature_batches read_features",
        "read_distributed": "DistributedFeatures read_features_distributed rows_of_lists rows_of_log",
        "rows": "FeatureRows",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve

"""Choose with a saved policy, with NumPy alone: for use inside a service.

``load`` reads a folder that ``fit`` wrote; what it returns chooses as ``warmstart choose`` does. DuckDB, Ibis, Arrow,
pandas, SciPy, scikit-learn and Numba are not imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.scoring.about import *  # noqa: F403
    from warmstart.scoring.arrays import *  # noqa: F403
    from warmstart.scoring.blend import *  # noqa: F403
    from warmstart.scoring.chosen import *  # noqa: F403
    from warmstart.scoring.deferring import *  # noqa: F403
    from warmstart.scoring.exploring import *  # noqa: F403
    from warmstart.scoring.fields import *  # noqa: F403
    from warmstart.scoring.keys import *  # noqa: F403
    from warmstart.scoring.kinds import *  # noqa: F403
    from warmstart.scoring.models import *  # noqa: F403
    from warmstart.scoring.parts import *  # noqa: F403
    from warmstart.scoring.policy import *  # noqa: F403
    from warmstart.scoring.records import *  # noqa: F403
    from warmstart.scoring.rows import *  # noqa: F403
    from warmstart.scoring.settings import *  # noqa: F403
    from warmstart.scoring.trees import *  # noqa: F403
    from warmstart.scoring.unfamiliar import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "about": "DECISIONS FORMAT own_sha256 read_about read_files settings_of",
        "arrays": "ArraySpec damaged read_array sha256",
        "blend": "BlendModel",
        "chosen": "Chosen",
        "deferring": "DRAWS NO_DRAWS RANKED_ARRAYS DeferringPolicy Ranked load_ranked",
        "exploring": "Explored check_exploration epsilon_greedy",
        "fields": "FILE is_saved_policy",
        "keys": "SavedKeys is_text key_arrays key_files load_keys number_dtype",
        "kinds": "ACTION_ARRAYS KINDS check_model load_actions load_model saved_model",
        "models": "Groups LogisticModel LossName LowRankModel MeanModel Members ProductModel RewardModel "
        "expected_rewards unit",
        "parts": "CONSTANT CONSTANT_VALUE LARGEST_NUMBER Part buckets category_part counted_words embedding_parts "
        "hashed_rows missing_part number_part time_parts words_of",
        "policy": "ScoringPolicy load",
        "records": "rows_of_records",
        "rows": "SparseRows",
        "trees": "EVERY_LEAF MOST_LEAVES WORDS_OF_A_SET TreesModel category_of dense",
        "settings": "KINDS_OF_WORDS FeatureSettings Kind Scale",
        "unfamiliar": "known_buckets unfamiliar_features",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve

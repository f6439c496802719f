"""How many examples the fuzzing tests try, and text that is nearly of a language."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as some

# make attack asks for many.
EXAMPLES = int(os.environ.get("WARMSTART_EXAMPLES", "8"))
fuzzed = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def grammar(*words):
    """Text made of the words of a language and of anything else."""
    piece = some.one_of(
        some.sampled_from(words), some.sampled_from(words), some.text(max_size=4), some.floats().map(str)
    )
    return some.lists(piece, max_size=12).map("".join)

"""Cell means that borrow: equal to the formula by hand; an event's own fold has no say in its score."""

from dataclasses import replace
from hashlib import md5

import numpy as np
import pyarrow as pa
import pytest
from tests.support.logs import random_log, read, table

from warmstart.events import FOLDS, open_cells, open_strata
from warmstart.reward import open_cell_means
from warmstart.reward.by_cell import NOTHING, STRENGTHS


def scores(log, engine, strength=None, **options):
    """Every stratum with its score, by (context, action, fold), in order; and the strength in use."""
    events = read(log, engine, **options)
    with open_cells(events) as cells, open_strata(cells) as strata, open_cell_means(strata) as best:
        shown = strata.table.join(strata.traffic, list(strata.groups))
        means = best if strength is None else replace(best, strength=strength)
        scored = cells.engine.fetch(means.expect(shown.select(*strata.table.columns, "other_n", "other_reward_sum")))
        keyed = {(row["context_0"], row["action"], row["fold"]): row for row in scored}
        return dict(sorted(keyed.items())), means.strength


def by_hand(strata, key, k):
    x, a, fold = key
    others = [row for (_, _, other), row in strata.items() if other != fold]

    def sums(rows):
        return sum(row["n"] for row in rows), sum(row["reward_sum"] for row in rows)

    n, rewards = sums(others)
    rate = (rewards + NOTHING) / (n + NOTHING)
    of_action = sums([row for row in others if row["action"] == a])
    of_context = sums([row for row in others if row["context_0"] == x])
    action, context = ((r + k * rate) / (n + k) for n, r in (of_action, of_context))
    n, rewards = sums([row for row in others if (row["context_0"], row["action"]) == (x, a)])
    return min(max((rewards + k * min(action * context / rate, 1.0)) / (n + k), 0.0), 1.0)


def test_scores_equal_the_formula_and_the_strength_errs_least(engine):
    strata, strength = scores(random_log(3), engine)
    for key, row in strata.items():
        assert row["expected"] == pytest.approx(by_hand(strata, key, strength), abs=1e-12)

    def error(k):
        wanted = {key: by_hand(strata, key, k) for key in strata}
        return sum(f * (strata[key]["n"] * f - 2 * strata[key]["reward_sum"]) for key, f in wanted.items())

    assert strength == min(STRENGTHS, key=error)


def test_rewards_of_a_fold_do_not_change_its_own_scores(duckdb):
    rows = random_log(4)
    log = table(rows).append_column("id", pa.array(range(len(rows))))
    folds = np.array([int(md5(f"strata 0|{i}".encode()).hexdigest()[:6], 16) % FOLDS for i in range(len(rows))])
    rewards = np.where(folds == 2, 1.0, log["reward"].to_numpy())
    changed = log.set_column(log.column_names.index("reward"), "reward", pa.array(rewards))
    before, after = (scores(some, duckdb, strength=10.0, event_id="id")[0] for some in (log, changed))
    assert before.keys() == after.keys()
    for (*_, fold), one, other in zip(before, before.values(), after.values(), strict=True):
        assert (one["reward_sum"] != other["reward_sum"]) <= (fold == 2)
        assert (one["expected"] == pytest.approx(other["expected"], abs=1e-12)) == (fold == 2)

"""A ranking chooses, every day, the first action that is live; its table says how often."""

from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from tests.support.logs import churning_log, moment, read

from warmstart.events import open_cells
from warmstart.policy.ranking import ranked_policy
from warmstart.policy.ranking_store import RankingInMemory


def live_days(rows):
    days = defaultdict(list)
    for _, action, _, day in rows:
        days[action].append(day)
    return {action: (min(found), max(found)) for action, found in days.items()}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow_on_spark) for seed in (1, 2))])
def test_every_day_the_first_that_is_live(seed, engine):
    rows = churning_log(seed)
    early, late = read(rows, engine).split(at=moment(4))
    contexts = sorted({row[0] for row in rows})
    actions = sorted({row[1] for row in rows})
    ranks = {(x, a): 1 + (i * 7 + j * 3) % len(actions) for i, x in enumerate(contexts) for j, a in enumerate(actions)}
    by_context = {x: sorted(actions, key=lambda a: (ranks[x, a], a)) for x in contexts}
    ranking = pa.table(
        {
            "context": [x for x in contexts for _ in actions],
            "action": [a for x in contexts for a in by_context[x]],
            "rank": [i + 1 for _ in contexts for i in range(len(actions))],
        }
    )
    live = live_days(rows)
    expected, traffic = Counter(), Counter()
    for x, _, _, day in rows:
        if day >= 4:
            traffic[x] += 1
            showable = [a for a in by_context[x] if live[a][0] <= day <= live[a][1]]
            if showable:
                expected[x, showable[0]] += 1
    with open_cells(late, early, live=True) as cells:
        policy = ranked_policy(cells, RankingInMemory(ranking), live=True, name="r")
        found = {(r["context_0"], r["action"]): r["probability"] for r in engine.fetch(policy.table)}
        still = engine.fetch(ranked_policy(cells, RankingInMemory(ranking), live=False, name="r").table)
    assert found == pytest.approx({key: n / traffic[key[0]] for key, n in expected.items()}, abs=1e-9)
    assert {(r["context_0"], r["action"]) for r in still} == {(x, by_context[x][0]) for x in contexts}

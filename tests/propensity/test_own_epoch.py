"""A sample of events with the propensities of their own epoch."""

import numpy as np
import pyarrow as pa
from tests.support.epoch_logs import Blocks

from warmstart.core import to_numpy
from warmstart.propensity.mixture import learn_mixture
from warmstart.propensity.own_epoch import own_epoch_rows


def rows_of(world, **options):
    learned = learn_mixture(*world.rows, world.block)
    rows = own_epoch_rows(learned, *world.rows[:3], folds=world.folds, epochs=world.block, **options)
    return learned, {name: to_numpy(rows[name]) for name in rows.column_names}


def test_own_propensities_are_sharper_and_their_mixture_is_the_propensity():
    """Three blocks of 300 events: what was shown has its own block's propensity near 1, of all blocks near a third."""
    world = Blocks(0, events=900, blocks=3)
    learned, rows = rows_of(world)
    shown = rows["shown"] == 1
    assert shown.sum() == 900
    event = rows["row"][shown]
    expected = learned.propensity(*world.rows[:2], world.folds)
    np.testing.assert_allclose(rows["propensity"][shown][np.argsort(event)], expected, rtol=1e-12)
    assert np.median(rows["own_epoch"][shown]) > 0.9 > 0.8 > np.median(rows["propensity"][shown])
    for name in ("propensity", "own_epoch"):
        np.testing.assert_allclose(np.bincount(rows["row"], weights=rows[name]), 1.0, rtol=1e-9)
    # The same contexts as if they came from each block in turn: shares times those is the propensity of all.
    parts = []
    for block in range(3):
        moved = own_epoch_rows(learned, *world.rows[:3], folds=world.folds, epochs=np.full(900, block))
        parts.append(to_numpy(moved["own_epoch"]))
    shares = np.array([learned.learned[fold].mixture.shares.shares for fold in range(5)])[world.folds[rows["row"]]]
    np.testing.assert_allclose((shares * np.column_stack(parts)).sum(axis=1), rows["propensity"], rtol=1e-9)


def test_a_log_of_more_rows_is_sampled_without_bias(monkeypatch):
    from warmstart.propensity import own_epoch

    world = Blocks(1, events=900, blocks=3)
    monkeypatch.setattr(own_epoch, "MOST_ROWS", 200)
    _, rows = rows_of(world)
    first = np.unique(rows["row"], return_index=True)[1]
    assert len(first) == 200
    assert rows["events"][first].sum() == 900
    assert set(pa.array(rows["action"]).unique().to_pylist()) == set(range(4))

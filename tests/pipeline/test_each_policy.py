"""Which cells a policy is valued with; monitors of columns, and of code."""

import numpy as np
import pyarrow as pa
import pytest
from tests.support.epoch_worlds import NAMES, World, day, draw

import warmstart as ws

WORLD = World("epsilon-greedy", epochs=4, events=150, rate=0.3)
LOG = draw(WORLD, 0).table


def with_shadow():
    names = sorted(set(LOG[NAMES["action"]].to_pylist()))
    choices = np.random.default_rng(0).choice(names, LOG.num_rows)
    return LOG.append_column("shadow", pa.array(choices.tolist()))


def read(table=None, **options):
    return ws.read_events(with_shadow() if table is None else table, **NAMES, epoch="day", **options)


def test_a_monitor_follows_a_column_as_evaluate_values_it(tmp_path):
    policies = {"mine": "column:shadow", "uniform": "uniform"}
    found = ws.monitor(policies, read(), tmp_path / "out.jsonl", tau=0.1)
    expected = ws.evaluate(policies, read(), tau=0.1, until=day(WORLD.epochs - 1))
    for place, name in enumerate(policies):
        followed = [line.policies[place].estimate.value for line in found.lines]
        assert followed == pytest.approx([one.value for one in expected[name].by_epoch])
    again = ws.monitor(policies, read(), tmp_path / "out.jsonl", tau=0.1)
    assert again.new == 0
    with pytest.raises(ws.UsageError, match="chooses otherwise"):
        ws.monitor({"mine": "column:other", "uniform": "uniform"}, read(), tmp_path / "out.jsonl", tau=0.1)


def test_a_monitor_follows_a_dict_and_refuses_code(tmp_path):
    context = LOG[NAMES["context"]][0].as_py()
    action = LOG[NAMES["action"]][0].as_py()
    found = ws.monitor({"mine": {context: action}}, read(), tmp_path / "dict.jsonl", tau=0.1)
    assert found.new > 0
    with pytest.raises(ws.UsageError, match=r"'mine' is code.*policy_table"):
        ws.monitor({"mine": lambda contexts: [action] * len(contexts)}, read(), tmp_path / "code.jsonl", tau=0.1)


def test_progress_names_every_policy():
    steps = []
    ws.evaluate(["column:shadow", "logging"], read(), tau=0.1, on_progress=lambda step, *_: steps.append(step))
    assert [step for step in steps if step.startswith("valuing")] == ["valuing column:shadow", "valuing logging"]


def test_a_training_log_needs_the_column_too():
    table = with_shadow()
    earlier = table.drop_columns(["shadow"])
    train, _ = read(earlier).split(fraction=0.5)
    _, test = read(table).split(fraction=0.5)
    with pytest.raises(ws.ColumnError, match="has no column 'shadow'"):
        ws.evaluate("column:shadow", test, train=train, tau=0.1)

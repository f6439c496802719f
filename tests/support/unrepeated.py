"""Logs whose contexts never repeat, written by loggers that choose at random or by a fixed rule."""

import numpy as np
import pyarrow as pa

import warmstart as ws

RANDOMISED, FIXED = "randomised", "fixed"


def unrepeated_log(logger, *, events=3000, actions=4, seed=0):
    """Contexts of two numbers; the logger draws from a softmax of linear scores, or takes the best of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(events, 2))
    angles = np.arange(actions) * 2 * np.pi / actions
    scores = 2 * x @ np.stack([np.cos(angles), np.sin(angles)])
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    if logger == FIXED:
        p = np.eye(actions)[scores.argmax(axis=1)]
    shown = (p.cumsum(axis=1) > rng.random((events, 1))).argmax(axis=1)
    rewards = (rng.random(events) < 0.1 + 0.1 * shown).astype(float)
    log = pa.table({"x": x[:, 0], "y": x[:, 1], "a": [f"a{i}" for i in shown], "r": rewards, "i": np.arange(events)})
    return log.append_column("p", pa.array(p[np.arange(events), shown])), p


def read_unrepeated(log, engine="duckdb", **columns):
    names = {"context": ["x", "y"], "action": "a", "reward": "r", "event_id": "i", **columns}
    return ws.read_events(log, **names, engine=engine)

"""Users who come back: what certificates are worth if events are read as independent, and by unit.

A part of ``studies.assumptions``. No action is better than another, so every policy that is certified to gain is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import warmstart as ws

TAU = 0.01
EFFECT = "users"
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "users.svg"
CONTEXTS, ACTIONS, POLICIES = 10, 5, 20
LIGHT_USERS, VISITS = 1_500, 20
HEAVY_USERS, HEAVY_VISITS = 50, 400
NAMES: dict[str, Any] = {"context": "context", "action": "action", "reward": "reward", "time": "time"}
READ: dict[str, dict[str, Any]] = {"without unit": {}, 'unit="user"': {"unit": "user"}}


class Level(NamedTuple):
    """The shape of users' gamma factor, and whether there are heavy users."""

    frailty: float | None
    heavy: bool = False

    @property
    def label(self) -> str:
        """Return the words of the table."""
        shape = "none" if self.frailty is None else f"{self.frailty:g}"
        return f"{shape}, heavy users" if self.heavy else shape


LEVELS = (Level(None), Level(1), Level(0.25), Level(0.1), Level(0.1, heavy=True))


def world(level: Level, seed: int) -> ws.TableWorld:
    """Make a world in which rewards depend on the context alone and users keep their context and action."""
    rng = np.random.default_rng(seed)
    heavy = HEAVY_USERS if level.heavy else 0
    users = ws.UserSettings(
        visits=VISITS, heavy_users=heavy, heavy_visits=HEAVY_VISITS, frailty=level.frailty, sticky="both"
    )
    means = np.repeat(rng.uniform(0.02, 0.1, size=(CONTEXTS, 1)), ACTIONS, axis=1)
    logging = np.full((1, CONTEXTS, ACTIONS), 1 / ACTIONS)
    events = LIGHT_USERS * VISITS + heavy * HEAVY_VISITS
    return ws.TableWorld(np.full(CONTEXTS, 1 / CONTEXTS), means, logging, events, users)


def measure(place: int, seed: int) -> list[dict[str, Any]]:
    """Evaluate null policies on one log, read without and with its unit; means over the policies."""
    level = LEVELS[place]
    made = world(level, seed)
    log = made.draw(seed=seed)
    rng = np.random.default_rng([seed, 1])
    arrays = [np.eye(ACTIONS)[rng.integers(ACTIONS, size=CONTEXTS)] for _ in range(POLICIES)]
    policies = {f"null-{i}": made.policy_from_array(h) for i, h in enumerate(arrays)}
    seen = supported_share(made, log)
    rows = []
    for name, unit in READ.items():
        events = ws.read_events(log, **NAMES, **unit)
        evaluation = ws.evaluate(policies, events, tau=TAU, estimators=())
        truths = np.array([made.true_value(h * seen, events=events) for h in arrays])
        value, lower, upper = (
            np.array([getattr(evaluation[policy], end) for policy in policies]) for end in ("value", "lower", "upper")
        )
        error = value / truths - 1
        row = {"effect": EFFECT, "level": level.label, "place": place, "policy": name}
        row |= {"error": error.mean(), "square": (error**2).mean()}
        row |= {"above": (lower > truths).mean(), "below": (upper < truths).mean()}
        rows.append({**row, "selected": ws.select(evaluation).policy is not None})
    return rows


def supported_share(made: ws.TableWorld, log: pa.Table) -> NDArray[np.float64]:
    """Return min(1, propensity / tau) of every context and action: what an estimate can see of a policy."""
    counts = np.zeros((CONTEXTS, ACTIONS))
    rows = log.group_by(["context", "action"]).aggregate([("reward", "count")]).to_pydict()
    at = [made.contexts.index(name) for name in rows["context"]], [made.actions.index(name) for name in rows["action"]]
    counts[at] = rows["reward_count"]
    share: NDArray[np.float64] = np.minimum(1, counts / counts.sum(axis=1, keepdims=True) / TAU)
    return share


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw how often a null policy was certified to gain, and how often an interval of the value missed."""
    import altair as alt

    order = [level.label for level in LEVELS]
    x = alt.X("level:N", sort=order, title="shape of the gamma factor", axis=alt.Axis(labelAngle=0))
    legend = alt.Legend(orient="top", labelLimit=300, columnPadding=40)
    color = alt.Color("policy:N", title=None, sort=list(READ), legend=legend)
    panels = []
    for name, title, allowed in (
        ("selected", f"Logs in which one of {POLICIES} null policies is certified", 0.025),
        ("missed", "95 % intervals of the value that miss", 0.05),
    ):
        values = [{**row, "missed": row["above"] + row["below"]} for row in rows]
        y = alt.Y(f"{name}:Q", title=None, axis=alt.Axis(format="%"))
        line = alt.Chart(alt.Data(values=values)).mark_line(point=True).encode(x, y, color)
        rule = alt.Chart(alt.Data(values=[{name: allowed}])).mark_rule(strokeDash=[4, 4]).encode(y)
        panels.append((line + rule).properties(title=title, width=340, height=190))
    FIGURE.parent.mkdir(exist_ok=True)
    alt.concat(*panels, columns=2, background="white").save(str(FIGURE))

"""Random small logs with everything that ``evaluate`` may be asked: drawn, as a table, and as plain events."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

import warmstart as ws

START = datetime(2026, 10, 1, 6, tzinfo=UTC)
PAGES = ("p", "q", "", "é 'r'", "s|t")
TAUS = (0.01, 0.1, 0.25, 0.5, 1.0)
RANGES = ((0.0, 1.0), (0.0, 1.0), (-2.0, 6.0), (0.0, 0.02), (10.0, 11.0))
SOURCES = ("counts", "counts", "train", "all", "back-off", "logged")
INTERVALS = ("bets", "bets", "kl", "hoeffding", "bernstein", "gamma", "bootstrap")
ESTIMATORS = ("dr", "ips", "snips", "dm", "switch-dr", "shrunk-dr")


@dataclass(frozen=True)
class Event:
    """An event: its context, action and epoch, rewards between 0 and 1 by outcome (None: unknown), what it counts."""

    id: int
    x: tuple
    a: str
    r: tuple
    day: int
    unit: str
    epoch: int
    p: float
    choice: str | None
    v: float = 1.0


@dataclass(frozen=True)
class Question:
    """A log, how it is read, what is evaluated on it and with which options.

    ``ranges``: of the outcomes; ``policies``: by name what ``evaluate`` takes, where it is a table of decisions with
    its probabilities; ``split``: the day on which the evaluated window begins; ``until``: the day before which it ends.
    """

    seed: int
    events: tuple[Event, ...]
    ranges: tuple[tuple[float, float], ...]
    read: dict
    options: dict
    policies: dict
    split: int | None
    until: int | None

    @property
    def table(self):
        """Return the log as a table; every outcome in its own range, known quarters of it."""
        columns = {
            "id": [event.id for event in self.events],
            "page": [event.x[0] for event in self.events],
            "ad": [event.a for event in self.events],
            "at": pa.array([moment(event.day, event.id) for event in self.events], pa.timestamp("us", "UTC")),
            "user": [event.unit for event in self.events],
            "version": [f"v{event.epoch}" for event in self.events],
            "pscore": [event.p for event in self.events],
            "choice": pa.array([event.choice for event in self.events], pa.string()),
        }
        if len(self.events[0].x) > 1:
            columns["size"] = [event.x[1] for event in self.events]
        for k, (low, high) in enumerate(self.ranges):
            values = [None if event.r[k] is None else low + (high - low) * event.r[k] for event in self.events]
            columns[("gain", "cost")[k]] = pa.array(values, pa.float64())
        return pa.table(columns)

    def ask(self, source, engine, read=None):
        """Evaluate on an engine; return the result, or an error of ours as text."""
        try:
            events = ws.read_events(source, engine=engine, **(read or self.read))
            early, late = (None, events) if self.split is None else events.split(at=moment(self.split))
            options = self.options if self.until is None else {**self.options, "until": moment(self.until)}
            return ws.evaluate({name: given(one) for name, one in self.policies.items()}, late, train=early, **options)
        except ws.WarmstartError as error:
            return f"{type(error).__name__}: {error}"


def moment(day, number=0):
    return START + timedelta(days=day, seconds=number)


def given(policy):
    """A policy as evaluate takes it: probabilities by context and action as a table."""
    if isinstance(policy, str):
        return policy
    keys = list(policy)
    columns = {"page": [x[0] for x, _ in keys], "ad": [a for _, a in keys]}
    if len(keys[0][0]) > 1:
        columns["size"] = [x[1] for x, _ in keys]
    return pa.table({**columns, "probability": [float(policy[key]) for key in keys]})


def question(seed):
    """Draw a question."""
    rng = np.random.default_rng([seed, 30])
    sizes, split = bool(rng.random() < 0.4), int(rng.integers(1, 5)) if rng.random() < 0.6 else None
    ranges = [RANGES[i] for i in rng.integers(len(RANGES), size=1 + int(rng.random() < 0.35))]
    nulls = len(ranges) > 1 and rng.random() < 0.5
    epoch = [None, None, "day", "version"][rng.integers(4)]
    within = bool(rng.random() < 0.5)
    events = list(draw_events(rng, sizes=sizes, outcomes=len(ranges), nulls=nulls, within=within))
    unit = rng.random() < 0.3
    source = str(rng.choice(["counts", "counts", "logged"] if epoch else SOURCES))
    read = {"context": ["page", "size"] if sizes else ["page"], "action": "ad", "reward": "gain", "time": "at"}
    read |= {"event_id": "id", "ranges": dict(zip(("gain", "cost"), ranges, strict=False))}
    read |= {"unit": "user"} if unit else {}
    read |= {"epoch": epoch} if epoch else {}
    read |= {"propensity": "pscore"} if source == "logged" else {}
    read |= {"also": "cost"} if len(ranges) > 1 else {}
    read |= {"minimize": "cost"} if len(ranges) > 1 and rng.random() < 0.5 else {}
    options = draw_options(rng, source, split=split, sizes=sizes, unit=unit, epoch=epoch)
    options |= draw_looks(rng, len(ranges), nulls=nulls, sizes=sizes)
    return Question(
        seed=seed,
        events=tuple(events),
        ranges=tuple(ranges),
        read=read,
        options=options,
        policies=draw_policies(rng, events),
        split=split,
        until=int(rng.integers(5, 7)) if rng.random() < 0.15 else None,
    )


def draw_events(rng, *, sizes, outcomes, nulls, within):
    """Draw events over six days with rare cells, actions that come and go, and users that may come back.

    ``within``: whether users come back inside an epoch only.
    """
    number, days, actions = int(rng.integers(12, 90)), 6, int(rng.integers(2, 6))
    explore, click, whole = rng.choice([0.1, 0.5, 1.0]), rng.random(), rng.random() < 0.5
    for i in range(number):
        day = i * days // number
        x = (PAGES[rng.integers(int(rng.integers(1, 6)))], *([int(rng.integers(2))] if sizes else []))
        a = int(rng.integers(actions)) if rng.random() < explore else (len(x[0]) + day // 2) % actions
        quarters = [int(rng.random() < click) * 4 if whole else int(rng.integers(0, 5)) for _ in range(outcomes)]
        r = [quarter / 4 for quarter in quarters]
        if nulls and rng.random() < 0.3:
            r[1] = None
        user = int(rng.integers(1, 25))
        yield Event(
            id=i,
            x=x,
            a=f"a{a}",
            r=tuple(r),
            day=day,
            unit=f"u{user}-{day}" if within else f"u{user}",
            epoch=day // 2,
            p=float(rng.choice([0.125, 0.5, 1.0])),
            choice=None if rng.random() < 0.1 else f"a{int(rng.integers(actions))}",
        )


def draw_options(rng, source, *, split, sizes, unit, epoch):
    """Draw what propensities, weights and intervals are asked for."""
    chosen = rng.permutation(ESTIMATORS)[: rng.integers(1, 7)].tolist()
    windows = ["evaluated"] if split is None else ["evaluated", "train", "all"]
    taus = ["auto"] if rng.random() < 0.2 else sorted(rng.choice(TAUS, size=rng.integers(1, 3), replace=False).tolist())
    options = {
        "propensities": "counts" if source == "train" and split is None else source,
        "estimators": chosen,
        "tau": taus,
        "delta": float(rng.choice([0.05, 0.5])),
        "interval": "bets" if epoch and source == "counts" else str(rng.choice(INTERVALS)),
        "feasible_from": str(rng.choice(windows)),
        "live": bool(rng.random() < 0.6),
        "allow_unknown_actions": True,
    }
    options |= {"coarser": [["page"]]} if source == "back-off" and sizes else {}
    return options | ({"per": "unit"} if unit and rng.random() < 0.4 else {})


def draw_looks(rng, outcomes, *, nulls, sizes):
    """Draw guards, segments, a utility, doubt, a margin, and what decisions saw before."""
    options = {}
    if outcomes > 1 and not nulls and rng.random() < 0.4:
        options["utility"] = "2*gain - 3*cost"
    elif outcomes > 1 and rng.random() < 0.6:
        options["guards"] = ["cost<=+2%", "gain>=-0.1"]
    if sizes and rng.random() < 0.4:
        options["by"] = "size"
    if rng.random() < 0.2:
        options["doubt"] = 1.3
    if rng.random() < 0.2:
        options["margin"] = 0.01
    if rng.random() < 0.2:
        options["trained_until"] = "never" if rng.random() < 0.5 else moment(3)
    return options


def draw_policies(rng, events):
    """Draw policies by name: words, and decisions of which some are rare, never shown, or only half made."""
    words = ["logging", "uniform", "uniform-all", f"constant:{events[0].a}", "column:choice"]
    policies = {word: word for word in rng.permutation(words)[: rng.integers(1, 4)].tolist()}
    contexts = sorted({event.x for event in events})
    actions = [*sorted({event.a for event in events}), "never"]
    mine = {}
    for x in contexts[: max(1, int(rng.integers(len(contexts) + 1)))]:
        parts = rng.integers(0, 5, size=len(actions) + 1)
        mine |= {(x, a): int(n) / int(parts.sum()) for a, n in zip(actions, parts, strict=False) if n}
    if mine:
        policies["mine"] = mine
    return policies

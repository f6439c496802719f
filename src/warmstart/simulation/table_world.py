"""Small simulated worlds (contexts x actions x days) with the exact value of any policy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import UsageError
from warmstart.simulation.ad_settings import FIRST_DAY
from warmstart.simulation.learned_actions import learned_actions
from warmstart.simulation.learners import Kind, LearnerSettings
from warmstart.simulation.users import USER, Per, UserSettings
from warmstart.simulation.window_shares import COUNTED, EARNING, check_per, with_shares

if TYPE_CHECKING:
    from warmstart.events import Events


@dataclass(frozen=True, eq=False)
class TableWorld:
    """A simulated world in three arrays.

    ``traffic[x]``: probability of a context, the same every day; ``reward_means[x, a]``: click probabilities;
    ``logging[d, x, a]``: the logging policy of day d, deterministic or not. Every day has ``events_per_day`` events.
    ``users``: those who come back, if events are not independent; reward means are then those of users who are not
    heavy. A user who keeps an action keeps the one of a visit drawn at random.

    ``learner``: chooses the actions instead, by the rewards of the log so far. ``logging`` is then its policy before
    the first update, and says what is available: an action of probability 0 cannot be shown in that context on that
    day. A user who keeps an action keeps that of the first visit, wherever and whenever it is available.

    >>> import numpy as np, warmstart as ws
    >>> every_other_day = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # two days, a page, two ads
    >>> world = ws.TableWorld(np.array([1.0]), np.array([[0.1, 0.3]]), every_other_day, events_per_day=5)
    >>> world.draw(seed=0)["action"].to_pylist()[4:6]
    ['ad-0', 'ad-1']
    >>> world.true_value(np.array([[0.5, 0.5]]))
    0.2
    """

    traffic: NDArray[np.float64]
    reward_means: NDArray[np.float64]
    logging: NDArray[np.float64]
    events_per_day: int
    users: UserSettings | None = None
    learner: LearnerSettings | None = None

    def __post_init__(self) -> None:
        days, contexts, actions = self.logging.shape
        if self.traffic.shape != (contexts,) or self.reward_means.shape != (contexts, actions):
            raise UsageError("traffic, reward_means and logging[day] must agree on contexts and actions.")
        for name, sums in (("traffic", self.traffic.sum()), ("logging", self.logging.sum(axis=2))):
            if not np.allclose(sums, 1):
                raise UsageError(f"{name} must sum to 1.")
        if min(days, self.events_per_day) < 1 or min(t.min() for t in (self.traffic, self.logging)) < 0:
            raise UsageError("A world needs a day, an event and probabilities of 0 or more.")
        if self.reward_means.min() < 0 or self.reward_means.max() > 1:
            raise UsageError("Reward means must lie in [0, 1].")
        if self.users is not None:
            self.users.check_events(self.events)

    @classmethod
    def month(cls, *, contexts: int = 60, actions: int = 24, events_per_day: int = 2000, seed: int = 0) -> TableWorld:
        """Return a month in which the logging policy is deterministic by day and actions come and go."""
        rng = np.random.default_rng(seed)
        days = 30
        traffic = 1 / np.arange(1, contexts + 1)
        quality = rng.uniform(0.005, 0.06, size=actions)
        reward_means = np.clip(quality * rng.gamma(2.0, 0.5, size=(contexts, actions)), 0, 0.5)
        start = rng.integers(-20, 25, size=actions)
        stop = start + rng.integers(8, 40, size=actions)
        start[:2], stop[:2] = 0, days
        relevant = rng.random((contexts, actions)) < 0.35
        relevant[:, :2] = True
        logging = np.zeros((days, contexts, actions))
        belief = rng.normal(size=(contexts, actions))
        for day in range(days):
            belief = 0.8 * belief + 0.6 * rng.normal(size=(contexts, actions))
            allowed = relevant & (start <= day) & (day < stop)
            chosen = np.where(allowed, belief, -np.inf).argmax(axis=1)
            logging[day, np.arange(contexts), chosen] = 1.0
        return cls(traffic / traffic.sum(), reward_means, logging, events_per_day)

    @classmethod
    def learning(
        cls,
        learner: LearnerSettings | Kind = "thompson",
        *,
        days: int = 20,
        contexts: int = 20,
        actions: int = 5,
        events_per_day: int = 400,
        seed: int = 0,
    ) -> TableWorld:
        """Return a world whose logging policy learns: at random in the first period, then by the rewards so far.

        Contexts are equally frequent; mean rewards are from .02 to .5, differ by context, and are log-uniform.

        Args:
            learner: What learns, or its kind: it is then updated every day.
            days: Days.
            contexts: Contexts.
            actions: Actions, available in all contexts on all days.
            events_per_day: Events of a day.
            seed: Which mean rewards to draw.
        """
        rng = np.random.default_rng(seed)
        means = np.exp(rng.uniform(np.log(0.02), np.log(0.5), size=(contexts, actions)))
        logging = np.full((days, contexts, actions), 1 / actions)
        settings = learner if isinstance(learner, LearnerSettings) else LearnerSettings(kind=learner)
        return cls(np.full(contexts, 1 / contexts), means, logging, events_per_day, learner=settings)

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """Return the contexts' names."""
        return tuple(f"page-{i}" for i in range(len(self.traffic)))

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Return the actions' names."""
        return tuple(f"ad-{i}" for i in range(self.reward_means.shape[1]))

    @property
    def days(self) -> int:
        """Return the number of days."""
        return len(self.logging)

    @property
    def events(self) -> int:
        """Return the number of events of a log."""
        return self.days * self.events_per_day

    @property
    def average_logging(self) -> NDArray[np.float64]:
        """Return the average logging policy, pi(a|x) = mean of pi_t(a|x) over events (paper, Eq. 3).

        Users who keep their action and not their context see it in all contexts: it is then the same in all. Refused
        with a learner, whose policy differs from log to log.
        """
        if self.learner is not None:
            raise UsageError("The logging policy of a learner depends on the rewards that it sees.")
        mean: NDArray[np.float64] = self.logging.mean(axis=0)
        if self.users is not None and self.users.sticky == "action":
            mean = np.tile(self.traffic @ mean, (len(mean), 1))
        return mean

    def draw(self, *, seed: int) -> pa.Table:
        """Return a random log: context, action, reward, time; and user, if there are users."""
        rng = np.random.default_rng(seed)
        x = rng.choice(len(self.contexts), size=self.events, p=self.traffic)
        if self.learner is not None:
            return self._draw_learned(self.learner, x, rng)
        thresholds = self.logging.cumsum(axis=2)[self._day, x]
        a = (rng.random((len(x), 1)) * thresholds[:, -1:] >= thresholds).sum(axis=1)
        if self.users is None:
            return self._log(x, a, (rng.random(len(x)) < self.reward_means[x, a]).astype(float))
        user = self.users.draw(len(x), rng)
        if self.users.sticky != "nothing":
            visit = _one_visit(user, rng)
            a, x = a[visit][user], x[visit][user] if self.users.sticky == "both" else x
        chances = self.users.chances(self.reward_means[x, a], user, self.users.factors(len(x), rng))
        return self._log(x, a, (rng.random(len(x)) < chances).astype(float), user)

    def logs(self) -> Iterator[tuple[float, pa.Table]]:
        """Yield every possible log with its probability; for worlds of a few events, without users or learner."""
        self._require_independence()
        for outcome in itertools.product(*(self._outcomes(d) for d in self._day.tolist())):
            probability = float(np.prod([p for p, *_ in outcome]))
            x, a, reward = (np.array(part) for part in list(zip(*outcome, strict=True))[1:])
            yield probability, self._log(x, a, reward)

    def rewardings(self, log: pa.Table) -> Iterator[tuple[float, pa.Table]]:
        """Yield the log with every possible outcome of its rewards and its probability; without users or learner."""
        self._require_independence()
        x = self._positions(log["context"].to_pylist(), self.contexts)
        a = self._positions(log["action"].to_pylist(), self.actions)
        means = self.reward_means[x, a]
        position = log.column_names.index("reward")
        for outcome in itertools.product((0.0, 1.0), repeat=len(means)):
            reward = np.array(outcome)
            probability = float(np.prod(np.where(reward > 0, means, 1 - means)))
            if probability > 0:
                yield probability, log.set_column(position, "reward", [reward])

    def true_value(
        self, policy: pa.Table | NDArray[np.float64], *, events: Events | None = None, per: Per = "event"
    ) -> float:
        """Return the exact value of a policy: expected reward on a window's traffic, or in the population.

        Args:
            policy: A table (context, action, probability) or an array [context, action].
            events: The window, whose contexts and users are taken as given; read with ``unit="user"`` where heavy users
                earn less, or per unit. Without it, the mean over all logs.
            per: ``event``: every event counts the same. ``unit``: every user does, whatever their visits.
        """
        h = policy if isinstance(policy, np.ndarray) else self.policy_array(policy)
        traffic = self._all_traffic(per) if events is None else self._window_traffic(events, per)
        return float(traffic @ (h * self.reward_means).sum(axis=1))

    def policy_array(self, policy: pa.Table) -> NDArray[np.float64]:
        """Return a policy's table as an array [context, action]."""
        rows = policy.to_pydict()
        h = np.zeros_like(self.reward_means)
        at = self._positions(rows["context"], self.contexts), self._positions(rows["action"], self.actions)
        np.add.at(h, at, np.array(rows.get("probability", [1.0] * policy.num_rows)))
        return h

    def policy_from_array(self, h: NDArray[np.float64]) -> pa.Table:
        """Return an array [context, action] as a table (context, action, probability)."""
        x, a = np.nonzero(h)
        names = {"context": [self.contexts[i] for i in x], "action": [self.actions[i] for i in a]}
        return pa.table({**names, "probability": h[x, a]})

    def _draw_learned(self, learner: LearnerSettings, x: NDArray[np.int64], rng: np.random.Generator) -> pa.Table:
        luck, users = rng.random(len(x)), self.users
        user = factors = None
        if users is not None:
            user, factors = users.draw(len(x), rng), users.factors(len(x), rng)
            x = x[_one_visit(user, rng)][user] if users.sticky == "both" else x

        def rewards(part: slice, a: NDArray[np.int64]) -> NDArray[np.bool_]:
            means = self.reward_means[x[part], a]
            drawn: NDArray[np.bool_] = luck[part] < (
                means if users is None or user is None else users.chances(means, user[part], factors)
            )
            return drawn

        keepers = user if users is not None and users.sticky != "nothing" else None
        time = self._time - FIRST_DAY
        a, reward = learned_actions(learner, self.logging, x, time, rewards=rewards, keepers=keepers, rng=rng)
        return self._log(x, a, reward, user)

    def _all_traffic(self, per: Per) -> NDArray[np.float64]:
        check_per(per, self.users)
        rate = 1.0 if self.users is None else self.users.mean_rate(self.events, per=per)
        return rate * self.traffic

    def _window_traffic(self, events: Events, per: Per) -> NDArray[np.float64]:
        """Return the shares of contexts, each times what its users earn relative to those who are not heavy."""
        table = with_shares(events, self.users, per)
        earning = np.zeros(len(self.contexts))
        sums = table.group_by("context_0").agg(counted=table[COUNTED].sum(), earning=table[EARNING].sum())
        rows = events.engine.fetch_arrow(sums).to_pydict()
        earning[self._positions(rows["context_0"], self.contexts)] = rows["earning"]
        shares: NDArray[np.float64] = earning / sum(rows["counted"])
        return shares

    def _require_independence(self) -> None:
        for name, given in (("users", self.users), ("a learner", self.learner)):
            if given is not None:
                hint = f"Make the world without {name}."
                raise UsageError("Only logs of independent events can be enumerated.", hint)

    def _outcomes(self, day: int) -> list[tuple[float, int, int, float]]:
        outcomes = []
        for x, a in zip(*np.nonzero(self.logging[day]), strict=True):
            shown = self.traffic[x] * self.logging[day, x, a]
            mean = self.reward_means[x, a]
            outcomes += [(shown * p, int(x), int(a), r) for p, r in ((mean, 1.0), (1 - mean, 0.0)) if shown * p > 0]
        return outcomes

    @property
    def _day(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.days), self.events_per_day)

    @property
    def _time(self) -> NDArray[np.int64]:
        """Return the times of events, in microseconds."""
        second = np.tile(np.arange(self.events_per_day) * (86_400 / self.events_per_day), self.days)
        return FIRST_DAY + ((self._day * 86_400 + second) * 1_000_000).astype(np.int64)

    def _log(
        self, x: NDArray[Any], a: NDArray[Any], reward: NDArray[Any], user: NDArray[np.int32] | None = None
    ) -> pa.Table:
        names = {"context": np.array(self.contexts)[x], "action": np.array(self.actions)[a]}
        log = pa.table({**names, "reward": reward, "time": pa.array(self._time, pa.timestamp("us", "UTC"))})
        return log if user is None else log.append_column(USER, pa.array(user, pa.int64()))

    def _positions(self, names: list[str], known: tuple[str, ...]) -> NDArray[np.int64]:
        position = {name: i for i, name in enumerate(known)}
        return np.array([position[name] for name in names], dtype=np.int64)


def _one_visit(users: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one event of every user."""
    order = rng.permutation(len(users))
    return order[np.unique(users[order], return_index=True)[1]]

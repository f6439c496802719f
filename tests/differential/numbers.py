"""The numbers of an estimate, event by event: sums of weights and rewards, and the estimators by their definitions."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from tests.differential.by_event import (
    borrowed,
    choices,
    fold_of,
    model_of_cells,
    model_of_folds,
    shares,
    windows,
)
from tests.support.reference import gain_sums

from warmstart.estimators.intervals import Coefficients, TermSums, gain_ends, interval, score_ends

SMALLEST_TAU = 0.0005


@dataclass(frozen=True)
class Weighed:
    """An event with what a policy makes of it: probability, propensity (None: unknown), share decided, model.

    ``own``: the share of the action in the evaluated window, where propensities come from another one.
    ``model_value``: what the reward model expects of the policy in the context.
    """

    event: object
    h: float
    p: float | None
    own: float
    decided: float
    f: float
    model_value: float

    @property
    def v(self):
        return self.event.v

    @property
    def r(self):
        return self.event.r

    def weight(self, tau, kind="dr", *, own=False):
        """The clipped, switched or shrunk importance weight, with the evaluated window's ``own`` counts or not."""
        p = self.own if own else self.p
        if p is None:
            return 0.0
        if kind == "shrunk-dr":
            w = self.h / p if p else 0.0
            return w / (1 + (tau * w) ** 2)
        if kind == "switch-dr" and p < tau:
            return 0.0
        return self.h / max(p, tau) if max(p, tau) > 0 else 0.0


class Answer:
    """All that a question has for an answer by policy, tau, outcome and segment, as dictionaries of numbers."""

    def __init__(self, question):
        self.question = question
        self.evaluated, self.train, self.every = windows(question)
        self.source = question.options["propensities"]
        self.counted = self.source in ("counts", "train", "all")
        self.by_epoch = self.source == "counts" and "epoch" in question.read

    def of(self, name, tau, outcome, segment):
        """The numbers of one estimate."""
        evaluated, train = self.evaluated, self.train
        policy = self.question.policies[name]
        if policy == "column:choice":
            evaluated, train = ([replace(e, x=(*e.x, e.choice)) for e in part] for part in (evaluated, train))
        every = self.every
        h = choices(self.question, policy, evaluated, train, every, by_epoch=self.by_epoch)
        # Of all events, whatever is known of their outcomes.
        lent = borrowed(evaluated, "coarser" in self.question.options) if self.source == "back-off" else {}
        evaluated, train = (self._with_rewards(part, outcome) for part in (evaluated, train))
        events = self._weighed(h, evaluated, train, lent, is_logging=policy == "logging")
        self.events, self.trained = events, train
        if segment is not None:
            events = [one for one in events if str(one.event.x[1]) == segment[0]]
        tau = 0.0 if policy == "logging" else tau
        total = sum(one.v for one in events)
        found = self._values(events, total, tau)
        if self.counted or policy == "logging":
            found |= self._gains(events, self.own if policy == "logging" else h, total, tau)
        if policy != "logging":
            found |= {f"estimate {k}": x for k, x in self._points(events, h, total, tau).items()}
        return found

    def _with_rewards(self, events, outcome):
        """Events with an outcome as the reward, those in which it is known."""
        options, (low, high) = self.question.options, self.question.ranges[0]
        if "utility" in options and outcome == 0:
            (low_2, high_2) = self.question.ranges[1]
            least, most = 2 * low - 3 * high_2, 2 * high - 3 * low_2

            def value(e):
                own = 2 * (low + (high - low) * e.r[0]) - 3 * (low_2 + (high_2 - low_2) * e.r[1])
                return (own - least) / (most - least)

            return [replace(e, r=value(e)) for e in events]
        # With a utility the reward is one of the others.
        k = outcome - 1 if "utility" in options else outcome
        return [replace(e, r=e.r[k]) for e in events if e.r[k] is not None]

    def group(self, event):
        return (event.x, event.epoch) if self.by_epoch else event.x

    def _weighed(self, h, evaluated, train, lent, *, is_logging):
        """The events with probabilities, propensities and what a reward model says of them."""
        own = shares(evaluated, self.group)
        among = {"train": train, "all": [*evaluated, *train]}.get(self.source)
        other = None if among is None or is_logging else shares(among, self.group)
        known = None if other is None else {g for g, _ in other}

        def fold(e):
            return fold_of(self.question, e)

        f = model_of_cells(evaluated) if self.counted else model_of_folds(evaluated, fold)
        chosen = defaultdict(dict)
        for (g, a), p in h.items():
            chosen[g][a] = p

        def propensity(e):
            if is_logging or self.source == "counts":
                return own[self.group(e), e.a]
            if other is not None:
                return other.get((self.group(e), e.a), 0.0) if self.group(e) in known else None
            return lent[e.x, e.a] if self.source == "back-off" else e.p

        self.used, self.other, self.known = (own if other is None else other), other, known
        self.own = own
        found = []
        for e in evaluated:
            mine, place = chosen[self.group(e)], fold(e)
            value = sum(p * f(e.x, a, place) for a, p in mine.items())
            h_e = own[self.group(e), e.a] if is_logging else mine.get(e.a, 0.0)
            found.append(
                Weighed(e, h_e, propensity(e), own[self.group(e), e.a], sum(mine.values()), f(e.x, e.a, place), value)
            )
        self.f, self.place, self.chosen = f, fold, chosen
        return found

    def _supporting(self, one):
        return one.own if self.other is not None else one.p

    def _values(self, events, total, tau):
        cs = [one.weight(tau) for one in events]
        weight = sum(one.v * c for one, c in zip(events, cs, strict=True))
        squares = sum(one.v * c * c for one, c in zip(events, cs, strict=True))
        decided = min(sum(one.v * one.decided for one in events) / total, 1.0)
        parts = {"supported": 0.0, "clipped": 0.0}
        for one in events:
            p = self._supporting(one)
            if p:
                parts["supported" if p >= tau else "clipped"] += one.v * one.h / p / total
        supported = min(parts["supported"], decided)
        clipped = min(parts["clipped"], decided - supported)
        value = sum(one.v * c * one.r for one, c in zip(events, cs, strict=True)) / total
        return {
            "value": value if self.other is None and self.counted else min(value, 1.0),
            "value of these weights": None if self.other is None else value,
            "matched": sum(one.v for one in events if one.h > 0),
            "events": total,
            "effective_sample_size": weight**2 / squares if squares else 0.0,
            "support supported": supported,
            "support clipped": clipped,
            "support unsupported": decided - supported - clipped,
            "support undecided": 1 - decided,
        }

    def _gains(self, events, h, total, tau):
        """The certified gain: of this policy where the window's own share reaches tau, logging elsewhere."""
        actions, share = defaultdict(set), defaultdict(float)
        for e in (one.event for one in events):
            actions[self.group(e)].add(e.a)
        for (g, a), p in h.items():
            if self.own.get((g, a), 0) > 0 and self.own[g, a] >= tau:
                share[g] += p
        traffic = sum(one.v * share[self.group(one.event)] for one in events)
        earned = sum(one.v * one.h / one.own * one.r for one in events if one.own >= tau)
        logging = sum(one.v * share[self.group(one.event)] * one.r for one in events)
        contested = sum(one.v * share[self.group(e)] for one in events if len(actions[self.group(e := one.event)]) > 1)
        self.terms = []
        for one in events:
            x = self.group(one.event)
            if share[x] > 0 and len(actions[x]) > 1:
                self.terms.append((x, (one.h / one.own if one.own >= tau else 0.0) - share[x], one.r))
        self.traffic = traffic
        return {
            "gain share": traffic / total,
            "gain contested": contested / total,
            "gain value": earned / traffic if traffic > 1e-12 else None,
            "gain logging": logging / traffic if traffic > 1e-12 else None,
            "gain difference": (earned - logging) / total if traffic > 1e-12 else None,
        }

    def ends(self, name, tau, outcome, segment, delta):
        """The ends of value and gain from every event's own term; None where others than events are independent."""
        plain = self.counted and not (self._units or self.by_epoch or segment)
        if not plain or "doubt" in self.question.options or self.question.policies[name] == "logging":
            return None
        self.of(name, tau, outcome, segment)
        events, method = self.events, self.question.options["interval"]
        cs = [one.weight(tau) for one in events]
        terms = [c * one.r for one, c in zip(events, cs, strict=True)]
        sums = TermSums(
            *(len(events), sum(terms), sum(t * t for t in terms), sum(cs), sum(c * c for c in cs), max(cs)),
            bound=1 / tau,
            coefficients=Coefficients(np.array(cs), np.ones(len(cs)), np.array([float(one.r) for one in events])),
        )
        value = interval(sums, delta=delta, method=method)
        train = [(e.x, e.a, e.r, e.day) for e in self.trained]
        rate = sum(r for _, _, r, _ in train) / len(train) if train else 0.0
        gains = gain_sums(self.terms, self.traffic, train if 0 < rate < 1 else None)
        share = self.traffic / len(events)
        gain = tuple(share * end for end in gain_ends(gains, delta)) if self.terms else None
        return (value.lower, value.upper), gain

    def _points(self, events, h, total, tau):
        """The point estimates of all traffic, and the intervals of those that are sums of independent terms."""
        found = {}
        for name in self.question.options["estimators"]:
            if name not in ("ips", "snips") and not (self.counted or self._repeats):
                # There a regression stands in the place of cell means.
                continue
            if name in ("ips", "snips"):
                found |= self._weighted(name, events, total, tau)
            elif name == "dm":
                found[name] = sum(one.v * one.model_value for one in events) / total
            else:
                e = [one.weight(tau, name, own=self.other is not None) for one in events]
                terms = [one.model_value + w * (one.r - one.f) for one, w in zip(events, e, strict=True)]
                value = sum(one.v * term for one, term in zip(events, terms, strict=True)) / total
                found[name] = value = min(max(value, 0.0), 1.0)
                found[f"{name} gain"] = value - sum(one.v * one.decided * one.r for one in events) / total
                if not self.counted:
                    found[f"{name} ends"] = self._ends_of_dr(name, events, e, value, total, tau)
        return found

    def _weighted(self, name, events, total, tau):
        cs = [one.weight(tau) for one in events]
        weight = sum(one.v * c for one, c in zip(events, cs, strict=True))
        reward = sum(one.v * c * one.r for one, c in zip(events, cs, strict=True))
        if name == "snips" and weight <= 0:
            return {}
        base = total if name == "ips" else weight
        value = reward / base
        of = [c * one.r - (value if name == "ips" else c * value) for one, c in zip(events, cs, strict=True)]
        variance = self._squared(events, of) / base**2 if self._enough(events, cs) else None
        if name == "snips" and not self._units and sum(one.v for one, c in zip(events, cs, strict=True) if c > 0) <= 1:
            variance = None
        both = None if self.other is not None else ends(value, variance, self.question)
        return {name: min(max(value, 0.0), 1.0), f"{name} ends": both}

    @property
    def _repeats(self):
        """Whether a tenth of the traffic is in contexts seen more than once."""
        visits = Counter(one.event.x for one in self.events)
        again = sum(one.v for one in self.events if visits[one.event.x] > 1)
        return again >= 0.1 * sum(one.v for one in self.events)

    @property
    def _units(self):
        return "unit" in self.question.read

    def _enough(self, events, cs):
        """Whether a policy's actions were shown to ten units, where there are units."""
        units = defaultdict(float)
        for one, c in zip(events, cs, strict=True):
            units[one.event.unit] += one.v * c
        self.number = sum(weight > 0 for weight in units.values())
        return not self._units or self.number >= 10

    def _squared(self, events, terms):
        """The sum of squared terms, by unit if there are units."""
        if not self._units:
            return sum(one.v * term * term for one, term in zip(events, terms, strict=True))
        units = defaultdict(float)
        for one, term in zip(events, terms, strict=True):
            units[one.event.unit] += one.v * term
        return sum(term * term for term in units.values()) * self.number / (self.number - 1)

    def _ends_of_dr(self, name, events, e, value, total, tau):
        """The interval of a doubly robust estimate whose propensities are not counts."""
        both = list(zip(events, e, strict=True))
        residual = [w * (one.r - one.f) for one, w in both]
        rest = [one.weight(SMALLEST_TAU, name) - w for one, w in both]
        lost = [w * (one.r - one.f) for one, w in zip(events, rest, strict=True)]
        of_value = [one.model_value + term - value for one, term in zip(events, residual, strict=True)]
        weighed = [one.v for one in events]

        def total_of(terms):
            return sum(v * term for v, term in zip(weighed, terms, strict=True))

        weights = total_of(e)
        reward = total_of([w * one.r for one, w in both])
        decided = total_of([one.decided for one in events])
        root = [w * sqrt(one.f * (1 - one.f)) for one, w in both]
        model_root = total_of(
            [
                sum(
                    p * sqrt(f * (1 - f))
                    for a, p in self.chosen[self.group(one.event)].items()
                    for f in [self.f(one.event.x, a, self.place(one.event))]
                )
                for one in events
            ]
        )
        left = max(decided - weights, 0.0) / total
        overlaps = weights >= 0.5 * decided and sum(one.v for one, w in both if w > 0) >= 10
        if not (overlaps and 0 < reward < weights * (1 - 1e-12)) or total_of(root) <= 0:
            return None
        if not self._enough(events, [one.weight(tau) for one in events]):
            return None
        bias = max(total_of(residual) ** 2 - self._squared(events, residual), 0.0) / total_of(root) ** 2
        alone = bias * (left * model_root / decided) ** 2
        alone += max(total_of(lost) ** 2 - self._squared(events, lost), 0.0) / total**2
        return ends(value, self._squared(events, of_value) / total**2 + alone, self.question)


def ends(value, variance, question):
    """The two ends of an approximate interval, inside [0, 1]; None where nothing is known of the error."""
    if variance is None or variance <= 1e-15:
        return None
    lower, upper = score_ends(value, variance, question.options["delta"])
    return None if lower >= 1 or upper <= 0 else (max(lower, 0.0), min(upper, 1.0))

"""A simulated ad month on disk, with the exact value of any policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warmstart.core import MICROSECONDS_PER_DAY, TIME, LaterVersionError, SourceError, UsageError, printable, quoted
from warmstart.simulation.ad_population import Population, chunks
from warmstart.simulation.ad_settings import FIRST_DAY, AdSettings
from warmstart.simulation.users import Per
from warmstart.simulation.window_shares import COUNTED, EARNING, check_per, with_shares

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from warmstart.events import Events

FORMAT = 1
CONTEXT, ACTION, PROBABILITY = "page", "ad", "probability"
# From (day, pages, their candidates, the candidates' click probabilities) to the shares of the candidates.
Choice = Callable[[int, "NDArray[Any]", "NDArray[Any]", "NDArray[Any]"], "NDArray[np.float64]"]


@dataclass(frozen=True, eq=False)
class AdWorld:
    """A simulated month, written by ``simulate``.

    ``chosen[day, segment, page]``: the logging policy's choice, a position among the page's candidates; if it learns,
    the choice of one that never does. ``starts`` and ``stops``: the days on which ads could be shown.
    """

    folder: Path
    population: Population
    chosen: NDArray[np.int8]
    starts: NDArray[np.int16]
    stops: NDArray[np.int16]

    def __repr__(self) -> str:
        numbers = self.settings
        size = f"{numbers.events:,} events, {numbers.n_contexts:,} pages, {numbers.n_actions:,} ads"
        return f"AdWorld({printable(self.folder)}: {size})"

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Return a simulated month from its folder."""
        folder = Path(folder)
        truth = folder / "truth"
        try:
            about = json.loads((truth / "world.json").read_text(encoding="utf-8"))
            if about["format"] > FORMAT:
                raise LaterVersionError(f"{printable(folder)} was written by a later version of warmstart.")
            population = Population.load(truth, AdSettings.from_dict(about["settings"]), about["scale"])
            arrays = [np.load(truth / f"{name}.npy", mmap_mode="r") for name in ("chosen", "starts", "stops")]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise SourceError(f"{printable(folder)} is no simulated month: {printable(error)}") from error
        return cls(folder, population, *arrays)

    @property
    def settings(self) -> AdSettings:
        """Return the settings of the simulation."""
        return self.population.settings

    @property
    def events_path(self) -> Path:
        """Return the path of the log: page, ad, click, shown_at; and user, if there are users."""
        return self.folder / "events.parquet"

    @property
    def contexts_path(self) -> Path:
        """Return the path of the pages' words."""
        return self.folder / "contexts.parquet"

    @property
    def actions_path(self) -> Path:
        """Return the path of the ads' words."""
        return self.folder / "actions.parquet"

    @cached_property
    def traffic(self) -> NDArray[np.float64]:
        """Return the probability of every page, the same every day."""
        return self.population.traffic()

    def true_value(self, policy: pa.Table, *, events: Events | None = None, per: Per = "event") -> float:
        """Return the exact value of a policy: its expected reward. Pages without a decision earn nothing.

        Args:
            policy: A table of page, ad[, probability].
            events: The window, whose pages and users are taken as given; read with ``unit="user"`` where heavy users
                click less, or per unit. Without it, the mean over all months.
            per: ``event``: every event counts the same. ``unit``: every user does, whatever their visits.
        """
        pages, ads, h = self._read(policy)
        check_per(per, self.settings.users)
        middle: NDArray[np.float64] | None = None
        if events is None:
            users = self.settings.users
            weight = self.traffic * (1.0 if users is None else users.mean_rate(self.settings.events, per=per))
        else:
            weight, middle = self._window_traffic(events, per)
        total = 0.0
        for rows in chunks(len(pages)):
            x, a = pages[rows], ads[rows]
            mu = self.population.click_probability(x, a).astype(np.float64)
            if self.settings.drift and middle is not None:
                # Drift is linear in the day, so that a page's mean day is all it takes.
                mu *= self.population.drift(a, middle[x])
            total += float((weight[x] * h[rows] * mu).sum())
        return total

    def best_policy(self, feasible: pa.Table | None = None) -> pa.Table:
        """Return the optimal policy: the ad of highest click probability per page, of the rows given or of all."""
        if feasible is None:
            return self._averaged(None, lambda _day, _pages, ads, mu: _best_of(ads >= 0, mu))
        pages, ads, _ = self._read(feasible)
        click = self.population.click_probability
        mu = np.concatenate([click(pages[rows], ads[rows]) for rows in chunks(len(pages))])
        order = np.lexsort((ads, -mu, pages))
        best = order[np.unique(pages[order], return_index=True)[1]]
        return _table(pages[best], ads[best], np.ones(len(best)))

    def best_daily_policy(self, *, events: Events | None = None) -> pa.Table:
        """Return the optimal policy of live ads by day, averaged over the traffic of a window, or of the month."""
        return self._averaged(events, lambda day, _pages, ads, mu: _best_of(self._live(ads, day), mu))

    def logging_policy(self, *, events: Events | None = None) -> pa.Table:
        """Return the true logging policy, averaged over the traffic of a window, or of the month (paper, Eq. 3).

        Where users keep their ads there is none that does not depend on the user, and this is refused; so it is with a
        learner, whose probabilities are not stored.
        """
        if self.settings.learner is not None:
            raise UsageError("The logger learns: what it shows depends on the clicks before.")
        if self.settings.users is not None and self.settings.users.sticky != "nothing":
            raise UsageError("Users keep their ads: what is shown on a page depends on who visits it.")
        return self._averaged(events, self._logged)

    def _averaged(self, events: Events | None, shares_of_day: Choice) -> pa.Table:
        """Return a policy that changes by day, averaged over the traffic of the days."""
        by_day = None if events is None else self._daily_traffic(events)
        parts = []
        for rows in chunks(self.settings.n_contexts):
            pages = np.arange(rows.start, rows.stop)
            ads = np.asarray(self.population.candidates[pages])
            mu = self.population.click_probability(pages, ads)
            shares = np.zeros(ads.shape)
            for day in range(self.settings.days):
                n = 1.0 if by_day is None else by_day[day, pages, None]
                shares += n * shares_of_day(day, pages, ads, mu)
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
            x, place = np.nonzero(shares)
            parts.append((pages[x], ads[x, place], shares[x, place]))
        return _table(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _logged(self, day: int, pages: NDArray[Any], ads: NDArray[Any], _mu: NDArray[Any]) -> NDArray[np.float64]:
        chosen = [_one_a_row(segment[pages], ads.shape) for segment in self.chosen[day]]
        live = self._live(ads, day)
        at_random = live / live.sum(axis=1, keepdims=True)
        share = self.settings.random_share
        logged: NDArray[np.float64] = (1 - share) * np.mean(chosen, axis=0) + share * at_random
        return logged

    def _live(self, ads: NDArray[np.int32], day: int) -> NDArray[np.bool_]:
        shown: NDArray[np.bool_] = np.append((self.starts <= day) & (day < self.stops), False)[ads]
        return shown

    def _read(self, policy: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        if missing := [name for name in (CONTEXT, ACTION) if name not in policy.column_names]:
            raise UsageError(f"The policy has no column {quoted(missing[0])}.")
        pages, ads = policy[CONTEXT].to_numpy().astype(np.int64), policy[ACTION].to_numpy().astype(np.int64)
        for name, ids, known in ((CONTEXT, pages, self.settings.n_contexts), (ACTION, ads, self.settings.n_actions)):
            if ids.size and (ids.min() < 0 or ids.max() >= known):
                raise UsageError(f"The policy has a {name} that is not in the world.", f"Numbers run to {known - 1}.")
        given = PROBABILITY in policy.column_names
        return pages, ads.astype(np.int32), policy[PROBABILITY].to_numpy() if given else np.ones(len(pages))

    def _window_traffic(self, events: Events, per: Per) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares of pages, each times what its users earn relative to light ones, and its mean day."""
        self._require_own_log(events)
        table = with_shares(events, self.settings.users, per)
        sums = {"counted": table[COUNTED].sum(), "earning": table[EARNING].sum()}
        if self.settings.drift:
            sums["days"] = (table[EARNING] * _day(table)).sum()
        rows = events.engine.fetch_arrow(table.group_by("context_0").agg(**sums))
        totals = np.zeros((2, self.settings.n_contexts))
        for total, name in zip(totals, ("earning", "days"), strict=True):
            if name in sums:
                total[rows["context_0"].to_numpy()] = rows[name].to_numpy()
        earning, days = totals
        middle = np.divide(days, earning, out=np.zeros_like(days), where=earning > 0)
        return earning / rows["counted"].to_numpy().sum(), middle

    def _daily_traffic(self, events: Events) -> NDArray[np.float32]:
        self._require_own_log(events)
        table = events.table
        rows = events.engine.fetch_arrow(table.group_by("context_0", day=_day(table)).agg(n=table.count()))
        counts = np.zeros((self.settings.days, self.settings.n_contexts), dtype=np.float32)
        counts[rows["day"].to_numpy().astype(np.int64), rows["context_0"].to_numpy()] = rows["n"].to_numpy()
        return counts

    def _require_own_log(self, events: Events) -> None:
        if events.columns.context != (CONTEXT,) or events.columns.time is None:
            raise UsageError("The window must have the context 'page' and a time, as the month's own log has.")


def _day(table: ir.Table) -> ir.Value:
    """Return the day of the month of events."""
    return table[TIME] // MICROSECONDS_PER_DAY - FIRST_DAY // MICROSECONDS_PER_DAY


def _best_of(allowed: NDArray[np.bool_], mu: NDArray[Any]) -> NDArray[np.float64]:
    return _one_a_row(np.where(allowed, mu, -1).argmax(axis=1), mu.shape)


def _one_a_row(places: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    ones = np.zeros(shape)
    ones[np.arange(len(places)), places] = 1.0
    return ones


def _table(pages: NDArray[Any], ads: NDArray[Any], probability: NDArray[Any]) -> pa.Table:
    return pa.table({CONTEXT: pages.astype(np.int64), ACTION: ads.astype(np.int64), PROBABILITY: probability})

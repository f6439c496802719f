"""Choose where propensities come from, and bring them beside the strata of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmstart.core.errors import EmptyWindowError, UsageError, no_such_column
from warmstart.core.names import FOLD, PROPENSITY
from warmstart.core.text import quoted
from warmstart.engine import is_partitioned
from warmstart.estimators import Guesser, PartedGuesser
from warmstart.events import open_strata
from warmstart.propensity import best_strength, borrowed_propensity, check_logged, modelled_propensity
from warmstart.results import SOURCE_NAMES, PropensitySource, SourceName

if TYPE_CHECKING:
    from contextlib import ExitStack

    import ibis.expr.types as ir

    from warmstart.core.names import Columns, WindowName
    from warmstart.events import Cells, Events
    from warmstart.policy import Policy
    from warmstart.results import ValueEstimate

# Below this share of traffic in contexts that were seen more than once, counting has next to nothing to count.
REPEATING = 0.1
# A model needs some events to learn from.
ENOUGH = 1_000


@dataclass(frozen=True, eq=False)
class Beside:
    """What an evaluation may need beside cells: strata with their propensities, and a reward model over them."""

    source: PropensitySource
    strata: ir.Table | None = None
    guesser: Guesser | PartedGuesser | None = None

    @property
    def from_outside(self) -> bool:
        """Tell whether propensities are not those of the evaluated window's counts."""
        return self.source.name != "counts"

    def with_estimates(
        self, policy: Policy, found: list[ValueEstimate], estimators: Sequence[str]
    ) -> list[ValueEstimate]:
        """Return estimates with the point estimates that were asked for; logging needs none."""
        if self.guesser is None or policy.is_logging:
            return found
        estimates = self.guesser.guess(policy, estimators, taus=[e.tau for e in found], delta=found[0].delta)
        scale = self.guesser.cells.evaluated.log.reward_range
        return [e.with_estimates(some, scale) for e, some in zip(found, estimates, strict=True)]


def prepared(
    cells: Cells,
    held: ExitStack,
    asked: Any,
    *,
    coarser: Sequence[Sequence[str]],
    estimators: Sequence[str],
    model: Any,
    window: WindowName,
) -> Beside:
    """Choose the source of propensities, and learn what it and the estimators need, if anything."""
    name, reason, classifier = choose_source(asked, cells, coarser)
    if name == "counts" and not estimators:
        return Beside(PropensitySource(name, reason))
    if window != "evaluated":
        what = "Point estimates need" if name == "counts" else f"Propensities by {name!r} are for"
        raise UsageError(f"{what} weights from the evaluated window.", "Leave weights_from (--weights-from) out.")
    strata = held.enter_context(open_strata(cells))
    check_folds(cells, strata)
    weighed, source = with_propensities(cells, strata, name, reason, coarser=coarser, model=classifier)
    if not estimators:
        return Beside(source, weighed)
    described = any(cells.table[key].type().is_floating() for key in cells.columns.context_keys)
    by_columns = model is not None or described or repeating_share(cells) < REPEATING
    guesser = PartedGuesser if is_partitioned(cells.engine) else Guesser
    return Beside(source, weighed, guesser.learn(cells, weighed, by_columns=by_columns, model=model))


def check_folds(cells: Cells, strata: ir.Table) -> None:
    """Refuse a window whose events all fall into one fold."""
    if cells.engine.fetch(strata.agg(folds=strata[FOLD].nunique()))[0]["folds"] < 2:
        raise EmptyWindowError(
            "The window has too few events to learn propensities or rewards from.",
            "Count propensities (propensities='counts') and ask for no estimators.",
        )


def repeating_share(cells: Cells) -> float:
    """Return the share of the evaluated traffic that lies in contexts seen more than once."""
    table = cells.table
    found = cells.engine.fetch(table.agg(again=(table.context_n > 1).ifelse(table.n, 0.0).sum(), events=table.n.sum()))[
        0
    ]
    return float(found["again"]) / float(found["events"])


def choose_source(asked: Any, cells: Cells, coarser: Sequence[Sequence[str]]) -> tuple[SourceName, str, Any]:
    """Return the source to use, why, and the user's own classifier if there is one."""
    if hasattr(asked, "predict_proba"):
        return "model", "a classifier was given", asked
    if asked in ("train", "all"):
        raise UsageError(f"Propensities cannot come from {asked!r}.", "Use weights_from (--weights-from).")
    if asked != "auto" and asked not in SOURCE_NAMES:
        raise UsageError(
            f"Propensities cannot come from {quoted(asked)}.",
            f"Choose auto, {', '.join(SOURCE_NAMES)}, or pass a scikit-learn classifier.",
        )
    logged = cells.columns.propensity is not None
    if asked == "logged" and not logged:
        raise UsageError(
            "The log was read without a column of propensities.", "Name it: propensity=... (--propensity)."
        )
    if asked != "auto":
        return asked, "it was asked for", None
    if logged:
        return "logged", f"the log has them in {quoted(cells.columns.propensity)}", None
    if coarser:
        return "back-off", "coarser contexts were named", None
    share = repeating_share(cells)
    if share < REPEATING and len(cells.evaluated) >= ENOUGH:
        return "model", f"only {share:.1%} of traffic is in contexts seen more than once", None
    return "counts", f"{share:.1%} of traffic is in contexts seen more than once", None


def with_propensities(
    cells: Cells, strata: ir.Table, name: SourceName, reason: str, *, coarser: Sequence[Sequence[str]], model: Any
) -> tuple[ir.Table, PropensitySource]:
    """Bring the propensities of a source beside strata, and say how good they are."""
    engine = cells.engine
    bare = strata.drop(PROPENSITY) if PROPENSITY in strata.columns else strata
    if name == "counts":
        return bare, PropensitySource("counts", reason)
    levels = context_levels(cells.columns, coarser)
    if name == "back-off":
        strength, loss = best_strength(engine, bare, levels)
        detail = f" A coarser context counts as {strength:g} events."
        return borrowed_propensity(bare, levels, strength), PropensitySource(name, reason, loss, detail=detail)
    if name == "logged":
        checked = check_logged(engine, strata)
        _, estimated = best_strength(engine, bare, levels)
        source = PropensitySource(name, reason, checked.log_loss, estimated, too_heavy=checked.too_heavy)
        return strata, source
    weighed, _ = modelled_propensity(engine, bare, model=model)
    p = weighed[PROPENSITY]
    found = engine.fetch(
        weighed.agg(
            known=p.notnull().ifelse(weighed.n, 0.0).sum(),
            loss=-(weighed.n * p.ln()).sum(),
            events=weighed.n.sum(),
        )
    )[0]
    known, events = float(found["known"]), float(found["events"])
    mean = float(found["loss"]) / known if known else None
    return weighed, PropensitySource(name, reason, mean, without=1 - known / events)


def check_coarser(coarser: Sequence[Sequence[str]], events: Events) -> None:
    """Refuse coarser contexts that are none."""
    for level in coarser:
        for column in level:
            if column not in events.columns.context:
                raise no_such_column(column, events.columns.context, where="the context")


def context_levels(columns: Columns, coarser: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the fixed names of the whole context's columns, then of each coarser one's."""
    fixed = dict(zip(columns.context, columns.context_keys, strict=True))
    return [list(columns.context_keys), *([fixed[name] for name in level] for level in coarser)]

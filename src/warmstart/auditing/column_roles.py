"""Which column of an unknown log is what: candidates for every role, by names and by what columns hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from warmstart.auditing.column_profiles import ColumnProfile
from warmstart.auditing.possible_units import HANDFUL, IDS, LEAST_EVENTS, names_a_unit
from warmstart.results import COSTLY

WORD = re.compile(r"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+")
# In English, and common ones in German, French and Spanish.
WORDS = {
    "action": "action arm ad ads advert item product creative banner variant treatment model offer campaign article "
    "recommendation recommended content video song track template choice decision headline layout coupon route movie "
    "promo promotion option asset chosen "
    "aktion angebot anzeige artikel produkt variante empfehlung gutschein offre annonce produit oferta anuncio "
    "producto",
    "reward": "reward click clicked clicks conversion converted convert purchase purchased bought buy order ordered "
    "success outcome label target response responded rating score revenue liked like upvote engaged engagement watched "
    "completed opened subscribed signup sale sales profit payoff feedback booked correct won win accepted solved visit "
    "call called callback reply replied answered hired retention retained churned renewed survived y r "
    "geklickt klick klicks bestellt bestellung gekauft kauf umsatz clic clics achat commande vente compra comprado "
    "pedido venta",
    "time": "time timestamp ts date day datetime at when step round t epoch hour week month moment "
    "zeit zeitpunkt zeitstempel datum uhrzeit tag tage horodatage jour fecha dia día",
    "propensity": "propensity propensities pscore prob probability",
    "epoch": "version policy release deployment phase",
    "context": "page segment country city region device os browser platform age gender language category channel hour "
    "weekday placement position slot source query topic context state genre type zone market tier plan locale "
    "feature features attribute covariate "
    "seite filiale stadt gerät kategorie sprache kanal magasin ville pays appareil catégorie langue tienda ciudad país "
    "dispositivo categoría idioma canal",
}
LISTS = {role: frozenset(text.split()) for role, text in WORDS.items()}
# Measured after acting, so that they are outcomes and no context.
AFTER = frozenset(
    "revenue dwell seconds minutes spent tokens amount total earnings margin profit paid basket rating umsatz".split()  # noqa: SIM905
) | {"score"}
# Names of times that hold something else than whole days or steps.
CLOCK = frozenset("time timestamp ts date datetime at when zeit zeitpunkt zeitstempel datum fecha".split())  # noqa: SIM905
# With these a number names something, or comes again every day, and counts no days.
KEYS = frozenset({"id", "ids", "key", "uid", "uuid", "guid", "hash", "pk", "code", "hour"})
# Times that are not when the event happened.
NOT_WHEN = frozenset("birth birthday birthdate born registered registration signup joined expires updated".split())  # noqa: SIM905
NO_COLUMN = re.compile(
    r"^(unnamed: ?\d+|index|level_\d+|__index_level_\d+__|row|rowid|row_?(id|no|nr|number|names?)|)$", re.I
)
# What a candidate needs, and by how much it must lead, not to be asked about.
LEAST, LEAD = 4.0, 1.5
# A column of so many values, or of so large a part of the events, is no action.
MOST_ACTIONS, MOST_OF_EVENTS = 5_000, 0.2
# So many events a context has on average, if it can be counted what is shown in it.
PER_CONTEXT = 20


@dataclass(frozen=True)
class Candidate:
    """A column that may have a role, how much speaks for it, and what."""

    name: str
    score: float
    reason: str


@dataclass(frozen=True)
class Roles:
    """The candidates of every role, best first; ``context``: the columns together, and ``left_out`` those that are not.

    ``also``: what looks like further outcomes. ``unread_times``: named like a time, and cannot be read as one.
    """

    action: Sequence[Candidate]
    reward: Sequence[Candidate]
    time: Sequence[Candidate]
    unit: Sequence[Candidate]
    epoch: Sequence[Candidate]
    propensity: Sequence[Candidate]
    event_id: Sequence[Candidate]
    context: Sequence[Candidate]
    left_out: Sequence[Candidate]
    also: Sequence[Candidate]
    unread_times: Sequence[Candidate] = ()


def is_sure(candidates: Sequence[Candidate]) -> bool:
    """Tell whether the first candidate needs no question: its name or its kind says it, and no other comes near."""
    if not candidates or candidates[0].score < LEAST:
        return False
    return len(candidates) == 1 or candidates[0].score - candidates[1].score >= LEAD


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, in small letters.

    >>> words_of("adId"), words_of("is_click"), words_of("shownAt2")
    (['ad', 'id'], ['is', 'click'], ['shown', 'at'])
    """
    return [word.lower() for word in WORD.findall(name)]


def find_roles(columns: Sequence[ColumnProfile], taken: Mapping[str, Sequence[str]]) -> Roles:
    """Return candidates of every role among columns.

    Args:
        columns: What the log has.
        taken: Columns by role that are known; they are no candidates for another one.
    """
    used = {name for names in taken.values() for name in names}

    def ranked(role: str, judge: Callable[[ColumnProfile], tuple[float, str]]) -> list[Candidate]:
        if role in taken:
            return [Candidate(name, 100.0, "you said so") for name in taken[role]]
        free = [one for one in columns if one.name not in used and one.distinct > 0 and not _is_index(one)]
        judged = [Candidate(one.name, *judge(one)) for one in free]
        chosen = sorted((one for one in judged if one.score > 0), key=lambda one: -one.score)
        used.update(one.name for one in chosen[:1] if role != "context")
        return chosen

    results = {
        "propensity": ranked("propensity", _propensity),
        "time": ranked("time", _time),
        "event_id": ranked("event_id", _event_id),
        "unit": ranked("unit", _unit),
        "reward": ranked("reward", _reward),
        "action": ranked("action", _action),
        "epoch": ranked("epoch", _epoch),
        "also": [] if "also" in taken else ranked("also", _also),
    }
    used.update(one.name for one in results["also"])
    # Numbered days are a time for want of a better one.
    clocks = [one for one in columns if results["time"] and one.name == results["time"][0].name]
    numbered = all(one.kind == "whole" and not one.is_epoch for one in clocks)
    wanted = numbered and ("time" not in taken or bool(taken["time"]))
    results["unread_times"] = ranked("unread_times", _unread_time) if wanted else []
    others = ranked("context", _context)
    if "context" in taken:
        return Roles(**results, context=others, left_out=[])
    context, left_out = _that_repeat(others, columns)
    return Roles(**results, context=context, left_out=left_out)


def _that_repeat(
    others: Sequence[Candidate], columns: Sequence[ColumnProfile]
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidates that together still repeat, and the others.

    Those without nulls are first, then those named like a context, and of these the ones with few values. A column with
    nulls is left out if there is another one: commands would refuse the log.
    """
    profiles = {one.name: one for one in columns}
    cells, context, left_out = 1.0, list[Candidate](), list[Candidate]()
    for one in sorted(others, key=lambda o: (profiles[o.name].nulls > 0, o.score <= 1, _variety(profiles[o.name]))):
        profile = profiles[one.name]
        together = cells * (profile.distinct + (profile.nulls > 0))
        if context and profile.nulls:
            left_out.append(one)
        elif together * PER_CONTEXT <= profile.rows or (not context and profile.repeats >= LEAST_EVENTS):
            context.append(one)
            cells = together
        else:
            left_out.append(one)
    return context, left_out


def _variety(profile: ColumnProfile) -> int:
    """Return how many values a column has; where hardly any comes again, all are alike, and stay in their order."""
    return profile.rows if _is_near_unique(profile) else profile.distinct


def _named(profile: ColumnProfile, role: str) -> float:
    """Return how well a name fits a role: 4 if that is all it says, 3 if it ends or begins so, 2 if it says so too."""
    words, listed = words_of(profile.name), LISTS[role]
    own = [word for word in words if word not in IDS | {"is", "has", "was", "the", "name", "flag", "shown", "event"}]
    if not own or not any(word in listed for word in own):
        return 0.0
    if all(word in listed for word in own):
        return 4.0
    return 3.0 if own[-1] in listed else 2.0


def _is_index(profile: ColumnProfile) -> bool:
    return bool(NO_COLUMN.match(profile.name.strip()))


def _is_near_unique(profile: ColumnProfile) -> bool:
    return profile.distinct > 0.9 * (profile.rows - profile.nulls) and profile.rows > 20


def _reward(profile: ColumnProfile) -> tuple[float, str]:
    named = _named(profile, "reward")
    if profile.kind in ("time", "other") or names_a_unit(profile.name) or set(words_of(profile.name)) & IDS:
        return 0.0, ""
    if profile.is_zero_or_one or profile.is_yes_or_no:
        words = profile.kind == "text"
        return named + 3, "it says yes or no, as text: make it 1 and 0 first" if words else "it says yes or no"
    if profile.kind == "text" or profile.least is None or profile.most is None or profile.is_epoch:
        return 0.0, ""
    inside = profile.least >= 0 and profile.most <= 1
    if not named and not inside:
        return 0.0, ""
    score = named + (1.5 if inside else 0.5) - (3 if profile.distinct == 1 else 0)
    return score, f"it holds numbers from {profile.least:g} to {profile.most:g}"


def _action(profile: ColumnProfile) -> tuple[float, str]:
    most = max(min(MOST_ACTIONS, MOST_OF_EVENTS * profile.rows), 10)
    if profile.kind not in ("text", "whole", "truth") or not 2 <= profile.distinct <= most:
        return 0.0, ""
    if names_a_unit(profile.name) or profile.is_epoch or profile.is_yes_or_no:
        return 0.0, ""
    named = _named(profile, "action")
    likes = 1.0 if profile.kind == "text" else 0.5
    if not named and _named(profile, "context"):
        likes = 0.2
    return named + likes, f"it has {profile.distinct:,} values that come again and again"


def _time(profile: ColumnProfile) -> tuple[float, str]:
    named = _named(profile, "time")
    if set(words_of(profile.name)) & NOT_WHEN:
        return 0.0, ""
    if profile.kind == "time":
        return 4 + named / 2, f"its type is {profile.type}"
    if profile.kind == "text" and profile.times > 0.99 and profile.distinct > 1:
        return 4 + named / 2, "its text can be read as times"
    if profile.is_epoch and profile.distinct > 1:
        return 3 + named, "its integers are times since 1970"
    whole = profile.kind == "whole" and profile.least is not None and profile.least >= 0 and profile.distinct > 2
    if whole and named >= 4 and not (set(words_of(profile.name)) & KEYS or profile.looks_like_dates):
        return named, f"its integers, {profile.least:g} to {profile.most:g}, may be days or steps"
    return 0.0, ""


def _unread_time(profile: ColumnProfile) -> tuple[float, str]:
    words = words_of(profile.name)
    if set(words) & (NOT_WHEN | AFTER):
        return 0.0, ""
    if profile.looks_like_dates and profile.distinct > 1:
        return 2.0, "it looks like dates"
    if profile.kind not in ("text", "number") or profile.distinct <= HANDFUL:
        return 0.0, ""
    return (1.0, "its name is that of a time") if set(words[-1:]) & CLOCK else (0.0, "")


def _unit(profile: ColumnProfile) -> tuple[float, str]:
    if profile.kind not in ("text", "whole") or not names_a_unit(profile.name) or profile.distinct <= HANDFUL:
        return 0.0, ""
    if profile.repeats < LEAST_EVENTS:
        return 0.0, ""
    return 4.0, f"it is named like someone who comes back, with {profile.repeats:.1f} events each"


def _event_id(profile: ColumnProfile) -> tuple[float, str]:
    named = set(words_of(profile.name)) & IDS or words_of(profile.name)[-1:] in (["id"], ["request"], ["event"])
    if profile.kind in ("text", "whole") and named and profile.distinct == profile.rows and profile.rows > 20:
        return 4.0, "it is different in every event"
    return 0.0, ""


def _propensity(profile: ColumnProfile) -> tuple[float, str]:
    ends = profile.least, profile.most
    inside = ends[0] is not None and ends[1] is not None and 0 < ends[0] <= ends[1] <= 1
    if profile.kind in ("number", "whole") and inside and _named(profile, "propensity"):
        return 4.0, "its numbers are probabilities, and its name says so"
    return 0.0, ""


def _epoch(profile: ColumnProfile) -> tuple[float, str]:
    if profile.kind not in ("text", "whole") or not 2 <= profile.distinct <= 100 or _named(profile, "epoch") < 3:
        return 0.0, ""
    return 4.0, "it says which version of the logging policy chose"


def _also(profile: ColumnProfile) -> tuple[float, str]:
    words = set(words_of(profile.name))
    if profile.kind not in ("whole", "number", "truth") or words & IDS or profile.distinct < 2:
        return 0.0, ""
    if words & AFTER or words & set(COSTLY) or {word.removesuffix("s") for word in words} & set(COSTLY):
        return 1.0, "its name is that of an outcome"
    return (1.0, "its name is that of an outcome") if _named(profile, "reward") >= 3 else (0.0, "")


def _context(profile: ColumnProfile) -> tuple[float, str]:
    wrong = profile.kind in ("time", "other") or profile.distinct < 2
    # Numbers that hardly repeat may be what the logging policy looked at; text and integers that do not are ids.
    named = _named(profile, "context")
    if _is_near_unique(profile) and not (profile.kind == "number" or (profile.kind == "text" and named >= 3)):
        wrong = True
    if (
        wrong
        or (names_a_unit(profile.name) and profile.distinct > HANDFUL)
        or profile.is_epoch
        or _named(profile, "propensity")
    ):
        return 0.0, ""
    if (profile.kind == "text" and profile.times > 0.99) or profile.looks_like_dates:
        return 0.0, ""
    if profile.kind == "number" and profile.distinct > 50:
        return 0.5, f"it has {profile.distinct:,} different numbers"
    return 1 + named, f"it has {profile.distinct:,} values, {profile.repeats:,.0f} events each"

"""The fields of policy.json that say what a safe fit proved."""

from __future__ import annotations

from warmstart.scoring.fields import Check, flag, listed, number, one_of, optional, record, text, whole

_SHARE = number(0, 1)
_TESTED: dict[str, Check] = {
    "contexts": whole(),
    "share": _SHARE,
    "gain": optional(number()),
    "lower": optional(number()),
    "guards": flag,
    "proven": flag,
}
_SETTING: dict[str, Check] = {
    "setting": one_of("argmax", "cautious", "safe"),
    "worse": _SHARE,
    "gain": number(),
    "departs": _SHARE,
}
_MORE: dict[str, Check] = {"context": text, "action": text, "share": _SHARE, "gain": number()}
SAFE: dict[str, Check] = {
    "split": one_of("time", "epoch", "unit", "event"),
    "delta": _SHARE,
    "tau": _SHARE,
    "events": listed(whole(), 2, 2),
    "contexts": whole(),
    "departs": _SHARE,
    "gain": optional(number()),
    "at_least": optional(number()),
    "unproven": number(),
    "log_needed": optional(number(0)),
    "tested": listed(record(_TESTED)),
    "settings": listed(record(_SETTING)),
    "simulated": whole(),
    "more": listed(record(_MORE)),
    "guards": listed(text),
    "doubt": optional(number(1)),
}

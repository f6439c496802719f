"""Hold the results of engines to the plain-Python reference, and to each other."""

import math

import pytest
from tests.differential.numbers import Answer

# Sentences, which name the log and round numbers.
WITHOUT = {"text", "notes", "assumptions", "version", "source", "where", "headline"}


def check(question, result):
    """Compare every estimate of a result with the reference; return how many numbers agree."""
    answer, compared = Answer(question), 0
    names = [outcome.name for outcome in result.outcomes]
    for estimate in (*result.policies, *result.others, *result.segments):
        # Clipping constants that change from epoch to epoch have tests of their own.
        if answer.by_epoch and "auto" in question.options["tau"] and not estimate.is_logging:
            continue
        k = names.index(estimate.outcome)
        expected = answer.of(estimate.policy, estimate.tau, k, estimate.segment)
        if estimate.known < 1:
            # Bounds, and with them what is said of support, are of all events; values of those that are known.
            expected = {name: value for name, value in expected.items() if not name.startswith(("support", "events"))}
        found = numbers_of(estimate, result.outcomes[k])
        if question.options.get("doubt", 1) != 1 and not estimate.is_logging:
            # The reference knows of no doubt, which only makes intervals wider.
            around = {name: expected.pop(name) for name in list(expected) if name.endswith(" ends")}
            assert all(wider(found.get(name), both) for name, both in around.items()), (question.seed, estimate)
        compared += check_estimate(found, expected, (question.seed, estimate))
        check_ends(estimate)
        compared += check_against_terms(answer, estimate, result.outcomes[k], k)
    return compared


def numbers_of(estimate, outcome):
    """The numbers of an estimate on the scale from 0 to 1, by the names of the reference."""
    low, width = outcome.low, outcome.width

    def level(value):
        return None if value is None else (value - low) / width

    names = ("matched", "events", "effective_sample_size")
    found = {"value": level(estimate.value), **{name: getattr(estimate, name) for name in names}}
    ratio = estimate.weight_ratio
    found["value of these weights"] = None if ratio is None else level(ratio.value)
    found |= {f"support {name}": share for name, share in vars(estimate.support).items()}
    certified, likely = estimate.gain.certified, estimate.gain.estimated
    if certified is not None:
        found |= {f"gain {name}": getattr(certified, name) for name in ("share", "contested")}
        found |= {f"gain {name}": level(getattr(certified, name)) for name in ("value", "logging")}
        found["gain difference"] = None if certified.difference is None else certified.difference / width
    for point in estimate.estimates:
        both = level(point.lower), level(point.upper)
        found |= {
            f"estimate {point.estimator}": level(point.value),
            f"estimate {point.estimator} ends": None if None in both else both,
        }
    if likely is not None:
        found[f"estimate {likely.estimator} gain"] = likely.difference / width
    return found


def check_estimate(found, expected, where):
    compared = 0
    for name, value in expected.items():
        if name not in found or (found[name] is None and name in ("value",)):
            # What an alarm withholds, and gains of estimators that are not the best, are not shown.
            continue
        # Per unit a count is no integer before it is rounded.
        close = 0.5 + 1e-7 if name in ("matched", "events") else 1e-7
        assert same(found[name], value, close), (name, found[name], value, where)
        compared += 1
    return compared


def wider(one, other):
    """Tell whether an interval holds another; those that are not shown, or unknown, say nothing."""
    return one is None or other is None or (one[0] <= other[0] + 1e-7 and one[1] >= other[1] - 1e-7)


def same(one, other, close=1e-7):
    if one is None or other is None:
        return one is other
    if isinstance(one, str | bool) or isinstance(other, str | bool):
        return one == other
    return one == pytest.approx(other, rel=1e-7, abs=close)


def check_against_terms(answer, estimate, outcome, k):
    """Bets know coefficients to a hundredth, and the bootstrap draws; other intervals are exact."""
    known = estimate.known == 1 and (estimate.value is not None or answer.counted) and not estimate.is_logging
    both = answer.ends(estimate.policy, estimate.tau, k, estimate.segment, estimate.delta) if known else None
    if both is None:
        return 0
    (lower, upper), gain = both
    loss = {"bets": 1e-2, "bootstrap": 1.0}.get(estimate.interval, 1e-6)
    if estimate.weight_ratio is None:
        found = [(end - outcome.low) / outcome.width for end in (estimate.lower, estimate.upper)]
        coarse = loss * max(upper - lower, 1e-3) + 1e-9
        assert found == pytest.approx([lower, upper], abs=coarse), (answer.question.seed, estimate)
    else:
        assert (estimate.lower, estimate.upper) == (None, None), "counts of another window have no interval"
    certified = estimate.gain.certified
    if gain is None or certified is None or certified.lower is None:
        return 2
    found = [end / outcome.width for end in (certified.lower, certified.upper)]
    # Each of the two parts of a coefficient is known to a hundredth, their difference is not: ends are a little wider.
    coarse = 3e-2 * max(gain[1] - gain[0], certified.share)
    assert found == pytest.approx(gain, abs=coarse + 1e-6), (answer.question.seed, estimate)
    return 4


def check_ends(estimate):
    """Ends lie around what they are ends of."""
    if estimate.lower is not None and estimate.known == 1:
        assert estimate.lower <= estimate.value + 1e-9, estimate
        assert estimate.value <= estimate.upper + 1e-9, estimate
        assert estimate.joint_lower <= estimate.lower + 1e-9, estimate
    gain = estimate.gain.certified
    if gain is not None and gain.lower is not None and estimate.known == 1:
        assert gain.lower <= gain.difference + 1e-9 <= gain.upper + 2e-9, estimate


def differences(one, other, path=""):
    """Where two results of engines differ, number by number: paths with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if key not in WITHOUT]
        return [found for key in keys for found in differences(one.get(key), other.get(key), f"{path}.{key}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return [(path, len(one), len(other))]
        pairs = enumerate(zip(one, other, strict=True))
        return [found for i, pair in pairs for found in differences(*pair, f"{path}[{i}]")]
    numbers = [value for value in (one, other) if isinstance(value, float | int) and not isinstance(value, bool)]
    if len(numbers) == 2:
        return [] if math.isclose(*numbers, rel_tol=1e-7, abs_tol=1e-7) else [(path, one, other)]
    return [] if one == other else [(path, one, other)]

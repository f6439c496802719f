"""How an evaluation shows itself."""

import re

import pyarrow as pa
import pytest
from tests.support.logs import moment, random_log, read

import warmstart as ws
from warmstart.results import Amounts


def log_with(rewards, engine, **options):
    count = len(rewards)
    table = pa.table({"x": ["p"] * count, "a": ["a", "b"] * (count // 2), "r": rewards})
    return ws.read_events(table, context="x", action="a", reward="r", engine=engine, **options)


def test_html_escapes_names_from_the_log(duckdb):
    rows = [(x, "<script>x</script>", r, d) for x, _, r, d in random_log(1)]
    shown = ws.evaluate("constant:<script>x</script>", read(rows, duckdb), tau=0.1)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert shown.count("<table") == shown.count("</table>") == 5


def test_control_characters_do_not_reach_the_terminal(duckdb):
    rows = [(x, "\x1b[31mred\u202e", r, d) for x, _, r, d in random_log(1)]
    shown = str(ws.evaluate("constant:\x1b[31mred\u202e", read(rows, duckdb), tau=0.1))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"\x1b[31mred\u202e" in shown


@pytest.mark.parametrize(("scale", "mean"), [(1e6, 2.0), (1e-4, 3e-5), (1.0, 1e-4), (50.0, 20.0)])
def test_numbers_keep_two_digits_whatever_the_scale(duckdb, scale, mean):
    events = log_with([mean * 0.5, mean * 1.5] * 2000, duckdb, ranges={"r": (0, scale)})
    found = ws.evaluate("logging", events, tau=0.1)
    shown = re.search(r"logging +any +([0-9.]+)", str(found)).group(1)
    amounts = Amounts.of(found)
    assert f"r {amounts.unit} (" in str(found)
    assert float(shown) == pytest.approx(amounts.times * mean, rel=0.06)
    assert float(shown) != 0


def test_only_logging_has_any_tau(duckdb):
    for interval in ("kl", "hoeffding", "bernstein", "gamma"):
        found = ws.evaluate(["logging", "uniform"], read(random_log(1), duckdb), tau=[0.001, 0.002], interval=interval)
        assert re.findall(r"^(\w+) +any ", str(found), flags=re.MULTILINE) == ["logging"] * 3


def test_notes_say_what_was_done(duckdb):
    events = read(random_log(1), duckdb)
    early, late = events.split(at=moment(4))
    whole, part, split = (
        str(found)
        for found in (
            ws.evaluate("constant:a0", events, tau=0.1),
            ws.evaluate("constant:a0", late, tau=0.1),
            ws.evaluate("uniform", late, train=early, tau=0.1),
        )
    )
    assert "No split was asked: the evaluated window is the whole log" in whole
    assert "There is no training window" in part
    assert "live on the day" in split
    assert "live" not in whole
    negative = ws.evaluate("logging", log_with([-1.0, 1.0], duckdb, ranges={"r": (-1, 1)}), tau=0.1)
    assert "the lowest reward, -1, where its action was never shown" in str(negative)


def test_the_repr_is_the_table(duckdb):
    found = ws.evaluate("logging", read(random_log(1), duckdb), tau=0.1)
    assert repr(found) == str(found)
    assert len(found) == 1

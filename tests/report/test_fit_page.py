"""What was learned, as a page: what it says, in a browser and with hostile names."""

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.support.browser import HOSTILE, Visit, drawn
from tests.support.logs import random_log, read

import warmstart as ws
from warmstart.report.fit_page import fit_page
from warmstart.results import DRIVERS
from warmstart.results.learned import ModelTried


@pytest.fixture(scope="module")
def policy():
    return ws.fit(read(random_log(1), "duckdb"), weight_bits=8)


def hostile():
    names = list(HOSTILE.values())
    pages = [names[i % 6] for i in range(120)]
    log = {
        "page": pages,
        HOSTILE["x0"]: [names[i // 6 % 5] for i in range(120)],
        "click": [i % 3 // 2 for i in range(120)],
    }
    events = ws.read_events(pa.table(log), context="page", action=HOSTILE["x0"], reward="click")
    words = pa.table({"page": names, HOSTILE["x1"]: names})
    return ws.fit(events, contexts=words, weight_bits=10)


def test_a_policy_and_what_it_learned_have_the_same_page(policy, tmp_path):
    one, other = ws.save_report(policy, tmp_path / "one.html"), policy.learned.save(tmp_path / "other.html")
    assert one.read_bytes() == other.read_bytes()
    loaded = ws.load_result(policy.learned.save(tmp_path / "learned.json"))
    assert loaded.save(tmp_path / "loaded.html").read_bytes() == one.read_bytes()


def test_it_says_where_the_policy_departs_and_that_nothing_is_evaluated(policy):
    page, found = fit_page(policy), policy.learned.departure
    assert page.headline.label == "Not evaluated"
    assert "evaluate it on" in page.headline.texts[0]
    departs = page.sections[0]
    assert departs.title.startswith("It departs from logging on")
    shares = [row["share"] for row in drawn(departs.chart)]
    assert sum(shares) == pytest.approx(1)
    assert shares[1] == found.departs
    drives, shown, tau = page.sections[1:4]
    most = max(found.drivers, key=lambda one: one.largest)
    assert drives.title == f"What drives it: mostly {DRIVERS[most.name]}"
    assert [row["value"] for row in drawn(drives.chart)] == [one.factor - 1 for one in found.drivers]
    assert [row["value"] for row in drawn(shown.chart)] == [one.policy - one.logging for one in found.actions]
    assert tau.title == f"How it was chosen: fit tau {policy.learned.fit_tau:g}"
    assert [row[2] for row in tau.tables[0].rows].count("chosen") == 1


def test_it_says_which_kind_of_model_won_by_how_much_and_what_each_cost(policy):
    tried = {"product": ModelTried(0.31, 0.5, 2.0), "cells": ModelTried(0.3, 0.6, 0.1)}
    tried["logistic"] = ModelTried(None, None, 0.2, "Too many actions.")
    compared = replace(policy.learned, model="product", models_compared_by="value", models_tried=tried)
    page = fit_page(compared)
    kind, how = "A linear model of pairs of features", "of 2 kinds tried on events held out, it predicted rewards best"
    assert page.cards[-1].text == f"{kind}: {how} among those whose choices earned most."
    by_loss = fit_page(replace(compared, models_compared_by="loss"))
    assert by_loss.cards[-1].text == f"{kind}: {how}."
    [part] = [one for one in by_loss.sections if one.title == "How it was chosen: product"]
    assert "on held-out events (contexts do not come back): 0.5, next cells 0.6." in part.texts[0]
    [part] = [one for one in page.sections if one.title == "How it was chosen: product"]
    assert "Not compared: logistic (Too many actions)." in part.texts
    assert part.tables[0].rows == [
        ("product", "0.31", "0.5", "2.0 s", "chosen"),
        ("cells", "0.3", "0.6", "0.1 s", ""),
        ("logistic", "-", "-", "0.2 s", "Too many actions."),
    ]
    cells = fit_page(replace(compared, model="cells", fit_taus_tried={"1": 0.3, "0.1": 0.3}))
    texts = " ".join(text for part in cells.sections for text in part.texts)
    assert "does not use the weights" in texts
    assert "knows no features" in texts
    assert "hashed into buckets" not in texts


def test_it_draws_and_fetches_nothing(browser, policy, tmp_path):
    path = ws.save_report(policy, tmp_path / "fit.html")
    with Visit(browser, path) as visit:
        for width in (1280, 390):
            if width == 390:
                visit.change(width=width)
            assert not visit.said
            assert visit.asked == [path.as_uri()]
            assert visit.page.locator(".chart svg, .chart canvas").count() == 3
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_of_the_log_are_shown_not_obeyed(browser, tmp_path):
    path = ws.save_report(hostile(), tmp_path / "fit.html")
    with Visit(browser, path) as visit:
        assert visit.page.title() == "What was learned from this log"
        assert visit.page.locator("#planted").count() == 0
        assert not visit.said

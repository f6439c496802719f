"""Where to explore, on both engines: the busiest contexts, up to the coverage; bins and mixtures as by hand."""

from contextlib import ExitStack, contextmanager

import pyarrow as pa
import pytest

import warmstart as ws
from warmstart.auditing import PlannedRows
from warmstart.estimators import open_weighted_rows
from warmstart.events import open_cells
from warmstart.policy import build_policy, parse_policies

# Events of each page with ads a and b, in hundreds; clicks come with every fourth.
SHOWN = {"p": (400, 100), "q": (300, 0), "r": (200, 0), "s": (0, 90), "t": (10, 0)}


def log():
    rows = [(page, ad) for page, counts in SHOWN.items() for ad, n in zip("ab", counts, strict=True) for _ in range(n)]
    click = [float(i % 4 == 0) for i in range(len(rows))]
    return pa.table({"page": [page for page, _ in rows], "ad": [ad for _, ad in rows], "click": click})


@contextmanager
def exploring(policy, engine):
    events = ws.read_events(log(), context="page", action="ad", reward="click", engine=engine)
    with open_cells(events) as cells, ExitStack() as resources:
        built = build_policy(parse_policies(policy)[0], cells, feasible_from="evaluated", live=False)
        weighted = resources.enter_context(open_weighted_rows(built, cells))
        yield PlannedRows.of(weighted, cells, resources), built


@pytest.mark.parametrize(("coverage", "pages"), [(0.3, ""), (0.7, "q"), (0.9, "qr"), (1.0, "qrt")])
def test_the_busiest_contexts_that_lack_the_choice_are_explored_up_to_the_coverage(engine, coverage, pages):
    with exploring("constant:b", engine) as (rows, _):
        where = rows.where(0.1, coverage)
        found = {row["context_0"] for row in rows.cells.engine.fetch(where)}
        assert found == set(pages)
        contexts, traffic, _ = rows.facts(where)
        assert (contexts, traffic) == (len(pages), pytest.approx(sum(sum(SHOWN[page]) for page in pages) / 1100))


def test_a_choice_that_is_rarer_than_the_share_is_explored_too(engine):
    with exploring("constant:b", engine) as (rows, _):
        assert rows.facts(rows.where(0.3, 1.0))[0] == 4
        assert rows.supported(0.2) == pytest.approx(590 / 1100)


def test_bins_have_all_events_and_what_is_known_of_them(engine):
    with exploring("constant:b", engine) as (rows, _):
        cells = rows.chosen_cells(rows.where(0.1, 1.0))
        assert (cells.number * cells.events).sum() == pytest.approx(1100)
        assert cells.change == pytest.approx(400 + 300 + 200 + 10)
        assert cells.change_where_explored == pytest.approx(510)
        assert sorted(zip(cells.events.round(), cells.propensity, cells.explored, strict=True))[-1][:2] == (500.0, 0.2)
        assert rows.rare == 1.0
    with exploring("uniform-all", engine) as (rows, _):
        assert rows.rare == pytest.approx(0.5)
        cells = rows.chosen_cells(rows.where(0.1, 1.0))
        assert cells.decided == pytest.approx(1.0)
        assert (cells.number * cells.events * cells.rest).sum() == pytest.approx(0.0)


def test_what_to_show_is_logging_mixed_with_the_policy(engine):
    with exploring("constant:b", engine) as (rows, policy):
        where = rows.where(0.3, 0.9)
        table = rows.mixture(policy, where, 0.3)
        shown = {(row["page"], row["ad"]): row["probability"] for row in table.to_pylist()}
        expected = {
            ("p", "a"): 0.56,
            ("p", "b"): 0.44,
            ("q", "a"): 0.7,
            ("q", "b"): 0.3,
            ("r", "a"): 0.7,
            ("r", "b"): 0.3,
        }
        assert shown == pytest.approx(expected)
        assert rows.busiest(policy, where, most=2, name_texts=True) == (
            ("p", "b", 500, 500 / 1100),
            ("q", "b", 300, 300 / 1100),
        )

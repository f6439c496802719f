"""A real result of every kind, for what saves, loads and describes them."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pyarrow as pa
from tests.support import outcome_logs, router_logs
from tests.support.epoch_logs import Blocks
from tests.support.epoch_worlds import NAMES, World, as_table, decisions, draw
from tests.support.logs import moment, random_log, read, table
from tests.support.unit_logs import read_units, unit_log

import warmstart as ws

WORLD = World("epsilon-greedy", epochs=6, events=150, rate=0.3)
SHOWN = "id,page,ad,at\n1,p,a,2026-10-01\n2,p,b,2026-10-02\n3,q,a,2026-10-02\n4,q,a,2026-10-09\n"
CLICKS = "id,at\n2,2026-10-02T01:00:00\n2,2026-10-02T02:00:00\n3,2026-10-08\n9,2026-10-02\n"
COSTLY = {"also": ["cost", "delay"], "minimize": ["cost"], "time": "at"}


def split_evaluation(*tau):
    early, late = read(random_log(1), "duckdb").split(at=moment(4))
    taus = [*tau, 0.05, 0.1]
    return ws.evaluate(["logging", "uniform", "constant:a0"], late, train=early, tau=taus, contributions=3)


def with_outcomes():
    """Outcomes, guards (one without an upper end), segments and a utility's rival."""
    events = outcome_logs.read(outcome_logs.columns(), **COSTLY)
    guards = ["cost<=+5%", "click>=-0.2", "delay<=+1"]
    return ws.evaluate(["uniform", "constant:a1"], events, tau=0.05, guards=guards, by="country", live=False)


def with_units():
    events = read_units(unit_log(3))
    return ws.evaluate(["uniform", "logging"], events, tau=0.1, per="unit", live=False)


def with_epochs():
    mine = as_table(decisions(WORLD))
    return ws.evaluate({"mine": mine, "uniform": "uniform"}, ws.read_events(draw(WORLD, 0).table, **NAMES, epoch="day"))


def modelled():
    events = Blocks(0, 1200, columns=2).log()
    names = {"context": ["x0", "x1"], "action": "a", "reward": "r", "event_id": "i"}
    return ws.read_events(events, **names)


def followed():
    events = ws.read_events(draw(WORLD, 0).table, **NAMES, epoch="day")
    return ws.monitor("uniform", events, Path(mkdtemp()) / "lines.jsonl")


def planned():
    """A plan with contexts to explore in, for an action that is shown rarely."""
    return ws.plan("constant:a0", read(random_log(1), "duckdb"), gain=0.1, share=0.3)


def along_the_way():
    events = ws.read_events(draw(WORLD, 0).table, **NAMES, epoch="day")
    return ws.evaluate_progressively(events, fit=lambda window: as_table(decisions(WORLD, seed=len(window))))


def joined(window="3d"):
    folder = Path(mkdtemp())
    (folder / "shown.csv").write_text(SHOWN)
    (folder / "clicks.csv").write_text(CLICKS)
    times = {} if window is None else {"impression_time": "at", "outcome_time": "at", "window": window}
    return ws.join(folder / "shown.csv", folder / "clicks.csv", folder / "log.parquet", on="id", **times)


def imported():
    folder = Path(mkdtemp())
    (folder / "log.vw").write_text("1:0 | a\n2:-1:0.5 | a\n")
    return ws.import_vw(folder / "log.vw", folder / "out")


def imported_calls():
    folder = Path(mkdtemp())
    return ws.import_calls(router_logs.written(folder / "a.jsonl", router_logs.OTEL), folder / "out", format="otel")


def grouped():
    prompts = [f"{('court judge', 'oven butter')[i % 2]} {i}" for i in range(20)]
    return ws.group(pa.table({"prompt": prompts}), Path(mkdtemp()) / "out", text="prompt", least=5)


def exported():
    return ws.export(read(random_log(1), "duckdb"), Path(mkdtemp()) / "events.parquet", to="parquet", tau=0.1)


def predicted():
    """Decisions, of a file that need not be there any more."""
    return ws.Decisions(Path("folder") / "decisions.parquet", 2, 3)


MAKERS = {
    "evaluation": split_evaluation,
    "evaluation with outcomes": with_outcomes,
    "evaluation by unit": with_units,
    "evaluation by epoch": with_epochs,
    "evaluation with a model": lambda: ws.evaluate("uniform-all", modelled(), propensities="model"),
    "audit": lambda: ws.audit(read(random_log(1), "duckdb")),
    "audit of units": lambda: ws.audit(read_units(unit_log(3))),
    "audit without time": lambda: ws.audit(read([("x", a, 1.0, 0) for a in "aab"], "duckdb", time=False)),
    "checked": lambda: ws.check(saved("evaluation with outcomes"), verdict="better", support=0.5, no_codes="WS104"),
    "comparison": lambda: ws.compare(saved("evaluation"), split_evaluation(0.2)),
    "joined": joined,
    "joined without times": lambda: joined(None),
    "learned": lambda: ws.fit(read(random_log(1), "duckdb"), weight_bits=8).learned,
    "monitor": followed,
    "plan": planned,
    "plan without a gain": lambda: ws.plan("constant:a1", read(random_log(1), "duckdb")),
    "plan by unit": lambda: ws.plan("constant:a0", read_units(unit_log(3)), gain="20%", share=0.1, live=False),
    "progressive": along_the_way,
    "selection": lambda: ws.select(saved("evaluation with outcomes")),
    "selection of none": lambda: ws.select(saved("evaluation")),
    "propensity-comparison": lambda: ws.compare_propensities(modelled(), ["shares", "model"]),
    "grouped": grouped,
    "imported": imported,
    "imported calls": imported_calls,
    "exported": exported,
    "decisions": predicted,
    "proposal": lambda: ws.init(table(random_log(1)), context="context"),
    "explanation": lambda: ws.explain("WS104", "ws501"),
    "explanation of all": ws.explain,
}


@cache
def saved(name):
    """The result of a name in ``MAKERS``, made once."""
    return MAKERS[name]()

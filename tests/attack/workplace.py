"""A folder with small inputs, the commands that write, and what must hold of their outputs at any time."""

import csv
import json
import shutil
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.support import router_logs

import warmstart as ws
from warmstart.core.files import mark_of
from warmstart.core.temporaries import NAME
from warmstart.grouping.storage import load_grouping
from warmstart.simulation import AdWorld

COLUMNS = ("--context", "page", "--action", "ad", "--reward", "click", "--time", "at")
LOG = ("log.parquet", *COLUMNS)
JOINED = ("--on", "id", "--window", "1d", "--impression-time", "at", "--outcome-time", "at")

# Commands that write, with their outputs; "{}" is the folder of outputs.
COMMANDS = {
    "fit": (
        ("fit", *LOG, "--contexts", "pages.parquet", "--out", "{}/policy", "--html", "{}/fit.html"),
        "policy fit.html",
    ),
    "evaluate": (
        (
            "evaluate",
            *LOG,
            "--policy",
            "uniform",
            "--html",
            "{}/page.html",
            "--supported-out",
            "{}/rows.csv",
            "--force",
        ),
        "page.html rows.csv",
    ),
    "audit": (
        ("audit", *LOG, "--html", "{}/audit.html", "--explore-out", "{}/explore.parquet"),
        "audit.html explore.parquet",
    ),
    "check": (
        (
            "check",
            *LOG,
            *("--policy", "uniform", "--tau", "0.05", "--min-events", "1000", "--junit", "{}/check.xml"),
            *("--markdown", "{}/check.md", "--out", "{}/evaluation.json"),
            "--force",
        ),
        "check.xml check.md evaluation.json",
    ),
    "choose": (("choose", "policy", "--contexts", "pages.parquet", "--out", "{}/chosen.parquet"), "chosen.parquet"),
    "export": (("export", *LOG, "--to", "vw-cb", "--tau", "0.1", "--out", "{}/train.vw", "--force"), "train.vw"),
    "demo": (("demo", "--out", "{}/demo"), "demo"),
    "group": (("group", "prompts.parquet", "--text", "prompt", "--least", "5", "--out", "{}/grouped"), "grouped"),
    "init": (("init", "log.parquet", "--yes", "--out", "{}/settings.toml"), "settings.toml"),
    **{
        f"import {one}": (("import", one, f"{one}.jsonl", "{}/imported", "--prompts", "text"), "imported")
        for one in router_logs.LOGS
    },
    "import predictions": (
        ("import", "predictions", "predictions.txt", "{}/chosen.parquet", "--contexts", "exported.vw"),
        "chosen.parquet",
    ),
    "import vw": (("import", "vw", "small.vw", "{}/imported"), "imported"),
    "join": (("join", "log.parquet", "clicks.parquet", *JOINED, "--out", "{}/joined.parquet"), "joined.parquet"),
    "monitor": (
        ("monitor", *LOG, "--epoch", "day", "--policy", "constant:1", "--out", "{}/lines.jsonl"),
        "lines.jsonl",
    ),
    "plan": (
        ("plan", *LOG, "--policy", "constant:1", "--out", "{}/plan.csv", "--html", "{}/plan.html", "--force"),
        "plan.csv plan.html",
    ),
    "simulate": (("simulate", "{}/month", "--events", "3000", "--n-contexts", "200", "--n-actions", "120"), "month"),
}


def build(folder, *, policy=True):
    """Write the inputs, with or without a policy."""
    rng = np.random.default_rng(0)
    events = 2_000
    click = (rng.random(events) < 0.2).astype(np.int8)
    at = pa.array(np.sort(rng.integers(1_790_000_000, 1_790_600_000, events)) * 1_000_000, pa.timestamp("us", "UTC"))
    columns = {"id": np.arange(events), "page": rng.integers(40, size=events), "ad": rng.integers(4, size=events)}
    pq.write_table(pa.table({**columns, "click": click, "at": at}), folder / "log.parquet")
    pq.write_table(pa.table({"page": np.arange(40), "size": rng.random(40)}), folder / "pages.parquet")
    pq.write_table(
        pa.table({"id": columns["id"][click > 0], "at": at.filter(pa.array(click > 0))}), folder / "clicks.parquet"
    )
    texts = [f"{('court judge verdict', 'oven butter flour')[i % 2]} {i}" for i in range(200)]
    pq.write_table(pa.table({"request": np.arange(200), "prompt": texts}), folder / "prompts.parquet")
    for name, (lines, _) in router_logs.LOGS.items():
        router_logs.written(folder / f"{name}.jsonl", lines)
    (folder / "small.vw").write_text("1:-1:0.5 | a b\n2:0:0.5 | b c\n" * 300)
    if policy:
        log = ws.read_events(str(folder / "log.parquet"), context="page", action="ad", reward="click", time="at")
        ws.export(log, folder / "exported.vw", to="vw-cb", tau=0.1)
        (folder / "predictions.txt").write_text("0\n" * 40)
        ws.save_policy(ws.fit(log, contexts=str(folder / "pages.parquet")), folder / "policy")
    return folder


def command_of(name, out):
    return [word.format(out) for word in COMMANDS[name][0]]


def outputs_of(name, out):
    return [Path(out, file) for file in COMMANDS[name][1].split()]


def contents(folder):
    """Every file below a folder, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()
    }


def temporaries(folder):
    return [path.name for path in Path(folder).rglob("*") if NAME.fullmatch(path.name)]


def check_whole(path):
    """Fail unless an output can be read to its end."""
    if path.is_dir():
        check_folder(path)
    elif path.suffix == ".parquet":
        assert pq.read_table(path).num_columns > 0
    elif path.suffix == ".html":
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    elif path.suffix == ".jsonl":
        assert all(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    elif path.suffix == ".json":
        ws.load_result(path)
    elif path.suffix == ".xml":
        xml.etree.ElementTree.parse(path)
    elif path.suffix == ".toml":
        assert mark_of(path) == "settings"
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            assert len({len(row) for row in csv.reader(file)}) == 1
    else:
        assert path.read_text(encoding="utf-8").endswith("\n")


def check_folder(path):
    """Fail unless all of a folder can be read."""
    if (path / "policy.json").is_file():
        policy = ws.load_policy(path)
        assert policy.defers or policy.decisions.num_rows > 0
    elif (path / ".warmstart-demo").is_file():
        check_folder(path / "month")
        for policy in (path / "policies").iterdir():
            check_folder(policy)
        for page in path.glob("*.html"):
            check_whole(page)
        assert json.loads((path / "results.json").read_text(encoding="utf-8"))["lines"]
    elif (path / "truth").is_dir():
        world = AdWorld.open(path)
        assert pq.read_table(path / "events.parquet").num_rows == world.settings.events
    elif (path / "grouping.json").is_file():
        load_grouping(path)
        assert pq.read_table(path / "events.parquet").num_rows == 200
    else:
        events = json.loads((path / "about.json").read_text(encoding="utf-8"))["events"]
        assert pq.read_table(path / "events.parquet").num_rows == events


def clear(out):
    shutil.rmtree(out, ignore_errors=True)
    Path(out).mkdir()

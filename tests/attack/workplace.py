"""A folder with small inputs, the commands that write, and what must hold of their outputs at any time."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import warmstart as ws
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
    "choose": (("choose", "policy", "--contexts", "pages.parquet", "--out", "{}/chosen.parquet"), "chosen.parquet"),
    "export": (("export", *LOG, "--to", "vw-cb", "--tau", "0.1", "--out", "{}/train.vw", "--force"), "train.vw"),
    "import": (("import", "vw", "small.vw", "{}/imported"), "imported"),
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
    (folder / "small.vw").write_text("1:-1:0.5 | a b\n2:0:0.5 | b c\n" * 300)
    if policy:
        log = ws.read_events(str(folder / "log.parquet"), context="page", action="ad", reward="click", time="at")
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
    return [path.name for path in Path(folder).rglob("*") if ".warmstart-" in path.name]


def check_whole(path):
    """Fail unless an output can be read to its end."""
    if path.is_dir():
        if (path / "policy.json").is_file():
            assert ws.load_policy(path).decisions.num_rows > 0
        elif (path / "truth").is_dir():
            AdWorld.open(path)
            assert pq.read_table(path / "events.parquet").num_rows == 3_000
        else:
            assert pq.read_table(path / "events.parquet").num_rows == 600
    elif path.suffix == ".parquet":
        assert pq.read_table(path).num_columns > 0
    elif path.suffix == ".html":
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    elif path.suffix == ".jsonl":
        assert all(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            assert len({len(row) for row in csv.reader(file)}) == 1
    else:
        assert path.read_text(encoding="utf-8").endswith("\n")


def clear(out):
    shutil.rmtree(out, ignore_errors=True)
    Path(out).mkdir()

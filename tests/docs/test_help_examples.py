"""Every example in every --help runs as it is written, in a folder that has the files it names.

Parsed only, and not run: those that need a server or take minutes.
"""

import gzip
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import typer
from tests.support import router_logs as logs

from warmstart.cli import main
from warmstart.cli.app import app

PARSED_ONLY = {
    "warmstart demo",
    "warmstart demo --scale medium --seed 3 --out month-3",
    "warmstart demo --llm --out routing",
    "warmstart simulate paper-month --scale paper --seed 7",
    " ".join(
        [
            "warmstart audit postgres://reader@host/shop --table ads.shown",
            "--context page --action ad --reward click --time shown_at",
        ]
    ),
}


def helps(command, name, parent=None):
    """The help of a command and of all below it."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield name, command.get_help(context)
    for below, found in getattr(command, "commands", {}).items():
        yield from helps(found, f"{name} {below}", context)


HELPS = dict(helps(typer.main.get_command(app), "warmstart"))


def examples(text):
    """The commands after 'Examples:', continued lines joined."""
    lines = text.replace("\\\n", " ").splitlines()
    return [re.sub(r"\s+", " ", line.strip()) for line in lines if line.strip().startswith("warmstart ")]


EXAMPLES = {name: examples(text) for name, text in HELPS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    rng, n = np.random.default_rng(0), 1_500
    pages, ads = [f"p{i}" for i in range(6)], ["a", "b", "c"]
    start = datetime(2026, 10, 1, tzinfo=UTC)
    shown_at = [start + timedelta(minutes=20 * i) for i in range(n)]
    page = [str(name) for name in rng.choice(pages, n)]
    log = pa.table(
        {
            "page": page,
            "hour": [moment.hour // 12 for moment in shown_at],
            "age": [int(age) for age in rng.integers(20, 60, n)],
            "city": [str(city) for city in rng.choice(["Bonn", "Turin"], n)],
            "ad": [str(ad) for ad in rng.choice(ads, n)],
            "click": [int(click) for click in rng.integers(0, 2, n)],
            "cost": [0.005 + 0.01 * (i % 3) / 3 for i in range(n)],
            "shown_at": shown_at,
            "request": list(range(n)),
            "customer": [f"c{i % 97}" for i in range(n)],
            "new_model": [str(ad) for ad in rng.choice(ads, n)],
        }
    )
    pq.write_table(log, folder / "log.parquet")
    (folder / "log").mkdir()
    for i in range(2):
        pa_csv.write_csv(log.slice(i * n // 2, n // 2), folder / "log" / f"{i}.csv")
    described = pa.table({"page": pages, "words": [["garden" if i % 2 else "news"] for i in range(6)]})
    pq.write_table(described, folder / "pages.parquet")
    pq.write_table(described, folder / "new-pages.parquet")
    pq.write_table(pa.table({"ad": ads, "words": [[f"w{ad}"] for ad in ads]}), folder / "ads.parquet")
    (folder / "todays-ads.csv").write_text("ad\na\nc\n")
    pairs = [f"{name},{hour},a" for name in pages for hour in (0, 1)]
    (folder / "decisions.csv").write_text("\n".join(["page,hour,ad", *pairs]) + "\n")
    pairs = [f"{age},{city},b" for age in range(20, 60) for city in ("Bonn", "Turin")]
    (folder / "by-city.csv").write_text("\n".join(["age,city,ad", *pairs]) + "\n")
    pq.write_table(log.drop_columns(["click"]), folder / "shown.parquet")
    clicked = [moment + timedelta(hours=1) for moment in shown_at[::7]]
    pq.write_table(pa.table({"request": list(range(0, n, 7)), "clicked_at": clicked}), folder / "clicks.parquet")
    orders = [f"c{i % 97},{shown_at[i] + timedelta(hours=2):%Y-%m-%d %H:%M:%S},0.25" for i in range(0, n, 9)]
    (folder / "orders.csv").write_text("\n".join(["buyer,ordered_at,price", *orders]) + "\n")
    (folder / "train.dat").write_text("1:-1:0.5 | a\n2:0:0.5 | a\n1:-1 | b\n")
    line = {"_label_cost": -1.0, "_label_probability": 0.5, "_label_Action": 1, "_labelIndex": 0, "a": [1, 2]}
    line |= {"p": [0.5, 0.5], "c": {"x": 1, "_multi": [{"y": 1}, {"y": 2}]}, "Timestamp": "2026-10-01T00:00:00Z"}
    for day in (1, 2):
        with gzip.open(folder / f"2026-10-0{day}.json.gz", "wt") as file:
            file.write(json.dumps({**line, "EventId": str(day)}) + "\n")
    words = {"a": "court judge verdict", "b": "oven butter flour"}
    prompts = [f"{words['ab'[i % 2]]} {i}" for i in range(n)]
    pq.write_table(pa.table({"request": list(range(n)), "prompt": prompts}), folder / "prompts.parquet")
    for name, records in (("spend", logs.LITELLM), ("traces", logs.OTEL[:3]), ("logs", logs.OTEL[3:])):
        logs.written(folder / f"{name}.jsonl", records)
    for name, records in (("observations", logs.LANGFUSE[:10]), ("scores", logs.LANGFUSE[10:])):
        text = logs.written(folder / f"{name}.jsonl", records).read_bytes()
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text))
    (folder / "predictions.txt").write_text("0\n" * len(pages))
    return folder


def words(example, folder):
    """What a shell makes of an example."""
    asked = example.removeprefix("warmstart ") if example != "warmstart" else ""
    ran = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {asked}"], cwd=folder, capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()


def run(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["warmstart", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code, capsys.readouterr()


def make_room(arguments):
    """Remove what an earlier example wrote."""
    if "--out" in arguments and (out := Path(arguments[arguments.index("--out") + 1])).is_dir():
        shutil.rmtree(out)


def test_every_command_has_examples_and_few_are_not_run():
    lacking = {name for name, found in EXAMPLES.items() if not found}
    assert lacking == {"warmstart import"}  # a group: its commands have theirs
    everything = {example for found in EXAMPLES.values() for example in found}
    assert everything >= PARSED_ONLY
    assert len(everything - PARSED_ONLY) >= 20


@pytest.mark.parametrize("name", [name for name, found in EXAMPLES.items() if found and name != "warmstart choose"])
def test_the_examples_of_a_command_run_as_written(name, folder, monkeypatch, capsys):
    # Those of choose use the policy that those of fit leave.
    more = EXAMPLES["warmstart choose"] if name == "warmstart fit" else []
    monkeypatch.chdir(folder)
    for example in [*EXAMPLES[name], *more]:
        arguments = words(example, folder)
        if example in PARSED_ONLY:
            command = typer.main.get_command(app)
            context = command.make_context("warmstart", list(arguments))
            found = command.commands[arguments[0]]
            assert found.make_context(arguments[0], list(arguments[1:]), parent=context).params, example
            continue
        make_room(arguments)
        code, said = run(arguments, monkeypatch, capsys)
        assert code == 0, f"{example}\n{said.err}"
        assert said.out or "--out" in arguments, example
        if "--json" in arguments:
            assert json.loads(said.out), example
        if "--out" in arguments:
            assert Path(arguments[arguments.index("--out") + 1]).exists(), example


def test_a_wrong_example_would_be_found(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    code, said = run(
        words("warmstart audit log.parquet --context pagee --action ad --reward click", folder), monkeypatch, capsys
    )
    assert code == 1
    assert "Did you mean 'page'" in said.err

"""No command destroys its own input or a file of others, and running one again replaces what it wrote."""

import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.logs import random_log, read, table

import warmstart as ws
from warmstart.cli import main
from warmstart.cli.import_ import CALLS
from warmstart.core.files import write_table

COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward", "--time", "time"]
LOG = ["log.parquet", *COLUMNS]
POLICY = ["--policy", "mine=decisions.parquet"]
EVALUATE = ["evaluate", *LOG, "--policy", "uniform", *POLICY, "--contexts", "contexts.parquet", "--tau", "0.1"]
EXPORT = ["export", *LOG, "--tau", "0.1"]
FIT = ["fit", *LOG, "--contexts", "contexts.parquet", "--actions", "actions.parquet"]
PLAN = ["plan", *LOG, *POLICY, "--contexts", "contexts.parquet", "--gain", "0.1"]
MONITOR = ["monitor", *LOG, "--epoch", "day", *POLICY]
JOIN = ["join", "shown.parquet", "clicks.parquet", "--on", "id"]
CHOOSE = ["choose", "policy", "--contexts", "contexts.parquet", "--actions", "actions.parquet"]
FILES = ("log", "decisions", "contexts", "actions", "shown", "clicks")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Inputs that this tool could have written, each with two links: only that they are inputs protects them."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "days").mkdir()
    rows = table(random_log(1))
    known = rows.select(["context", "action"]).group_by("context").aggregate([("action", "min")])
    known = known.rename_columns(["context", "action"])
    shown = pa.table({"id": [1, 2], "page": ["p", "p"], "ad": ["a", "b"]})
    tables = [rows, known, known.select(["context"]), known.select(["action"]), shown, shown.select(["id"])]
    for name, one in zip(FILES, tables, strict=True):
        write_table(folder / f"{name}.parquet", one)
        (folder / f"soft-{name}.parquet").symlink_to(folder / f"{name}.parquet")
        os.link(folder / f"{name}.parquet", folder / f"hard-{name}.parquet")
    write_table(folder / "days" / "1.parquet", rows)
    ws.save_policy(ws.fit(read(random_log(1), "duckdb"), weight_bits=8), folder / "policy")
    (folder / "calls.jsonl").write_text("{}\n")
    return folder


@pytest.fixture
def run(inputs, tmp_path, monkeypatch, capsys):
    """Run a command in a folder with the inputs, and return its exit code and what it said."""
    monkeypatch.chdir(inputs)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["warmstart", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, capsys.readouterr().err

    return command


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# The command, and the inputs that its output, named last, may not replace.
REFUSED = {
    "audit --html": (["audit", *LOG, "--html"], "log"),
    "audit --explore-out": (["audit", *LOG, "--explore-out"], "log"),
    "evaluate --html": ([*EVALUATE, "--html"], "log", "decisions", "contexts"),
    "evaluate --supported-out": ([*EVALUATE, "--supported-out"], "log", "decisions", "contexts"),
    "plan --html": ([*PLAN, "--html"], "log", "decisions", "contexts"),
    "plan --out": ([*PLAN, "--out"], "log", "decisions", "contexts"),
    "monitor --html": ([*MONITOR, "--out", "lines.jsonl", "--html"], "log", "decisions"),
    "monitor --out": ([*MONITOR, "--out"], "log", "decisions"),
    "fit --html": ([*FIT, "--out", "new", "--html"], "log", "contexts", "actions"),
    "fit --out": ([*FIT, "--out"], "log", "contexts", "actions"),
    "export --out": ([*EXPORT, "--to", "parquet", "--out"], "log"),
    "choose --out": ([*CHOOSE, "--out"], "contexts", "actions"),
    "join --out": ([*JOIN, "--out"], "shown", "clicks"),
    "join --html": ([*JOIN, "--out", "joined.parquet", "--html"], "shown", "clicks"),
    "group --out": (["group", "log.parquet", "--text", "action", "--out"], "log"),
    "group --out of --texts": (
        ["group", "shown.parquet", "--text", "action", "--texts", "log.parquet", "--on", "id", "--out"],
        *("shown", "log"),
    ),
}
INTO = {
    "audit of a folder": ["audit", "days", *COLUMNS, "--explore-out", "days/first.csv"],
    "audit of a glob": ["audit", "days/*.parquet", *COLUMNS, "--explore-out", "days/first.parquet"],
    "evaluate in a policy": ["evaluate", *LOG, "--policy", "p=policy", "--html", "policy/a.html"],
    "evaluate in naive": ["evaluate", *LOG, "--policy", "naive:policy", "--html", "policy/a.html"],
    "plan in naive": ["plan", *LOG, "--policy", "naive:policy", "--gain", "0.1", "--out", "policy/a.csv"],
    "choose in the policy": [*CHOOSE, "--out", "policy/decisions.parquet"],
    "fit in the log": ["fit", "days", *COLUMNS, "--out", "days/policy"],
    "export onto contexts": [*EXPORT, "--to", "vw-cb", "--contexts", "contexts.parquet", "--out", "contexts.parquet"],
    "group in a grouping": ["group", *LOG[:1], "--text", "action", "--grouping", "policy", "--out", "policy/new"],
    **{f"import {tool}": ["import", tool, "calls.jsonl", "./calls.jsonl"] for tool in ("vw", *CALLS)},
}


def refused(command, run, inputs):
    forced = [] if command[0] in ("group", "import") else ["--force"]
    before = contents(inputs)
    code, said = run(*command, *forced)
    assert code == 2, said
    assert "input" in said.splitlines()[0]
    assert said.splitlines()[1].startswith("hint: ")
    assert contents(inputs) == before


@pytest.mark.parametrize("name", REFUSED)
def test_no_command_writes_onto_an_input_even_with_force(name, run, inputs):
    command, *names = REFUSED[name]
    for file in names:
        path = f"{file}.parquet"
        for out in (path, f"./{path}", f"days/../{path}", inputs / path, f"soft-{path}", f"hard-{path}"):
            refused([*command, out], run, inputs)


@pytest.mark.parametrize("name", INTO)
def test_no_command_writes_into_an_input_nor_beside_it_onto_another(name, run, inputs):
    refused(INTO[name], run, inputs)


def test_what_export_writes_beside_its_file_is_no_input_either(run, inputs):
    log = inputs / "train.contexts.parquet"
    write_table(log, table(random_log(1)))
    refused(["export", log.name, *EXPORT[2:], "--to", "vw-cb", "--out", "train.vw"], run, inputs)
    log.unlink()


@pytest.mark.parametrize(
    "command",
    [
        *(["audit", option] for option in ("--html", "--explore-out")),
        *(["evaluate", option] for option in ("--html", "--supported-out")),
        *(["plan", option] for option in ("--html", "--out")),
        ["monitor", "--out"],
        ["monitor", "--out", "lines.jsonl", "--html"],
        *(["check", option] for option in ("--junit", "--markdown", "--out")),
        *([*EXPORT[:1], "--tau", "0.1", "--to", to, "--out"] for to in ("parquet", "vw-cb", "dsjson")),
        ["fit", "--out"],
        ["fit", "--out", "new", "--html"],
    ],
    ids=" ".join,
)
def test_no_command_writes_onto_the_settings_it_has_read(command, run, inputs, tmp_path, monkeypatch):
    """The file is as init writes it, so that only that it is read protects it."""
    settings = tmp_path / "warmstart.toml"
    init = ["init", "log.parquet", "--context", "context", "--action", "action", "--reward", "reward", "--yes"]
    assert run(*init, "--out", settings)[0] == 0
    before = settings.read_bytes()
    forced = [] if command[0] == "check" else ["--force"]
    for options, out in (([*forced, "--config", settings], settings), ([], "./warmstart.toml")):
        code, said = run(*command, out, *options)
        monkeypatch.chdir(tmp_path)
        assert (code, "is an input" in said) == (2, True), said
        assert settings.read_bytes() == before


@pytest.mark.parametrize(
    "options", [["audit", *LOG, "--explore-out"], [*PLAN, "--out"], [*MONITOR, "--out"], [*EVALUATE, "--supported-out"]]
)
def test_two_outputs_are_two_files(options, run, tmp_path):
    code, said = run(*options, tmp_path / "a.csv", "--html", f"{tmp_path}/../{tmp_path.name}/a.csv")
    assert (code, "named twice" in said) == (2, True)
    assert not list(tmp_path.iterdir())


def test_import_predictions_refuses_its_inputs(run, inputs, tmp_path):
    assert run(*EXPORT, "--to", "vw-cb", "--out", tmp_path / "train.vw")[0] == 0
    (tmp_path / "p.txt").write_text("0\n" * 6)
    before = contents(tmp_path)
    for out in ("p.txt", "train.vw", "train.contexts.parquet", "train.actions.parquet"):
        command = ["import", "predictions", tmp_path / "p.txt", tmp_path / out, "--contexts", tmp_path / "train.vw"]
        code, said = run(*command, "--first-number", "0", "--force")
        assert (code, "is an input" in said) == (2, True), said
    assert contents(tmp_path) == before


def test_a_file_of_others_needs_force_and_ours_does_not(run, tmp_path):
    audit = ["audit", *LOG, "--html", tmp_path / "audit.html", "--explore-out", tmp_path / "x.parquet"]
    (tmp_path / "audit.html").write_text("<p>mine</p>")
    code, said = run(*audit)
    assert (code, "did not write it" in said) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["audit.html"]
    assert run(*audit, "--force")[0] == 0
    assert run(*audit)[0] == 0
    assert "warmstart" in (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_export_replaces_its_own_files_and_no_neighbour(run, tmp_path):
    out = tmp_path / "train.vw"
    pq.write_table(table(random_log(1)), tmp_path / "train.contexts.parquet")
    code, said = run(*EXPORT, "--to", "vw-cb", "--out", out)
    assert (code, "train.contexts.parquet" in said) == (2, True)
    assert not out.exists()
    (tmp_path / "train.contexts.parquet").unlink()
    for _ in range(2):
        assert run(*EXPORT, "--to", "vw-cb", "--out", out)[0] == 0
    (tmp_path / "train.json").write_text("mine")
    code, said = run(*EXPORT, "--to", "dsjson", "--out", tmp_path / "train.json")
    assert (code, "train.json" in said) == (2, True)
    assert (tmp_path / "train.json").read_text() == "mine"


def test_join_and_choose_replace_what_they_wrote(run, tmp_path):
    join = [*JOIN, "--out", tmp_path / "joined.parquet"]
    choose = ["choose", "policy", "--contexts", "contexts.parquet", "--out", tmp_path / "chosen.parquet"]
    for command in (join, choose):
        pq.write_table(table(random_log(1)), command[-1])
        assert run(*command)[0] == 2
        assert run(*command, "--force")[0] == 0
        assert run(*command)[0] == 0


@pytest.mark.parametrize("option", ["--reward", "--action", "--time", "--tau", "--html", "--json", "--threads"])
def test_an_option_given_twice_is_a_wrong_command(run, option):
    values = {"--json": [], "--threads": ["1"], "--tau": ["0.1"], "--html": ["a.html"]}.get(option, ["reward"])
    command = [*EXPORT, "--to", "parquet", "--out", "a.parquet"] if option == "--tau" else ["audit", *LOG]
    code, said = run(*command, *([option, *values] * 2))
    assert code == 2
    assert said.startswith(f"error: {option} is given ")
    assert "hint: " in said


def test_options_that_may_be_repeated_still_may(run):
    policies = ["--policy", "uniform", "--policy", "logging"]
    assert run("evaluate", *LOG, *policies, "--tau", "0.1", "--tau", "1")[0] == 0

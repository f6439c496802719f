"""No command destroys its own input or a file of others, and running one again replaces what it wrote."""

import os
import sys

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.logs import random_log, read, table

import warmstart as ws
from warmstart.cli import main
from warmstart.core.files import write_table

COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward", "--time", "time"]
EVALUATE = [
    "evaluate",
    "log.parquet",
    *COLUMNS,
    "--policy",
    "uniform",
    "--policy",
    "mine=decisions.parquet",
    "--tau",
    "0.1",
]
EXPORT = ["export", "log.parquet", *COLUMNS, "--tau", "0.1"]
FOLDER_LOG = ["audit", "days", *COLUMNS]
GLOB_LOG = ["audit", "days/*.parquet", *COLUMNS]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Inputs that this tool could have written: only that they are inputs protects them."""
    folder = tmp_path_factory.mktemp("outputs")
    rows = random_log(1)
    for name in ("log.parquet", "days/1.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        write_table(folder / name, table(rows))
    known = table(rows).select(["context", "action"]).group_by("context").aggregate([("action", "min")])
    known = known.rename_columns(["context", "action"])
    for name in ("decisions.parquet", "contexts.parquet"):
        write_table(folder / name, known)
    ws.save_policy(ws.fit(read(rows, "duckdb"), weight_bits=8), folder / "policy")
    (folder / "shown.csv").write_text("id,page,ad\n1,p,a\n2,p,b\n")
    write_table(folder / "clicks.parquet", pa_csv.read_csv(folder / "shown.csv").select(["id"]))
    (folder / "absolute.parquet").symlink_to(folder / "log.parquet")
    os.link(folder / "log.parquet", folder / "hard.parquet")
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


REFUSED = {
    "audit --html": ["audit", "log.parquet", *COLUMNS, "--html", "log.parquet"],
    "audit --explore-out": ["audit", "log.parquet", *COLUMNS, "--explore-out", "./log.parquet"],
    "audit of a link": ["audit", "absolute.parquet", *COLUMNS, "--explore-out", "hard.parquet"],
    "audit of a folder": [*FOLDER_LOG, "--explore-out", "days/first.csv"],
    "audit of a glob": [*GLOB_LOG, "--explore-out", "days/first.parquet"],
    "evaluate --html LOG": [*EVALUATE, "--html", "days/../log.parquet"],
    "evaluate --html DECISIONS": [*EVALUATE, "--html", "decisions.parquet"],
    "evaluate --html in a policy": [
        "evaluate",
        "log.parquet",
        *COLUMNS,
        "--policy",
        "p=policy",
        "--html",
        "policy/a.html",
    ],
    "evaluate --html in naive": [
        "evaluate",
        "log.parquet",
        *COLUMNS,
        "--policy",
        "naive:policy",
        "--html",
        "policy/a.html",
    ],
    "export --out LOG": [*EXPORT, "--to", "parquet", "--out", "log.parquet"],
    "export --out CONTEXTS": [*EXPORT, "--to", "vw-cb", "--contexts", "contexts.parquet", "--out", "contexts.parquet"],
    "export beside": [*EXPORT[:1], "train.contexts.parquet", *EXPORT[2:], "--to", "vw-cb", "--out", "train.vw"],
    "choose --out CONTEXTS": ["choose", "policy", "--contexts", "contexts.parquet", "--out", "contexts.parquet"],
    "choose --out in the policy": [
        "choose",
        "policy",
        "--contexts",
        "contexts.parquet",
        "--out",
        "policy/decisions.parquet",
    ],
    "join --out IMPRESSIONS": ["join", "clicks.parquet", "shown.csv", "--on", "id", "--out", "clicks.parquet"],
    "join --out OUTCOMES": ["join", "shown.csv", "clicks.parquet", "--on", "id", "--out", "./clicks.parquet"],
    "fit --out in the log": ["fit", "days", *COLUMNS, "--out", "days/policy"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_command_writes_onto_an_input_even_with_force(name, run, inputs):
    beside = inputs / "train.contexts.parquet"
    if name == "export beside":
        write_table(beside, table(random_log(1)))
    before = contents(inputs)
    forced = [] if name.startswith("fit") else ["--force"]
    code, said = run(*REFUSED[name], *forced)
    assert code == 2, said
    assert "input" in said.splitlines()[0]
    assert said.splitlines()[1].startswith("hint: ")
    assert contents(inputs) == before
    beside.unlink(missing_ok=True)


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
    audit = [
        "audit",
        "log.parquet",
        *COLUMNS,
        "--html",
        tmp_path / "audit.html",
        "--explore-out",
        tmp_path / "x.parquet",
    ]
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
    join = ["join", "shown.csv", "clicks.parquet", "--on", "id", "--out", tmp_path / "joined.parquet"]
    choose = ["choose", "policy", "--contexts", "contexts.parquet", "--out", tmp_path / "chosen.parquet"]
    for command in (join, choose):
        pq.write_table(table(random_log(1)), command[-1])
        assert run(*command)[0] == 2
        assert run(*command, "--force")[0] == 0
        assert run(*command)[0] == 0


@pytest.mark.parametrize("option", ["--reward", "--action", "--time", "--tau", "--html", "--json", "--threads"])
def test_an_option_given_twice_is_a_wrong_command(run, option):
    values = {"--json": [], "--threads": ["1"], "--tau": ["0.1"], "--html": ["a.html"]}.get(option, ["reward"])
    command = (
        [*EXPORT, "--to", "parquet", "--out", "a.parquet"] if option == "--tau" else ["audit", "log.parquet", *COLUMNS]
    )
    code, said = run(*command, *([option, *values] * 2))
    assert code == 2
    assert said.startswith(f"error: {option} is given ")
    assert "hint: " in said


def test_options_that_may_be_repeated_still_may(run):
    assert (
        run(
            "evaluate",
            "log.parquet",
            *COLUMNS,
            "--policy",
            "uniform",
            "--policy",
            "logging",
            "--tau",
            "0.1",
            "--tau",
            "1",
        )[0]
        == 0
    )

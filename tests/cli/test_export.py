"""The import and export commands: data on stdout, errors with a hint, exit codes."""

import json

import pyarrow.parquet as pq
from tests.support.commands import warmstart, warmstart_process
from tests.support.logs import random_log, table

COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward"]


def test_a_log_goes_in_and_out_and_predictions_come_back(tmp_path):
    (tmp_path / "log.vw").write_text("1:-1 | a\n2:0 | a\n1:-1 | b\n2:-1 | b\n")
    ran = warmstart("import", "vw", "log.vw", "imported", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "4 events" in ran.stdout
    assert "propensities will be estimated" in ran.stdout
    assert "Next: warmstart audit imported/events.parquet" in ran.stdout
    asked = ["--to", "vw-cb", "--tau", "0.05", "--contexts", "imported/contexts.parquet", "--out", "train.vw", "--json"]
    ran = warmstart("export", "imported/events.parquet", *COLUMNS, *asked, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["events"], said["contexts"], said["actions"], said["bare"]) == (4, 2, 2, 0)
    (tmp_path / "predictions.txt").write_text("0\n1\n")
    ran = warmstart(
        "import", "predictions", "predictions.txt", "decisions.parquet", "--contexts", "train.vw", cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    assert pq.read_table(tmp_path / "decisions.parquet")["action"].to_pylist() == ["1", "2"]


def test_a_malformed_line_exits_with_1_and_names_it(tmp_path):
    (tmp_path / "log.vw").write_text("1:-1 | a\nrubbish\n")
    ran = warmstart_process("import", "vw", "log.vw", "imported", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "error: log.vw, line 2: it has no bar" in ran.stderr
    ran = warmstart("import", "vw", "log.vw", "imported", "--skip-malformed", "--json", cwd=tmp_path)
    assert json.loads(ran.stdout)["malformed"]["lines"] == 1


def test_wrong_commands_exit_with_2(tmp_path):
    pq.write_table(table(random_log(1)), tmp_path / "log.parquet")
    for arguments in (
        ["import", "vw", "log.vw"],
        ["export", "log.parquet", *COLUMNS, "--to", "csv", "--tau", "0.1", "--out", "a"],
        ["export", "log.parquet", *COLUMNS, "--to", "vw-cb", "--tau", "0", "--out", "a"],
        ["export", "log.parquet", *COLUMNS, "--to", "vw-cb", "--tau", "0.1", "--out", "absent/a"],
    ):
        ran = warmstart(*arguments, cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (2, ""), arguments
        assert ran.stderr.startswith("error: ")


def test_a_part_of_the_log_can_be_exported(tmp_path):
    pq.write_table(table(random_log(1)), tmp_path / "log.parquet")
    asked = [
        *COLUMNS,
        "--time",
        "time",
        "--train-fraction",
        "0.5",
        "--to",
        "parquet",
        "--tau",
        "0.1",
        "--out",
        "a.parquet",
    ]
    ran = warmstart("export", "log.parquet", *asked, "--json", cwd=tmp_path)
    assert json.loads(ran.stdout)["events"] == pq.read_metadata(tmp_path / "a.parquet").num_rows == 150

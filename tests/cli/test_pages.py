"""Pages of fit and join on the command line: written, never onto an input or another output."""

import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart
from tests.support.logs import random_log, table
from tests.support.saved_results import CLICKS, SHOWN

COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward", "--weight-bits", "8"]
JOIN = ["shown.csv", "clicks.csv", "--on", "id"]


@pytest.fixture
def folder(tmp_path):
    pq.write_table(table(random_log(1)), tmp_path / "log.parquet")
    (tmp_path / "shown.csv").write_text(SHOWN)
    (tmp_path / "clicks.csv").write_text(CLICKS)
    return tmp_path


def test_fit_writes_a_page(folder):
    ran = warmstart("fit", "log.parquet", *COLUMNS, "--out", "policy", "--html", "fit.html", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "What was learned from this log" in (folder / "fit.html").read_text()
    assert "another action than the one logging showed most" in ran.stdout


def test_join_writes_a_page(folder):
    ran = warmstart("join", *JOIN, "--out", "joined.parquet", "--html", "join.html", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "Impressions and what came of them" in (folder / "join.html").read_text()


def test_no_page_onto_an_input_or_another_output(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for command in (
        ["fit", "log.parquet", *COLUMNS, "--out", "policy", "--html", "log.parquet", "--force"],
        ["fit", "log.parquet", *COLUMNS, "--out", "page.html", "--html", "page.html"],
        ["join", *JOIN, "--out", "joined.parquet", "--html", "shown.csv", "--force"],
        ["join", *JOIN, "--out", "joined.parquet", "--html", "joined.parquet"],
    ):
        ran = warmstart(*command, cwd=folder)
        assert ran.returncode == 2, command
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_another_file_is_replaced_with_force_only(folder):
    (folder / "page.html").write_text("mine")
    command = ["join", *JOIN, "--out", "joined.parquet", "--html", "page.html"]
    assert warmstart(*command, cwd=folder).returncode == 2
    assert (folder / "page.html").read_text() == "mine"
    assert not (folder / "joined.parquet").exists()
    assert warmstart(*command, "--force", cwd=folder).returncode == 0
    assert "Impressions" in (folder / "page.html").read_text()

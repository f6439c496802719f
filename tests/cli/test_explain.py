"""warmstart explain, and codes behind errors."""

import json

import pytest
import typer
from tests.support.commands import warmstart

import warmstart as ws
from warmstart.cli.app import app
from warmstart.core import CODES


def test_a_code_is_explained():
    ran = warmstart("explain", "ws104", "WS105")
    assert ran.returncode == 0
    assert ran.stdout.rstrip() == str(ws.explain("WS104", "WS105"))


def test_without_a_code_all_are_listed():
    shown = warmstart("explain").stdout
    assert all(f"{code}  " in shown for code in CODES)


def test_json_is_the_librarys():
    assert json.loads(warmstart("explain", "WS501", "--json").stdout) == ws.explain("WS501").to_dict()


def test_an_unknown_code_exits_2_with_the_nearest():
    ran = warmstart("explain", "WS105", "WS100")
    assert (ran.returncode, ran.stdout) == (2, "")
    error, hint = ran.stderr.splitlines()
    assert error == "error: There is no code 'WS100'. (WS301)"
    assert hint.startswith("hint: Did you mean WS101")


def test_codes_are_completed_in_either_case():
    command = typer.main.get_command(app).commands["explain"]
    context = command.make_context("explain", [], resilient_parsing=True)
    (param,) = [param for param in command.params if param.name == "codes"]
    assert [item.value for item in param.shell_complete(context, "ws50")] == ["ws501", "ws502"]
    assert [item.value for item in param.shell_complete(context, "WS50")] == ["WS501", "WS502"]
    assert len(param.shell_complete(context, "")) == len(CODES)


def test_every_error_of_the_command_line_ends_with_its_code(tmp_path):
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "policy.json").write_text("{}")
    (tmp_path / "log.csv").write_text("page,ad,click\np,a,1\np,b,7\n")
    (tmp_path / "good.csv").write_text("page,ad,click\np,a,1\np,b,0\n")
    columns = ("--context", "page", "--action", "ad", "--reward", "click", "--policy", "uniform")
    commands = {
        "WS208": ("evaluate", "absent.csv", *columns),
        "WS211": ("evaluate", "log.csv", *columns),
        "WS301": ("evaluate", "good.csv", *columns, "--tau", "7"),
        "WS501": ("choose", "damaged", "--contexts", "log.csv"),
    }
    for code, arguments in commands.items():
        ran = warmstart(*arguments, cwd=tmp_path)
        first = ran.stderr.splitlines()[0]
        assert first.startswith("error: "), ran.stderr
        assert first.endswith(f" ({code})"), ran.stderr
        assert ran.returncode == (2 if code == "WS301" else 1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["evaluate", "--nope"], "No such option: --nope"),
        (["nope"], "No such command 'nope'"),
        (["audit", "a.csv", "--engine"], "Option '--engine' requires an argument"),
        (["audit", "a.csv", "--json=3"], "Option '--json' does not take a value"),
        (["plan", "a.csv", "--power", "much"], "Invalid value for '--power'"),
        (["simulate"], "Missing argument 'OUT'"),
        (["import", "vw"], "Missing argument"),
    ],
)
def test_calls_that_cannot_be_read_have_a_code_and_a_hint_too(call, said):
    ran = warmstart(*call)
    assert (ran.returncode, ran.stdout) == (2, "")
    error, hint = ran.stderr.splitlines()
    assert error.startswith(f"error: {said}")
    assert error.endswith(" (WS301)")
    assert hint.startswith("hint: 'warmstart")


def test_help_is_no_error_and_a_group_without_a_command_is_told_its_own():
    assert warmstart("evaluate", "--help").returncode == warmstart("--version").returncode == 0
    ran = warmstart("import")
    assert ran.returncode == 2
    assert "langfuse" in ran.stdout + ran.stderr
    assert "WS301" not in ran.stderr

"""The evaluate command: data on stdout, talk on stderr, exit codes."""

import json
import os
import pty
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support import outcome_logs
from tests.support.commands import warmstart, warmstart_process
from tests.support.logs import random_log, read, table

import warmstart as ws

COLUMNS = ["--context", "context", "--action", "action", "--reward", "reward", "--time", "time"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    pq.write_table(table(random_log(1)), folder / "log.parquet")
    decided = table(random_log(1)).select(["context", "action"]).group_by("context").aggregate([("action", "min")])
    pa_csv.write_csv(decided.rename_columns(["context", "action"]), folder / "mine.csv")
    return folder


def evaluate(folder, *arguments, run=warmstart):
    return run("evaluate", "log.parquet", *COLUMNS, *arguments, cwd=folder)


def test_json_to_a_pipe_is_nothing_but_the_json(folder):
    options = ["--policy", "uniform", "--policy", "mine.csv", "--tau", "0.1", "--test-fraction", "0.5", "--json"]
    ran = evaluate(folder, *options, run=warmstart_process)
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    early, late = read(random_log(1), "duckdb").split(fraction=0.5)
    expected = ws.evaluate(["uniform", str(folder / "mine.csv")], late, train=early, tau=0.1).to_dict()
    assert found["policies"][0]["value"] == pytest.approx(expected["policies"][0]["value"])
    assert found["windows"] == expected["windows"]
    assert found["log"] == {**expected["log"], "source": "log.parquet"}


def test_a_column_of_choices_is_a_policy(folder):
    log = pq.read_table(folder / "log.parquet")
    pq.write_table(log.append_column("model", log["action"]), folder / "shadow.parquet")
    options = ["--policy", "shadow=column:model", "--policy", "logging", "--trained-until", "shadow=never", "--json"]
    ran = warmstart("evaluate", "shadow.parquet", *COLUMNS, *options, cwd=folder)
    shadow, logging = json.loads(ran.stdout)["policies"]
    assert shadow["policy"] == "shadow"
    assert shadow["value"] == pytest.approx(logging["value"])


def test_the_json_has_the_documented_fields(folder):
    found = json.loads(evaluate(folder, "--policy", "uniform", "--tau", "0.1", "--json").stdout)
    about = {"schema", "kind", "reward", "outcomes", "windows", "log", "propensities", "per", "notes", "reward_range"}
    about |= {"learned_here", "contributions", "by", "warmstart_version", "verdict", "margin", "doubt"}
    about |= {"headline", "tradeoffs", "explanations", "assumptions", "waterfall"}
    assert set(found) == {"policies", *about}
    kinds = {"policy", "tau", "kind", "evidence", "share", "gain", "gain_lower", "title", "text", "settle", "segments"}
    assert set(found["verdict"]) == set(found["policies"][0]["verdict"]) == kinds
    assert (found["schema"], found["kind"]) == (1, "evaluation")
    assert {
        *("policy", "tau", "value", "lower", "upper", "delta", "interval", "guarantee", "joint_lower", "joint_upper"),
        *("events", "matched", "effective_sample_size", "support", "certified_lower", "certified_upper"),
        *("gain", "propensity_error", "tau_choice", "estimates", "best", "outcome", "known", "guards", "segment"),
    } <= set(found["policies"][0])
    row = found["policies"][0]
    assert set(row["support"]) == {"supported", "clipped", "unsupported", "undecided"}
    assert set(row["gain"]["estimated"]) == {"estimator", "difference", "lower", "upper", "on_model"}
    assert set(row["gain"]["certified"]) == {
        "share",
        "contested",
        "value",
        "logging",
        "difference",
        "lower",
        "upper",
        "guarantee",
        "joint_lower",
        "joint_upper",
        "relative",
    }
    assert set(found["windows"]) == {"evaluated", "train", "feasible_from", "live", "whole_log"}
    assert {"events", "contexts", "actions", "dropped", "reward_range"} <= set(found["log"])


def test_tables_align_and_the_words_say_what_the_number_is(folder):
    ran = evaluate(folder, "--policy", "logging", "--policy", "mine=mine.csv", "--tau", "0.1", "--tau", "0.2")
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    head = next(line for line in lines if line.startswith("policy"))
    rows = lines[lines.index(head) + 2 :][:3]
    assert [row.split()[:2] for row in rows] == [["logging", "any"], ["mine", "0.1"], ["mine", "0.2"]]
    assert {len(row) for row in rows} == {len(head)}
    assert "expected earnings on this window's traffic are at least" in ran.stdout
    assert re.search(r"WS101 .+ not testable\n", ran.stdout)
    assert "No split was asked" in ran.stdout


# The same command on terminals of several widths, a line between them; what takes long to start is started once.
ON_TERMINALS = """
import os, sys
from warmstart.cli import main

for columns in sys.argv[1].split():
    os.environ["COLUMNS"] = columns
    sys.argv = ["warmstart", *sys.argv[-{words}:]]
    try:
        main()
    except SystemExit as left:
        assert left.code == 0, left.code
    print("{between}", flush=True)
"""
BETWEEN = "=another="


def on_terminals(folder, widths, *arguments):
    """What a command shows on terminals so wide."""
    leader, follower = pty.openpty()
    words = ["evaluate", "log.parquet", *COLUMNS, *arguments]
    program = ON_TERMINALS.format(words=len(words), between=BETWEEN)
    command = [sys.executable, "-c", program, " ".join(map(str, widths)), *words]
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    process = subprocess.Popen(command, cwd=folder, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert process.wait() == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode().replace("\r", "\n"))
    *parts, rest = plain.split(BETWEEN)
    assert not rest.strip()
    return dict(zip(widths, parts, strict=True))


@pytest.fixture(scope="module")
def wide_and_narrow(folder):
    """What evaluate shows on terminals of three widths, and its numbers."""
    policies = ["--policy", "uniform", "--policy", "a-rather-long-name=mine.csv", "--tau", "0.1"]
    found = json.loads(evaluate(folder, *policies, "--json").stdout)
    return on_terminals(folder, [40, 80, 120], *policies), found


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_on_a_terminal_of_any_width_names_and_numbers_stay_whole(wide_and_narrow, columns):
    shown, found = wide_and_narrow[0][columns], wide_and_narrow[1]
    for row in found["policies"]:
        assert row["policy"] in shown
        assert any(f"{1000 * row['value']:.{digits}f}" in shown for digits in (0, 1, 2))
        assert f"{row['support']['supported']:.1%}" in shown
        assert any(f"{1000 * row['gain']['certified']['difference']:+.{digits}f}" in shown for digits in (0, 1, 2))
    # A hint on stderr is left to the terminal to wrap.
    lines = [line for line in shown.splitlines() if not line.startswith("No row is one action always")]
    assert max(map(len, lines)) <= columns


def test_the_verdict_and_a_table_that_can_be_compared_stand_first_at_80_columns(wide_and_narrow):
    lines = [line for line in wide_and_narrow[0][80].splitlines() if line.strip()]
    # On a busy machine it may have taken long enough for progress to be shown.
    first = [line for line in lines if not re.search("[━\u2800-\u28ff]", line)][:20]
    assert first[0].startswith("VERDICT: ")
    [header] = [line.split() for line in first if line.startswith("policy") and "verdict" in line]
    assert header == ["policy", "verdict", "where", "supported", "at", "least", "supported"]
    assert sum(line.startswith("uniform ") for line in first) >= 1


def test_progress_is_shown_only_on_a_terminal_and_only_when_it_takes_long(folder, monkeypatch):
    import io
    import time

    from rich.console import Console

    from warmstart.engine import connect
    from warmstart.report import ProgressDisplay, progress

    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.05)
    for terminal, seconds, expected in ((True, 0.5, True), (True, 0.0, False), (False, 0.5, False)):
        written = io.StringIO()
        console = Console(file=written, force_terminal=terminal, width=80)
        with ProgressDisplay(connect(), console) as display:
            display("counting \x1b[31msheep")
            time.sleep(seconds)
            display("weighing", 0.4, "two \x1b[31mof five")
            time.sleep(seconds)
        assert ("counting" in written.getvalue()) == expected
        assert all((part in written.getvalue()) == expected for part in ("weighing", "40%", "of five"))
        assert "\x1b[31msheep" not in written.getvalue()


def test_an_interrupt_exits_130(folder, monkeypatch, capsys):
    from warmstart import pipeline
    from warmstart.cli import main

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr(pipeline, "evaluate", interrupted)
    monkeypatch.setattr(
        sys, "argv", ["warmstart", "evaluate", "log.parquet", *COLUMNS, "--policy", "uniform", "--tau", "1"]
    )
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--policy", "uniform", "--tau", "much"], 2, "--tau"),
        (["--policy", "uniform", "--tau", "0"], 2, "tau must lie in (0, 1]"),
        (["--policy", "uniform", "--tau", "0.1", "--delta", "1"], 2, "delta"),
        (["--policy", "uniform", "--tau", "0.1", "--propensities", "train"], 2, "no training window"),
        (["--policy", "uniform", "--tau", "0.1", "--propensities", "nowhere"], 2, "'nowhere'"),
        (["--policy", "uniform", "--tau", "0.1", "--interval", "wide"], 2, "no interval 'wide'"),
        (["--policy", "uniform", "--tau", "0.1", "--tau", "0.1"], 2, "given twice"),
        (["--reward", "cost"], 2, "further outcomes are --also COLUMN"),
        (["--policy", "uniform", "--tau", "0.1", "--engine", "abacus"], 2, "no engine 'abacus'"),
        (["--policy", "uniform", "--tau", "0.1", "--test-from", "x", "--test-fraction", "0.1"], 2, "exclude"),
        (["--policy", "uniform", "--tau", "0.1", "--test-fraction", "1.5"], 2, "(--test-fraction) must lie"),
        (["--policy", "uniform", "--tau", "0.1", "--memory-limit", "4XB"], 2, "is not a memory limit"),
        (["--policy", "unifrom", "--tau", "0.1"], 2, "Did you mean 'uniform'"),
        (["--policy", "uniform", "--tau", "0.1", "--test-from", "2000-01-01"], 1, "earlier window has no events"),
        (["--policy", "absent.csv", "--tau", "0.1"], 1, "There is no file 'absent.csv'"),
        (["--policy", "constant:zz", "--tau", "0.1"], 1, "never occurs"),
        (["--policy", "a=mine.csv", "--policy", "a=uniform"], 2, "2 policies are called 'a'"),
        (["--policy", "column:actoin", "--tau", "0.1"], 1, "Did you mean 'action'"),
        (["--policy", "column:", "--tau", "0.1"], 2, "names no column"),
    ],
)
def test_a_wrong_command_exits_2_and_bad_data_1_without_a_traceback(folder, arguments, code, message):
    ran = evaluate(folder, *arguments)
    assert ran.returncode == code, ran.stderr
    assert message in ran.stderr
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr


def test_a_missing_column_exits_1_with_a_hint(folder):
    ran = warmstart(
        *("evaluate", "log.parquet", "--context", "contxt", "--action", "action", "--reward", "reward"),
        *("--policy", "uniform", "--tau", "0.1"),
        cwd=folder,
    )
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[:2] == [
        "error: log.parquet has no column 'contxt'. (WS209)",
        "hint: Did you mean 'context'?",
    ]


def test_propensities_from_all_data_show_their_ratio_and_the_papers_error(folder):
    ran = evaluate(folder, "--policy", "uniform", "--tau", "0.1", "--test-fraction", "0.5", "--propensities", "all")
    assert "What weights counted in all data (the paper's choice) make of the clipped value" in ran.stdout
    found = json.loads(
        evaluate(
            folder, "--policy", "uniform", "--tau", "0.1", "--test-fraction", "0.5", "--propensities", "all", "--json"
        ).stdout
    )
    assert set(found["policies"][0]["propensity_error"]) == {"paper", "tight"}
    assert set(found["policies"][0]["weight_ratio"]) == {"mean", "above_one", "value", "own_value"}


def test_version():
    assert warmstart_process("--version").stdout == f"warmstart {ws.__version__}\n"


def test_select_estimators_and_sources_on_the_command_line(folder):
    ran = evaluate(folder, "--policy", "uniform", "--estimator", "dr", "--estimator", "snips", "--select", "--json")
    found = json.loads(ran.stdout)
    assert found["selected"]["looks"] == 1
    assert [point["estimator"] for point in found["policies"][0]["estimates"]] == ["dr", "snips"]
    assert found["policies"][0]["tau_choice"]["rate_is_known"] is False
    shown = evaluate(folder, "--policy", "uniform", "--select", "--propensities", "back-off").stdout
    assert "SELECTED: none." in shown
    assert "rare contexts borrowing" in shown


def test_logged_propensities_on_the_command_line(folder):
    log = table(random_log(1)).append_column("p", pa.array([0.5] * 300))
    pq.write_table(log, folder / "logged.parquet")
    ran = warmstart(
        *("evaluate", "logged.parquet", *COLUMNS, "--policy", "uniform", "--propensity", "p", "--json"), cwd=folder
    )
    assert json.loads(ran.stdout)["propensities"]["name"] == "logged"


def test_coarser_contexts_on_the_command_line(folder):
    log = table(random_log(1)).append_column("site", pa.array(["s", "t"] * 150))
    pq.write_table(log, folder / "sites.parquet")
    options = ["--context", "context", "--context", "site", "--action", "action", "--reward", "reward"]
    ran = warmstart(
        *("evaluate", "sites.parquet", *options, "--coarser", "site", "--policy", "uniform", "--json"), cwd=folder
    )
    assert json.loads(ran.stdout)["propensities"]["name"] == "back-off"
    wrong = warmstart(
        *("evaluate", "sites.parquet", *options, "--coarser", "nowhere", "--policy", "uniform"), cwd=folder
    )
    assert wrong.returncode == 1
    assert "no column 'nowhere'" in wrong.stderr


def test_decisions_say_when_they_were_fitted_and_may_name_actions_that_the_log_never_shows(folder):
    (folder / "new.csv").write_text("context,action\nx0,a0\nx1,a9\n")
    refused = evaluate(folder, "--policy", "new.csv", "--tau", "0.1")
    assert refused.returncode == 1
    assert "--allow-unknown-actions" in refused.stderr
    options = ["--policy", "new.csv", "--policy", "mine.csv", "--policy", "uniform-all", "--tau", "0.1", "--json"]
    options += ["--allow-unknown-actions", "--trained-until", "never", "--trained-until", "mine=2026-10-05"]
    found = json.loads(evaluate(folder, *options).stdout)
    certified = {row["policy"]: row["certified_lower"] for row in found["policies"]}
    assert certified["mine"] is None
    assert certified["new"] is not None
    assert certified["uniform-all"] is not None
    assert [note["code"] for note in found["notes"]] == ["WS202"]
    unknown = evaluate(folder, "--policy", "mine.csv", "--trained-until", "nobody=never")
    assert unknown.returncode == 2
    assert "'nobody', which is no table of decisions" in unknown.stderr


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A log with three outcomes, and decisions that gain clicks and cost more."""
    folder = tmp_path_factory.mktemp("shop")
    log = outcome_logs.columns(events=3_000)
    best = [ad == "a1" for ad in log["ad"]]
    log["click"] = [float(one or i % 3 == 0) for i, one in enumerate(best)]
    pq.write_table(pa.table(log), folder / "log.parquet")
    return folder


SHOP = ["--context", "page", "--context", "country", "--action", "ad", "--reward", "click", "--tau", "0.1"]


def ask(folder, *arguments):
    return warmstart("evaluate", "log.parquet", *SHOP, *arguments, cwd=folder)


def test_outcomes_guards_and_segments_in_json(shop):
    options = ["--also", "cost", "--also", "delay", "--minimize", "cost", "--range", "cost=0:0.02"]
    options += ["--range", "delay=-5:20", "--guard", "cost<=+0.02", "--guard", "delay<=+1%", "--by", "country"]
    ran = ask(shop, *options, "--policy", "constant:a1", "--select", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    names = [(one["name"], one["minimize"], one["low"], one["high"]) for one in found["outcomes"]]
    assert names == [("click", False, 0, 1), ("cost", True, 0, 0.02), ("delay", False, -5, 20)]
    assert found["reward"] == "click"
    whole = [one for one in found["policies"] if one["segment"] is None]
    assert [one["outcome"] for one in whole] == ["click", "cost", "delay"]
    guards = {one["guard"]: one["status"] for one in whole[0]["guards"]}
    assert guards == {"cost<=+0.02": "holds", "delay<=+1%": "cannot-tell"}
    assert found["selected"]["policy"] is None
    assert found["selected"]["unguarded"] == ["constant:a1"]
    segments = [one for one in found["policies"] if one["segment"] is not None]
    assert sorted(one["segment"] for one in segments) == [["at"], ["be"], ["ch"]]
    assert sum(one["share"] for one in segments) == pytest.approx(1)
    kept = ask(shop, *options[:-4], "--policy", "constant:a1", "--select", "--json")
    assert json.loads(kept.stdout)["selected"]["policy"] == "constant:a1"


def test_outcomes_guards_and_segments_in_words(shop):
    options = ["--also", "cost", "--minimize", "cost", "--range", "cost=0:0.02", "--guard", "cost<=+0.02"]
    ran = ask(shop, *options, "--policy", "constant:a1", "--by", "country", "--select")
    assert ran.returncode == 0
    for words in (
        "cost per 1,000 events (less is",
        "Guards",
        "holds",
        "against other outcomes",
        "by country",
        "SELECTED",
    ):
        assert words in ran.stdout, words
    worth = ask(shop, *options[:6], "--policy", "constant:a1", "--utility", "click - 100*cost", "--select")
    assert worth.returncode == 0
    assert "click - 100*cost" in worth.stdout


def test_the_dearest_is_not_selected_where_less_is_better(shop):
    for options, policy in (([], "constant:a1"), (["--minimize", "click"], None)):
        ran = ask(shop, *options, "--policy", "constant:a1", "--select", "--json")
        assert json.loads(ran.stdout)["selected"]["policy"] == policy


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--guard", "price<=+1%"], 2),
        (["--guard", "click<=1%"], 2),
        (["--guard", "nonsense"], 2),
        (["--also", "cost", "--range", "cost=2"], 2),
        (["--also", "cost", "--range", "cost=2:1"], 2),
        (["--range", "cost=0:1"], 2),
        (["--minimize", "cost"], 2),
        (["--also", "click"], 2),
        (["--also", "delay", "--guard", "delay<=+1%"], 2),
        (["--also", "delay", "--guard", "delays<=+1%"], 2),
        (["--also", "delay"], 1),
        (["--also", "delay", "--guard", "delay<=+1%", "--range", "delay=0:0.001"], 2),
        (["--also", "delay", "--guard", "click>=-1%", "--range", "delay=0:0.001"], 1),
        (["--utility", "click - price"], 2),
        (["--utility", "click*click"], 2),
        (["--by", "ad"], 2),
        (["--by", "page", "--by", "page"], 2),
    ],
)
def test_what_is_no_outcome_guard_range_or_segment_stops(shop, options, code):
    ran = ask(shop, "--policy", "logging", *options)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert "Traceback" not in ran.stderr


def test_supported_choices_are_written_and_never_onto_an_input(folder, tmp_path):
    options = ["--policy", "mine.csv", "--trained-until", "never", "--tau", "0.1"]
    out = tmp_path / "supported.csv"
    assert evaluate(folder, *options, "--supported-out", str(out)).returncode == 0
    rows = pa_csv.read_csv(out)
    assert rows.column_names == ["policy", "tau", "context", "action", "probability", "propensity", "events"]
    assert rows.num_rows > 0
    for wrong, said in (("mine.csv", "is an input"), ("x.xls", ".csv or .parquet"), (str(out), "did not write it")):
        ran = evaluate(folder, *options, "--supported-out", wrong)
        assert ran.returncode == 2
        assert said in ran.stderr
    parquet = tmp_path / "supported.parquet"
    for _ in range(2):
        assert evaluate(folder, *options, "--supported-out", str(parquet)).returncode == 0
    assert pq.read_table(parquet).num_rows == rows.num_rows

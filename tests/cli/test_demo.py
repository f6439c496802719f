"""The demo leaves its files and shows the truth."""

import json
import subprocess
import sys


def test_the_demo_shows_estimates_beside_the_truth(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "warmstart", "demo", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Here the truth is known" in ran.stdout
    lines = ran.stdout.split("Here the truth is known")[1].splitlines()[3:9]
    for line in lines:
        policy, _, value, at_least, truth = line.split()
        assert float(at_least) <= float(truth)
        assert float(value) <= float(truth) * 1.1, policy
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "events.parquet",
        "decisions.csv",
        "evaluation.json",
    }
    assert len(json.loads((tmp_path / "out" / "evaluation.json").read_text())["policies"]) == 6

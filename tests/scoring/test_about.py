"""A saved policy of any kind of model, tampered with: typed errors that name the file, or a policy that can choose."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.saved_policies import NAMES, about, blend_policy, copied, sign, small_log, small_policy
from tests.support.tampering import attack, outcome

import warmstart as ws
from warmstart import scoring
from warmstart.reward import MODELS


def saved_as(kind, folder):
    if kind == "safe":
        return replace(small_policy(model="cells"), model=None, defers=True).save(folder)
    if kind == "blend":
        return blend_policy().save(folder)
    if kind != "own":
        return small_policy(model=kind).save(folder)
    from sklearn.linear_model import Ridge

    return ws.fit(ws.read_events(small_log(), **NAMES), model=Ridge(), weight_bits=10).save(folder)


@pytest.mark.parametrize("kind", ["low-rank", "logistic", "blend", "safe"])
def test_a_policy_that_was_tampered_with_is_refused_or_can_choose(kind, tmp_path):
    counts = attack(saved_as(kind, tmp_path / "saved"), tmp_path, seed=1, times=25)
    assert counts["refused"] > counts["loaded"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*MODELS, "blend", "own", "safe"])
def test_a_policy_of_any_kind_is_tampered_with_a_thousand_times_in_bounded_memory(kind, tmp_path):
    saved_as(kind, tmp_path / "saved")
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    command = [
        sys.executable,
        "-m",
        "tests.support.tampering",
        str(tmp_path / "saved"),
        str(tmp_path),
        "--times",
        "1000",
    ]
    # Kernels are compiled with bounds checked: an index that is out of them ends the attack.
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    environment = {**os.environ, **checked, "PYTHONPATH": path}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stderr
    counts = json.loads(ran.stdout)
    assert counts["refused"] > counts["loaded"] > 0


@pytest.mark.parametrize("load", [ws.load_policy, scoring.load])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda parts: parts[:1], r"model\.parts must be a list of 2 values or more"),
        (lambda parts: [parts[0], parts[0]], r"model\.parts must be of different kinds"),
        (lambda parts: [parts[0], {**parts[1], "share": 0.9}], r"model\.parts must have shares that add up to 1"),
        (
            lambda parts: [parts[0], {**parts[1], "share": -0.5}],
            r"model\.parts\[1\]\.share must be a finite number from 0",
        ),
        (lambda parts: [parts[0], {**parts[1], "kind": "blend"}], r"model\.parts\[1\]\.kind must be one of product"),
        (lambda parts: [parts[0], {**parts[1], "mood": 1}], r"model\.parts\[1\]\.mood is not known"),
        (lambda parts: [parts[0], None], r"model\.parts\[1\] must be an object"),
        (lambda parts: {"a": parts[0]}, r"model\.parts must be a list"),
    ],
)
def test_the_parts_of_a_blend_are_checked(tmp_path, change, said, load):
    folder = blend_policy(("low-rank", "cells")).save(tmp_path / "policy")
    saved = about(folder)
    with pytest.raises(ws.SavedFileError, match=r"policy\.json: " + said):
        load(sign(folder, {**saved, "model": {**saved["model"], "parts": change(saved["model"]["parts"])}}))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return small_policy().save(tmp_path_factory.mktemp("saved") / "policy")


@pytest.mark.parametrize("load", [ws.load_policy, scoring.load])
def test_a_pipe_or_a_device_is_no_file(saved, tmp_path, load):
    for number, make in enumerate((os.mkfifo, lambda path: path.symlink_to("/dev/zero"))):
        folder = copied(saved, tmp_path / str(number))
        for file in ("weights.npy", "decisions.parquet"):
            (folder / file).unlink()
            make(folder / file)
        assert "is not a file" in outcome(load, folder, None)
    (folder / "policy.json").unlink()
    (folder / "policy.json").symlink_to("/dev/zero")
    with pytest.raises(ws.SourceError, match=r"has no policy\.json"):
        load(folder)


def test_a_huge_policy_json_is_not_read(saved, tmp_path):
    folder = copied(saved, tmp_path / "policy")
    with (folder / "policy.json").open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(ws.SavedFileError, match=r"policy\.json: is larger than 8 MB"):
        ws.load_policy(folder)


def test_a_ranking_of_too_many_rows_is_not_read(saved, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = copied(saved, tmp_path / "policy")
    schema = pq.read_schema(folder / "decisions.parquet")
    many = 2_000_000
    same = pa.table([pa.array([0], field.type).take(pa.array([0] * many)) for field in schema], names=schema.names)
    pq.write_table(same, folder / "decisions.parquet")
    with pytest.raises(ws.SavedFileError, match=r"decisions\.parquet: has 2,000,000 rows, too many for its size"):
        ws.load_policy(sign(folder))

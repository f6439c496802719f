"""Saved groupings are checked: damaged or changed ones are refused, and no code is run."""

import json
import pickle
import re

import numpy as np
import pytest

import warmstart as ws
from warmstart.grouping import Grouping, load_grouping
from warmstart.grouping.grouping import BITS
from warmstart.grouping.storage import FILE, save_grouping
from warmstart.scoring import sha256


def saved(folder):
    projection = np.zeros((1 << BITS, 2), dtype=np.float32)
    save_grouping(Grouping(("1 a", "2 b"), np.eye(2), projection), folder)
    return folder


def test_a_grouping_comes_back_as_it_was_saved(tmp_path):
    loaded = load_grouping(saved(tmp_path))
    assert loaded.names == ("1 a", "2 b")
    assert loaded.centres.tolist() == [[1, 0], [0, 1]]
    assert loaded.projection.shape == (1 << BITS, 2)


@pytest.mark.parametrize("name", ["centres.npy", "projection.npy"])
def test_a_damaged_array_is_refused(tmp_path, name):
    path = saved(tmp_path) / name
    for content in (path.read_bytes()[:-1], pickle.dumps([1]), path.read_bytes()[:-1] + b"\x01", b""):
        path.write_bytes(content)
        with pytest.raises(ws.SavedFileError, match=re.escape(name)):
            load_grouping(tmp_path)


def test_an_array_that_was_changed_with_its_checksum_must_still_fit(tmp_path):
    for array in (np.full((2, 2), np.nan), np.eye(3), np.eye(2, dtype=np.float32), np.ones(2)):
        np.save(saved(tmp_path) / "centres.npy", array)
        about = json.loads((tmp_path / FILE).read_text())
        about["files"]["centres.npy"] = sha256(tmp_path / "centres.npy")
        (tmp_path / FILE).write_text(json.dumps(about))
        with pytest.raises(ws.SavedFileError):
            load_grouping(tmp_path)


CHANGES = [
    {"format": 2},
    {"format": "1"},
    {"of": "images"},
    {"of": "embeddings"},
    {"names": ["1 a"]},
    {"names": ["1 a", "1 a"]},
    {"names": ["1 a", 2]},
    {"names": []},
    {"files": {"centres.npy": "0"}},
    {"files": {"centres.npy": 3, "projection.npy": 4}},
    {"files": []},
    {"more": 1},
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_a_changed_field_is_refused(tmp_path, change):
    about = json.loads((saved(tmp_path) / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**about, **change}))
    with pytest.raises(ws.SavedFileError):
        load_grouping(tmp_path)


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[]", "\udcff", " " * (1 << 20) + " "], ids=range(5))
def test_what_is_no_json_is_refused(tmp_path, text):
    (saved(tmp_path) / FILE).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ws.SavedFileError):
        load_grouping(tmp_path)

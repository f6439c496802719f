"""Ways to tamper with the folder of a saved policy, and what must then hold: ``python -m tests.support.tampering``.

A changed folder is a typed error that names a file, or a policy whose choices can be made: no crash, no hang, no
memory that is not needed. With checksums as they were, it is an error or the same policy.
"""

import argparse
import copy
import json
import os
import resource
import shutil
import sys
from pathlib import Path

import numpy as np
from tests.support.saved_policies import about, copied, sign

import warmstart as ws
from warmstart import scoring

# What a field may become.
VALUES = [None, True, False, -1, 0, 1, 2**63, -(2**63), 10**300, 1e308, -1e-300, float("nan"), float("inf"), "", "word"]
VALUES += ["\x1b[31m", "\ud800", "../../x", [], [[]], {}, {"word": {}}, [0] * 50, "9" * 5_000]
CONTEXTS = [
    {"page": 0, "half": 0, "topics": ["red"], "counts": [1.0], "size": 0.5, "new": True},
    {"page": 4, "half": 1, "topics": ["blue", "green"], "counts": [2.0, 1.0], "size": None, "new": False},
]


def on_bytes(rng, whole, other):
    """A damaged file: bits, a part of it, more of it, another file, a stretch of zeros, or of another file."""
    changed = bytearray(whole)
    place = int(rng.integers(len(whole))) if whole else 0
    way = int(rng.integers(6))
    if way == 0 and whole:
        for at in rng.integers(0, len(whole), int(rng.integers(1, 4))):
            changed[at] ^= int(rng.integers(1, 256))
    elif way == 1:
        del changed[place:]
    elif way == 2:
        changed += rng.bytes(int(rng.integers(1, 200)))
    elif way == 3:
        changed = bytearray(other)
    elif way == 4:
        changed[place : place + 8] = bytes(8)
    else:
        changed[place : place + 16] = other[place : place + 16]
    return bytes(changed)


def on_header(rng, whole):
    """An array whose header says something else."""
    header = whole[10:128].decode("latin1")
    shape = header[header.index("'shape'") :].split(")")[0] + ")"
    shapes = ["(999999999999999,)", "(-1,)", "(0,)", "()", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", "(1e9,)", "('a',)", "(9" * 30]
    swaps = [(shape, f"'shape': {one}") for one in shapes]
    swaps += [
        ("False", "True"),
        ("'<", "'>"),
        ("f4", "f8"),
        ("i8", "u8"),
        ("u4", "O8"),
        ("'descr'", "__import__('os')"),
    ]
    old, new = swaps[int(rng.integers(len(swaps)))]
    text = header.rstrip().replace(old, new).encode("latin1")
    lengths = [118, 65_535, 0, 4, len(text)]
    length = lengths[int(rng.integers(len(lengths)))]
    return whole[:8] + length.to_bytes(2, "little") + text.ljust(117) + b"\n" + whole[128:]


def on_values(rng, path):
    """An array with other values of the same type and shape."""
    array = np.load(path)
    if not array.size:
        return
    flat = array.reshape(-1)
    some = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e38, -1e38, 1e-45] if array.dtype.kind == "f" else []
    some += [0, 1, np.iinfo(array.dtype).max, np.iinfo(array.dtype).min] if array.dtype.kind in "iu" else []
    way = int(rng.integers(4))
    if way == 0:
        flat[rng.integers(len(flat))] = some[int(rng.integers(len(some)))]
    elif way == 1:
        flat[:] = some[int(rng.integers(len(some)))]
    elif way == 2:
        flat[:] = flat[::-1].copy()
    else:
        rng.shuffle(flat)
    np.save(path, array)


def on_fields(rng, saved):
    """policy.json with a field of another value or type, left out, added, or deeply nested."""
    changed = copy.deepcopy(saved)
    node = changed
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            break
        key = keys[int(rng.integers(len(keys)))]
        inner = node[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.7:
            node = inner
            continue
        way = int(rng.integers(4))
        if way == 0:
            del node[key]
        elif way == 1 and isinstance(node, dict):
            node["surprise"] = inner
        elif way == 2:
            deep = []
            for _ in range(200):
                deep = [deep]
            node[key] = deep
        else:
            node[key] = VALUES[int(rng.integers(len(VALUES)))]
        break
    return changed


def in_place_of_a_file(rng, path):
    """A link, a pipe, a folder or nothing where a file was."""
    way = int(rng.integers(5))
    path.unlink()
    if way == 0:
        path.symlink_to("/dev/zero")
    elif way == 1:
        os.mkfifo(path)
    elif way == 2:
        path.mkdir()
    elif way == 3:
        path.symlink_to(path.name)


def tamper(rng, folder):
    """Change the folder in one way; what was done, and whether checksums are right again."""
    files = sorted(file for file in folder.iterdir() if file.name != "policy.json")
    arrays = [file for file in files if file.suffix == ".npy"]
    path = files[int(rng.integers(len(files)))]
    way = ["bytes", "header", "values", "fields", "place", "json"][int(rng.integers(6))]
    signed = way != "place" and rng.random() < 0.8
    if way == "bytes":
        other = files[int(rng.integers(len(files)))].read_bytes()
        path.write_bytes(on_bytes(rng, path.read_bytes(), other))
    elif way in ("header", "values") and arrays:
        path = arrays[int(rng.integers(len(arrays)))]
        if way == "header":
            path.write_bytes(on_header(rng, path.read_bytes()))
        else:
            on_values(rng, path)
    elif way == "fields":
        path = folder / "policy.json"
        sign(folder, on_fields(rng, about(folder)))
        return f"fields {path.name}", True
    elif way == "place":
        in_place_of_a_file(rng, path)
    else:
        path = folder / "policy.json"
        whole = path.read_bytes()
        path.write_bytes(on_bytes(rng, whole, files[0].read_bytes()))
        return f"bytes {path.name}", False
    if signed:
        sign(folder)
    return f"{way} {path.name}", signed


def outcome(load, folder, use):
    """The message of the typed error that loading raises, or what the loaded policy chooses."""
    try:
        policy = load(folder)
    except ws.SourceError as error:
        message = str(error)
        assert len(message) < 2_000
        assert message.isprintable()
        assert any(name in message for name in (".npy", ".parquet", "policy.json")), message
        return message
    except ws.UsageError as error:
        assert "decisions only" in str(error)  # noqa: PT017
        return str(error)
    return use(policy)


def by_library(policy):
    assert policy.ranking.num_rows
    if policy.model is None:
        return policy.decisions
    try:
        chosen = policy.choose(CONTEXTS[0])[1]
    except (ws.ColumnError, ws.UsageError) as error:
        return str(error)
    assert ((chosen >= 0) & (chosen <= 1)).all()
    return chosen.tolist()


def by_service(policy):
    try:
        chosen = policy.choose(CONTEXTS)
    except ws.ColumnError as error:
        return str(error)
    deferred = np.array([action is None for action in chosen.actions])
    assert (((chosen.scores >= 0) & (chosen.scores <= 1)) | deferred).all()
    return chosen.actions


def attack(saved, scratch, seed, times):
    """Tamper again and again; how many were refused, and how many were another policy, or the same."""
    rng, counts = np.random.default_rng(seed), {"refused": 0, "loaded": 0}
    first = {load: outcome(load, saved, use) for load, use in USES.items()}
    for number in range(times):
        folder = copied(saved, scratch / str(number))
        what, signed = tamper(rng, folder)
        for load, use in USES.items():
            try:
                found = outcome(load, folder, use)
            except Exception as error:
                raise AssertionError(
                    f"{what}, signed {signed}, seed {seed}, number {number}, {load.__name__}"
                ) from error
            counts["refused" if isinstance(found, str) else "loaded"] += 1
            assert signed or isinstance(found, str) or same(found, first[load]), (what, number)
        shutil.rmtree(folder)
    return counts


def same(one, other):
    return one.equals(other) if hasattr(one, "equals") else one == other


USES = {ws.load_policy: by_library, scoring.load: by_service}


def main():
    """Attack within a limit of memory, in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("saved", type=Path)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=300)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    counts = attack(options.saved, options.scratch, options.seed, options.times)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()

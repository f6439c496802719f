"""A small saved policy, copies of it that were changed, and their checksums computed anew."""

import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa

import warmstart as ws
from warmstart.scoring import BlendModel

NAMES = {"context": ["page", "half"], "action": "ad", "reward": "click", "time": "at"}


def small_log(events=600, **columns):
    rng = np.random.default_rng(0)
    log = {"page": rng.integers(0, 5, events), "half": rng.integers(0, 2, events), "ad": rng.integers(0, 3, events)}
    log |= {"click": rng.random(events) < 0.3, "at": 1_700_000_000 + np.arange(events)}
    return pa.table({**log, **columns})


def small_policy(**options):
    """A policy with every kind of feature."""
    topics = [["red", "green"], ["red"], [], ["blue"], ["green"]] * 2
    counts = [[2.0, 1.0], [1.0], [], [3.0], [1.0]] * 2
    pages = {"page": [*range(5)] * 2, "half": [0] * 5 + [1] * 5, "topics": topics, "counts": counts}
    pages |= {"size": np.linspace(-1, 3, 10), "new": [True, False] * 5}
    ads = pa.table({"ad": [0, 1, 2], "words": ["a red car", "a blue boat", "tea"], "price": [3.0, 1.0, 2.0]})
    events = ws.read_events(small_log(), **NAMES)
    return ws.fit(events, contexts=pa.table(pages), actions=ads, **{"weight_bits": 10, **options})


def blend_policy(kinds=("product", "low-rank", "logistic", "trees", "cells"), **options):
    """A policy with a blend of several kinds, in equal shares."""
    policies = [small_policy(model=kind, **options) for kind in kinds]
    parts = tuple(policy.model for policy in policies)
    return replace(policies[0], model=BlendModel(parts, (1 / len(kinds),) * len(kinds)))


def copied(folder, to):
    shutil.copytree(folder, to)
    return to


def about(folder):
    return json.loads((folder / "policy.json").read_text(encoding="utf-8"))


def sign(folder, saved=None):
    """Write policy.json with the checksums of the files as they are now."""
    saved = about(folder) if saved is None else saved
    if isinstance(saved, dict) and isinstance(saved.get("files"), dict):
        files = saved["files"]
        for name in files:
            if (folder / name).is_file() and name != "policy.json":
                files[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if "policy.json" in files:
            rest = {**saved, "files": {name: files[name] for name in files if name != "policy.json"}}
            files["policy.json"] = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    (folder / "policy.json").write_text(json.dumps(saved), encoding="utf-8")
    return folder

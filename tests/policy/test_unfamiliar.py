"""What a policy does not know is said when it is asked about it."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.support.saved_policies import NAMES, small_log, small_policy

import warmstart as ws
from warmstart import scoring
from warmstart.features import feature_rows
from warmstart.policy import unfamiliar

PAGES = {"topics": [["red"]] * 3, "counts": [[1.0]] * 3, "new": [True, False, True]}


@pytest.fixture(scope="module")
def policy():
    return small_policy(model="cells")


def test_what_is_known_needs_no_remark(policy):
    ads = pa.table({"ad": [0, 2], "words": ["a red car", "tea"], "price": [3.0, 2.0]})
    assert unfamiliar(policy, pa.table({**PAGES, "size": [0.0, 1.0, 2.0]}), ads) == []


def test_numbers_far_from_training_and_gaps_are_counted(policy):
    far, gap = unfamiliar(policy, pa.table({**PAGES, "size": [50.0, None, -60.0]}))
    assert far.startswith("'size': 2 of 3 contexts outside [")
    assert gap.startswith("'size': 1 of 3 contexts without a value")


def test_new_actions_are_counted_scored_by_features_or_left_out(policy):
    pages = pa.table({**PAGES, "size": [0.0, 1.0, 2.0]})
    (note,) = unfamiliar(policy, pages, pa.table({"ad": [0, 77]}))
    assert note == "1 of 2 actions not in the training window: left out."
    ads = pa.table({"ad": [0, 77], "words": ["tea", "tea"], "price": [1.0, 900.0]})
    new, far = unfamiliar(policy, pages, ads)
    assert "scored by their features alone" in new
    assert far.startswith("'price': 1 of 2 actions outside")


KINDS = ("product", "low-rank", "logistic", "trees", "cells")
KNOWN = {"title": "red boats", "device": "phone", "ids": [1], "vector": [0.1, 0.2], "on": dt.date(2024, 1, 3), "z": 0.5}
UNKNOWN = {
    "title": "quick fox",
    "device": "watch",
    "ids": [99],
    "vector": [9.0, 0.2],
    "on": dt.date(2050, 1, 1),
    "z": 90.0,
}
MISSING = dict.fromkeys(KNOWN)


@pytest.fixture(scope="module")
def learned():
    events = ws.read_events(small_log(), **{**NAMES, "context": "page"})
    columns = {"title": ["red cars", "blue boats"] * 3, "device": pa.array(["phone", "tv"] * 3).dictionary_encode()}
    columns |= {"ids": [[1, 2], [3]] * 3, "vector": [[0.1, 0.2], [0.3, 0.1]] * 3, "z": np.linspace(0, 1, 6)}
    columns |= {"on": [dt.date(2024, 1, 1 + day) for day in range(6)]}
    pages = pa.table({"page": range(6), **columns})
    return {kind: ws.fit(events, contexts=pages, model=kind, weight_bits=16) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_words_categories_ids_times_and_embeddings_that_training_never_had_are_said(learned, kind, tmp_path):
    policy = learned[kind]
    pages = pd.DataFrame([KNOWN, UNKNOWN])
    said = {note.split("'")[1]: note for note in policy.unfamiliar(pages)}
    if kind == "cells":
        # Features do not matter to it, but for where they were checked before.
        assert set(said) == {"vector", "on", "z"}
    else:
        assert set(said) == set(KNOWN)
        assert said["title"] == "'title': 1 of 2 contexts with no word that training had: scored without."
        assert "a value that training never had" in said["device"]
        assert "no id that training had" in said["ids"]
    assert "1 of 2 contexts outside those of training, 4 spreads" in said["vector"]
    assert "outside 2023-12-27T16:02 to 2024-01-10T07:57," in said["on"]
    assert policy.unfamiliar(pages.iloc[:1]) == []
    service = scoring.load(policy.save(tmp_path / "policy"))
    for asked in ([KNOWN], [KNOWN, UNKNOWN], [UNKNOWN, MISSING, KNOWN]):
        assert service.unfamiliar(asked) == policy.unfamiliar(pa.Table.from_pylist(asked))
    assert sum("without a value" in note for note in service.unfamiliar([MISSING])) == 4


def test_contexts_that_are_known_by_their_keys_alone_are_counted_where_training_never_had_them():
    policy = ws.fit(ws.read_events(small_log(), **NAMES), weight_bits=8)
    (note,) = policy.unfamiliar(pa.table({"page": [1, 1, 77], "half": [0, 5, 0]}))
    assert note.startswith("2 of 3 contexts not in the training window: given the action that is best")
    (note,) = policy.unfamiliar(pa.table({"hour": [1]}))
    assert note.startswith("1 of 1 context not in the training window")
    assert policy.unfamiliar(pa.table({"page": [1], "half": [0]})) == []


def test_an_infinite_number_is_at_the_edge_as_the_remark_says(policy):
    far, edge = (pa.table({**PAGES, "size": [end, -end, 1.0]}) for end in (np.inf, 1e9))
    (note,) = unfamiliar(policy, far)
    assert note.startswith("'size': 2 of 3 contexts outside [")
    rows = [feature_rows(table, 3, policy.context_settings) for table in (far, edge)]
    assert rows[0].values.tolist() == rows[1].values.tolist()

"""Groups of texts and embeddings: the same whatever the threads and the order, saved, and used for new ones."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support.commands import warmstart

import warmstart as ws
from warmstart.grouping import load_grouping

TOPICS = {
    "law": "court contract judge lawyer appeal verdict statute trial clause tribunal",
    "cooking": "recipe oven butter sugar flour whisk simmer garlic roast pastry",
    "code": "python function compile variable loop exception module pointer syntax debug",
}


def questions(n, seed=0, topics=tuple(TOPICS)):
    """Texts of six words of their topic and four of none, each with a number of its own."""
    rng, filler = np.random.default_rng(seed), ["please", "explain", "today", "quick", "thing", "again"]
    rows = []
    for i in range(n):
        topic = topics[i % len(topics)]
        chosen = [*rng.choice(TOPICS[topic].split(), 6), *rng.choice(filler, 4)]
        rows.append((f"q{i}", topic, f"{' '.join(rng.permutation(chosen))} n{i}", "ab"[i % 2], float(i % 2)))
    return pa.table(
        dict(zip(("id", "topic", "prompt", "model", "score"), map(list, zip(*rows, strict=True)), strict=True))
    )


def pure(result):
    """The share of events whose topic is that of most in their group."""
    rows = pq.read_table(result.events)
    counts = rows.group_by(["group", "topic"]).aggregate([("id", "count")])
    return sum(
        pc.max(counts.filter(pc.equal(counts["group"], g))["id_count"]).as_py()
        for g in set(counts["group"].to_pylist())
    ) / len(rows)


def test_texts_are_grouped_by_topic_and_named_by_words_that_they_share(tmp_path):
    result = ws.group(questions(600), tmp_path / "out", text="prompt", least=150)
    rows = pq.read_table(result.events)
    assert rows.column_names == ["id", "topic", "model", "score", "group"]
    assert pure(result) > 0.98
    assert len(result.groups) == 3
    assert sum(one.events for one in result.groups) == rows.num_rows == 600
    every = {word for listed in TOPICS.values() for word in listed.split()}
    for one in result.groups:
        number, *words = one.name.split()
        assert number.isdigit()
        assert words
        assert set(words) <= every
    (chosen,) = (one for one in result.tried if one.chosen)
    assert [one.asked for one in result.tried] == [2, 3, 4]
    assert all(one.smallest >= 150 for one in result.tried)
    assert chosen.explained >= 0.8 * max(one.explained for one in result.tried)
    assert not [one for one in result.tried if one.groups < 3 and one.explained >= chosen.explained]


def test_the_same_input_gives_the_same_groups_on_any_threads_and_in_any_order(tmp_path):
    table = questions(300)
    pq.write_table(table, tmp_path / "log.parquet")
    shuffled = table.take(np.random.default_rng(1).permutation(300))
    of_id = {}
    for name, source in (("again", table), ("shuffled", shuffled)):
        rows = pq.read_table(ws.group(source, tmp_path / name, text="prompt", least=50).events).to_pylist()
        of_id[name] = {row["id"]: row["group"] for row in rows}
    code = f"""
import os
os.environ.update(OMP_NUM_THREADS="3", OPENBLAS_NUM_THREADS="3")
import warmstart as ws
engine = ws.connect("duckdb", threads=3)
ws.group({str(tmp_path / "log.parquet")!r}, {str(tmp_path / "threads")!r}, text="prompt", least=50, engine=engine)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    rows = pq.read_table(tmp_path / "threads" / "events.parquet").to_pylist()
    assert of_id["again"] == of_id["shuffled"] == {row["id"]: row["group"] for row in rows}
    for name in ("centres.npy", "projection.npy", "grouping.json"):
        assert (tmp_path / "threads" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_new_texts_go_to_the_groups_that_were_saved(tmp_path):
    first = ws.group(questions(600), tmp_path / "first", text="prompt")
    new = questions(60, seed=5, topics=("code", "law"))
    second = ws.group(new, tmp_path / "second", text="prompt", grouping=tmp_path / "first")
    assert pure(second) > 0.98
    assert [one.name for one in second.groups] == [one.name for one in first.groups]
    assert sorted(one.events for one in second.groups) == [0, 30, 30]
    assert second.tried == ()
    strange = pa.table({"prompt": ["zzzz qqqq", "", None, "oven butter flour"]})
    result = ws.group(strange, tmp_path / "strange", text="prompt", grouping=tmp_path / "first")
    assert result.without_group == 3
    assert any("(none)" in note for note in result.notes)


@pytest.mark.parametrize("times", ["timestamps", "text", "integers"])
def test_a_grouping_learns_from_the_events_before_a_moment_alone(tmp_path, times):
    early, late = questions(300, topics=("law", "code")), questions(300, seed=1)
    days = np.repeat(["2026-10-01T12:00:00", "2026-10-02"], 300).astype("datetime64[us]")
    column = {"timestamps": days, "text": days.astype(str), "integers": days.astype("int64")}[times]
    until = int(days[-1].astype("int64")) if times == "integers" else "2026-10-02"
    log = pa.concat_tables([early, late]).append_column("at", pa.array(column))
    options = {"text": "prompt", "least": 50}
    alone = ws.group(early, tmp_path / "alone", **options)
    result = ws.group(log, tmp_path / "out", **options, time="at", train_until=until)
    assert load_grouping(tmp_path / "out").names == load_grouping(tmp_path / "alone").names
    assert (result.rows, result.fitted_on, alone.fitted_on) == (600, 300, 300)
    assert "Fitted to 300 events of them." in result.notes
    with pytest.raises(ws.EmptyWindowError):
        ws.group(log, tmp_path / "none", **options, time="at", train_until=0 if times == "integers" else "2020-01-01")
    with pytest.raises(ws.UsageError, match="integer"):
        ws.group(log, tmp_path / "none", **options, time="at", train_until="2026-10-02" if times == "integers" else 7)


def test_the_saved_grouping_alone_assigns_one_text_as_it_assigns_many(tmp_path):
    ws.group(questions(300), tmp_path / "out", text="prompt", least=50)
    grouping, texts = load_grouping(tmp_path / "out"), questions(40, seed=2)["prompt"]
    together = grouping.assign(texts).to_pylist()
    assert together == [grouping.assign(texts.slice(i, 1)).to_pylist()[0] for i in range(40)]


def test_prompts_may_stand_in_another_table_and_are_not_in_the_log(tmp_path):
    table = questions(300)
    log, prompts = table.drop_columns(["prompt"]), table.select(["id", "prompt"]).rename_columns(["request", "prompt"])
    twice = pa.concat_tables([prompts, prompts.slice(0, 30)])
    result = ws.group(
        log.slice(0, 290), tmp_path / "out", text="prompt", texts=twice.slice(20), on={"id": "request"}, least=50
    )
    rows = pq.read_table(result.events)
    assert rows.num_rows == 290
    assert rows.column_names == ["id", "topic", "model", "score", "group"]
    assert result.without_group == 0
    stored = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"please" not in stored
    kept = ws.group(table, tmp_path / "kept", text="prompt", keep_text=True, groups=2)
    assert "prompt" in pq.read_table(kept.events).column_names
    assert len(kept.groups) == 2


def test_a_word_of_fewer_than_five_texts_names_no_group(tmp_path):
    for shared, named in ((4, False), (5, True)):
        rare = [f"zanzibar n{i}" for i in range(shared)]
        others = [f"court judge n{i}" for i in range(30)]
        result = ws.group(pa.table({"prompt": [*rare, *others]}), tmp_path / str(shared), text="prompt", groups=2)
        assert any("zanzibar" in one.name for one in result.groups) == named


def test_embeddings_are_grouped_without_words(tmp_path):
    rng = np.random.default_rng(0)
    centres = np.eye(3)[rng.integers(3, size=300)]
    vectors = (centres + rng.normal(scale=0.1, size=(300, 3))).tolist()
    table = pa.table({"id": list(range(300)), "topic": centres.argmax(axis=1), "vector": [*vectors[:-1], None]})
    result = ws.group(table, tmp_path / "out", embedding="vector", least=90)
    assert pure(result) > 0.98
    assert [one.name for one in result.groups] == ["1", "2", "3"]
    assert result.without_group == 1
    with pytest.raises(ws.UsageError, match="groups embeddings"):
        ws.group(questions(10), tmp_path / "no", text="prompt", grouping=tmp_path / "out")
    wrong = pa.table({"vector": [[1.0, 2.0]]})
    with pytest.raises(ws.ColumnError, match="another length"):
        ws.group(wrong, tmp_path / "no", embedding="vector", grouping=tmp_path / "out")
    with pytest.raises(ws.UsageError, match="one length"):
        ws.group(pa.table({"vector": [[1.0], [1.0, 2.0]]}), tmp_path / "no", embedding="vector")


def test_what_cannot_be_grouped_is_refused(tmp_path):
    table, empty = questions(30), tmp_path / "empty"
    empty.mkdir()
    refused = [
        (ws.UsageError, table, {}),
        (ws.UsageError, table, {"text": "prompt", "embedding": "prompt"}),
        (ws.UsageError, table, {"text": "prompt", "texts": table}),
        (ws.UsageError, table, {"text": "prompt", "groups": 31}),
        (ws.ColumnError, table, {"text": "promt"}),
        (ws.ColumnError, table, {"text": "score"}),
        (ws.DataError, table.append_column("Group", table["id"]), {"text": "prompt"}),
        (ws.EmptyWindowError, table.slice(0, 0), {"text": "prompt"}),
        (ws.EmptyWindowError, pa.table({"prompt": ["?!", ""]}), {"text": "prompt"}),
        (ws.SourceError, table, {"text": "prompt", "grouping": empty}),
        (ws.UsageError, table, {"text": "prompt", "grouping": empty, "groups": 2}),
        (ws.UsageError, table, {"text": "prompt", "grouping": empty, "time": "id", "train_until": "2026-10-02"}),
        (ws.UsageError, table, {"text": "prompt", "train_until": "2026-10-02"}),
        (ws.ColumnError, table, {"text": "prompt", "time": "at", "train_until": "2026-10-02"}),
    ]
    for error, source, options in refused:
        with pytest.raises(error):
            ws.group(source, tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()


def test_the_command_prints_the_groups_and_what_to_run_next(tmp_path):
    pq.write_table(questions(300), tmp_path / "log.parquet")
    ran = warmstart("group", "log.parquet", "--text", "prompt", "--out", "g", "--least", "50", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Next: warmstart evaluate g/events.parquet --context group" in ran.stdout
    columns = ["--context", "group", "--action", "model", "--reward", "score"]
    ran = warmstart("audit", "g/events.parquet", *columns, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    again = ["group", "log.parquet", "--text", "prompt", "--grouping", "g", "--out", "h", "--json"]
    said = json.loads(warmstart(*again, cwd=tmp_path).stdout)
    assert (said["kind"], said["rows"], len(said["groups"])) == ("grouped", 300, 3)


def test_features_tell_prompts_apart_and_are_the_same_for_new_ones(tmp_path):
    table = questions(300)
    folder = tmp_path / "out"
    result = ws.group(table, folder, text="prompt", least=50, features=3)
    rows = pq.read_table(result.events)
    names = ["prompt_1", "prompt_2", "prompt_3"]
    assert rows.column_names == ["id", "topic", "model", "score", "group", *names]
    assert list(result.features) == names
    assert "'prompt_1' to 'prompt_3'" in result.notes[-1]
    # Texts of one topic lie closer to each other than to those of the others.
    places = np.column_stack([rows[name] for name in names])
    means = {topic: places[np.array(rows["topic"]) == topic].mean(axis=0) for topic in TOPICS}
    nearest = [min(means, key=lambda topic: ((place - means[topic]) ** 2).sum()) for place in places]
    assert np.mean(np.array(nearest) == np.array(rows["topic"])) > 0.95
    # The saved grouping gives them to new texts, and to those it knows the same: a null and unknown words have none.
    new = pa.table({"prompt": [table["prompt"][7].as_py(), "zzz", None]})
    again = pq.read_table(ws.group(new, tmp_path / "again", text="prompt", grouping=folder, features=3).events)
    assert [again[name][0] for name in names] == [rows[name][7] for name in names]
    assert [row[name] for row in again.to_pylist()[1:] for name in names] == [0.0] * 6
    with pytest.raises(ws.UsageError, match="33 features: this grouping has 32"):
        ws.group(new, tmp_path / "more", text="prompt", grouping=folder, features=33)
    with pytest.raises(ws.DataError, match="has a column 'prompt_2' of its own"):
        ws.group(table.append_column("PROMPT_2", table["score"]), tmp_path / "two", text="prompt", features=2)


def test_features_of_embeddings_are_their_first_directions(tmp_path):
    rng = np.random.default_rng(0)
    # What tells them apart is the sum of the last two numbers, which no single column is.
    side = rng.choice([-1.0, 1.0], 200)
    vectors = rng.normal(0, 0.1, (200, 6)) + side[:, None] * np.array([0, 0, 0, 0, 1, 1])
    table = pa.table({"id": np.arange(200), "vector": pa.array(list(vectors))})
    folder = tmp_path / "out"
    rows = pq.read_table(ws.group(table, folder, embedding="vector", groups=2, features=2).events)
    assert abs(np.corrcoef(rows["vector_1"], side)[0, 1]) > 0.95
    # As saved by versions that knew no directions.
    about = json.loads((folder / "grouping.json").read_text())
    del about["files"]["directions.npy"]
    (folder / "grouping.json").write_text(json.dumps(about))
    assert load_grouping(folder).directions is None
    with pytest.raises(ws.UsageError, match="no directions"):
        ws.group(table, tmp_path / "again", embedding="vector", grouping=folder, features=2)

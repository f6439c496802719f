"""What a value rests on is named, but for free text, which is named only if asked for."""

import json

import pyarrow as pa
import pytest
from tests.support.commands import warmstart

import warmstart as ws

PROMPTS = [f"my doctor says that I have illness {i}" for i in range(6)]
COLUMNS = ("--context", "prompt", "--action", "model", "--reward", "reward")


def log(prompts, repeats=4):
    n = len(prompts) * repeats
    texts = [prompts[i % len(prompts)] for i in range(n)]
    models = ["small" if (i // len(prompts)) % 2 else "large" for i in range(n)]
    return pa.table({"prompt": texts, "tier": ["free"] * n, "model": models, "reward": [1.0] * n})


def contexts(table, context="prompt", **more):
    events = ws.read_events(table, context=context, action="model", reward="reward")
    found = ws.evaluate("constant:small", events, tau=0.05, contributions=3, propensities="counts", **more)
    return [part.name for part in found.contributions if part.kind == "context"]


def test_contexts_that_are_free_text_are_numbered_unless_asked_for():
    assert contexts(log(PROMPTS)) == [(f"text {i} of 6, not shown",) for i in (1, 2, 3)]
    assert contexts(log(PROMPTS), name_texts=True) == [(name,) for name in PROMPTS[:3]]
    # Beside a category, which keeps its name; names of groups are no free text.
    assert contexts(log(PROMPTS), ["tier", "prompt"])[0] == ("free", "text 1 of 6, not shown")
    assert contexts(log(["1 trial court statute", "2 roast flour recipe"]))[0] == ("1 trial court statute",)


@pytest.mark.parametrize(("different", "shown"), [(30, False), (15, True)])
def test_texts_that_hardly_repeat_are_numbered_too(different, shown):
    table = log([f"u{i:02}" for i in range(different)], repeats=1)
    # Half of the events have one value, so that counts have something to count.
    table = pa.concat_tables([table, log(["u00"], repeats=20)])
    assert (contexts(table)[0] == ("u00",)) == shown


def test_no_prompt_is_in_the_page_or_the_json_of_evaluate(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(log(PROMPTS), tmp_path / "log.parquet")
    command = ("evaluate", "log.parquet", *COLUMNS, "--policy", "constants", "--html", "page.html", "--json")
    ran = warmstart(*command, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["contributions"]
    assert "illness" not in ran.stdout + ran.stderr + (tmp_path / "page.html").read_text()
    ran = warmstart(*command, "--name-texts", "--force", cwd=tmp_path)
    assert "illness" in json.loads(ran.stdout)["contributions"][0]["name"][0]
    assert "illness" in (tmp_path / "page.html").read_text()

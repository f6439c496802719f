"""Commands that are killed, cut off by a full disk or interrupted leave whole files or none."""

import signal

import pytest
from tests.attack.kills import BROKEN, INTERRUPTED, KILLED, WEIGHTS, attack, attack_one
from tests.attack.workplace import COMMANDS, build, check_whole


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("inputs"))


@pytest.mark.parametrize(
    ("name", "earlier", "fate", "code"),
    [
        ("fit", False, {"fate": ("before", 1)}, KILLED),
        ("simulate", False, {"fate": ("size", 20_000)}, 1),
        ("export", True, {"signal_after": (signal.SIGTERM, 0.6)}, INTERRUPTED),
    ],
)
def test_what_is_left_is_whole_or_absent(inputs, tmp_path, name, earlier, fate, code):
    assert attack_one(inputs, tmp_path / "out", name, earlier, **fate) == code


@pytest.mark.parametrize("name", ["train.vw", "page.html", "lines.jsonl", "rows.csv", "check.xml"])
def test_the_check_finds_half_a_file(tmp_path, name):
    whole = {"html": "<html></html>", "jsonl": '{"n": 1}\n{"n": 2}', "csv": "a,b\n1,2", "xml": "<tests>\n</tests>"}
    text = whole.get(name.rpartition(".")[2], "1 | a\n2 | b") + "\n"
    (tmp_path / name).write_text(text)
    check_whole(tmp_path / name)
    (tmp_path / name).write_text(text[:-3])
    with pytest.raises((AssertionError, SyntaxError, ValueError)):
        check_whole(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_every_way(inputs, tmp_path, name):
    counts = attack(inputs, tmp_path / "out", [name], times=2)
    assert sum(counts.values()) == 10 + 8 * WEIGHTS.get(name, 1)
    assert not counts[name, BROKEN]

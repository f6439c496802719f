"""A full disk, too little memory, a reader during replacement, two writers: whole files or a typed error."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest
from tests.attack.kills import run
from tests.attack.workplace import COMMANDS, build, check_whole, command_of, contents, outputs_of, temporaries

from warmstart.core import write_output

HALVES = 100_000


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("inputs"))


def test_a_reader_sees_one_whole_file_or_another_while_two_write_it(tmp_path):
    out = tmp_path / "page.html"
    texts = {letter: b'<meta name="generator" content="warmstart' + letter * HALVES for letter in (b"a", b"b")}
    out.write_bytes(texts[b"a"])
    writers = []
    for text in texts.values():
        child = os.fork()
        if not child:
            for _ in range(100):
                with write_output(out) as temporary, temporary.open("wb") as file:
                    file.write(text[:HALVES])
                    file.flush()
                    file.write(text[HALVES:])
            os._exit(0)
        writers.append(child)
    seen, codes = set(), []
    while writers:
        seen.add(out.read_bytes())
        done, code = os.waitpid(writers[0], os.WNOHANG)
        if done:
            codes.append(code)
            writers.pop(0)
    assert seen <= set(texts.values())
    assert codes == [0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@contextmanager
def small_disk(folder, size):
    """Mount a disk of so many bytes where that is allowed."""
    folder.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if not mount or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here: tests of a full one use RLIMIT_FSIZE")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_on_a_full_disk_nothing_half_is_left(inputs, tmp_path, name):
    with small_disk(tmp_path / "disk", 1 << 13) as out:
        before = contents(inputs)
        code, _, said = run(inputs, command_of(name, out))
        assert code in (0, 1), said
        assert "Traceback" not in said
        assert code == 0 or "error: " in said
        assert contents(inputs) == before
        assert not temporaries(out)
        for path in outputs_of(name, out):
            if path.exists():
                check_whole(path)


@pytest.mark.slow
@pytest.mark.parametrize("size", [900_000_000, 2_000_000_000, 3_000_000_000])
@pytest.mark.parametrize("name", ["audit", "evaluate", "fit", "group"])
def test_in_too_little_memory_a_command_ends_with_one_error_and_leaves_nothing_half(inputs, tmp_path, name, size):
    code, _, said = run(inputs, command_of(name, tmp_path), fate=("memory", size))
    assert code in (0, 1), said
    assert "Traceback" not in said
    assert code == 0 or "error: " in said
    assert not temporaries(tmp_path)
    for path in outputs_of(name, tmp_path):
        if path.exists():
            check_whole(path)

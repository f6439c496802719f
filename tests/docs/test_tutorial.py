"""The notebooks: they run from top to bottom, show what is stored in them, and their pages say the same."""

import re

import nbformat
import pytest
from nbformat.v4 import new_output
from scripts.tutorial import NOTEBOOKS, joined, markdown, run

STORED = {name: nbformat.read(path, as_version=4) for name, path in NOTEBOOKS.items()}


def shown(notebook):
    """What cells show: the kind of each output, and its words; the last digits may differ between machines."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text")})
            words = re.findall(r"[a-zA-Z']+", " ".join(str(data[kind]) for kind in sorted(data)))
            found.append((output.output_type, sorted(data), words))
    return found


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
@pytest.mark.parametrize("name", ["tutorial", pytest.param("routers", marks=pytest.mark.slow)])
def test_a_notebook_runs_and_shows_what_is_stored(name, tmp_path):
    done = run(STORED[name], tmp_path)
    assert shown(done) == shown(STORED[name])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_show_results_as_pages_do_and_are_small(name):
    outputs = [output for cell in STORED[name].cells for output in cell.get("outputs", [])]
    assert len([output for output in outputs if "text/html" in output.get("data", ())]) >= 3
    assert NOTEBOOKS[name].stat().st_size < 100_000


def test_the_tutorial_ends_with_a_decision():
    said = str(STORED["tutorial"])
    assert "SELECTED: 'learned'" in said
    assert "Use it there, and keep the rule elsewhere." in said
    assert '"probability": 0.925' in said.replace("\\", "")


def test_of_routers_the_log_says_what_is_true_and_what_was_left_out():
    said = str(STORED["routers"])
    for reason in ("answers from a cache", "failed calls", "No prompt is stored"):
        assert reason in said
    outputs = [
        output.text for cell in STORED["routers"].cells for output in cell.get("outputs", []) if "text" in output
    ]
    line = r"^(\S+) +truth ([.\d]+), best estimate [.\d]+ \(([.\d]+) to ([.\d]+)\)$"
    lines = [found.groups() for found in re.finditer(line, "".join(outputs), re.MULTILINE)]
    assert [name for name, *_ in lines] == ["learned", "safe", "constant:large", "constant:small"]
    assert all(float(low) <= float(truth) <= float(high) for _, truth, low, high in lines)
    truths = {name: float(truth) for name, truth, *_ in lines}
    assert truths["learned"] > max(truths["constant:large"], truths["constant:small"])


def test_what_a_cell_prints_is_one_output_in_however_many_pieces_it_came():
    pieces = [new_output("stream", name="stdout", text=text) for text in ("a", "\n", "b\n")]
    shows = new_output("execute_result", data={"text/plain": "c"})
    found = joined([*pieces, shows, new_output("stream", name="stdout", text="d")])
    assert [one.get("text") for one in found] == ["a\nb\n", None, "d"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_page_is_the_notebook(name):
    path = NOTEBOOKS[name].with_suffix(".md")
    assert path.read_text() == markdown(STORED[name], name), "run python scripts/tutorial.py"

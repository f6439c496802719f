"""The tutorial: it runs from top to bottom, shows what is stored in it, and its page says the same."""

import re

import nbformat
import pytest
from scripts.tutorial import NOTEBOOK, PAGE, markdown, run


@pytest.fixture(scope="module")
def stored():
    return nbformat.read(NOTEBOOK, as_version=4)


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
def test_the_notebook_runs_and_shows_what_is_stored(stored, tmp_path):
    done = run(stored, tmp_path)
    assert shown(done) == shown(stored)
    assert not list(tmp_path.iterdir())


def test_the_notebook_shows_results_as_pages_do_and_ends_with_a_decision(stored):
    rich = [
        output for cell in stored.cells for output in cell.get("outputs", []) if "text/html" in output.get("data", ())
    ]
    assert len(rich) >= 3
    said = str(stored)
    assert "SELECTED: 'learned'" in said
    assert "Use it there, and keep the rule elsewhere." in said
    assert '"probability": 0.925' in said.replace("\\", "")
    assert NOTEBOOK.stat().st_size < 100_000


def test_the_page_is_the_notebook(stored):
    assert PAGE.read_text() == markdown(stored), "run python scripts/tutorial.py"

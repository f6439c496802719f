"""Run the tutorial's notebook, keep what it shows, and write the same as a page: python scripts/tutorial.py"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"
PAGE = NOTEBOOK.with_suffix(".md")
PATIENCE_SECONDS = 120


def run(notebook: Any, folder: Path) -> Any:
    """Run a notebook in a folder and return it with what its cells show; a cell that fails is an error."""
    done = nbformat.from_dict(notebook)
    NotebookClient(done, timeout=PATIENCE_SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in done.cells:
        # When it ran, and on which Python, is nobody's business.
        cell.metadata.pop("execution", None)
    done.metadata.pop("language_info", None)
    return done


def markdown(notebook: Any) -> str:
    """Return a notebook as Markdown: its text, its code, and what that showed."""
    parts = ["<!-- Written from tutorial.ipynb by scripts/tutorial.py. -->"]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [shown(output) for output in cell.outputs]
    return "\n\n".join(parts) + "\n"


def shown(output: Any) -> str:
    """Return what one output of a cell shows: HTML as it is, or else text."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    if "text/html" in output.data:
        return f'<div class="output">{output.data["text/html"]}</div>'
    return f"```text\n{output.data['text/plain']}\n```"


def main() -> None:
    """Run the notebook and write both."""
    done = run(nbformat.read(NOTEBOOK, as_version=4), NOTEBOOK.parent)
    nbformat.write(done, NOTEBOOK)
    PAGE.write_text(markdown(done), encoding="utf-8")


if __name__ == "__main__":
    main()

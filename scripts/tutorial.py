"""Run the notebooks of the documentation, keep what they show, and write the same as pages.

``python scripts/tutorial.py [NAME ...]``: tutorial, routers, or both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = {name: DOCS / f"{name}.ipynb" for name in ("tutorial", "routers")}
PATIENCE_SECONDS = 120


def run(notebook: Any, folder: Path) -> Any:
    """Run a notebook in a folder and return it with what its cells show; a cell that fails is an error."""
    done = nbformat.from_dict(notebook)
    NotebookClient(done, timeout=PATIENCE_SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in done.cells:
        # When it ran, and on which Python, is nobody's business.
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    done.metadata.pop("language_info", None)
    return done


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs of a cell with what it printed in one piece; a busy machine sends it in several."""
    found: list[Any] = []
    for output in outputs:
        if found and output.output_type == "stream" and found[-1].get("name") == output.name:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def markdown(notebook: Any, name: str) -> str:
    """Return a notebook as Markdown: its text, its code, and what that showed."""
    parts = [f"<!-- Written from {name}.ipynb by scripts/tutorial.py. -->"]
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
    """Run the notebooks and write both forms."""
    for name in sys.argv[1:] or NOTEBOOKS:
        path = NOTEBOOKS[name]
        done = run(nbformat.read(path, as_version=4), path.parent)
        nbformat.write(done, path)
        path.with_suffix(".md").write_text(markdown(done, name), encoding="utf-8")


if __name__ == "__main__":
    main()

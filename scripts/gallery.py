"""Run the gallery's programs and write what they print below them: python scripts/gallery.py"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
PAGES = sorted(page for page in GALLERY.glob("*.md") if page.name != "index.md")
PAIR = re.compile(r"^```python\n(?P<program>.*?)^```\n\n```output\n(?P<output>.*?)^```$", re.DOTALL | re.MULTILINE)


def printed(program: str, folder: Path) -> str:
    """Run a program in a folder and return what it printed."""
    said, names = io.StringIO(), {"__name__": "__main__"}
    with contextlib.chdir(folder), contextlib.redirect_stdout(said):
        exec(compile(program, "<gallery>", "exec"), names)  # noqa: S102
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().splitlines())


def with_output(text: str, folder: Path) -> str:
    """Return a page with what its program prints."""

    def replaced(pair: re.Match[str]) -> Any:
        program = pair["program"]
        return f"```python\n{program}```\n\n```output\n{printed(program, folder)}```"

    return PAIR.sub(replaced, text)


def main() -> None:
    """Run every page and write it."""
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(with_output(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
